//! Streams of Draco and meshopt, in a file that says what they hold.

use serde_json::{Value, json};
use sinew_gltf::Document;
use sinew_testkit::glb::Builder;

/// What files pack, by glTF-Transform: see `tests/packed` of `sinew_gltf`.
const FILES: [&[u8]; 5] = [
    include_bytes!("../../sinew_gltf/tests/packed/tube.draco.glb"),
    include_bytes!("../../sinew_gltf/tests/packed/tube.dracofine.glb"),
    include_bytes!("../../sinew_gltf/tests/packed/tube.dracoseq.glb"),
    include_bytes!("../../sinew_gltf/tests/packed/tube.meshopt.glb"),
    include_bytes!("../../sinew_gltf/tests/packed/morphs.khr.glb"),
];

/// Modes, filters and bytes of an element.
const FORMS: [(&str, &str, usize); 9] = [
    ("ATTRIBUTES", "NONE", 12),
    ("ATTRIBUTES", "NONE", 4),
    ("ATTRIBUTES", "OCTAHEDRAL", 4),
    ("ATTRIBUTES", "OCTAHEDRAL", 8),
    ("ATTRIBUTES", "QUATERNION", 8),
    ("ATTRIBUTES", "EXPONENTIAL", 12),
    ("ATTRIBUTES", "COLOR", 4),
    ("TRIANGLES", "NONE", 2),
    ("INDICES", "NONE", 4),
];

const DRACO: &str = "KHR_draco_mesh_compression";
const MESHOPT: &str = "EXT_meshopt_compression";

/// A form, a count, and the stream.
pub fn packed(bytes: &[u8]) {
    let [form, count, stream @ ..] = bytes else { return };
    let mut file = Builder::new();
    file.bin = stream.to_vec();
    let count = 3 * usize::from(*count).max(1);
    match FORMS.get(usize::from(*form) % (FORMS.len() + 1)) {
        Some((mode, filter, stride)) => {
            let packed = json!({
                "buffer": 0, "byteLength": stream.len(), "count": count, "byteStride": stride, "mode": mode,
                "filter": filter,
            });
            file.push("/buffers", json!({"byteLength": count * stride}));
            let view = json!({"buffer": 1, "byteLength": count * stride, "extensions": {MESHOPT: packed}});
            file.push("/bufferViews", view);
        }
        None => {
            file.push("/bufferViews", json!({"buffer": 0, "byteLength": stream.len()}));
            let mut attributes = [json!({}), json!({})];
            for (number, (name, kind, component)) in ATTRIBUTES.iter().enumerate() {
                let accessor = json!({"componentType": component, "count": count, "type": kind});
                attributes[0][*name] = file.push("/accessors", accessor).into();
                attributes[1][*name] = number.into();
            }
            let indices = file.push("/accessors", json!({"componentType": 5123, "count": 6 * count, "type": "SCALAR"}));
            let [plain, packed] = attributes;
            let packed = json!({DRACO: {"bufferView": 0, "attributes": packed}});
            let primitive = json!({"attributes": plain, "indices": indices, "extensions": packed});
            file.push("/meshes", json!({"primitives": [primitive]}));
        }
    }
    let Ok(document) = Document::from_slice("fuzz", &file.glb(), None) else { return };
    let written = document.to_glb().expect("written");
    let again = Document::from_slice("again", &written, None).expect("own output is read");
    assert!(again.warnings.is_empty(), "{:?}", again.warnings);
}

/// In the order in which the files above have them.
const ATTRIBUTES: [(&str, &str, u32); 4] =
    [("POSITION", "VEC3", 5126), ("NORMAL", "VEC3", 5126), ("JOINTS_0", "VEC4", 5121), ("WEIGHTS_0", "VEC4", 5126)];

/// The streams of the files, each under the form it has there.
pub fn seeds() -> Vec<Vec<u8>> {
    FILES.iter().flat_map(|file| streams(file).unwrap_or_default()).collect()
}

fn streams(file: &[u8]) -> Option<Vec<Vec<u8>>> {
    let length = u32::from_le_bytes(*file.get(12..)?.first_chunk()?) as usize;
    let json: Value = serde_json::from_slice(file.get(20..20 + length)?).ok()?;
    let bin = file.get(28 + length..)?;
    let whole = |value: &Value| value.as_u64().map(|n| n as usize);
    let slice = |view: &Value| {
        let start = whole(&view["byteOffset"]).unwrap_or(0);
        bin.get(start..start + whole(&view["byteLength"])?)
    };
    let mut seeds = Vec::new();
    for view in json["bufferViews"].as_array()? {
        let packed = view["extensions"].as_object().and_then(|extensions| extensions.values().next());
        let Some(packed) = packed else { continue };
        let filter = packed["filter"].as_str().unwrap_or("NONE");
        let form = FORMS.iter().position(|(mode, name, stride)| {
            packed["mode"] == *mode && *name == filter && whole(&packed["byteStride"]) == Some(*stride)
        });
        let count = whole(&packed["count"])?;
        if let (Some(form), true, Some(stream)) = (form, count % 3 == 0 && count < 768, slice(packed)) {
            seeds.push([&[form as u8, (count / 3) as u8], stream].concat());
        }
    }
    for mesh in json["meshes"].as_array()? {
        let view = whole(&mesh["primitives"][0]["extensions"][DRACO]["bufferView"]);
        if let Some(stream) = view.and_then(|view| slice(&json["bufferViews"][view])) {
            seeds.push([&[FORMS.len() as u8, 80], stream].concat());
        }
    }
    Some(seeds)
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_hold_streams_of_both_kinds() {
        let forms: Vec<u8> = super::seeds().iter().map(|seed| seed[0]).collect();
        assert!(forms.iter().filter(|form| **form == super::FORMS.len() as u8).count() == 3, "{forms:?}");
        assert!(forms.iter().any(|form| *form < super::FORMS.len() as u8), "{forms:?}");
    }
}
