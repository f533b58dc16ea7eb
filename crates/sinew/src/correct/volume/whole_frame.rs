//! The whole volume of a body in rows, restored round by round.

use super::whole::{Aimed, EXACT, Limits, ROUNDS, Stretch, first_root};
use super::whole_kernels::{Share, Space, place, place_apexes};
use super::whole_rows::{Shares, VolumeRows, VolumeScratch};
use crate::correct::body::{Body, Surface, bounded};
use crate::correct::bound::RowsFrame;
use crate::correct::report::{Outcome, Restored};
use crate::simd::{LANES, PointRow, Points};
use glam::{DAffine3, DVec3, Vec3};

/// A body at one frame, taken from its rows: what volumes are restored of.
pub(super) struct WholeFrame<'a> {
    pub of: &'a VolumeRows,
    pub shares: &'a Shares,
    pub surface: &'a Surface,
    pub body: &'a Body,
    pub frame: &'a RowsFrame<'a>,
    pub rows: &'a mut [PointRow],
    pub scratch: &'a mut VolumeScratch,
    pub space: Space,
    /// The length of 1.
    pub unit: f64,
    /// How far off a coordinate may be from rounding alone.
    pub noise: f64,
    /// How far anything has come, at most.
    pub come: f64,
    /// What the moves are multiplied by that are not yet in the points.
    pub factor: f64,
    /// The volume before its segments were restored.
    pub before: Option<f64>,
}

impl VolumeRows {
    /// Takes the points of a body whose bones have been taken. `None` where there is no measuring them.
    pub fn take<'a>(
        &'a self,
        shares: &'a Shares,
        surface: &'a Surface,
        body: &'a mut Body,
        frame: &'a RowsFrame<'a>,
        points: &'a mut Points,
        scratch: &'a mut VolumeScratch,
    ) -> Option<WholeFrame<'a>> {
        body.activate(surface);
        let centre = surface.centre(&body.from_bind);
        // A power of two: nothing is rounded by it.
        let unit = body.size.log2().round().exp2();
        let space = Space { centre: centre.as_vec3(), scale: unit.recip() as f32 };
        if !(space.centre.is_finite() && space.scale.is_normal()) {
            return None;
        }
        self.prepare(body, scratch);
        let rows = &mut points.rows[self.rows.clone()];
        let noise = f64::from(self.load(frame, rows, space, scratch)) * f64::from(f32::EPSILON) / 2.0 / unit;
        let (come, factor, before) = (0.0, 0.0, None);
        let of = self;
        let mut taken =
            WholeFrame { of, shares, surface, body, frame, rows, scratch, space, unit, noise, come, factor, before };
        taken.prepare_segments();
        Some(taken)
    }
}

impl WholeFrame<'_> {
    /// Restores the volume inside. `None` where points are not finite.
    pub fn restore(&mut self, target: f64, limits: &Limits) -> Option<Restored> {
        let Self { of, shares, body, frame, unit, .. } = *self;
        let mut share = of.bend(body, limits.local, frame, self.scratch);
        let cube = unit * unit * unit;
        let sheets = of.segments.as_ref().map_or(0.0, |segments| segments.sheet_cones(&self.scratch.points)) / 6.0;

        let (target, mut rounds, mut outcome) = (target / cube, 0, Outcome::Restored);
        let (mut before, mut wanted) = (0.0, 0.0);
        self.scratch.spent.clear();
        let mut after;
        loop {
            of.advance(self.factor, self.scratch);
            self.spend();
            self.factor = 0.0;
            let slopes = of.aim(share, shares, frame, self.scratch);
            after = match body.all_free {
                true => slopes.first / 18.0 - sheets,
                false => self.volume_of_some(slopes.first),
            };
            if rounds == 0 {
                before = after;
                wanted = before + (target - before) * limits.gain;
            }
            let missing = wanted - after;
            if !missing.is_finite() {
                return None;
            }
            let rounding = if rounds == 0 { self.noise * slopes.squares.sqrt() / 6.0 } else { 0.0 };
            if missing.abs() <= (EXACT * target.abs().max(before.abs())).max(rounding) {
                break;
            }
            if rounds == ROUNDS {
                outcome = Outcome::NotReached;
                break;
            }
            let mut longest = f64::from(slopes.largest).sqrt();
            // The moves as they are, a factor on them, and what they do with it to first order, in what is missing.
            let (mut linear, mut first) = (missing / (slopes.second / 6.0), 1.0);
            let mut aimed = if slopes.second > 0.0 && linear.is_finite() { Aimed::There } else { Aimed::Nowhere };
            if aimed == Aimed::There && !body.most.is_empty() {
                (aimed, first, longest) = self.stretch(share, missing);
                linear = 1.0;
            }
            if aimed == Aimed::Nowhere {
                outcome = if rounds == 0 { Outcome::NothingMayMove } else { Outcome::MoveBound };
                break;
            }
            rounds += 1;
            let [second, third] = of.bent(frame, self.scratch);
            let c = [first, second / 6.0 * linear * linear / missing, third / 18.0 * linear.powi(3) / missing];
            let root = first_root(c);
            // Beyond 1 the moves would go farther than they may.
            let is_short = aimed == Aimed::Short && !root.is_ok_and(|root| root <= 1.0);
            let (step, is_root) = match root {
                _ if limits.linear || is_short => (1.0, true),
                Ok(root) => (root, true),
                Err(turning) => (0.5 * turning.min(1.0), false),
            };
            let full = step * linear;
            let bound = limits.max_move * body.size / unit;
            self.factor = match self.come + longest * full.abs() <= bound {
                true => full,
                false => self.bounded_records((0..self.rows.len() * LANES).map(|at| (at, bound)), full),
            };
            let is_bounded = self.factor.abs() < full.abs();
            self.come += longest * self.factor.abs();
            if is_short && !is_bounded && share != Share::EVERYWHERE {
                share = Share::EVERYWHERE;
                continue;
            }
            let x = if full == 0.0 { 0.0 } else { step * (self.factor / full) };
            if is_bounded || is_root {
                after += ((c[2] * x + c[1]) * x + c[0]) * x * missing;
                outcome = match (is_bounded || is_short, limits.linear) {
                    (true, _) => Outcome::MoveBound,
                    (false, true) => Outcome::Linear,
                    (false, false) => Outcome::Restored,
                };
                break;
            }
        }
        let before = self.before.unwrap_or(before);
        Some(Restored { target: target * cube, before: before * cube, after: after * cube, rounds, outcome })
    }

    /// Takes the moves that have been made off how far each may go.
    fn spend(&mut self) {
        let VolumeScratch { points, moves, spent, capped, .. } = &mut *self.scratch;
        if self.factor != 0.0 && !self.body.most.is_empty() {
            spent.resize(points.len(), 0.0);
            capped
                .iter()
                .for_each(|&(at, ..)| spent[at as usize] += place(&moves[at as usize]).length() * self.factor.abs());
        }
    }

    /// Brings the moves to what they may be and together do what is missing, to first order: whether they can, what they do
    /// of it, and the longest.
    fn stretch(&mut self, share: Share, missing: f64) -> (Aimed, f64, f64) {
        let VolumeScratch { moves, bends, capped, spent, .. } = &mut *self.scratch;
        let (shares, unit) = (self.shares, self.unit);
        let weight = |gamma: f64, at: usize| gamma * f64::from(share.k.mul_add(bends[at], share.even));
        capped.clear();
        let mut add = |node: usize, gamma: f64| {
            let at = self.of.record_of[node];
            let (length, weight) = (place(&moves[at as usize]).length(), weight(gamma, at as usize));
            if length > 0.0 && weight > 0.0 {
                let spent = spent.get(at as usize).copied().unwrap_or(0.0);
                let most = (self.body.most[node] / unit - spent).max(0.0);
                capped.push((at, length, length * length / weight / 6.0, most));
            }
        };
        for node in 0..self.surface.nodes() {
            add(node, f64::from(shares.rows[self.of.record_of[node] as usize]));
        }
        for (border, &gamma) in self.of.borders.iter().zip(&shares.borders) {
            add(border.node as usize, gamma);
        }
        let (stretch, aimed) =
            Stretch::new(missing, capped.iter().map(|&(_, length, does, most)| (length, does, most)));
        let (mut first, mut longest) = (0.0, 0.0f64);
        for &(at, length, does, most) in &*capped {
            let own = stretch.of(length, most);
            first += own * does;
            longest = longest.max(own.abs() * length);
            moves[at as usize].iter_mut().for_each(|w| *w *= own as f32);
        }
        place_apexes(&self.of.apexes, &self.of.record_of, moves);
        (aimed, first / missing, longest)
    }

    /// The volume inside from `Σ p·A` over the nodes of segments that are not still: what triangles that straddle lack of
    /// it, and the closed form of the others.
    fn volume_of_some(&self, sum: f64) -> f64 {
        let Self { of, surface, body, .. } = *self;
        let points = &self.scratch.points;
        let cone = |corners: [u32; 3]| {
            let [a, b, c] = corners.map(|node| place(&points[of.record_of[node as usize] as usize]));
            a.dot(b.cross(c))
        };
        let moves = |node: &&u32| {
            let segment = surface.segment_of_node.get(**node as usize);
            segment.is_some_and(|&segment| !body.still[segment as usize])
        };
        let counted = |corners: [u32; 3]| corners.iter().filter(moves).count() as f64 / 3.0;
        let mut cones = sum / 3.0;
        for (segment, straddlers) in surface.segment_straddlers.iter().enumerate() {
            let carry = self.carry(surface.segments[segment].entry);
            for &t in straddlers.iter().filter(|&&t| (t as usize) < surface.first_cap) {
                let corners = surface.triangles[t as usize];
                let counted = counted(corners);
                if body.still[segment] && counted == 0.0 {
                    continue;
                }
                cones += (1.0 - counted) * cone(corners);
                if body.still[segment] {
                    // The closed form holds it as the bone carries it.
                    let [a, b, c] = corners.map(|node| carry.transform_point3(body.bind(surface)[node as usize]));
                    cones -= a.dot(b.cross(c));
                }
            }
        }
        for &corners in &surface.triangles[surface.first_cap..surface.first_sheet] {
            cones += (1.0 - counted(corners)) * cone(corners);
        }
        if of.segments.is_some() {
            for &corners in &surface.triangles[surface.first_sheet..] {
                let too_much = counted(corners);
                cones -= if too_much == 0.0 { 0.0 } else { too_much * cone(corners) };
            }
        }
        cones / 6.0 + self.still_volume()
    }

    /// What the triangles of segments that are still add to the volume.
    pub fn still_volume(&self) -> f64 {
        let Self { surface, body, .. } = *self;
        let still = (0..surface.segments.len()).filter(|&segment| body.still[segment]);
        still.map(|segment| self.carried_volume(segment)).sum()
    }

    /// What the triangles of a segment would add to the volume, carried by its bone.
    pub fn carried_volume(&self, segment: usize) -> f64 {
        let carry = self.carry(self.surface.segments[segment].entry);
        self.surface.carried_volume(segment, self.body.morphed(), &carry)
    }

    /// From bind space to records, by a palette entry.
    pub fn carry(&self, entry: u32) -> DAffine3 {
        let scale = f64::from(self.space.scale);
        let from_bind = self.body.from_bind[entry as usize];
        let translation = (from_bind.translation - self.space.centre.as_dvec3()) * scale;
        DAffine3 { matrix3: from_bind.matrix3 * scale, translation }
    }

    /// The largest part of `factor` on the moves that leaves some records within their bounds of where they started.
    pub fn bounded_records(&self, records: impl Iterator<Item = (usize, f64)>, factor: f64) -> f64 {
        let joined = |record: usize| self.of.joined.binary_search(&(record as u32)).ok();
        let way = |(record, bound): (usize, f64)| {
            let start = match joined(record) {
                Some(index) => {
                    let (at, count) = (self.of.members.start_of(index), self.of.members.of(index).len());
                    let sum: DVec3 = self.scratch.starts[at..at + count].iter().map(|p| p.as_dvec3()).sum();
                    (sum / count as f64).as_vec3()
                }
                None => {
                    let [x, y, z] = &self.rows[record / LANES];
                    let lane = record % LANES;
                    Vec3::new(x[lane], y[lane], z[lane])
                }
            };
            let moved = place(&self.scratch.points[record]) - self.space.record(start).as_dvec3();
            (moved, place(&self.scratch.moves[record]), bound)
        };
        bounded(records.map(way), factor)
    }

    /// Writes what moved back to the rows; how far the farthest point came, and that of each segment where they are asked
    /// for.
    pub fn store(self, by_segment: &mut Vec<f64>) -> f64 {
        by_segment.clear();
        let Self { of, surface, frame, rows, scratch, space, unit, .. } = self;
        if self.come > 0.0 {
            of.store(frame, rows, space, self.factor, unit as f32, scratch);
        } else {
            scratch.ways.clear();
            scratch.ways.resize(rows.len() * LANES, 0.0);
        }
        let way = |square: f32| f64::from(square).sqrt() * unit;
        if let Some(segments) = &of.segments {
            segments.largest(&scratch.ways, surface.segments.len(), by_segment);
            by_segment.iter_mut().for_each(|square| *square = square.sqrt() * unit);
        }
        way(scratch.ways.iter().copied().fold(0.0, f32::max))
    }
}
