//! Characters that grow along one axis, made from scratch: what a mesh, a skeleton or a file can have many of.

use serde_json::json;
use sinew_testkit::glb::Builder;
use std::f32::consts::TAU;

/// How bones hang together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Each on the one before it, up the y axis.
    Chain,
    /// All on the first.
    Star,
}

/// How the points of a tube lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Rings, one above the other.
    Tube,
    /// The tube drawn out, across the axes: triangles thousands of times as long as wide.
    Pole,
    /// Triangles that share nothing, all their corners at one place; one stands apart, so that there is a size.
    OnePlace,
    /// All triangles around one point.
    Fan,
}

/// A character to be made.
#[derive(Clone)]
pub struct Plan {
    pub form: Form,
    /// Points of each tube, about.
    pub points: usize,
    pub bones: usize,
    pub layout: Layout,
    pub clips: usize,
    /// Keys of every channel.
    pub keys: usize,
    /// Tubes of each primitive, which share no point.
    pub pieces: usize,
    /// Primitives of each mesh.
    pub primitives: usize,
    /// Meshes, each with a skin of its own over all bones.
    pub skins: usize,
    /// Whether tubes touch those around them, or keep apart by more than pieces feel each other at.
    pub touching: bool,
    /// Seconds of every clip.
    pub seconds: f32,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            form: Form::Tube,
            points: 400,
            bones: 4,
            layout: Layout::Chain,
            clips: 1,
            keys: 3,
            pieces: 1,
            primitives: 1,
            skins: 1,
            touching: false,
            seconds: 0.5,
        }
    }
}

const HEIGHT: f32 = 2.0;
/// A tube of these sides has faces about as wide as high, whatever its points: 2π·0.3 around, 2 high.
fn sides(points: usize) -> usize {
    ((points as f32).sqrt() as usize).max(4)
}

/// One tube and what it is skinned to.
#[derive(Default)]
struct Skin {
    positions: Vec<f32>,
    joints: Vec<u16>,
    weights: Vec<f32>,
    indices: Vec<u32>,
}

impl Skin {
    fn point(&mut self, at: [f32; 3], bones: usize) {
        self.positions.extend(at);
        let along = (at[1] / HEIGHT).clamp(0.0, 1.0) * (bones - 1) as f32;
        let (low, part) = (along.floor(), along.fract());
        let high = (low as usize + 1).min(bones - 1);
        self.joints.extend([low as u16, high as u16, 0, 0]);
        self.weights.extend([1.0 - part, part, 0.0, 0.0]);
    }

    fn tube(&mut self, plan: &Plan, [x, y, z]: [f32; 3], [radius, height]: [f32; 2]) {
        let first = (self.positions.len() / 3) as u32;
        let circle = |side: usize, around: usize| {
            let (sin, cos) = (side as f32 / around as f32 * TAU).sin_cos();
            [x + radius * cos, z + radius * sin]
        };
        match plan.form {
            Form::Tube => {
                let around = sides(plan.points);
                let rings = (plan.points / around).max(2);
                for ring in 0..rings {
                    for side in 0..around {
                        let [x, z] = circle(side, around);
                        self.point([x, y + height * ring as f32 / (rings - 1) as f32, z], plan.bones);
                    }
                }
                self.rings(first, rings, around);
            }
            Form::Pole => {
                let around = (plan.points / 2).max(3);
                for ring in 0..2 {
                    for side in 0..around {
                        let [x, z] = circle(side, around);
                        self.point([x + 0.5 * ring as f32, HEIGHT * ring as f32, z + 0.7 * ring as f32], plan.bones);
                    }
                }
                self.rings(first, 2, around);
            }
            Form::OnePlace => {
                for triangle in 0..(plan.points / 3).max(2) as u32 {
                    for corner in 0..3 {
                        let at = if triangle == 0 {
                            [x, HEIGHT * corner as f32 * 0.5, z + corner as f32 * 0.1]
                        } else {
                            [x, 1.0, z]
                        };
                        self.point(at, plan.bones);
                    }
                    self.indices.extend((0..3).map(|corner| first + triangle * 3 + corner));
                }
            }
            Form::Fan => {
                let around = (plan.points - 1).max(3);
                self.point([x, HEIGHT, z], plan.bones);
                for side in 0..around {
                    let [x, z] = circle(side, around);
                    self.point([x, 0.0, z], plan.bones);
                }
                let n = around as u32;
                self.indices.extend((0..n).flat_map(|side| [first, first + 1 + (side + 1) % n, first + 1 + side]));
            }
        }
    }

    fn rings(&mut self, first: u32, rings: usize, around: usize) {
        for ring in 0..rings as u32 - 1 {
            for side in 0..around as u32 {
                let corner = |ring: u32, side: u32| first + ring * around as u32 + side % around as u32;
                let (a, b) = (corner(ring, side), corner(ring, side + 1));
                let (c, d) = (corner(ring + 1, side + 1), corner(ring + 1, side));
                self.indices.extend([a, c, b, a, d, c]);
            }
        }
    }
}

impl Plan {
    /// The character as GLB. Node 0 is what all stands in, bones follow it, and the meshes come last.
    pub fn glb(&self) -> Vec<u8> {
        let mut file = Builder::new();
        let bones = self.bones.max(1);
        let step = HEIGHT / bones as f32;
        let node_of = |bone: usize| 1 + bone;
        let mut nodes = vec![json!({"name": "root", "children": [node_of(0)]})];
        for bone in 0..bones {
            let children: Vec<usize> = match self.layout {
                Layout::Chain => (bone + 1..bones.min(bone + 2)).collect(),
                Layout::Star => (1..if bone == 0 { bones } else { 0 }).collect(),
            };
            let up = match self.layout {
                Layout::Chain => f32::from(u8::from(bone > 0)) * step,
                Layout::Star => bone as f32 * step,
            };
            let mut node = json!({"name": format!("bone_{bone}"), "translation": [0.0, up, 0.0]});
            if !children.is_empty() {
                node["children"] = children.into_iter().map(node_of).collect();
            }
            nodes.push(node);
        }
        let mut binds = Vec::with_capacity(16 * bones);
        for bone in 0..bones {
            let mut matrix = [0f32; 16];
            (0..4).for_each(|n| matrix[5 * n] = 1.0);
            matrix[13] = -(bone as f32 * step);
            binds.extend(matrix);
        }
        let binds = file.accessor("MAT4", &binds);
        let tubes = self.pieces * self.primitives * self.skins;
        // One stands as high as the bones; many fill a cube.
        let across = (tubes as f32).cbrt().ceil().max(1.0) as usize;
        let spacing = HEIGHT / across as f32;
        let [radius, height] = match (self.form, tubes) {
            (Form::Pole, _) => [1e-3, HEIGHT],
            (_, 1) => [0.3, HEIGHT],
            _ if self.touching => [0.51 * spacing, 0.9 * spacing],
            _ => [0.3 * spacing, 0.6 * spacing],
        };
        let mut tube = 0usize;
        let (mut meshes, mut skins, mut in_scene) = (Vec::new(), Vec::new(), vec![0]);
        let joints: Vec<usize> = (0..bones).map(node_of).collect();
        for mesh in 0..self.skins {
            let mut primitives = Vec::new();
            for _ in 0..self.primitives {
                let mut skin = Skin::default();
                for _ in 0..self.pieces {
                    let [x, y, z] = [tube % across, tube / across % across, tube / across / across];
                    let middle = |n: usize| (n as f32 - 0.5 * (across - 1) as f32) * spacing;
                    skin.tube(self, [middle(x), y as f32 * spacing, middle(z)], [radius, height]);
                    tube += 1;
                }
                let attributes = json!({
                    "POSITION": file.accessor("VEC3", &skin.positions),
                    "JOINTS_0": file.accessor("VEC4", &skin.joints),
                    "WEIGHTS_0": file.accessor("VEC4", &skin.weights),
                });
                primitives.push(json!({"attributes": attributes, "indices": file.accessor("SCALAR", &skin.indices)}));
            }
            meshes.push(json!({"name": format!("mesh_{mesh}"), "primitives": primitives}));
            skins.push(json!({"joints": joints, "inverseBindMatrices": binds}));
            in_scene.push(nodes.len());
            nodes.push(json!({"name": format!("skin_{mesh}"), "mesh": mesh, "skin": mesh}));
        }
        let times: Vec<f32> = (0..self.keys).map(|key| key as f32 / (self.keys - 1) as f32 * self.seconds).collect();
        let times = file.accessor("SCALAR", &times);
        // The first eighth of the bones sways, so that there are moving and still ones.
        let moving = bones.div_ceil(8);
        let swing = (1.0 / moving as f32).min(0.5);
        let mut turns = Vec::with_capacity(4 * self.keys);
        for key in 0..self.keys {
            let (sin, cos) = (0.5 * swing * (key as f32 / (self.keys - 1) as f32 * TAU * 2.0).sin()).sin_cos();
            turns.extend([0.0, 0.0, sin, cos]);
        }
        let turns = file.accessor("VEC4", &turns);
        let channel = |node: usize| json!({"sampler": 0, "target": {"node": node, "path": "rotation"}});
        let clip = |n: usize| {
            let channels: Vec<_> = (0..moving).map(node_of).map(channel).collect();
            json!({"name": format!("clip_{n}"), "samplers": [{"input": times, "output": turns}], "channels": channels})
        };
        let clips: Vec<_> = (0..self.clips).map(clip).collect();
        file.set("/scene", json!(0));
        file.set("/scenes", json!([{"nodes": in_scene}]));
        file.set("/nodes", nodes.into());
        file.set("/meshes", meshes.into());
        file.set("/skins", skins.into());
        file.set("/animations", clips.into());
        file.glb()
    }
}
