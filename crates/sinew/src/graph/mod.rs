//! The deformer graph: base → sum of displacements → corrections → normals, built once from a recipe and evaluated for any frame.

mod accumulate;
mod collapsed;
mod cone_filter;
mod evaluate;
mod moving;

pub(crate) use accumulate::Node;
pub use accumulate::{Block, DisplacementNode, RowSums, Terms};
pub use cone_filter::FittedCone;
pub use evaluate::{Cpu, DeformedMesh, DeformedRows, EngineSkinning, Outputs};
pub(crate) use evaluate::{Frame, Results, Scratch, evaluate, evaluate_rows};
pub use moving::MovingBones;

use crate::base::by_point::JointTables;
use crate::base::{Antipodality, Base, ByPoint};
use crate::correct::{
    Asked, AskedEdit, BoundMuscle, Corrections, Field, Fields, MuscleReport, MuscleSpec, felt_signals,
};
use crate::gradients::{Gradient, Gradients, Slopes, gain_slopes, gradient_of};
use crate::hierarchy::{Circular, Hierarchy};
use crate::kinodynamic::{BoundLimb, FoldOverFree, LimbSpec};
use crate::motion::FilteredSignal;
use crate::normals::Fans;
use crate::param::Values;
use crate::propagated::Propagated;
use crate::recipe::{
    BaseSpec, BoneGain, Drive, EditShape, EditSpec, EffectSpec, HierarchySpec, KeyCurve, Normals, Recipe, Riders,
    TotalLimit,
};
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::text::{nearest, wildcard};
use collapsed::Stretches;
use cone_filter::ConeFilter;
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
    #[error("no bone is called \"{pattern}\" (effect {effect}){}", did_you_mean(.nearest))]
    UnknownBone {
        /// The pattern.
        pattern: String,
        /// The effect it stands in.
        effect: &'static str,
        /// The nearest name.
        nearest: Option<String>,
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
    #[error("an edit has drive = \"springs\", but there are none: add a [[correction]] of type \"springs\"")]
    NoSprings,
    /// A key curve on something that cannot change over a clip.
    #[error("\"{name}\" of effect {effect} cannot be keyed: filters run over the whole clip ahead of time")]
    NotKeyable {
        /// The parameter.
        name: String,
        /// The effect.
        effect: &'static str,
    },
}

pub(crate) fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
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
    corrections: Corrections,
    /// Where segments are to be told of the base too.
    base_meter: Option<Corrections>,
    normals: NormalsPlan,
    /// Whether the base by itself has exact normals; else those of engines, or from faces as the result has.
    exact_base: bool,
    /// Whether there is more to it than the base.
    adds: bool,
    filtered: Vec<FilteredSignal>,
}

/// What normals need beyond the rig.
#[derive(Debug)]
enum NormalsPlan {
    Engine,
    Exact { gradients: Gradients, factor: Option<Vec<Gradient>> },
    Faces(Fans),
}

/// One effect bound to a rig.
struct GraphEffect {
    name: &'static str,
    node: Box<dyn DisplacementNode>,
    values: Values,
    /// Global × painted, per row.
    gains: Vec<Lanes>,
    /// The gain of all points, where it is one and nothing looks at the displacement of each by itself.
    alike: Option<f32>,
    /// Where a map is painted and normals are exact.
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
    /// Binds a recipe to a rig.
    pub fn build(rig: &Rig, recipe: &Recipe) -> Result<Self, GraphError> {
        let base = match &recipe.base {
            BaseSpec::Lbs => Base::Lbs,
            BaseSpec::Rigid => Base::rigid(rig),
            BaseSpec::Dqs { pivot } => Base::Dqs(antipodality(rig, *pivot)),
            BaseSpec::FoldOverFree(spec) => {
                let find = |(pattern, limb): &(String, LimbSpec)| -> Result<_, GraphError> {
                    let painted = limb.map.as_deref().map(|map| painted(rig, Some(map), 1.0)).transpose()?;
                    let bones = bones_called(rig, pattern, "fold-over-free")?.collect();
                    Ok(BoundLimb { bones, spec: limb.clone(), painted })
                };
                let limbs = spec.limbs.iter().map(find).collect::<Result<Vec<_>, GraphError>>()?;
                Base::FoldOverFree(Box::new(FoldOverFree::new(rig, spec, &limbs)))
            }
            BaseSpec::IncrementalRotation(spec) => {
                let name = "incremental-rotation";
                let tables = JointTables {
                    joints: looked_up(rig, &spec.joints, name)?,
                    dividers: looked_up(rig, &spec.dividers, name)?,
                };
                Base::ByPoint(Box::new(ByPoint::incremental_rotation(rig, spec, &tables)))
            }
            BaseSpec::CentresOfRotation => Base::ByPoint(Box::new(ByPoint::centres_of_rotation(rig))),
            BaseSpec::StretchableTwistable { share } => {
                Base::ByPoint(Box::new(ByPoint::stretchable_twistable(rig, *share)))
            }
            BaseSpec::Blend { factor, map, pivot } => {
                Base::Blend(painted(rig, map.as_deref(), *factor)?, antipodality(rig, *pivot))
            }
        };
        let tree = tree(rig, &recipe.hierarchy)?;
        let mut filtered: Vec<FilteredSignal> = Vec::new();
        let corrections = corrections(rig, recipe, &mut filtered)?;
        // Composed rotations and corrections, and points carried in steps, have no closed Jacobian here.
        let carried = matches!(base, Base::FoldOverFree(_) | Base::ByPoint(_));
        let closed = corrections.is_empty() && !carried && !recipe.effects.iter().any(|effect| effect.compensate);
        let normals = match recipe.normals {
            Normals::Engine => NormalsPlan::Engine,
            Normals::Auto if recipe.effects.is_empty() && corrections.is_empty() && !carried => NormalsPlan::Engine,
            Normals::Auto | Normals::Exact if closed => NormalsPlan::Exact {
                gradients: Gradients::new(rig, &tree),
                factor: match (&base, &recipe.base) {
                    (Base::Blend(factors, _), BaseSpec::Blend { map: Some(_), .. }) => Some(gradient_of(rig, factors)),
                    _ => None,
                },
            },
            _ => NormalsPlan::Faces(Fans::new(rig)),
        };
        let exact = matches!(normals, NormalsPlan::Exact { .. });
        let effects = recipe
            .effects
            .iter()
            .map(|spec| GraphEffect::build(rig, &tree, recipe.riders, spec, exact, &mut filtered))
            .collect::<Result<Vec<_>, _>>()?;
        let stretches = if effects.is_empty() { Stretches::default() } else { Stretches::new(rig, &tree) };
        let exact_base = exact && recipe.normals == Normals::Exact;
        let adds = !(effects.is_empty() && corrections.is_empty());
        let max_total = recipe.max_total;
        Ok(Self {
            base,
            tree,
            effects,
            stretches,
            max_total,
            corrections,
            base_meter: None,
            normals,
            exact_base,
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
    pub fn by_point(&self) -> Option<&ByPoint> {
        match &self.base {
            Base::ByPoint(base) => Some(base),
            _ => None,
        }
    }

    /// The muscles of its corrections: those named, or those found in fleshy places.
    pub fn muscles(&self) -> Vec<MuscleReport> {
        self.corrections.muscles()
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
fn corrections(rig: &Rig, recipe: &Recipe, filtered: &mut Vec<FilteredSignal>) -> Result<Corrections, GraphError> {
    let active = recipe.corrections.iter().filter(|spec| spec.gain != 0.0);
    let asked = active.map(|spec| {
        let name = spec.correction.name;
        let painted = spec.map.as_deref().map(|map| painted(rig, Some(map), 1.0)).transpose()?;
        let mut distances = Vec::new();
        for (pattern, counted) in &spec.bones {
            let mut bones = Vec::new();
            for pattern in counted {
                bones.extend(bones_called(rig, pattern, name)?);
            }
            distances.push((bones_called(rig, pattern, name)?.collect(), bones));
        }
        let mut muscles = Vec::new();
        for (pattern, muscle) in &spec.muscles {
            muscles.push(bound_muscle(rig, pattern, muscle, name)?);
        }
        let felt = if name == "muscles" { felt_signals(&spec.values) } else { Vec::new() };
        let signals = felt.into_iter().map(|felt| felt.map(|wanted| place_of(wanted, filtered))).collect();
        let factors = looked_up(rig, &spec.factors, name)?;
        let painted_by = |(param, map): &(&'static str, String)| Ok((*param, self::painted(rig, Some(map), 1.0)?));
        Ok(Asked {
            correction: spec.correction,
            values: &spec.values,
            gain: spec.gain,
            painted,
            distances,
            muscles,
            signals,
            factors,
            painted_factors: spec.painted.iter().map(painted_by).collect::<Result<_, GraphError>>()?,
        })
    });
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let edits = recipe.edits.iter().filter(|edit| edit.amount.keys().iter().any(|key| key.1 != 0.0));
    let edits = edits.map(|edit| asked_edit(rig, edit)).collect::<Result<Vec<_>, _>>()?;
    let no_springs = !asked.iter().any(|asked| asked.correction.name == "springs");
    if no_springs && edits.iter().any(|edit| edit.spec.drive == Drive::Springs) {
        return Err(GraphError::NoSprings);
    }
    Ok(Corrections::build(rig, &asked, &edits))
}

/// An edit with its names looked up.
fn asked_edit<'a>(rig: &Rig, spec: &'a EditSpec) -> Result<AskedEdit<'a>, GraphError> {
    let mut bones = Vec::new();
    for pattern in &spec.bones {
        bones.extend(bones_called(rig, pattern, "edit")?);
    }
    let fields = match &spec.shape {
        EditShape::Shape(keys) => {
            let field = |(time, name): &(f64, String)| Ok((*time, field(rig, name)?));
            Fields(keys.iter().map(field).collect::<Result<_, GraphError>>()?)
        }
        EditShape::Radial(_) | EditShape::Wave { .. } => Fields::default(),
    };
    let painted = spec.map.as_deref().map(|map| painted(rig, Some(map), 1.0)).transpose()?;
    Ok(AskedEdit { spec, fields, bones, painted })
}

/// The maps of the shape of that name; an empty name is no change.
fn field(rig: &Rig, name: &str) -> Result<Field, GraphError> {
    let map = |part: &str| painted(rig, Some(&format!("{name}{part}")), 1.0);
    let [length, x, y, z] = [".length", ".turn.x", ".turn.y", ".turn.z"].map(|part| map(part).ok());
    let changes = [length, x, y, z];
    if !name.is_empty() && changes.iter().all(Option::is_none) {
        return map(".length").map(|_| Field::default());
    }
    Ok(Field { inside: map("").ok(), changes })
}

/// A muscle with its names looked up.
fn bound_muscle(
    rig: &Rig,
    pattern: &str,
    muscle: &MuscleSpec,
    correction: &'static str,
) -> Result<BoundMuscle, GraphError> {
    let mut flexed_by = Vec::new();
    for pattern in &muscle.flexed_by {
        flexed_by.extend(bones_called(rig, pattern, correction)?);
    }
    Ok(BoundMuscle {
        bones: bones_called(rig, pattern, correction)?.collect(),
        flexed_by,
        shape: muscle.shape,
        painted: muscle.map.as_deref().map(|map| painted(rig, Some(map), 1.0)).transpose()?,
    })
}

/// The place of a signal in the list, which it is added to where it is new.
fn place_of(wanted: FilteredSignal, filtered: &mut Vec<FilteredSignal>) -> usize {
    let known = filtered.iter().position(|entry| *entry == wanted);
    known.unwrap_or_else(|| {
        filtered.push(wanted);
        filtered.len() - 1
    })
}

fn antipodality(rig: &Rig, pivot: bool) -> Antipodality {
    if pivot { Antipodality::pivot(rig) } else { Antipodality::Parent }
}

/// `factor` times a painted map, per row.
fn painted(rig: &Rig, map: Option<&str>, factor: f64) -> Result<Vec<Lanes>, GraphError> {
    let factor = factor as f32;
    match map {
        None => Ok(vec![[factor; LANES]; rig.rows().len()]),
        Some(name) => match rig.maps().iter().find(|map| map.name == name) {
            Some(map) => Ok(map.values.iter().map(|row| row.map(|value| value * factor)).collect()),
            None => Err(GraphError::UnknownMap {
                name: name.to_owned(),
                nearest: nearest(name, rig.maps().iter().map(|map| map.name.as_str())),
            }),
        },
    }
}

/// A table by bone names, with the bones in their place.
fn looked_up<T: Clone>(
    rig: &Rig,
    table: &[(String, T)],
    place: &'static str,
) -> Result<Vec<(Vec<crate::BoneId>, T)>, GraphError> {
    table.iter().map(|(pattern, value)| Ok((bones_called(rig, pattern, place)?.collect(), value.clone()))).collect()
}

/// The bones whose names match, or the error that names the nearest.
fn bones_called<'a>(
    rig: &'a Rig,
    pattern: &'a str,
    effect: &'static str,
) -> Result<impl Iterator<Item = crate::BoneId> + 'a, GraphError> {
    let skeleton = rig.skeleton();
    let mut found = skeleton.bones().filter(move |&bone| wildcard(pattern, skeleton.name(bone))).peekable();
    if found.peek().is_some() {
        return Ok(found);
    }
    let names = skeleton.bones().map(|bone| skeleton.name(bone));
    Err(GraphError::UnknownBone { pattern: pattern.to_owned(), effect, nearest: nearest(pattern, names) })
}

impl GraphEffect {
    fn build(
        rig: &Rig,
        tree: &Propagated,
        riders: Riders,
        spec: &EffectSpec,
        exact: bool,
        filtered: &mut Vec<FilteredSignal>,
    ) -> Result<Self, GraphError> {
        let name = spec.effect.name();
        let mut gains = painted(rig, spec.map.as_deref(), spec.gain)?;
        if riders == Riders::Still {
            let gains = gains.as_flattened_mut().iter_mut().enumerate();
            gains.filter(|(slot, _)| rig.is_rider(*slot)).for_each(|(_, gain)| *gain = 0.0);
        }
        let mut bone_gains = vec![BoneGain::default(); rig.skeleton().len()];
        for (pattern, gain) in &spec.bones {
            for bone in bones_called(rig, pattern, name)? {
                bone_gains[bone.index()] = *gain;
            }
        }
        for bone in rig.skeleton().bones().filter(|&bone| tree.is_root(bone)) {
            let gain = &mut bone_gains[bone.index()];
            (gain.translation, gain.rotation) = (gain.translation * spec.root, gain.rotation * spec.root);
        }
        let mut inputs = [Source::Unused; 4];
        for input in spec.effect.inputs() {
            let signal = input.signal();
            inputs[signal as usize] = match input.filter(&spec.values) {
                None => Source::Smoothed,
                Some(filter) => Source::Filtered(place_of(FilteredSignal { signal, filter }, filtered)),
            };
        }
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
        // An effect that acts nowhere needs no cone, and none could be fitted.
        let acts = gains.iter().flatten().any(|&gain| gain != 0.0);
        let cone = spec.cone.as_ref().filter(|_| acts);
        let cone = cone.map(|cone| ConeFilter::build(rig, tree.hierarchy(), spec, cone, &gains, exact)).transpose()?;
        let gain_gradients = (exact && spec.map.is_some()).then(|| gradient_of(rig, &gains));
        let alike = gains.first().map(|row| row[0]).filter(|gain| gains.iter().flatten().all(|other| other == gain));
        Ok(Self {
            name,
            node: spec.effect.node(&spec.values),
            values: spec.values.clone(),
            gains,
            alike: alike.filter(|_| cone.is_none() && !spec.compensate),
            gain_gradients,
            bone_gains,
            raw: spec.raw,
            compensate: spec.compensate,
            cone,
            inputs,
            keys,
            gain_keys,
        })
    }
}
