//! New default transforms for nodes, everything else as it was.
//!
//! Oracle: re-import gives the transforms back; nodes not named keep every byte of their JSON (`tests/posed.rs`).

use crate::document::Document;
use crate::edit::change_member;
use crate::error::WriteError;
use serde_json::{Value, json};
use sinew::LocalTransform;

/// Sets the default transforms of nodes. After an error some may be set.
pub fn set_transforms(document: &mut Document, nodes: &[(usize, LocalTransform)]) -> Result<(), WriteError> {
    for &(node, local) in nodes {
        let missing = || WriteError::Content { element: format!("node {node}"), fault: "is not in the file".into() };
        if document.json.pointer(&format!("/nodes/{node}")).is_none() {
            return Err(missing());
        }
        let mut put = |key: &str, value: Option<Value>| {
            let at = format!("/nodes/{node}/{key}");
            if value.is_none() && document.json.pointer(&at).is_none() {
                return Ok(());
            }
            change_member(&mut document.json, &at, value).map(drop).ok_or_else(missing)
        };
        // glTF allows a matrix or parts, never both.
        let (matrix, parts) = match local {
            LocalTransform::Matrix(matrix) => (Some(json!(glam::DMat4::from(matrix).to_cols_array())), None),
            LocalTransform::Trs(trs) => (None, Some(trs)),
        };
        put("matrix", matrix)?;
        put("translation", parts.map(|trs| json!(trs.translation.to_array())))?;
        put("rotation", parts.map(|trs| json!(trs.rotation.to_array())))?;
        put("scale", parts.map(|trs| json!(trs.scale.to_array())))?;
    }
    Ok(())
}
