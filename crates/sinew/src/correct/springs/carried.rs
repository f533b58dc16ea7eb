//! Where the bones of a frame take the skin: attachment points, scale vectors and turns, blended by skin weights that
//! are even along the skin.
//!
//! An attachment goes where linear blending takes it, `a = Σ w_k M_k a⁰`, and its scale vector turns by the blended
//! rotation: as for [`crate::base::centres_of_rotation`] twists and bends keep their radius. The line of the
//! attachments then has no corner at a joint; one bone for each of them, as in EX, gives a bend the corner of its
//! skeleton. Weights spread by [`SPREAD`] times the distance to the bone, so that even those of one bone each turn
//! about a joint over a length that does not depend on the resolution.
//!
//! Oracle: a turn of all bones is that turn; a twist keeps the radius.

use crate::attach::even_weights::EvenWeights;
use crate::attach::hanging::Hanging;
use crate::base::centres_of_rotation::{TurningBone, TurningBones};
use crate::correct::body::Surface;
use crate::rig::Rig;
use glam::{DAffine3, DMat3, DQuat, DVec3};

/// How far weights spread, in distances to the bone.
const SPREAD: f64 = 0.5;
/// The bones that carry each point of a skin.
#[derive(Clone, Debug, Default)]
pub(super) struct Carrying {
    bones: TurningBones,
    weights: EvenWeights,
    /// Attachment points at bind.
    anchors: Vec<DVec3>,
}

/// The skin as bones carry it, in bind units.
#[derive(Clone, Debug, Default)]
pub(super) struct Carried {
    bones: Vec<TurningBone>,
    pub anchors: Vec<DVec3>,
    /// Scale vectors.
    pub aims: Vec<DVec3>,
    pub turns: Vec<DQuat>,
    pub stretches: Vec<DMat3>,
}

impl Carrying {
    pub fn new(rig: &Rig, surface: &Surface, hanging: &Hanging) -> Self {
        Self {
            bones: TurningBones::new(rig, surface),
            weights: EvenWeights::new(rig, surface, hanging, &|_| SPREAD),
            anchors: hanging.anchors(),
        }
    }

    /// Bones and weights of a point.
    pub fn of(&self, point: usize) -> &[(u32, f64)] {
        self.weights.of(point)
    }

    /// `from_bind` per palette entry; `bind` the points there; `scale` world units per bind unit.
    pub fn pose(&self, from_bind: &[DAffine3], bind: &[DVec3], scale: f64, out: &mut Carried) {
        let Carried { bones, anchors, aims, turns, stretches } = out;
        self.bones.pose(from_bind, bones);
        anchors.clear();
        aims.clear();
        turns.clear();
        stretches.clear();
        for (point, (&p, &hung)) in bind.iter().zip(&self.anchors).enumerate() {
            let (mut turn, mut stretch, mut anchor) = (DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0), DMat3::ZERO, DVec3::ZERO);
            for &(entry, w) in self.of(point) {
                let bone = &bones[entry as usize];
                turn += bone.rotation * w;
                stretch += bone.stretch * w;
                anchor += bone.transform.transform_point3(hung) * w;
            }
            // Opposite rotations cancel: any is as good.
            let turn = if turn.length() < 1e-9 { DQuat::IDENTITY } else { turn.normalize() };
            let stretch = stretch * scale.recip();
            anchors.push(anchor / scale);
            aims.push(turn * (stretch * (p - hung)));
            turns.push(turn);
            stretches.push(stretch);
        }
    }
}
