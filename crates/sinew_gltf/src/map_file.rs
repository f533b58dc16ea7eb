//! Painted maps as files of their own: one map for one primitive of one mesh node, in the file's vertex order.
//!
//! A map file is JSON with fixed keys:
//!
//! ```json
//! {
//!   "sinew_map": 1,
//!   "name": "belly",
//!   "node": 12,
//!   "primitive": 0,
//!   "vertices": 3,
//!   "positions": "9e3779b97f4a7c15",
//!   "values": [0, 0.5, -1]
//! }
//! ```
//!
//! `positions` is the FNV-1a hash (64 bit, hexadecimal) of the rest positions, each coordinate as the little-endian
//! bytes of an f32 with −0 written as 0. A map whose vertex count or hash is not the mesh's was painted on another
//! mesh: values would land on the wrong vertices, so it is refused.

use crate::fnv::Fnv1a;
use crate::view::View;
use crate::whole_file::write_whole;
use glam::Vec3;
use serde_json::{Map, Value};
use sinew::RawRig;
use sinew::raw::RawPrimitive;
use std::path::Path;

/// The version of the format this library writes, and the newest it reads.
pub const VERSION: u64 = 1;

/// One painted map.
///
/// # Invariants
/// The name is not empty and in lower case; values are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct MapFile {
    name: String,
    node: usize,
    primitive: usize,
    positions: u64,
    values: Vec<f32>,
}

/// Why a map file was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapFileError {
    /// Not JSON, or not the keys and kinds of value a map file has.
    #[error("map file {file}: {element}: {fault}; write it again with Sinew")]
    Malformed {
        /// The map file.
        file: String,
        /// The key concerned.
        element: String,
        /// What is wrong.
        fault: String,
    },
    /// Written by a later Sinew.
    #[error("map file {file}: sinew_map is {found}, but this Sinew reads up to {VERSION}; update Sinew")]
    Newer {
        /// The map file.
        file: String,
        /// The version found.
        found: u64,
    },
    /// It names a mesh the file does not have.
    #[error(
        "map \"{map}\": node {node} of the character has no mesh primitive {primitive}; paint it again on this file"
    )]
    NoSuchPrimitive {
        /// The map.
        map: String,
        /// The node it names.
        node: usize,
        /// The primitive it names.
        primitive: usize,
    },
    /// It was painted on a mesh with another number of vertices.
    #[error(
        "map \"{map}\": the map has {map_vertices} vertices, but node {node}, primitive {primitive} has \
         {mesh_vertices}; paint it again on this file"
    )]
    VertexCount {
        /// The map.
        map: String,
        /// The mesh node.
        node: usize,
        /// The primitive.
        primitive: usize,
        /// Vertices of the map.
        map_vertices: usize,
        /// Vertices of the mesh.
        mesh_vertices: usize,
    },
    /// It was painted on a mesh with other rest positions.
    #[error(
        "map \"{map}\": the map was painted on positions {map_positions:016x}, but those of node {node}, primitive \
         {primitive} are {mesh_positions:016x}; paint it again on this file"
    )]
    Positions {
        /// The map.
        map: String,
        /// The mesh node.
        node: usize,
        /// The primitive.
        primitive: usize,
        /// Hash stored in the map.
        map_positions: u64,
        /// Hash of the mesh.
        mesh_positions: u64,
    },
    /// A map that cannot be written: no name, or a value that is not finite.
    #[error("map \"{map}\": {fault}")]
    Unwritable {
        /// The map.
        map: String,
        /// What is wrong.
        fault: String,
    },
    /// The file could not be written.
    #[error("map file {file}: cannot be written ({source}); check the folder and the free space")]
    Io {
        /// The map file.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl MapFile {
    /// A map for the primitive of `raw` that `node` and `primitive` name, one value per vertex.
    pub fn new(
        raw: &RawRig,
        name: &str,
        node: usize,
        primitive: usize,
        values: Vec<f32>,
    ) -> Result<Self, MapFileError> {
        let name = name.to_lowercase();
        let unwritable = |fault: String| MapFileError::Unwritable { map: name.clone(), fault };
        if name.is_empty() {
            return Err(unwritable("has no name; give it one".into()));
        }
        if let Some(vertex) = values.iter().position(|v| !v.is_finite()) {
            return Err(unwritable(format!("is {} at vertex {vertex}; paint that vertex again", values[vertex])));
        }
        let positions = match find(raw, node, primitive) {
            Some(found) => hash_positions(&raw.meshes[found.0].primitives[found.1].positions),
            None => return Err(MapFileError::NoSuchPrimitive { map: name, node, primitive }),
        };
        let map = Self { name, node, primitive, positions, values };
        map.target(raw)?;
        Ok(map)
    }

    /// Name, in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The mesh node it belongs to.
    pub fn node(&self) -> usize {
        self.node
    }

    /// The primitive of that node's mesh.
    pub fn primitive(&self) -> usize {
        self.primitive
    }

    /// One value per vertex, in the file's order.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Reads the text of a map file; `file` names it in messages.
    pub fn from_text(file: &str, text: &str) -> Result<Self, MapFileError> {
        let malformed = |element: &str, fault: String| MapFileError::Malformed {
            file: file.to_owned(),
            element: element.to_owned(),
            fault,
        };
        let json: Value = serde_json::from_str(text).map_err(|error| malformed("JSON text", error.to_string()))?;
        let read = || -> Result<_, crate::error::Fault> {
            let root = View::root(&json);
            let version = root.need("sinew_map")?.whole()?;
            if version > VERSION {
                return Ok(Err(version));
            }
            let known = ["sinew_map", "name", "node", "primitive", "vertices", "positions", "values"];
            if let Some((_, stray)) = root.members()?.into_iter().find(|(key, _)| !known.contains(key)) {
                return Err(stray.invalid("is not a key of map files"));
            }
            let index = |key: &str| -> Result<usize, crate::error::Fault> {
                let view = root.need(key)?;
                usize::try_from(view.whole()?).map_err(|_| view.invalid("is out of range"))
            };
            let name = root.need("name")?;
            if name.text()?.is_empty() {
                return Err(name.invalid("is empty"));
            }
            let hash = root.need("positions")?;
            let positions = Some(hash.text()?)
                .filter(|digits| digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .ok_or_else(|| hash.invalid("is not a hash of 16 hexadecimal digits"))?;
            let list = root.need("values")?;
            let values = list.entries()?.iter().map(|v| Ok(v.number()? as f32)).collect::<Result<Vec<_>, _>>()?;
            let vertices = index("vertices")?;
            if values.len() != vertices {
                return Err(list.invalid(format!("has {} numbers for {vertices} vertices", values.len())));
            }
            let name = name.text()?.to_lowercase();
            Ok(Ok(Self { name, node: index("node")?, primitive: index("primitive")?, positions, values }))
        };
        match read() {
            Ok(Ok(map)) => Ok(map),
            Ok(Err(found)) => Err(MapFileError::Newer { file: file.to_owned(), found }),
            Err(fault) => Err(malformed(&fault.element, fault.fault)),
        }
    }

    /// The text of the map file.
    pub fn to_text(&self) -> String {
        let mut json = Map::new();
        json.insert("sinew_map".into(), VERSION.into());
        json.insert("name".into(), self.name.as_str().into());
        json.insert("node".into(), self.node.into());
        json.insert("primitive".into(), self.primitive.into());
        json.insert("vertices".into(), self.values.len().into());
        json.insert("positions".into(), format!("{:016x}", self.positions).into());
        // As f64 every f32 is exact, and reading rounds it back to the same bits.
        json.insert("values".into(), self.values.iter().map(|&v| f64::from(v)).collect());
        let mut text = Value::Object(json).to_string();
        text.push('\n');
        text
    }

    /// Writes the map file whole or not at all: to a temporary file in the same folder, which then takes its place.
    pub fn save(&self, path: &Path) -> Result<(), MapFileError> {
        let written = write_whole(path, |out| out.write_all(self.to_text().as_bytes()));
        written.map_err(|source| MapFileError::Io { file: path.display().to_string(), source })
    }

    /// Changes with anything the map says, and not with the spelling of its file: what recipes know it by.
    pub fn hash(&self) -> u64 {
        let mut hash = Fnv1a::default();
        hash.write(self.name.as_bytes());
        for number in [self.node as u64, self.primitive as u64, self.positions, self.values.len() as u64] {
            hash.write(&number.to_le_bytes());
        }
        // Adding zero turns −0 into 0.
        self.values.iter().for_each(|value| hash.write(&(value + 0.0).to_le_bytes()));
        hash.finish()
    }

    /// Mesh and primitive of `raw` this map was painted on.
    fn target(&self, raw: &RawRig) -> Result<(usize, usize), MapFileError> {
        let (map, node, primitive) = (self.name.clone(), self.node, self.primitive);
        let Some(found) = find(raw, node, primitive) else {
            return Err(MapFileError::NoSuchPrimitive { map, node, primitive });
        };
        let positions = &raw.meshes[found.0].primitives[found.1].positions;
        let (map_vertices, mesh_vertices) = (self.values.len(), positions.len());
        if map_vertices != mesh_vertices {
            return Err(MapFileError::VertexCount { map, node, primitive, map_vertices, mesh_vertices });
        }
        let (map_positions, mesh_positions) = (self.positions, hash_positions(positions));
        if map_positions != mesh_positions {
            return Err(MapFileError::Positions { map, node, primitive, map_positions, mesh_positions });
        }
        Ok(found)
    }
}

/// Adds `map` to the primitive it was painted on, in place of one of the same name.
pub fn apply(raw: &mut RawRig, map: &MapFile) -> Result<(), MapFileError> {
    let (mesh, primitive) = map.target(raw)?;
    let maps = &mut raw.meshes[mesh].primitives[primitive].maps;
    match maps.iter_mut().find(|(name, _)| *name == map.name) {
        Some((_, values)) => values.clone_from(&map.values),
        None => maps.push((map.name.clone(), map.values.clone())),
    }
    Ok(())
}

fn find(raw: &RawRig, node: usize, primitive: usize) -> Option<(usize, usize)> {
    let mesh = raw.meshes.iter().position(|mesh| mesh.node == node)?;
    raw.meshes[mesh].primitives.get(primitive).map(|_: &RawPrimitive| (mesh, primitive))
}

/// FNV-1a over the coordinates' bytes.
pub fn hash_positions(positions: &[Vec3]) -> u64 {
    let mut hash = Fnv1a::default();
    for x in positions.iter().flat_map(|p| p.to_array()) {
        // Adding zero turns −0 into 0 and leaves everything else.
        hash.write(&(x + 0.0).to_le_bytes());
    }
    hash.finish()
}
