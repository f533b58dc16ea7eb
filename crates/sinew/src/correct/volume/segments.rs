//! Volume kept segment by segment (LV 5.2–5.3).
//!
//! A segment is not closed, so its change is estimated: its rest triangles, carried by its bone, and the deformed ones
//! are the ends of prisms, whose sum is the change. The quads between the ends are split in four at their centroids,
//! which is the volume of the bilinear patch and the same seen from both sides: prisms of neighbours have no gap.
//!
//! With a, b, c the carried and a′, b′, c′ the deformed corners,
//! `6Q = [a′b′c′] − [abc] + ½ Σ_edges ([abb′] + [ab′a′] + [aba′] + [bb′a′])`,
//! again trilinear. Each segment has its own factor λ_s on its moves (those of `local_volume`, with its own change and sum).
//! What triangles with all corners in it add is a cubic in λ_s. Those with corners in two or three segments couple them:
//! a *strip*, all such triangles whose corners follow the same segments, adds one polynomial that is linear in the factor
//! of each corner, of eight [`Terms`]. Both are made once for one set of normals; then all changes are zeroed together by
//! Newton from λ = 1, which looks at no triangle again. Where that does not converge, half a linear step is taken and the
//! normals are looked at again; after a few such rounds the segment that went astray is left as it is, so that it does
//! not spoil the others.
//!
//! The enclosed volume then is right up to what the segments' borders sweep; one more global step makes it exact.
//!
//! Oracle: prism sums to rounding; the sum over all segments of a body that bends little is its change of volume;
//! terms against prisms of moved corners.

use super::sparse_lu::{Entries, SparseLu};
use super::whole::{EXACT, Limits, ROUNDS};
use crate::correct::body::surface::Segment;
use crate::correct::body::{Body, Surface};
use crate::correct::report::{Outcome, Restored};
use glam::DVec3;
use std::collections::BTreeMap;

/// Newton steps from one set of normals.
const NEWTON_STEPS: usize = 12;
/// Of the volume: a segment that changed less is left alone.
const UNCHANGED: f64 = 1e-12;
/// Factors that change less have settled.
const SETTLED: f64 = 1e-12;
/// Rounds after which a segment that does not converge is given up.
const PATIENCE: u32 = 3;
/// In what points are rounded by: a sum of what several nodes err by.
const ROUNDED: f64 = 8.0;
/// A factor beyond it is not along these normals.
const LARGEST_FACTOR: f64 = 3.0;

/// Coefficients of a polynomial that is linear in the factor of each corner: bit k of the index says that the factor of
/// corner k multiplies.
pub(super) type Terms = [f64; 8];

/// Triangles of one segment that straddle, alike.
#[derive(Clone, Debug)]
pub(super) struct Strip {
    /// Segment of each corner; the first one owns the triangles.
    pub segments: [u32; 3],
    /// Corners, those of the owner first.
    pub triangles: Vec<[u32; 3]>,
}

impl Strip {
    /// All of a surface, by segments.
    pub fn all(surface: &Surface) -> Vec<Self> {
        Self::grouped(surface, surface.segment_straddlers.iter().flatten().copied())
    }

    /// Some triangles, by the segments of their corners.
    pub fn grouped(surface: &Surface, triangles: impl Iterator<Item = u32>) -> Vec<Self> {
        let mut strips = BTreeMap::<[u32; 3], Vec<[u32; 3]>>::new();
        for t in triangles {
            let [a, b, c] = surface.triangles[t as usize];
            let of = |node: u32| surface.segment_of_node[node as usize];
            // Of three that differ the first is the owner.
            let corners = match (of(a) == of(b), of(b) == of(c), of(c) == of(a)) {
                (false, true, _) => [b, c, a],
                (false, false, true) => [c, a, b],
                _ => [a, b, c],
            };
            strips.entry(corners.map(of)).or_default().push(corners);
        }
        strips.into_iter().map(|(segments, triangles)| Self { segments, triangles }).collect()
    }
}

/// What the moves along one set of normals do to every segment, at factors of 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Expansion {
    /// Per segment: its change without strips as a cubic in its factor.
    pub cubics: Vec<[f64; 4]>,
    /// Per strip: what it adds to the change of its owner.
    pub strips: Vec<Terms>,
    /// Per segment: the change of the enclosed volume to first order.
    pub slopes: Vec<f64>,
    /// Per segment: squared gradients of the enclosed volume, over its nodes.
    pub squares: Vec<f64>,
}

impl Expansion {
    /// Forgets everything.
    pub fn clear(&mut self, segments: usize, strips: usize) {
        self.cubics.clear();
        self.cubics.resize(segments, [0.0; 4]);
        self.strips.clear();
        self.strips.resize(strips, [0.0; 8]);
        for list in [&mut self.slopes, &mut self.squares] {
            list.clear();
            list.resize(segments, 0.0);
        }
    }
}

/// A body whose segments can be moved, each by its own factor.
pub(super) trait Segmented {
    fn body(&self) -> &Body;
    /// The length in which it measures.
    fn unit(&self) -> f64;
    /// How far off a coordinate may be from rounding alone, in it: as the points came, and after a step.
    fn noise(&self, first: bool) -> f64;
    /// Segments of the corners of a strip, the owner first.
    fn segments_of(&self, strip: usize) -> [u32; 3];
    /// Looks along the normals as they are: the moves of all segments that are not still, and what they do.
    fn expand(&mut self, expansion: &mut Expansion);
    /// The largest part of a factor on the moves of a segment that leaves its nodes within `bound` of where they started.
    fn bounded(&self, segment: usize, factor: f64, bound: f64) -> f64;
    /// Adds the moves, times the factor of each segment.
    fn step(&mut self, factors: &[f64]);
}

/// Memory for one body.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentScratch {
    expansion: Expansion,
    matrix: Entries,
    /// Per segment: what its moves are multiplied by at a factor of 1; 0 where nothing is to be done.
    reaches: Vec<f64>,
    factors: Vec<f64>,
    /// Per segment: share of its change that is believed.
    trust: Vec<f64>,
    sums: Vec<f64>,
    /// Per segment, changes from rest.
    pub reports: Vec<Restored>,
    /// Per segment, of those that rows are restored by: the farthest that any of its points was moved.
    pub largest_moves: Vec<f64>,
}

/// The prism between a carried and a deformed triangle as a polynomial in factors on moves of the deformed corners.
pub(super) fn prism_terms(rest: [DVec3; 3], deformed: [DVec3; 3], [m0, m1, m2]: [DVec3; 3]) -> Terms {
    // About a corner: the sum does not depend on it, its rounding does.
    let origin = rest[0];
    let ([_, r1, r2], [p0, p1, p2]) = (rest.map(|x| x - origin), deformed.map(|x| x - origin));
    let (c, s) = (r1.cross(r2), r1 + r2);
    let (pp, mm) = (p1.cross(p2), m1.cross(m2));
    // [abb′] + [aba′] + [ab′a′] + [bb′a′] of each edge; whatever holds the first corner at rest vanishes.
    let edges = r1.dot(p1.cross(p0)) + c.dot(p1 + p2) - s.dot(pp) + r2.dot(p0.cross(p2));
    let m01 = m0.cross(m1);
    let m20 = m2.cross(m0);
    [
        p0.dot(pp) + 0.5 * edges,
        m0.dot(pp + 0.5 * (r1.cross(p1) + p2.cross(r2))),
        m1.dot(p2.cross(p0) + 0.5 * (p0.cross(r1) + c + s.cross(p2))),
        m01.dot(p2 - 0.5 * r1),
        m2.dot(p0.cross(p1) + 0.5 * (c + p1.cross(s) + r2.cross(p0))),
        m20.dot(p1 - 0.5 * r2),
        mm.dot(p0 - 0.5 * s),
        m0.dot(mm),
    ]
    .map(|term| term / 6.0)
}

/// The prism between a carried and a deformed triangle.
pub(super) fn prism(rest: [DVec3; 3], deformed: [DVec3; 3]) -> f64 {
    prism_terms(rest, deformed, [DVec3::ZERO; 3])[0]
}

/// A cubic and its slope.
fn cubic_at([c0, c1, c2, c3]: [f64; 4], x: f64) -> (f64, f64) {
    (((c3 * x + c2) * x + c1) * x + c0, (3.0 * c3 * x + 2.0 * c2) * x + c1)
}

/// Terms at factors of the corners, and their slopes by them.
pub(super) fn terms_at(t: &Terms, [x, y, z]: [f64; 3]) -> (f64, [f64; 3]) {
    let bilinear = |a: f64, b: f64, c: f64, d: f64, u: f64, v: f64| (d * v + b) * u + c * v + a;
    let by_z = bilinear(t[4], t[5], t[6], t[7], x, y);
    let value = bilinear(t[0], t[1], t[2], t[3], x, y) + z * by_z;
    (value, [bilinear(t[1], t[3], t[5], t[7], y, z), bilinear(t[2], t[3], t[6], t[7], x, z), by_z])
}

/// The carried rest corners of a triangle of a segment.
fn carried(surface: &Surface, body: &Body, segment: usize, corners: [u32; 3]) -> [DVec3; 3] {
    let from_bind = &body.from_bind[surface.segments[segment].entry as usize];
    let bind = body.bind(surface);
    corners.map(|node| from_bind.transform_point3(bind[node as usize]))
}

/// The change of one segment's volume.
pub(super) fn change(surface: &Surface, body: &Body, segment: usize, points: &[DVec3]) -> f64 {
    let prism = |&t: &u32| {
        let corners = surface.triangles[t as usize];
        prism(carried(surface, body, segment, corners), corners.map(|node| points[node as usize]))
    };
    surface.segment_triangles.of(segment).iter().map(prism).sum()
}

/// A body by its nodes, in f64.
pub(super) struct Nodes<'a> {
    pub surface: &'a Surface,
    pub strips: &'a [Strip],
    pub body: &'a mut Body,
    pub gamma: &'a [f64],
}

impl Nodes<'_> {
    fn terms(&self, segment: usize, corners: [u32; 3]) -> Terms {
        let [deformed, moves] = [&self.body.points, &self.body.moves].map(|of| corners.map(|node| of[node as usize]));
        prism_terms(carried(self.surface, self.body, segment, corners), deformed, moves)
    }
}

impl Segmented for Nodes<'_> {
    fn body(&self) -> &Body {
        self.body
    }

    fn unit(&self) -> f64 {
        1.0
    }

    fn noise(&self, first: bool) -> f64 {
        if first { self.body.noise } else { 0.0 }
    }

    fn segments_of(&self, strip: usize) -> [u32; 3] {
        self.strips[strip].segments
    }

    fn expand(&mut self, expansion: &mut Expansion) {
        let surface = self.surface;
        expansion.clear(surface.segments.len(), self.strips.len());
        self.body.differentiate(surface);
        self.body.clear_moves(surface);
        let body = &mut *self.body;
        for segment in 0..surface.segments.len() {
            for &node in surface.segment_nodes.of(segment) {
                let node = node as usize;
                if body.still[segment] || body.pinned[node] {
                    continue;
                }
                let lever = body.normals[node].dot(body.gradients[node]);
                let share = self.gamma[node] * body.ease_of(node) * lever;
                expansion.squares[segment] += body.gradients[node].length_squared();
                expansion.slopes[segment] += share * lever;
                body.moves[node] = body.normals[node] * share;
            }
        }
        for (segment, cubic) in expansion.cubics.iter_mut().enumerate().filter(|&(s, _)| !self.body.still[s]) {
            for &t in surface.segment_insides.of(segment) {
                let [t0, t1, t2, t3, t4, t5, t6, t7] = self.terms(segment, surface.triangles[t as usize]);
                let own = [t0, t1 + t2 + t4, t3 + t5 + t6, t7];
                (0..4).for_each(|k| cubic[k] += own[k]);
            }
        }
        for (strip, sums) in self.strips.iter().zip(&mut expansion.strips) {
            let owner = strip.segments[0] as usize;
            if !self.body.still[owner] {
                for &corners in &strip.triangles {
                    let own = self.terms(owner, corners);
                    (0..8).for_each(|k| sums[k] += own[k]);
                }
            }
        }
    }

    fn bounded(&self, segment: usize, factor: f64, bound: f64) -> f64 {
        let bound = |node: u32| bound.min(self.body.most_of(node as usize));
        self.body.bounded(self.surface.segment_nodes.of(segment), factor, bound)
    }

    fn step(&mut self, factors: &[f64]) {
        let Body { points, moves, free, .. } = &mut *self.body;
        for &node in &*free {
            points[node as usize] +=
                moves[node as usize] * factors[self.surface.segment_of_node[node as usize] as usize];
        }
        self.surface.place_apexes(points);
    }
}

/// Zeroes the change of every segment that is not still; `scratch.reports` has one entry per segment, whose volumes are
/// changes from rest. False, and nothing done, if points are not finite.
pub(super) fn restore_segments(
    on: &mut impl Segmented,
    surface: &Surface,
    limits: &Limits,
    lu: &SparseLu,
    scratch: &mut SegmentScratch,
) -> bool {
    let unit = on.unit();
    let cube = unit * unit * unit;
    let scale = reference_volume(surface, on.body()) / cube;
    scratch.reports.clear();
    scratch.reports.extend(on.body().still.iter().map(|&still| {
        let outcome = if still { Outcome::Still } else { Outcome::Restored };
        Restored { target: 0.0, before: 0.0, after: 0.0, rounds: 0, outcome }
    }));
    scratch.trust.clear();
    if on.body().is_still() {
        return true;
    }
    for round in 0..ROUNDS {
        on.expand(&mut scratch.expansion);
        scratch.factors.clear();
        scratch.factors.resize(surface.segments.len(), 0.0);
        scratch.measure(on);
        if round == 0 {
            scratch.reports.iter_mut().for_each(|report| report.before = report.after);
            let trust = |(report, segment): (&mut Restored, &Segment)| {
                let det = on.body().from_bind[segment.entry as usize].matrix3.determinant().abs();
                let trust = segment.trust(report.before, det / cube);
                if trust == 0.0 && report.outcome == Outcome::Restored {
                    report.outcome = Outcome::NoEstimate;
                }
                trust
            };
            scratch.trust.extend(scratch.reports.iter_mut().zip(&surface.segments).map(trust));
            if !scratch.reports.iter().all(|report| report.before.is_finite()) {
                return false;
            }
        }
        if !scratch.aim(on, limits, scale, round == 0) {
            break;
        }
        while !limits.linear
            && let Err(astray) = scratch.newton(on, limits, scale, lu)
        {
            if round < PATIENCE {
                scratch.factors.iter_mut().for_each(|factor| *factor *= 0.5);
                break;
            }
            scratch.factors[astray] = 0.0;
            scratch.reports[astray].outcome = Outcome::NotReached;
        }
        for (segment, report) in scratch.reports.iter_mut().enumerate() {
            let factor = scratch.factors[segment] * scratch.reaches[segment];
            if factor == 0.0 {
                continue;
            }
            let own = &surface.segments[segment];
            let scale = on.body().from_bind[own.entry as usize].matrix3.determinant().abs().cbrt();
            let allowed = on.bounded(segment, factor, limits.max_move * own.reach * scale / unit);
            if allowed.abs() < factor.abs() {
                report.outcome = Outcome::MoveBound;
                scratch.factors[segment] *= allowed / factor;
            }
        }
        scratch.sums.clear();
        scratch.sums.extend(scratch.factors.iter().zip(&scratch.reaches).map(|(factor, reach)| factor * reach));
        on.step(&scratch.sums);
        scratch.measure(on);
        if limits.linear {
            for report in scratch.reports.iter_mut().filter(|report| report.outcome == Outcome::Restored) {
                report.outcome = Outcome::Linear;
            }
            break;
        }
        let mut open = scratch.reports.iter().zip(&scratch.trust).filter(|(r, _)| r.outcome == Outcome::Restored);
        if open.all(|(r, trust)| (r.before * (1.0 - limits.gain * trust) - r.after).abs() <= UNCHANGED * scale) {
            break;
        }
    }
    let believed = scratch.expansion.squares.iter().zip(&scratch.trust);
    for (report, (squares, trust)) in scratch.reports.iter_mut().zip(believed) {
        let wanted = report.before * (1.0 - limits.gain * trust);
        let rounding = ROUNDED * on.noise(false) * squares.sqrt();
        let missed = (report.after - wanted).abs() > (1e4 * EXACT * scale).max(rounding);
        if report.rounds == ROUNDS && missed && report.outcome == Outcome::Restored {
            report.outcome = Outcome::NotReached;
        }
        report.before *= cube;
        report.after *= cube;
    }
    true
}

/// What changes are compared with: the size of the shape, which sheets have too.
fn reference_volume(surface: &Surface, body: &Body) -> f64 {
    let reach: f64 = surface.segments.iter().map(|segment| segment.reach.powi(3) * segment.share).sum();
    let det = surface.segments.first().map_or(1.0, |s| body.from_bind[s.entry as usize].matrix3.determinant().abs());
    reach * det
}

impl SegmentScratch {
    /// The changes at the factors as they are.
    fn measure(&mut self, on: &impl Segmented) {
        let Self { expansion, factors, reports, .. } = self;
        let moving = |report: &Restored| report.outcome != Outcome::Still;
        for (segment, report) in reports.iter_mut().enumerate().filter(|(_, report)| moving(report)) {
            report.after = cubic_at(expansion.cubics[segment], factors[segment]).0;
        }
        for (strip, terms) in expansion.strips.iter().enumerate() {
            let segments = on.segments_of(strip).map(|segment| segment as usize);
            let report = &mut reports[segments[0]];
            if moving(report) {
                report.after += terms_at(terms, segments.map(|segment| factors[segment])).0;
            }
        }
    }

    /// Scales the moves of all segments to a first guess, the factors to 1; false if none has anything left to do.
    fn aim(&mut self, on: &impl Segmented, limits: &Limits, scale: f64, first: bool) -> bool {
        let Self { expansion, reaches, factors, trust, reports, .. } = self;
        reaches.clear();
        for (segment, report) in reports.iter_mut().enumerate() {
            let missing = report.before * (1.0 - limits.gain * trust[segment]) - report.after;
            let (slope, cubic) = (expansion.slopes[segment], &expansion.cubics[segment]);
            let rounding = on.noise(first) * expansion.squares[segment].sqrt();
            let reach = missing / slope;
            let done = missing.abs() <= (UNCHANGED * scale).max(rounding);
            let is_finite = reach.is_finite() && cubic.iter().all(|c| c.is_finite());
            let aimed = report.outcome == Outcome::Restored && !done && slope > 0.0 && is_finite;
            if report.outcome == Outcome::Restored && !done && !aimed {
                report.outcome = Outcome::NothingMayMove;
            }
            reaches.push(if aimed { reach } else { 0.0 });
        }
        // Moves beyond any number: nothing can be said of those that meet there.
        for (strip, _) in expansion.strips.iter().enumerate().filter(|(_, t)| !t.iter().all(|t| t.is_finite())) {
            for segment in on.segments_of(strip).map(|segment| segment as usize) {
                if reaches[segment] != 0.0 {
                    reaches[segment] = 0.0;
                    reports[segment].outcome = Outcome::NothingMayMove;
                }
            }
        }
        for (segment, (cubic, &reach)) in expansion.cubics.iter_mut().zip(&*reaches).enumerate() {
            factors[segment] = if reach == 0.0 { 0.0 } else { 1.0 };
            reports[segment].rounds += u32::from(reach != 0.0);
            let power = |k: usize| reach.powi(k as i32);
            (1..4).for_each(|k| cubic[k] = if reach == 0.0 { 0.0 } else { cubic[k] * power(k) });
        }
        for (strip, terms) in expansion.strips.iter_mut().enumerate() {
            let reach = on.segments_of(strip).map(|segment| reaches[segment as usize]);
            for (index, term) in terms.iter_mut().enumerate().skip(1) {
                let corners = (0..3).filter(|corner| index & 1 << corner != 0);
                let product: f64 = corners.map(|corner| reach[corner]).product();
                *term = if product == 0.0 { 0.0 } else { *term * product };
            }
        }
        reaches.iter().any(|&reach| reach != 0.0)
    }

    /// Solves for all factors together; with factors of 1, the segment that went farthest astray if that leads nowhere.
    fn newton(&mut self, on: &impl Segmented, limits: &Limits, scale: f64, lu: &SparseLu) -> Result<(), usize> {
        let Self { expansion, matrix, factors, trust, sums, reports, .. } = self;
        for _ in 0..NEWTON_STEPS {
            lu.clear(matrix);
            sums.clear();
            for (segment, &cubic) in expansion.cubics.iter().enumerate() {
                let (volume, slope) = cubic_at(cubic, factors[segment]);
                let wanted = reports[segment].before * (1.0 - limits.gain * trust[segment]);
                let moves = factors[segment] != 0.0;
                sums.push(if moves { wanted - volume } else { 0.0 });
                lu.add(matrix, segment, segment, if moves { slope } else { 1.0 });
            }
            for (strip, terms) in expansion.strips.iter().enumerate() {
                let segments = on.segments_of(strip).map(|segment| segment as usize);
                if factors[segments[0]] == 0.0 {
                    continue;
                }
                let (volume, slopes) = terms_at(terms, segments.map(|segment| factors[segment]));
                sums[segments[0]] -= volume;
                for (segment, slope) in segments.into_iter().zip(slopes) {
                    lu.add(matrix, segments[0], segment, slope);
                }
            }
            if sums.iter().all(|sum| sum.abs() <= EXACT * scale) {
                return Ok(());
            }
            if !lu.solve(matrix, sums) {
                break;
            }
            for (factor, step) in factors.iter_mut().zip(sums.iter()).filter(|(factor, _)| **factor != 0.0) {
                *factor += step;
            }
            if sums.iter().all(|step| step.abs() <= SETTLED) {
                return Ok(());
            }
            if factors.iter().any(|factor| factor.abs() > LARGEST_FACTOR) {
                break;
            }
        }
        let strayed = |segment: usize| if factors[segment] == 0.0 { -1.0 } else { (factors[segment] - 1.0).abs() };
        let astray = (0..factors.len()).max_by(|&a, &b| strayed(a).total_cmp(&strayed(b))).unwrap_or(0);
        for factor in factors.iter_mut().filter(|factor| **factor != 0.0) {
            *factor = 1.0;
        }
        Err(astray)
    }
}
