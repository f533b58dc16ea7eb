//! Skins and meshes of the file, checked, in flat arrays.

use super::{PaletteEntry, RigError};
use crate::influences::SkinWeights;
use crate::raw::{RawBinding, RawMesh, RawPrimitive, RawRig};
use crate::skeleton::Skeleton;
use crate::warning::Warning;
use glam::{DAffine3, Vec3};
use std::ops::Range;

/// A primitive and its place in the flat vertex and triangle arrays.
pub(super) struct Piece<'a> {
    pub mesh: usize,
    pub index: usize,
    pub raw: &'a RawPrimitive,
    /// Skins are bindings 0…; each rider is one of its own after them.
    pub binding: u32,
    pub entries: Range<u32>,
    pub vertices: Range<usize>,
    pub triangles: Range<usize>,
}

/// The vertices of all pieces, flat.
pub(super) struct Vertices<'a> {
    pub pieces: Vec<Piece<'a>>,
    pub piece_of: Vec<u32>,
    pub positions: Vec<Vec3>,
    pub weights: SkinWeights,
    pub triangles: Vec<[u32; 3]>,
}

fn check_size(what: &'static str, count: usize, limit: usize) -> Result<(), RigError> {
    if count > limit { Err(RigError::TooLarge { what, count, limit }) } else { Ok(()) }
}

fn mesh_subject(raw: &RawRig, mesh: usize) -> String {
    let RawMesh { name, node, .. } = &raw.meshes[mesh];
    format!("mesh node {node} \"{name}\"")
}

pub(super) fn piece_subject(raw: &RawRig, mesh: usize, primitive: usize) -> String {
    format!("{}, primitive {primitive}", mesh_subject(raw, mesh))
}

/// Palettes of all skins, one after the other, and the range of each.
pub(super) fn read_skins(raw: &RawRig, skeleton: &Skeleton) -> Result<(Vec<PaletteEntry>, Vec<Range<u32>>), RigError> {
    let mut palette: Vec<PaletteEntry> = Vec::new();
    let mut ranges = Vec::with_capacity(raw.skins.len());
    check_size("joints", raw.skins.iter().map(|s| s.joints.len()).sum(), (u32::MAX / 8) as usize)?;
    let subtrees = subtrees(skeleton);
    for (skin, raw_skin) in raw.skins.iter().enumerate() {
        if raw_skin.joints.is_empty() {
            return Err(RigError::EmptySkin { skin, name: raw_skin.name.clone() });
        }
        let start = palette.len() as u32;
        for (joint, raw_joint) in raw_skin.joints.iter().enumerate() {
            let node = raw_joint.bone;
            let bone = skeleton.bone_of_node(node).ok_or(RigError::JointOutOfRange { skin, joint, node })?;
            if !raw_joint.bone_from_rest.is_finite() {
                return Err(RigError::BindNotFinite { skin, joint });
            }
            palette.push(PaletteEntry {
                bone,
                bone_from_rest: raw_joint.bone_from_rest,
                parent: None,
                character: 0,
                space: skin as u32,
            });
        }
        let range = start..palette.len() as u32;
        find_parents(&mut palette, start, &subtrees);
        ranges.push(range);
    }
    Ok((palette, ranges))
}

/// Gives the entries from `start` on, which are those of one skin, their nearest ancestors among each other. A walk over
/// its joints in the order of subtrees: skins of a few joints may be many, and bones of a file as many.
fn find_parents(palette: &mut [PaletteEntry], start: u32, subtrees: &[Range<u32>]) {
    let mut order: Vec<u32> = (start..palette.len() as u32).collect();
    let subtree = |palette: &[PaletteEntry], entry: u32| subtrees[palette[entry as usize].bone.index()].clone();
    order.sort_by_key(|&entry| subtree(palette, entry).start);
    let mut open: Vec<u32> = Vec::new();
    for entry in order {
        let own = subtree(palette, entry);
        while open.last().is_some_and(|&above| subtree(palette, above).end <= own.start) {
            open.pop();
        }
        // A joint listed twice: the later one carries what is below.
        if open.last().is_some_and(|&above| subtree(palette, above) == own) {
            open.pop();
        }
        palette[entry as usize].parent = open.last().copied();
        open.push(entry);
    }
}

/// Per bone, the numbers of it and all below it when every bone is followed by what hangs on it.
fn subtrees(skeleton: &Skeleton) -> Vec<Range<u32>> {
    let mut sizes = vec![1u32; skeleton.len()];
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parent(bone) {
            sizes[parent.index()] += sizes[bone.index()];
        }
    }
    let mut next_root = 0;
    // Where the next child of each bone goes.
    let mut next: Vec<u32> = vec![0; skeleton.len()];
    let mut ranges = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        let size = sizes[bone.index()];
        let place = skeleton.parent(bone).map_or(&mut next_root, |parent| &mut next[parent.index()]);
        let start = *place;
        *place += size;
        next[bone.index()] = start + 1;
        ranges.push(start..start + size);
    }
    ranges
}

/// Checks every mesh, repairs its weights, and lays all vertices out flat. Riders get a palette entry each.
pub(super) fn read_meshes<'a>(
    raw: &'a RawRig,
    skeleton: &Skeleton,
    palette: &mut Vec<PaletteEntry>,
    skin_palettes: &[Range<u32>],
    warnings: &mut Vec<Warning>,
) -> Result<Vertices<'a>, RigError> {
    let count = raw.meshes.iter().flat_map(|m| &m.primitives).map(|p| p.positions.len()).sum();
    // Layer lanes are padded to rows of 16 and must still fit an index.
    check_size("vertices", count, (u32::MAX / 64) as usize)?;
    let mut vertices = Vertices {
        pieces: Vec::new(),
        piece_of: Vec::with_capacity(count),
        positions: Vec::with_capacity(count),
        weights: SkinWeights::default(),
        triangles: Vec::new(),
    };
    for (mesh, raw_mesh) in raw.meshes.iter().enumerate() {
        let missing = |what, index| RigError::MissingReference { mesh: mesh_subject(raw, mesh), what, index };
        let bone = skeleton.bone_of_node(raw_mesh.node).ok_or_else(|| missing("node", raw_mesh.node))?;
        let (binding, entries) = match raw_mesh.binding {
            RawBinding::Skin(skin) => {
                (skin as u32, skin_palettes.get(skin).cloned().ok_or_else(|| missing("skin", skin))?)
            }
            RawBinding::Node => {
                let entry = palette.len() as u32;
                let space = (raw.skins.len() + mesh) as u32;
                let bone_from_rest = DAffine3::IDENTITY;
                palette.push(PaletteEntry { bone, bone_from_rest, parent: None, character: 0, space });
                (space, entry..entry + 1)
            }
        };
        for (index, piece) in raw_mesh.primitives.iter().enumerate() {
            check_piece(raw, mesh, index, piece)?;
            let first = vertices.positions.len();
            let subject = |vertex: usize| format!("{}, vertex {vertex}", piece_subject(raw, mesh, index));
            match raw_mesh.binding {
                RawBinding::Skin(_) => vertices.weights.push_repaired(
                    &piece.influences,
                    piece.positions.len(),
                    entries.clone(),
                    &subject,
                    warnings,
                ),
                RawBinding::Node => piece.positions.iter().for_each(|_| vertices.weights.push_rigid(entries.start)),
            }
            vertices.piece_of.resize(first + piece.positions.len(), vertices.pieces.len() as u32);
            vertices.positions.extend_from_slice(&piece.positions);
            let first_triangle = vertices.triangles.len();
            vertices.triangles.extend(piece.triangles.iter().map(|t| t.map(|v| v + first as u32)));
            vertices.pieces.push(Piece {
                mesh,
                index,
                raw: piece,
                binding,
                entries: entries.clone(),
                vertices: first..vertices.positions.len(),
                triangles: first_triangle..vertices.triangles.len(),
            });
        }
    }
    Ok(vertices)
}

fn check_piece(raw: &RawRig, mesh: usize, index: usize, piece: &RawPrimitive) -> Result<(), RigError> {
    let primitive = || piece_subject(raw, mesh, index);
    let vertices = piece.positions.len();
    let check_length = |what: &str, found: usize, expected: usize| {
        let mismatch = || RigError::LengthMismatch { primitive: primitive(), vertices, what: what.to_owned(), found };
        if found == expected { Ok(()) } else { Err(mismatch()) }
    };
    let optional = |what: &str, found: Option<usize>| found.map_or(Ok(()), |found| check_length(what, found, vertices));
    optional("normals", piece.normals.as_ref().map(Vec::len))?;
    optional("tangents", piece.tangents.as_ref().map(Vec::len))?;
    if let RawBinding::Skin(_) = raw.meshes[mesh].binding {
        let pairs = vertices.saturating_mul(piece.influences.per_vertex);
        check_length("joint indices", piece.influences.joints.len(), pairs)?;
        check_length("weights", piece.influences.weights.len(), pairs)?;
    }
    for (target, morph) in piece.morphs.iter().enumerate() {
        optional(&format!("positions in morph target {target}"), morph.positions.as_ref().map(Vec::len))?;
        optional(&format!("normals in morph target {target}"), morph.normals.as_ref().map(Vec::len))?;
        optional(&format!("tangents in morph target {target}"), morph.tangents.as_ref().map(Vec::len))?;
    }
    for (name, values) in &piece.maps {
        check_length(&format!("values in painted map \"{name}\""), values.len(), vertices)?;
    }
    let morphed = piece.morphs.iter().filter_map(|m| m.positions.as_ref());
    for positions in std::iter::once(&piece.positions).chain(morphed) {
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(RigError::PositionNotFinite { vertex: format!("{}, vertex {vertex}", primitive()) });
        }
    }
    for (triangle, corners) in piece.triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&v| v as usize >= vertices) {
            return Err(RigError::TriangleOutOfRange { primitive: primitive(), triangle, vertex, vertices });
        }
    }
    Ok(())
}
