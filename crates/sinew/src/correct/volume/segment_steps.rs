//! The segments of a body in rows, as [`super::segments`] moves them.

use super::segment_kernels::{advance, aim, bent, strip_sums};
use super::segment_rows::{Chunk, Kind, RunSums, SegmentRows, SegmentRowsScratch, StripSums, bind_batches};
use super::segments::{Expansion, Segmented};
use super::whole_frame::WholeFrame;
use super::whole_kernels::{BLOCK, place_apexes};
use super::whole_rows::VolumeScratch;
use crate::correct::body::Body;
use crate::rings::in_blocks;
use crate::simd::{LANES, dispatch};

impl WholeFrame<'_> {
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
        if let Some(morphed) = self.body.morphed() {
            bind_batches(&segments.batches, morphed, &mut scratch.morphed);
        }
        scratch.runs.resize(segments.block_stops.len() * segments.most_runs, RunSums::default());
        scratch.chunks.resize(segments.chunks.len(), StripSums::default());
    }

    /// The moves, with `Σ p·A(p)/3`, `Σ w·A(p)` and squares by segment.
    fn aim_segments(&mut self, segments: &SegmentRows, expansion: &mut Expansion) {
        let (count, of, frame) = (self.surface.segments.len(), self.of, self.frame);
        let VolumeScratch { points, moves, apex_areas, segments: scratch, .. } = &mut *self.scratch;
        let (points, active, gamma) = (&points[..], &scratch.active[..], &self.shares.segments[..]);
        in_blocks(frame.pool, (moves, BLOCK * LANES), (&mut scratch.runs, segments.most_runs), |block, moves, sums| {
            dispatch!(frame.level, simd => aim(simd, (&of.rings, gamma), segments, active, points, block, moves, sums));
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
        of.aim_borders(self.shares, (points, moves), apex_areas, weight, |node, w, area, gradient| {
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
            dispatch!(frame.level, simd => bent(simd, &of.rings, segments, active, points, moves, block, sums));
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
        let bind = if self.body.morphed().is_some() { &morphed[..] } else { &segments.bind[..] };
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

impl Segmented for WholeFrame<'_> {
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
        if self.body.most.is_empty()
            && scratch.come[segment] + f64::from(scratch.longest[segment]).sqrt() * factor.abs() <= bound
        {
            return factor;
        }
        let nodes = self.surface.segment_nodes.of(segment).iter();
        let records = nodes.map(|&node| {
            let most = self.body.most_of(node as usize) / self.unit;
            (self.of.record_of[node as usize] as usize, bound.min(most))
        });
        self.bounded_records(records, factor)
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
