//! Springs as a correction: the skin of a frame is drawn to the equilibrium of [`super::model`], from where it swings if it
//! is to have a history ([`super::swing`]).

use super::descent::{Scheme, Stop};
use super::model::{BoneSpring, Springs, Stiffness};
use super::net::{Net, NetFrame};
use super::row_energy::RowScratch;
use super::rows::SpringRows;
use super::swing::{Pace, Swing};
use crate::attach::hanging::{ATTACH, HangPlan, Hanging, SMOOTHING};
use crate::correct::body::{Body, Reach, Surface};
use crate::correct::bound::{Binding, Bound, EditList, Log, PosedBones, Work, node_means};
use crate::correct::edits::{EditWork, HungEdits};
use crate::correct::entry::{Correction, bones, no_signals};
use crate::param::{ParamSpec, Range};
use crate::recipe::EditSpec;
use crate::rig::Rig;
use crate::table::{CellSpec, RowKind, TableSpec};
use glam::{DVec3, Vec3};

const BONE_SPRINGS: &[&str] = &["place", "direction", "line"];
const HISTORIES: &[&str] = &["none", "live"];
const SCHEMES: &[&str] = &["accelerated", "plain", "fixed"];
const UNTIL: &[&str] = &["move", "force", "energy", "iterations"];
/// What bones and painted maps may multiply.
const STIFFNESSES: &[&str] = &["torsion", "surface", "length", "absolute", "bone"];
/// Range of every stiffness.
const STIFFNESS: [f64; 2] = [0.0, 100.0];
/// On a stiffness.
const FACTOR: Range = Range { min: 0.0, max: 100.0, unit: "" };

/// The correction `springs`.
pub(crate) const SPRINGS: Correction = Correction {
    name: "springs",
    about: "pulls the skin to the balance of springs between neighbours and bones: smooth bends and twists from any base",
    params: PARAMS,
    mapped: Some("gain"),
    tables: &[
        bones("bones that the skin of a bone attaches to; by default its own"),
        TableSpec {
            key: "stiffness",
            of: "factors",
            about: "factors by bone on the stiffnesses; a number is on all of them",
            examples: &["\"belly*\" = 0.5", "\"tail*\" = { torsion = 0.2 }"],
            row: RowKind::Cells(&[
                CellSpec::by_itself("torsion", FACTOR, "factor on torsion"),
                CellSpec::by_itself("surface", FACTOR, "factor on surface"),
                CellSpec::by_itself("length", FACTOR, "factor on length"),
                CellSpec::by_itself("absolute", FACTOR, "factor on absolute"),
                CellSpec::by_itself("bone", FACTOR, "factor on bone"),
            ]),
        },
    ],
    scaled: STIFFNESSES,
    signals: no_signals,
    bind: |binding| Box::new(SpringSkin::bind(binding)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number("surface", "", STIFFNESS, 1.0, "keeps the skin between neighbours as the bones turn it"),
    ParamSpec::number("bone", "", STIFFNESS, 1.0, "makes the skin follow its bones"),
    ParamSpec::number("torsion", "", STIFFNESS, 0.0, "keeps the angles between neighbours around the bones"),
    ParamSpec::number("length", "", STIFFNESS, 0.0, "keeps neighbours equally far from the bones"),
    ParamSpec::number("absolute", "", STIFFNESS, 0.0, "keeps every point at its own distance from the bones"),
    ParamSpec::choice(
        "hold",
        BONE_SPRINGS,
        "what the bones control: the place, only the direction from the bone, or only the angle to its axis",
    ),
    ParamSpec::number("iterations", "", [1.0, 1_000.0], 50.0, "maximum number of iterations"),
    ParamSpec::choice("until", UNTIL, "what stops it early: small moves, small forces, or energy that stops falling"),
    ParamSpec::number(
        "tolerance",
        "",
        [0.0, 1.0],
        1e-5,
        "the threshold: moves and forces relative to the smallest side, energy relative to itself",
    ),
    ParamSpec::choice(
        "scheme",
        SCHEMES,
        "how the balance is reached: accelerated, plain, or by the thesis' fixed step",
    ),
    ATTACH,
    SMOOTHING,
    ParamSpec::choice(
        "history",
        HISTORIES,
        "what the skin remembers: nothing, or the clip so far, so that it lags, swings on and settles",
    ),
    ParamSpec::number(
        "frequency",
        "Hz",
        [0.2, 12.0],
        2.5,
        "with a history: how fast skin swings that is as thick as skin is in the mean; thicker skin swings slower",
    ),
    ParamSpec::number(
        "damping",
        "",
        [0.02, 2.0],
        0.2,
        "with a history: how soon it settles; 1 is as soon as possible without swinging past its place",
    ),
    ParamSpec::number(
        "limit",
        "× distance to the bone",
        [0.0, 2.0],
        0.4,
        "with a history: how far skin swings at most",
    ),
];

/// The springs of one surface.
pub(crate) struct SpringSkin {
    /// `None` for a skin without bones.
    net: Option<Net>,
    /// How it hangs.
    plan: (&'static str, f64),
    stiffness: Stiffness,
    factors: Vec<Stiffness>,
    scheme: Scheme,
    stop: Stop,
    /// Share of the result that each node takes.
    gain: Vec<f64>,
    edits: Option<HungEdits>,
    /// How it swings, with history.
    swing: Option<Swing>,
}

/// Memory of the correction.
#[derive(Clone, Debug, Default)]
struct SpringWork {
    frame: NetFrame,
    edits: EditWork,
    points: Vec<DVec3>,
    solver: RowScratch,
    /// The springs of a rest shape with morph targets.
    springs: Springs,
    rows: SpringRows,
}

impl SpringSkin {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, values, distances, .. } = *binding;
        let mut net = Net::planned(rig, surface, &HangPlan::of(values, distances));
        let hanging = net.as_ref().map(|net| &*net.hanging);
        let (factors, stiffness) = (factors(binding, hanging), stiffness(binding));
        let stop = stop(binding, hanging);
        if let Some(net) = &mut net {
            net.stiffen(&factors, &stiffness, kind(binding));
        }
        let swings = net.as_ref().filter(|_| has_history(binding));
        let swing = swings.map(|net| {
            let mut swing = net.swing(rig, surface);
            swing.tune(&net.springs, pace(binding));
            swing
        });
        Self {
            net,
            plan: plan_of(binding),
            stiffness,
            factors,
            scheme: scheme(binding),
            stop,
            gain: gain(binding).collect(),
            edits: HungEdits::new(rig, surface, binding.edits),
            swing,
        }
    }
}

fn has_history(binding: &Binding<'_>) -> bool {
    binding.values.word("history") == "live"
}

fn pace(binding: &Binding<'_>) -> Pace {
    let number = |name: &str| binding.values.number(name);
    Pace { hertz: number("frequency"), damping: number("damping"), limit: number("limit") }
}

fn plan_of(binding: &Binding<'_>) -> (&'static str, f64) {
    (binding.values.word(ATTACH.name), binding.values.number(SMOOTHING.name))
}

fn stiffness(binding: &Binding<'_>) -> Stiffness {
    let number = |name: &str| binding.values.number(name);
    Stiffness {
        torsion: number("torsion"),
        surface: number("surface"),
        length: number("length"),
        absolute: number("absolute"),
        bone: number("bone"),
    }
}

fn kind(binding: &Binding<'_>) -> BoneSpring {
    match binding.values.word("hold") {
        "line" => BoneSpring::Line,
        "direction" => BoneSpring::Direction,
        _ => BoneSpring::Place,
    }
}

fn scheme(binding: &Binding<'_>) -> Scheme {
    match binding.values.word("scheme") {
        "plain" => Scheme::Plain,
        "fixed" => Scheme::Fixed,
        _ => Scheme::Accelerated,
    }
}

fn stop(binding: &Binding<'_>, hanging: Option<&Hanging>) -> Stop {
    let number = |name: &str| binding.values.number(name);
    let small = number("tolerance");
    let length = small * hanging.map_or(0.0, |hanging| hanging.least_side);
    // The range keeps it small.
    let most = Stop::after(number("iterations") as usize);
    match binding.values.word("until") {
        "force" => Stop { largest_force: length, ..most },
        "energy" => Stop { energy_share: small, ..most },
        "iterations" => most,
        _ => Stop { largest_move: length, ..most },
    }
}

fn gain(binding: &Binding<'_>) -> impl Iterator<Item = f64> {
    binding.shares().map(|share| share.clamp(0.0, 1.0))
}

/// What bones and painted maps multiply the stiffnesses of each node by; empty for nothing.
fn factors(binding: &Binding<'_>, hanging: Option<&Hanging>) -> Vec<Stiffness> {
    let Binding { surface, tables, painted_factors, .. } = *binding;
    let factors = tables.rows("stiffness");
    let (Some(hanging), false) = (hanging, factors.is_empty() && painted_factors.is_empty()) else { return Vec::new() };
    let scale = |of: &mut Stiffness, name: &str, by: f64| match name {
        "torsion" => of.torsion *= by,
        "surface" => of.surface *= by,
        "length" => of.length *= by,
        "absolute" => of.absolute *= by,
        _ => of.bone *= by,
    };
    let mut all = vec![Stiffness::ONE; surface.nodes()];
    for (attachment, of) in hanging.attachments.iter().zip(&mut all) {
        let bone = hanging.bone(attachment.line);
        for &name in STIFFNESSES {
            let mut given = factors.iter().rev().filter(|(bones, _)| bones.contains(&bone));
            let by = given.find_map(|(_, given)| given.number(name));
            scale(of, name, by.unwrap_or(1.0));
        }
    }
    for (name, map) in painted_factors {
        for (of, by) in all.iter_mut().zip(node_means(surface, map)) {
            scale(of, name, by.max(0.0));
        }
    }
    all
}

impl Bound for SpringSkin {
    fn can_follow(&self, binding: &Binding<'_>, _: bool) -> bool {
        self.plan == plan_of(binding) && (self.net.is_none() || self.swing.is_some() == has_history(binding))
    }

    fn retune(&mut self, binding: &Binding<'_>, _: bool) {
        let hanging = self.net.as_ref().map(|net| &*net.hanging);
        let (factors, stiffness, kind) = (factors(binding, hanging), stiffness(binding), kind(binding));
        (self.scheme, self.stop) = (scheme(binding), stop(binding, hanging));
        if let Some(net) = &mut self.net
            && (&self.factors, &self.stiffness, net.springs.kind) != (&factors, &stiffness, kind)
        {
            net.stiffen(&factors, &stiffness, kind);
        }
        (self.factors, self.stiffness) = (factors, stiffness);
        if let (Some(net), Some(swing)) = (&self.net, &mut self.swing) {
            swing.tune(&net.springs, pace(binding));
        }
        self.gain.clear();
        self.gain.extend(gain(binding));
    }

    fn draw_to(&mut self, rig: &Rig, surface: &Surface, edits: &EditList) {
        self.edits = HungEdits::new(rig, surface, edits);
    }

    fn retune_edits(&mut self, specs: &[EditSpec]) {
        if let Some(edits) = &mut self.edits {
            edits.retune(specs);
        }
    }

    fn reach(&self) -> Reach {
        if self.edits.is_some() || self.swing.is_some() { Reach::Always } else { Reach::Whole }
    }

    fn swing(&self) -> Option<&Swing> {
        self.swing.as_ref()
    }

    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        let offsets = place.swung.of(log.character, log.correction);
        memory.with(|own| self.pull(place, surface, body, offsets, own));
        0
    }
}

impl SpringSkin {
    /// `offsets` of each node from rest; empty for none.
    fn pull(&self, place: &PosedBones<'_>, surface: &Surface, body: &mut Body, offsets: &[Vec3], own: &mut SpringWork) {
        let SpringWork { frame: posed, edits, points, solver, springs, rows } = own;
        let Some(net) = &self.net else { return };
        // Bones that move as one leave the equilibrium where it is.
        if body.is_still() && self.edits.is_none() || !net.pose(&body.from_bind, body.bind(surface), posed) {
            return;
        }
        let scale = posed.hung.scale;
        edits.targets.clear();
        if let Some(hung_edits) = &self.edits {
            hung_edits.targets(place.time, surface, body, edits);
            edits.targets.iter_mut().for_each(|target| target.1 /= scale);
        }
        points.clear();
        points.extend(body.points[..surface.nodes()].iter().map(|&p| p / scale));
        let frame = posed.with(&edits.targets);
        let (springs, rows) = match body.morphed() {
            // Morph targets change the rest shape, and with it every spring.
            Some(bind) => {
                net.springs.remeasure(&net.rest(bind, &self.factors), &self.stiffness, springs);
                net.rows.remeasure(springs, bind, rows);
                (&*springs, &*rows)
            }
            None => (&net.springs, &net.rows),
        };
        rows.solve(springs, (place.level, place.pool), &frame, points, (self.scheme, &self.stop), solver);
        for (node, (p, offset)) in points.iter_mut().zip(offsets).enumerate() {
            *p += posed.swung(node, offset.as_dvec3());
        }
        for (node, p) in points.iter().enumerate() {
            let gain = self.gain[node];
            if gain > 0.0 && p.is_finite() {
                let before = body.points[node];
                body.points[node] = before + (*p * scale - before) * gain;
            }
        }
        surface.place_apexes(&mut body.points);
    }
}
