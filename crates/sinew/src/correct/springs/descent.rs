//! Descent on an energy with a known bound of its stiffness: plainly, or by L-BFGS (Nocedal 1980).
//!
//! A plain step moves every point by `0.9 F/D`, which is stable before anything is tried if D bounds the stiffness that the
//! point feels; where the energy is far from quadratic the step is halved until it falls. No step that raises the
//! energy (by more than it is rounded by) is ever taken: it cannot diverge. The plain iteration carries news by one edge
//! per round; L-BFGS on the same energy, with `D⁻¹` as its first guess, reaches the same minimum in a fraction of them.
//!
//! Oracle: both ways end in the same place (`tests`).

/// Halvings of a step before the solver gives up: at rounding.
const HALVINGS: u32 = 40;
/// Corrections that L-BFGS remembers.
pub(super) const MEMORY: usize = 8;

/// When the solver stops; the first that is met.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stop {
    /// Iterations at most.
    pub iterations: usize,
    /// No point would be moved farther by a plain step.
    pub largest_move: f64,
    /// No force is larger.
    pub largest_force: f64,
    /// An iteration lowers the energy by less than this share of it.
    pub energy_share: f64,
}

impl Stop {
    /// After so many iterations and nothing else.
    pub fn after(iterations: usize) -> Self {
        Self { iterations, largest_move: 0.0, largest_force: 0.0, energy_share: 0.0 }
    }
}

/// Why the solver stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The number of iterations.
    Iterations,
    /// The largest move.
    Move,
    /// The largest force.
    Force,
    /// The energy no longer falls by the share asked for.
    Energy,
    /// No step lowers the energy: it is at its minimum but for rounding.
    Rounding,
}

/// What a solve did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Solved {
    /// Iterations.
    pub iterations: usize,
    /// Times that all forces were computed.
    pub evaluations: usize,
    /// Energy at the end.
    pub energy: f64,
    /// How far a plain step would move the farthest point at the end.
    pub largest_move: f64,
    /// Why it stopped.
    pub stopped: Stopped,
}

/// How the solver moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Scheme {
    /// The thesis' iteration with a safe step per point.
    Plain,
    /// The thesis' own: one time step for all, as long as it is safe.
    Fixed,
    /// L-BFGS to the same equilibrium.
    #[default]
    Accelerated,
}

/// What an energy is like where the points are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Evaluated {
    pub energy: f64,
    /// How far a plain step would move the farthest point.
    pub largest_move: f64,
    pub largest_force: f64,
}

/// An energy of points, and the few sums of vectors that descent needs: each goes over its vectors once.
pub(super) trait Energy {
    /// Points, or a vector for each.
    type Vectors: Clone + Default;
    /// Share of the energy that rounding may hide.
    const ROUNDING: f64;

    /// The energy at `points`, and minus its gradient in `forces`.
    fn forces(&mut self, points: &Self::Vectors, forces: &mut Self::Vectors) -> Evaluated;
    /// `points + k D⁻¹ f` in `out`, times the safety; with one D for all if `fixed`.
    fn plain_step(&self, points: &Self::Vectors, forces: &Self::Vectors, fixed: bool, k: f64, out: &mut Self::Vectors);
    /// `Σ a·D⁻¹ a`, times the safety.
    fn plain_square(&self, a: &Self::Vectors) -> f64;
    /// `a ← k D⁻¹ a`, times the safety; `Σ a·c` of the result.
    fn plain_dot(&self, a: &mut Self::Vectors, k: f64, c: &Self::Vectors) -> f64;
    /// `Σ a·b`.
    fn dot(&self, a: &Self::Vectors, b: &Self::Vectors) -> f64;
    /// `a + k b` in `out`.
    fn sum(&self, a: &Self::Vectors, b: &Self::Vectors, k: f64, out: &mut Self::Vectors);
    /// `a ← a + k b`; `Σ a·c` of the result.
    fn add_dot(&self, a: &mut Self::Vectors, b: &Self::Vectors, k: f64, c: &Self::Vectors) -> f64;
}

/// Memory of the solver; contents mean nothing between solves.
#[derive(Clone, Debug, Default)]
pub(super) struct DescentScratch<V> {
    forces: V,
    trial: V,
    trial_forces: V,
    direction: V,
    history: Vec<Remembered<V>>,
    /// Vectors that are remembered no more.
    spare: Vec<Remembered<V>>,
}

/// A move and the change of the gradient over it, with the inverse of their product.
type Remembered<V> = (V, V, f64);

/// Moves `points` towards the minimum.
pub(super) fn descend<E: Energy>(
    energy_of: &mut E,
    points: &mut E::Vectors,
    scheme: Scheme,
    stop: &Stop,
    scratch: &mut DescentScratch<E::Vectors>,
) -> Solved {
    let DescentScratch { forces, trial, trial_forces, direction, history, spare } = scratch;
    spare.append(history);
    let mut felt = energy_of.forces(points, forces);
    if scheme == Scheme::Accelerated {
        // All of it at once: how many moves are remembered differs from frame to frame.
        history.reserve(MEMORY);
        let vectors = || (forces.clone(), forces.clone(), 0.0);
        spare.extend(std::iter::repeat_with(vectors).take(MEMORY.saturating_sub(spare.len())));
    }
    let mut evaluations = 1;
    let mut iterations = 0;
    // The plain schemes remember a step that had to be halved and grow it again slowly.
    let mut trust = 1.0f64;
    loop {
        let Evaluated { energy, largest_move, largest_force } = felt;
        let met = if largest_move <= stop.largest_move {
            Some(Stopped::Move)
        } else if largest_force <= stop.largest_force {
            Some(Stopped::Force)
        } else if iterations >= stop.iterations {
            Some(Stopped::Iterations)
        } else {
            None
        };
        if let Some(stopped) = met {
            return Solved { iterations, evaluations, energy, largest_move, stopped };
        }
        let accelerated = scheme == Scheme::Accelerated && two_loops(energy_of, forces, history, direction);
        let mut step = if accelerated { 1.0 } else { trust };
        let mut halvings = 0;
        let lowered = loop {
            match accelerated {
                true => energy_of.sum(points, direction, step, trial),
                false => energy_of.plain_step(points, forces, scheme == Scheme::Fixed, step, trial),
            }
            let there = energy_of.forces(trial, trial_forces);
            evaluations += 1;
            if there.energy < energy || there.energy <= energy * (1.0 + E::ROUNDING) && E::ROUNDING > 0.0 {
                break Some(there);
            }
            halvings += 1;
            if halvings > HALVINGS {
                break None;
            }
            step *= 0.5;
        };
        let Some(lowered) = lowered else {
            if accelerated {
                // A direction from memory may fail where the plain one does not.
                spare.append(history);
                continue;
            }
            return Solved { iterations, evaluations, energy, largest_move, stopped: Stopped::Rounding };
        };
        if !accelerated {
            trust = if halvings == 0 { (2.0 * step).min(1.0) } else { step };
        }
        if scheme == Scheme::Accelerated {
            remember(energy_of, history, spare, (points, forces), (trial, trial_forces));
        }
        std::mem::swap(points, trial);
        std::mem::swap(forces, trial_forces);
        felt = lowered;
        iterations += 1;
        if stop.energy_share > 0.0 && energy - felt.energy <= stop.energy_share * felt.energy {
            let Evaluated { energy, largest_move, .. } = felt;
            return Solved { iterations, evaluations, energy, largest_move, stopped: Stopped::Energy };
        }
    }
}

fn remember<E: Energy>(
    energy: &E,
    history: &mut Vec<Remembered<E::Vectors>>,
    spare: &mut Vec<Remembered<E::Vectors>>,
    from: (&E::Vectors, &E::Vectors),
    to: (&E::Vectors, &E::Vectors),
) {
    if history.len() == MEMORY {
        spare.push(history.remove(0));
    }
    let (mut moved, mut changed, _) = spare.pop().unwrap_or_default();
    energy.sum(to.0, from.0, -1.0, &mut moved);
    energy.sum(from.1, to.1, -1.0, &mut changed);
    let product = energy.dot(&moved, &changed);
    // Where the energy is not convex the pair says nothing useful.
    let useful = product > 0.0 && product.recip().is_finite();
    if useful { history } else { spare }.push((moved, changed, product.recip()));
}

/// The two-loop recursion: `direction` from the forces and the moves remembered; false where there are none or the
/// direction does not descend. Every vector added is followed by the product with the next one, in one go.
fn two_loops<E: Energy>(
    energy: &E,
    forces: &E::Vectors,
    history: &[Remembered<E::Vectors>],
    direction: &mut E::Vectors,
) -> bool {
    let (Some((oldest, ..)), Some((newest, changed, inverse))) = (history.first(), history.last()) else {
        return false;
    };
    let scale = (inverse * energy.plain_square(changed)).recip();
    let mut product = energy.dot(newest, forces);
    direction.clone_from(forces);
    let mut shares = [0.0; MEMORY];
    for (k, (_, changed, inverse)) in history.iter().enumerate().rev() {
        shares[k] = inverse * product;
        let next = if k == 0 { oldest } else { &history[k - 1].0 };
        product = energy.add_dot(direction, changed, -shares[k], next);
    }
    product = energy.plain_dot(direction, scale, &history[0].1);
    for (k, (moved, _, inverse)) in history.iter().enumerate() {
        let next = history.get(k + 1).map_or(forces, |next| &next.1);
        product = energy.add_dot(direction, moved, shares[k] - inverse * product, next);
    }
    product > 0.0 && product.is_finite()
}
