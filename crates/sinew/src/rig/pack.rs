//! Control points in rows, with the layers, morph targets and maps that go with them.

use super::characters::Grouping;
use super::read::{Piece, Vertices, piece_subject};
use super::{Morph, NO_VERTEX, Row, VertexMap};
use crate::control_points::{ControlPoints, Copies};
use crate::influences::{Influence, Tally};
use crate::raw::{RawBinding, RawRig};
use crate::simd::{LANES, Lanes, Points};
use crate::warning::Warning;
use glam::{DVec3, Vec3, Vec4};
use std::ops::Range;

/// Control points in rows.
pub(super) struct Packed {
    pub rows: Vec<Row>,
    pub skin_entries: Vec<u32>,
    pub skin_weights: Vec<Lanes>,
    pub rest: Points,
    pub vertex_of_layer: Vec<[u32; LANES]>,
    pub point_of_vertex: Vec<u32>,
    pub layer_slot_of_vertex: Vec<u32>,
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
        // Targets tell apart what lies at one place, so that what is the same is found without asking each for each.
        for (target, positions) in
            piece.raw.morphs.iter().enumerate().filter_map(|(t, m)| Some((t, m.positions.as_ref()?)))
        {
            let delta = positions[vertex - piece.vertices.start] + Vec3::ZERO;
            if delta != Vec3::ZERO {
                hash.add((piece.mesh as u64) << 32 | target as u64);
                delta.to_array().into_iter().for_each(|v| hash.add(u64::from(v.to_bits())));
            }
        }
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
pub(super) fn pack(raw: &RawRig, vertices: &Vertices<'_>, grouping: &Grouping, rest_origins: &[DVec3]) -> Packed {
    let points = ControlPoints::find(vertices, &vertices.triangles);
    let piece_of_point = |point: u32| {
        let vertex = points.first_vertex[point as usize] as usize;
        &vertices.pieces[vertices.piece_of[vertex] as usize]
    };
    let influences_of_point = |point: u32| vertices.weights.of(points.first_vertex[point as usize] as usize);
    let character_of_point = |point: u32| grouping.of_mesh[piece_of_point(point).mesh];
    let rides = |point: u32| raw.meshes[piece_of_point(point).mesh].binding == RawBinding::Node;
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

    let mut slot_of_point = vec![0u32; points.first_vertex.len()];
    let mut packed = Packed {
        rows: Vec::new(),
        skin_entries: Vec::new(),
        skin_weights: Vec::new(),
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
                layers: layer_start as u32..packed.vertex_of_layer.len() as u32,
                filled: chunk.len() as u32,
                riders: chunk.iter().enumerate().map(|(lane, &point)| u16::from(rides(point)) << lane).sum(),
            });
        }
    }
    packed.rest.resize(packed.rows.len());
    packed.point_of_vertex = points.of_vertex.iter().map(|&point| slot_of_point[point as usize]).collect();
    packed
}

/// See [`Rig::layer_runs`].
pub(super) fn runs(vertices: &[u32; LANES]) -> u8 {
    let follow =
        |run: &[u32]| run.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])) && run[0] != NO_VERTEX;
    let fours = vertices.chunks_exact(4).enumerate().map(|(four, run)| u8::from(follow(run)) << four);
    fours.sum::<u8>() | u8::from(follow(vertices)) << 4
}

/// By character, main bone, set of bones, number of copies, then as the file has them: neighbours in this order
/// share bones, so the unions of their rows stay small.
fn row_order<'a>(
    points: &ControlPoints,
    influences: &dyn Fn(u32) -> &'a [Influence],
    character: &dyn Fn(u32) -> u32,
) -> Vec<u32> {
    let main = |point: u32| Influence::largest(influences(point).iter().copied()).map_or(0, |main| main.palette);
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
pub(super) fn layer_frames(
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

pub(super) fn morphs(
    raw: &RawRig,
    vertices: &Vertices<'_>,
    packed: &Packed,
) -> (Vec<Morph>, Vec<f32>, Vec<Range<usize>>) {
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

pub(super) fn maps(
    raw: &RawRig,
    vertices: &Vertices<'_>,
    packed: &Packed,
    warnings: &mut Vec<Warning>,
) -> Vec<VertexMap> {
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
                    message: format!("{differing} points have seam copies with different values; their mean was used"),
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
