//! What a rig and a graph are to a loop over points, as plain data that does not change from frame to frame: what another
//! backend is given once, beside the [`super::plan`] of each frame. The loops here read the same arrays.

use super::nodes::NodeArrays;
use super::plan::Rest;
use super::{FrameIndependentGraph, NormalsPlan};
use crate::base::incremental_rotation::INCREMENTAL_ROTATION;
use crate::base::{Antipodality, Base};
use crate::recipe::TotalLimit;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes, Limit, PointRow};
use bytemuck::{Pod, Zeroable};

/// Why a graph has no plan, and runs on the processor alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlan {
    /// A base that is no sum over bones, nor over lines between joints.
    #[error("the base \"{0}\"{hint} places points in double precision, one after the other", hint = by_line(.0))]
    Base(&'static str),
    /// What works on the whole mesh.
    #[error("{0} works on the mesh as a whole, in double precision")]
    Correction(String),
}

/// A row of sixteen points. Ranges are a first index and one behind the last.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct RowRanges {
    /// Of [`RigArrays::skin_entries`] and their weights.
    pub skin: [u32; 2],
    /// Of [`RigArrays::columns`] and their weights.
    pub columns: [u32; 2],
    /// Of layers: display copies, one per lane and layer.
    pub layers: [u32; 2],
    /// Its character.
    pub character: u32,
    /// Lanes in use; the others repeat the last point.
    pub filled: u32,
}

/// A stretch of the skeleton along which every point of a row has one propagated weight.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct ColumnEnds {
    /// Its lowest bone.
    pub bottom: u32,
    /// The bone above its topmost one; [`NO_BONE`] where it reaches the root.
    pub above: u32,
    /// Its place in [`super::plan::FramePlan::collapsed`].
    pub stretch: u32,
}

/// No bone, and no mover.
pub const NO_BONE: u32 = super::moving::NONE;

/// How bones are blended.
#[derive(Clone, Copy, Debug)]
pub enum BaseArrays<'a> {
    /// By [`RigArrays::skin_weights`] alone.
    Linear,
    /// As dual quaternions.
    Dual {
        /// Per row and lane: the place in the row's union of the bone whose side the others take; empty where sides are
        /// chosen ahead.
        pivots: &'a [[u32; LANES]],
        /// Per row and lane: from linear (0) to dual (1); empty where it is 1 everywhere.
        factors: &'a [Lanes],
    },
}

/// One effect.
#[derive(Clone, Copy, Debug)]
pub struct EffectArrays<'a> {
    /// Per row and lane.
    pub gains: &'a [Lanes],
    /// How they change along the surface, where they do and normals are exact.
    pub gain_gradients: Option<&'a [[Lanes; 3]]>,
    /// Turns of all bones are composed instead of added.
    pub composed: bool,
    /// What it is filtered by.
    pub cone: Option<ConeArrays<'a>>,
}

/// A cone, point by point.
#[derive(Clone, Copy, Debug)]
pub struct ConeArrays<'a> {
    /// Per row and lane: how far out a point lies at rest.
    pub reach: &'a [Lanes],
    /// Per row: normals in the frame of the cone's bone.
    pub normals: &'a [PointRow],
    /// Gain, per size.
    pub gain: f32,
    /// The lift never exceeds this, in sizes.
    pub max_length: f32,
    /// Eases into that limit.
    pub soft: bool,
    /// How reach and coordinates of normals change along the surface, where normals are exact.
    pub gradients: Option<[&'a [[Lanes; 3]]; 4]>,
}

/// How weights change along the surface, where normals are exact.
#[derive(Clone, Copy, Debug)]
pub struct ExactArrays<'a> {
    /// Beside [`RigArrays::skin_weights`]; empty where those are constant but for jumps.
    pub skin: &'a [[Lanes; 3]],
    /// Beside [`RigArrays::column_weights`].
    pub columns: &'a [[Lanes; 3]],
    /// Beside the factors of the base, where they are painted.
    pub factor: Option<&'a [[Lanes; 3]]>,
}

/// The faces around each display corner, as rings of points.
#[derive(Clone, Copy, Debug)]
pub struct FanArrays<'a> {
    /// Per layer lane: where its ring stops in `to`.
    pub stops: &'a [u32],
    /// Slots of neighbours; a ring closes on its first, and open ones hold the point itself.
    pub to: &'a [u32],
    /// The row of each layer.
    pub row_of_layer: &'a [u32],
    /// Per layer lane: the cosine below which the base has torn its faces; negative for never.
    pub torn: &'a [Lanes],
}

/// Plain data of a rig and a graph. Positions in it are in rows of sixteen: `16·row + lane` is a point's *slot*.
#[derive(Clone, Debug)]
pub struct RigArrays<'a> {
    /// The rig they are of.
    pub rig: &'a Rig,
    /// All rows.
    pub rows: Vec<RowRanges>,
    /// Palette indices of the rows' bones.
    pub skin_entries: &'a [u32],
    /// Weights beside them; of the base `rigid`, all on the largest.
    pub skin_weights: &'a [Lanes],
    /// Stretches of the rows.
    pub columns: Vec<ColumnEnds>,
    /// Propagated weights beside them.
    pub column_weights: &'a [Lanes],
    /// Number of different stretches.
    pub stretches: usize,
    /// Points, normals and tangents at rest.
    pub rest: Rest<'a>,
    /// The base.
    pub base: BaseArrays<'a>,
    /// All effects.
    pub effects: Vec<EffectArrays<'a>>,
    /// Per character: how far points may be moved in all; empty where nothing limits it.
    pub limits: Vec<Limit>,
    /// Handedness of tangents per layer lane, where there are tangents.
    pub handedness: Option<&'a [Lanes]>,
    /// Where normals turn with their faces, or are exact and must not stand against them; without, they are as engines make
    /// them.
    pub fans: Option<FanArrays<'a>>,
    /// Where they are exact.
    pub exact: Option<ExactArrays<'a>>,
    /// The most terms that an effect has at a frame.
    pub most_terms: usize,
    /// The most points that a plan has settled.
    pub most_settled: usize,
    /// The most directions that it has.
    pub most_directions: usize,
    /// Nodes, where the base carries them or corrections move them.
    pub nodes: Option<NodeArrays>,
    /// The most nodes that corrections move.
    pub most_moves: usize,
}

/// Of a base with two forms: the one that has no plan.
fn by_line(base: &str) -> &'static str {
    if base == INCREMENTAL_ROTATION.name { " with carried = \"by-line\"" } else { "" }
}

impl<'a> RigArrays<'a> {
    pub(crate) fn new(rig: &'a Rig, graph: &'a FrameIndependentGraph) -> Self {
        let tree = &*graph.tree;
        let row = |(index, row): (usize, &crate::rig::Row)| {
            let columns = tree.of_row(index);
            RowRanges {
                skin: [row.skin.start, row.skin.end],
                columns: [columns.start as u32, columns.end as u32],
                layers: [row.layers.start, row.layers.end],
                character: row.character,
                filled: row.filled,
            }
        };
        let stretches = &graph.stretches;
        let columns = if graph.effects.is_empty() { &[][..] } else { tree.columns() };
        let column = |(column, &stretch): (&crate::propagated::Column, &u32)| ColumnEnds {
            bottom: column.bottom.index() as u32,
            above: column.above.map_or(NO_BONE, |bone| bone.index() as u32),
            stretch,
        };
        let pivots = |antipodality: &'a Antipodality| match antipodality {
            Antipodality::Parent => &[][..],
            Antipodality::Pivot(pivots) => &pivots[..],
        };
        let effects = graph.effects.iter().map(|effect| EffectArrays {
            gains: &effect.gains,
            gain_gradients: effect.gain_gradients.as_deref(),
            composed: effect.compensate,
            cone: effect.cone.as_ref().map(super::ConeFilter::arrays),
        });
        let (fans, exact) = match &graph.normals {
            NormalsPlan::Engine => (None, None),
            NormalsPlan::Faces(fans) => (Some(fans.arrays()), None),
            NormalsPlan::Exact { gradients, factor, fans } => {
                let skin = if matches!(graph.base, Base::Rigid(_)) { &[][..] } else { &gradients.skin[..] };
                let exact = ExactArrays { skin, columns: &gradients.columns, factor: factor.as_deref() };
                (Some(fans.arrays()), Some(exact))
            }
        };
        let turns_with_faces = fans.is_some() && exact.is_none();
        let settled = graph.settle.as_ref().map_or(&[][..], |settle| settle.rows());
        let layers_of = |&row: &u32| rig.rows()[row as usize].layers.len();
        let limits = match graph.max_total {
            None => Vec::new(),
            Some(limit) => rig.characters().iter().map(|character| total_limit(limit, character.size)).collect(),
        };
        let corrects = !graph.corrections.is_empty();
        let works_on_nodes = corrects || matches!(graph.base, Base::Pointwise(_));
        let nodes = works_on_nodes.then(|| NodeArrays::new(rig, &graph.base));
        Self {
            most_moves: nodes.as_ref().filter(|_| corrects).map_or(0, |nodes| nodes.member_stops.len()),
            nodes,
            rig,
            rows: rig.rows().iter().enumerate().map(row).collect(),
            skin_entries: rig.skin_entries(),
            skin_weights: graph.base.linear_weights(rig).unwrap_or(rig.skin_weights()),
            columns: columns.iter().zip(stretches.of_column()).map(column).collect(),
            column_weights: if columns.is_empty() { &[] } else { tree.weights() },
            stretches: stretches.len(),
            rest: Rest::of(rig),
            base: match &graph.base {
                Base::Dqs(antipodality) => BaseArrays::Dual { pivots: pivots(antipodality), factors: &[] },
                Base::Blend(factors, antipodality) => BaseArrays::Dual { pivots: pivots(antipodality), factors },
                Base::Lbs | Base::Rigid(_) | Base::FoldOverFree(_) | Base::Pointwise(_) => BaseArrays::Linear,
            },
            effects: effects.collect(),
            limits,
            handedness: rig.layer_tangents().map(|(_, handedness)| handedness),
            fans,
            exact,
            most_terms: rig.skeleton().len() + stretches.shared() * rig.characters().len(),
            most_settled: settled.len() * LANES,
            most_directions: if turns_with_faces { 0 } else { settled.iter().map(layers_of).sum::<usize>() * LANES },
        }
    }
}

/// How far points of a character of that size may be moved in all.
pub(super) fn total_limit(TotalLimit { length, soft }: TotalLimit, size: f64) -> Limit {
    Limit::new((length * size).min(f64::from(f32::MAX)) as f32, soft)
}
