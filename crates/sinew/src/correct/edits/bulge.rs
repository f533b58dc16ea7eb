//! Radial edits along bones as a correction (EX 5.1): scale vectors grow by a profile along their line.
//!
//! Oracle: at any pose the distance to the attachment point is the profile's multiple of what it was.

use crate::attach::hanging::{ATTACH, HangPlan, Hanging, Hung, SMOOTHING};
use crate::correct::body::{Body, Reach, Surface};
use crate::correct::bound::{Binding, Bound, Log, PosedBones, Work};
use crate::correct::entry::{Correction, bones, no_signals};
use crate::correct::surface_edit::Profile;
use crate::param::ParamSpec;
use glam::{DAffine3, DMat3, DVec3};
use std::sync::Arc;

const PROFILES: &[&str] = &["bulge", "linear", "cubic-in", "quartic-out", "sine-in-out", "even"];

/// The correction `bulge`.
pub(crate) const BULGE: Correction = Correction {
    name: "bulge",
    about: "makes limbs grow or shrink along their bones",
    params: PARAMS,
    mapped: Some("gain"),
    tables: &[bones("bones that the skin of a bone attaches to; by default its own")],
    scaled: &[],
    signals: no_signals,
    bind: |binding| Box::new(Bulge::bind(binding)),
};

const PARAMS: &[ParamSpec] = &[
    ParamSpec::number(
        "amount",
        "",
        [-1.0, 4.0],
        0.25,
        "growth at the peak of the profile; negative values shrink the limb",
    ),
    ParamSpec::choice("profile", PROFILES, "how the growth is distributed along each bone"),
    ATTACH,
    SMOOTHING,
];

/// The growth of each node of one surface.
struct Bulge {
    hanging: Option<Arc<Hanging>>,
    /// How it hangs.
    plan: (&'static str, f64),
    /// Length over the length before.
    ratios: Vec<f64>,
}

impl Bulge {
    pub fn bind(binding: &Binding<'_>) -> Self {
        let Binding { rig, surface, values, distances, .. } = *binding;
        let hanging = Hanging::planned(rig, surface, &HangPlan::of(values, distances));
        let mut bulge = Self { hanging, plan: plan_of(binding), ratios: Vec::new() };
        bulge.measure(binding);
        bulge
    }

    fn measure(&mut self, binding: &Binding<'_>) {
        let named = Profile::NAMES.iter().find(|(name, _)| *name == binding.values.word("profile"));
        let profile = named.map_or(Profile::Bulge, |named| named.1);
        let amount = binding.values.number("amount");
        let along = |node: usize| self.hanging.as_ref().map_or(0.0, |hanging| hanging.attachments[node].t);
        let ratio = |(node, share): (usize, f64)| profile.ratio(along(node), share * amount);
        self.ratios.clear();
        self.ratios.extend(binding.shares().enumerate().map(ratio));
    }
}

impl Bulge {
    /// Nodes that grow: where they hang, and how many times as far from there they are to be.
    fn grown(&self, surface: &Surface, body: &Body, hung: &mut Hung, mut each: impl FnMut(usize, DVec3, f64)) {
        let Some(hanging) = &self.hanging else { return };
        if !hanging.pose(&body.from_bind, body.bind(surface), hung) {
            return;
        }
        for (node, &ratio) in self.ratios.iter().enumerate() {
            if ratio != 1.0 {
                let anchor = hung.anchors[node] * hung.scale;
                each(node, anchor, ratio);
            }
        }
    }
}

fn plan_of(binding: &Binding<'_>) -> (&'static str, f64) {
    (binding.values.word(ATTACH.name), binding.values.number(SMOOTHING.name))
}

impl Bound for Bulge {
    fn can_follow(&self, binding: &Binding<'_>, _: bool) -> bool {
        self.plan == plan_of(binding)
    }

    fn retune(&mut self, binding: &Binding<'_>, _: bool) {
        self.measure(binding);
    }

    fn reach(&self) -> Reach {
        Reach::Always
    }

    fn apply(&self, _: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        // Passes that follow new contacts find it done.
        if !log.is_later_pass() {
            memory.with(|hung: &mut Hung| {
                let mut points = std::mem::take(&mut body.points);
                self.grown(surface, body, hung, |node, anchor, ratio| {
                    points[node] = anchor + (points[node] - anchor) * ratio;
                });
                surface.place_apexes(&mut points);
                body.points = points;
            });
        }
        0
    }

    fn remaps(&self) -> bool {
        true
    }

    fn remap(&self, _: f64, surface: &Surface, work: &mut Work, maps: &mut [DAffine3]) {
        let Work { body, memory } = work;
        memory.with(|hung: &mut Hung| {
            self.grown(surface, body, hung, |node, anchor, ratio| {
                let grow =
                    DAffine3::from_mat3_translation(DMat3::from_diagonal(DVec3::splat(ratio)), anchor * (1.0 - ratio));
                maps[node] = grow * maps[node];
            });
        });
    }
}
