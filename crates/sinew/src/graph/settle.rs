//! What follows the effects and comes before corrections. An effect moves each point by itself; here the skin as a whole
//! has its say, step by step, and each step sees what those before it have left:
//!
//! | step | what it does |
//! |---|---|
//! | `bending` | parts that effects act on and one bone moves bend as rods |
//! | `rigid_pieces` | what does not bend moves as one |

use super::GraphError;
use super::bending::Bending;
use super::evaluate::Frame;
use super::rigid_pieces::RigidPieces;
use crate::hierarchy::Hierarchy;
use crate::recipe::Recipe;
use crate::rig::Rig;
use crate::simd::Points;

/// The steps a recipe asks for.
#[derive(Debug)]
pub(super) struct Settle {
    bending: Option<Bending>,
    rigid: Option<RigidPieces>,
}

/// Normals or tangents by layer.
pub(super) struct Directions<'a> {
    /// As the base has them; without, the result holds that still.
    pub base: Option<&'a Points>,
    pub result: &'a mut Points,
}

impl Settle {
    /// `None` where there is nothing to do.
    pub fn build(rig: &Rig, tree: &Hierarchy, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        let bending = Bending::build(rig, recipe)?;
        let rigid = RigidPieces::build(rig, tree, recipe)?;
        Ok((bending.is_some() || rigid.is_some()).then_some(Self { bending, rigid }))
    }

    /// Follows other numbers.
    pub fn retune(&mut self, recipe: &Recipe) {
        if let Some(rigid) = &mut self.rigid {
            rigid.retune(recipe.riders);
        }
    }

    /// `base` is where the base has all points, `points` where the effects have them. `directions` are turned too: in
    /// place, or from where the base has them.
    pub fn run(&self, frame: &Frame<'_>, base: &Points, points: &mut Points, directions: &mut [Directions<'_>]) {
        if let Some(bending) = &self.bending {
            bending.bend(frame.rig, base, points, directions);
        }
        if let Some(rigid) = &self.rigid {
            rigid.carry(frame.rig, base, points, directions);
        }
    }
}
