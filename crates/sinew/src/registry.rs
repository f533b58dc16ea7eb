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
    use crate::base::BASES;
    use crate::correct::CORRECTIONS;
    use crate::param::ParamKind;
    use crate::recipe::{CORRECTION_KEYS, EFFECT_KEYS};

    /// Names are distinct, everything is explained, defaults lie in range, and no key hides another.
    #[test]
    fn entries_describe_themselves() {
        let mut names = Vec::new();
        let mut check = |name: &'static str, about: &str, params: &[ParamSpec], other_keys: Vec<&'static str>| {
            assert!(!names.contains(&name), "{name}");
            names.push(name);
            assert!(!about.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
            for param in params {
                assert!(!param.about.is_empty(), "{} of {name}", param.name);
                if let ParamKind::Number { min, max, default, .. } = param.kind {
                    let by_word = param.word_for_zero.is_some();
                    assert!(if by_word { default == 0.0 && min > 0.0 } else { min <= default }, "{}", param.name);
                    assert!(default <= max, "{} of {name}", param.name);
                }
            }
            let keys: Vec<&str> = params.iter().map(|param| param.name).chain(other_keys).chain(["type"]).collect();
            for (index, key) in keys.iter().enumerate() {
                assert!(!keys[..index].contains(key), "{key} of {name} is said twice");
            }
        };
        for effect in EFFECTS {
            let shared = EFFECT_KEYS.iter().map(|key| key.name).collect();
            check(effect.name(), effect.about(), effect.params(), shared);
            for input in effect.inputs() {
                let values = Values::defaults(effect.params());
                assert!(input.params().all(|name| effect.params().iter().any(|param| param.name == name)));
                assert!(matches!(input, Input::LowPass(..)) || input.filter(&values).is_some());
            }
        }
        for correction in CORRECTIONS {
            let tables = correction.tables.iter().map(|table| table.key);
            let keys = CORRECTION_KEYS.iter().map(|key| key.name).chain(tables).chain(["map", "maps"]);
            check(correction.name, correction.about, correction.params, keys.collect());
            let known = |name: &&str| correction.params.iter().any(|param| param.name == *name);
            assert!(correction.scaled.iter().all(known), "{}", correction.name);
        }
        for base in BASES {
            let keys = base.tables.iter().map(|table| table.key).chain(["map"]);
            check(base.name, base.about, base.params, keys.collect());
            let mapped = base.mapped.is_none_or(|name| base.params.iter().any(|param| param.name == name));
            assert!(mapped, "{}", base.name);
        }
        for table in CORRECTIONS.iter().flat_map(|c| c.tables).chain(BASES.iter().flat_map(|base| base.tables)) {
            assert!(!table.about.is_empty() && !table.examples.is_empty(), "{}", table.key);
            assert!(table.row.cells().iter().all(|cell| !cell.about.is_empty()), "{}", table.key);
        }
    }
}
