//! Springs as a correction: the skin of a frame is drawn to the equilibrium of [`super::model`], without history.

use super::descent::{Scheme, Stop};
use super::model::{BoneSpring, SpringFrame, SpringRest, Springs, Stiffness};
use super::row_energy::RowScratch;
use super::rows::SpringRows;
use crate::attach::hanging::{ATTACH, HangPlan, Hanging, Hung, SMOOTHING};
use crate::correct::body::{Body, Reach, Surface};
use crate::correct::bound::{Binding, Bound, Log, Place, Work, node_means};
use crate::correct::edits::{EditWork, HungEdits};
use crate::correct::entry::{Correction, bones, no_signals};
use crate::param::{ParamSpec, Range};
use crate::table::{CellSpec, RowKind, TableSpec};
use glam::DVec3;

const BONE_SPRINGS: &[&str] = &["direction", "line"];
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
    about: "draws the skin to the balance of springs between neighbours and bones: smooth bends and twists from any base",
    params: PARAMS,
    mapped: Some("gain"),
    tables: &[
        bones("bones that the skin of a bone hangs on; its own without it"),
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
    ParamSpec::number("torsion", "", STIFFNESS, 1.0, "keeps neighbours at their angles about the bones"),
    ParamSpec::number("surface", "", STIFFNESS, 0.3, "keeps the lengths of edges"),
    ParamSpec::number("length", "", STIFFNESS, 0.5, "keeps neighbours equally far from the bones"),
    ParamSpec::number("absolute", "", STIFFNESS, 1.0, "keeps every point at its own distance from the bones"),
    ParamSpec::number("bone", "", STIFFNESS, 1.0, "holds the skin to the turn of its bone"),
    ParamSpec::choice("hold", BONE_SPRINGS, "what the bone holds: the whole direction, or the angle to its line alone"),
    ParamSpec::number("iterations", "", [1.0, 10_000.0], 50.0, "iterations at most"),
    ParamSpec::choice("until", UNTIL, "what ends it early: small moves, small forces, an energy that falls no more"),
    ParamSpec::number(
        "tolerance",
        "",
        [0.0, 1.0],
        1e-5,
        "how small: moves and forces in smallest sides, of the energy",
    ),
    ParamSpec::choice("scheme", SCHEMES, "how the equilibrium is reached: fast, plainly, or by the thesis' fixed step"),
    ATTACH,
    SMOOTHING,
];

/// The springs of one surface.
pub(crate) struct SpringSkin {
    /// `None` for a skin without bones.
    net: Option<Net>,
    stiffness: Stiffness,
    factors: Vec<Stiffness>,
    scheme: Scheme,
    stop: Stop,
    /// Share of the result that each node takes.
    gain: Vec<f64>,
    edits: Option<HungEdits>,
}

/// What the springs join.
struct Net {
    hanging: Hanging,
    /// Attachment points and directions of lines at bind.
    anchors: Vec<DVec3>,
    lines: Vec<DVec3>,
    springs: Springs,
    rows: SpringRows,
}

impl Net {
    fn new(hanging: Hanging, bind: &[DVec3], factors: &[Stiffness], stiffness: &Stiffness, kind: BoneSpring) -> Self {
        let (anchors, lines) = (hanging.anchors(), hanging.directions());
        let none = (Springs::default(), SpringRows::default());
        let mut net = Self { hanging, anchors, lines, springs: none.0, rows: none.1 };
        net.springs = Springs::new(&net.rest(bind, factors), stiffness, kind);
        net.rows = SpringRows::new(&net.springs, bind);
        net
    }

    fn rest<'a>(&'a self, points: &'a [DVec3], factors: &'a [Stiffness]) -> SpringRest<'a> {
        let Self { hanging, anchors, lines, .. } = self;
        SpringRest { points, anchors, lines, adjacency: &hanging.adjacency, factors, blend_length: None }
    }
}

/// Memory of the correction.
#[derive(Clone, Debug, Default)]
struct SpringWork {
    hung: Hung,
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
        let number = |name: &str| values.number(name);
        let stiffness = Stiffness {
            torsion: number("torsion"),
            surface: number("surface"),
            length: number("length"),
            absolute: number("absolute"),
            bone: number("bone"),
        };
        let kind = if values.word("hold") == "line" { BoneSpring::ToLine } else { BoneSpring::ToBind };
        let hanging = Hanging::new(rig, surface, &HangPlan::of(values, distances));
        let factors = factors(binding, hanging.as_ref());
        let small = number("tolerance");
        let length = small * hanging.as_ref().map_or(0.0, |hanging| hanging.least_side);
        // The range keeps it small.
        let most = Stop::after(number("iterations") as usize);
        Self {
            net: hanging.map(|hanging| Net::new(hanging, &surface.bind, &factors, &stiffness, kind)),
            stiffness,
            factors,
            scheme: match values.word("scheme") {
                "plain" => Scheme::Plain,
                "fixed" => Scheme::Fixed,
                _ => Scheme::Accelerated,
            },
            stop: match values.word("until") {
                "force" => Stop { largest_force: length, ..most },
                "energy" => Stop { energy_share: small, ..most },
                "iterations" => most,
                _ => Stop { largest_move: length, ..most },
            },
            gain: binding.shares().into_iter().map(|share| share.clamp(0.0, 1.0)).collect(),
            edits: HungEdits::new(rig, surface, binding.edits.to_vec()),
        }
    }
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
    fn reach(&self) -> Reach {
        if self.edits.is_some() { Reach::Always } else { Reach::Whole }
    }

    fn apply(&self, place: &Place<'_>, surface: &Surface, work: &mut Work, _: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        memory.with(|own| self.pull(place, surface, body, own));
        0
    }
}

impl SpringSkin {
    fn pull(&self, place: &Place<'_>, surface: &Surface, body: &mut Body, own: &mut SpringWork) {
        let SpringWork { hung, edits, points, solver, springs, rows } = own;
        let Some(net) = &self.net else { return };
        // Bones that move as one leave the equilibrium where it is.
        if body.is_still() && self.edits.is_none() || !net.hanging.pose(&body.from_bind, body.bind(surface), hung) {
            return;
        }
        edits.targets.clear();
        if let Some(hung_edits) = &self.edits {
            hung_edits.targets(place.time, surface, body, edits);
            edits.targets.iter_mut().for_each(|target| target.1 /= hung.scale);
        }
        points.clear();
        points.extend(body.points[..surface.nodes()].iter().map(|&p| p / hung.scale));
        let frame =
            SpringFrame { anchors: &hung.anchors, aims: &hung.aims, lines: &hung.directions, edits: &edits.targets };
        let rows = match body.morphed() {
            // Morph targets change the rest shape, and with it every spring.
            Some(bind) => {
                net.springs.remeasure(&net.rest(bind, &self.factors), &self.stiffness, springs);
                net.rows.remeasure(springs, bind, rows);
                rows
            }
            None => &net.rows,
        };
        rows.solve((place.level, place.pool), &frame, points, (self.scheme, &self.stop), solver);
        for (node, p) in points.iter().enumerate() {
            let gain = self.gain[node];
            if gain > 0.0 && !body.held[node] && p.is_finite() {
                let before = body.points[node];
                body.points[node] = before + (*p * hung.scale - before) * gain;
            }
        }
        surface.place_apexes(&mut body.points);
    }
}
