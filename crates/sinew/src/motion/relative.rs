//! The motion of a bone against one that is not its parent in the file.
//!
//! With J and B what takes the frames of the bone and of the one it follows to that of their lowest common ancestor, its
//! placement is `X = B⁻¹J`. Both are products of local transforms, whose first and second derivatives are those of their
//! channels; so are X's, by the product rule and `(B⁻¹)˙ = −B⁻¹ḂB⁻¹`. Then v = ẋ, a = ẍ of its translation, and with the
//! polar factor Q of its 3×3 `M = QS`: `(tr S − S) Qᵀω = vec(QᵀṀ − ṀᵀQ)`, and the derivative of that for α. Nothing is
//! differenced. Between the breaks of all channels these rates are smooth: they are kept as cubics through rates and
//! derivatives, halved until the middle agrees, and smoothed and filtered as those of any bone.
//! Oracle: differences of world positions; the same bone as a child of the one it follows.

use super::derivatives::{Cubic, Keys, Piece, RateCurve, Rates, SHORTEST_INTERVAL_SECS, Value};
use super::sampling::{BoneCurves, PoseCurves, into_closing};
use super::timeline::Timeline;
use crate::hierarchy::Follow;
use crate::polar::polar_rotation;
use crate::skeleton::{BoneId, Skeleton};
use glam::{DMat3, DMat4, DQuat, DVec3};

/// Largest error of a cubic in its middle, as a share of the largest rate.
const CLOSE_ENOUGH: f64 = 1e-8;
/// Most times an interval between breaks is halved.
const MOST_HALVINGS: u32 = 7;
/// Rates below this share of what cancels in them are rounding.
const ROUNDING: f64 = 1e-12;

/// Two chains of nodes up to their lowest common ancestor, from below it down.
pub(super) struct Relative<'a> {
    timeline: &'a Timeline,
    own: Vec<Link<'a>>,
    followed: Vec<Link<'a>>,
}

/// One node with its channels; without curves it stays where it is.
struct Link<'a> {
    local: DMat4,
    moves: Option<Channels<'a>>,
}

struct Channels<'a> {
    curves: &'a BoneCurves,
    translation: RateCurve,
    rotation: RateCurve,
    scale: RateCurve,
}

/// The side of a break on which rates are read.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Before,
    After,
}

/// A transform with its first and second derivative by time.
#[derive(Clone, Copy)]
struct Jet([DMat4; 3]);

impl Jet {
    const IDENTITY: Self = Self([DMat4::IDENTITY, DMat4::ZERO, DMat4::ZERO]);

    fn then(self, next: Self) -> Self {
        let ([a, da, dda], [b, db, ddb]) = (self.0, next.0);
        Self([a * b, da * b + a * db, dda * b + da * db * 2.0 + a * ddb])
    }

    fn inverse(self) -> Self {
        let [b, db, ddb] = self.0;
        let y = b.inverse();
        let dy = -(y * db * y);
        Self([y, dy, -(y * (ddb * y + db * dy * 2.0))])
    }

    fn linear(self) -> Rates {
        Rates { rate: self.0[1].w_axis.truncate(), derivative: self.0[2].w_axis.truncate() }
    }

    fn angular(self) -> Rates {
        let [m, dm, ddm] = self.0.map(DMat3::from_mat4);
        let q = polar_rotation(m);
        let back = q.transpose() * if m.determinant() < 0.0 { -1.0 } else { 1.0 };
        let (s, k) = (back * m, back * dm);
        let weigh = |s: DMat3| DMat3::from_diagonal(DVec3::splat(s.x_axis.x + s.y_axis.y + s.z_axis.z)) - s;
        let solve = weigh(s).inverse();
        let turn = solve * twice_axial(k);
        let ds = k - skew(turn) * s;
        let dk = back * (ddm - skew(q * turn) * dm);
        Rates { rate: q * turn, derivative: q * (solve * (twice_axial(dk) - weigh(ds) * turn)) }.or_zero()
    }

    fn placement(self) -> (DVec3, DQuat) {
        (self.0[0].w_axis.truncate(), DQuat::from_mat3(&polar_rotation(DMat3::from_mat4(self.0[0]))))
    }
}

/// `[v]×`.
fn skew(v: DVec3) -> DMat3 {
    DMat3::from_cols(DVec3::new(0.0, v.z, -v.y), DVec3::new(-v.z, 0.0, v.x), DVec3::new(v.y, -v.x, 0.0))
}

/// v of `m − mᵀ = [v]×`.
fn twice_axial(m: DMat3) -> DVec3 {
    DVec3::new(m.y_axis.z - m.z_axis.y, m.z_axis.x - m.x_axis.z, m.x_axis.y - m.y_axis.x)
}

impl Channels<'_> {
    fn jet(&self, t: f64, side: Side, timeline: &Timeline) -> Jet {
        // Just before a break a value that jumps there has not jumped yet.
        let at = if side == Side::Before { t.next_down() } else { t };
        let trs = self.curves.sample(at, into_closing(at, timeline.last_key, timeline.end));
        let read = |curve: &RateCurve| if side == Side::Before { curve.exact_before(t) } else { curve.exact(t) };
        let [moves, turns, grows] = [&self.translation, &self.rotation, &self.scale].map(read);
        let turned = DMat3::from_quat(trs.rotation);
        let [s, ds, dds] = [trs.scale, grows.rate, grows.derivative].map(DMat3::from_diagonal);
        let spin = skew(turns.rate);
        let dturned = spin * turned;
        let ddturned = skew(turns.derivative) * turned + spin * dturned;
        let affine = |m: DMat3, p: DVec3, w: f64| {
            let column = |c: DVec3| c.extend(0.0);
            DMat4::from_cols(column(m.x_axis), column(m.y_axis), column(m.z_axis), p.extend(w))
        };
        Jet([
            affine(turned * s, trs.translation, 1.0),
            affine(dturned * s + turned * ds, moves.rate, 0.0),
            affine(ddturned * s + dturned * ds * 2.0 + turned * dds, moves.derivative, 0.0),
        ])
    }
}

impl<'a> Relative<'a> {
    pub fn new(skeleton: &Skeleton, curves: &'a PoseCurves, timeline: &'a Timeline, follow: &Follow) -> Self {
        let chain = |bone: BoneId| {
            let mut chain: Vec<BoneId> = skeleton.ancestors(bone).collect();
            chain.reverse();
            chain
        };
        let (own, followed) = (chain(follow.bone), chain(follow.parent));
        let common = own.iter().zip(&followed).take_while(|(a, b)| a == b).count();
        let links = |bones: &[BoneId]| bones.iter().map(|&bone| link(curves, timeline, bone)).collect();
        Self { timeline, own: links(&own[common..]), followed: links(&followed[common..]) }
    }

    /// The two chains at `t`.
    fn chains(&self, t: f64, side: Side) -> [Jet; 2] {
        [&self.own, &self.followed].map(|links| {
            links.iter().fold(Jet::IDENTITY, |above, link| {
                let local = match &link.moves {
                    Some(channels) => channels.jet(t, side, self.timeline),
                    None => Jet([link.local, DMat4::ZERO, DMat4::ZERO]),
                };
                above.then(local)
            })
        })
    }

    fn at(&self, t: f64, side: Side) -> [Rates; 2] {
        let [own, followed] = self.chains(t, side);
        let x = followed.inverse().then(own);
        [x.linear().or_zero(), x.angular()]
    }

    fn placement(&self, t: f64, side: Side) -> (DVec3, DQuat) {
        let [own, followed] = self.chains(t, side);
        followed.inverse().then(own).placement()
    }

    /// Largest linear and angular rate, and of what they are the difference of.
    fn peaks(&self, breaks: &[f64]) -> [(f64, f64); 2] {
        let mut peaks = [(0.0, 0.0); 2];
        let middles = breaks.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
        for t in breaks.iter().copied().chain(middles) {
            let [own, followed] = self.chains(t, Side::After);
            let x = followed.inverse().then(own);
            let parts = [
                (x.linear().rate.length(), (followed.inverse().0[0] * own.0[1]).w_axis.truncate().length()),
                (x.angular().rate.length(), own.angular().rate.length() + followed.angular().rate.length()),
            ];
            for (peak, part) in peaks.iter_mut().zip(parts) {
                *peak = (f64::max(peak.0, part.0), f64::max(peak.1, part.1));
            }
        }
        peaks
    }

    /// Linear and angular rates in the frame of what it follows.
    pub fn rates(&self) -> (RateCurve, RateCurve) {
        let channels = || self.own.iter().chain(&self.followed).filter_map(|link| link.moves.as_ref());
        let curves = || channels().flat_map(|c| [&c.translation, &c.rotation, &c.scale]);
        let mut breaks: Vec<f64> = curves().flat_map(|curve| curve.breaks.iter().copied()).collect();
        breaks.sort_by(f64::total_cmp);
        breaks.dedup();
        let peaks = self.peaks(&breaks);
        let tolerances = peaks.map(|(peak, parts)| f64::max(CLOSE_ENOUGH * peak, ROUNDING * parts));
        let mut rates = [RateCurve::default(), RateCurve::default()];
        let Some(&start) = breaks.first() else { return rates.into() };
        for curve in &mut rates {
            curve.breaks.push(start);
            curve.jumps.push(DVec3::ZERO);
        }
        let jumping = |curve: &'_ RateCurve| {
            let jumps = curve.breaks.iter().zip(&curve.jumps).filter(|(_, jump)| **jump != DVec3::ZERO);
            jumps.map(|(&t, _)| t).collect::<Vec<f64>>()
        };
        let mut jumps: Vec<f64> = curves().flat_map(jumping).collect();
        jumps.sort_by(f64::total_cmp);
        let mut jumped_from = start;
        for pair in breaks.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if to - from >= SHORTEST_INTERVAL_SECS {
                let ends = (self.at(from, Side::After), self.at(to, Side::Before));
                self.fill((from, ends.0), (to, ends.1), tolerances, 0, &mut rates);
                jumped_from = to;
            } else {
                push(&mut rates, to, [DVec3::ZERO; 2].map(Piece::Constant));
            }
            if jumps.binary_search_by(|t| t.total_cmp(&to)).is_ok() {
                let (before, after) = (self.placement(jumped_from, Side::Before), self.placement(to, Side::After));
                let jumps = [after.0 - before.0, before.1.way_to(after.1)];
                for (curve, jump) in
                    rates.iter_mut().zip(jumps.map(|jump| if jump.is_finite() { jump } else { DVec3::ZERO }))
                {
                    if let Some(last) = curve.jumps.last_mut() {
                        *last = jump;
                    }
                }
            }
        }
        // With its closing key or without: what a follower lacks at the end of a loop is taken out evenly either way.
        if self.timeline.loops {
            let (first, last) = (self.placement(start, Side::After), self.placement(self.timeline.end, Side::After));
            let gaps = [last.0 - first.0, first.1.way_to(last.1)];
            for (curve, gap) in rates.iter_mut().zip(gaps) {
                curve.drift = if gap.is_finite() { gap / self.timeline.length() } else { DVec3::ZERO };
            }
        }
        for (curve, (peak, parts)) in rates.iter_mut().zip(peaks) {
            if curve.jumps.iter().all(|&jump| jump == DVec3::ZERO) {
                curve.jumps = Vec::new();
            }
            if curve.jumps.is_empty() && peak <= ROUNDING * parts {
                *curve = RateCurve::default();
            }
        }
        rates.into()
    }

    /// Cubics from one time to another.
    fn fill(
        &self,
        from: (f64, [Rates; 2]),
        to: (f64, [Rates; 2]),
        tolerances: [f64; 2],
        halvings: u32,
        out: &mut [RateCurve; 2],
    ) {
        let cubic = |k: usize| Cubic::through(from.0, from.1[k], to.0 - from.0, to.1[k]);
        let cubics = [cubic(0), cubic(1)];
        let middle = 0.5 * (from.0 + to.0);
        let truth = self.at(middle, Side::After);
        let misses = |k: usize| (cubics[k].value(middle).rate - truth[k].rate).length() > tolerances[k];
        if halvings < MOST_HALVINGS && (misses(0) || misses(1)) {
            self.fill(from, (middle, truth), tolerances, halvings + 1, out);
            self.fill((middle, truth), to, tolerances, halvings + 1, out);
        } else {
            push(out, to.0, cubics.map(|cubic| Piece::Rate(Box::new(cubic))));
        }
    }
}

fn push(rates: &mut [RateCurve; 2], until: f64, pieces: [Piece; 2]) {
    for (curve, piece) in rates.iter_mut().zip(pieces) {
        curve.breaks.push(until);
        curve.pieces.push(piece);
        curve.jumps.push(DVec3::ZERO);
    }
}

fn link<'a>(curves: &'a PoseCurves, timeline: &Timeline, bone: BoneId) -> Link<'a> {
    let found = curves.bones.binary_search_by_key(&bone, |curves| curves.bone).ok().map(|at| &curves.bones[at]);
    let moves = found.map(|curves| {
        let lacks_key = timeline.end > timeline.last_key;
        let first_scale = curves.scale.as_ref().map(|curve| curve.key_value(0).as_dvec3());
        Channels {
            translation: rate_curve(curves.translation.as_ref(), timeline, lacks_key.then_some(curves.closing.0)),
            rotation: rate_curve(curves.rotation.as_ref(), timeline, lacks_key.then_some(curves.closing.1)),
            scale: rate_curve(curves.scale.as_ref(), timeline, first_scale.filter(|_| lacks_key)),
            curves,
        }
    });
    Link { local: DMat4::from(curves.rest[bone.index()].to_affine()), moves }
}

fn rate_curve<C, V: Value>(curve: Option<&C>, timeline: &Timeline, closing: Option<V>) -> RateCurve
where
    Keys<V>: for<'c> From<&'c C>,
{
    curve.map_or_else(RateCurve::default, |curve| RateCurve::build(&Keys::from(curve), timeline, closing, DVec3::ZERO))
}
