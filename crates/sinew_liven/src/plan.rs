//! From what a character has to a recipe: which part moves how, by how much, and why.
//!
//! A soft part gets two effects: *drag* while it is carried along, and *swing* past where it stops. How fast it swings is
//! decided by how long it is: a rod's frequency goes with one over the root of its length. No part is given more than half
//! of what the clips move it by already, so that what hangs still is left hanging. The body as a whole follows by a
//! little; bones of face, hands and feet are left out of that.

use crate::LivenError;
use crate::secondary::Own;
use crate::style::{Manner, Style};
use crate::survey::{SoftPart, Survey};
use crate::text::{percent, short_name};
use crate::words::Parts;
use sinew::RecipeFile;
use sinew::anatomy::{Firmness, Role};
use sinew::recipe::Strength;
use std::fmt::{self, Write};

/// How sure a finding must be for effects to follow from it.
const SURE: f64 = 0.5;
/// What a part is given at most, of how far clips move it.
const OF_MOTION: f64 = 0.5;
/// The same of the size of flesh, which is held all around.
const OF_FLESH: f64 = 0.15;
/// Length in sizes of a part that is too small to be seen to move.
const SMALLEST: f64 = 0.02;
/// Share of the size: a part that moves less is left as it is.
const STILL: f64 = 0.005;
/// Oscillations a second of a part that is as long as the character.
const SLOWEST: f64 = 1.3;
/// What frequencies may be: slower is a drift, faster a tremble.
const FREQUENCIES: [f64; 2] = [1.2, 6.0];
/// What a part keeps of its strength where keys make it swing already.
const KEYED: f64 = 0.6;
/// Limits of what one bone does to a part, in sizes and radians: for outliers, far beyond what strengths ask for.
const MAX_LENGTH: f64 = 0.15;
const MAX_ANGLE: f64 = 0.6;
/// Radians a second from which a steady turn is a twirl.
const TWIRL: f64 = 1.5;
/// Share of the skin from which a character is a machine, or unknown.
const MOST: f64 = 0.5;

/// What is asked for beside the style.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// The manner.
    pub style: Style,
    /// Strength of soft parts in place of the style's; everything else is scaled with it.
    pub strength: Option<Strength>,
    /// These parts alone; all where it is empty.
    pub only: Parts,
    /// None of these.
    pub keep: Parts,
}

/// What a layer of the recipe moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moved {
    /// A soft part.
    Part(Role),
    /// The body as a whole.
    Body,
}

impl Moved {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Part(role) => role.name(),
            Self::Body => "body",
        }
    }
}

/// An effect of a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedEffect {
    /// The effect's name in the registry.
    pub kind: &'static str,
    /// What it is, in an animator's words.
    pub about: String,
    /// Its strength in the liveliest clip.
    pub strength: f64,
    /// Its parameters.
    pub values: Vec<(&'static str, f64)>,
}

/// Why a layer was lowered in a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The gate.
    pub gate: &'static str,
    /// In words.
    pub words: String,
    /// The clip.
    pub clip: String,
    /// What the layer has left of its strength there.
    pub left: f64,
}

impl fmt::Display for Lowered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { words, left, .. } = self;
        let clip = short_name(&self.clip);
        match left {
            0.0 => write!(f, "off in {clip}: {words}"),
            1.0.. => write!(f, "raised to {:.0} % in {clip}, with more {words}", 100.0 * left),
            _ => write!(f, "{:.0} % of it in {clip}: {words}", 100.0 * left),
        }
    }
}

/// The effects of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// What it moves.
    pub moved: Moved,
    /// Its effects.
    pub effects: Vec<PlannedEffect>,
    /// Factors on their gains by the names of clips; 0 is off, and clips that are not among them have 1.
    pub in_clips: Vec<(String, f64)>,
    /// Whether it is off in every clip that was looked at.
    pub is_off: bool,
    /// Why it is as it is.
    pub reasons: Vec<String>,
    /// What lowered it.
    pub lowered: Vec<Lowered>,
}

/// A recipe in the making.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its manner.
    pub style: Style,
    /// Least and most strength of soft parts in clips that move them.
    pub range: [f64; 2],
    /// Part by part; the body last.
    pub layers: Vec<Layer>,
    /// Roles whose bones the body's effects leave out.
    pub still: Vec<Role>,
    /// Sentences about what is not moved, and about what could not be understood.
    pub remarks: Vec<String>,
}

/// Makes a plan.
pub fn plan(survey: &Survey, wishes: &Wishes) -> Plan {
    let manner = wishes.style.manner();
    let scale = wishes.strength.map_or(1.0, |strength| strength.share() / manner.part);
    // A strength that is asked for is neither raised nor lowered to suit the style.
    let range = wishes.strength.map_or(manner.range, |strength| [0.0, manner.range[1].max(1.5 * strength.share())]);
    let mut plan = Plan { style: wishes.style, range, layers: Vec::new(), still: Vec::new(), remarks: Vec::new() };
    let wanted = |role: Role| {
        (wishes.only.is_empty() || wishes.only.roles.contains(&role)) && !wishes.keep.roles.contains(&role)
    };
    for part in survey.parts.iter().filter(|part| wanted(part.role)) {
        match refused(part) {
            Some(why) => plan.remarks.push(format!("{}: nothing, {why}", part.role)),
            None => plan.layers.push(layer(part, &manner, scale)),
        }
    }
    for role in wishes.only.roles.iter().filter(|&&role| !survey.has(role)) {
        plan.remarks.push(format!("{role}: this character has none"));
    }
    let soft = survey.share(|role| role.firmness() == Firmness::Soft);
    let firm = wishes.only.roles.iter().filter(|role| role.firmness() != Firmness::Soft && survey.has(**role));
    for role in firm {
        plan.remarks.push(format!("{role}: nothing, it is not soft"));
    }
    let is_body = if wishes.only.is_empty() { !wishes.keep.has_body } else { wishes.only.has_body };
    let face = [Role::Head, Role::Jaw, Role::Teeth, Role::Tongue, Role::Eye, Role::Hand, Role::Foot];
    let kept = wishes.keep.roles.iter().copied().filter(|role| !face.contains(role));
    plan.still = face.into_iter().chain(kept).filter(|&role| survey.has(role)).collect();
    if is_body && survey.bones > 0 {
        plan.layers.push(body(survey, &manner, scale, soft > 0.0 && !plan.layers.is_empty()));
    }
    plan.remarks.extend(character(survey, !plan.layers.is_empty()));
    plan
}

/// Why a part gets nothing.
fn refused(part: &SoftPart) -> Option<String> {
    if part.own == Own::Sprung {
        return Some("the player swings it by springs of the file".to_owned());
    }
    if part.confidence < SURE {
        return Some(format!("it is not sure enough that it is one ({})", part.reason));
    }
    if part.length < SMALLEST {
        return Some("it is too small to be seen".to_owned());
    }
    (part.most_motion() < STILL).then(|| "no clip moves it".to_owned())
}

fn frequency(length: f64, pace: f64) -> f64 {
    let [slowest, fastest] = FREQUENCIES;
    // Two digits, for people to read.
    (10.0 * (pace * SLOWEST / length.max(1e-3).sqrt()).clamp(slowest, fastest)).round() / 10.0
}

fn layer(part: &SoftPart, manner: &Manner, scale: f64) -> Layer {
    let mut reasons = vec![part.reason.clone()];
    let mut strength = scale * manner.part;
    let of_length = if part.role == Role::Flesh { OF_FLESH } else { manner.of_length } * part.length;
    let of_motion = OF_MOTION * part.most_motion();
    if of_motion < strength.min(of_length) {
        strength = of_motion;
        reasons.push(format!("clips move it by {} of the size at most: half of that", percent(part.most_motion())));
    } else if of_length < strength {
        strength = of_length;
        reasons.push(format!("it is {} of the size long: no more than it can bend", percent(part.length)));
    }
    let swings = match part.own {
        Own::Overlaps { delay } => {
            strength *= KEYED;
            reasons.push(format!("its keys overlap already, by {delay:.2} s from bone to bone: less, and drag alone"));
            false
        }
        _ => true,
    };
    let frequency = frequency(part.length, manner.pace);
    let sign = if manner.leads { -1.0 } else { 1.0 };
    // Flesh jiggles; what hangs drags too.
    let (drag, swing) = match (part.role, swings) {
        (Role::Flesh, true) if !manner.leads => (0.0, 1.0),
        (_, true) => (manner.drag, manner.swing),
        (_, false) => (1.0, 0.0),
    };
    let mut effects = Vec::new();
    if drag > 0.0 {
        let about = if manner.leads { "lead: ahead of the motion" } else { "drag: trails behind what carries it" };
        effects.push(PlannedEffect {
            kind: "floppy",
            about: about.to_owned(),
            strength: drag * strength,
            values: vec![
                ("translation", sign * 0.04),
                ("rotation", sign * 0.2),
                ("max_length", MAX_LENGTH),
                ("max_angle", MAX_ANGLE),
            ],
        });
    }
    if swing > 0.0 {
        effects.push(PlannedEffect {
            kind: "wobble",
            about: format!("follow-through: swings past and settles, {frequency} times a second for its length"),
            strength: swing * strength,
            values: vec![
                ("translation", 1.0),
                ("rotation", 4.0),
                ("frequency", frequency),
                ("damping", manner.damping),
                ("max_length", MAX_LENGTH),
                ("max_angle", MAX_ANGLE),
            ],
        });
    }
    if part.role == Role::Cloth && part.twirl >= TWIRL {
        effects.push(PlannedEffect {
            kind: "centrifugal-stretch",
            about: "flies outward in a turn".to_owned(),
            strength: 0.4 * strength,
            values: vec![("filter", 0.05), ("max_length", MAX_LENGTH)],
        });
    }
    Layer { moved: Moved::Part(part.role), effects, in_clips: Vec::new(), is_off: false, reasons, lowered: Vec::new() }
}

/// The body as a whole.
fn body(survey: &Survey, manner: &Manner, scale: f64, has_soft: bool) -> Layer {
    let unknown = survey.share(|role| matches!(role, Role::Unknown | Role::Helper));
    let machine = survey.share(|role| role.is_rigid());
    let mut strength = scale * if has_soft { manner.body } else { manner.alone };
    let mut reasons = Vec::new();
    if unknown > MOST {
        reasons.push("nothing tells what is what: all of it follows a little".to_owned());
    } else if machine > MOST {
        strength *= 0.5;
        reasons.push("mostly stiff: what bends follows very little".to_owned());
    } else if !has_soft {
        reasons.push("no soft part: the body alone follows a little".to_owned());
    } else {
        reasons.push("a little, under the soft parts".to_owned());
    }
    let swings = manner.drag < manner.swing;
    let mut effects = vec![if swings {
        PlannedEffect {
            kind: "wobble",
            about: "weight: swings and settles".to_owned(),
            strength,
            values: vec![
                ("translation", 0.3),
                ("rotation", 1.5),
                ("frequency", frequency(0.3, manner.pace)),
                ("damping", manner.damping.max(0.3)),
                ("max_length", 0.03),
                ("max_angle", 0.12),
                ("root", 0.6),
            ],
        }
    } else {
        let sign = if manner.leads { -1.0 } else { 1.0 };
        PlannedEffect {
            kind: "floppy",
            about: if manner.leads { "leads" } else { "drag" }.to_owned(),
            strength,
            values: vec![
                ("translation", sign * 0.01),
                ("rotation", sign * 0.07),
                ("max_length", 0.03),
                ("max_angle", 0.15),
                ("root", 0.6),
            ],
        }
    }];
    if manner.squash > 0.0 {
        effects.push(PlannedEffect {
            kind: "squash",
            about: "stretches where it is fast".to_owned(),
            strength: scale * manner.squash,
            values: vec![
                ("translation", 0.3),
                ("rotation", 0.08),
                ("max_stretch", 0.25),
                ("ease", 0.03),
                ("root", 0.6),
            ],
        });
    }
    Layer { moved: Moved::Body, effects, in_clips: Vec::new(), is_off: false, reasons, lowered: Vec::new() }
}

/// A sentence about a character that was not understood.
fn character(survey: &Survey, moves: bool) -> Option<String> {
    let unknown = survey.share(|role| matches!(role, Role::Unknown | Role::Helper));
    let machine = survey.share(|role| role.is_rigid());
    if survey.bones == 0 {
        Some("no bone moves any skin: there is nothing to move".to_owned())
    } else if survey.bones == 1 {
        Some("one bone moves everything: the character follows it as a whole".to_owned())
    } else if unknown > MOST {
        Some("neither names nor shape tell what this is: correct it by naming bones in the recipe".to_owned())
    } else if machine > MOST {
        Some("most of it is stiff, as a machine is".to_owned())
    } else if !survey.parts.iter().any(|part| refused(part).is_none()) {
        Some("no ears, tail, hair, cloth or other soft part was found: the body alone follows, by little".to_owned())
    } else {
        (!moves).then(|| "nothing is left to move".to_owned())
    }
}

impl Layer {
    /// Whether it does anything.
    pub fn is_on(&self) -> bool {
        !self.is_off
    }

    /// What its effects do, in a few words: `drag 3.8 %, follow-through 3.3 %`.
    pub fn words(&self) -> String {
        let word = |effect: &PlannedEffect| {
            let (name, _) = effect.about.split_once(':').unwrap_or((&effect.about, ""));
            format!("{name} {}", percent(effect.strength))
        };
        self.effects.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl Plan {
    /// The recipe.
    pub fn recipe(&self) -> Result<RecipeFile, LivenError> {
        Ok(RecipeFile::parse(&self.text())?)
    }

    /// The text of the recipe, with the reasons as comments.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let comment = |words: &str, out: &mut String| {
            let words: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let mut line = String::from("#");
            for word in words.split_whitespace() {
                if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > 100 {
                    out.push_str(&line);
                    out.push('\n');
                    line = String::from("#  ");
                }
                line.push(' ');
                line.push_str(word);
            }
            out.push_str(&line);
            out.push('\n');
        };
        comment(&format!("Made by `sinew liven --style {}`: a start for your own hand.", self.style), &mut text);
        comment(
            "A strength is how far an effect moves its part, as a share of the character's size; gains are solved for.",
            &mut text,
        );
        self.remarks.iter().for_each(|remark| comment(remark, &mut text));
        text.push_str("version = 1\n");
        text.push_str("strength_over = \"balanced\"     # the liveliest clip has the strength, calmer ones less\n");
        text.push_str("planted = \"auto\"             # feet that stand stay where they stand\n");
        let most = self.style.manner().max_strain;
        let _ = writeln!(text, "{:<29}# soft parts bend no farther than that", format!("max_strain = {most}"));
        text.push_str("rigid = \"auto\"               # props, eyes, armour and parts of machines never bend\n");
        for layer in &self.layers {
            text.push('\n');
            comment(&format!("{}: {}.", layer.moved.name(), layer.reasons.join("; ")), &mut text);
            if layer.is_on() {
                layer.effects.iter().for_each(|effect| self.effect(layer, effect, &mut text));
            } else {
                layer.lowered.iter().for_each(|lowered| comment(&format!("{lowered}."), &mut text));
            }
        }
        text
    }

    fn effect(&self, layer: &Layer, effect: &PlannedEffect, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "[[effect]]\n{:<30} # {}", format!("type = \"{}\"", effect.kind), effect.about);
        if let Moved::Part(role) = layer.moved {
            let _ = writeln!(text, "parts = [\"@{role}\"]");
        }
        let _ = writeln!(text, "strength = \"{}\"", percent(effect.strength));
        for (name, value) in &effect.values {
            let value = (1e4 * value).round() / 1e4;
            let _ = writeln!(text, "{name} = {value:?}");
        }
        if layer.moved == Moved::Body && !self.still.is_empty() {
            text.push_str("[effect.bones]                 # their own motion counts for nothing\n");
            for role in &self.still {
                let _ = writeln!(text, "\"@{role}\" = 0.0");
            }
        }
        if !layer.in_clips.is_empty() {
            text.push_str("[effect.clips]                 # factors on its gain\n");
            for (clip, factor) in &layer.in_clips {
                let _ = write!(text, "{:<30}", format!("{} = {factor:?}", toml_string(clip)));
                let why = layer.lowered.iter().find(|lowered| lowered.clip == *clip);
                let else_why =
                    if *factor < 1.0 { "moves farther than it should without" } else { "seen too little without" };
                let _ = match why {
                    Some(Lowered { words, .. }) if *factor < 1.0 => writeln!(text, " # {words}"),
                    Some(Lowered { words, .. }) => writeln!(text, " # {else_why}, with more {words}"),
                    None => writeln!(text, " # {else_why}"),
                };
            }
        }
    }
}

/// A name in quotes, as TOML has them.
fn toml_string(name: &str) -> String {
    let mut out = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
