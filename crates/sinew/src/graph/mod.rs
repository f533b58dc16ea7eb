//! The deformer graph: base → sum of displacements → corrections → normals, built once from a recipe and evaluated for any frame.

mod accumulate;
mod bending;
mod blocks;
mod collapsed;
mod collide;
mod cone_filter;
mod evaluate;
mod moving;
mod nodes;
mod output;
mod parts;
pub mod plan;
mod planting;
mod retune;
pub mod rig_arrays;
mod rigid_pieces;
pub mod sampled;
mod scatter;
mod settle;
mod sewn;
mod strand;
mod terms;

pub use cone_filter::FittedCone;
pub use evaluate::Cpu;
pub(crate) use evaluate::{Frame, Results, Scratch, evaluate, evaluate_rows};
pub use nodes::{CarriedArrays, LineMotion, NodeArrays, NodeMove};
pub use output::{DeformedMesh, DeformedRows, EngineSkinning, Outputs};
pub(crate) use parts::{JoinedSkin, Parts};
pub use plan::FramePlan;
pub(crate) use plan::plan;
pub(crate) use retune::{Change, adopt};
pub(crate) use rig_arrays::FanArrays;
pub use rig_arrays::{NoPlan, RigArrays};
pub(crate) use sampled::sample;
pub use sampled::{CrowdArrays, CrowdSample, NoCrowd};
pub(crate) use terms::{DisplacementNode, Kind, Node};

use crate::anatomy::{Anatomy, Role};
use crate::base::{Base, BaseBinding, Pointwise};
use crate::correct::{BONES, CorrectionRequest, Corrections, EditRequest, Field, Fields, MuscleReport, Swing};
use crate::gradients::{Gradient, Gradients, Slopes, gain_slopes, gradient_of};
use crate::hierarchy::{Circular, Hierarchy};
use crate::kinodynamic::FoldOverFree;
use crate::motion::FilteredSignal;
use crate::normals::Fans;
use crate::param::Values;
use crate::propagated::Propagated;
use crate::recipe::{
    BaseSpec, BoneGain, CorrectionSpec, Drive, EditShape, EditSpec, EffectSpec, HierarchySpec, KeyCurve, Normals,
    Planted, Recipe, Riders, Rigid, TotalLimit,
};
use crate::rig::{Rig, VertexMap};
use crate::simd::{LANES, Lanes};
use crate::table::{BoundRow, BoundTables, Cell, CellOf, Row, TableSpec, Tables};
use crate::text::{did_you_mean, nearest, wildcard};
use collapsed::Stretches;
use cone_filter::ConeFilter;
use moving::MovingBones;
use settle::Settle;
use std::sync::Arc;

/// Why a recipe does not fit a rig.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GraphError {
    /// A map that no mesh carries.
    #[error("painted map \"{name}\" is not in the file{}", did_you_mean(.nearest))]
    UnknownMap {
        /// The map asked for.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// A bone pattern without a match.
    #[error("no bone is named \"{pattern}\" ({place}){}", did_you_mean(.nearest))]
    UnknownBone {
        /// The pattern.
        pattern: String,
        /// The effect or key it stands in.
        place: &'static str,
        /// The nearest name.
        nearest: Option<String>,
    },
    /// A role that there is none of.
    #[error("\"@{name}\" is no role of a part ({place}){}", did_you_mean(.nearest))]
    UnknownRole {
        /// The role asked for.
        name: String,
        /// The effect or key it stands in.
        place: &'static str,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// A name in `rigid` that no separate piece has.
    #[error(
        "no separate piece of skin is called \"{pattern}\", by its bone or by its mesh (rigid){}", did_you_mean(.nearest)
    )]
    UnknownPiece {
        /// The pattern.
        pattern: String,
        /// The nearest name.
        nearest: Option<String>,
    },
    /// A name in `parts` that nothing has.
    #[error("no bone and no mesh is called \"{pattern}\" (parts of effect {effect}){}", did_you_mean(.nearest))]
    UnknownPart {
        /// The pattern.
        pattern: String,
        /// The effect it stands in.
        effect: &'static str,
        /// The nearest name.
        nearest: Option<String>,
    },
    /// A map that was painted for another rig.
    #[error("painted map \"{name}\" has {found} rows of points, but the rig has {wanted}: make it from this rig")]
    MapSize {
        /// The map.
        name: String,
        /// Rows it has.
        found: usize,
        /// Rows it should have.
        wanted: usize,
    },
    /// A cone that cannot be fitted.
    #[error("no cone fits the region of effect {effect}: {why}; paint a map on the skirt, or give the cone by hand")]
    NoCone {
        /// The effect.
        effect: &'static str,
        /// What is the matter.
        why: String,
    },
    /// A bone that was told to follow what it carries.
    #[error("{0}")]
    Circular(Circular),
    /// An edit that springs should draw the skin to, and no springs.
    #[error("an edit has drive = \"springs\", but the recipe has no springs: add a [[correction]] of type \"springs\"")]
    NoSprings,
    /// A strength in place of a gain, or gains by clip: both depend on the clips.
    #[error(
        "{} asks for a strength or has gains by clip, which have not been solved for: call strength::solve with the clips, or give a gain",
        .effect.map_or("the recipe".to_owned(), |name| format!("effect {name}"))
    )]
    Unsolved {
        /// The effect; `None` where it is the whole recipe.
        effect: Option<&'static str>,
    },
    /// A key curve on something that cannot change over a clip.
    #[error("\"{name}\" of effect {effect} cannot be keyed: filters run over the whole clip ahead of time")]
    NotKeyable {
        /// The parameter.
        name: String,
        /// The effect.
        effect: &'static str,
    },
}

/// A graph that needs nothing but the frame's own time: any frame, any order, any thread, same bits.
#[derive(Debug)]
pub(crate) struct FrameIndependentGraph {
    base: Base,
    /// The tree its effects go by.
    tree: Arc<Propagated>,
    effects: Vec<GraphEffect>,
    stretches: Stretches,
    max_total: Option<TotalLimit>,
    /// Where the skin as a whole has a say in what effects do to its points.
    settle: Option<Settle>,
    corrections: Corrections,
    /// Where segments are to be told of the base too.
    base_meter: Option<Corrections>,
    normals: NormalsPlan,
    /// Whether there is more to it than the base.
    adds: bool,
    filtered: Vec<FilteredSignal>,
}

/// What normals need beyond the rig.
#[derive(Debug)]
enum NormalsPlan {
    Engine,
    /// The faces are what none may stand against.
    Exact {
        gradients: Gradients,
        factor: Option<Vec<Gradient>>,
        fans: Arc<Fans>,
    },
    Faces(Arc<Fans>),
}

/// One effect bound to a rig.
struct GraphEffect {
    name: &'static str,
    node: Box<dyn DisplacementNode>,
    values: Values,
    /// Where it acts on some parts alone.
    parts: Option<Parts>,
    /// Global × painted × parts, per row.
    gains: Vec<Lanes>,
    /// See [`GraphEffect::gain_alike`].
    alike: Option<f32>,
    /// Where gains differ and normals are exact.
    gain_gradients: Option<Vec<Gradient>>,
    /// Per bone.
    bone_gains: Vec<BoneGain>,
    raw: bool,
    compensate: bool,
    cone: Option<ConeFilter>,
    /// Per [`crate::Signal`]: whether it is read, and the filtered list's entry if it is filtered.
    inputs: [Source; 4],
    keys: Vec<(String, KeyCurve)>,
    gain_keys: Option<KeyCurve>,
}

impl std::fmt::Debug for GraphEffect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GraphEffect").field("name", &self.name).field("values", &self.values).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Unused,
    Smoothed,
    Filtered(usize),
}

impl FrameIndependentGraph {
    /// Binds a recipe to a rig and its maps.
    pub fn build(maps: Maps<'_>, recipe: &Recipe) -> Result<Self, GraphError> {
        let rig = maps.rig;
        let tree = tree(rig, &recipe.hierarchy)?;
        let BaseSpec { base: entry, values, map, tables } = &recipe.base;
        let base = (entry.bind)(&BaseBinding {
            rig,
            hierarchy: tree.hierarchy(),
            values,
            painted: map.as_deref().map(|map| maps.named(map)).transpose()?,
            tables: &bound_tables(maps, tables, entry.name)?,
        });
        let mut filtered: Vec<FilteredSignal> = Vec::new();
        let corrections = corrections(maps, recipe, &mut filtered)?;
        // Composed rotations and corrections, and points carried in steps, have no closed Jacobian here.
        let carried = matches!(base, Base::FoldOverFree(_) | Base::Pointwise(_));
        let closed = corrections.is_empty() && !carried && !recipe.effects.iter().any(|effect| effect.compensate);
        let normals = match recipe.normals {
            Normals::Engine => NormalsPlan::Engine,
            Normals::Auto if recipe.effects.is_empty() && corrections.is_empty() && !carried => NormalsPlan::Engine,
            Normals::Exact if closed => NormalsPlan::Exact {
                gradients: Gradients::new(rig, &tree),
                fans: rig.kept(),
                factor: match &base {
                    Base::Blend(factors, _) if recipe.base.map.is_some() => Some(gradient_of(rig, factors)),
                    _ => None,
                },
            },
            _ => NormalsPlan::Faces(rig.kept()),
        };
        let exact = matches!(normals, NormalsPlan::Exact { .. });
        let effects = recipe
            .effects
            .iter()
            .map(|spec| GraphEffect::build(maps, &tree, recipe.riders, spec, exact, &mut filtered))
            .collect::<Result<Vec<_>, _>>()?;
        let stretches = if effects.is_empty() { Stretches::default() } else { Stretches::new(rig, &tree) };
        let adds = !(effects.is_empty() && corrections.is_empty());
        let max_total = recipe.max_total;
        let settle = if effects.is_empty() { None } else { Settle::build(rig, tree.hierarchy(), recipe)? };
        Ok(Self {
            base,
            tree,
            effects,
            stretches,
            max_total,
            settle,
            corrections,
            base_meter: None,
            normals,
            adds,
            filtered,
        })
    }

    /// The same graph with exact derivatives in place of fitted ones, for exact normals of a rig made in code.
    pub fn with_slopes(mut self, rig: &Rig, slopes: &impl Slopes) -> Self {
        if let NormalsPlan::Exact { gradients, .. } = &mut self.normals {
            *gradients = Gradients::exact(rig, &self.tree, slopes);
        }
        for effect in &mut self.effects {
            if let Some(gradients) = &mut effect.gain_gradients {
                *gradients = gain_slopes(rig, slopes, effect.name);
            }
        }
        self
    }

    /// The same graph, telling the volume of every segment at every frame ([`crate::correct::SegmentVolume`]).
    pub fn metered(mut self, rig: &Rig) -> Self {
        if self.adds {
            let mut meter = Corrections::build(rig, &[], &[]);
            meter.meter(rig);
            self.base_meter = Some(meter);
        }
        self.corrections.meter(rig);
        self
    }

    /// The filtered signals its effects read: what [`crate::Motion::new`] must prepare.
    pub fn filtered_signals(&self) -> &[FilteredSignal] {
        &self.filtered
    }

    /// The tree its effects go by, and what it makes of the skin.
    pub fn tree(&self) -> &Propagated {
        &self.tree
    }

    /// The base `fold-over-free`, where it is the recipe's.
    pub fn fold_over_free(&self) -> Option<&FoldOverFree> {
        match &self.base {
            Base::FoldOverFree(base) => Some(base),
            _ => None,
        }
    }

    /// The base that places point by point, where it is the recipe's.
    pub fn pointwise(&self) -> Option<&Pointwise> {
        match &self.base {
            Base::Pointwise(base) => Some(base),
            _ => None,
        }
    }

    /// The skins that swing: character, place of the correction, and how.
    pub fn swings(&self) -> impl Iterator<Item = (usize, usize, &Swing)> {
        self.corrections.swings()
    }

    /// The muscles of its corrections: those named, or those found in fleshy places.
    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.corrections.muscles()
    }

    /// Slots of the pieces that no effect bends.
    pub(crate) fn rigid_slots(&self) -> impl Iterator<Item = usize> + '_ {
        self.settle.iter().flat_map(Settle::rigid_slots)
    }

    /// The cones its effects are filtered by, with how well they fit, by effect.
    pub fn cones(&self) -> impl Iterator<Item = (&'static str, &FittedCone)> {
        self.effects.iter().filter_map(|effect| Some((effect.name, effect.cone.as_ref()?.fitted())))
    }
}

/// The tree that a recipe asks for.
fn tree(rig: &Rig, spec: &HierarchySpec) -> Result<Arc<Propagated>, GraphError> {
    let skeleton = rig.skeleton();
    let told = match spec {
        HierarchySpec::Body => return Ok(rig.propagated(rig.hierarchy().clone())),
        HierarchySpec::Plain => return Ok(rig.propagated(Hierarchy::plain(skeleton))),
        HierarchySpec::Told(told) => told,
    };
    let mut hierarchy = rig.hierarchy().clone();
    for (pattern, parent) in told {
        let Some(parent) = bones_called(rig, parent, "hierarchy")?.next() else { continue };
        for bone in bones_called(rig, pattern, "hierarchy")? {
            hierarchy = hierarchy.following(skeleton, bone, parent).map_err(GraphError::Circular)?;
        }
    }
    Ok(rig.propagated(hierarchy))
}

/// The corrections with their names looked up. Those with a gain of 0 do nothing, and cost nothing.
fn corrections(maps: Maps<'_>, recipe: &Recipe, filtered: &mut Vec<FilteredSignal>) -> Result<Corrections, GraphError> {
    let active = recipe.corrections.iter().filter(|spec| spec.gain != 0.0);
    let asked = active.map(|spec| asked_correction(maps, spec, filtered)).collect::<Result<Vec<_>, _>>()?;
    let edits = asked_edits(maps, recipe)?;
    let no_springs = !asked.iter().any(|asked| asked.correction.name == "springs");
    if no_springs && edits.iter().any(|edit| edit.spec.drive == Drive::Springs) {
        return Err(GraphError::NoSprings);
    }
    Ok(Corrections::build(maps.rig, &asked, &edits))
}

/// A correction with its names looked up.
fn asked_correction<'a>(
    maps: Maps<'a>,
    spec: &'a CorrectionSpec,
    filtered: &mut Vec<FilteredSignal>,
) -> Result<CorrectionRequest<'a>, GraphError> {
    let name = spec.correction.name;
    let painted = spec.map.as_deref().map(|map| maps.named(map)).transpose()?;
    let tables = bound_tables(maps, &spec.tables, name)?;
    let counted =
        |(bones, row): &(Vec<crate::BoneId>, BoundRow)| (bones.clone(), row.bones("").cloned().unwrap_or_default());
    let distances = tables.rows(BONES).iter().map(counted).collect();
    let signals = (spec.correction.signals)(&spec.values, &spec.tables);
    let signals = signals.into_iter().map(|wanted| place_of(wanted, filtered)).collect();
    let painted_by = |(param, map): &(&'static str, String)| Ok((*param, maps.named(map)?));
    Ok(CorrectionRequest {
        correction: spec.correction,
        values: &spec.values,
        gain: spec.gain,
        painted,
        distances,
        tables,
        signals,
        painted_factors: spec.painted.iter().map(painted_by).collect::<Result<_, GraphError>>()?,
    })
}

/// Whether an edit ever does anything.
fn is_active(edit: &EditSpec) -> bool {
    edit.amount.keys().iter().any(|key| key.1 != 0.0)
}

/// The edits that do something, with their names looked up.
fn asked_edits<'a>(maps: Maps<'_>, recipe: &'a Recipe) -> Result<Vec<EditRequest<'a>>, GraphError> {
    let edits = recipe.edits.iter().enumerate().filter(|(_, edit)| is_active(edit));
    edits.map(|(place, edit)| asked_edit(maps, place, edit)).collect()
}

/// An edit with its names looked up.
fn asked_edit<'a>(maps: Maps<'_>, place: usize, spec: &'a EditSpec) -> Result<EditRequest<'a>, GraphError> {
    let mut bones = Vec::new();
    for pattern in &spec.bones {
        bones.extend(bones_called(maps.rig, pattern, "edit")?);
    }
    let fields = match &spec.shape {
        EditShape::Shape(keys) => {
            let field = |(time, name): &(f64, String)| Ok((*time, field(maps, name)?));
            Fields(keys.iter().map(field).collect::<Result<_, GraphError>>()?)
        }
        EditShape::Radial(_) | EditShape::Wave { .. } => Fields::default(),
    };
    let painted = spec.map.as_deref().map(|map| maps.painted(Some(map), 1.0)).transpose()?;
    Ok(EditRequest { spec, place, fields, bones, painted })
}

/// The maps of the shape of that name; an empty name is no change.
fn field(maps: Maps<'_>, name: &str) -> Result<Field, GraphError> {
    let map = |part: &str| maps.painted(Some(&format!("{name}{part}")), 1.0);
    let [length, x, y, z] = [".length", ".turn.x", ".turn.y", ".turn.z"].map(|part| map(part).ok());
    let changes = [length, x, y, z];
    if !name.is_empty() && changes.iter().all(Option::is_none) {
        return map(".length").map(|_| Field::default());
    }
    Ok(Field { inside: map("").ok(), changes })
}

/// The place of a signal in the list, which it is added to where it is new.
fn place_of(wanted: FilteredSignal, filtered: &mut Vec<FilteredSignal>) -> usize {
    let known = filtered.iter().position(|entry| *entry == wanted);
    known.unwrap_or_else(|| {
        filtered.push(wanted);
        filtered.len() - 1
    })
}

/// The painted maps of a rig, and those painted since, which stand before them.
#[derive(Clone, Copy)]
pub(crate) struct Maps<'a> {
    pub rig: &'a Rig,
    pub painted: &'a [VertexMap],
}

impl<'a> Maps<'a> {
    /// The map of that name.
    fn named(self, name: &str) -> Result<&'a [Lanes], GraphError> {
        let all = || self.painted.iter().chain(self.rig.maps());
        let found = all().find(|map| map.name == name).map(|map| &map.values[..]);
        found.ok_or_else(|| GraphError::UnknownMap {
            name: name.to_owned(),
            nearest: nearest(name, all().map(|map| map.name.as_str())),
        })
    }

    /// `factor` times a painted map, per row.
    fn painted(self, map: Option<&str>, factor: f64) -> Result<Vec<Lanes>, GraphError> {
        let mut rows = Vec::new();
        fill_painted(self, map, factor, &mut rows)?;
        Ok(rows)
    }
}

/// [`Maps::painted`] in memory that is there.
fn fill_painted(maps: Maps<'_>, map: Option<&str>, factor: f64, out: &mut Vec<Lanes>) -> Result<(), GraphError> {
    let factor = factor as f32;
    match map {
        None => {
            out.clear();
            out.resize(maps.rig.rows().len(), [factor; LANES]);
        }
        Some(name) => {
            let values = maps.named(name)?;
            out.clear();
            out.extend(values.iter().map(|row| row.map(|value| value * factor)));
        }
    }
    Ok(())
}

/// Tables with bones and painted values in the place of their names; errors name the `place` they stand in.
fn bound_tables(maps: Maps<'_>, tables: &Tables, place: &'static str) -> Result<BoundTables, GraphError> {
    let rig = maps.rig;
    let cell = |cell: &Cell| {
        Ok(match cell {
            Cell::Number(value) => CellOf::Number(*value),
            Cell::Keyed(curve) => CellOf::Keyed(curve.clone()),
            Cell::Numbers(values) => CellOf::Numbers(values.clone()),
            Cell::Lists(lists) => CellOf::Lists(lists.clone()),
            Cell::Word(word) => CellOf::Word(word),
            Cell::Map(map) => CellOf::Map(maps.named(map)?.to_vec()),
            Cell::Bones(patterns) => {
                let mut bones = Vec::new();
                for pattern in patterns {
                    bones.extend(bones_called(rig, pattern, place)?);
                }
                CellOf::Bones(bones)
            }
        })
    };
    let row = |(pattern, row): &(String, Row)| {
        let cells = row.cells().iter().map(|(name, value)| Ok((*name, cell(value)?)));
        let cells = cells.collect::<Result<Vec<_>, GraphError>>()?;
        Ok((bones_called(rig, pattern, place)?.collect(), BoundRow::of(cells)))
    };
    let table = |(spec, rows): (&'static TableSpec, &[(String, Row)])| {
        Ok((spec.key, rows.iter().map(row).collect::<Result<_, GraphError>>()?))
    };
    let told = tables.iter().filter(|(_, rows)| !rows.is_empty());
    told.map(table).collect::<Result<_, _>>().map(BoundTables)
}

/// The bones whose names match, or those of a role such as `@tail`, which may be none; or the error that names the nearest.
pub(crate) fn bones_called<'a>(
    rig: &'a Rig,
    pattern: &'a str,
    place: &'static str,
) -> Result<impl Iterator<Item = crate::BoneId> + 'a, GraphError> {
    let skeleton = rig.skeleton();
    let named = move |bone: crate::BoneId| wildcard(pattern, skeleton.name(bone));
    let role = if skeleton.bones().any(named) { None } else { role_called(pattern, place)? };
    if role.is_none() && !skeleton.bones().any(named) {
        let names = skeleton.bones().map(|bone| skeleton.name(bone));
        return Err(GraphError::UnknownBone { pattern: pattern.to_owned(), place, nearest: nearest(pattern, names) });
    }
    let anatomy = role.map(|role| (role, rig.kept::<Anatomy>()));
    Ok(skeleton.bones().filter(move |&bone| match &anatomy {
        Some((role, anatomy)) => anatomy.bone(bone).role == *role,
        None => named(bone),
    }))
}

/// The role that `@tail` and the like stand for; `None` for a plain name.
fn role_called(pattern: &str, place: &'static str) -> Result<Option<Role>, GraphError> {
    let Some(name) = pattern.strip_prefix('@') else { return Ok(None) };
    let unknown = || GraphError::UnknownRole {
        name: name.to_owned(),
        place,
        nearest: nearest(name, Role::ALL.into_iter().map(Role::name)).map(|name| format!("@{name}")),
    };
    Role::from_name(name).map(Some).ok_or_else(unknown)
}

/// The roles that a recipe names and a rig does not have, in the order of [`Role::ALL`].
pub(crate) fn absent_roles(rig: &Rig, recipe: &Recipe) -> Vec<Role> {
    let mut names: Vec<&str> = Vec::new();
    let corrections = recipe.corrections.iter().map(|correction| &correction.tables);
    for (_, rows) in corrections.chain([&recipe.base.tables]).flat_map(Tables::iter) {
        for (pattern, row) in rows {
            names.push(pattern);
            let lists = row.cells().iter().filter_map(|(_, cell)| match cell {
                Cell::Bones(patterns) => Some(patterns),
                _ => None,
            });
            names.extend(lists.flatten().map(String::as_str));
        }
    }
    for effect in &recipe.effects {
        names.extend(effect.bones.iter().map(|(pattern, _)| pattern.as_str()));
        names.extend(effect.parts.iter().map(String::as_str));
        names.extend(effect.cone.as_ref().and_then(|cone| cone.bone.as_deref()));
    }
    names.extend(recipe.edits.iter().flat_map(|edit| &edit.bones).map(String::as_str));
    if let Rigid::Only(patterns) = &recipe.rigid {
        names.extend(patterns.iter().map(String::as_str));
    }
    if let Planted::Only(patterns) = &recipe.planted {
        names.extend(patterns.iter().map(String::as_str));
    }
    let asked: Vec<Role> = names.iter().filter_map(|name| Role::from_name(name.strip_prefix('@')?)).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let anatomy = rig.kept::<Anatomy>();
    let is_there =
        |role: Role| anatomy.bones().iter().any(|finding| finding.role == role) || anatomy.points().contains(&role);
    Role::ALL.into_iter().filter(|role| asked.contains(role) && !is_there(*role)).collect()
}

/// Gains of all points: global × painted × parts, none for riders that are to stay still or for what players swing.
fn fill_gains(
    maps: Maps<'_>,
    riders: Riders,
    spec: &EffectSpec,
    parts: Option<&Parts>,
    out: &mut Vec<Lanes>,
) -> Result<(), GraphError> {
    fill_painted(maps, spec.map.as_deref(), spec.gain, out)?;
    if let Some(parts) = parts {
        let factors = parts.factor().as_flattened();
        out.as_flattened_mut().iter_mut().zip(factors).for_each(|(gain, factor)| *gain *= factor);
    }
    if riders == Riders::Still {
        let gains = out.as_flattened_mut().iter_mut().enumerate();
        gains.filter(|(slot, _)| maps.rig.is_rider(*slot)).for_each(|(_, gain)| *gain = 0.0);
    }
    if maps.rig.has_springs() {
        let gains = out.as_flattened_mut().iter_mut().enumerate();
        gains.for_each(|(slot, gain)| *gain *= maps.rig.unsprung(slot));
    }
    Ok(())
}

/// Gains of all bones.
fn fill_bone_gains(rig: &Rig, tree: &Propagated, spec: &EffectSpec, out: &mut Vec<BoneGain>) -> Result<(), GraphError> {
    out.clear();
    out.resize(rig.skeleton().len(), BoneGain::default());
    for (pattern, gain) in &spec.bones {
        for bone in bones_called(rig, pattern, spec.effect.name())? {
            out[bone.index()] = *gain;
        }
    }
    for bone in rig.skeleton().bones().filter(|&bone| tree.is_root(bone)) {
        let gain = &mut out[bone.index()];
        (gain.translation, gain.rotation) = (gain.translation * spec.root, gain.rotation * spec.root);
    }
    Ok(())
}

/// What an effect reads; filters that are new are added to the list.
fn inputs(spec: &EffectSpec, filtered: &mut Vec<FilteredSignal>) -> [Source; 4] {
    let mut inputs = [Source::Unused; 4];
    for input in spec.effect.inputs() {
        let signal = input.signal();
        inputs[signal as usize] = match input.filter(&spec.values) {
            None => Source::Smoothed,
            Some(filter) => Source::Filtered(place_of(FilteredSignal { signal, filter }, filtered)),
        };
    }
    inputs
}

impl GraphEffect {
    fn build(
        maps: Maps<'_>,
        tree: &Propagated,
        riders: Riders,
        spec: &EffectSpec,
        exact: bool,
        filtered: &mut Vec<FilteredSignal>,
    ) -> Result<Self, GraphError> {
        let (rig, name) = (maps.rig, spec.effect.name());
        let (mut gains, mut bone_gains) = (Vec::new(), Vec::new());
        let parts = (!spec.parts.is_empty()).then(|| Parts::find(rig, &spec.parts, name)).transpose()?;
        fill_gains(maps, riders, spec, parts.as_ref(), &mut gains)?;
        fill_bone_gains(rig, tree, spec, &mut bone_gains)?;
        let inputs = inputs(spec, filtered);
        let (mut keys, mut gain_keys) = (Vec::new(), None);
        for (key, curve) in &spec.keys {
            if key == "gain" {
                gain_keys = Some(curve.clone());
            } else if spec.effect.inputs().iter().any(|input| input.params().any(|name| name == key)) {
                return Err(GraphError::NotKeyable { name: key.clone(), effect: name });
            } else {
                keys.push((key.clone(), curve.clone()));
            }
        }
        let mut effect = Self {
            name,
            node: spec.effect.node(&spec.values),
            values: spec.values.clone(),
            alike: None,
            gain_gradients: (exact && (spec.map.is_some() || parts.is_some() || rig.has_springs()))
                .then(|| gradient_of(rig, &gains)),
            bone_gains,
            raw: spec.raw,
            compensate: spec.compensate,
            cone: ConeFilter::of_effect(rig, tree.hierarchy(), spec, &gains, exact)?,
            gains,
            parts,
            inputs,
            keys,
            gain_keys,
        };
        effect.alike = effect.gain_alike();
        Ok(effect)
    }

    /// The gain of all points, where it is one and nothing looks at the displacement of each by itself.
    fn gain_alike(&self) -> Option<f32> {
        let first = self.gains.first().map(|row| row[0]);
        let alike = first.filter(|gain| self.gains.iter().flatten().all(|other| other == gain));
        alike.filter(|_| self.cone.is_none() && !self.compensate)
    }
}
