//! All deformers, one line each. Help, validation and conformance tests run over this list.

use crate::displace::{
    AccelerationDrag, CentrifugalLift, CentrifugalStretch, Displacement, Floppy, Followthrough, Input, Jerk, Squash,
    Wobble,
};
use crate::graph::{DisplacementNode, Node};
use crate::param::{ParamSpec, Values};
use std::fmt;

/// Every effect, in the order of the manual.
pub static EFFECTS: &[&Effect] = &[
    &Effect::of::<Squash>(),
    &Effect::of::<Floppy>(),
    &Effect::of::<Followthrough>(),
    &Effect::of::<AccelerationDrag>(),
    &Effect::of::<CentrifugalStretch>(),
    &Effect::of::<CentrifugalLift>(),
    &Effect::of::<Wobble>(),
    &Effect::of::<Jerk>(),
];

/// The effect of that name.
pub fn find(name: &str) -> Option<&'static Effect> {
    EFFECTS.iter().copied().find(|effect| effect.name() == name)
}

/// A self-describing entry.
pub struct Effect {
    name: &'static str,
    about: &'static str,
    params: &'static [ParamSpec],
    inputs: &'static [Input],
    needs_cone: bool,
    paper: Option<&'static [(&'static str, f64)]>,
    node: fn(&Values) -> Box<dyn DisplacementNode>,
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Effect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Effect {
    const fn of<D: Displacement>() -> Self {
        Self {
            name: D::NAME,
            about: D::ABOUT,
            params: D::PARAMS,
            inputs: D::INPUTS,
            needs_cone: D::NEEDS_CONE,
            paper: D::PAPER,
            node: |values| Box::new(Node(D::new(values))),
        }
    }

    /// Name in recipes and on the command line.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it does, in one line.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// Its parameters.
    pub fn params(&self) -> &'static [ParamSpec] {
        self.params
    }

    /// What of the motion it reads.
    pub fn inputs(&self) -> &'static [Input] {
        self.inputs
    }

    /// Whether it cannot do without a cone.
    pub fn needs_cone(&self) -> bool {
        self.needs_cone
    }

    /// Values of its paper's own form, where they are not the defaults; `None` for effects beyond the papers.
    pub fn paper(&self) -> Option<&'static [(&'static str, f64)]> {
        self.paper
    }

    /// Makes the node that evaluates it.
    pub(crate) fn node(&self, values: &Values) -> Box<dyn DisplacementNode> {
        (self.node)(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::ParamKind;

    #[test]
    fn entries_describe_themselves() {
        for (index, effect) in EFFECTS.iter().enumerate() {
            assert!(EFFECTS[..index].iter().all(|other| other.name() != effect.name()));
            assert!(!effect.about().is_empty() && effect.name().chars().all(|c| c.is_ascii_lowercase() || c == '-'));
            for param in effect.params() {
                assert!(!param.about.is_empty(), "{} of {}", param.name, effect.name());
                if let ParamKind::Number { min, max, default, .. } = param.kind {
                    assert!(min <= default && default <= max, "{} of {}", param.name, effect.name());
                }
            }
            for input in effect.inputs() {
                let values = crate::param::Values::defaults(effect.params());
                assert!(input.params().all(|name| effect.params().iter().any(|param| param.name == name)));
                assert!(matches!(input, Input::LowPass(..)) || input.filter(&values).is_some());
            }
        }
    }
}
