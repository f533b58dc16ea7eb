//! Normals after effects, from the faces.
//!
//! A *fan* is the set of faces around the display copies of one control point that share one rest normal: a smooth
//! corner is one fan, each side of a hard edge its own. The base's normal is turned by the smallest rotation that
//! takes the fan's mean normal (by area) in the base to the one after the effects, so hard edges and authored normals
//! survive, and where nothing moved the normal is the base's to the bit: rows of points that lie as the base put them,
//! among rows that do, are passed over. Where the base has crumpled or torn its faces (the inside of a bend, rigid skinning
//! at a twisted joint), so that they no longer lie under its normals as they did at rest, there is nothing to turn from:
//! the base's normal stays, or, where the faces turned far, their mean after the effects is taken.
//!
//! However a normal was made, it gives way to the blended one before it stands against its faces ([`Fans::guard`]).
//! All of this is continuous in what the effects do: an effect that hardly acts hardly turns a normal.
//!
//! Means come from rings ([`crate::rings`]) of the base and of the deformed points at once: a neighbour is one load for
//! both. They are turned into normals sixteen at a time.

use crate::csr::Csr;
use crate::graph::FanArrays;
use crate::rig::{NO_VERTEX, OfRig, Rig};
use crate::rings::{Record, RingsOf, Walk, areas, coordinates, four_records, in_blocks, load_pair, opposite, turn};
use crate::simd::{LANES, Lanes, Level, PointRow, Points, Simd, dispatch, prelude::*};
use crate::simd8::{Half, cross, dot, load_half, load_lanes, mul_add, scale, store_half, sub};
use fearless_simd::{f32x8, mask32x8, u32x8};
use glam::Vec3;

/// The faces around each display corner.
#[derive(Clone, Debug)]
pub(crate) struct Fans {
    /// Per layer lane: the ring of its fan, and where it stops.
    stops: Vec<u32>,
    to: Vec<u32>,
    /// Per layer: its row, and the cosine below which the base has torn the faces of a lane.
    row_of_layer: Vec<u32>,
    torn: Vec<Lanes>,
    /// Rows that share a face with each row, itself included.
    near: Csr,
}

/// Cosine of the widest angle between a normal and the faces under it, and of one at which they are torn for certain.
const UNDER: f32 = 0.8;
const TORN: f32 = 0.5;
/// One minus the cosine of the turn from which on torn faces say where the normal is.
const FAR_TURN: f32 = 0.034;
/// Below this cosine to its faces a normal begins to give way to the blended one.
const UPRIGHT: f32 = 0.1;
/// For faces that do not lie under their normal at rest: below any cosine.
const NEVER: f32 = -1.0;
/// Rows and layers that a thread takes at a time.
const BLOCK: usize = 64;

/// The smallest rotation is not defined for directions that are this opposite.
const OPPOSITE: f32 = -0.999_99;

/// A point in the base and after the effects.
type Both = [Record; 2];

impl OfRig for Fans {
    fn of(rig: &Rig) -> Self {
        let slots = rig.layer_slot_of_vertex();
        let mut keys: Vec<([u32; 4], u32)> = (0..rig.vertex_count())
            .map(|vertex| {
                let n = rig.layer_normals().get(slots[vertex] as usize) + Vec3::ZERO;
                ([rig.point_of_vertex()[vertex], n.x.to_bits(), n.y.to_bits(), n.z.to_bits()], vertex as u32)
            })
            .collect();
        keys.sort_unstable();
        let mut fan_of_vertex = vec![0u32; rig.vertex_count()];
        let mut count = 0u32;
        for fan in keys.chunk_by(|a, b| a.0 == b.0) {
            fan.iter().for_each(|&(_, vertex)| fan_of_vertex[vertex as usize] = count);
            count += 1;
        }
        let faces = rig.triangles().iter().enumerate();
        let pairs = faces.flat_map(|(face, corners)| corners.map(|v| (fan_of_vertex[v as usize], face as u32)));
        let faces = Csr::new(count as usize, pairs.collect());

        let layers = rig.vertex_of_layer();
        let mut row_of_layer = vec![0u32; layers.len()];
        for (row, own) in rig.rows().iter().enumerate() {
            row_of_layer[own.layers.start as usize..own.layers.end as usize].fill(row as u32);
        }
        let (mut stops, mut to) = (Vec::with_capacity(layers.len() * LANES), Vec::new());
        let mut torn = vec![[NEVER; LANES]; layers.len()];
        let mut walk = Walk::default();
        for (layer, vertices) in layers.iter().enumerate() {
            for (lane, &vertex) in vertices.iter().enumerate() {
                if vertex != NO_VERTEX {
                    let point = rig.point_of_vertex()[vertex as usize];
                    let own = faces.of(fan_of_vertex[vertex as usize] as usize);
                    let corners = own.iter().map(|&face| rig.point_triangles()[face as usize]);
                    let whole = corners.filter(|[a, b, c]| a != b && b != c && c != a);
                    to.extend_from_slice(walk.ring(point, whole.map(|corners| opposite(corners, point))));
                    let mean: Vec3 = own.iter().map(|&face| face_normal(rig, face)).sum();
                    let normal = rig.layer_normals().get(layer * LANES + lane);
                    if (mean / mean.abs().max_element().max(f32::MIN_POSITIVE)).normalize_or_zero().dot(normal) > UNDER
                    {
                        torn[layer][lane] = UNDER;
                    }
                }
                stops.push(to.len() as u32);
            }
        }
        let near = rig.point_triangles().iter().flat_map(|corners| {
            let [a, b, c] = corners.map(|slot| slot / LANES as u32);
            [(a, a), (a, b), (a, c), (b, a), (b, b), (b, c), (c, a), (c, b), (c, c)]
        });
        let near = Csr::new(rig.rows().len(), near.collect());
        Self { stops, to, row_of_layer, torn, near }
    }
}

impl Fans {
    /// As plain data.
    pub fn arrays(&self) -> FanArrays<'_> {
        let Self { stops, to, row_of_layer, torn, .. } = self;
        FanArrays { stops, to, row_of_layer, torn }
    }

    /// Lets normals that would stand against the faces of `points` give way to the `blended` ones, where those do not.
    pub fn guard(
        &self,
        (level, pool): (Level, Option<&rayon::ThreadPool>),
        points: &Points,
        blended: &Points,
        scratch: &mut FanScratch,
        normals: &mut Points,
    ) {
        let rows = points.rows.len();
        scratch.moved.clear();
        scratch.moved.resize(rows, true);
        self.record((level, pool), points, points, scratch);
        let (records, mirrored) = (&scratch.records[..], &scratch.mirrored[..]);
        let none = &mut vec![(); normals.rows.len()][..];
        in_blocks(pool, (&mut normals.rows, BLOCK), (none, BLOCK), |block, normals, _| {
            dispatch!(level, simd => guard_layers(simd, self, (records, mirrored), block, &blended.rows, normals));
        });
    }

    /// Points of the rows that are read, side by side.
    fn record(
        &self,
        (level, pool): (Level, Option<&rayon::ThreadPool>),
        base: &Points,
        deformed: &Points,
        scratch: &mut FanScratch,
    ) {
        let FanScratch { records, moved: read, .. } = scratch;
        records.resize(base.rows.len() * LANES, [[0.0; 4]; 2]);
        in_blocks(pool, (records, BLOCK * LANES), (read, BLOCK), |block, records, read| {
            let first = block * BLOCK;
            let rows = base.rows[first..].iter().zip(&deformed.rows[first..]);
            for (((base, deformed), &read), records) in rows.zip(&*read).zip(records.as_chunks_mut::<LANES>().0) {
                if read {
                    dispatch!(level, simd => load(simd, base, deformed, records));
                }
            }
        });
    }

    /// Turns the base's normals (and tangents) to the deformed surface.
    pub fn carry(
        &self,
        (level, pool): (Level, Option<&rayon::ThreadPool>),
        base: &Points,
        deformed: &Points,
        scratch: &mut FanScratch,
        normals: &mut Points,
        tangents: Option<&mut Points>,
    ) {
        let FanScratch { moved, turns, .. } = &mut *scratch;
        let rows = base.rows.len();
        moved.resize(rows, false);
        in_blocks(pool, (moved, BLOCK), (&mut vec![(); rows], BLOCK), |block, moved, _| {
            let (base, deformed) = (&base.rows[block * BLOCK..], &deformed.rows[block * BLOCK..]);
            dispatch!(level, simd => compare(simd, base, deformed, moved));
        });
        if !moved.contains(&true) {
            return;
        }
        let near = |flags: &[bool], row: usize| self.near.of(row).iter().any(|&near| flags[near as usize]);
        turns.clear();
        turns.extend((0..rows).map(|row| near(moved, row)));
        // From here on those that are read.
        moved.iter_mut().enumerate().for_each(|(row, read)| *read = near(turns, row));
        self.record((level, pool), base, deformed, scratch);
        let (records, turns) = (&scratch.records[..], (&scratch.turns[..], &scratch.mirrored[..]));
        match tangents {
            Some(tangents) => {
                in_blocks(pool, (&mut normals.rows, BLOCK), (&mut tangents.rows, BLOCK), |block, normals, tangents| {
                    dispatch!(level, simd => turn_layers(simd, self, records, turns, block, normals, tangents));
                });
            }
            None => {
                let none = &mut vec![(); normals.rows.len()][..];
                in_blocks(pool, (&mut normals.rows, BLOCK), (none, BLOCK), |block, normals, _| {
                    dispatch!(level, simd => turn_layers(simd, self, records, turns, block, normals, &mut []));
                });
            }
        }
    }
}

/// Memory for one frame.
#[derive(Clone, Debug, Default)]
pub(crate) struct FanScratch {
    records: Vec<Both>,
    /// Per row: something moved it from where the base put it; later: some turn reads it.
    moved: Vec<bool>,
    /// Per row: its normals turn.
    turns: Vec<bool>,
    /// Per row: its bones turn space inside out, so that its faces are wound inward. To be filled in beforehand.
    pub mirrored: Vec<bool>,
}

fn face_normal(rig: &Rig, face: u32) -> Vec3 {
    let [a, b, c] = rig.point_triangles()[face as usize].map(|slot| rig.rest().get(slot as usize));
    (b - a).cross(c - a)
}

#[inline(always)]
fn compare<S: Simd>(simd: S, base: &[PointRow], deformed: &[PointRow], moved: &mut [bool]) {
    for ((base, deformed), moved) in base.iter().zip(deformed).zip(moved) {
        let (base, deformed) = (base.as_flattened().as_chunks::<8>().0, deformed.as_flattened().as_chunks::<8>().0);
        let mut differs = f32x8::splat(simd, 0.0).simd_lt(f32x8::splat(simd, 0.0));
        for (a, b) in base.iter().zip(deformed) {
            differs |= !f32x8::load_array_ref(simd, a).simd_eq(f32x8::load_array_ref(simd, b));
        }
        *moved = differs.any_true();
    }
}

#[inline(always)]
fn load<S: Simd>(simd: S, base: &PointRow, deformed: &PointRow, records: &mut [Both; LANES]) {
    for (quarter, records) in records.as_chunks_mut::<4>().0.iter_mut().enumerate() {
        let [a, b, c, d] = four_records(simd, base, quarter, [0.0; 3], 1.0);
        let [e, f, g, h] = four_records(simd, deformed, quarter, [0.0; 3], 1.0);
        a.combine(e).store_slice(records[0].as_flattened_mut());
        b.combine(f).store_slice(records[1].as_flattened_mut());
        c.combine(g).store_slice(records[2].as_flattened_mut());
        d.combine(h).store_slice(records[3].as_flattened_mut());
    }
}

#[inline(always)]
fn turn_layers<S: Simd>(
    simd: S,
    fans: &Fans,
    records: &[Both],
    (turns, mirrored): (&[bool], &[bool]),
    block: usize,
    normals: &mut [PointRow],
    tangents: &mut [PointRow],
) {
    let swizzle = turn(simd);
    for (local, normals) in normals.iter_mut().enumerate() {
        let layer = block * BLOCK + local;
        let row = fans.row_of_layer[layer] as usize;
        if !turns[row] {
            continue;
        }
        let (mut before, mut after) = ([[0.0; 4]; LANES], [[0.0; 4]; LANES]);
        let rings = RingsOf::new(&fans.stops, &fans.to, layer * LANES..(layer + 1) * LANES);
        let here = &records.as_chunks::<LANES>().0[row];
        for ((ring, here), (before, after)) in rings.zip(here).zip(before.iter_mut().zip(&mut after)) {
            let (base, deformed) = areas(simd, ring, records, load_pair(simd, here), swizzle).split();
            base.store_array(before);
            deformed.store_array(after);
        }
        for half in 0..2 {
            let outside = outside(simd, mirrored, row);
            let turn = Turn::new(simd, coordinates(simd, &before, half), coordinates(simd, &after, half));
            let n = load_half(simd, normals, half);
            store_half(turn.normal(simd, n, load_lanes(simd, &fans.torn[layer], half), outside), normals, half);
            if let Some(tangents) = tangents.get_mut(local) {
                let t = load_half(simd, tangents, half);
                store_half(turn.apply(t), tangents, half);
            }
        }
    }
}

#[inline(always)]
fn guard_layers<S: Simd>(
    simd: S,
    fans: &Fans,
    (records, mirrored): (&[Both], &[bool]),
    block: usize,
    blended: &[PointRow],
    normals: &mut [PointRow],
) {
    let swizzle = turn(simd);
    for (local, normals) in normals.iter_mut().enumerate() {
        let layer = block * BLOCK + local;
        let row = fans.row_of_layer[layer] as usize;
        let mut means = [[0.0; 4]; LANES];
        let rings = RingsOf::new(&fans.stops, &fans.to, layer * LANES..(layer + 1) * LANES);
        let here = &records.as_chunks::<LANES>().0[row];
        for ((ring, here), mean) in rings.zip(here).zip(&mut means) {
            areas(simd, ring, records, load_pair(simd, here), swizzle).split().1.store_array(mean);
        }
        for half in 0..2 {
            let faces = scaled(simd, coordinates(simd, &means, half));
            let (n, blended) = (load_half(simd, normals, half), load_half(simd, &blended[layer], half));
            store_half(upright(simd, n, blended, scale(faces, outside(simd, mirrored, row))), normals, half);
        }
    }
}

/// 1, or −1 for faces that are wound inward.
#[inline(always)]
fn outside<S: Simd>(simd: S, mirrored: &[bool], row: usize) -> f32x8<S> {
    f32x8::splat(simd, if mirrored.get(row).is_some_and(|&mirrored| mirrored) { -1.0 } else { 1.0 })
}

/// The normal, or the blended one where it would stand against its faces and the blended one does not; between them a
/// mixture, so that neither pops.
#[inline(always)]
fn upright<S: Simd>(simd: S, n: Half<S>, blended: Half<S>, faces: Half<S>) -> Half<S> {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    let slope = f32x8::splat(simd, 1.0 / UPRIGHT);
    let square = dot(faces, faces);
    let has_faces = square.simd_gt(zero) & square.simd_lt(f32x8::splat(simd, 16.0));
    let inverse = one / has_faces.select(square, one).sqrt();
    let (own, other) = (dot(n, faces) * inverse, dot(blended, faces) * inverse);
    let share = (one - own * slope).min(one).max(zero) * (one + other * slope).min(one).max(zero);
    let share = has_faces.select(share, zero);
    let gives_way = share.simd_gt(zero);
    if !gives_way.any_true() {
        return n;
    }
    let mixed = mixed(simd, n, blended, share);
    let wholly = share.simd_ge(one);
    let mixed = [0, 1, 2].map(|k| wholly.select(blended[k], mixed[k]));
    [0, 1, 2].map(|k| gives_way.select(mixed[k], n[k]))
}

/// Between two unit vectors; the second where they are opposite.
#[inline(always)]
fn mixed<S: Simd>(simd: S, a: Half<S>, b: Half<S>, share: f32x8<S>) -> Half<S> {
    let sum = mul_add(sub(b, a), share, a);
    let square = dot(sum, sum);
    let some = square.simd_gt(f32x8::splat(simd, f32::EPSILON));
    let inverse = f32x8::splat(simd, 1.0) / some.select(square, f32x8::splat(simd, 1.0)).sqrt();
    [0, 1, 2].map(|k| some.select(sum[k] * inverse, b[k]))
}

/// Brought to a length of 1 to 4 by a power of two: a long vector squared may leave the range, and so may a short one. 0
/// stays 0.
#[inline(always)]
fn scaled<S: Simd>(simd: S, v: Half<S>) -> Half<S> {
    let largest = v[0].abs().max(v[1].abs()).max(v[2].abs());
    let exponent = largest.bitcast::<u32x8<S>>() & u32x8::splat(simd, f32::INFINITY.to_bits());
    // Exponents of a number and of its inverse add up to that of 1, twice.
    let scale = (u32x8::splat(simd, 2 * 1f32.to_bits()) - exponent).bitcast::<f32x8<S>>();
    [v[0] * scale, v[1] * scale, v[2] * scale]
}

/// How the mean normals of fans, a and b, turned.
#[derive(Clone, Copy)]
struct Turn<S: Simd> {
    before: Half<S>,
    after: Half<S>,
    /// a·a, and the cosine of the turn; 1 where there is none.
    square: f32x8<S>,
    cosine: f32x8<S>,
    /// They are the same; the latter has a direction.
    same: mask32x8<S>,
    has_after: mask32x8<S>,
    /// Not where nothing turned or the smallest rotation is not defined.
    turns: mask32x8<S>,
    /// a×b, 1/|a||b| and 1/(|a||b|(|a||b| + a·b)).
    axis: Half<S>,
    first: f32x8<S>,
    second: f32x8<S>,
}

impl<S: Simd> Turn<S> {
    #[inline(always)]
    fn new(simd: S, before: Half<S>, after: Half<S>) -> Self {
        let (zero, one, long) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, 16.0));
        let (before, after) = (scaled(simd, before), scaled(simd, after));
        let (square, other, product) = (dot(before, before), dot(after, after), dot(before, after));
        let same = before[0].simd_eq(after[0]) & before[1].simd_eq(after[1]) & before[2].simd_eq(after[2]);
        let has_after = other.simd_gt(zero) & other.simd_lt(long);
        let lengths = (square * other).sqrt();
        let turns = !same
            & has_after
            & square.simd_gt(zero)
            & square.simd_lt(long)
            & product.simd_ge(lengths * f32x8::splat(simd, OPPOSITE));
        let sum = lengths + product;
        let cosine = lengths.simd_gt(zero).select(product / lengths, one);
        let second = one / turns.select(lengths * sum, one);
        let axis = cross(before, after);
        Self { before, after, square, cosine, same, has_after, turns, axis, first: second * sum, second }
    }

    #[inline(always)]
    fn apply(&self, n: Half<S>) -> Half<S> {
        let across = cross(self.axis, n);
        let twice = cross(self.axis, across);
        let turned = mul_add(twice, self.second, mul_add(across, self.first, n));
        [self.turns.select(turned[0], n[0]), self.turns.select(turned[1], n[1]), self.turns.select(turned[2], n[2])]
    }

    /// The normal; where the base has torn the faces the base's, or their mean after the effects.
    #[inline(always)]
    fn normal(&self, simd: S, n: Half<S>, torn: f32x8<S>, outside: f32x8<S>) -> Half<S> {
        let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
        let turned = self.apply(n);
        let along = dot(n, self.before) * outside;
        let apart = (torn * torn * self.square - along * along.abs())
            / (self.square * f32x8::splat(simd, UNDER * UNDER - TORN * TORN));
        // No number, where the base has no faces, is not above 0.
        let is_torn = apart.simd_gt(zero) & torn.simd_gt(zero) & !self.same & self.has_after;
        let after = scale(self.after, outside);
        let found = if is_torn.any_true() {
            let far = (one - self.cosine) * f32x8::splat(simd, 1.0 / FAR_TURN);
            let (apart, far) = (is_torn.select(apart.min(one), zero), far.min(one).max(zero));
            let unit = scale(after, one / self.has_after.select(dot(after, after).sqrt(), one));
            let kept = mixed(simd, turned, n, apart);
            let mixed = mixed(simd, kept, unit, apart * far);
            [0, 1, 2].map(|k| is_torn.select(mixed[k], turned[k]))
        } else {
            turned
        };
        let upright = upright(simd, found, n, after);
        [0, 1, 2].map(|k| self.same.select(n[k], upright[k]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(always)]
    fn turned<S: Simd>(simd: S, a: Vec3, b: Vec3, n: Vec3) -> Vec3 {
        let [a, b, n] = [a, b, n].map(|v| v.to_array().map(|x| f32x8::splat(simd, x)));
        Vec3::from(Turn::new(simd, a, b).apply(n).map(|x| x.to_array()[5]))
    }

    #[test]
    fn the_turn_takes_one_direction_to_the_other() {
        for (a, b) in [(Vec3::X, Vec3::Y), (Vec3::new(1.0, 2.0, 3.0), Vec3::new(-1.0, 0.5, 2.0)), (Vec3::X, Vec3::X)] {
            for level in [Level::baseline(), Level::new()] {
                let found = dispatch!(level, simd => turned(simd, a * 1e-20, b * 1e12, a.normalize()));
                assert!(found.abs_diff_eq(b.normalize(), 1e-6));
            }
        }
        for none in [Vec3::ZERO, Vec3::NAN] {
            let found = dispatch!(Level::new(), simd => turned(simd, Vec3::X, none, Vec3::Y));
            assert_eq!(found, Vec3::Y);
        }
    }
}
