//! Small glTF files made in memory, to be bent and broken by tests.

use serde_json::{Value, json};

/// A number as accessors store it.
pub trait Number: Copy {
    /// glTF's `componentType`.
    const CODE: u32;
    /// Little-endian bytes.
    fn bytes(self) -> Vec<u8>;
}

macro_rules! number {
    ($($kind:ty = $code:literal),*) => {$(
        impl Number for $kind {
            const CODE: u32 = $code;
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

number!(i8 = 5120, u8 = 5121, i16 = 5122, u16 = 5123, u32 = 5125, f32 = 5126);

/// A glTF file in the making: JSON and one buffer, both open to any change.
#[derive(Clone, Debug)]
pub struct Builder {
    /// The JSON tree. `buffers[0].byteLength` is set when the file is written, unless the tree already has it.
    pub json: Value,
    /// The bytes of buffer 0.
    pub bin: Vec<u8>,
}

impl Default for Builder {
    fn default() -> Self {
        Self::new()
    }
}

/// Vertices around a ring of [`Builder::rigged`].
const AROUND: usize = 4;
/// Rings of [`Builder::rigged`].
const RINGS: usize = 5;

impl Builder {
    /// An empty valid file.
    pub fn new() -> Self {
        Self { json: json!({"asset": {"version": "2.0"}, "buffers": [{}]}), bin: Vec::new() }
    }

    /// A small valid character: a square tube two units long, "Tube" (node 0), on two joints, "lower" (node 1) and
    /// "upper" (node 2), with one clip, "bend", that turns the upper and lifts the lower.
    pub fn rigged() -> Self {
        let mut file = Self::new();
        let (mut positions, mut joints, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for ring in 0..RINGS {
            let y = 2.0 * ring as f32 / (RINGS - 1) as f32;
            let upper = ring as f32 / (RINGS - 1) as f32;
            for (x, z) in [(0.5, 0.5), (-0.5, 0.5), (-0.5, -0.5), (0.5, -0.5)] {
                positions.extend([x, y, z]);
                joints.extend([0u8, 1, 0, 0]);
                weights.extend([1.0 - upper, upper, 0.0, 0.0]);
            }
        }
        let mut indices: Vec<u16> = Vec::new();
        for ring in 0..RINGS - 1 {
            for side in 0..AROUND {
                let corner = |ring: usize, side: usize| (ring * AROUND + side % AROUND) as u16;
                let (a, b) = (corner(ring, side), corner(ring, side + 1));
                let (c, d) = (corner(ring + 1, side + 1), corner(ring + 1, side));
                indices.extend([a, c, b, a, d, c]);
            }
        }
        let position = file.accessor("VEC3", &positions);
        let joint = file.accessor("VEC4", &joints);
        let weight = file.accessor("VEC4", &weights);
        let index = file.accessor("SCALAR", &indices);
        let mut identity = [0f32; 16];
        (0..4).for_each(|n| identity[5 * n] = 1.0);
        let mut below = identity;
        below[13] = -1.0;
        let binds = file.accessor("MAT4", &[identity, below].concat());
        let times = file.accessor("SCALAR", &[0.0f32, 0.5, 2.0]);
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let turns = file.accessor("VEC4", &[0.0f32, 0.0, 0.0, 1.0, half, 0.0, 0.0, half, 0.0, 0.6, 0.0, -0.8]);
        let lifts = file.accessor("VEC3", &[0.0f32, 0.0, 0.0, 0.0, 1.0, 0.0, 0.25, 0.5, -1.0]);
        file.set("/scene", json!(0));
        file.set("/scenes", json!([{"nodes": [0, 1]}]));
        file.set(
            "/nodes",
            json!([
                {"name": "Tube", "mesh": 0, "skin": 0},
                {"name": "lower", "children": [2]},
                {"name": "upper", "translation": [0, 1, 0]},
            ]),
        );
        let attributes = json!({"POSITION": position, "JOINTS_0": joint, "WEIGHTS_0": weight});
        let primitive = json!({"attributes": attributes, "indices": index});
        file.set("/meshes", json!([{"name": "TubeMesh", "primitives": [primitive]}]));
        file.set("/skins", json!([{"name": "Skin", "joints": [1, 2], "inverseBindMatrices": binds}]));
        file.set(
            "/animations",
            json!([{
                "name": "bend",
                "samplers": [{"input": times, "output": turns}, {"input": times, "output": lifts}],
                "channels": [
                    {"sampler": 0, "target": {"node": 2, "path": "rotation"}},
                    {"sampler": 1, "target": {"node": 1, "path": "translation"}},
                ],
            }]),
        );
        file
    }

    /// Vertices of the one primitive of [`Self::rigged`].
    pub const RIGGED_VERTICES: usize = AROUND * RINGS;

    /// Appends numbers to the buffer as a buffer view of their own, and returns its index.
    pub fn view<T: Number>(&mut self, numbers: &[T]) -> usize {
        while !self.bin.len().is_multiple_of(4) {
            self.bin.push(0);
        }
        let offset = self.bin.len();
        self.bin.extend(numbers.iter().flat_map(|n| n.bytes()));
        self.push("/bufferViews", json!({"buffer": 0, "byteOffset": offset, "byteLength": self.bin.len() - offset}))
    }

    /// Appends an accessor of `kind` ("SCALAR", "VEC3" …) over `numbers`, and returns its index.
    pub fn accessor<T: Number>(&mut self, kind: &str, numbers: &[T]) -> usize {
        let view = self.view(numbers);
        let count = numbers.len() / width(kind);
        self.push("/accessors", json!({"bufferView": view, "componentType": T::CODE, "type": kind, "count": count}))
    }

    /// As [`Self::accessor`], marked as normalised.
    pub fn normalized<T: Number>(&mut self, kind: &str, numbers: &[T]) -> usize {
        let index = self.accessor(kind, numbers);
        self.set(&format!("/accessors/{index}/normalized"), json!(true));
        index
    }

    /// Appends an entry to the top-level array at `pointer`, making it if need be, and returns its index.
    pub fn push(&mut self, pointer: &str, entry: Value) -> usize {
        if self.json.pointer(pointer).is_none() {
            self.set(pointer, json!([]));
        }
        let array = self.json.pointer_mut(pointer).and_then(Value::as_array_mut);
        let array = array.unwrap_or_else(|| panic!("{pointer} is no array"));
        array.push(entry);
        array.len() - 1
    }

    /// Puts `value` at `pointer`, whose parent must be there; at the length of an array it is appended.
    pub fn set(&mut self, pointer: &str, value: Value) {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_else(|| panic!("{pointer} is no pointer"));
        match self.json.pointer_mut(parent) {
            Some(Value::Object(object)) => {
                object.insert(key.into(), value);
            }
            Some(Value::Array(array)) => match key.parse::<usize>() {
                Ok(index) if index < array.len() => array[index] = value,
                Ok(index) if index == array.len() => array.push(value),
                _ => panic!("{pointer} is no place in an array of {}", array.len()),
            },
            _ => panic!("nothing at {parent}"),
        }
    }

    /// As [`Self::set`], for a chain of changes.
    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        self.set(pointer, value);
        self
    }

    /// Removes the member at `pointer`.
    pub fn without(mut self, pointer: &str) -> Self {
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_else(|| panic!("{pointer} is no pointer"));
        let object = self.json.pointer_mut(parent).and_then(Value::as_object_mut);
        object.unwrap_or_else(|| panic!("{parent} is no object")).shift_remove(key);
        self
    }

    /// Where the data of accessor `index` begins in [`Self::bin`].
    pub fn offset(&self, index: usize) -> usize {
        let number = |pointer: String| self.json.pointer(&pointer).and_then(Value::as_u64).unwrap_or(0) as usize;
        let view = number(format!("/accessors/{index}/bufferView"));
        number(format!("/bufferViews/{view}/byteOffset")) + number(format!("/accessors/{index}/byteOffset"))
    }

    /// Overwrites number `place` of accessor `index` (tightly packed).
    pub fn poke<T: Number>(mut self, index: usize, place: usize, number: T) -> Self {
        let bytes = number.bytes();
        let at = self.offset(index) + place * bytes.len();
        self.bin[at..at + bytes.len()].copy_from_slice(&bytes);
        self
    }

    fn finished(&self) -> Value {
        let mut json = self.json.clone();
        if let Some(buffer) = json.pointer_mut("/buffers/0").and_then(Value::as_object_mut) {
            buffer.entry("byteLength").or_insert(self.bin.len().into());
        }
        json
    }

    /// The file as GLB.
    pub fn glb(&self) -> Vec<u8> {
        let text = self.finished().to_string().into_bytes();
        glb(&[(*b"JSON", &text, b' '), (*b"BIN\0", &self.bin, 0)])
    }

    /// The file as JSON text whose buffer 0 has the given URI.
    pub fn gltf(&self, uri: &str) -> Vec<u8> {
        let mut file = self.clone();
        file.set("/buffers/0/uri", json!(uri));
        file.finished().to_string().into_bytes()
    }

    /// The file as JSON text with its buffer in a data URI.
    pub fn embedded(&self) -> Vec<u8> {
        self.gltf(&format!("data:application/octet-stream;base64,{}", base64(&self.bin)))
    }
}

fn width(kind: &str) -> usize {
    match kind {
        "SCALAR" => 1,
        "VEC2" => 2,
        "VEC3" => 3,
        "VEC4" => 4,
        "MAT4" => 16,
        _ => panic!("no accessor type {kind}"),
    }
}

/// A GLB of the given chunks: type, bytes, and the byte that pads them to a multiple of four.
pub fn glb(chunks: &[([u8; 4], &[u8], u8)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, bytes, padding) in chunks {
        let padded = bytes.len().next_multiple_of(4);
        body.extend((padded as u32).to_le_bytes());
        body.extend(kind);
        body.extend(*bytes);
        body.resize(body.len() + padded - bytes.len(), *padding);
    }
    let mut file = b"glTF".to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend((body.len() as u32 + 12).to_le_bytes());
    file.extend(body);
    file
}

/// Base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let sextet = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit <= group.len() { DIGITS[sextet as usize] as char } else { '=' });
        }
    }
    text
}
