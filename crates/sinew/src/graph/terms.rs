//! What an effect needs of its bones at a frame, as plain data: made by one function ([`DisplacementNode::prepare`]),
//! consumed by another (`accumulate`), with nothing but numbers between them.

use crate::displace::{Affine, BoneInput, Displacement, SquashTerm, SwingTerm, Term, TermKind, TermMaker, Throw};
use crate::param::Values;

/// Lists the kinds of terms. `for_kind!(terms, list => expression)` is the expression for the list of whatever kind.
macro_rules! kinds {
    ($($kind:ident($term:ident)),+ $(,)?) => {
        /// The terms of one effect, in the order of its bones.
        #[derive(Clone, Debug)]
        pub(crate) enum Terms {
            $(#[allow(missing_docs, reason = "named as the term")] $kind(Vec<$term>)),+
        }

        impl Terms {
            /// As plain data.
            pub(super) fn words(&self) -> (TermKind, &[u32]) {
                match self {
                    $(Self::$kind(list) => (TermKind::$kind, bytemuck::cast_slice(list))),+
                }
            }
        }

        $(impl Kind for $term {
            fn take(terms: &mut Terms) -> Vec<Self> {
                match terms {
                    Terms::$kind(list) => std::mem::take(list),
                    // Scratch memory may come from another graph.
                    _ => Vec::new(),
                }
            }

            fn hold(list: Vec<Self>) -> Terms {
                Terms::$kind(list)
            }
        })+

        macro_rules! for_kind {
            ($terms:expr, $list:ident => $body:expr) => {
                match $terms {
                    $($crate::graph::terms::Terms::$kind($list) => $body),+
                }
            };
        }
        pub(super) use for_kind;
    };
}

kinds! { Swing(SwingTerm), Squash(SquashTerm), Throw(Throw) }

/// A term that is on the list.
pub(crate) trait Kind: Term {
    /// The list there is, for its memory.
    fn take(terms: &mut Terms) -> Vec<Self>;
    /// As the terms of an effect.
    fn hold(list: Vec<Self>) -> Terms;
}

/// What the bones of one effect do at one frame.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(super) terms: Terms,
    /// Parts taken out of them.
    pub(super) affine: Vec<Affine>,
    /// Whether nothing is left of a term.
    pub(super) still: Vec<bool>,
}

impl Default for Prepared {
    fn default() -> Self {
        Self { terms: Terms::Swing(Vec::new()), affine: Vec::new(), still: Vec::new() }
    }
}

/// A displacement as the graph holds it.
pub(crate) trait DisplacementNode: Send + Sync {
    /// Takes other values.
    fn retune(&mut self, values: &Values);

    /// What it makes its terms by, and their kind.
    fn maker(&self) -> (TermMaker, TermKind);

    /// Works out the terms of all bones. `values` replace the node's own where they are keyed; with a gain that all
    /// points have, affine parts are taken out.
    fn prepare(&self, values: Option<&Values>, inputs: &[BoneInput], gain: Option<f32>, out: &mut Prepared);
}

pub(crate) struct Node<D>(pub D);

impl<D: Displacement> DisplacementNode for Node<D> {
    fn retune(&mut self, values: &Values) {
        self.0 = D::new(values);
    }

    fn maker(&self) -> (TermMaker, TermKind) {
        (self.0.maker(), D::Term::hold(Vec::new()).words().0)
    }

    fn prepare(&self, values: Option<&Values>, inputs: &[BoneInput], gain: Option<f32>, out: &mut Prepared) {
        let keyed = values.map(D::new);
        let displacement = keyed.as_ref().unwrap_or(&self.0);
        out.affine.clear();
        out.still.clear();
        let mut terms = D::Term::take(&mut out.terms);
        terms.clear();
        for input in inputs {
            let mut term = displacement.term(input);
            out.affine.push(gain.map_or(Affine::ZERO, |gain| term.take_affine(gain)));
            out.still.push(term.is_still());
            terms.push(term);
        }
        out.terms = D::Term::hold(terms);
    }
}
