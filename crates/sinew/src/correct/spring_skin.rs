//! Springs as a correction: the skin of a frame is drawn to the equilibrium of [`super::springs`], without history.

use super::hanging::{Hanging, shares};
use super::springs::{BoneSpring, Scheme, SpringFrame, SpringRest, SpringScratch, Springs, Stiffness, Stop};
use super::{Binding, Bound, Log, Place, Surface, Work};
use crate::param::ParamSpec;
use glam::DVec3;

const BONE_SPRINGS: &[&str] = &["direction", "line"];
const SCHEMES: &[&str] = &["accelerated", "plain"];
/// Range of every stiffness.
const STIFFNESS: [f64; 2] = [0.0, 100.0];

pub(super) const SPRING_PARAMS: &[ParamSpec] = &[
    ParamSpec::number("torsion", "", STIFFNESS, 1.0, "keeps neighbours at their angles about the bones"),
    ParamSpec::number("surface", "", STIFFNESS, 0.3, "keeps the lengths of edges"),
    ParamSpec::number("length", "", STIFFNESS, 0.5, "keeps neighbours equally far from the bones"),
    ParamSpec::number("absolute", "", STIFFNESS, 1.0, "keeps every point at its own distance from the bones"),
    ParamSpec::number("bone", "", STIFFNESS, 1.0, "holds the skin to the turn of its bone"),
    ParamSpec::choice("hold", BONE_SPRINGS, "what the bone holds: the whole direction, or the angle to its line alone"),
    ParamSpec::number("iterations", "", [1.0, 10_000.0], 50.0, "iterations at most"),
    ParamSpec::number("tolerance", "", [0.0, 1.0], 1e-4, "moves below this share of the smallest side end it"),
    ParamSpec::choice("scheme", SCHEMES, "how the equilibrium is reached: fast, or by the plain iteration"),
];

/// The springs of one surface.
pub(super) struct SpringSkin {
    hanging: Option<Hanging>,
    springs: Springs,
    stiffness: Stiffness,
    kind: BoneSpring,
    scheme: Scheme,
    stop: Stop,
    /// Share of the result that each node takes.
    gain: Vec<f64>,
}

/// Memory of the correction.
#[derive(Clone, Debug, Default)]
pub(super) struct SpringWork {
    points: Vec<DVec3>,
    solver: SpringScratch,
}

impl SpringSkin {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { surface, values, .. } = *binding;
        let number = |name: &str| values.number(name);
        let stiffness = Stiffness {
            torsion: number("torsion"),
            surface: number("surface"),
            length: number("length"),
            absolute: number("absolute"),
            bone: number("bone"),
        };
        let kind = if values.word("hold") == "line" { BoneSpring::ToLine } else { BoneSpring::ToBind };
        let hanging = Hanging::new(binding);
        let springs = springs(hanging.as_ref(), &surface.bind, &stiffness, kind);
        Self {
            springs,
            stiffness,
            kind,
            scheme: if values.word("scheme") == "plain" { Scheme::Plain } else { Scheme::Accelerated },
            stop: Stop::at_move(
                number("tolerance") * hanging.as_ref().map_or(0.0, |hanging| hanging.least_side),
                number("iterations") as usize,
            ),
            gain: shares(binding).into_iter().map(|share| share.clamp(0.0, 1.0)).collect(),
            hanging,
        }
    }
}

fn springs(hanging: Option<&Hanging>, bind: &[DVec3], stiffness: &Stiffness, kind: BoneSpring) -> Springs {
    let (anchors, lines) = hanging.map_or_else(Default::default, |hanging| (hanging.anchors(), hanging.directions()));
    let none = Default::default();
    let rest = SpringRest {
        points: if hanging.is_some() { bind } else { &[] },
        anchors: &anchors,
        lines: &lines,
        adjacency: hanging.map_or(&none, |hanging| &hanging.adjacency),
        factors: &[],
        blend_length: None,
    };
    Springs::new(&rest, stiffness, kind)
}

impl Bound for SpringSkin {
    fn apply(&self, _: &Place<'_>, surface: &Surface, work: &mut Work, _: &mut Log<'_>) -> usize {
        let Work { body, hung, springs: SpringWork { points, solver }, .. } = work;
        let Some(hanging) = &self.hanging else { return 0 };
        // Bones that move as one leave the equilibrium where it is.
        if body.is_still() || !hanging.pose(body, body.bind(surface), hung) {
            return 0;
        }
        points.clear();
        points.extend(body.points[..surface.nodes()].iter().map(|&p| p / hung.scale));
        let frame = SpringFrame { anchors: &hung.anchors, aims: &hung.aims, lines: &hung.directions, edits: &[] };
        match &body.morphed {
            // Morph targets change the rest shape, and with it every spring.
            Some(bind) => springs(Some(hanging), bind, &self.stiffness, self.kind).solve(
                &frame,
                points,
                self.scheme,
                &self.stop,
                solver,
            ),
            None => self.springs.solve(&frame, points, self.scheme, &self.stop, solver),
        };
        for (node, p) in points.iter().enumerate() {
            let gain = self.gain[node];
            if gain > 0.0 && !body.held[node] && p.is_finite() {
                let before = body.points[node];
                body.points[node] = before + (*p * hung.scale - before) * gain;
            }
        }
        surface.place_apexes(&mut body.points);
        0
    }
}
