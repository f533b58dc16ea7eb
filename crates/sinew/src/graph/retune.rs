//! A graph that follows another recipe in place: what only numbers and painted values decide is filled in again, in
//! memory that is there, by the functions that filled it in at first, so that it is the graph of the other recipe to the
//! bit.
//!
//! What may fail, or cannot be followed, is found out before anything is touched.

use super::cone_filter::ConeFilter;
use super::{
    Base, FrameIndependentGraph, GraphEffect, GraphError, Maps, NormalsPlan, asked_correction, asked_edits,
    fill_bone_gains, fill_gains, fill_painted, inputs, is_active,
};
use crate::base::BLEND;
use crate::gradients::gradient_into;
use crate::motion::FilteredSignal;
use crate::propagated::Propagated;
use crate::recipe::{BaseSpec, ConeSpec, CorrectionSpec, EditShape, EditSpec, EffectSpec, Recipe, Riders};

/// The parameter of a blend that follows in place.
const FACTOR: &str = "factor";

/// From one recipe to another.
pub(crate) struct Change<'a> {
    /// The recipe that the graph was made by.
    pub held: &'a Recipe,
    pub wanted: &'a Recipe,
    /// A map whose values have changed.
    pub repainted: Option<&'a str>,
}

/// What of an effect must be made before anything is touched.
struct Refit(usize, Option<ConeFilter>);

impl FrameIndependentGraph {
    /// Follows the change; whether other signals are filtered than before. `None`, and nothing touched, where the graph
    /// has to be built anew.
    pub fn retune(&mut self, maps: Maps<'_>, change: &Change<'_>) -> Result<Option<bool>, GraphError> {
        let Change { held, wanted, .. } = *change;
        let rig = maps.rig;
        if !same_structure(held, wanted) {
            return Ok(None);
        }
        let rebases = held.base != wanted.base || change.paints(|map| base_reads(&wanted.base, map));
        if rebases && !change.blends() {
            return Ok(None);
        }
        for (index, pair) in change.corrections().enumerate() {
            if let (true, repainted) = change.touches(pair) {
                let asked = asked_correction(maps, pair.1, &mut Vec::new())?;
                if !self.corrections.can_follow(rig, index, &asked, repainted) {
                    return Ok(None);
                }
            }
        }
        let redrawn = if change.redraws() { Some(asked_edits(maps, wanted)?) } else { None };
        let refits = self.refits(maps, change)?;

        // From here on nothing fails: names are those that were found before.
        let refilters = change.refilters();
        let before = refilters.then(|| std::mem::take(&mut self.filtered));
        if rebases && let Base::Blend(factors, _) = &mut self.base {
            fill_painted(maps, wanted.base.map.as_deref(), wanted.base.values.number(FACTOR), factors)?;
            if let NormalsPlan::Exact { factor: Some(gradients), .. } = &mut self.normals {
                gradient_into(rig, factors, gradients);
            }
        }
        for (index, pair) in change.corrections().enumerate() {
            let (touched, repainted) = change.touches(pair);
            if touched || (refilters && !signals(pair.1).is_empty()) {
                let asked = asked_correction(maps, pair.1, &mut self.filtered)?;
                self.corrections.retune(rig, index, &asked, repainted);
            }
        }
        match redrawn {
            Some(edits) => self.corrections.redraw(rig, &edits),
            None if held.edits != wanted.edits => self.corrections.retune_edits(&wanted.edits),
            None => {}
        }
        self.max_total = wanted.max_total;
        if let Some(settle) = &mut self.settle {
            settle.retune(wanted);
        }
        for (effect, pair) in self.effects.iter_mut().zip(change.effects()) {
            if refilters {
                effect.inputs = inputs(pair.1, &mut self.filtered);
            }
            let regains = change.regains(pair);
            if regains || !same_effect(pair.0, pair.1) {
                effect.retune(maps, &self.tree, wanted.riders, pair.1, regains)?;
            }
        }
        for Refit(index, cone) in refits {
            let effect = &mut self.effects[index];
            effect.cone = cone;
            effect.alike = effect.gain_alike();
        }
        Ok(Some(before.is_some_and(|before| before != self.filtered)))
    }

    /// The cones of effects whose region has changed.
    fn refits(&self, maps: Maps<'_>, change: &Change<'_>) -> Result<Vec<Refit>, GraphError> {
        let exact = matches!(self.normals, NormalsPlan::Exact { .. });
        let mut refits = Vec::new();
        for (index, pair) in change.effects().enumerate() {
            if pair.1.cone.is_some() && change.regains(pair) {
                let mut gains = Vec::new();
                fill_gains(maps, change.wanted.riders, pair.1, self.effects[index].parts.as_ref(), &mut gains)?;
                refits
                    .push(Refit(index, ConeFilter::of_effect(maps.rig, self.tree.hierarchy(), pair.1, &gains, exact)?));
            }
        }
        Ok(refits)
    }
}

impl GraphEffect {
    fn retune(
        &mut self,
        maps: Maps<'_>,
        tree: &Propagated,
        riders: Riders,
        spec: &EffectSpec,
        regains: bool,
    ) -> Result<(), GraphError> {
        self.node.retune(&spec.values);
        self.values.clone_from(&spec.values);
        self.raw = spec.raw;
        fill_bone_gains(maps.rig, tree, spec, &mut self.bone_gains)?;
        for (name, curve) in &spec.keys {
            match self.keys.iter_mut().find(|(key, _)| key == name) {
                Some((_, held)) => held.clone_from(curve),
                None => self.gain_keys = Some(curve.clone()),
            }
        }
        if regains {
            fill_gains(maps, riders, spec, self.parts.as_ref(), &mut self.gains)?;
            if let Some(gradients) = &mut self.gain_gradients {
                gradient_into(maps.rig, &self.gains, gradients);
            }
        }
        if let (Some(cone), Some(wanted)) = (&mut self.cone, &spec.cone) {
            cone.retune(spec, wanted);
        }
        self.alike = self.gain_alike();
        Ok(())
    }
}

impl<'a> Change<'a> {
    fn effects(&self) -> impl Iterator<Item = (&'a EffectSpec, &'a EffectSpec)> {
        self.held.effects.iter().zip(&self.wanted.effects)
    }

    /// Those that do something, before and after.
    fn corrections(&self) -> impl Iterator<Item = (&'a CorrectionSpec, &'a CorrectionSpec)> {
        let pairs = self.held.corrections.iter().zip(&self.wanted.corrections);
        pairs.filter(|(_, wanted)| wanted.gain != 0.0)
    }

    fn paints(&self, reads: impl Fn(&str) -> bool) -> bool {
        self.repainted.is_some_and(reads)
    }

    /// Whether gains are others.
    fn regains(&self, (held, wanted): (&EffectSpec, &EffectSpec)) -> bool {
        held.gain != wanted.gain
            || self.held.riders != self.wanted.riders
            || self.paints(|map| wanted.map.as_deref() == Some(map))
    }

    /// Whether a correction is to follow anything, and whether that is a map.
    fn touches(&self, (held, wanted): (&CorrectionSpec, &CorrectionSpec)) -> (bool, bool) {
        let repainted = self.paints(|map| {
            let factors = wanted.painted.iter().map(|(_, map)| map.as_str());
            wanted.map.as_deref().into_iter().chain(factors).any(|own| own == map) || wanted.tables.reads(map)
        });
        let same = held.values == wanted.values && held.gain == wanted.gain && held.tables == wanted.tables;
        (repainted || !same, repainted)
    }

    /// Whether the factor of a blend, or its map, is all that has changed about the base.
    fn blends(&self) -> bool {
        let (held, wanted) = (&self.held.base, &self.wanted.base);
        let same = |name: &str| name == FACTOR || held.values.number(name) == wanted.values.number(name);
        *wanted.base == BLEND
            && held.base == wanted.base
            && held.map == wanted.map
            && wanted.base.params.iter().all(|param| same(param.name))
    }

    /// Whether edits have other shapes or places.
    fn redraws(&self) -> bool {
        let mut edits = self.held.edits.iter().zip(&self.wanted.edits).filter(|(_, wanted)| is_active(wanted));
        edits.any(|(held, wanted)| {
            let same = held.shape == wanted.shape && held.bones == wanted.bones && held.map == wanted.map;
            !same || self.paints(|map| edit_reads(wanted, map))
        })
    }

    /// Whether some filter is another one.
    fn refilters(&self) -> bool {
        let refilters = |(held, wanted): (&EffectSpec, &EffectSpec)| {
            let mut inputs = wanted.effect.inputs().iter();
            inputs.any(|input| input.filter(&held.values) != input.filter(&wanted.values))
        };
        self.effects().any(refilters)
            || self.corrections().any(|(held, wanted)| {
                (held.values != wanted.values || held.tables != wanted.tables) && signals(held) != signals(wanted)
            })
    }
}

fn signals(spec: &CorrectionSpec) -> Vec<FilteredSignal> {
    (spec.correction.signals)(&spec.values, &spec.tables)
}

/// Whether what differs between two recipes is numbers, and nothing that the shape of the graph depends on. Bases are
/// looked at apart.
fn same_structure(held: &Recipe, wanted: &Recipe) -> bool {
    fn all<T>(held: &[T], wanted: &[T], same: impl Fn(&T, &T) -> bool) -> bool {
        held.len() == wanted.len() && held.iter().zip(wanted).all(|(held, wanted)| same(held, wanted))
    }
    let same_cone = |held: &ConeSpec, wanted: &ConeSpec| held.bone == wanted.bone && held.cone == wanted.cone;
    let effects = all(&held.effects, &wanted.effects, |held, wanted| {
        held.effect == wanted.effect
            && held.map == wanted.map
            && held.parts == wanted.parts
            && held.compensate == wanted.compensate
            && all(&held.bones, &wanted.bones, |held, wanted| held.0 == wanted.0)
            && all(&held.keys, &wanted.keys, |held, wanted| held.0 == wanted.0)
            && match (&held.cone, &wanted.cone) {
                (Some(held), Some(wanted)) => same_cone(held, wanted),
                (None, None) => true,
                _ => false,
            }
    });
    // What has a gain of 0 is no part of the graph.
    let corrections = all(&held.corrections, &wanted.corrections, |held, wanted| {
        held.correction == wanted.correction
            && (held.gain == 0.0) == (wanted.gain == 0.0)
            && held.map == wanted.map
            && held.tables.same_but_for_numbers(&wanted.tables)
            && held.painted == wanted.painted
    });
    let edits = all(&held.edits, &wanted.edits, |held, wanted| {
        held.drive == wanted.drive && is_active(held) == is_active(wanted)
    });
    let pieces = held.rigid == wanted.rigid && held.sewn == wanted.sewn && held.collide == wanted.collide;
    let tree = held.hierarchy == wanted.hierarchy && pieces && held.planted == wanted.planted;
    held.normals == wanted.normals && tree && effects && corrections && edits
}

/// Whether two effects of the same structure have the same numbers.
fn same_effect(held: &EffectSpec, wanted: &EffectSpec) -> bool {
    held.values == wanted.values
        && held.gain == wanted.gain
        && held.raw == wanted.raw
        && held.root == wanted.root
        && held.bones == wanted.bones
        && held.keys == wanted.keys
        && held.cone == wanted.cone
}

fn base_reads(base: &BaseSpec, map: &str) -> bool {
    base.map.as_deref() == Some(map) || base.tables.reads(map)
}

fn edit_reads(edit: &EditSpec, map: &str) -> bool {
    let part_of = |name: &str| map.strip_prefix(name).is_some_and(|part| part.is_empty() || part.starts_with('.'));
    let shape = match &edit.shape {
        EditShape::Shape(keys) => keys.iter().any(|(_, name)| !name.is_empty() && part_of(name)),
        EditShape::Radial(_) | EditShape::Wave { .. } => false,
    };
    shape || edit.map.as_deref() == Some(map)
}

/// Takes over the numbers of a recipe of the same structure, in memory that is there.
pub(crate) fn adopt(held: &mut Recipe, wanted: &Recipe) {
    if held.base != wanted.base {
        held.base = wanted.base.clone();
    }
    (held.riders, held.normals) = (wanted.riders, wanted.normals);
    (held.max_total, held.max_strain) = (wanted.max_total, wanted.max_strain);
    for (held, wanted) in held.effects.iter_mut().zip(&wanted.effects) {
        held.values.clone_from(&wanted.values);
        (held.gain, held.raw, held.root) = (wanted.gain, wanted.raw, wanted.root);
        held.bones.iter_mut().zip(&wanted.bones).for_each(|(held, wanted)| held.1 = wanted.1);
        held.keys.iter_mut().zip(&wanted.keys).for_each(|(held, wanted)| held.1.clone_from(&wanted.1));
        if let (Some(held), Some(wanted)) = (&mut held.cone, &wanted.cone) {
            (held.gain, held.max_length) = (wanted.gain, wanted.max_length);
        }
    }
    for (held, wanted) in held.corrections.iter_mut().zip(&wanted.corrections) {
        held.values.clone_from(&wanted.values);
        held.gain = wanted.gain;
        if held.tables != wanted.tables {
            held.tables.clone_from(&wanted.tables);
        }
    }
    for (held, wanted) in held.edits.iter_mut().zip(&wanted.edits) {
        if held.shape != wanted.shape || held.bones != wanted.bones || held.map != wanted.map {
            held.clone_from(wanted);
        }
        held.amount.clone_from(&wanted.amount);
        held.stiffness = wanted.stiffness;
    }
}
