//! Where a document refers to meshes, accessors and buffer views by index.
//!
//! Source: the JSON schemas of glTF 2.0. Extensions are not followed.

use serde_json::Value;

/// Paths of referring members (`*`: every entry or member), and the array they refer to.
const REFERENCES: [(&[&str], &str); 11] = [
    (&["nodes", "*", "mesh"], "meshes"),
    (&["meshes", "*", "primitives", "*", "attributes", "*"], "accessors"),
    (&["meshes", "*", "primitives", "*", "indices"], "accessors"),
    (&["meshes", "*", "primitives", "*", "targets", "*", "*"], "accessors"),
    (&["animations", "*", "samplers", "*", "input"], "accessors"),
    (&["animations", "*", "samplers", "*", "output"], "accessors"),
    (&["skins", "*", "inverseBindMatrices"], "accessors"),
    (&["accessors", "*", "bufferView"], "bufferViews"),
    (&["accessors", "*", "sparse", "indices", "bufferView"], "bufferViews"),
    (&["accessors", "*", "sparse", "values", "bufferView"], "bufferViews"),
    (&["images", "*", "bufferView"], "bufferViews"),
];

/// The array that the member at `path` refers to.
pub(crate) fn array_of(path: &[String]) -> Option<&'static str> {
    let fits = |pattern: &[&str]| {
        pattern.len() == path.len() && pattern.iter().zip(path).all(|(step, here)| *step == "*" || *step == here)
    };
    REFERENCES.iter().find(|(pattern, _)| fits(pattern)).map(|(_, array)| *array)
}

/// Calls `found` with the JSON pointer of every reference, the array it refers to, and the index.
pub(crate) fn visit(json: &Value, found: &mut impl FnMut(&str, &'static str, usize)) {
    for (path, array) in REFERENCES {
        follow(json, path, &mut String::new(), &mut |at, value| {
            if let Some(index) = value.as_u64().and_then(|index| usize::try_from(index).ok()) {
                found(at, array, index);
            }
        });
    }
}

fn follow(value: &Value, path: &[&str], at: &mut String, found: &mut impl FnMut(&str, &Value)) {
    let Some((step, rest)) = path.split_first() else { return found(at, value) };
    let length = at.len();
    let mut enter = |key: &str, value: &Value| {
        at.push('/');
        at.push_str(key);
        follow(value, rest, at, found);
        at.truncate(length);
    };
    match (value, *step) {
        (Value::Array(entries), "*") => entries.iter().enumerate().for_each(|(n, v)| enter(&n.to_string(), v)),
        (Value::Object(members), "*") => members.iter().for_each(|(key, v)| enter(key, v)),
        (Value::Object(members), step) => members.get(step).into_iter().for_each(|v| enter(step, v)),
        _ => {}
    }
}
