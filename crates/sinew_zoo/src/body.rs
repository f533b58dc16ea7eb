//! A modelled character put together: bones with their claims, parts with their colours, clips.

use crate::ZooCharacter;
use crate::looping::animated_nodes;
use crate::solid::Solid;
use crate::surface_nets::{Surface, surface_nets};
use crate::weights::{Claim, Factor, WeightField};
use glam::{DAffine3, DVec3};
use sinew::raw::{RawBinding, RawBone, RawInfluences, RawJoint, RawMesh, RawPrimitive, RawSkin};
use sinew::{Clip, LocalTransform, RawRig, Trs};

/// A character under construction.
#[derive(Default)]
pub(crate) struct Body {
    bones: Vec<RawBone>,
    joints: Vec<DVec3>,
    claims: Vec<Claim>,
    parts: Vec<Part>,
}

struct Part {
    color: [f32; 3],
    surface: Surface,
}

/// From 0 to 1 across the plane through `origin`, along `along`, over `half_width` on each side.
pub(crate) fn past(origin: DVec3, along: DVec3, half_width: f64) -> Factor {
    Factor::Past { origin, along: along.normalize(), half_width }
}

/// 1 within `inner` of the polyline, 0 beyond `outer`.
pub(crate) fn near(line: &[DVec3], inner: f64, outer: f64) -> Factor {
    any(line.windows(2).map(|w| Factor::Near { segment: [w[0], w[1]], inner, outer }))
}

/// 1 where any of the factors is.
pub(crate) fn any(factors: impl IntoIterator<Item = Factor>) -> Factor {
    Factor::Any(factors.into_iter().collect())
}

impl Body {
    /// The root bone, which has all that no other bone claims.
    pub fn root(name: &str, joint: DVec3) -> Self {
        let mut body = Self::default();
        body.add(name, None, joint, Vec::new());
        body
    }

    /// A bone with its joint at `joint`, claiming the product of `factors` from its parent. Returns its node.
    pub fn bone(&mut self, name: &str, parent: usize, joint: DVec3, factors: Vec<Factor>) -> usize {
        self.add(name, Some(parent), joint, factors)
    }

    fn add(&mut self, name: &str, parent: Option<usize>, joint: DVec3, factors: Vec<Factor>) -> usize {
        let from = parent.map_or(DVec3::ZERO, |parent| self.joints[parent]);
        let local = LocalTransform::Trs(Trs::from_translation(joint - from));
        self.bones.push(RawBone { name: name.to_owned(), parent, local });
        self.joints.push(joint);
        self.claims.push(Claim { parent, factors });
        self.bones.len() - 1
    }

    /// Bones so far, for the clips.
    pub fn bones(&self) -> &[RawBone] {
        &self.bones
    }

    /// A solid part of one colour (linear RGB), meshed with triangles of side about `cell`.
    pub fn part(&mut self, color: [f32; 3], cell: f64, solid: Solid) {
        self.surface(color, surface_nets(&solid, cell));
    }

    /// A part meshed already.
    pub fn surface(&mut self, color: [f32; 3], surface: Surface) {
        self.parts.push(Part { color, surface });
    }

    /// Reads the weights of the parts off the claims.
    pub fn finish(self, name: &'static str, about: &'static str, clips: Vec<Clip>) -> ZooCharacter {
        let field = WeightField::from_claims(self.claims);
        let primitives = self.parts.iter().map(|part| primitive(part, &field)).collect();
        let joints = self.joints.iter().enumerate();
        let joints = joints
            .map(|(bone, &joint)| RawJoint { bone, bone_from_rest: DAffine3::from_translation(-joint) })
            .collect();
        let mut bones = self.bones;
        let node = bones.len();
        bones.push(RawBone { name: name.to_owned(), parent: None, local: LocalTransform::Trs(Trs::IDENTITY) });
        let mesh = RawMesh {
            name: name.to_owned(),
            node,
            binding: RawBinding::Skin(0),
            primitives,
            morph_weights: Vec::new(),
        };
        ZooCharacter {
            name: name.to_owned(),
            about,
            raw: RawRig {
                animated: animated_nodes(&clips),
                bones,
                skins: vec![RawSkin { name: name.to_owned(), joints }],
                meshes: vec![mesh],
            },
            clips,
            field,
        }
    }
}

fn primitive(part: &Part, field: &WeightField) -> RawPrimitive {
    let surface = &part.surface;
    let positions: Vec<_> = surface.positions.iter().map(|p| p.as_vec3()).collect();
    let weights: Vec<_> = positions.iter().map(|p| field.at(p.as_dvec3())).collect();
    let per_vertex = weights.iter().map(Vec::len).max().unwrap_or(1);
    let mut influences = RawInfluences {
        per_vertex,
        joints: vec![0; per_vertex * positions.len()],
        weights: vec![0.0; per_vertex * positions.len()],
    };
    for (vertex, weights) in weights.iter().enumerate() {
        for (slot, &(bone, weight)) in weights.iter().enumerate() {
            influences.joints[vertex * per_vertex + slot] = bone as u32;
            influences.weights[vertex * per_vertex + slot] = weight as f32;
        }
    }
    let [r, g, b] = part.color;
    RawPrimitive {
        positions,
        normals: Some(surface.normals.iter().map(|n| n.as_vec3()).collect()),
        influences,
        triangles: surface.triangles.clone(),
        color: [r, g, b, 1.0],
        ..RawPrimitive::default()
    }
}
