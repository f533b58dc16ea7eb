//! Bones that a player swings by itself: the springs of VRM avatars, 0.x (`VRM`) and 1.0 (`VRMC_springBone`).

use serde_json::Value;
use std::collections::BTreeSet;

/// Nodes that springs of the file move, ascending. What cannot be read as the extensions have it is passed over.
pub fn spring_nodes(json: &Value) -> Vec<usize> {
    let extensions = &json["extensions"];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let index = |value: &Value| value.as_u64().and_then(|index| usize::try_from(index).ok());
    let springs = list(&extensions["VRMC_springBone"]["springs"]);
    let joints = springs.iter().flat_map(|spring| list(&spring["joints"]));
    let mut found: BTreeSet<usize> = joints.filter_map(|joint| index(&joint["node"])).collect();
    // Of 0.x the roots are named, and all below them swings.
    let groups = list(&extensions["VRM"]["secondaryAnimation"]["boneGroups"]);
    let mut open: Vec<usize> =
        groups.iter().flat_map(|group| list(&group["bones"])).filter_map(|b| index(&b)).collect();
    let mut seen = BTreeSet::new();
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(list(&json["nodes"][node]["children"]).iter().filter_map(index));
        }
    }
    found.extend(seen);
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn springs_of_both_versions_are_found() {
        let file = json!({
            "nodes": [{"children": [1]}, {"children": [2, 3]}, {}, {}, {}],
            "extensions": {
                "VRM": {"secondaryAnimation": {"boneGroups": [{"bones": [1]}, {"bones": [-1, "x"]}]}},
                "VRMC_springBone": {"springs": [{"joints": [{"node": 4}, {"hitRadius": 1}]}, {}]}
            }
        });
        assert_eq!(spring_nodes(&file), [1, 2, 3, 4]);
        assert_eq!(spring_nodes(&json!({})), [0; 0]);
        // A cycle ends.
        let cycle = json!({
            "nodes": [{"children": [0]}],
            "extensions": {"VRM": {"secondaryAnimation": {"boneGroups": [{"bones": [0, 9]}]}}}
        });
        assert_eq!(spring_nodes(&cycle), [0, 9]);
    }
}
