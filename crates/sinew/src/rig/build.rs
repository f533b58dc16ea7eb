//! From raw to packed: the one place that can fail.

use super::{
    BoneSegments, Character, Morph, NO_VERTEX, PaletteEntry, Part, PartKind, Primitive, Rig, RigError, Row, VertexMap,
};
use crate::control_points::{ControlPoints, Copies, DisjointSets};
use crate::influences::{SkinWeights, Tally};
use crate::pose::{Pose, WorldPose};
use crate::propagated::Ancestry;
use crate::raw::{RawBinding, RawMesh, RawPrimitive, RawRig};
use crate::simd::{LANES, Lanes, Points};
use crate::skeleton::{BoneId, Skeleton};
use crate::topology::{Adjacency, Topology};
use crate::warning::Warning;
use glam::{DAffine3, DVec3, Vec3, Vec4};
use std::ops::Range;

/// A primitive and its place in the flat vertex and triangle arrays.
struct Piece<'a> {
    mesh: usize,
    index: usize,
    raw: &'a RawPrimitive,
    /// Skins are bindings 0…; each rider is one of its own after them.
    binding: u32,
    entries: Range<u32>,
    vertices: Range<usize>,
    triangles: Range<usize>,
}

/// The vertices of all pieces, flat.
struct Vertices<'a> {
    pieces: Vec<Piece<'a>>,
    piece_of: Vec<u32>,
    positions: Vec<Vec3>,
    weights: SkinWeights,
    triangles: Vec<[u32; 3]>,
}

/// Which character everything belongs to.
struct Grouping {
    of_mesh: Vec<u32>,
    of_bone: Vec<Option<u32>>,
    count: usize,
}

/// Control points in rows.
struct Packed {
    rows: Vec<Row>,
    skin_entries: Vec<u32>,
    skin_weights: Vec<Lanes>,
    columns: Vec<crate::propagated::Column>,
    column_weights: Vec<Lanes>,
    rest: Points,
    vertex_of_layer: Vec<[u32; LANES]>,
    point_of_vertex: Vec<u32>,
    layer_slot_of_vertex: Vec<u32>,
}

pub(super) fn build(raw: &RawRig) -> Result<(Rig, Vec<Warning>), RigError> {
    let mut warnings = Vec::new();
    let skeleton = Skeleton::build(&raw.bones)?;
    let (mut palette, skin_palettes) = read_skins(raw, &skeleton)?;
    let vertices = read_meshes(raw, &skeleton, &mut palette, &skin_palettes, &mut warnings)?;
    let grouping = group_characters(raw, &skeleton);
    for entry in &mut palette {
        entry.character = grouping.of_bone[entry.bone.index()].unwrap_or(0);
    }
    let rest_origins = center_rest_spaces(&vertices, &mut palette);
    let packed = pack(&vertices, &skeleton, &palette, &grouping, &rest_origins);
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
    let centroids = centroids(&skeleton, &palette, &world, &vertices, &rest_world);
    let segments = segments(raw, &skeleton, &world);
    let roots = roots(raw, &skeleton);
    let parts = raw
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
            primitives: vertices
                .pieces
                .iter()
                .filter(|piece| piece.mesh == mesh)
                .map(|piece| Primitive {
                    vertices: piece.vertices.clone(),
                    triangles: piece.triangles.clone(),
                    has_normals: piece.raw.normals.is_some(),
                    has_tangents: piece.raw.tangents.is_some(),
                    color: piece.raw.color,
                })
                .collect(),
            morph_weights: morph_ranges[mesh].clone(),
        })
        .collect();
    let adjacency = Adjacency::new(packed.rows.len() * LANES, &point_triangles);
    let mut palette_order: Vec<u32> = (0..palette.len() as u32).collect();
    palette_order.sort_by_key(|&entry| palette[entry as usize].bone);
    let rig = Rig {
        skeleton,
        parts,
        characters,
        palette,
        palette_order,
        rows: packed.rows,
        skin_entries: packed.skin_entries,
        skin_weights: packed.skin_weights,
        columns: packed.columns,
        column_weights: packed.column_weights,
        rest: packed.rest,
        layer_normals,
        layer_tangents,
        vertex_of_layer: packed.vertex_of_layer,
        point_of_vertex: packed.point_of_vertex,
        layer_slot_of_vertex: packed.layer_slot_of_vertex,
        triangles: vertices.triangles,
        point_triangles,
        adjacency,
        morphs,
        default_morph_weights,
        maps,
        centroids,
        segments,
        character_of_bone,
        bone_sizes,
        roots,
    };
    Ok((rig, warnings))
}

fn check_size(what: &'static str, count: usize, limit: usize) -> Result<(), RigError> {
    if count > limit { Err(RigError::TooLarge { what, count, limit }) } else { Ok(()) }
}

fn mesh_subject(raw: &RawRig, mesh: usize) -> String {
    let RawMesh { name, node, .. } = &raw.meshes[mesh];
    format!("mesh node {node} \"{name}\"")
}

fn piece_subject(raw: &RawRig, mesh: usize, primitive: usize) -> String {
    format!("{}, primitive {primitive}", mesh_subject(raw, mesh))
}

/// Palettes of all skins, one after the other, and the range of each.
fn read_skins(raw: &RawRig, skeleton: &Skeleton) -> Result<(Vec<PaletteEntry>, Vec<Range<u32>>), RigError> {
    let mut palette: Vec<PaletteEntry> = Vec::new();
    let mut ranges = Vec::with_capacity(raw.skins.len());
    check_size("joints", raw.skins.iter().map(|s| s.joints.len()).sum(), (u32::MAX / 8) as usize)?;
    let mut entry_of_bone: Vec<Option<u32>> = vec![None; skeleton.len()];
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
            entry_of_bone[bone.index()] = Some(palette.len() as u32);
            palette.push(PaletteEntry {
                bone,
                bone_from_rest: raw_joint.bone_from_rest,
                parent: None,
                character: 0,
                space: skin as u32,
            });
        }
        let range = start..palette.len() as u32;
        // Nearest ancestor in the skin, root down, so that deep chains cost one step a bone.
        let mut nearest: Vec<Option<u32>> = vec![None; skeleton.len()];
        for bone in skeleton.bones() {
            let above = skeleton.parent(bone).and_then(|p| entry_of_bone[p.index()].or(nearest[p.index()]));
            nearest[bone.index()] = above;
        }
        for entry in &mut palette[start as usize..] {
            entry.parent = nearest[entry.bone.index()];
        }
        for entry in &palette[start as usize..] {
            entry_of_bone[entry.bone.index()] = None;
        }
        ranges.push(range);
    }
    Ok((palette, ranges))
}

/// Checks every mesh, repairs its weights, and lays all vertices out flat. Riders get a palette entry each.
fn read_meshes<'a>(
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

/// Skins that share a joint or an animated common ancestor are one character, with whatever rides on their bones.
fn group_characters(raw: &RawRig, skeleton: &Skeleton) -> Grouping {
    let mut sets = DisjointSets::new(skeleton.len());
    let mut animated = vec![false; skeleton.len()];
    for bone in raw.animated.iter().filter_map(|&node| skeleton.bone_of_node(node)) {
        animated[bone.index()] = true;
    }
    // The topmost animated ancestor tells apart what any animated ancestor would.
    let mut top: Vec<Option<BoneId>> = vec![None; skeleton.len()];
    for bone in skeleton.bones() {
        let above = skeleton.parent(bone).and_then(|parent| top[parent.index()]);
        top[bone.index()] = above.or_else(|| animated[bone.index()].then_some(bone));
    }
    let mut join = |a: BoneId, b: BoneId| sets.union(a.index() as u32, b.index() as u32);
    let mut is_joint = vec![false; skeleton.len()];
    for skin in &raw.skins {
        let bones: Vec<BoneId> = skin.joints.iter().filter_map(|j| skeleton.bone_of_node(j.bone)).collect();
        for &bone in &bones {
            is_joint[bone.index()] = true;
            join(bone, bones[0]);
            if let Some(top) = top[bone.index()] {
                join(bone, top);
            }
        }
    }
    let mut nearest_joint: Vec<Option<BoneId>> = vec![None; skeleton.len()];
    for bone in skeleton.bones() {
        let above = skeleton.parent(bone).and_then(|parent| nearest_joint[parent.index()]);
        nearest_joint[bone.index()] = if is_joint[bone.index()] { Some(bone) } else { above };
    }
    let anchor = |mesh: &RawMesh| match mesh.binding {
        RawBinding::Skin(skin) => raw.skins[skin].joints.first().and_then(|j| skeleton.bone_of_node(j.bone)),
        RawBinding::Node => skeleton.bone_of_node(mesh.node),
    };
    for mesh in raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Node) {
        if let Some(bone) = anchor(mesh)
            && let Some(carrier) = nearest_joint[bone.index()].or(top[bone.index()])
        {
            join(bone, carrier);
        }
    }
    let mut character_of_root: Vec<Option<u32>> = vec![None; skeleton.len()];
    let mut count = 0;
    let mut of_mesh = Vec::with_capacity(raw.meshes.len());
    for mesh in &raw.meshes {
        let root = anchor(mesh).map_or(0, |bone| sets.find(bone.index() as u32)) as usize;
        let character = *character_of_root[root].get_or_insert_with(|| {
            count += 1;
            count - 1
        });
        of_mesh.push(character);
    }
    let of_bone = skeleton.bones().map(|bone| character_of_root[sets.find(bone.index() as u32) as usize]).collect();
    Grouping { of_mesh, of_bone, count: count as usize }
}

/// Bones that belong to no character take that of a descendant, else of their parent.
fn spread_characters(skeleton: &Skeleton, of_bone: &[Option<u32>]) -> Vec<u32> {
    let mut of_bone = of_bone.to_vec();
    for bone in skeleton.bones().rev() {
        if let (Some(character), Some(parent)) = (of_bone[bone.index()], skeleton.parent(bone)) {
            of_bone[parent.index()].get_or_insert(character);
        }
    }
    for bone in skeleton.bones() {
        if of_bone[bone.index()].is_none() {
            of_bone[bone.index()] = skeleton.parent(bone).and_then(|parent| of_bone[parent.index()]);
        }
    }
    of_bone.into_iter().map(|character| character.unwrap_or(0)).collect()
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

impl Copies for Vertices<'_> {
    fn len(&self) -> usize {
        self.positions.len()
    }

    fn key(&self, vertex: usize) -> [u64; 3] {
        // Adding 0 turns −0 into +0.
        let [x, y, z] = (self.positions[vertex] + Vec3::ZERO).to_array().map(|v| u64::from(v.to_bits()));
        let piece = &self.pieces[self.piece_of[vertex] as usize];
        let mut hash = Fnv::default();
        for influence in self.weights.of(vertex) {
            hash.add(u64::from(influence.palette) << 32 | u64::from(influence.weight.to_bits()));
        }
        hash.add(u64::from(piece.binding));
        [x << 32 | y, z, hash.0]
    }

    fn same(&self, a: usize, b: usize) -> bool {
        let (pa, pb) = (&self.pieces[self.piece_of[a] as usize], &self.pieces[self.piece_of[b] as usize]);
        pa.binding == pb.binding
            && self.positions[a] == self.positions[b]
            && self.weights.of(a) == self.weights.of(b)
            && same_morphs(pa, a - pa.vertices.start, pb, b - pb.vertices.start)
    }
}

/// Within one mesh, target by target; across meshes, whose targets have nothing in common, only where none acts.
fn same_morphs(pa: &Piece<'_>, a: usize, pb: &Piece<'_>, b: usize) -> bool {
    let delta = |piece: &Piece<'_>, target: usize, vertex: usize| {
        let positions = piece.raw.morphs.get(target).and_then(|m| m.positions.as_ref());
        positions.map_or(Vec3::ZERO, |p| p[vertex])
    };
    let targets = pa.raw.morphs.len().max(pb.raw.morphs.len());
    (0..targets).all(|target| {
        let (da, db) = (delta(pa, target, a), delta(pb, target, b));
        if pa.mesh == pb.mesh { da == db } else { da == Vec3::ZERO && db == Vec3::ZERO }
    })
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, value: u64) {
        for byte in value.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Finds control points and lays them out in rows: characters apart, points with the same bones together.
fn pack(
    vertices: &Vertices<'_>,
    skeleton: &Skeleton,
    palette: &[PaletteEntry],
    grouping: &Grouping,
    rest_origins: &[DVec3],
) -> Packed {
    let points = ControlPoints::find(vertices, &vertices.triangles);
    let piece_of_point = |point: u32| {
        let vertex = points.first_vertex[point as usize] as usize;
        &vertices.pieces[vertices.piece_of[vertex] as usize]
    };
    let influences_of_point = |point: u32| vertices.weights.of(points.first_vertex[point as usize] as usize);
    let character_of_point = |point: u32| grouping.of_mesh[piece_of_point(point).mesh];
    let order = row_order(&points, &influences_of_point, &character_of_point);

    let mut copies_of_point: Vec<(u32, u32)> =
        points.of_vertex.iter().enumerate().map(|(vertex, &point)| (point, vertex as u32)).collect();
    copies_of_point.sort_unstable();
    let first_copy: Vec<usize> = {
        let mut sum = 0;
        let starts = points.copies.iter().map(|&copies| {
            sum += copies as usize;
            sum - copies as usize
        });
        starts.collect()
    };

    let ancestry = Ancestry::new(skeleton);
    let mut slot_of_point = vec![0u32; points.first_vertex.len()];
    let mut packed = Packed {
        rows: Vec::new(),
        skin_entries: Vec::new(),
        skin_weights: Vec::new(),
        columns: Vec::new(),
        column_weights: Vec::new(),
        rest: Points::zeros(order.len().div_ceil(LANES) + grouping.count),
        vertex_of_layer: Vec::new(),
        point_of_vertex: Vec::new(),
        layer_slot_of_vertex: vec![0; vertices.positions.len()],
    };
    for of_character in order.chunk_by(|&a, &b| character_of_point(a) == character_of_point(b)) {
        for chunk in of_character.chunks(LANES) {
            let row = packed.rows.len();
            let lanes: [u32; LANES] = std::array::from_fn(|lane| chunk[lane.min(chunk.len() - 1)]);
            let skin_start = packed.skin_entries.len() as u32;
            let mut union: Vec<u32> =
                lanes.iter().flat_map(|&point| influences_of_point(point)).map(|i| i.palette).collect();
            union.sort_unstable();
            union.dedup();
            for entry in union {
                packed.skin_entries.push(entry);
                packed.skin_weights.push(lanes.map(|point| {
                    influences_of_point(point).iter().find(|i| i.palette == entry).map_or(0.0, |i| i.weight)
                }));
            }
            let column_start = packed.columns.len() as u32;
            let bones = lanes.map(|point| {
                influences_of_point(point).iter().map(|i| (palette[i.palette as usize].bone, i.weight)).collect()
            });
            ancestry.columns(&bones, &mut packed.columns, &mut packed.column_weights);

            for (lane, &point) in lanes.iter().enumerate() {
                let origin = rest_origins[piece_of_point(point).binding as usize];
                let position = vertices.positions[points.first_vertex[point as usize] as usize].as_dvec3() - origin;
                packed.rest.set(row * LANES + lane, position.as_vec3());
            }
            let layer_start = packed.vertex_of_layer.len();
            for (lane, &point) in chunk.iter().enumerate() {
                slot_of_point[point as usize] = (row * LANES + lane) as u32;
                let copies = &copies_of_point[first_copy[point as usize]..][..points.copies[point as usize] as usize];
                for (layer, &(_, vertex)) in copies.iter().enumerate() {
                    let layer = layer_start + layer;
                    if layer == packed.vertex_of_layer.len() {
                        packed.vertex_of_layer.push([NO_VERTEX; LANES]);
                    }
                    packed.vertex_of_layer[layer][lane] = vertex;
                    packed.layer_slot_of_vertex[vertex as usize] = (layer * LANES + lane) as u32;
                }
            }
            packed.rows.push(Row {
                character: character_of_point(chunk[0]),
                skin: skin_start..packed.skin_entries.len() as u32,
                columns: column_start..packed.columns.len() as u32,
                layers: layer_start as u32..packed.vertex_of_layer.len() as u32,
                filled: chunk.len() as u32,
            });
        }
    }
    packed.rest.resize(packed.rows.len());
    packed.point_of_vertex = points.of_vertex.iter().map(|&point| slot_of_point[point as usize]).collect();
    packed
}

/// By character, main bone, set of bones, number of copies, then as the file has them: neighbours in this order
/// share bones, so the unions of their rows stay small.
fn row_order<'a>(
    points: &ControlPoints,
    influences: &dyn Fn(u32) -> &'a [crate::influences::Influence],
    character: &dyn Fn(u32) -> u32,
) -> Vec<u32> {
    let main = |point: u32| {
        influences(point)
            .iter()
            .fold((0.0, 0), |best, i| if i.weight > best.0 { (i.weight, i.palette) } else { best })
            .1
    };
    let mut keyed: Vec<(u32, u32, u32)> =
        (0..points.first_vertex.len() as u32).map(|point| (character(point), main(point), point)).collect();
    keyed.sort_unstable_by(|&(ca, ma, a), &(cb, mb, b)| {
        let set = |point: u32| influences(point).iter().map(|i| i.palette);
        let copies = |point: u32| points.copies[point as usize];
        (ca, ma).cmp(&(cb, mb)).then_with(|| set(a).cmp(set(b))).then(copies(a).cmp(&copies(b))).then(a.cmp(&b))
    });
    keyed.into_iter().map(|(_, _, point)| point).collect()
}

/// Rest normals and tangents in layer order. Missing or broken normals are taken from the faces.
fn layer_frames(
    vertices: &Vertices<'_>,
    raw: &RawRig,
    vertex_of_layer: &[[u32; LANES]],
    warnings: &mut Vec<Warning>,
) -> (Points, Option<(Points, Vec<Lanes>)>) {
    let mut normals = vec![Vec3::ZERO; vertices.positions.len()];
    for t in &vertices.triangles {
        let [a, b, c] = t.map(|v| vertices.positions[v as usize].as_dvec3());
        let area = (b - a).cross(c - a).as_vec3();
        for &v in t {
            normals[v as usize] += area;
        }
    }
    for normal in &mut normals {
        // Scaled first: squares of the areas of a tiny model underflow.
        *normal = (*normal / normal.abs().max_element().max(f32::MIN_POSITIVE)).normalize_or(Vec3::Y);
    }
    let any_tangents = vertices.pieces.iter().any(|piece| piece.raw.tangents.is_some());
    let mut tangents = vec![Vec4::new(1.0, 0.0, 0.0, 1.0); if any_tangents { normals.len() } else { 0 }];
    for piece in &vertices.pieces {
        let subject = |vertex: usize| format!("{}, vertex {vertex}", piece_subject(raw, piece.mesh, piece.index));
        let mut bad_normals = Tally::default();
        let mut bad_tangents = Tally::default();
        for (vertex, &n) in piece.raw.normals.iter().flatten().enumerate() {
            match unit(n) {
                Some(n) => normals[piece.vertices.start + vertex] = n,
                None => bad_normals.add(vertex, n.length()),
            }
        }
        for (vertex, &t) in piece.raw.tangents.iter().flatten().enumerate() {
            match unit(t.truncate()) {
                Some(d) => tangents[piece.vertices.start + vertex] = d.extend(if t.w < 0.0 { -1.0 } else { 1.0 }),
                None => bad_tangents.add(vertex, t.length()),
            }
        }
        let remedy = "recompute normals and tangents in the modelling tool and export again";
        bad_normals.report(warnings, &subject, "normal-invalid", remedy, &|length| {
            format!("has a normal of length {length}; it was computed from the faces")
        });
        bad_tangents.report(warnings, &subject, "tangent-invalid", remedy, &|length| {
            format!("has a tangent of length {length}; it was set to the x axis")
        });
    }
    let mut layer_normals = Points::zeros(vertex_of_layer.len());
    let mut layer_tangents =
        any_tangents.then(|| (Points::zeros(vertex_of_layer.len()), vec![[1.0; LANES]; vertex_of_layer.len()]));
    for (layer, lanes) in vertex_of_layer.iter().enumerate() {
        for (lane, &vertex) in lanes.iter().enumerate().filter(|&(_, &vertex)| vertex != NO_VERTEX) {
            layer_normals.set(layer * LANES + lane, normals[vertex as usize]);
            if let Some((points, handedness)) = &mut layer_tangents {
                let tangent = tangents[vertex as usize];
                points.set(layer * LANES + lane, tangent.truncate());
                handedness[layer][lane] = tangent.w;
            }
        }
    }
    (layer_normals, layer_tangents)
}

fn unit(v: Vec3) -> Option<Vec3> {
    let scaled = v / v.abs().max_element();
    (v.is_finite() && scaled.is_finite()).then(|| scaled.normalize())
}

fn morphs(raw: &RawRig, vertices: &Vertices<'_>, packed: &Packed) -> (Vec<Morph>, Vec<f32>, Vec<Range<usize>>) {
    let mut weights = Vec::new();
    let mut ranges = Vec::with_capacity(raw.meshes.len());
    let mut morphs: Vec<Morph> = Vec::new();
    for (mesh, raw_mesh) in raw.meshes.iter().enumerate() {
        let targets = raw_mesh.primitives.iter().map(|p| p.morphs.len()).max().unwrap_or(0);
        let first = weights.len();
        for target in 0..targets {
            let weight = raw_mesh.morph_weights.get(target).copied().filter(|w| w.is_finite()).unwrap_or(0.0);
            weights.push(weight);
            let mut morph =
                Morph { weight: first + target, positions: Vec::new(), normals: Vec::new(), tangents: Vec::new() };
            for piece in vertices.pieces.iter().filter(|piece| piece.mesh == mesh) {
                let Some(raw_morph) = piece.raw.morphs.get(target) else { continue };
                let sparse = |deltas: &Option<Vec<Vec3>>, slots: &[u32], out: &mut Vec<(u32, Vec3)>| {
                    for (vertex, &delta) in deltas.iter().flatten().enumerate() {
                        if delta != Vec3::ZERO && delta.is_finite() {
                            out.push((slots[piece.vertices.start + vertex], delta));
                        }
                    }
                };
                sparse(&raw_morph.positions, &packed.point_of_vertex, &mut morph.positions);
                sparse(&raw_morph.normals, &packed.layer_slot_of_vertex, &mut morph.normals);
                sparse(&raw_morph.tangents, &packed.layer_slot_of_vertex, &mut morph.tangents);
            }
            // Copies of a control point carry equal deltas: once is enough.
            morph.positions.sort_by_key(|&(slot, _)| slot);
            morph.positions.dedup_by_key(|&mut (slot, _)| slot);
            morphs.push(morph);
        }
        ranges.push(first..weights.len());
    }
    (morphs, weights, ranges)
}

fn maps(raw: &RawRig, vertices: &Vertices<'_>, packed: &Packed, warnings: &mut Vec<Warning>) -> Vec<VertexMap> {
    let mut names: Vec<&str> =
        vertices.pieces.iter().flat_map(|piece| &piece.raw.maps).map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let slots = packed.rows.len() * LANES;
    names
        .into_iter()
        .map(|name| {
            let mut sums = vec![0.0f64; slots];
            let mut counts = vec![0u32; slots];
            let mut ranges: Vec<(f32, f32)> = vec![(f32::INFINITY, f32::NEG_INFINITY); slots];
            for piece in &vertices.pieces {
                let Some((_, values)) = piece.raw.maps.iter().find(|(other, _)| other == name) else { continue };
                let subject = |v: usize| format!("{}, vertex {v}", piece_subject(raw, piece.mesh, piece.index));
                let mut bad = Tally::default();
                for (vertex, &value) in values.iter().enumerate() {
                    if !value.is_finite() {
                        bad.add(vertex, value);
                    }
                    let value = if value.is_finite() { value } else { 0.0 };
                    let slot = packed.point_of_vertex[piece.vertices.start + vertex] as usize;
                    sums[slot] += f64::from(value);
                    counts[slot] += 1;
                    ranges[slot] = (ranges[slot].0.min(value), ranges[slot].1.max(value));
                }
                bad.report(warnings, &subject, "map-value-invalid", "paint the map again", &|value| {
                    format!("has the value {value} in painted map \"{name}\"; it was set to 0")
                });
            }
            let differing = ranges.iter().filter(|(low, high)| low < high).count();
            if differing > 0 {
                warnings.push(Warning {
                    code: "map-copies-disagree",
                    subject: format!("painted map \"{name}\""),
                    message: format!("{differing} points have seam copies with different values; their mean was taken"),
                    remedy: "paint across the seam, or smooth the map there",
                });
            }
            let value =
                |slot: usize| if counts[slot] == 0 { 0.0 } else { (sums[slot] / f64::from(counts[slot])) as f32 };
            let values =
                (0..packed.rows.len()).map(|row| std::array::from_fn(|lane| value(row * LANES + lane))).collect();
            VertexMap { name: name.to_owned(), values }
        })
        .collect()
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

#[allow(clippy::too_many_arguments, reason = "one step of the builder: everything it has gathered comes together here")]
fn characters(
    skeleton: &Skeleton,
    palette: &[PaletteEntry],
    grouping: &Grouping,
    packed: &Packed,
    vertices: &Vertices<'_>,
    point_triangles: &[[u32; 3]],
    rest_world: &[DVec3],
    warnings: &mut Vec<Warning>,
) -> Vec<Character> {
    let mut triangles: Vec<Vec<[u32; 3]>> = vec![Vec::new(); grouping.count];
    let mut bounds = vec![[DVec3::INFINITY, DVec3::NEG_INFINITY]; grouping.count];
    let mut places: Vec<Vec<([u32; 4], u32)>> = vec![Vec::new(); grouping.count];
    for piece in &vertices.pieces {
        let character = grouping.of_mesh[piece.mesh] as usize;
        places[character].extend(piece.vertices.clone().map(|vertex| {
            let [x, y, z] = (vertices.positions[vertex] + Vec3::ZERO).to_array().map(f32::to_bits);
            ([piece.binding, x, y, z], packed.point_of_vertex[vertex])
        }));
        triangles[character].extend_from_slice(&point_triangles[piece.triangles.clone()]);
        for point in &rest_world[piece.vertices.clone()] {
            let [low, high] = &mut bounds[character];
            (*low, *high) = (low.min(*point), high.max(*point));
        }
    }
    (0..grouping.count)
        .map(|character| {
            let mine = |row: &&Row| row.character as usize == character;
            let start = packed.rows.iter().take_while(|row| (row.character as usize) < character).count();
            let rows = start..start + packed.rows[start..].iter().take_while(mine).count();
            let entries = palette.iter().filter(|entry| entry.character as usize == character);
            // Parents come first, so the smallest is the topmost.
            let anchor = entries.map(|entry| entry.bone).min().unwrap_or(palette[0].bone);
            let topology = Topology::new(triangles[character].iter().copied());
            if topology.non_manifold_edges > 0 {
                warnings.push(Warning {
                    code: "non-manifold-edges",
                    subject: format!("character {character} \"{}\"", skeleton.name(anchor)),
                    message: format!("{} edges have more than two faces", topology.non_manifold_edges),
                    remedy: "remove inner or doubled faces, so that volume and springs have one surface to work on",
                });
            }
            let [low, high] = bounds[character];
            let size = (high - low).length();
            Character {
                name: skeleton.name(anchor).to_owned(),
                size: if size.is_finite() && size > 0.0 { size } else { 1.0 },
                bounds: if size.is_finite() { [low, high] } else { [DVec3::ZERO; 2] },
                points: packed.rows[rows.clone()].iter().map(|row| row.filled as usize).sum(),
                coincident_points: coincident_points(&mut places[character]),
                rows,
                topology,
                anchor,
            }
        })
        .collect()
}

/// How many points lie on another one, from (place, point) pairs.
fn coincident_points(places: &mut Vec<([u32; 4], u32)>) -> usize {
    places.sort_unstable();
    places.dedup();
    places.chunk_by(|a, b| a.0 == b.0).map(|here| here.len() - 1).sum()
}

/// `c_i = Σ w̃_i m_u p_u / Σ w̃_i m_u` at rest, m_u a third of the area around u, in the bone's frame. Summed up the
/// tree, so that it costs one pass over the influences and one over the bones.
fn centroids(
    skeleton: &Skeleton,
    palette: &[PaletteEntry],
    world: &WorldPose,
    vertices: &Vertices<'_>,
    rest_world: &[DVec3],
) -> Vec<Option<DVec3>> {
    let mut area = vec![0.0f64; rest_world.len()];
    for t in &vertices.triangles {
        let [a, b, c] = t.map(|v| rest_world[v as usize]);
        let third = (b - a).cross(c - a).length() / 6.0;
        for &v in t {
            area[v as usize] += third;
        }
    }
    let mut sums = vec![(DVec3::ZERO, 0.0f64); skeleton.len()];
    for (vertex, (&point, &area)) in rest_world.iter().zip(&area).enumerate() {
        for influence in vertices.weights.of(vertex) {
            let sum = &mut sums[palette[influence.palette as usize].bone.index()];
            let mass = area * f64::from(influence.weight);
            *sum = (sum.0 + point * mass, sum.1 + mass);
        }
    }
    for bone in skeleton.bones().rev() {
        if let Some(parent) = skeleton.parent(bone) {
            let below = sums[bone.index()];
            let sum = &mut sums[parent.index()];
            *sum = (sum.0 + below.0, sum.1 + below.1);
        }
    }
    skeleton
        .bones()
        .map(|bone| {
            let (sum, mass) = sums[bone.index()];
            let in_bone = world.world_from_bone(bone).inverse().transform_point3(sum / mass);
            (mass > 0.0 && in_bone.is_finite()).then_some(in_bone)
        })
        .collect()
}

/// Bones that carry a whole character: animated ones (joints, where nothing is animated) without one above them.
fn roots(raw: &RawRig, skeleton: &Skeleton) -> Vec<bool> {
    let mut marked = vec![false; skeleton.len()];
    let joints = raw.skins.iter().flat_map(|skin| &skin.joints).map(|joint| joint.bone);
    let nodes: Vec<usize> = if raw.animated.is_empty() { joints.collect() } else { raw.animated.clone() };
    for bone in nodes.into_iter().filter_map(|node| skeleton.bone_of_node(node)) {
        marked[bone.index()] = true;
    }
    let mut below = vec![false; skeleton.len()];
    let mut roots = vec![false; skeleton.len()];
    for bone in skeleton.bones() {
        let under = skeleton.parent(bone).is_some_and(|parent| below[parent.index()]);
        roots[bone.index()] = marked[bone.index()] && !under;
        below[bone.index()] = marked[bone.index()] || under;
    }
    roots
}

/// Joint to each child joint; a leaf is a point with its parent's length.
fn segments(raw: &RawRig, skeleton: &Skeleton, world: &WorldPose) -> Vec<BoneSegments> {
    let mut is_joint = vec![false; skeleton.len()];
    for joint in raw.skins.iter().flat_map(|skin| &skin.joints) {
        if let Some(bone) = skeleton.bone_of_node(joint.bone) {
            is_joint[bone.index()] = true;
        }
    }
    let mut segments = vec![BoneSegments { ends: Vec::new(), length: 0.0 }; skeleton.len()];
    for bone in skeleton.bones() {
        let Some(parent) = skeleton.parent(bone) else { continue };
        if is_joint[bone.index()] && is_joint[parent.index()] {
            let end = skeleton.rest_locals()[bone.index()].to_affine().translation;
            let length = (world.joint_origin(bone) - world.joint_origin(parent)).length();
            let segment = &mut segments[parent.index()];
            segment.ends.push(end);
            segment.length = segment.length.max(length);
        }
    }
    for bone in skeleton.bones() {
        if segments[bone.index()].ends.is_empty()
            && let Some(parent) = skeleton.parent(bone)
        {
            segments[bone.index()].length = segments[parent.index()].length;
        }
    }
    segments
}
