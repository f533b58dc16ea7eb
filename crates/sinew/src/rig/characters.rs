//! Which parts are one character, and what is known of each of its bones.

use super::pack::Packed;
use super::read::Vertices;
use super::{BoneSegments, Character, PaletteEntry};
use crate::control_points::DisjointSets;
use crate::pose::WorldPose;
use crate::raw::{RawBinding, RawMesh, RawRig};
use crate::skeleton::{BoneId, Skeleton};
use crate::topology::Topology;
use crate::warning::Warning;
use glam::{DVec3, Vec3};

/// Which character everything belongs to.
pub(super) struct Grouping {
    pub of_mesh: Vec<u32>,
    pub of_bone: Vec<Option<u32>>,
    pub count: usize,
}

/// Skins that share a joint or an animated common ancestor are one character, with whatever rides on their bones. Without
/// skins a tree of nodes is one.
pub(super) fn group_characters(raw: &RawRig, skeleton: &Skeleton) -> Grouping {
    let mut sets = DisjointSets::new(skeleton.len());
    let mut animated = vec![false; skeleton.len()];
    for bone in raw.animated.iter().filter_map(|&node| skeleton.bone_of_node(node)) {
        animated[bone.index()] = true;
    }
    // The topmost animated ancestor tells apart what any animated ancestor would.
    let mut top: Vec<Option<BoneId>> = vec![None; skeleton.len()];
    for bone in skeleton.bones() {
        let above = skeleton.parent(bone).and_then(|parent| top[parent.index()]);
        let is_top = animated[bone.index()] || (raw.skins.is_empty() && skeleton.parent(bone).is_none());
        top[bone.index()] = above.or_else(|| is_top.then_some(bone));
    }
    let mut join = |a: BoneId, b: BoneId| sets.union(a.index() as u32, b.index() as u32);
    let mut is_joint = vec![false; skeleton.len()];
    for skin in &raw.skins {
        let bones: Vec<BoneId> = skin.joints.iter().filter_map(|j| skeleton.bone_of_node(j.bone)).collect();
        for &bone in &bones {
            is_joint[bone.index()] = true;
            join(bone, bones[0]);
            if let Some(top) = top[bone.index()] {
                join(bone, top);
            }
        }
    }
    let mut nearest_joint: Vec<Option<BoneId>> = vec![None; skeleton.len()];
    for bone in skeleton.bones() {
        let above = skeleton.parent(bone).and_then(|parent| nearest_joint[parent.index()]);
        nearest_joint[bone.index()] = if is_joint[bone.index()] { Some(bone) } else { above };
    }
    let anchor = |mesh: &RawMesh| match mesh.binding {
        RawBinding::Skin(skin) => raw.skins[skin].joints.first().and_then(|j| skeleton.bone_of_node(j.bone)),
        RawBinding::Node => skeleton.bone_of_node(mesh.node),
    };
    for mesh in raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Node) {
        if let Some(bone) = anchor(mesh)
            && let Some(carrier) = nearest_joint[bone.index()].or(top[bone.index()])
        {
            join(bone, carrier);
        }
    }
    let mut character_of_root: Vec<Option<u32>> = vec![None; skeleton.len()];
    let mut count = 0;
    let mut of_mesh = Vec::with_capacity(raw.meshes.len());
    for mesh in &raw.meshes {
        let root = anchor(mesh).map_or(0, |bone| sets.find(bone.index() as u32)) as usize;
        let character = *character_of_root[root].get_or_insert_with(|| {
            count += 1;
            count - 1
        });
        of_mesh.push(character);
    }
    let of_bone = skeleton.bones().map(|bone| character_of_root[sets.find(bone.index() as u32) as usize]).collect();
    Grouping { of_mesh, of_bone, count: count as usize }
}

/// Bones that belong to no character take that of a descendant, else of their parent.
pub(super) fn spread_characters(skeleton: &Skeleton, of_bone: &[Option<u32>]) -> Vec<u32> {
    let mut of_bone = of_bone.to_vec();
    for bone in skeleton.bones().rev() {
        if let (Some(character), Some(parent)) = (of_bone[bone.index()], skeleton.parent(bone)) {
            of_bone[parent.index()].get_or_insert(character);
        }
    }
    for bone in skeleton.bones() {
        if of_bone[bone.index()].is_none() {
            of_bone[bone.index()] = skeleton.parent(bone).and_then(|parent| of_bone[parent.index()]);
        }
    }
    of_bone.into_iter().map(|character| character.unwrap_or(0)).collect()
}

#[allow(clippy::too_many_arguments, reason = "one step of the builder: everything it has gathered comes together here")]
pub(super) fn characters(
    skeleton: &Skeleton,
    palette: &[PaletteEntry],
    grouping: &Grouping,
    packed: &Packed,
    vertices: &Vertices<'_>,
    point_triangles: &[[u32; 3]],
    rest_world: &[DVec3],
    warnings: &mut Vec<Warning>,
) -> Vec<Character> {
    let mut triangles: Vec<Vec<[u32; 3]>> = vec![Vec::new(); grouping.count];
    let mut bounds = vec![[DVec3::INFINITY, DVec3::NEG_INFINITY]; grouping.count];
    let mut places: Vec<Vec<([u32; 4], u32)>> = vec![Vec::new(); grouping.count];
    for piece in &vertices.pieces {
        let character = grouping.of_mesh[piece.mesh] as usize;
        places[character].extend(piece.vertices.clone().map(|vertex| {
            let [x, y, z] = (vertices.positions[vertex] + Vec3::ZERO).to_array().map(f32::to_bits);
            ([piece.binding, x, y, z], packed.point_of_vertex[vertex])
        }));
        triangles[character].extend_from_slice(&point_triangles[piece.triangles.clone()]);
        for point in &rest_world[piece.vertices.clone()] {
            let [low, high] = &mut bounds[character];
            (*low, *high) = (low.min(*point), high.max(*point));
        }
    }
    // Parents come first, so the smallest is the topmost.
    let mut anchors: Vec<Option<BoneId>> = vec![None; grouping.count];
    for entry in palette {
        if let Some(anchor) = anchors.get_mut(entry.character as usize) {
            *anchor = Some(anchor.map_or(entry.bone, |known| known.min(entry.bone)));
        }
    }
    let first_row = |character: usize| packed.rows.partition_point(|row| (row.character as usize) < character);
    (0..grouping.count)
        .map(|character| {
            let rows = first_row(character)..first_row(character + 1);
            let anchor = anchors[character].unwrap_or(palette[0].bone);
            let topology = Topology::new(triangles[character].iter().copied());
            if topology.non_manifold_edges > 0 {
                warnings.push(Warning {
                    code: "non-manifold-edges",
                    subject: format!("character {character} \"{}\"", skeleton.name(anchor)),
                    message: format!("{} edges have more than two faces", topology.non_manifold_edges),
                    remedy: "remove inner or doubled faces, so that volume and springs have one surface to work on",
                });
            }
            let [low, high] = bounds[character];
            let size = (high - low).length();
            Character {
                name: skeleton.name(anchor).to_owned(),
                size: if size.is_finite() && size > 0.0 { size } else { 1.0 },
                bounds: if size.is_finite() { [low, high] } else { [DVec3::ZERO; 2] },
                points: packed.rows[rows.clone()].iter().map(|row| row.filled as usize).sum(),
                coincident_points: coincident_points(&mut places[character]),
                rows,
                topology,
                anchor,
            }
        })
        .collect()
}

/// How many points lie on another one, from (place, point) pairs.
fn coincident_points(places: &mut Vec<([u32; 4], u32)>) -> usize {
    places.sort_unstable();
    places.dedup();
    places.chunk_by(|a, b| a.0 == b.0).map(|here| here.len() - 1).sum()
}

/// What each bone moves by itself, for centroids: `Σ w_i m_u p_u` and `Σ w_i m_u` at rest, m_u a third of the area around u.
pub(super) fn moved(
    skeleton: &Skeleton,
    palette: &[PaletteEntry],
    vertices: &Vertices<'_>,
    rest_world: &[DVec3],
) -> Vec<(DVec3, f64)> {
    let mut area = vec![0.0f64; rest_world.len()];
    for t in &vertices.triangles {
        let [a, b, c] = t.map(|v| rest_world[v as usize]);
        let third = (b - a).cross(c - a).length() / 6.0;
        for &v in t {
            area[v as usize] += third;
        }
    }
    let mut sums = vec![(DVec3::ZERO, 0.0f64); skeleton.len()];
    for (vertex, (&point, &area)) in rest_world.iter().zip(&area).enumerate() {
        for influence in vertices.weights.of(vertex) {
            let sum = &mut sums[palette[influence.palette as usize].bone.index()];
            let mass = area * f64::from(influence.weight);
            *sum = (sum.0 + point * mass, sum.1 + mass);
        }
    }
    sums
}

/// Bones that can carry a whole character: animated ones, or joints where nothing is animated.
pub(super) fn carriers(raw: &RawRig, skeleton: &Skeleton) -> Vec<bool> {
    let mut marked = vec![false; skeleton.len()];
    let joints = raw.skins.iter().flat_map(|skin| &skin.joints).map(|joint| joint.bone);
    let nodes: Vec<usize> = if raw.animated.is_empty() { joints.collect() } else { raw.animated.clone() };
    for bone in nodes.into_iter().filter_map(|node| skeleton.bone_of_node(node)) {
        marked[bone.index()] = true;
    }
    marked
}

/// Joint to each child joint; a leaf is a point with its parent's length.
pub(super) fn segments(raw: &RawRig, skeleton: &Skeleton, world: &WorldPose) -> Vec<BoneSegments> {
    let mut is_joint = vec![false; skeleton.len()];
    for joint in raw.skins.iter().flat_map(|skin| &skin.joints) {
        if let Some(bone) = skeleton.bone_of_node(joint.bone) {
            is_joint[bone.index()] = true;
        }
    }
    let mut segments = vec![BoneSegments { ends: Vec::new(), length: 0.0 }; skeleton.len()];
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parent(bone) else { continue };
        if is_joint[bone.index()] && is_joint[parent.index()] {
            let end = skeleton.rest_locals()[bone.index()].to_affine().translation;
            let length = (world.joint_origin(bone) - world.joint_origin(parent)).length();
            let segment = &mut segments[parent.index()];
            segment.ends.push(end);
            segment.length = segment.length.max(length);
        }
    }
    for bone in skeleton.bones() {
        if segments[bone.index()].ends.is_empty()
            && let Some(parent) = skeleton.parent(bone)
        {
            segments[bone.index()].length = segments[parent.index()].length;
        }
    }
    segments
}
