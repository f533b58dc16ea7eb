//! Tails, capes and the like give no more than their skin can, wherever along their length.
//!
//! An effect moves every point by itself. What goes along a part's own skin, as when a tail is carried forward with the body or a
//! cape upward in a fall, draws it out or crushes it, all in a few places: at the root, and where one bone ends and the
//! next begins. Cut across into sections by the way from its root, a part is a chain of links. With ΔU what the mean of one section is moved by
//! against that of the one before, an edge of direction t and length l whose ends are a share r of that link apart is
//! strained by `t·ΔU r/l` to first order. With `S = mean(ttᵀ(r/l)²)` over the edges of the link and ε what these may be
//! strained by, ΔU goes smoothly into `ΔUᵀKΔU = 1`, `K = 3S/ε² + tr(S)/γ²`, the second term being what the link may
//! be sheared by, γ, as a turn of a rod does (`bending`), only that a little is left alone for longer. Links are put together again from the root. So what one place cannot give the rest of the part is not
//! moved by either, and what is within limits stays as it is.
//!
//! What points do beside the mean of their section is made less section by section, as a whole, where it is more than skin
//! gives over the section's width or the way from the root.
//!
//! Oracle: a tube pushed and pulled along its length and across it, evenly and in one place (tests below).

use super::bending::{limited, outer};
use glam::{DMat3, DVec3};

/// Sections, at most.
const MOST: usize = 10;
/// Of what skin may be strained by: what links give, and what points give beside their sections.
const OF_LINK: f64 = 1.0;
const BESIDE: f64 = 0.35;

/// A part cut into sections.
#[derive(Debug)]
pub(super) struct Strand {
    /// Mean way of the points of each section, ascending.
    ways: Vec<f64>,
    edges: Vec<Edge>,
    /// Edges of each link.
    counts: [f64; MOST + 1],
}

/// An edge over a link.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: u32,
    to: u32,
    link: usize,
    /// How far its ends are apart along the part, of the link.
    share: f64,
}

/// A point of a part, and what effects do to it.
pub(super) struct StrandPoint {
    pub way: f64,
    /// How much it counts.
    pub weight: f64,
    /// Where it is held, and what it was moved by from there.
    pub held: DVec3,
    pub moved: DVec3,
}

/// What sections are moved by at a frame, what they may be, and what is left of what points do beside that.
pub(super) struct Followed<'a> {
    ways: &'a [f64],
    moved: [DVec3; MOST + 1],
    kept: [DVec3; MOST + 1],
    beside: [f64; MOST + 1],
}

/// What a place of a part is moved by as its section is, what that may be, and what is left of anything beside.
pub(super) struct Along {
    pub moved: DVec3,
    pub kept: DVec3,
    pub beside: f64,
}

/// The sections that a way lies between, with how much it is of each.
fn sections(way: f64, count: usize) -> [(usize, f64); 2] {
    let at = way.clamp(0.0, 1.0) * count as f64;
    let before = (at as usize).min(count - 1);
    let share = at - before as f64;
    [(before, 1.0 - share), (before + 1, share)]
}

impl Strand {
    /// From the ways and weights of its points, and the slots and ways of the ends of its edges, those at its root among them. `None`
    /// where it is too short to be cut.
    pub fn of(points: &[(f64, f64)], edges: &[[(u32, f64); 2]]) -> Option<Self> {
        let cut = |count: usize| {
            let mut sums = [[0.0; 2]; MOST + 1];
            for &(way, weight) in points {
                for (section, share) in sections(way, count) {
                    sums[section][0] += weight * share;
                    sums[section][1] += weight * share * way;
                }
            }
            let ways: Vec<f64> = sums[1..=count].iter().map(|[weight, sum]| sum / weight).collect();
            let is_sound = ways[0] > 0.0 && ways.windows(2).all(|pair| pair[0] < pair[1]);
            is_sound.then_some(ways)
        };
        let ways = (2..=MOST).rev().find_map(cut)?;
        let ends = |link: usize| [if link > 1 { ways[link - 2] } else { 0.0 }, ways[link - 1]];
        let (mut found, mut counts) = (Vec::new(), [0.0; MOST + 1]);
        for &[one, other] in edges {
            let [(from, low), (to, high)] = if one.1 < other.1 { [one, other] } else { [other, one] };
            for link in (1..=ways.len()).filter(|&link| high > low && low < ends(link)[1] && ends(link)[0] < high) {
                let [begin, end] = ends(link);
                found.push(Edge { from, to, link, share: (high - low) / (end - begin) });
                counts[link] += 1.0;
            }
        }
        Some(Self { ways, edges: found, counts })
    }

    /// Finds what its sections may be moved by; `at` is where a slot is held, and skin may be strained by `strain` and sheared by `sheared`.
    pub fn follow(
        &self,
        points: impl Iterator<Item = StrandPoint> + Clone,
        at: impl Fn(u32) -> DVec3,
        strain: f64,
        sheared: f64,
    ) -> Followed<'_> {
        let count = self.ways.len();
        let (mut sums, mut middles) = ([0.0; MOST + 1], [DVec3::ZERO; MOST + 1]);
        let (mut moved, mut kept) = ([DVec3::ZERO; MOST + 1], [DVec3::ZERO; MOST + 1]);
        for StrandPoint { way, weight, held, moved: by } in points.clone() {
            for (section, share) in sections(way, count) {
                sums[section] += weight * share;
                middles[section] += held * (weight * share);
                moved[section] += by * (weight * share);
            }
        }
        for section in 1..=count {
            middles[section] /= sums[section];
            moved[section] /= sums[section];
        }
        moved[0] = DVec3::ZERO;
        let mut strains = [DMat3::ZERO; MOST + 1];
        for edge in &self.edges {
            let apart = at(edge.to) - at(edge.from);
            let strained = apart * (edge.share / apart.length_squared());
            if strained.is_finite() {
                strains[edge.link] += outer(strained, strained);
            }
        }
        // What stretches skin by that much and what presses it as far.
        let most = OF_LINK * strain / (1.0 + strain);
        let (mut lengths, mut beside) = ([0.0; MOST + 1], [1.0; MOST + 1]);
        for link in 1..=count {
            let strains = strains[link] * self.counts[link].recip();
            let all = strains.x_axis.x + strains.y_axis.y + strains.z_axis.z;
            lengths[link] = all.sqrt().recip();
            let limits =
                strains * (3.0 / (most * most)) + DMat3::from_diagonal(DVec3::splat(all / (sheared * sheared)));
            kept[link] = kept[link - 1] + held(moved[link] - moved[link - 1], limits);
        }
        // Mean squares of how far points are from the middle of their section, and of what they are moved by beside it.
        let mut squares = [[0.0; 2]; MOST + 1];
        let found = Followed { ways: &self.ways, moved, kept, beside };
        for StrandPoint { way, weight, held, moved: by } in points {
            let off = (by - found.at(way).moved).length_squared();
            for (section, share) in sections(way, count) {
                squares[section][0] += weight * share * held.distance_squared(middles[section]);
                squares[section][1] += weight * share * off;
            }
        }
        let mut from_root = 0.0;
        for section in 1..=count {
            let [width, off] = squares[section].map(|square| (square / sums[section]).sqrt());
            from_root += lengths[section];
            // Within half a link sections tell nothing.
            let most = BESIDE * strain * (width + 0.5 * lengths[section]).min(from_root);
            let left = limited(DVec3::new(off, 0.0, 0.0), most).x / off;
            beside[section] = if left.is_finite() { left } else { 1.0 };
        }
        beside[0] = beside[1];
        Followed { beside, ..found }
    }

    /// Names the points that it reads.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        self.edges.iter().flat_map(|edge| [edge.from, edge.to]).for_each(touch);
    }
}

impl Followed<'_> {
    /// At that way along the part.
    pub fn at(&self, way: f64) -> Along {
        let ways = self.ways;
        // Beyond the last as between the two before it.
        let after = 1 + ways[..ways.len() - 1].partition_point(|&end| end < way);
        let (from, to) = (if after > 1 { ways[after - 2] } else { 0.0 }, ways[after - 1]);
        let share = (way - from) / (to - from);
        let [moved, kept] = [&self.moved, &self.kept].map(|of| of[after - 1] + (of[after] - of[after - 1]) * share);
        let beside = self.beside[after - 1] + (self.beside[after] - self.beside[after - 1]) * share.min(1.0);
        Along { moved, kept, beside }
    }
}

/// A displacement that strains no more than 1 by `strains`: x / (1 + x⁴)^¼ in a single direction, so that what is well within stays.
fn held(moved: DVec3, strains: DMat3) -> DVec3 {
    let strained = moved.dot(strains * moved);
    if !(strained.is_finite() && strained > 0.0) {
        return moved;
    }
    let t = ((1.0 + strained * strained).sqrt().sqrt() - 1.0) * moved.length_squared() / strained;
    let held = (DMat3::IDENTITY + strains * t).inverse() * moved;
    if held.is_finite() { held } else { DVec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRAIN: f64 = 0.5;
    const SHEARED: f64 = 0.4;
    const AROUND: u32 = 8;

    /// A tube along x, from its root at 0 to 1.
    struct Tube {
        rings: u32,
        radius: f64,
    }

    impl Tube {
        fn at(&self, slot: u32) -> DVec3 {
            let angle = f64::from(slot % AROUND) * std::f64::consts::TAU / f64::from(AROUND);
            DVec3::new(self.way(slot), self.radius * angle.cos(), self.radius * angle.sin())
        }

        fn way(&self, slot: u32) -> f64 {
            f64::from(slot / AROUND) / f64::from(self.rings)
        }

        fn slots(&self) -> std::ops::Range<u32> {
            AROUND..(self.rings + 1) * AROUND
        }

        fn strand(&self) -> Strand {
            let points: Vec<_> = self.slots().map(|slot| (self.way(slot), 1.0)).collect();
            let edges: Vec<_> =
                self.slots().map(|slot| [(slot - AROUND, self.way(slot - AROUND)), (slot, self.way(slot))]).collect();
            Strand::of(&points, &edges).expect("a strand")
        }

        /// What becomes of what points are moved by, as the parts of a rig have it.
        fn followed(&self, moved: impl Fn(DVec3) -> DVec3) -> impl Fn(f64, DVec3) -> DVec3 {
            let strand = self.strand();
            let points = self.slots().map(|slot| StrandPoint {
                way: self.way(slot),
                weight: 1.0,
                held: self.at(slot),
                moved: moved(self.at(slot)),
            });
            let Followed { moved: mean, kept, beside, .. } =
                strand.follow(points, |slot| self.at(slot), STRAIN, SHEARED);
            move |way, at| {
                let along = Followed { ways: &strand.ways, moved: mean, kept, beside }.at(way);
                along.kept + (moved(at) - along.moved) * along.beside
            }
        }
    }

    #[test]
    fn a_little_stays_as_it_is() {
        for rings in [3, 30, 300] {
            let tube = Tube { rings, radius: 0.05 };
            let by =
                |at: DVec3| (DVec3::new(1.0, -2.0, 1.5) * (at.x * (2.0 - at.x)) + DVec3::X.cross(at) * at.x) * 1e-4;
            let to = tube.followed(by);
            for slot in tube.slots() {
                let (way, at) = (tube.way(slot), tube.at(slot));
                let off = to(way, at).distance(by(at));
                assert!(off < 1e-8, "{rings}, {way}: {off}");
            }
        }
    }

    #[test]
    fn skin_is_strained_by_no_more_than_it_may_be() {
        let jump = |at: DVec3| ((at.x - 0.4) * 5.0).clamp(0.0, 1.0);
        // What a link gives, and what two sections beside each other give in opposite directions.
        let most = OF_LINK * STRAIN / (1.0 + STRAIN) + 2.0 * BESIDE * STRAIN;
        for rings in [12, 100] {
            for by in [DVec3::X, -DVec3::X, DVec3::Y, DVec3::new(-3.0, 2.0, 1.0), DVec3::new(40.0, 0.3, 0.0)] {
                let tube = Tube { rings, radius: 0.05 };
                let to = tube.followed(|at| by * jump(at));
                let place = |slot: u32| tube.at(slot) + to(tube.way(slot), tube.at(slot));
                for slot in tube.slots() {
                    let ratio = place(slot).distance(place(slot - AROUND)) * f64::from(rings);
                    assert!((ratio - 1.0).abs() <= most, "{rings}, {by}: {ratio} at {slot}");
                }
            }
        }
    }

    /// Pushed together in one place, it gives there alone, and what is beyond that goes along.
    #[test]
    fn what_a_link_cannot_give_the_rest_is_not_moved_by() {
        let tube = Tube { rings: 100, radius: 0.05 };
        let to = tube.followed(|at| if at.x < 0.5 { DVec3::ZERO } else { -DVec3::X });
        let [near, middle, end] = [0.2, 0.8, 1.0].map(|way| to(way, DVec3::X * way));
        assert!(near.length() < 1e-9, "{near}");
        assert!(middle.x < -0.01 && middle.x > -0.1 && (end - middle).length() < 1e-9, "{middle} {end}");
    }

    /// Sections that are turned keep their shape however far that is beyond what they may be turned by.
    #[test]
    fn what_points_do_beside_their_section_is_made_less_as_a_whole() {
        let tube = Tube { rings: 40, radius: 0.05 };
        for angle in [1e-3, 0.3, 30.0] {
            let by = |at: DVec3| DVec3::X.cross(at) * angle;
            let to = tube.followed(by);
            let ring = 24 * AROUND..25 * AROUND;
            let shares = ring.map(|slot| to(tube.way(slot), tube.at(slot)).length() / by(tube.at(slot)).length());
            let (least, most) = shares.fold((f64::MAX, 0.0f64), |(low, high), share| (low.min(share), high.max(share)));
            assert!(most - least < 1e-6, "{angle}: {least} to {most}");
            assert!(angle > 0.01 || most > 0.999, "{angle}: {most}");
            assert!(angle * most < STRAIN, "{angle}: {most}");
        }
    }

    #[test]
    fn what_is_all_in_one_place_is_no_strand() {
        assert!(Strand::of(&[], &[]).is_none());
        assert!(Strand::of(&[(1.0, 1.0); 5], &[[(0, 0.0), (1, 1.0)]]).is_none());
    }
}
