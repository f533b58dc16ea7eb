//! From rows to the source's vertices.

use super::blocks::{BLOCK, RowSet, SetSlices};
use super::evaluate::Cpu;
use super::output::Vertices;
use crate::rig::{NO_VERTEX, Rig};
use crate::simd::{LANES, PointRow, Points, Simd, dispatch, f32x4, prelude::*};
use glam::Vec3;
use std::ops::Range;

/// From rows to the source's vertex order, row by row: the reads are where the kernel just wrote, and the writes of
/// neighbouring rows land close to each other.
#[inline(always)]
pub(super) fn scatter<S: Simd>(simd: S, rig: &Rig, rows: Range<usize>, from: &SetSlices<'_>, out: &mut Vertices<'_>) {
    let SetSlices { points, normals, tangents } = from;
    let first_layer = rig.rows().get(rows.start).map_or(0, |row| row.layers.start as usize);
    for (local, row) in rig.rows()[rows].iter().enumerate() {
        for layer in row.layers.start as usize..row.layers.end as usize {
            let to = (&rig.vertex_of_layer()[layer], rig.layer_runs()[layer]);
            let (vertices, layer) = (to.0, layer - first_layer);
            scatter_row(simd, &points[local], to, out.positions);
            scatter_row(simd, &normals[layer], to, out.normals);
            if let Some((_, handedness)) = rig.layer_tangents() {
                let [x, y, z] = &tangents[layer];
                for lane in (0..LANES).filter(|&lane| vertices[lane] != NO_VERTEX) {
                    let xyz = Vec3::new(x[lane], y[lane], z[lane]);
                    out.tangents[vertices[lane] as usize] = xyz.extend(handedness[layer + first_layer][lane]);
                }
            }
        }
    }
}

/// One row to its vertices. Four lanes are turned at a time in registers: reading and writing their coordinates one
/// by one cost as much as the blending. Vertices that follow each other in the source are written as a whole.
#[inline(always)]
fn scatter_row<S: Simd>(simd: S, row: &PointRow, (vertices, runs): (&[u32; LANES], u8), out: &mut [Vec3]) {
    let first = vertices[0] as usize;
    if runs & 0x10 != 0
        && let Some(run) = out.get_mut(first..first + LANES)
    {
        for (four, run) in run.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            write_run(simd, row, 4 * four, run);
        }
        return;
    }
    for (four, vertices) in vertices.as_chunks::<4>().0.iter().enumerate() {
        let first = vertices[0] as usize;
        if runs & 1 << four != 0
            && let Some(run) = out.get_mut(first..first + 4)
        {
            if let Some(run) = run.as_chunks_mut::<4>().0.first_mut() {
                write_run(simd, row, 4 * four, run);
            }
            continue;
        }
        let (x, y, z) = four_lanes(simd, row, 4 * four);
        let ((xz0, xz1), (yz0, yz1)) = (x.interleave(z), y.interleave(z));
        let ((p0, p1), (p2, p3)) = (xz0.interleave(yz0), xz1.interleave(yz1));
        for (&vertex, xyz) in vertices.iter().zip([p0, p1, p2, p3]) {
            // Lanes without a vertex name none.
            if let Some(value) = out.get_mut(vertex as usize) {
                *value = Vec3::from_slice(xyz.as_slice());
            }
        }
    }
}

#[inline(always)]
fn four_lanes<S: Simd>(simd: S, [x, y, z]: &PointRow, lane: usize) -> (f32x4<S>, f32x4<S>, f32x4<S>) {
    let lanes = lane..lane + 4;
    let (x, y, z) = (&x[lanes.clone()], &y[lanes.clone()], &z[lanes]);
    (f32x4::from_slice(simd, x), f32x4::from_slice(simd, y), f32x4::from_slice(simd, z))
}

/// Four lanes to four vertices in a row: x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3.
#[inline(always)]
fn write_run<S: Simd>(simd: S, row: &PointRow, lane: usize, run: &mut [Vec3; 4]) {
    let (x, y, z) = four_lanes(simd, row, lane);
    let ((xy0, xy1), (zx0, zx1), (yz0, yz1)) = (x.interleave(y), z.interleave(x), y.interleave(z));
    let numbers: &mut [[f32; 4]; 3] = bytemuck::cast_mut(run);
    *numbers = [[xy0[0], xy0[1], zx0[0], zx0[3]], [yz0[2], yz0[3], xy1[0], xy1[1]], [zx1[0], xy1[2], yz1[2], yz1[3]]];
}

/// Points at `slots`, four at a time where they follow each other in a row.
#[inline(always)]
fn gather_some<S: Simd>(simd: S, points: &Points, slots: &[u32], out: &mut [Vec3]) {
    let (fours, rest) = slots.as_chunks::<4>();
    let (out_fours, out_rest) = out.as_chunks_mut::<4>();
    for (slots, out) in fours.iter().zip(out_fours) {
        let (first, lane) = (slots[0], slots[0] as usize % LANES);
        if lane <= LANES - 4 && *slots == [first, first + 1, first + 2, first + 3] {
            write_run(simd, &points.rows[first as usize / LANES], lane, out);
        } else {
            gather_each(points, slots, out);
        }
    }
    gather_each(points, rest, out_rest);
}

#[inline(always)]
fn gather_each(points: &Points, slots: &[u32], out: &mut [Vec3]) {
    for (&slot, out) in slots.iter().zip(out) {
        *out = points.get(slot as usize);
    }
}

/// As [`scatter`], by as many threads as the caller gives: each writes its own vertices.
pub(super) fn gather(rig: &Rig, from: &mut RowSet, cpu: &Cpu<'_>, out: &mut Vertices<'_>) {
    use rayon::prelude::*;
    const CHUNK: usize = BLOCK * LANES;
    let Some(pool) = cpu.pool else {
        let from = from.slices();
        return dispatch!(cpu.level, simd => scatter(simd, rig, 0..rig.rows().len(), &from, out));
    };
    let RowSet { points, normals, tangents } = &*from;
    let (points_of, slots_of) = (rig.point_of_vertex(), rig.layer_slot_of_vertex());
    pool.install(|| {
        let chunks = out.positions.par_chunks_mut(CHUNK).zip(out.normals.par_chunks_mut(CHUNK));
        chunks.enumerate().for_each(|(chunk, (out_positions, out_normals))| {
            let own = chunk * CHUNK..chunk * CHUNK + out_positions.len();
            let (points_of, slots_of) = (&points_of[own.clone()], &slots_of[own]);
            dispatch!(cpu.level, simd => gather_some(simd, points, points_of, out_positions));
            dispatch!(cpu.level, simd => gather_some(simd, normals, slots_of, out_normals));
        });
        if let Some((_, handedness)) = rig.layer_tangents() {
            out.tangents.par_iter_mut().zip(slots_of).for_each(|(tangent, &slot)| {
                let slot = slot as usize;
                *tangent = tangents.get(slot).extend(handedness[slot / LANES][slot % LANES]);
            });
        }
    });
}
