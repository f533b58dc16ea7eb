//! What an entry of the list of effects says of itself. Help, validation, benchmarks and conformance run over the lists:
//! [`EFFECTS`], [`crate::base::BASES`], [`crate::correct::CORRECTIONS`].

use crate::displace::{Displacement, Input};
use crate::graph::{DisplacementNode, Node};
use crate::param::{ParamSpec, Values};
use std::fmt;

pub use crate::displace::EFFECTS;

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
    pub(crate) const fn of<D: Displacement>() -> Self {
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
