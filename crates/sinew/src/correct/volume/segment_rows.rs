//! The segments of [`super::segments`] in the rows of a frame: single precision, with sums in double.
//!
//! Whoever sums prisms over a segment meets each edge between two of its triangles twice, in opposite directions. What
//! remains of `6Q_s` is `Σ [a′b′c′] − Σ [abc]` over its triangles and `½ Σ ((a×b)·(a′+b′) + (a+b)·(b′×a′))` over edges
//! whose ends lie in two segments, for any triangle with two corners in a segment is its own. The second sum has a closed
//! form. The first one is, with the areas A of [`crate::rings`] and moves w,
//!
//! `⅓ Σ p·A(p) + λ Σ w·A(p) + λ² Σ p·A(w) + ⅓ λ³ Σ w·A(w)` over the nodes of the segment,
//!
//! less what triangles at these nodes add that are not all of its nodes: two passes over the rings, as for the whole
//! ([`super::whole_rows`]), and strips, which are few and done four triangles at a time in double precision. Caps are
//! strips that nobody owns; they also give the edges that faces leave open. Sheets have edges without another side, and
//! all their triangles are prisms in strips.
//!
//! Neighbouring points mostly lie in the same segments: a *run* is pairs of them that do, and its sums are made at a go.
//!
//! Oracle: the f64 solver, to the rounding of positions (tests).

use super::segments::{Strip, Terms};
use super::whole_kernels::{BLOCK, place};
use crate::correct::body::Surface;
use crate::rings::Record;
use crate::simd::LANES;
use glam::{DAffine3, DVec3};

/// Triangles of a strip that are done at once.
pub(super) const BATCH: usize = 4;
/// Batches that a thread takes at a time.
const CHUNK: usize = 32;
/// Node of a lane that holds no triangle.
const NO_NODE: u32 = u32::MAX;

/// The segments of one character in rows.
#[derive(Clone, Debug)]
pub(super) struct SegmentRows {
    pub runs: Vec<Run>,
    /// Where the runs of each block of rows stop, and the most that one has.
    pub block_stops: Vec<u32>,
    pub most_runs: usize,
    pub strips: Vec<RowStrip>,
    pub batches: Vec<Batch>,
    pub bind: Vec<BindBatch>,
    pub chunks: Vec<Chunk>,
    /// Records of the triangles of sheets.
    pub sheets: Vec<[u32; 3]>,
}

/// Pairs of points whose segments are the same, the number of segments standing for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub pairs: [u32; 2],
    pub segments: [u32; 2],
    /// Segments to whose sums they count: not those of sheets.
    pub counted: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Straddlers,
    Caps,
    Sheets,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct RowStrip {
    pub segments: [u32; 3],
    pub kind: Kind,
}

impl RowStrip {
    /// What each edge counts for, from a corner to the next.
    pub fn edges(&self) -> [f64; 3] {
        let is_own = self.segments[0] == self.segments[1];
        match self.kind {
            Kind::Straddlers if is_own => [0.0, 0.5, 0.5],
            Kind::Straddlers | Kind::Sheets => [0.5; 3],
            Kind::Caps if is_own => [-0.5, 0.0, 0.0],
            Kind::Caps => [0.0; 3],
        }
    }

    /// Corners whose areas hold its triangles.
    pub fn corners(&self) -> &'static [usize] {
        match self.kind {
            Kind::Straddlers => &[0, 1, 2],
            Kind::Caps => &[0, 1],
            Kind::Sheets => &[],
        }
    }
}

/// Four triangles, by corner; lanes without one have records that stay 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Batch {
    pub records: [[u32; BATCH]; 3],
    pub nodes: [[u32; BATCH]; 3],
}

/// Their rest corners in bind space: corner, axis, lane.
pub(super) type BindBatch = [[[f64; BATCH]; 3]; 3];

/// Some batches of one strip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub strip: u32,
    pub batches: [u32; 2],
}

/// Memory of the solver; contents mean nothing between frames.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentRowsScratch {
    /// Per segment, and one for none: 1 if it may move; bounds on its longest move, squared, and on how far
    /// anything came.
    pub active: Vec<f32>,
    pub longest: Vec<f32>,
    pub come: Vec<f64>,
    /// Per segment: from bind space to records.
    pub carries: Vec<DAffine3>,
    /// Rest corners with morph targets.
    pub morphed: Vec<BindBatch>,
    pub runs: Vec<RunSums>,
    pub chunks: Vec<StripSums>,
    /// Per strip: `Σ [a′b′c′]`.
    pub cones: Vec<Terms>,
    pub factors: Vec<f32>,
}

/// What a pass adds up over a run, of the first points of its pairs and of the second ones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunSums {
    pub first: [f64; 2],
    pub second: [f64; 2],
    pub squares: [f64; 2],
    pub longest: [f32; 2],
}

/// `Σ [a′b′c′]`, and what is added to the change of the owner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StripSums {
    pub cone: Terms,
    pub terms: Terms,
}

impl SegmentRows {
    /// From records of nodes and apexes, and segments of all records; `zero` is one that stays 0.
    pub fn new(surface: &Surface, record_of: &[u32], segment_of: &[u32], zero: u32) -> Self {
        let count = segment_of.len();
        let mut counted = segment_of.to_vec();
        for node in 0..surface.nodes() {
            let record = record_of[node] as usize;
            if !surface.has_inside[node] {
                counted[record] = surface.segments.len() as u32;
            }
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

    pub fn runs_of(&self, block: usize) -> &[Run] {
        let start = if block == 0 { 0 } else { self.block_stops[block - 1] as usize };
        &self.runs[start..self.block_stops[block] as usize]
    }
}

/// Rest corners of batches.
pub(super) fn bind_batches(batches: &[Batch], places: &[DVec3], out: &mut Vec<BindBatch>) {
    let place = |node: u32| places.get(node as usize).copied().unwrap_or(DVec3::ZERO);
    out.clear();
    out.extend(
        batches
            .iter()
            .map(|batch| batch.nodes.map(|nodes| std::array::from_fn(|axis| nodes.map(|node| place(node)[axis])))),
    );
}
