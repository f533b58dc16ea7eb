//! Flesh that lags behind, swings on, sags and bulges (KD 5).
//!
//! Muscles are ellipsoids, capsules or pieces of the skin itself, placed by the recipe or fitted to the nodes that follow a
//! bone most. Each gives vortices to one field ([`crate::kinodynamic`]) that carries the skin: muscles that touch move each
//! other's skin. A muscle with a map of its own has a field of its own, of which each node takes what is painted; all fields
//! are followed as one. So has one that bends a limb, whose skin takes nothing of it. Where the recipe names none, every bone that carries flesh (`flesh`) has one, and its shares are
//! its map. Fields keep volume; maps on them nearly, as both sides of a limb go the same way.
//!
//! The sway of a limb is what the oscillators of [`crate::motion`] make of what it feels: run ahead over the clip, so every
//! frame stands alone and loops close; or over a window of time before the frame, at whose start the flesh hangs still.
//! The paper's own form accumulates what the vorticity does in each instant of the window, `p += δt V_Ẋ(p)`, which depends
//! on the path and leaves a little of it behind; here the instants are [`INSTANTS`] parts of the window, in the limb's own
//! frame.
//!
//! Oracle: life 1 leaves the skin alone; the same bits in any frame order; loops close; windows that grow come to the run
//! ahead; size is all that scale changes (tests/muscles.rs).

use super::body::{AllWays, Body, Reach, Surface, Ways};
use super::bound::{Binding, Bound, Log, PosedBones, Work, node_means};
use super::entry::{Correction, bones};
use super::flesh::{Flesh, flesh};
use super::muscle_spec::{FLESH_SIGNALS, FORCE_SIGNALS, FORCES, FittedShape, MUSCLE_TABLE, SETTINGS};
use super::report::MuscleReport;
use crate::kinodynamic::{Blocks, Follow, Followers, Following, Muscle, Shape, Sway, VortexField, spread};
use crate::motion::{Filter, FilteredSignal, Oscillator, Signal, Window};
use crate::param::{ParamSpec, Values};
use crate::polar::polar_rotation;
use crate::recipe::KeyCurve;
use crate::rig::Rig;
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use crate::table::{BoundRow, Row, RowOf, Tables};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::f64::consts::TAU;
use std::sync::Arc;

const HISTORIES: &[&str] = &["clip", "window", "accumulated"];

/// The correction `muscles`.
pub(super) const MUSCLES: Correction = Correction {
    name: "muscles",
    about: "makes flesh lag behind the bones, overshoot, and bulge where joints bend",
    params: PARAMS,
    mapped: Some("gain"),
    tables: &[
        bones("bones with a muscle, and the bones whose bending contracts it; by default fleshy places are found"),
        MUSCLE_TABLE,
    ],
    scaled: &[],
    signals: flesh_signals,
    bind: |binding| Box::new(Muscles::bind(binding)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::choice(
        "shape",
        FittedShape::WORDS,
        "shape of muscles fitted to the skin; a region is the skin itself, moved inward",
    ),
    SETTINGS[0],
    SETTINGS[1],
    SETTINGS[2],
    SETTINGS[3],
    SETTINGS[4],
    SETTINGS[5],
    SETTINGS[6],
    SETTINGS[7],
    SETTINGS[8],
    SETTINGS[9],
    FORCES[0],
    FORCES[1],
    FORCES[2],
    FORCES[3],
    FORCES[4],
    FORCES[5],
    FORCES[6],
    ParamSpec::number(
        "reach",
        "× muscle radius",
        [1.5, 6.0],
        4.0,
        "how far skin is carried along; below 3, more within than on the skin",
    ),
    ParamSpec::number("samples", "", [16.0, 400.0], 64.0, "number of vortices per muscle"),
    ParamSpec::choice(
        "history",
        HISTORIES,
        "what the flesh remembers: the whole clip, a window before each frame, or that window accumulated as in the paper",
    ),
    ParamSpec::number("window", "s", [0.0, Window::LONGEST_SECS], 0.5, "length of the window; 0 uses only the pose"),
];

/// Instants of a window whose displacements are accumulated.
const INSTANTS: u32 = 32;

/// Whether a muscle swings at a pace of its own.
fn has_own_pace<B, M>(row: &RowOf<B, M>) -> bool {
    row.number("frequency").is_some() || row.number("damping").is_some()
}

/// A setting of a muscle: its own, else that of all.
fn setting<B, M>(values: &Values, row: Option<&RowOf<B, M>>, name: &str) -> f64 {
    row.and_then(|row| row.number(name)).unwrap_or_else(|| values.number(name))
}

/// Whether forces come from elsewhere than above.
fn has_forces(values: &Values) -> bool {
    values.number("wind") != 0.0 || values.number("tilt") != 0.0
}

/// The signals that a recipe asks for: those of all muscles, then those of each muscle with a pace of its own; now and,
/// where a window is accumulated, at its instants, back in time. Then the world's other axes, for all of these, where forces
/// come from there.
fn flesh_signals(values: &Values, tables: &Tables) -> Vec<FilteredSignal> {
    let felt =
        [Signal::FleshAcceleration, Signal::FleshStrainX, Signal::FleshStrainY, Signal::FleshStrainZ, Signal::FleshUp];
    let secs = values.number("window");
    let filters = |row: Option<&Row>| -> Vec<Filter> {
        let pace = ["frequency", "damping"].map(|name| setting(values, row, name));
        let Some(oscillator) = Oscillator::new(pace[0], pace[1]) else { return Vec::new() };
        let aged = |age: u32| Window::new(oscillator, secs, secs * f64::from(age) / f64::from(INSTANTS));
        match values.word("history") {
            "window" => aged(0).map(Filter::Window).into_iter().collect(),
            "accumulated" => (0..=INSTANTS).filter_map(aged).map(Filter::Window).collect(),
            _ => vec![Filter::Oscillator(oscillator)],
        }
    };
    let own = tables.rows(MUSCLE_TABLE.key).iter().map(|(_, row)| row).filter(|row| has_own_pace(row));
    let all: Vec<Filter> = std::iter::once(None).chain(own.map(Some)).flat_map(filters).collect();
    let through = |signals: &[Signal]| {
        let each = |&filter: &Filter| signals.iter().map(move |&signal| FilteredSignal { signal, filter });
        all.iter().flat_map(each).collect::<Vec<_>>()
    };
    let mut signals = through(&felt);
    if has_forces(values) {
        signals.extend(through(&[Signal::FleshRight, Signal::FleshFront]));
    }
    signals
}

/// The signals of each pace and moment, and the world's other axes where they are read.
fn read_signals<'a>(binding: &Binding<'a>) -> (&'a [[usize; FLESH_SIGNALS]], &'a [[usize; FORCE_SIGNALS]]) {
    let each = FLESH_SIGNALS + if has_forces(binding.values) { FORCE_SIGNALS } else { 0 };
    let (felt, others) = binding.signals.split_at(binding.signals.len() / each * FLESH_SIGNALS);
    (felt.as_chunks().0, others.as_chunks().0)
}

/// Forces from outside, in the world.
#[derive(Clone, Copy, Debug)]
struct Forces {
    /// Where gravity pulls.
    down: DVec3,
    /// The wind in sizes per second squared.
    wind: DVec3,
    gusts: f64,
    gust_rate: f64,
}

impl Forces {
    fn of(values: &Values) -> Self {
        let number = |name: &str| values.number(name);
        let along = |heading: f64, lift: f64| {
            let ((sin, cos), (up, level)) = (heading.to_radians().sin_cos(), lift.to_radians().sin_cos());
            DVec3::new(sin * level, up, cos * level)
        };
        // Straight down to the bit.
        let down = if number("tilt") == 0.0 { DVec3::NEG_Y } else { along(number("heading"), number("tilt") - 90.0) };
        Self {
            down,
            wind: along(number("wind_heading"), number("wind_lift")) * number("wind"),
            gusts: number("gusts"),
            gust_rate: number("gust_rate"),
        }
    }

    /// The wind as flesh of this pace gives way to it at a time, in its mean: what a damped oscillator makes of waves, each a
    /// whole number of times in a loop.
    fn blowing(&self, (hertz, damping): (f64, f64), time: f64, cycle: Option<(f64, f64)>) -> f64 {
        if self.gusts == 0.0 {
            return 1.0;
        }
        let wave = |&(times, share): &(f64, f64)| {
            let (rate, turns) = match cycle {
                Some((start, period)) if period > 0.0 => {
                    let count = (self.gust_rate * times * period).round().max(1.0);
                    (count / period, (count * ((time - start) / period).fract()).fract())
                }
                _ => (self.gust_rate * times, (self.gust_rate * times * time).fract()),
            };
            // 1/(1 − r² + 2iζr).
            let ratio = rate / hertz;
            let (real, imaginary) = (1.0 - ratio * ratio, 2.0 * damping * ratio);
            let (sin, cos) = (TAU * turns).sin_cos();
            share * (sin * real - cos * imaginary) / (real * real + imaginary * imaginary)
        };
        1.0 + self.gusts * GUSTS.iter().map(wave).sum::<f64>()
    }
}

/// Waves of a gust: how often, in the rate that is asked for, and their share.
const GUSTS: [(f64, f64); 3] = [(1.0, 0.55), (1.7, 0.3), (2.9, 0.15)];

/// Radii of a muscle, in those of the ellipsoid through its skin.
const UNDER_THE_SKIN: f64 = 0.8;

/// The muscles of one character.
pub(super) struct Muscles {
    muscles: Vec<Placed>,
    ways: Arc<Ways>,
    /// Of those, which have a field of their own.
    painted: Vec<usize>,
    blocks: Blocks,
    /// What their shapes come from.
    form: (&'static str, f64, f64),
    /// Per pace, per moment that is read, from now back; and the world's other axes where they are read.
    signals: Vec<[usize; FLESH_SIGNALS]>,
    axes: Vec<[usize; FORCE_SIGNALS]>,
    forces: Forces,
    paces: usize,
    accumulates: bool,
    /// Per node: how much of all fields moves it.
    shares: Vec<f64>,
}

/// How a muscle moves.
#[derive(Clone, Copy, Debug)]
struct Motion {
    /// Of the felt accelerations and of gravity, in seconds squared and lengths.
    inertia: f64,
    gravity: f64,
    /// Of a wind of one size per second squared.
    wind: f64,
    pace: (f64, f64),
    stretch: f64,
    contraction: f64,
    stiffening: f64,
    limit: f64,
    /// Where a contraction is full, as [`Placed::bend`] tells it.
    full: f64,
}

impl Motion {
    fn new(number: impl Fn(&str) -> f64, gain: f64, size: f64) -> Self {
        let stiffness = (TAU * number("frequency")).powi(2);
        let density = number("density");
        let strength = gain * (density - 1.0) / (density + 1.0) / stiffness;
        Self {
            inertia: strength * (1.0 - number("life")),
            gravity: strength * number("gravity") * size,
            wind: strength * size,
            pace: (number("frequency"), number("damping")),
            stretch: gain * number("stretch"),
            contraction: gain * number("contraction"),
            stiffening: number("stiffening"),
            limit: number("limit"),
            full: (0.5 * number("full_at")).to_radians().sin().powi(2),
        }
    }
}

/// How a muscle moves over time.
#[derive(Clone, Debug)]
struct Motions {
    /// Without keys.
    constant: Motion,
    /// What all of it is made of, where some of it is keyed: each setting, and its keys.
    keyed: Vec<(f64, Option<KeyCurve>)>,
    gain: f64,
    size: f64,
}

impl Motions {
    fn of(binding: &Binding<'_>, row: Option<usize>) -> Self {
        let Binding { rig, surface, values, gain, tables, .. } = *binding;
        let row = row.map(|row| &tables.rows(MUSCLE_TABLE.key)[row].1);
        let number = |name: &str| setting(values, row, name);
        let size = rig.characters()[surface.character].size;
        let curve = |name: &str| row.and_then(|row| row.curve(name)).cloned();
        let keyed: Vec<_> = SETTINGS.iter().map(|spec| (number(spec.name), curve(spec.name))).collect();
        let is_keyed = keyed.iter().any(|(_, curve)| curve.is_some());
        Self { constant: Motion::new(number, gain, size), keyed: if is_keyed { keyed } else { Vec::new() }, gain, size }
    }

    /// Now.
    fn at(&self, time: f64) -> Motion {
        if self.keyed.is_empty() {
            return self.constant;
        }
        let number = |name: &str| {
            let (value, curve) = &self.keyed[SETTINGS.iter().position(|spec| spec.name == name).unwrap_or(0)];
            curve.as_ref().map_or(*value, |curve| curve.at(time))
        };
        Motion::new(number, self.gain, self.size)
    }
}

/// What the shapes of muscles come from.
fn form_of(binding: &Binding<'_>) -> (&'static str, f64, f64) {
    let values = binding.values;
    (values.word("shape"), values.number("samples"), values.number("reach"))
}

fn accumulates(binding: &Binding<'_>) -> bool {
    binding.values.word("history") == "accumulated"
}

/// How much of all fields moves each node.
fn shares(binding: &Binding<'_>) -> impl Iterator<Item = f64> {
    let share = |(slots, is_rider): (&[u32], bool)| {
        if is_rider { 0.0 } else { binding.painted.map_or(1.0, |map| mean(slots, map)) }
    };
    binding.surface.members.iter().zip(binding.rider_nodes()).map(share)
}

/// Memory for one character.
#[derive(Clone, Debug, Default)]
pub(super) struct MuscleWork {
    /// The first for all muscles without a map of their own.
    fields: Vec<VortexField>,
    followers: Followers,
    /// Per muscle: now, and before.
    sways: [Vec<Sway>; 2],
}

struct Placed {
    bone: BoneId,
    muscle: Muscle,
    /// Bones whose bending contracts it, with their turns at rest.
    flexed_by: Vec<(BoneId, DQuat)>,
    /// Its share of each node, where it has a map of its own.
    painted: Option<Vec<f64>>,
    motions: Motions,
    from: Source,
}

/// What a muscle has from the recipe.
#[derive(Clone, Copy, Debug, Default)]
struct Source {
    /// Its row among the muscles, where it is one of them.
    row: Option<usize>,
    /// Its pace: 0 that of all.
    pace: usize,
    /// What it is stretched along, where not along its longest axis.
    axis: Option<DVec3>,
}

impl Muscles {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, values, .. } = *binding;
        let number = |name: &str| values.number(name);
        let samples = number("samples") as usize;
        let default = FittedShape::named(values.word("shape"));
        let asked = binding.tables.rows(MUSCLE_TABLE.key);
        let skin = Skin::new(rig, surface);
        let rest_turn = |&bone: &BoneId| {
            let local = rig.skeleton().rest_locals()[bone.index()].to_affine();
            (bone, turn(local.matrix3))
        };
        let mut muscles = Vec::new();
        type Shares = Option<Vec<f64>>;
        let mut place = |bone: BoneId, shape: Option<Shape>, flexed_by: &[BoneId], painted: Shares, from: Source| {
            if let Some(muscle) = shape.and_then(|shape| Muscle::new(&shape, samples, number("reach"))) {
                let target = from.row.and_then(|row| asked[row].1.map("target"));
                let muscle = match target {
                    Some(target) => {
                        let pushed = skin.pushed(bone, target, muscle.radius());
                        muscle.contractible_to(&pushed)
                    }
                    None if flexed_by.is_empty() => muscle,
                    None => muscle.contractible(),
                };
                let painted = leaving_alone(rig, surface, bone, flexed_by, painted);
                let flexed_by = flexed_by.iter().map(rest_turn).collect();
                let motions = Motions::of(binding, from.row);
                muscles.push(Placed { bone, muscle, flexed_by, painted, motions, from });
            }
        };
        let named = !(binding.distances.is_empty() && asked.is_empty());
        for (index, segment) in surface.segments.iter().enumerate() {
            if let Some((_, by)) = binding.distances.iter().rev().find(|(bones, _)| bones.contains(&segment.bone)) {
                place(segment.bone, fitted(&skin.segment(index), default), by, None, Source::default());
            }
        }
        for Flesh { bone, entry, nodes, shares } in if named { Vec::new() } else { flesh(rig, surface) } {
            let skin = skin.seen_from(entry, nodes.iter().map(|&node| (node as usize, 1.0)));
            place(bone, fitted(&skin, default), &[], Some(shares), Source::default());
        }
        let mut paces = 1;
        for (index, (bones, row)) in asked.iter().enumerate() {
            let pace = if has_own_pace(row) { paces } else { 0 };
            paces += usize::from(pace > 0);
            let axis = row.numbers("axis").and_then(|axis: [f64; 3]| DVec3::from(axis).try_normalize());
            let from = Source { row: Some(index), pace, axis };
            let painted = row.map("map").map(|painted| on_nodes(surface, painted));
            let flexed_by = row.bones("flexed_by").map_or(&[][..], Vec::as_slice);
            for &bone in bones {
                let shape = if let Some([ax, ay, az, bx, by, bz, radius]) = row.numbers("capsule") {
                    Some(Shape::Capsule { from: DVec3::new(ax, ay, az), to: DVec3::new(bx, by, bz), radius })
                } else if let Some([x, y, z, a, b, c]) = row.numbers("ellipsoid") {
                    let centre = DAffine3::from_translation(DVec3::new(x, y, z));
                    Some(Shape::Ellipsoid(centre * DAffine3::from_scale(DVec3::new(a, b, c))))
                } else {
                    let kind = row.word("shape").map_or(default, FittedShape::named);
                    fitted(&skin.of_bone(bone, painted.as_deref()), kind)
                };
                place(bone, shape, flexed_by, painted.clone(), from);
            }
        }
        let (signals, axes) = read_signals(binding);
        let has_map = |&index: &usize| muscles[index].painted.is_some();
        let painted = (0..muscles.len()).filter(has_map).collect();
        Self {
            muscles,
            ways: rig.kept::<AllWays>().of(surface),
            painted,
            blocks: Blocks::new(&surface.bind[..surface.nodes()]),
            form: form_of(binding),
            accumulates: accumulates(binding),
            signals: signals.to_vec(),
            axes: axes.to_vec(),
            forces: Forces::of(values),
            paces,
            shares: shares(binding).collect(),
        }
    }

    /// How many moments are read.
    fn moments(&self) -> usize {
        self.signals.len() / self.paces
    }

    /// The sway of a muscle at one of the moments read.
    fn sway(&self, place: &PosedBones<'_>, placed: &Placed, moment: usize) -> Sway {
        let motion = placed.motions.at(place.time);
        let at = placed.from.pace * self.moments() + moment;
        let Some(read) = self.signals.get(at) else { return Sway::ZERO };
        let felt = |signal: usize| {
            let column = place.kinematics.filtered.get(signal);
            column.and_then(|column| column.get(placed.bone.index())).copied().unwrap_or_default()
        };
        let [acceleration, x, y, z, up] = read.map(felt);
        let force = match self.axes.get(at) {
            None => up * -motion.gravity,
            Some(others) => {
                let ([right, front], forces) = (others.map(felt), &self.forces);
                let there = |way: DVec3| right * way.x + up * way.y + front * way.z;
                let blowing = forces.blowing(motion.pace, place.time, place.cycle);
                there(forces.down) * motion.gravity + there(forces.wind) * (motion.wind * blowing)
            }
        };
        let stretch = placed.muscle.stretch(motion.stretch, placed.from.axis);
        let sway = Sway {
            offset: acceleration * -motion.inertia + force + stretch.offset,
            strain: DMat3::from_cols(x, y, z) * -motion.inertia + stretch.strain,
        };
        placed.muscle.held_back(&sway, motion.stiffening, motion.limit)
    }

    /// Fills the fields, the first for all muscles without a map of their own. `sway` tells that of each muscle.
    fn emit(
        &self,
        place: &PosedBones<'_>,
        centre: DVec3,
        contracts: bool,
        sway: impl Fn(usize) -> Sway,
        fields: &mut Vec<VortexField>,
    ) {
        fields.resize_with(1 + self.painted.len(), VortexField::default);
        fields.iter_mut().for_each(VortexField::clear);
        let mut next = 1;
        for (index, placed) in self.muscles.iter().enumerate() {
            let field = match &placed.painted {
                Some(_) => {
                    next += 1;
                    &mut fields[next - 1]
                }
                None => &mut fields[0],
            };
            let contraction = match contracts {
                true => placed.contraction(place),
                false => 0.0,
            };
            let mut world_from_limb = place.world.world_from_bone(placed.bone);
            world_from_limb.translation -= centre;
            placed.muscle.emit(&sway(index), contraction, world_from_limb, field);
        }
        fields.iter_mut().for_each(VortexField::build);
    }

    /// Whether any field moves a node.
    fn moves(&self, node: usize) -> bool {
        let takes = |placed: &Placed| placed.painted.as_ref().is_none_or(|painted| painted[node] > 0.0);
        self.shares[node] > 0.0 && self.muscles.iter().any(takes)
    }

    /// Takes the nodes along the fields.
    fn carry(&self, how: Follow, place: &PosedBones<'_>, body: &mut Body, own: &mut MuscleWork) {
        let MuscleWork { fields, followers, .. } = own;
        if fields.iter().all(VortexField::is_empty) {
            return;
        }
        let painted =
            |field: usize| field.checked_sub(1).and_then(|own| self.muscles[self.painted[own]].painted.as_ref());
        let share = |field: usize, node: usize| painted(field).map_or(1.0, |painted| painted[node]);
        let following = Following { fields, share: &share, how, level: place.level, pool: place.pool };
        followers.follow(&following, &self.blocks, &body.points);
        for (node, moved) in followers.moves(&self.blocks) {
            let moved = moved * self.shares[node];
            let carried = body.points[node] + moved * body.part_of(node, moved.length());
            if moved != DVec3::ZERO && carried.is_finite() {
                body.points[node] = carried;
            }
        }
    }

    /// Takes the body along with all muscles.
    fn swing(&self, place: &PosedBones<'_>, body: &mut Body, own: &mut MuscleWork) {
        let centre = place.origin + body.centre();
        // What there was at the start of the window, or is now: by the flow.
        let Some(oldest) = self.moments().checked_sub(1) else { return };
        let first = if self.accumulates { oldest } else { 0 };
        let [mut now, mut before] = std::mem::take(&mut own.sways);
        let sways = |moment: usize, sways: &mut Vec<Sway>| {
            sways.clear();
            sways.extend(self.muscles.iter().map(|placed| self.sway(place, placed, moment)));
        };
        sways(first, &mut before);
        self.emit(place, centre, true, |muscle| before[muscle], &mut own.fields);
        self.carry(Follow::Flow, place, body, own);
        // What each instant since then has added: by a step of its own.
        for moment in (0..first).rev() {
            sways(moment, &mut now);
            self.emit(place, centre, false, |muscle| now[muscle] - before[muscle], &mut own.fields);
            std::mem::swap(&mut now, &mut before);
            self.carry(Follow::Once, place, body, own);
        }
        own.sways = [now, before];
    }
}

impl Placed {
    /// How far it is contracted.
    fn contraction(&self, place: &PosedBones<'_>) -> f64 {
        let motion = self.motions.at(place.time);
        // What nothing flexes is contracted by its setting alone; without a target there is nothing to be contracted.
        let flexed = if self.flexed_by.is_empty() { 1.0 } else { (self.bend(place) / motion.full).min(1.0) };
        motion.contraction * flexed
    }

    /// How far the bones that flex it are bent, all together: 1 is half a turn of one.
    fn bend(&self, place: &PosedBones<'_>) -> f64 {
        let bent = self.flexed_by.iter().map(|&(bone, rest)| {
            let above = place.world.world_from_parent(place.rig.skeleton(), bone).matrix3;
            let now = turn(above.inverse() * place.world.world_from_bone(bone).matrix3);
            // Half of 1 − cos of the angle between.
            1.0 - (now.dot(rest)).powi(2).min(1.0)
        });
        bent.sum()
    }
}

impl Bound for Muscles {
    fn can_follow(&self, binding: &Binding<'_>, repainted: bool) -> bool {
        // Muscles with maps of their own are fitted to them.
        let mut muscles = binding.tables.rows(MUSCLE_TABLE.key).iter();
        let has_map = |row: &BoundRow| row.map("map").is_some() || row.map("target").is_some();
        self.form == form_of(binding) && !(repainted && muscles.any(|(_, row)| has_map(row)))
    }

    fn retune(&mut self, binding: &Binding<'_>, _: bool) {
        self.muscles.iter_mut().for_each(|placed| placed.motions = Motions::of(binding, placed.from.row));
        self.accumulates = accumulates(binding);
        let (signals, axes) = read_signals(binding);
        self.signals.clear();
        self.signals.extend_from_slice(signals);
        self.axes.clear();
        self.axes.extend_from_slice(axes);
        self.forces = Forces::of(binding.values);
        self.shares.clear();
        self.shares.extend(shares(binding));
    }

    fn reach(&self) -> Reach {
        Reach::Always
    }

    fn muscles(&self) -> Vec<MuscleReport> {
        let report = |placed: &Placed| MuscleReport {
            bone: placed.bone,
            ellipsoid: placed.muscle.ellipsoid(),
            samples: placed.muscle.samples(),
            contraction_residual: placed.muscle.contraction_residual(),
        };
        self.muscles.iter().map(report).collect()
    }

    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        // Displacements are made once, however often contacts are sought.
        if log.is_later_pass() {
            return 0;
        }
        let Work { body, memory } = work;
        body.take_care(surface, &self.ways, Some(&|node| self.moves(node)), |body, node| body.points[node as usize]);
        memory.with(|own| self.swing(place, body, own));
        surface.place_apexes(&mut body.points);
        0
    }
}

/// The share of a flexed muscle in each node: none of what it bends. A forearm that folds onto a biceps comes into its field,
/// but is no part of it.
fn leaving_alone(
    rig: &Rig,
    surface: &Surface,
    bone: BoneId,
    flexed_by: &[BoneId],
    painted: Option<Vec<f64>>,
) -> Option<Vec<f64>> {
    let carries = |above: BoneId, below: BoneId| rig.skeleton().ancestors(below).any(|bone| bone == above);
    let bent: Vec<BoneId> = flexed_by.iter().copied().filter(|&flexing| !carries(flexing, bone)).collect();
    if bent.is_empty() {
        return painted;
    }
    let is_bent: Vec<bool> =
        (rig.palette().iter()).map(|entry| bent.iter().any(|&flexing| carries(flexing, entry.bone))).collect();
    let own = |node: usize| {
        let influences = surface.influences_of(node).iter();
        1.0 - influences.filter(|(entry, _)| is_bent[*entry as usize]).map(|(_, weight)| weight).sum::<f64>()
    };
    let painted = |node: usize| painted.as_ref().map_or(1.0, |painted| painted[node]);
    Some((0..surface.nodes()).map(|node| painted(node) * own(node).max(0.0)).collect())
}

fn turn(axes: DMat3) -> DQuat {
    DQuat::from_mat3(&polar_rotation(axes)).normalize()
}

/// The means of a painted map over the slots of each node; negative values count as 0.
fn on_nodes(surface: &Surface, painted: &[Lanes]) -> Vec<f64> {
    surface.members.iter().map(|slots| mean(slots, painted)).collect()
}

fn mean(slots: &[u32], painted: &[Lanes]) -> f64 {
    let value = |&slot: &u32| f64::from(painted[slot as usize / LANES][slot as usize % LANES]).max(0.0);
    slots.iter().map(value).sum::<f64>() / slots.len() as f64
}

/// The skin as muscles are fitted to it.
struct Skin<'a> {
    rig: &'a Rig,
    surface: &'a Surface,
    bone_from_rest: Vec<DAffine3>,
    /// Per node, in bind space: a third of the areas around it, as a vector.
    areas: Vec<DVec3>,
}

impl<'a> Skin<'a> {
    fn new(rig: &'a Rig, surface: &'a Surface) -> Self {
        let mut areas = vec![DVec3::ZERO; surface.nodes()];
        for (t, corners) in surface.triangles.iter().enumerate() {
            if !(surface.first_cap..surface.first_sheet).contains(&t) {
                let [a, b, c] = corners.map(|node| surface.bind[node as usize]);
                corners.iter().for_each(|&node| areas[node as usize] += (b - a).cross(c - a) / 6.0);
            }
        }
        let bone_from_rest = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
        Self { rig, surface, bone_from_rest, areas }
    }

    /// Places and areas of what follows a segment's bone most, in the bone's frame.
    fn segment(&self, segment: usize) -> Vec<(DVec3, DVec3)> {
        let nodes = self.surface.segment_nodes.of(segment).iter().map(|&node| (node as usize, 1.0));
        self.seen_from(self.surface.segments[segment].entry, nodes)
    }

    /// Likewise, of a bone: of what is painted where there is a map.
    fn of_bone(&self, bone: BoneId, painted: Option<&[f64]>) -> Vec<(DVec3, DVec3)> {
        let Some(painted) = painted else {
            let segment = self.surface.segments.iter().position(|segment| segment.bone == bone);
            return segment.map_or_else(Vec::new, |segment| self.segment(segment));
        };
        let (palette, character) = (self.rig.palette(), self.surface.character);
        let own = palette.iter().position(|entry| entry.bone == bone && entry.character as usize == character);
        let nodes = painted.iter().copied().enumerate().filter(|&(_, share)| share > 0.0);
        own.map_or_else(Vec::new, |entry| self.seen_from(entry as u32, nodes))
    }

    /// All of the skin in a bone's frame, and where a painted target pushes it, in lengths of that frame.
    fn pushed(&self, bone: BoneId, target: &[Lanes], radius: f64) -> Vec<(DVec3, DVec3)> {
        let (palette, character) = (self.rig.palette(), self.surface.character);
        let own = palette.iter().position(|entry| entry.bone == bone && entry.character as usize == character);
        let Some(entry) = own else { return Vec::new() };
        let skin = self.seen_from(entry as u32, (0..self.surface.nodes()).map(|node| (node, 1.0)));
        let pushes = node_means(self.surface, target);
        let pushed = |((at, area), push): ((DVec3, DVec3), f64)| (at, area.normalize_or_zero() * (push * radius));
        skin.into_iter().zip(pushes).map(pushed).collect()
    }

    fn seen_from(&self, entry: u32, nodes: impl Iterator<Item = (usize, f64)>) -> Vec<(DVec3, DVec3)> {
        let bone_from_bind = self.surface.world_from_bind(entry, &self.bone_from_rest);
        let axes = bone_from_bind.matrix3;
        let cofactors = DMat3::from_cols(
            axes.y_axis.cross(axes.z_axis),
            axes.z_axis.cross(axes.x_axis),
            axes.x_axis.cross(axes.y_axis),
        ) * axes.determinant().signum();
        let seen = |(node, share): (usize, f64)| {
            (bone_from_bind.transform_point3(self.surface.bind[node]), cofactors * self.areas[node] * share)
        };
        nodes.map(seen).collect()
    }
}

/// A shape under some skin, in its bone's frame.
fn fitted(skin: &[(DVec3, DVec3)], kind: FittedShape) -> Option<Shape> {
    if skin.len() < 4 {
        return None;
    }
    let (centre, axes) = spread(skin);
    let half_axes = [axes.x_axis, axes.y_axis, axes.z_axis].map(|axis| axis * UNDER_THE_SKIN);
    let radii = DVec3::from(half_axes.map(DVec3::length));
    let sound = centre.is_finite() && radii.is_finite() && radii.min_element() > 0.0;
    sound.then(|| match kind {
        FittedShape::Ellipsoid => {
            let [x, y, z] = half_axes;
            Shape::Ellipsoid(DAffine3 { matrix3: DMat3::from_cols(x, y, z), translation: centre })
        }
        FittedShape::Capsule => {
            let longest = radii.max_position();
            let radius = 0.5 * (radii.element_sum() - radii[longest]);
            let along = half_axes[longest] * (1.0 - radius / radii[longest]);
            Shape::Capsule { from: centre - along, to: centre + along, radius }
        }
        FittedShape::Region => {
            let inward = |&(at, area): &(DVec3, DVec3)| {
                (centre + (at - centre) * UNDER_THE_SKIN, area * (UNDER_THE_SKIN * UNDER_THE_SKIN))
            };
            Shape::Region(skin.iter().map(inward).collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forces(gusts: f64, gust_rate: f64) -> Forces {
        Forces { down: DVec3::NEG_Y, wind: DVec3::Z, gusts, gust_rate }
    }

    #[test]
    fn gusts_are_what_a_damped_oscillator_makes_of_them_and_close_a_loop_to_the_bit() {
        let (forces, pace, cycle) = (forces(1.0, 0.9), (2.0, 0.2), Some((0.5, 2.5)));
        let blown = |time: f64| forces.blowing(pace, time, cycle);
        assert_eq!(blown(0.5).to_bits(), blown(3.0).to_bits());
        // The oscillator in small steps under the same waves, until nothing of its start is left.
        let push = |time: f64| {
            let wave = |&(times, share): &(f64, f64)| {
                let count = (0.9 * times * 2.5f64).round().max(1.0);
                share * (TAU * count * (time - 0.5) / 2.5).sin()
            };
            1.0 + GUSTS.iter().map(wave).sum::<f64>()
        };
        let (omega, h) = (TAU * pace.0, 1e-4);
        let (mut x, mut v) = (1.0, 0.0);
        let mut time = 0.5 - 10.0 * 2.5;
        while time < 1.7 {
            let middle = push(time + 0.5 * h);
            v += h * (omega * omega * (middle - x) - 2.0 * pace.1 * omega * v);
            x += h * v;
            time += h;
        }
        assert!((x - blown(time)).abs() < 1e-2, "{x} {}", blown(time));
        assert_eq!(super::tests::forces(0.0, 1.0).blowing(pace, 0.3, None), 1.0);
    }
}
