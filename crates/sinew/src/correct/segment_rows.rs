//! The segments of [`super::segment_volume`] in the rows of a frame: single precision, with sums in double.
//!
//! Whoever sums prisms over a segment meets each edge between two of its triangles twice, in opposite directions. What
//! remains of `6Q_s` is `Σ [a′b′c′] − Σ [abc]` over its triangles and `½ Σ ((a×b)·(a′+b′) + (a+b)·(b′×a′))` over edges
//! whose ends lie in two segments, for any triangle with two corners in a segment is its own. The second sum has a closed
//! form. The first one is, with the areas A of [`crate::rings`] and moves w,
//!
//! `⅓ Σ p·A(p) + λ Σ w·A(p) + λ² Σ p·A(w) + ⅓ λ³ Σ w·A(w)` over the nodes of the segment,
//!
//! less what triangles at these nodes add that are not all of its nodes: two passes over the rings, as for the whole
//! ([`super::volume_rows`]), and strips, which are few and done four triangles at a time in double precision. Caps are
//! strips that nobody owns; they also give the edges that faces leave open. Sheets have edges without another side, and
//! all their triangles are prisms in strips.
//!
//! Neighbouring points mostly lie in the same segments: a *run* is pairs of them that do, and its sums are made at a go.
//!
//! Oracle: the f64 solver, to the rounding of positions (tests).

use super::body::Body;
use super::segment_volume::{Expansion, Segmented, Strip, Terms};
use super::surface::Surface;
use super::volume_rows::{BLOCK, Taken, VolumeRows, VolumeScratch, place, place_apexes};
use crate::rings::{Record, areas, in_blocks, load_pair, transposed, turn};
use crate::simd::{LANES, Simd, dispatch, f32x4, f64x4, prelude::*};
use fearless_simd::f32x8;
use glam::{DAffine3, DVec3};

/// Triangles of a strip that are done at once.
const BATCH: usize = 4;
/// Batches that a thread takes at a time.
const CHUNK: usize = 32;
/// Node of a lane that holds no triangle.
const NO_NODE: u32 = u32::MAX;

/// The segments of one character in rows.
#[derive(Clone, Debug)]
pub(super) struct SegmentRows {
    /// Share of every record, sheets included; 0 for those on capped borders.
    gamma: Vec<f32>,
    runs: Vec<Run>,
    /// Where the runs of each block of rows stop, and the most that one has.
    block_stops: Vec<u32>,
    most_runs: usize,
    strips: Vec<RowStrip>,
    batches: Vec<Batch>,
    bind: Vec<BindBatch>,
    chunks: Vec<Chunk>,
    /// Records of the triangles of sheets.
    sheets: Vec<[u32; 3]>,
}

/// Pairs of points whose segments are the same, the number of segments standing for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    pairs: [u32; 2],
    segments: [u32; 2],
    /// Segments to whose sums they count: not those of sheets.
    counted: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Straddlers,
    Caps,
    Sheets,
}

#[derive(Clone, Copy, Debug)]
struct RowStrip {
    segments: [u32; 3],
    kind: Kind,
}

impl RowStrip {
    /// What each edge counts for, from a corner to the next.
    fn edges(&self) -> [f64; 3] {
        let is_own = self.segments[0] == self.segments[1];
        match self.kind {
            Kind::Straddlers if is_own => [0.0, 0.5, 0.5],
            Kind::Straddlers | Kind::Sheets => [0.5; 3],
            Kind::Caps if is_own => [-0.5, 0.0, 0.0],
            Kind::Caps => [0.0; 3],
        }
    }

    /// Corners whose areas hold its triangles.
    fn corners(&self) -> &'static [usize] {
        match self.kind {
            Kind::Straddlers => &[0, 1, 2],
            Kind::Caps => &[0, 1],
            Kind::Sheets => &[],
        }
    }
}

/// Four triangles, by corner; lanes without one have records that stay 0.
#[derive(Clone, Copy, Debug)]
struct Batch {
    records: [[u32; BATCH]; 3],
    nodes: [[u32; BATCH]; 3],
}

/// Their rest corners in bind space: corner, axis, lane.
type BindBatch = [[[f64; BATCH]; 3]; 3];

/// Some batches of one strip.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    strip: u32,
    batches: [u32; 2],
}

/// Memory of the solver; contents mean nothing between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentRowsScratch {
    /// Per segment, and one for none: 1 if it may move; bounds on its longest move, squared, and on how far
    /// anything came.
    active: Vec<f32>,
    longest: Vec<f32>,
    come: Vec<f64>,
    /// Per segment: from bind space to records.
    carries: Vec<DAffine3>,
    /// Rest corners with morph targets.
    morphed: Vec<BindBatch>,
    runs: Vec<RunSums>,
    chunks: Vec<StripSums>,
    /// Per strip: `Σ [a′b′c′]`.
    cones: Vec<Terms>,
    factors: Vec<f32>,
}

/// What a pass adds up over a run, of the first points of its pairs and of the second ones.
#[derive(Clone, Copy, Debug, Default)]
struct RunSums {
    first: [f64; 2],
    second: [f64; 2],
    squares: [f64; 2],
    longest: [f32; 2],
}

/// `Σ [a′b′c′]`, and what is added to the change of the owner.
#[derive(Clone, Copy, Debug, Default)]
struct StripSums {
    cone: Terms,
    terms: Terms,
}

impl SegmentRows {
    /// From records of nodes and apexes, and segments of all records; `zero` is one that stays 0.
    pub fn new(surface: &Surface, gamma: &[f64], record_of: &[u32], segment_of: &[u32], zero: u32) -> Self {
        let count = segment_of.len();
        let mut shares = vec![0.0; count];
        let mut counted = segment_of.to_vec();
        for node in 0..surface.nodes() {
            let record = record_of[node] as usize;
            shares[record] = gamma[node] as f32;
            if !surface.has_inside[node] {
                counted[record] = surface.segments.len() as u32;
            }
        }
        for node in surface.ring_nodes() {
            shares[record_of[node as usize] as usize] = 0.0;
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut block_stops: Vec<u32> = Vec::new();
        let two = |of: &[u32], pair: usize| [of[2 * pair], of[2 * pair + 1]];
        for pair in 0..count / 2 {
            let (segments, counted) = (two(segment_of, pair), two(&counted, pair));
            let is_first = pair.is_multiple_of(BLOCK * LANES / 2);
            match runs.last_mut() {
                Some(run) if !is_first && (run.segments, run.counted) == (segments, counted) => run.pairs[1] += 1,
                _ => runs.push(Run { pairs: [pair as u32, pair as u32 + 1], segments, counted }),
            }
            if is_first {
                block_stops.push(0);
            }
            block_stops.iter_mut().last().into_iter().for_each(|stop| *stop = runs.len() as u32);
        }
        let starts = std::iter::once(&0).chain(&block_stops);
        let most_runs = block_stops.iter().zip(starts).map(|(stop, start)| stop - start).max().unwrap_or(0) as usize;

        let shell = surface.segment_straddlers.iter().flatten().copied().filter(|&t| (t as usize) < surface.first_cap);
        let sheets = surface.first_sheet as u32..surface.triangles.len() as u32;
        let mut all: Vec<(RowStrip, Vec<[u32; 3]>)> = Vec::new();
        for (kind, strips) in [
            (Kind::Straddlers, Strip::grouped(surface, shell)),
            (Kind::Sheets, Strip::grouped(surface, sheets.clone())),
        ] {
            all.extend(strips.into_iter().map(|strip| (RowStrip { segments: strip.segments, kind }, strip.triangles)));
        }
        let mut caps: Vec<([u32; 3], [u32; 3])> = surface.triangles[surface.first_cap..surface.first_sheet]
            .iter()
            .map(|&corners| {
                let [a, b] = [corners[0], corners[1]].map(|node| surface.segment_of_node[node as usize]);
                // Nothing of the apex counts.
                ([a, b, a], corners)
            })
            .collect();
        caps.sort_by_key(|cap| cap.0);
        all.extend(
            caps.chunk_by(|a, b| a.0 == b.0).map(|caps| {
                (RowStrip { segments: caps[0].0, kind: Kind::Caps }, caps.iter().map(|cap| cap.1).collect())
            }),
        );

        let (mut strips, mut batches, mut chunks) = (Vec::new(), Vec::new(), Vec::new());
        for (strip, triangles) in all {
            let start = batches.len();
            for four in triangles.chunks(BATCH) {
                let mut batch = Batch { records: [[zero; BATCH]; 3], nodes: [[NO_NODE; BATCH]; 3] };
                for (lane, corners) in four.iter().enumerate() {
                    for (corner, &node) in corners.iter().enumerate() {
                        batch.records[corner][lane] = record_of[node as usize];
                        batch.nodes[corner][lane] = node;
                    }
                }
                batches.push(batch);
            }
            let starts = (start..batches.len()).step_by(CHUNK);
            chunks.extend(starts.map(|start| Chunk {
                strip: strips.len() as u32,
                batches: [start as u32, batches.len().min(start + CHUNK) as u32],
            }));
            strips.push(strip);
        }
        let mut bind = Vec::new();
        bind_batches(&batches, &surface.bind, &mut bind);
        Self {
            gamma: shares,
            runs,
            block_stops,
            most_runs,
            strips,
            batches,
            bind,
            chunks,
            sheets: sheets.map(|t| surface.triangles[t as usize].map(|node| record_of[node as usize])).collect(),
        }
    }

    /// Six times the volume between the sheets and the origin.
    pub fn sheet_cones(&self, points: &[Record]) -> f64 {
        let cones = self.sheets.iter().map(|corners| {
            let [a, b, c] = corners.map(|record| place(&points[record as usize]));
            a.dot(b.cross(c))
        });
        cones.sum()
    }

    /// Largest values of points by segment.
    pub fn largest(&self, values: &[f32], segments: usize, out: &mut Vec<f64>) {
        out.resize(segments, 0.0);
        for run in &self.runs {
            let values = values.as_chunks::<2>().0;
            let pairs = run.pairs.map(|pair| values.len().min(pair as usize));
            let mut largest = [0.0f32; 2];
            for two in &values[pairs[0]..pairs[1]] {
                largest = [largest[0].max(two[0]), largest[1].max(two[1])];
            }
            for (largest, segment) in largest.into_iter().zip(run.segments) {
                out.get_mut(segment as usize).into_iter().for_each(|out| *out = out.max(f64::from(largest)));
            }
        }
    }

    fn runs_of(&self, block: usize) -> &[Run] {
        let start = if block == 0 { 0 } else { self.block_stops[block - 1] as usize };
        &self.runs[start..self.block_stops[block] as usize]
    }
}

/// Rest corners of batches.
fn bind_batches(batches: &[Batch], places: &[DVec3], out: &mut Vec<BindBatch>) {
    let place = |node: u32| places.get(node as usize).copied().unwrap_or(DVec3::ZERO);
    out.clear();
    out.extend(
        batches
            .iter()
            .map(|batch| batch.nodes.map(|nodes| std::array::from_fn(|axis| nodes.map(|node| place(node)[axis])))),
    );
}

impl Taken<'_> {
    /// Starts with segments, where they are asked for.
    pub fn prepare_segments(&mut self) {
        let Some(segments) = &self.of.segments else { return };
        let count = self.surface.segments.len();
        let scratch = &mut self.scratch.segments;
        scratch.active.clear();
        scratch.active.extend(self.body.still.iter().map(|&still| if still { 0.0 } else { 1.0 }));
        scratch.active.push(0.0);
        scratch.come.clear();
        scratch.come.resize(count, 0.0);
        scratch.carries.clear();
        let mut carries = std::mem::take(&mut scratch.carries);
        carries.extend(self.surface.segments.iter().map(|segment| self.carry(segment.entry)));
        let scratch = &mut self.scratch.segments;
        scratch.carries = carries;
        if let Some(morphed) = &self.body.morphed {
            bind_batches(&segments.batches, morphed, &mut scratch.morphed);
        }
        scratch.runs.resize(segments.block_stops.len() * segments.most_runs, RunSums::default());
        scratch.chunks.resize(segments.chunks.len(), StripSums::default());
    }

    /// The moves, with `Σ p·A(p)/3`, `Σ w·A(p)` and squares by segment.
    fn aim_segments(&mut self, segments: &SegmentRows, expansion: &mut Expansion) {
        let (count, of, frame) = (self.surface.segments.len(), self.of, self.frame);
        let VolumeScratch { points, moves, apex_areas, segments: scratch, .. } = &mut *self.scratch;
        let (points, active) = (&points[..], &scratch.active[..]);
        in_blocks(frame.pool, (moves, BLOCK * LANES), (&mut scratch.runs, segments.most_runs), |block, moves, sums| {
            dispatch!(frame.level, simd => aim(simd, of, segments, active, points, block, moves, sums));
        });
        scratch.longest.clear();
        scratch.longest.resize(count + 1, 0.0);
        for (block, sums) in scratch.runs.chunks(segments.most_runs).enumerate() {
            for (run, sums) in segments.runs_of(block).iter().zip(sums) {
                for side in 0..2 {
                    let segment = run.segments[side] as usize;
                    scratch.longest[segment] = scratch.longest[segment].max(sums.longest[side]);
                    if segment < count {
                        expansion.slopes[segment] += sums.second[side] / 6.0;
                        expansion.squares[segment] += sums.squares[side] / 36.0;
                    }
                    if let Some(cubic) = expansion.cubics.get_mut(run.counted[side] as usize) {
                        cubic[0] += sums.first[side] / 3.0;
                        cubic[1] += sums.second[side];
                    }
                }
            }
        }
        let segment_of = |node: u32| self.surface.segment_of_node[node as usize] as usize;
        let weight = |node: u32, gamma: f64, _: usize| gamma * f64::from(active[segment_of(node)]);
        of.aim_borders((points, moves), apex_areas, weight, |node, w, area, gradient| {
            let segment = segment_of(node);
            expansion.slopes[segment] += w.dot(gradient) / 6.0;
            expansion.cubics[segment][1] += w.dot(area);
            scratch.longest[segment] = scratch.longest[segment].max(w.length_squared() as f32);
        });
        place_apexes(&of.apexes, &of.record_of, moves);
    }

    /// `Σ p·A(w)` and `Σ w·A(w)/3` by segment.
    fn bend_segments(&mut self, segments: &SegmentRows, expansion: &mut Expansion) {
        let (of, frame) = (self.of, self.frame);
        let VolumeScratch { points, moves, segments: scratch, .. } = &mut *self.scratch;
        let (points, moves, active) = (&points[..], &moves[..], &scratch.active[..]);
        let nothing = &mut vec![(); segments.block_stops.len()][..];
        in_blocks(frame.pool, (&mut scratch.runs, segments.most_runs), (nothing, 1), |block, sums, _| {
            dispatch!(frame.level, simd => bent(simd, of, segments, active, points, moves, block, sums));
        });
        for (block, sums) in scratch.runs.chunks(segments.most_runs).enumerate() {
            for (run, sums) in segments.runs_of(block).iter().zip(sums) {
                for side in 0..2 {
                    if let Some(cubic) = expansion.cubics.get_mut(run.counted[side] as usize) {
                        cubic[2] += sums.first[side];
                        cubic[3] += sums.second[side] / 3.0;
                    }
                }
            }
        }
    }

    /// The strips, out of the sums of their corners' segments and into those of their own.
    fn add_strips(&mut self, segments: &SegmentRows, expansion: &mut Expansion) {
        let frame = self.frame;
        let VolumeScratch { points, moves, segments: scratch, .. } = &mut *self.scratch;
        let SegmentRowsScratch { active, carries, morphed, chunks, cones, .. } = scratch;
        let bind = if self.body.morphed.is_some() { &morphed[..] } else { &segments.bind[..] };
        let (points, moves, active, carries) = (&points[..], &moves[..], &active[..], &carries[..]);
        let nothing = &mut vec![(); chunks.len()][..];
        in_blocks(frame.pool, (chunks, 1), (nothing, 1), |index, sums, _| {
            let Chunk { strip, batches: [start, stop] } = segments.chunks[index];
            let strip = &segments.strips[strip as usize];
            let range = start as usize..stop as usize;
            let counts = strip.segments.iter().any(|&segment| active[segment as usize] != 0.0);
            // The whole has all caps.
            sums[0] = match counts || strip.kind == Kind::Caps {
                true => {
                    let carry = &carries[strip.segments[0] as usize];
                    let (batches, bind) = (&segments.batches[range.clone()], &bind[range]);
                    dispatch!(frame.level, simd => strip_sums(simd, strip, batches, bind, carry, points, moves))
                }
                false => StripSums::default(),
            };
        });
        cones.clear();
        cones.resize(segments.strips.len(), [0.0; 8]);
        for (chunk, sums) in segments.chunks.iter().zip(&*chunks) {
            let strip = chunk.strip as usize;
            for k in 0..8 {
                cones[strip][k] += sums.cone[k];
                expansion.strips[strip][k] += sums.terms[k] / 6.0;
            }
        }
        for (strip, cone) in segments.strips.iter().zip(&*cones) {
            for &corner in strip.corners() {
                let cubic = &mut expansion.cubics[strip.segments[corner] as usize];
                cubic[0] -= cone[0] / 3.0;
                cubic[1] -= cone[1 << corner];
                cubic[2] -= cone[7 ^ 1 << corner];
                cubic[3] -= cone[7] / 3.0;
            }
        }
    }

    /// The volume inside from a third of `Σ p·A` over the nodes of segments that are not still: what straddles is added
    /// where its owner is one of them, less the corners that have counted it; the others have a closed form.
    fn enclosed(&self, segments: &SegmentRows, sum: f64) -> f64 {
        let mut cones = sum;
        for (strip, cone) in segments.strips.iter().zip(&self.scratch.segments.cones) {
            let moves = |segment: u32| if self.body.still[segment as usize] { 0.0 } else { 1.0 };
            let counted: f64 = strip.corners().iter().map(|&corner| moves(strip.segments[corner])).sum();
            cones += cone[0]
                * match strip.kind {
                    Kind::Straddlers => moves(strip.segments[0]) - counted / 3.0,
                    Kind::Caps => 1.0 - counted / 3.0,
                    Kind::Sheets => 0.0,
                };
        }
        cones / 6.0 + self.still_volume()
    }
}

impl Segmented for Taken<'_> {
    fn body(&self) -> &Body {
        self.body
    }

    fn unit(&self) -> f64 {
        self.unit
    }

    fn noise(&self, _: bool) -> f64 {
        self.noise
    }

    fn segments_of(&self, strip: usize) -> [u32; 3] {
        self.of.segments.as_ref().map_or([0; 3], |segments| segments.strips[strip].segments)
    }

    fn expand(&mut self, expansion: &mut Expansion) {
        let Some(segments) = &self.of.segments else { return };
        expansion.clear(self.surface.segments.len(), segments.strips.len());
        self.aim_segments(segments, expansion);
        let moving = expansion.cubics.iter().zip(&self.body.still).filter(|(_, still)| !**still);
        let sum = moving.map(|(cubic, _)| cubic[0]).sum();
        self.bend_segments(segments, expansion);
        self.add_strips(segments, expansion);
        if self.before.is_none() {
            self.before = Some(self.enclosed(segments, sum));
        }
        for (segment, cubic) in expansion.cubics.iter_mut().enumerate() {
            if !self.body.still[segment] {
                cubic.iter_mut().for_each(|c| *c /= 6.0);
                cubic[0] -= self.carried_volume(segment);
            }
        }
    }

    fn bounded(&self, segment: usize, factor: f64, bound: f64) -> f64 {
        let scratch = &self.scratch.segments;
        if scratch.come[segment] + f64::from(scratch.longest[segment]).sqrt() * factor.abs() <= bound {
            return factor;
        }
        let nodes = self.surface.segment_nodes.of(segment).iter();
        self.bounded_records(nodes.map(|&node| self.of.record_of[node as usize] as usize), factor, bound)
    }

    fn step(&mut self, factors: &[f64]) {
        let Some(segments) = &self.of.segments else { return };
        let (of, frame) = (self.of, self.frame);
        let VolumeScratch { points, moves, segments: scratch, .. } = &mut *self.scratch;
        scratch.factors.clear();
        scratch.factors.extend(factors.iter().map(|&factor| factor as f32));
        scratch.factors.push(0.0);
        for ((come, longest), factor) in scratch.come.iter_mut().zip(&scratch.longest).zip(factors) {
            *come += f64::from(*longest).sqrt() * factor.abs();
            self.come = self.come.max(*come);
        }
        let (moves, factors) = (&moves[..], &scratch.factors[..]);
        let nothing = &mut vec![(); segments.block_stops.len()][..];
        in_blocks(frame.pool, (points, BLOCK * LANES), (nothing, 1), |block, points, _| {
            dispatch!(frame.level, simd => advance(simd, segments, factors, moves, block, points));
        });
        place_apexes(&of.apexes, &of.record_of, points);
    }
}

/// One value for each point of a pair.
#[inline(always)]
fn splat_pair<S: Simd>(simd: S, [a, b]: [f32; 2]) -> f32x8<S> {
    f32x4::splat(simd, a).combine(f32x4::splat(simd, b))
}

/// The scalar product that a sum over one point of each pair holds.
#[inline(always)]
fn sum_of<S: Simd>(sums: f64x4<S>) -> f64 {
    // Fewer than all lanes, and the compiler keeps the sums in pieces.
    let [x, y, z, w] = sums.to_array();
    (x + y + z + w) - w
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
fn aim<S: Simd>(
    simd: S,
    body: &VolumeRows,
    segments: &SegmentRows,
    active: &[f32],
    points: &[Record],
    block: usize,
    moves: &mut [Record],
    sums: &mut [RunSums],
) {
    let turn = turn(simd);
    let (zero, none) = (f32x8::splat(simd, 0.0), f64x4::splat(simd, 0.0));
    let first = block * BLOCK * LANES / 2;
    for (run, sums) in segments.runs_of(block).iter().zip(sums) {
        *sums = RunSums::default();
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let moves = &mut moves.as_chunks_mut::<2>().0[start - first..stop - first];
        let active = [active[run.segments[0] as usize], active[run.segments[1] as usize]];
        if active == [0.0; 2] {
            moves.fill([[0.0; 4]; 2]);
            continue;
        }
        let active = splat_pair(simd, active);
        let (mut volume, mut slope) = ([none; 2], [none; 2]);
        let [mut squares, mut longest] = [zero; 2];
        let here = points.as_chunks::<2>().0[start..stop].iter();
        let gamma = segments.gamma.as_chunks::<2>().0[start..stop].iter();
        for (ring, ((here, gamma), moves)) in body.rings.range(start..stop).zip(here.zip(gamma).zip(moves)) {
            let here = load_pair(simd, here);
            let area = areas(simd, ring, points, here, turn);
            let step = splat_pair(simd, *gamma) * active * area;
            step.store_slice(moves.as_flattened_mut());
            let ((p0, p1), (a0, a1)) = (here.widen(), area.widen());
            volume[0] = p0.mul_add(a0, volume[0]);
            volume[1] = p1.mul_add(a1, volume[1]);
            let (s0, s1) = (step * area).widen();
            slope[0] += s0;
            slope[1] += s1;
            squares = area.mul_add(area, squares);
            longest = longest.max(step * step);
        }
        let (squares0, squares1) = squares.widen();
        let [a, b, c, d, e, f, g, h] = longest.to_array();
        *sums = RunSums {
            first: [sum_of(volume[0]), sum_of(volume[1])],
            second: [sum_of(slope[0]), sum_of(slope[1])],
            squares: [sum_of(squares0), sum_of(squares1)],
            longest: [(a + b + c) + d, (e + f + g) + h],
        };
    }
}

#[inline(always)]
#[allow(clippy::too_many_arguments, reason = "a kernel takes what it reads")]
fn bent<S: Simd>(
    simd: S,
    body: &VolumeRows,
    segments: &SegmentRows,
    active: &[f32],
    points: &[Record],
    moves: &[Record],
    block: usize,
    sums: &mut [RunSums],
) {
    let turn = turn(simd);
    let none = f64x4::splat(simd, 0.0);
    for (run, sums) in segments.runs_of(block).iter().zip(sums) {
        *sums = RunSums::default();
        if active[run.segments[0] as usize] == 0.0 && active[run.segments[1] as usize] == 0.0 {
            continue;
        }
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let (mut second, mut third) = ([none; 2], [none; 2]);
        let here = points.as_chunks::<2>().0[start..stop].iter().zip(&moves.as_chunks::<2>().0[start..stop]);
        for (ring, (here, step)) in body.rings.range(start..stop).zip(here) {
            let step = load_pair(simd, step);
            let area = areas(simd, ring, moves, step, turn);
            let (s0, s1) = (load_pair(simd, here) * area).widen();
            let (t0, t1) = (step * area).widen();
            second[0] += s0;
            second[1] += s1;
            third[0] += t0;
            third[1] += t1;
        }
        sums.first = [sum_of(second[0]), sum_of(second[1])];
        sums.second = [sum_of(third[0]), sum_of(third[1])];
    }
}

#[inline(always)]
fn advance<S: Simd>(
    simd: S,
    segments: &SegmentRows,
    factors: &[f32],
    moves: &[Record],
    block: usize,
    points: &mut [Record],
) {
    let first = block * BLOCK * LANES / 2;
    for run in segments.runs_of(block) {
        let factor = [factors[run.segments[0] as usize], factors[run.segments[1] as usize]];
        if factor == [0.0; 2] {
            continue;
        }
        let factor = splat_pair(simd, factor);
        let [start, stop] = [run.pairs[0] as usize, run.pairs[1] as usize];
        let points = &mut points.as_chunks_mut::<2>().0[start - first..stop - first];
        for (point, step) in points.iter_mut().zip(&moves.as_chunks::<2>().0[start..stop]) {
            let moved = load_pair(simd, step).mul_add(factor, load_pair(simd, point));
            moved.store_slice(point.as_flattened_mut());
        }
    }
}

/// Four vectors.
type Four<S> = [f64x4<S>; 3];

#[inline(always)]
fn dot<S: Simd>(a: Four<S>, b: Four<S>) -> f64x4<S> {
    a[2].mul_add(b[2], a[1].mul_add(b[1], a[0] * b[0]))
}

#[inline(always)]
fn cross<S: Simd>(a: Four<S>, b: Four<S>) -> Four<S> {
    [a[1].mul_sub(b[2], a[2] * b[1]), a[2].mul_sub(b[0], a[0] * b[2]), a[0].mul_sub(b[1], a[1] * b[0])]
}

#[inline(always)]
fn add<S: Simd>(a: Four<S>, b: Four<S>) -> Four<S> {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Four records, by coordinates.
#[inline(always)]
fn gather<S: Simd>(simd: S, records: &[Record], [a, b, c, d]: &[u32; BATCH]) -> Four<S> {
    let (a, b) = (&records[*a as usize], &records[*b as usize]);
    let (c, d) = (&records[*c as usize], &records[*d as usize]);
    let (a, b) = (f32x4::load_array_ref(simd, a), f32x4::load_array_ref(simd, b));
    let (c, d) = (f32x4::load_array_ref(simd, c), f32x4::load_array_ref(simd, d));
    let [x, y, z, _] = transposed([a, b, c, d]);
    let ((x, y), (z, _)) = (x.combine(y).widen(), z.combine(z).widen());
    [x, y, z]
}

#[inline(always)]
fn carried<S: Simd>(simd: S, carry: &DAffine3, place: &[[f64; BATCH]; 3]) -> Four<S> {
    let [x, y, z] = place;
    let (x, y) = (f64x4::load_array_ref(simd, x), f64x4::load_array_ref(simd, y));
    let z = f64x4::load_array_ref(simd, z);
    let mut out = [f64x4::splat(simd, 0.0); 3];
    for axis in 0..3 {
        let (a, b) = (f64x4::splat(simd, carry.matrix3.x_axis[axis]), f64x4::splat(simd, carry.matrix3.y_axis[axis]));
        let (c, d) = (f64x4::splat(simd, carry.matrix3.z_axis[axis]), f64x4::splat(simd, carry.translation[axis]));
        out[axis] = a.mul_add(x, b.mul_add(y, c.mul_add(z, d)));
    }
    out
}

#[inline(always)]
fn strip_sums<S: Simd>(
    simd: S,
    strip: &RowStrip,
    batches: &[Batch],
    bind: &[BindBatch],
    carry: &DAffine3,
    points: &[Record],
    moves: &[Record],
) -> StripSums {
    let none = f64x4::splat(simd, 0.0);
    let (mut cone, mut terms) = ([none; 8], [none; 8]);
    let edges = strip.edges();
    for (batch, bind) in batches.iter().zip(bind) {
        let [a, b, c] = &batch.records;
        let p = [gather(simd, points, a), gather(simd, points, b), gather(simd, points, c)];
        let w = [gather(simd, moves, a), gather(simd, moves, b), gather(simd, moves, c)];
        let r = [carried(simd, carry, &bind[0]), carried(simd, carry, &bind[1]), carried(simd, carry, &bind[2])];
        // Products of the two corners that follow one.
        let pp = [cross(p[1], p[2]), cross(p[2], p[0]), cross(p[0], p[1])];
        let ww = [cross(w[1], w[2]), cross(w[2], w[0]), cross(w[0], w[1])];
        cone[0] += dot(p[0], pp[0]);
        cone[7] += dot(w[0], ww[0]);
        for corner in 0..3 {
            cone[1 << corner] += dot(w[corner], pp[corner]);
            cone[7 ^ 1 << corner] += dot(p[corner], ww[corner]);
        }
        for corner in 0..3 {
            if edges[corner] == 0.0 {
                continue;
            }
            let half = f64x4::splat(simd, edges[corner]);
            let (next, other) = ((corner + 1) % 3, (corner + 2) % 3);
            let (area, sum) = (cross(r[corner], r[next]), add(r[corner], r[next]));
            let still = dot(area, add(p[corner], p[next])) - dot(sum, pp[other]);
            let from = dot(w[corner], add(area, cross(sum, p[next])));
            let to = dot(w[next], add(area, cross(p[corner], sum)));
            terms[0] = half.mul_add(still, terms[0]);
            terms[1 << corner] = half.mul_add(from, terms[1 << corner]);
            terms[1 << next] = half.mul_add(to, terms[1 << next]);
            let both = 7 ^ 1 << other;
            terms[both] -= half * dot(sum, ww[other]);
        }
        if strip.kind == Kind::Sheets {
            terms[0] -= dot(r[0], cross(r[1], r[2]));
        }
    }
    let mut sums = StripSums::default();
    for k in 0..8 {
        let [a, b, c, d] = cone[k].to_array();
        sums.cone[k] = (a + b) + (c + d);
        let [a, b, c, d] = terms[k].to_array();
        sums.terms[k] = (a + b) + (c + d);
        if strip.kind != Kind::Caps {
            sums.terms[k] += sums.cone[k];
        }
    }
    sums
}
