//! Which extensions a file may require. Those of looks and information do not stand in the way; an unknown one does
//! where what is read uses it, because then it may move vertices.

use crate::decode;
use crate::error::{Fault, Kind};
use crate::view::View;
use serde_json::Value;
use sinew::Warning;

/// Families that leave geometry, skins and animation as they are.
const HARMLESS_FAMILIES: [&str; 12] = [
    "KHR_materials_",
    "ADOBE_materials_",
    "EXT_materials_",
    "KHR_texture_",
    "EXT_texture_",
    "MSFT_texture_",
    "KHR_lights_",
    "EXT_lights_",
    "KHR_xmp",
    "KHR_audio",
    "KHR_physics_",
    "OMI_",
];

/// Others that leave them as they are, or that the importer understands.
const HARMLESS: [&str; 23] = [
    "KHR_mesh_quantization",
    "KHR_animation_pointer",
    "KHR_techniques_webgl",
    "KHR_node_visibility",
    "KHR_node_hoverability",
    "KHR_node_selectability",
    "KHR_interactivity",
    "KHR_implicit_shapes",
    "KHR_collision_shapes",
    "KHR_gaussian_splatting",
    "MSFT_packing_normalRoughnessMetallic",
    "MSFT_packing_occlusionRoughnessMetallic",
    "MSFT_audio_emitter",
    "EXT_structural_metadata",
    "EXT_mesh_features",
    "EXT_instance_features",
    "CESIUM_primitive_outline",
    "AGI_stk_metadata",
    "GODOT_single_root",
    "VRM",
    "VRMC_vrm",
    "VRMC_springBone",
    "VRMC_materials_mtoon",
];

/// VRM's other parts are kept and told like its springs.
const HARMLESS_VRM: &str = "VRMC_";

pub(crate) fn is_harmless(extension: &str) -> bool {
    HARMLESS.contains(&extension)
        || extension.starts_with(HARMLESS_VRM)
        || HARMLESS_FAMILIES.iter().any(|family| extension.starts_with(family))
}

/// Refuses what cannot be read without knowing an extension, and tells of those that do not matter here.
pub(crate) fn check(root: &View<'_>, warnings: &mut Vec<Warning>) -> Result<(), Fault> {
    for required in root.list("extensionsRequired")? {
        let name = required.text()?;
        if is_harmless(name) || decode::undoes(name) {
            continue;
        }
        if let Some(user) = user(root.value(), name) {
            let fault = format!("requires the extension {name}, which Sinew does not know and which {user} uses");
            let remedy = "export without that extension, or apply it in the program that made the file";
            return Err(Fault::new(Kind::Unsupported, required.element(), fault, remedy));
        }
        warnings.push(Warning {
            code: "extension-unknown",
            subject: required.words(),
            message: format!("requires {name}, which Sinew does not know; nothing that it reads uses it"),
            remedy: "compare the result with the original in a program that knows the extension",
        });
    }
    Ok(())
}

/// Something that is read and uses the extension, in words.
fn user(json: &Value, extension: &str) -> Option<String> {
    const READ: [&str; 8] = ["accessors", "animations", "buffers", "bufferViews", "meshes", "nodes", "scenes", "skins"];
    READ.iter().find_map(|array| {
        let entries = json.get(*array)?.as_array()?;
        let index = entries.iter().position(|entry| uses(entry, extension))?;
        Some(View::words_at(json, &format!("/{array}/{index}")))
    })
}

/// Whether a member `extensions`, here or below, names the extension. What makers keep for themselves does not count.
fn uses(value: &Value, extension: &str) -> bool {
    match value {
        Value::Array(entries) => entries.iter().any(|entry| uses(entry, extension)),
        Value::Object(members) => members.iter().any(|(key, value)| match key.as_str() {
            "extras" => false,
            "extensions" => value.get(extension).is_some() || uses(value, extension),
            _ => uses(value, extension),
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(json: &Value) -> Result<usize, String> {
        let mut warnings = Vec::new();
        check(&View::root(json), &mut warnings).map_err(|fault| fault.fault)?;
        Ok(warnings.len())
    }

    #[test]
    fn looks_do_not_refuse_and_the_unknown_does_where_it_is_used() {
        for name in
            ["KHR_materials_variants", "KHR_texture_basisu", "KHR_lights_punctual", "KHR_xmp_json_ld", "VRMC_vrm"]
        {
            assert_eq!(outcome(&json!({"extensionsRequired": [name]})), Ok(0), "{name}");
        }
        let unused = json!({
            "extensionsRequired": ["ACME_wobble"],
            "materials": [{"extensions": {"ACME_wobble": {}}}],
            "nodes": [{"extras": {"extensions": {"ACME_wobble": {}}}}],
        });
        assert_eq!(outcome(&unused), Ok(1));
        for (array, entry) in [
            ("nodes", json!({"name": "Hip", "extensions": {"ACME_wobble": {}}})),
            ("meshes", json!({"primitives": [{"extensions": {"ACME_wobble": {}}}]})),
            ("animations", json!({"channels": [{"target": {"extensions": {"ACME_wobble": {}}}}]})),
        ] {
            let fault = outcome(&json!({"extensionsRequired": ["ACME_wobble"], array: [{}, entry]})).expect_err("used");
            assert!(fault.contains(" 1") && fault.contains("ACME_wobble"), "{fault}");
        }
        let instances = json!({
            "extensionsRequired": ["EXT_mesh_gpu_instancing"],
            "nodes": [{"extensions": {"EXT_mesh_gpu_instancing": {}}}],
        });
        assert!(outcome(&instances).is_err());
    }
}
