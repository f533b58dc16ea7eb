//! Volume kept segment by segment (LV 5.2–5.3).
//!
//! A segment is not closed, so its change is estimated: its rest triangles, carried by its bone, and the deformed ones
//! are the ends of prisms, whose sum is the change. The quads between the ends are split in four at their centroids,
//! which is the volume of the bilinear patch and the same seen from both sides: prisms of neighbours have no gap.
//!
//! With a, b, c the carried and a′, b′, c′ the deformed corners,
//! `6Q = [a′b′c′] − [abc] + ½ Σ_edges ([abb′] + [ab′a′] + [aba′] + [bb′a′])`,
//! again trilinear. Each segment has its own factor λ_s on its moves (those of `local_volume`, with its own change and sum);
//! triangles with corners in two segments couple them. All sums are zeroed together by Newton from λ = 1. Where that
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
    trial: Vec<DVec3>,
    pub reports: Vec<Restored>,
}

/// The prism between a carried and a deformed triangle: volume, and its gradient by the deformed corners.
pub(super) fn prism(rest: [DVec3; 3], deformed: [DVec3; 3]) -> (f64, [DVec3; 3]) {
    // About a corner: the sum does not depend on it, its rounding does.
    let origin = rest[0];
    let (r, p) = (rest.map(|x| x - origin), deformed.map(|x| x - origin));
    let mut sum = p[0].dot(p[1].cross(p[2]));
    let mut gradient = [p[1].cross(p[2]), p[2].cross(p[0]), p[0].cross(p[1])];
    for (i, j) in [(0, 1), (1, 2), (2, 0)] {
        let (a, b, pa, pb) = (r[i], r[j], p[i], p[j]);
        let ab = a.cross(b);
        // [abb′] + [aba′] + [ab′a′] + [bb′a′]
        sum += 0.5 * (ab.dot(pa + pb) + (a + b).dot(pb.cross(pa)));
        gradient[i] += 0.5 * (ab + (a + b).cross(pb));
        gradient[j] += 0.5 * (ab - (a + b).cross(pa));
    }
    // [abc] vanishes: a is the origin.
    (sum / 6.0, gradient.map(|g| g / 6.0))
}

/// The carried rest corners of a triangle of a segment.
fn carried(surface: &Surface, body: &Body, segment: usize, corners: [u32; 3]) -> [DVec3; 3] {
    let from_bind = &body.from_bind[surface.segments[segment].entry as usize];
    let bind = body.bind(surface);
    corners.map(|node| from_bind.transform_point3(bind[node as usize]))
}

/// The change of one segment's volume.
pub(super) fn change(surface: &Surface, body: &Body, segment: usize, points: &[DVec3]) -> f64 {
    let triangles = surface.segment_triangles.of(segment).iter();
    triangles
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
        for (node, w) in body.moves[..surface.nodes()].iter_mut().enumerate() {
            *w *= scratch.factors[surface.segment_of_node[node] as usize];
        }
        for (segment, report) in scratch.reports.iter_mut().enumerate() {
            if scratch.factors[segment] == 0.0 {
                continue;
            }
            let own = &surface.segments[segment];
            let nodes = surface.segment_nodes.of(segment);
            let scale = body.from_bind[own.entry as usize].matrix3.determinant().abs().cbrt();
            let bound = limits.max_move * own.reach * scale;
            let allowed = body.bounded(nodes.iter().map(|&node| node as usize), 1.0, bound);
            if allowed < 1.0 {
                report.outcome = Outcome::MoveBound;
                nodes.iter().for_each(|&node| body.moves[node as usize] *= allowed);
            }
        }
        surface.place_apexes(&mut body.moves);
        body.step(surface, 1.0);
        for (segment, report) in scratch.reports.iter_mut().enumerate().filter(|(_, r)| r.outcome != Outcome::Still) {
            report.after = change(surface, body, segment, &body.points);
        }
        if limits.linear {
            for report in scratch.reports.iter_mut().filter(|report| report.outcome == Outcome::Restored) {
                report.outcome = Outcome::Linear;
            }
            return;
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
    body.moves.clear();
    body.moves.resize(surface.nodes(), DVec3::ZERO);
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
    let SegmentScratch { matrix, factors, sums, trial, reports } = scratch;
    for _ in 0..NEWTON_STEPS {
        trial.clear();
        trial.extend(
            (0..surface.nodes())
                .map(|node| body.points[node] + body.moves[node] * factors[surface.segment_of_node[node] as usize]),
        );
        lu.clear(matrix);
        sums.clear();
        sums.resize(reports.len(), 0.0);
        for segment in 0..reports.len() {
            if factors[segment] == 0.0 {
                lu.add(matrix, segment, segment, 1.0);
                continue;
            }
            for &t in surface.segment_triangles.of(segment) {
                let corners = surface.triangles[t as usize];
                let deformed = corners.map(|node| trial[node as usize]);
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
