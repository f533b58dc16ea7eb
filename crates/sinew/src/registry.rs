//! What an entry of the list of effects says of itself. Help, validation, benchmarks and conformance run over the lists:
//! [`EFFECTS`], [`crate::base::BASES`], [`crate::correct::CORRECTIONS`].

use crate::displace::{Displacement, Input};
use crate::graph::{DisplacementNode, Node};
use crate::param::{ParamSpec, Values};
use std::fmt;
use std::marker::PhantomData;

pub use crate::displace::EFFECTS;

/// The effect of that name.
pub fn find(name: &str) -> Option<&'static dyn Effect> {
    EFFECTS.iter().copied().find(|effect| effect.name() == name)
}

/// A self-describing entry.
pub trait Effect: Send + Sync {
    /// Name in recipes and on the command line.
    fn name(&self) -> &'static str;
    /// What it does, in one line.
    fn about(&self) -> &'static str;
    /// Its parameters.
    fn params(&self) -> &'static [ParamSpec];
    /// What of the motion it reads.
    fn inputs(&self) -> &'static [Input];
    /// Whether it cannot do without a cone.
    fn needs_cone(&self) -> bool;
    /// Values of its paper's own form, where they are not the defaults; `None` for effects beyond the papers.
    fn paper(&self) -> Option<&'static [(&'static str, f64)]>;
    /// Makes the node that evaluates it.
    fn node(&self, values: &Values) -> Box<dyn DisplacementNode>;
}

impl fmt::Debug for dyn Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The entry of a displacement.
pub(crate) struct Displace<D>(pub PhantomData<fn() -> D>);

impl<D: Displacement> Effect for Displace<D> {
    fn name(&self) -> &'static str {
        D::NAME
    }
    fn about(&self) -> &'static str {
        D::ABOUT
    }
    fn params(&self) -> &'static [ParamSpec] {
        D::PARAMS
    }
    fn inputs(&self) -> &'static [Input] {
        D::INPUTS
    }
    fn needs_cone(&self) -> bool {
        D::NEEDS_CONE
    }
    fn paper(&self) -> Option<&'static [(&'static str, f64)]> {
        D::PAPER
    }
    fn node(&self, values: &Values) -> Box<dyn DisplacementNode> {
        Box::new(Node(D::new(values)))
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
