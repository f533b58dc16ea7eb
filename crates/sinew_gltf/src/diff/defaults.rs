//! What glTF takes for granted where a member is absent.

use serde_json::Value;

/// Whether the value at `path` says no more than its absence would.
pub(super) fn is_void(path: &mut Vec<String>, value: &Value) -> bool {
    if is_default(&path.iter().map(String::as_str).collect::<Vec<_>>(), value) {
        return true;
    }
    match value {
        Value::Array(entries) => entries.is_empty(),
        Value::Object(members) => {
            // Inside extensions and extras an empty object may mean something, `{"KHR_materials_unlit": {}}` for one.
            let is_open = |segment: &String| segment == "extensions" || segment == "extras";
            let is_free = path.iter().rev().skip(1).any(is_open);
            !is_free
                && members.iter().all(|(key, value)| {
                    path.push(key.clone());
                    let is_void = is_void(path, value);
                    path.pop();
                    is_void
                })
        }
        _ => false,
    }
}

fn is_default(path: &[&str], value: &Value) -> bool {
    let is = |numbers: &[f64]| {
        let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        list.len() == numbers.len() && list.iter().zip(numbers).all(|(value, number)| value.as_f64() == Some(*number))
    };
    match path {
        ["nodes", _, "translation"] | ["materials", _, "emissiveFactor"] => is(&[0.0; 3]),
        ["nodes", _, "rotation"] => is(&[0.0, 0.0, 0.0, 1.0]),
        ["nodes", _, "scale"] => is(&[1.0; 3]),
        ["nodes", _, "matrix"] => is(&[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]),
        ["meshes", _, "weights"] => {
            value.as_array().is_some_and(|weights| weights.iter().all(|weight| weight.as_f64() == Some(0.0)))
        }
        ["meshes", _, "primitives", _, "mode"] => is(&[4.0]),
        ["animations", _, "samplers", _, "interpolation"] => value == "LINEAR",
        ["materials", _, "alphaMode"] => value == "OPAQUE",
        ["materials", _, "alphaCutoff"] => is(&[0.5]),
        ["materials", _, "doubleSided"] => value == false,
        ["materials", _, "pbrMetallicRoughness", "baseColorFactor"] => is(&[1.0; 4]),
        ["materials", _, "pbrMetallicRoughness", "metallicFactor" | "roughnessFactor"]
        | ["materials", _, "normalTexture", "scale"]
        | ["materials", _, "occlusionTexture", "strength"] => is(&[1.0]),
        ["materials", _, .., "texCoord"] => is(&[0.0]),
        ["samplers", _, "wrapS" | "wrapT"] => is(&[10497.0]),
        _ => false,
    }
}
