//! What VRM files tell of their nodes: which part of a human body each is (0.x `VRM`, 1.0 `VRMC_vrm`, animations
//! `VRMC_vrm_animation`).

use serde_json::Value;

/// Nodes and the part of the body they are, as VRM 1.0 names it (`leftUpperArm`); none where the file is no VRM.
pub fn humanoid(json: &Value) -> Vec<(usize, String)> {
    let index = |value: &Value| value.as_u64().and_then(|index| usize::try_from(index).ok());
    let extensions = &json["extensions"];
    let mut found = Vec::new();
    for name in ["VRMC_vrm", "VRMC_vrm_animation"] {
        let bones = extensions[name]["humanoid"]["humanBones"].as_object();
        let bone = |(part, bone): (&String, &Value)| Some((index(&bone["node"])?, part.clone()));
        found.extend(bones.into_iter().flatten().filter_map(bone));
    }
    if found.is_empty() {
        let bones = extensions["VRM"]["humanoid"]["humanBones"].as_array();
        let bone = |bone: &Value| Some((index(&bone["node"])?, of_version_1(bone["bone"].as_str()?)));
        found.extend(bones.into_iter().flatten().filter_map(bone));
    }
    let count = json["nodes"].as_array().map_or(0, Vec::len);
    found.retain(|(node, _)| *node < count);
    found.sort();
    found.dedup_by_key(|(node, _)| *node);
    found
}

/// Thumbs are counted from the wrist in 1.0, from the first joint beyond it in 0.x.
fn of_version_1(part: &str) -> String {
    match part.split_once("Thumb") {
        Some((side, "Proximal")) => format!("{side}ThumbMetacarpal"),
        Some((side, "Intermediate")) => format!("{side}ThumbProximal"),
        _ => part.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn both_versions_name_the_same_parts() {
        let old = json!({"nodes": [{}, {}, {}], "extensions": {"VRM": {"humanoid": {"humanBones": [
            {"bone": "leftThumbIntermediate", "node": 2}, {"bone": "hips", "node": 0}, {"bone": "head", "node": 9}, {}
        ]}}}});
        let new = json!({"nodes": [{}, {}, {}], "extensions": {"VRMC_vrm": {"humanoid": {"humanBones": {
            "hips": {"node": 0}, "leftThumbProximal": {"node": 2}, "head": {"node": 9}, "neck": {}
        }}}}});
        let parts = [(0, "hips".to_owned()), (2, "leftThumbProximal".to_owned())];
        assert_eq!(humanoid(&old), parts);
        assert_eq!(humanoid(&new), parts);
        assert_eq!(humanoid(&json!({})), []);
    }
}
