//! What was done to a character, in an animator's words.

use crate::judge::ClipFigures;
use crate::plan::{Layer, Lowered, Moved, Plan};
use crate::survey::Survey;
use crate::text::{MOST_NAMES, enumerated, percent};
use sinew::anatomy::Role;

/// What became of one part.
#[derive(Clone, Debug, PartialEq)]
pub struct PartAccount {
    /// What it is.
    pub moved: Moved,
    /// Its effects with their strengths, in words.
    pub effects: String,
    /// Least and most visible strength over the clips looked at.
    pub strength: Option<[f64; 2]>,
    /// Why it is as it is.
    pub reasons: Vec<String>,
    /// What was lowered, and why.
    pub lowered: Vec<Lowered>,
    /// Whether less is seen of it, in every clip, than the style asks for, though nothing was lowered: it is held to less by
    /// its own length.
    pub falls_short: bool,
    /// Whether anything is left of it.
    pub is_on: bool,
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Part by part.
    pub parts: Vec<PartAccount>,
    /// Things that never bend.
    pub rigid: Vec<String>,
    /// What the body's effects leave out: face, hands, feet.
    pub still: Vec<String>,
    /// Clips in which feet are planted.
    pub planted: Vec<String>,
    /// Sentences.
    pub remarks: Vec<String>,
    /// Clip by clip.
    pub clips: Vec<ClipFigures>,
}

impl PartAccount {
    /// Where and why it was lowered: a few clips one by one, of many the worst.
    fn why_lowered(&self, clips: usize) -> Vec<String> {
        let mut worst: Vec<&Lowered> = self.lowered.iter().collect();
        worst.sort_by(|a, b| a.left.total_cmp(&b.left));
        let mut lowered: Vec<&str> = self.lowered.iter().map(|lowered| lowered.clip.as_str()).collect();
        lowered.sort_unstable();
        lowered.dedup();
        let head = format!("  held back in {} of {clips} clips; of these:", lowered.len());
        let is_long = worst.len() > MOST_NAMES;
        let told = worst.iter().take(MOST_NAMES).map(|lowered| format!("  {lowered}"));
        is_long.then_some(head).into_iter().chain(told).collect()
    }
}

impl Account {
    /// From a plan that was judged.
    pub fn new(survey: &Survey, plan: &Plan, clips: Vec<ClipFigures>) -> Self {
        let strength = |layer: &Layer| {
            let of = |clip: &ClipFigures| match layer.moved {
                Moved::Part(role) => clip.parts.iter().find(|part| part.role == role).map(|part| part.strength),
                Moved::Body => Some(clip.strength),
            };
            let all = clips.iter().filter_map(of);
            all.fold(None, |range: Option<[f64; 2]>, value| {
                Some(range.map_or([value; 2], |[low, high]| [low.min(value), high.max(value)]))
            })
        };
        let part = |layer: &Layer| PartAccount {
            moved: layer.moved,
            effects: layer.words(),
            strength: strength(layer),
            reasons: layer.reasons.clone(),
            lowered: layer.lowered.clone(),
            falls_short: layer.moved != Moved::Body
                && layer.lowered.is_empty()
                && strength(layer).is_some_and(|[_, high]| high < plan.style.range()[0]),
            is_on: layer.is_on(),
        };
        Self {
            parts: plan.layers.iter().map(part).collect(),
            rigid: survey.rigid.clone(),
            still: still(&plan.still),
            planted: clips.iter().filter(|clip| clip.is_planted).map(|clip| clip.name.clone()).collect(),
            remarks: plan.remarks.clone(),
            clips,
        }
    }

    /// One finding per line.
    pub fn lines(&self) -> Vec<String> {
        let (mut lines, clips) = (Vec::new(), self.clips.len());
        for part in &self.parts {
            let name = part.moved.name();
            if !part.is_on {
                lines.push(format!("{name}: nothing is left of it"));
                lines.extend(part.why_lowered(clips));
                continue;
            }
            let seen = match part.strength.filter(|_| part.moved != Moved::Body) {
                Some([low, high]) if high - low > 5e-4 => format!("; seen {} to {}", percent(low), percent(high)),
                _ => String::new(),
            };
            lines.push(format!("{name}: {}{seen}", part.effects));
            if part.falls_short {
                lines.push("  less is seen of it than asked for: farther from its root it would tear".to_owned());
            }
            lines.extend(part.why_lowered(clips));
        }
        if !self.rigid.is_empty() {
            lines.push(format!("{}: rigid", enumerated(&self.rigid, MOST_NAMES)));
        }
        if !self.planted.is_empty() {
            lines.push(format!("feet planted in {}", enumerated(&self.planted, MOST_NAMES)));
        }
        if !self.still.is_empty() {
            lines.push(format!("nothing for {}", enumerated(&self.still, MOST_NAMES)));
        }
        lines.extend(self.remarks.iter().cloned());
        lines
    }
}

/// Roles in words: what is of the face is the face.
fn still(roles: &[Role]) -> Vec<String> {
    let word = |role: &Role| match role {
        Role::Head | Role::Jaw | Role::Teeth | Role::Tongue | Role::Eye => "face",
        Role::Hand => "hands",
        Role::Foot => "feet",
        other => other.name(),
    };
    let mut words: Vec<String> = Vec::new();
    for word in roles.iter().map(word) {
        if !words.iter().any(|other| other == word) {
            words.push(word.to_owned());
        }
    }
    words
}
