//! A second opinion: what a glTF file looks like at a given time, in f64, straight from the glTF 2.0 specification
//! (chapters 3.5 transforms, 3.6 accessors, 3.7 meshes and skins, 3.11 animations, appendix C interpolation).
//!
//! Plain and slow on purpose, and sharing no code with the library it judges. Two readings go beyond the text:
//! rotations and key rotations are normalised, and a vertex's weights are divided by their sum.
//!
//! It trusts its input: anything malformed panics.

use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A 4×4 matrix, column-major as in glTF.
pub type Matrix = [f64; 16];

/// The identity.
pub const IDENTITY: Matrix = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0];

/// A glTF file ready to be evaluated.
pub struct SpecFile {
    json: Value,
    buffers: Vec<Vec<u8>>,
    parents: Vec<Option<usize>>,
    /// Channel by animation, node and path.
    channels: HashMap<(usize, usize, String), usize>,
    decoded: Mutex<HashMap<usize, Arc<Vec<f64>>>>,
    /// World transforms asked for at the last clip and time.
    worlds: Mutex<Worlds>,
}

/// World transforms by node, for one clip and time (as bits).
type Worlds = (Option<usize>, u64, HashMap<usize, Matrix>);

/// An animation's name and the first and last key time over its channels.
#[derive(Clone, Debug, PartialEq)]
pub struct SpecClip {
    /// Name; may be empty.
    pub name: String,
    /// First key in seconds.
    pub start: f64,
    /// Last key in seconds.
    pub end: f64,
}

impl SpecFile {
    /// Reads a `.glb` or `.gltf` file and its buffers.
    ///
    /// # Panics
    /// If the file is not sound.
    pub fn open(path: &Path) -> Self {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self::from_bytes(&bytes, path.parent())
    }

    /// As [`Self::open`], from memory.
    ///
    /// # Panics
    /// If the file is not sound.
    pub fn from_bytes(bytes: &[u8], folder: Option<&Path>) -> Self {
        let (text, bin) = if bytes.starts_with(b"glTF") {
            let size = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
            let end = 20 + size(12);
            let bin = (bytes.len() > end + 8).then(|| bytes[end + 8..end + 8 + size(end)].to_vec());
            (&bytes[20..end], bin)
        } else {
            (bytes, None)
        };
        let json: Value = serde_json::from_slice(text).expect("JSON");
        let buffers = list(&json, "buffers")
            .iter()
            .map(|buffer| match buffer["uri"].as_str() {
                None => bin.clone().expect("a BIN chunk"),
                Some(uri) if uri.starts_with("data:") => unbase64(uri.split_once(',').expect("data").1),
                Some(uri) => std::fs::read(folder.expect("a folder").join(uri)).expect("a buffer file"),
            })
            .collect();
        let mut parents = vec![None; list(&json, "nodes").len()];
        for (node, value) in list(&json, "nodes").iter().enumerate() {
            for child in list(value, "children") {
                parents[index(child)] = Some(node);
            }
        }
        let mut channels = HashMap::new();
        for (clip, animation) in list(&json, "animations").iter().enumerate() {
            for (channel, value) in list(animation, "channels").iter().enumerate() {
                let target = &value["target"];
                if let (Some(node), Some(path)) = (target.get("node"), target["path"].as_str()) {
                    channels.entry((clip, index(node), path.to_owned())).or_insert(channel);
                }
            }
        }
        Self { json, buffers, parents, channels, decoded: Mutex::default(), worlds: Mutex::default() }
    }

    /// The whole JSON.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Animations in file order.
    pub fn clips(&self) -> Vec<SpecClip> {
        let clip = |animation: &Value| {
            let (mut start, mut end) = (f64::INFINITY, f64::NEG_INFINITY);
            for channel in list(animation, "channels") {
                let times = self.accessor(index(&animation["samplers"][index(&channel["sampler"])]["input"]));
                start = times.iter().copied().fold(start, f64::min);
                end = times.iter().copied().fold(end, f64::max);
            }
            SpecClip { name: animation["name"].as_str().unwrap_or_default().into(), start, end }
        };
        list(&self.json, "animations").iter().map(clip).collect()
    }

    /// Nodes with a mesh and a skin, in order.
    pub fn skinned_nodes(&self) -> Vec<usize> {
        self.nodes_where(|node| node.get("mesh").is_some() && node.get("skin").is_some())
    }

    /// Nodes with a mesh and no skin, in order.
    pub fn unskinned_nodes(&self) -> Vec<usize> {
        self.nodes_where(|node| node.get("mesh").is_some() && node.get("skin").is_none())
    }

    fn nodes_where(&self, wanted: impl Fn(&Value) -> bool) -> Vec<usize> {
        let nodes = list(&self.json, "nodes");
        (0..nodes.len()).filter(|&node| wanted(&nodes[node])).collect()
    }

    /// Number of primitives of a mesh node.
    pub fn primitives(&self, node: usize) -> usize {
        list(self.mesh(node), "primitives").len()
    }

    fn mesh(&self, node: usize) -> &Value {
        &self.json["meshes"][index(&self.json["nodes"][node]["mesh"])]
    }

    /// All numbers of an accessor, one after the other.
    pub fn accessor(&self, accessor: usize) -> Arc<Vec<f64>> {
        let mut decoded = self.decoded.lock().expect("no panic while decoding");
        decoded.entry(accessor).or_insert_with(|| Arc::new(self.decode(&self.json["accessors"][accessor]))).clone()
    }

    fn decode(&self, accessor: &Value) -> Vec<f64> {
        let width = match accessor["type"].as_str().expect("a type") {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" => 4,
            "MAT4" => 16,
            other => panic!("type {other}"),
        };
        let (count, code) = (index(&accessor["count"]), index(&accessor["componentType"]));
        let normalized = accessor["normalized"].as_bool().unwrap_or(false);
        let mut numbers = match accessor.get("bufferView") {
            Some(view) => self.decode_view(index(view), offset(accessor), count, width, code, normalized),
            None => vec![0.0; count * width],
        };
        if let Some(sparse) = accessor.get("sparse") {
            let (places, values) = (&sparse["indices"], &sparse["values"]);
            let n = index(&sparse["count"]);
            let code_of_places = index(&places["componentType"]);
            let places = self.decode_view(index(&places["bufferView"]), offset(places), n, 1, code_of_places, false);
            let values = self.decode_view(index(&values["bufferView"]), offset(values), n, width, code, normalized);
            for (place, value) in places.iter().zip(values.chunks(width)) {
                let at = *place as usize * width;
                numbers[at..at + width].copy_from_slice(value);
            }
        }
        numbers
    }

    fn decode_view(
        &self,
        view: usize,
        start: usize,
        count: usize,
        width: usize,
        code: usize,
        normalized: bool,
    ) -> Vec<f64> {
        let view = &self.json["bufferViews"][view];
        let bytes = &self.buffers[index(&view["buffer"])][offset(view) + start..];
        let size = match code {
            5120 | 5121 => 1,
            5122 | 5123 => 2,
            5125 | 5126 => 4,
            other => panic!("componentType {other}"),
        };
        let stride = view["byteStride"].as_u64().map_or(width * size, |s| s as usize);
        let mut numbers = Vec::with_capacity(count * width);
        for element in 0..count {
            for component in 0..width {
                let at = element * stride + component * size;
                let b = &bytes[at..at + size];
                let (value, largest) = match code {
                    5120 => (f64::from(b[0] as i8), 127.0),
                    5121 => (f64::from(b[0]), 255.0),
                    5122 => (f64::from(i16::from_le_bytes([b[0], b[1]])), 32767.0),
                    5123 => (f64::from(u16::from_le_bytes([b[0], b[1]])), 65535.0),
                    5125 => (f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])), 4_294_967_295.0),
                    _ => (f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])), 1.0),
                };
                numbers.push(if normalized { (value / largest).max(-1.0) } else { value });
            }
        }
        numbers
    }

    /// The value of the channel of `clip` that animates `path` of `node`, at `time`; `None` if there is none.
    pub fn channel(&self, clip: usize, node: usize, path: &str, time: f64) -> Option<Vec<f64>> {
        let animation = &self.json["animations"][clip];
        let channel = &animation["channels"][*self.channels.get(&(clip, node, path.to_owned()))?];
        let sampler = &animation["samplers"][index(&channel["sampler"])];
        let times = self.accessor(index(&sampler["input"]));
        let values = self.accessor(index(&sampler["output"]));
        let interpolation = sampler["interpolation"].as_str().unwrap_or("LINEAR");
        let is_cubic = interpolation == "CUBICSPLINE";
        let width = values.len() / times.len() / if is_cubic { 3 } else { 1 };
        let is_rotation = path == "rotation";
        // Part 0: in-tangent, 1: value, 2: out-tangent.
        let part = |key: usize, part: usize| {
            let at = if is_cubic { (3 * key + part) * width } else { key * width };
            values[at..at + width].to_vec()
        };
        let value = |key: usize| if is_rotation && !is_cubic { unit(part(key, 1)) } else { part(key, 1) };
        let last = times.len() - 1;
        let result = if time <= times[0] {
            value(0)
        } else if time >= times[last] {
            value(last)
        } else {
            let k = (0..last).rev().find(|&k| times[k] <= time).expect("a key before");
            let td = times[k + 1] - times[k];
            let t = (time - times[k]) / td;
            let (v0, v1) = (value(k), value(k + 1));
            match interpolation {
                "STEP" => v0,
                "LINEAR" if is_rotation => slerp(&v0, &v1, t),
                "LINEAR" => v0.iter().zip(&v1).map(|(a, b)| (1.0 - t) * a + t * b).collect(),
                "CUBICSPLINE" => {
                    let (b0, a1) = (part(k, 2), part(k + 1, 0));
                    let (t2, t3) = (t * t, t * t * t);
                    (0..width)
                        .map(|n| {
                            (2.0 * t3 - 3.0 * t2 + 1.0) * v0[n]
                                + td * (t3 - 2.0 * t2 + t) * b0[n]
                                + (-2.0 * t3 + 3.0 * t2) * v1[n]
                                + td * (t3 - t2) * a1[n]
                        })
                        .collect()
                }
                other => panic!("interpolation {other}"),
            }
        };
        Some(if is_rotation { unit(result) } else { result })
    }

    /// A node's transform relative to its parent.
    pub fn node_local(&self, node: usize, clip: Option<usize>, time: f64) -> Matrix {
        let value = &self.json["nodes"][node];
        let animated = |path: &str| clip.and_then(|clip| self.channel(clip, node, path, time));
        let (translation, rotation, scale) = (animated("translation"), animated("rotation"), animated("scale"));
        if value.get("matrix").is_some() && translation.is_none() && rotation.is_none() && scale.is_none() {
            return numbers(&value["matrix"]).try_into().expect("16 numbers");
        }
        let part = |animated: Option<Vec<f64>>, key: &str, default: &[f64]| {
            animated.unwrap_or_else(|| value.get(key).map_or(default.to_vec(), numbers))
        };
        let t = part(translation, "translation", &[0.0; 3]);
        let r = unit(part(rotation, "rotation", &[0.0, 0.0, 0.0, 1.0]));
        let s = part(scale, "scale", &[1.0; 3]);
        let (x, y, z, w) = (r[0], r[1], r[2], r[3]);
        let columns = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
            [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
            [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let mut matrix = IDENTITY;
        for column in 0..3 {
            for row in 0..3 {
                matrix[4 * column + row] = columns[column][row] * s[column];
            }
            matrix[12 + column] = t[column];
        }
        matrix
    }

    /// A node's transform to world space.
    pub fn node_world(&self, node: usize, clip: Option<usize>, time: f64) -> Matrix {
        let mut memo = self.worlds.lock().expect("no panic while composing");
        if (memo.0, memo.1) != (clip, time.to_bits()) {
            *memo = (clip, time.to_bits(), HashMap::new());
        }
        let mut path = vec![node];
        path.extend(std::iter::successors(self.parents[node], |&node| self.parents[node]));
        let mut world = IDENTITY;
        for node in path.into_iter().rev() {
            world = *memo.2.entry(node).or_insert_with(|| product(&world, &self.node_local(node, clip, time)));
        }
        world
    }

    /// World positions of the vertices of a mesh node, per primitive: skinned by linear blending where the node has a
    /// skin (its own transform is then ignored), else placed by the node. Without a clip: the default pose.
    pub fn positions(&self, node: usize, clip: Option<usize>, time: f64) -> Vec<Vec<[f64; 3]>> {
        let value = &self.json["nodes"][node];
        let mesh = self.mesh(node);
        let weights = clip
            .and_then(|clip| self.channel(clip, node, "weights", time))
            .or_else(|| value.get("weights").map(numbers))
            .or_else(|| mesh.get("weights").map(numbers))
            .unwrap_or_default();
        let palette = value.get("skin").map(|skin| self.palette(index(skin), clip, time));
        let world = self.node_world(node, clip, time);
        list(mesh, "primitives")
            .iter()
            .map(|primitive| {
                let rest = self.morphed(primitive, &weights);
                match &palette {
                    Some(palette) => self.skinned(primitive, &rest, palette),
                    None => rest.iter().map(|p| transformed(&world, p)).collect(),
                }
            })
            .collect()
    }

    fn palette(&self, skin: usize, clip: Option<usize>, time: f64) -> Vec<Matrix> {
        let skin = &self.json["skins"][skin];
        let binds = skin.get("inverseBindMatrices").map(|binds| self.accessor(index(binds)));
        let joint = |(number, node): (usize, &Value)| {
            let world = self.node_world(index(node), clip, time);
            match &binds {
                Some(binds) => product(&world, &binds[16 * number..16 * number + 16].try_into().expect("16 numbers")),
                None => world,
            }
        };
        list(skin, "joints").iter().enumerate().map(joint).collect()
    }

    fn morphed(&self, primitive: &Value, weights: &[f64]) -> Vec<[f64; 3]> {
        let mut positions = self.accessor(index(&primitive["attributes"]["POSITION"])).to_vec();
        for (target, weight) in list(primitive, "targets").iter().zip(weights) {
            if let Some(deltas) = target.get("POSITION") {
                let deltas = self.accessor(index(deltas));
                positions.iter_mut().zip(deltas.iter()).for_each(|(p, d)| *p += weight * d);
            }
        }
        positions.chunks(3).map(|p| [p[0], p[1], p[2]]).collect()
    }

    fn skinned(&self, primitive: &Value, rest: &[[f64; 3]], palette: &[Matrix]) -> Vec<[f64; 3]> {
        let mut moved = vec![[0.0; 3]; rest.len()];
        let mut sums = vec![0.0; rest.len()];
        for set in 0.. {
            let attribute = |name: &str| primitive["attributes"].get(format!("{name}_{set}")).map(index);
            let (Some(joints), Some(weights)) = (attribute("JOINTS"), attribute("WEIGHTS")) else { break };
            let (joints, weights) = (self.accessor(joints), self.accessor(weights));
            for (n, (&joint, &weight)) in joints.iter().zip(weights.iter()).enumerate() {
                if weight != 0.0 {
                    let p = transformed(&palette[joint as usize], &rest[n / 4]);
                    (0..3).for_each(|axis| moved[n / 4][axis] += weight * p[axis]);
                    sums[n / 4] += weight;
                }
            }
        }
        moved.iter().zip(&sums).map(|(p, sum)| p.map(|x| x / sum)).collect()
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no index")) as usize
}

fn offset(value: &Value) -> usize {
    value.get("byteOffset").map_or(0, index)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("an array").iter().map(|n| n.as_f64().expect("a number")).collect()
}

fn unit(q: Vec<f64>) -> Vec<f64> {
    let length = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    q.iter().map(|x| x / length).collect()
}

/// Appendix C.4: along the shorter arc; for a vanishing angle, linear.
fn slerp(v0: &[f64], v1: &[f64], t: f64) -> Vec<f64> {
    let d: f64 = v0.iter().zip(v1).map(|(a, b)| a * b).sum();
    let sign = if d < 0.0 { -1.0 } else { 1.0 };
    let a = d.abs().min(1.0).acos();
    let (f0, f1) =
        if a.sin() < 1e-9 { (1.0 - t, t) } else { ((a * (1.0 - t)).sin() / a.sin(), (a * t).sin() / a.sin()) };
    v0.iter().zip(v1).map(|(x, y)| f0 * x + sign * f1 * y).collect()
}

/// `a b`.
pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|n| (0..4).map(|k| a[4 * k + n % 4] * b[4 * (n / 4) + k]).sum())
}

/// The point `p` mapped by an affine matrix.
pub fn transformed(m: &Matrix, p: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|row| m[row] * p[0] + m[4 + row] * p[1] + m[8 + row] * p[2] + m[12 + row])
}

fn unbase64(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .bytes()
        .filter(|byte| *byte != b'=')
        .map(|byte| match byte {
            b'A'..=b'Z' => u32::from(byte - b'A'),
            b'a'..=b'z' => u32::from(byte - b'a') + 26,
            b'0'..=b'9' => u32::from(byte - b'0') + 52,
            b'+' => 62,
            _ => 63,
        })
        .collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    bytes
}
