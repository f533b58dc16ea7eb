//! Limbs that reach the ground: their ends are brought to the height of their partners' ends, knees giving way.
//!
//! A leg is three paired bones under another, of which the last alone is near the ground at rest: thigh, shin and foot
//! of whatever walks.

use super::Transfer;
use super::rest::{Tree, turn_of};
use glam::{DAffine3, DQuat, DVec3};

/// Source and target nodes of a limb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    pub thigh: (usize, usize),
    pub shin: (usize, usize),
    pub foot: (usize, usize),
}

/// How much of the height of all joints counts as near the ground.
const NEAR_GROUND: f64 = 0.15;

/// The legs among the pairs. `partner` and `nearest` are by target node: its source, and the next paired node above.
pub(super) fn find(source: &Tree, target: &Tree, partner: &[Option<usize>], nearest: &[Option<usize>]) -> Vec<Leg> {
    let height = |node: usize| target.rest[node].translation.y;
    let paired = || (0..partner.len()).filter(|&node| partner[node].is_some());
    let high = paired().map(height).fold(f64::NEG_INFINITY, f64::max);
    let low = paired().map(height).fold(f64::INFINITY, f64::min);
    let is_near = |node: usize| height(node) < low + NEAR_GROUND * (high - low);
    let is_above = |above: usize, node: usize| {
        std::iter::successors(source.parent[node], |&node| source.parent[node]).any(|node| node == above)
    };
    let leg = |foot: usize| {
        let shin = nearest[foot]?;
        let thigh = nearest[shin]?;
        nearest[thigh]?;
        let leg = Leg { thigh: (partner[thigh]?, thigh), shin: (partner[shin]?, shin), foot: (partner[foot]?, foot) };
        let is_leg = is_near(foot) && !is_near(shin) && !is_near(thigh);
        let is_one = is_above(leg.thigh.0, leg.shin.0) && is_above(leg.shin.0, leg.foot.0);
        let lengths = [leg.length(source, |pair| pair.0), leg.length(target, |pair| pair.1)];
        (is_leg && is_one && lengths.iter().all(|length| *length > 0.0)).then_some(leg)
    };
    paired().filter_map(leg).collect()
}

impl Leg {
    /// Thigh and shin together.
    pub fn length(&self, tree: &Tree, of: fn((usize, usize)) -> usize) -> f64 {
        let place = |pair: (usize, usize)| tree.rest[of(pair)].translation;
        place(self.thigh).distance(place(self.shin)) + place(self.shin).distance(place(self.foot))
    }

    /// Turns thigh and shin so that the foot is where its partner is, in the target's measure: as far from the hip
    /// over the ground, and as far above where it rests.
    pub fn reach(&self, stage: &Transfer, played: &[DAffine3], posed: &[DAffine3], wanted: &mut [Option<DQuat>]) {
        let source = |node: usize| stage.turn * played[node].translation;
        let (hip, knee, ankle) =
            (posed[self.thigh.1].translation, posed[self.shin.1].translation, posed[self.foot.1].translation);
        let (upper, lower) = (hip.distance(knee), knee.distance(ankle));
        let risen = source(self.foot.0).y - (stage.turn * stage.source.rest[self.foot.0].translation).y;
        let mut goal = hip + stage.scale * (source(self.foot.0) - source(self.thigh.0));
        goal.y = stage.target.rest[self.foot.1].translation.y + stage.scale * risen;
        let way = goal - hip;
        let longest = (upper + lower) * (1.0 - 1e-9);
        let length = way.length().max((upper - lower).abs() * (1.0 + 1e-9)).min(longest);
        let along = way.normalize_or_zero();
        let is_there = goal.distance(ankle) < 1e-7 * (upper + lower);
        if is_there || along == DVec3::ZERO || upper <= 0.0 || lower <= 0.0 {
            return;
        }
        // Knees bend to the side they are on; a straight leg's to where the foot points.
        let aside = |v: DVec3| v - along * v.dot(along);
        let own = aside(knee - hip);
        let straight = (1.0 - own.length() / (0.01 * upper)).max(0.0);
        let toes = aside(ankle_forward(stage, self.foot.1, posed)) * (1e-3 * upper * straight);
        let side = (own + toes).normalize_or_zero();
        let along_thigh = (upper * upper - lower * lower + length * length) / (2.0 * length);
        let bent = (upper * upper - along_thigh * along_thigh).max(0.0).sqrt();
        let (new_knee, new_ankle) = (hip + along * along_thigh + side * bent, hip + along * length);
        let arc = |from: DVec3, to: DVec3| DQuat::from_rotation_arc(from.normalize(), to.normalize());
        let thigh = arc(knee - hip, new_knee - hip);
        let shin = arc(thigh * (ankle - knee), new_ankle - new_knee) * thigh;
        for (node, turn) in [(self.thigh.1, thigh), (self.shin.1, shin)] {
            wanted[node] = wanted[node].filter(|_| turn.is_finite()).map(|own| turn * own).or(wanted[node]);
        }
    }
}

/// Where the foot points over the ground: to what it carries, else where the character faces.
fn ankle_forward(stage: &Transfer, foot: usize, posed: &[DAffine3]) -> DVec3 {
    let rest = &stage.target.rest;
    let toes = stage.target.parent.iter().position(|parent| *parent == Some(foot));
    let forward = toes.map_or(DVec3::Z, |toes| rest[toes].translation - rest[foot].translation);
    let flat = DVec3::new(forward.x, 0.0, forward.z).normalize_or(DVec3::Z);
    turn_of(&posed[foot]) * turn_of(&rest[foot]).inverse() * flat
}
