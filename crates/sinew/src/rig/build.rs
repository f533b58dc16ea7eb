//! From raw to packed: read and checked, which is the one step that can fail, grouped into characters, laid out in rows.

use super::characters::{carriers, characters, group_characters, moved, segments, spread_characters};
use super::kept::Kept;
use super::pack::{layer_frames, maps, morphs, pack, runs};
use super::read::{Vertices, read_meshes, read_skins};
use super::{Character, PaletteEntry, Part, PartKind, Primitive, Rig, RigError};
use crate::hierarchy::Hierarchy;
use crate::pose::{Pose, WorldPose};
use crate::propagated::Propagated;
use crate::raw::{RawBinding, RawRig};
use crate::simd::LANES;
use crate::skeleton::Skeleton;
use crate::topology::Adjacency;
use crate::warning::Warning;
use glam::{DAffine3, DVec3};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn build(raw: &RawRig) -> Result<(Rig, Vec<Warning>), RigError> {
    let mut warnings = Vec::new();
    let skeleton = Skeleton::build(&raw.bones)?;
    let (mut palette, skin_palettes) = read_skins(raw, &skeleton)?;
    let vertices = read_meshes(raw, &skeleton, &mut palette, &skin_palettes, &mut warnings)?;
    let grouping = group_characters(raw, &skeleton);
    // Bones without a mesh, as in files of animations, are no character: nothing is there for them to move.
    if grouping.count == 0 {
        palette.clear();
    }
    for entry in &mut palette {
        entry.character = grouping.of_bone[entry.bone.index()].unwrap_or(0);
    }
    let rest_origins = center_rest_spaces(&vertices, &mut palette);
    let packed = pack(raw, &vertices, &grouping, &rest_origins);
    let point_triangles: Vec<[u32; 3]> =
        vertices.triangles.iter().map(|t| t.map(|v| packed.point_of_vertex[v as usize])).collect();
    let (layer_normals, layer_tangents) = layer_frames(&vertices, raw, &packed.vertex_of_layer, &mut warnings);
    let (morphs, default_morph_weights, morph_ranges) = morphs(raw, &vertices, &packed);
    let maps = maps(raw, &vertices, &packed, &mut warnings);

    let mut world = WorldPose::default();
    world.compose(&skeleton, &Pose::rest(&skeleton));
    let rest_world = skin_at_rest(&vertices, &palette, &world, &rest_origins, &default_morph_weights, &morph_ranges);
    let characters =
        characters(&skeleton, &palette, &grouping, &packed, &vertices, &point_triangles, &rest_world, &mut warnings);
    let character_of_bone = spread_characters(&skeleton, &grouping.of_bone);
    let bone_sizes =
        character_of_bone.iter().map(|&c| characters.get(c as usize).map_or(1.0, |c: &Character| c.size)).collect();
    let moved = moved(&skeleton, &palette, &vertices, &rest_world);
    let segments = segments(raw, &skeleton, &world);
    let carriers = carriers(raw, &skeleton);
    let mut pieces = vertices.pieces.chunk_by(|a, b| a.mesh == b.mesh).peekable();
    let parts: Vec<Part> = raw
        .meshes
        .iter()
        .enumerate()
        .map(|(mesh, raw_mesh)| Part {
            name: raw_mesh.name.clone(),
            node: raw_mesh.node,
            kind: match raw_mesh.binding {
                RawBinding::Skin(_) => PartKind::Skinned,
                RawBinding::Node => PartKind::Rider,
            },
            character: grouping.of_mesh[mesh] as usize,
            primitives: pieces
                .next_if(|pieces| pieces[0].mesh == mesh)
                .unwrap_or_default()
                .iter()
                .map(|piece| Primitive {
                    vertices: piece.vertices.clone(),
                    triangles: piece.triangles.clone(),
                    has_normals: piece.raw.normals.is_some(),
                    has_tangents: piece.raw.tangents.is_some(),
                    color: piece.raw.color,
                    material: piece.raw.material.clone(),
                })
                .collect(),
            morph_weights: morph_ranges[mesh].clone(),
        })
        .collect();
    let adjacency = Adjacency::new(packed.rows.len() * LANES, &point_triangles);
    let mut palette_order: Vec<u32> = (0..palette.len() as u32).collect();
    palette_order.sort_by_key(|&entry| palette[entry as usize].bone);
    let with_morphs = parts.iter().filter(|part| !part.morph_weights.is_empty());
    let morph_layout =
        with_morphs.map(|part| (part.node, part.morph_weights.start, part.morph_weights.len())).collect();
    let mut rig = Rig {
        skeleton,
        parts,
        characters,
        palette,
        palette_order,
        rows: packed.rows,
        skin_entries: packed.skin_entries,
        skin_weights: packed.skin_weights,
        rest: packed.rest,
        layer_normals,
        layer_tangents,
        layer_runs: packed.vertex_of_layer.iter().map(runs).collect(),
        vertex_of_layer: packed.vertex_of_layer,
        point_of_vertex: packed.point_of_vertex,
        layer_slot_of_vertex: packed.layer_slot_of_vertex,
        triangles: vertices.triangles,
        point_triangles,
        adjacency,
        morphs,
        default_morph_weights,
        maps,
        moved,
        carriers,
        segments,
        character_of_bone,
        bone_sizes,
        morph_layout,
        told: super::told::Told::default(),
        kept: Kept::default(),
        in_file: Arc::default(),
        by_body: Arc::default(),
    };
    let hierarchy = Hierarchy::plain(&rig.skeleton);
    rig.in_file = Arc::new(Propagated::new(&rig, hierarchy));
    rig.by_body = Arc::clone(&rig.in_file);
    Ok((rig, warnings))
}

/// A mesh modelled far from its origin would lose its shape in f32 products: its rest points are stored about the
/// middle of their box, and the palette takes the offset. Near the origin nothing is shifted and bits are kept.
fn center_rest_spaces(vertices: &Vertices<'_>, palette: &mut [PaletteEntry]) -> Vec<DVec3> {
    let bindings = vertices.pieces.iter().map(|p| p.binding as usize + 1).max().unwrap_or(0);
    let mut boxes: Vec<Option<(DVec3, DVec3)>> = vec![None; bindings];
    for piece in &vertices.pieces {
        for position in &vertices.positions[piece.vertices.clone()] {
            let p = position.as_dvec3();
            let found = boxes[piece.binding as usize].get_or_insert((p, p));
            *found = (found.0.min(p), found.1.max(p));
        }
    }
    let origins: Vec<DVec3> = boxes
        .iter()
        .map(|found| match found {
            Some((low, high)) if (*low + *high).length() * 0.5 > 4.0 * (*high - *low).length() => (*low + *high) * 0.5,
            _ => DVec3::ZERO,
        })
        .collect();
    let mut shifted = vec![false; bindings];
    for piece in &vertices.pieces {
        if !std::mem::replace(&mut shifted[piece.binding as usize], true) {
            for entry in &mut palette[piece.entries.start as usize..piece.entries.end as usize] {
                let offset = DAffine3::from_translation(origins[piece.binding as usize]);
                entry.bone_from_rest *= offset;
            }
        }
    }
    origins
}

/// World positions of all vertices at the nodes' default transforms and default morph weights, in f64.
fn skin_at_rest(
    vertices: &Vertices<'_>,
    palette: &[PaletteEntry],
    world: &WorldPose,
    rest_origins: &[DVec3],
    morph_weights: &[f32],
    morph_ranges: &[Range<usize>],
) -> Vec<DVec3> {
    let matrices: Vec<DAffine3> =
        palette.iter().map(|entry| world.world_from_bone(entry.bone) * entry.bone_from_rest).collect();
    let mut out = Vec::with_capacity(vertices.positions.len());
    for piece in &vertices.pieces {
        let origin = rest_origins[piece.binding as usize];
        let weights = &morph_weights[morph_ranges[piece.mesh].clone()];
        for vertex in piece.vertices.clone() {
            let mut position = vertices.positions[vertex].as_dvec3() - origin;
            for (morph, &weight) in piece.raw.morphs.iter().zip(weights) {
                if weight != 0.0
                    && let Some(deltas) = &morph.positions
                {
                    position += deltas[vertex - piece.vertices.start].as_dvec3() * f64::from(weight);
                }
            }
            // Weights rounded to f32 miss 1 by a little, which far from the origin is a lot.
            let (mut sum, mut total) = (DVec3::ZERO, 0.0);
            for influence in vertices.weights.of(vertex) {
                let weight = f64::from(influence.weight);
                sum += matrices[influence.palette as usize].transform_point3(position) * weight;
                total += weight;
            }
            out.push(sum / total);
        }
    }
    out
}
