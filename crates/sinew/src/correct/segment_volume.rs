//! Volume kept segment by segment (LV 5.2–5.3).
//!
//! A segment is not closed, so its change is estimated: its rest triangles, carried by its bone, and the deformed ones
//! are the ends of prisms, whose sum is the change. The quads between the ends are split in four at their centroids,
//! which is the volume of the bilinear patch and the same seen from both sides: prisms of neighbours have no gap.
//!
//! With a, b, c the carried and a′, b′, c′ the deformed corners,
//! `6Q = [a′b′c′] − [abc] + ½ Σ_edges ([abb′] + [ab′a′] + [aba′] + [bb′a′])`,
//! again trilinear. Each segment has its own factor λ_s on its moves (those of `local_volume`, with its own change and sum).
//! What triangles with all corners in it add is a cubic in λ_s, made once; those with corners in two segments couple them,
//! and only they are looked at again and again. All sums are zeroed together by Newton from λ = 1. Where that
//! does not converge, half a linear step is taken and the normals are looked at again; after a few such rounds the
//! segment that went astray is left as it is, so that it does not spoil the others.
//!
//! The enclosed volume then is right up to what the segments' borders sweep; one more global step makes it exact.
//!
//! Oracle: prism sums to rounding; the sum over all segments of a body that bends little is its change of volume;
//! gradients against finite differences.

use super::body::Body;
use super::local_volume::{EXACT, Limits, Outcome, ROUNDS, Restored};
use super::sparse_lu::{Entries, SparseLu};
use super::surface::Surface;
use glam::DVec3;

/// Newton steps from one set of normals.
const NEWTON_STEPS: usize = 12;
/// Of the volume: a segment that changed less is left alone.
const UNCHANGED: f64 = 1e-12;
/// Factors that change less have settled.
const SETTLED: f64 = 1e-12;
/// Rounds after which a segment that does not converge is given up.
const PATIENCE: u32 = 3;
/// A factor beyond it is not along these normals.
const LARGEST_FACTOR: f64 = 3.0;

/// Memory for one body.
#[derive(Clone, Debug, Default)]
pub(super) struct SegmentScratch {
    matrix: Entries,
    factors: Vec<f64>,
    sums: Vec<f64>,
    /// Per segment: its change without straddlers as a cubic in its factor.
    cubics: Vec<[f64; 4]>,
    pub reports: Vec<Restored>,
}

impl SegmentScratch {
    /// The cubics of the moves as they are.
    fn expand(&mut self, surface: &Surface, body: &Body) {
        self.cubics.clear();
        self.cubics.resize(self.reports.len(), [0.0; 4]);
        for (segment, cubic) in self.cubics.iter_mut().enumerate().filter(|&(segment, _)| !body.still[segment]) {
            for &t in surface.segment_insides.of(segment) {
                let corners = surface.triangles[t as usize];
                let [deformed, moves] = [&body.points, &body.moves].map(|of| corners.map(|node| of[node as usize]));
                let own = prism_cubic(carried(surface, body, segment, corners), deformed, moves);
                (0..4).for_each(|k| cubic[k] += own[k]);
            }
        }
    }
}

/// The prism between a carried and a deformed triangle: volume, and its gradient by the deformed corners.
pub(super) fn prism(rest: [DVec3; 3], deformed: [DVec3; 3]) -> (f64, [DVec3; 3]) {
    // About a corner: the sum does not depend on it, its rounding does.
    let origin = rest[0];
    let (r, p) = (rest.map(|x| x - origin), deformed.map(|x| x - origin));
    let ([_, r1, r2], [p0, p1, p2]) = (r, p);
    let (c, s, pp) = (r1.cross(r2), r1 + r2, p1.cross(p2));
    // [abb′] + [aba′] + [ab′a′] + [bb′a′] of each edge; whatever holds the first corner at rest vanishes.
    let edges = r1.dot(p1.cross(p0)) + c.dot(p1 + p2) - s.dot(pp) + r2.dot(p0.cross(p2));
    let gradient = [
        pp + 0.5 * (r1.cross(p1) + p2.cross(r2)),
        p2.cross(p0) + 0.5 * (p0.cross(r1) + c + s.cross(p2)),
        p0.cross(p1) + 0.5 * (c + p1.cross(s) + r2.cross(p0)),
    ];
    ((p0.dot(pp) + 0.5 * edges) / 6.0, gradient.map(|g| g / 6.0))
}

/// The volume of [`prism`] as a cubic in the factor on moves of the deformed corners.
pub(super) fn prism_cubic(rest: [DVec3; 3], deformed: [DVec3; 3], [m0, m1, m2]: [DVec3; 3]) -> [f64; 4] {
    let origin = rest[0];
    let ([_, r1, r2], [p0, p1, p2]) = (rest.map(|x| x - origin), deformed.map(|x| x - origin));
    let (c, s) = (r1.cross(r2), r1 + r2);
    let (pp, pm, mm) = (p1.cross(p2), m1.cross(p2) + p1.cross(m2), m1.cross(m2));
    let still = r1.dot(p1.cross(p0)) + c.dot(p1 + p2) - s.dot(pp) + r2.dot(p0.cross(p2));
    let mixed = r1.dot(m1.cross(p0) + p1.cross(m0)) + c.dot(m1 + m2) - s.dot(pm) + r2.dot(m0.cross(p2) + p0.cross(m2));
    let moved = r1.dot(m1.cross(m0)) - s.dot(mm) + r2.dot(m0.cross(m2));
    [p0.dot(pp) + 0.5 * still, m0.dot(pp) + p0.dot(pm) + 0.5 * mixed, p0.dot(mm) + m0.dot(pm) + 0.5 * moved, m0.dot(mm)]
        .map(|c| c / 6.0)
}

/// A cubic and its slope.
fn at([c0, c1, c2, c3]: [f64; 4], x: f64) -> (f64, f64) {
    (((c3 * x + c2) * x + c1) * x + c0, (3.0 * c3 * x + 2.0 * c2) * x + c1)
}

/// The carried rest corners of a triangle of a segment.
fn carried(surface: &Surface, body: &Body, segment: usize, corners: [u32; 3]) -> [DVec3; 3] {
    let from_bind = &body.from_bind[surface.segments[segment].entry as usize];
    let bind = body.bind(surface);
    corners.map(|node| from_bind.transform_point3(bind[node as usize]))
}

/// The change of one segment's volume.
pub(super) fn change(surface: &Surface, body: &Body, segment: usize, points: &[DVec3]) -> f64 {
    sum_of(surface, body, segment, surface.segment_triangles.of(segment), points)
}

/// What some triangles of a segment add to its change.
fn sum_of(surface: &Surface, body: &Body, segment: usize, triangles: &[u32], points: &[DVec3]) -> f64 {
    triangles
        .iter()
        .map(|&t| {
            let corners = surface.triangles[t as usize];
            prism(carried(surface, body, segment, corners), corners.map(|node| points[node as usize])).0
        })
        .sum()
}

/// Zeroes the change of every segment that is not still; `scratch.reports` has one entry per segment, whose volumes are
/// changes from rest.
pub(super) fn restore_segments(
    surface: &Surface,
    body: &mut Body,
    gamma: &[f64],
    limits: &Limits,
    lu: &SparseLu,
    scratch: &mut SegmentScratch,
) {
    let count = surface.segments.len();
    let scale = reference_volume(surface, body);
    scratch.reports.clear();
    for segment in 0..count {
        let still = body.still[segment];
        let before = if still { 0.0 } else { change(surface, body, segment, &body.points) };
        let outcome = if still { Outcome::Still } else { Outcome::Restored };
        scratch.reports.push(Restored { target: 0.0, before, after: before, rounds: 0, outcome });
    }
    if body.is_still() {
        return;
    }
    for round in 0..ROUNDS {
        body.differentiate(surface);
        if !aim(surface, body, gamma, limits, scale, round == 0, scratch) {
            break;
        }
        scratch.expand(surface, body);
        while !limits.linear
            && let Err(astray) = newton(surface, body, limits, scale, lu, scratch)
        {
            if round < PATIENCE {
                scratch.factors.iter_mut().for_each(|factor| *factor *= 0.5);
                break;
            }
            scratch.factors[astray] = 0.0;
            scratch.reports[astray].outcome = Outcome::NotReached;
        }
        for &node in &body.free {
            body.moves[node as usize] *= scratch.factors[surface.segment_of_node[node as usize] as usize];
        }
        for (segment, report) in scratch.reports.iter_mut().enumerate() {
            if scratch.factors[segment] == 0.0 {
                continue;
            }
            let own = &surface.segments[segment];
            let nodes = surface.segment_nodes.of(segment);
            let scale = body.from_bind[own.entry as usize].matrix3.determinant().abs().cbrt();
            let bound = limits.max_move * own.reach * scale;
            let allowed = body.bounded(nodes, 1.0, bound);
            if allowed < 1.0 {
                report.outcome = Outcome::MoveBound;
                nodes.iter().for_each(|&node| body.moves[node as usize] *= allowed);
                scratch.factors[segment] *= allowed;
            }
        }
        surface.place_apexes(&mut body.moves);
        body.step(surface, 1.0);
        for (segment, report) in scratch.reports.iter_mut().enumerate().filter(|(_, r)| r.outcome != Outcome::Still) {
            let straddlers = surface.segment_straddlers.of(segment);
            report.after = at(scratch.cubics[segment], scratch.factors[segment]).0
                + sum_of(surface, body, segment, straddlers, &body.points);
        }
        if limits.linear {
            for report in scratch.reports.iter_mut().filter(|report| report.outcome == Outcome::Restored) {
                report.outcome = Outcome::Linear;
            }
            return;
        }
        let left = |report: &Restored| report.before * (1.0 - limits.gain) - report.after;
        let mut open = scratch.reports.iter().filter(|report| report.outcome == Outcome::Restored);
        if open.all(|report| left(report).abs() <= UNCHANGED * scale) {
            break;
        }
    }
    for report in scratch.reports.iter_mut().filter(|report| report.outcome == Outcome::Restored) {
        let wanted = report.before * (1.0 - limits.gain);
        if report.rounds == ROUNDS && (report.after - wanted).abs() > 1e4 * EXACT * scale {
            report.outcome = Outcome::NotReached;
        }
    }
}

/// What changes are compared with: the size of the shape, which sheets have too.
fn reference_volume(surface: &Surface, body: &Body) -> f64 {
    let reach: f64 = surface.segments.iter().map(|segment| segment.reach.powi(3) * segment.share).sum();
    let det = surface.segments.first().map_or(1.0, |s| body.from_bind[s.entry as usize].matrix3.determinant().abs());
    reach * det
}

/// The moves of all segments at λ = 1 and the factors to start from; false if none has anything left to do.
fn aim(
    surface: &Surface,
    body: &mut Body,
    gamma: &[f64],
    limits: &Limits,
    scale: f64,
    first: bool,
    scratch: &mut SegmentScratch,
) -> bool {
    body.clear_moves(surface);
    scratch.factors.clear();
    scratch.factors.resize(surface.segments.len(), 0.0);
    let mut any = false;
    for (segment, report) in scratch.reports.iter_mut().enumerate() {
        if report.outcome != Outcome::Restored {
            continue;
        }
        let missing = report.before * (1.0 - limits.gain) - report.after;
        let (mut total, mut squares) = (0.0, 0.0);
        for &node in surface.segment_nodes.of(segment) {
            let node = node as usize;
            if body.pinned[node] {
                continue;
            }
            let lever = body.normals[node].dot(body.gradients[node]);
            let share = if body.held[node] { 0.0 } else { gamma[node] * lever };
            squares += body.gradients[node].length_squared();
            total += share * lever;
            body.moves[node] = body.normals[node] * share;
        }
        let rounding = if first { body.noise * squares.sqrt() } else { 0.0 };
        let factor = missing / total;
        let done = missing.abs() <= (UNCHANGED * scale).max(rounding);
        let aimed = !done && total > 0.0 && factor.is_finite();
        if !done && !aimed {
            report.outcome = Outcome::NothingMayMove;
        }
        for &node in surface.segment_nodes.of(segment) {
            body.moves[node as usize] *= if aimed { factor } else { 0.0 };
        }
        if aimed {
            scratch.factors[segment] = 1.0;
            report.rounds += 1;
            any = true;
        }
    }
    any
}

/// Solves for all factors together; with factors of 1, the segment that went farthest astray if that leads nowhere.
fn newton(
    surface: &Surface,
    body: &Body,
    limits: &Limits,
    scale: f64,
    lu: &SparseLu,
    scratch: &mut SegmentScratch,
) -> Result<(), usize> {
    let SegmentScratch { matrix, factors, sums, cubics, reports } = scratch;
    for _ in 0..NEWTON_STEPS {
        lu.clear(matrix);
        sums.clear();
        sums.resize(reports.len(), 0.0);
        for segment in 0..reports.len() {
            if factors[segment] == 0.0 {
                lu.add(matrix, segment, segment, 1.0);
                continue;
            }
            let (volume, slope) = at(cubics[segment], factors[segment]);
            sums[segment] -= volume;
            lu.add(matrix, segment, segment, slope);
            for &t in surface.segment_straddlers.of(segment) {
                let corners = surface.triangles[t as usize];
                let deformed = corners.map(|node| {
                    let factor = factors[surface.segment_of_node[node as usize] as usize];
                    body.points[node as usize] + body.moves[node as usize] * factor
                });
                let (volume, gradient) = prism(carried(surface, body, segment, corners), deformed);
                sums[segment] -= volume;
                for (node, gradient) in corners.into_iter().zip(gradient) {
                    let slope = gradient.dot(body.moves[node as usize]);
                    if slope != 0.0 {
                        lu.add(matrix, segment, surface.segment_of_node[node as usize] as usize, slope);
                    }
                }
            }
            sums[segment] += reports[segment].before * (1.0 - limits.gain);
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
