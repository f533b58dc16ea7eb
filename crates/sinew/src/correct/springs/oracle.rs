//! The same descent on the f64 springs, point by point: what the rows are held against.

use super::descent::{DescentScratch, Energy, Evaluated, Scheme, Solved, Stop, descend};
use super::model::{FIXED_STEPS, SAFETY, SpringFrame, Springs};
use glam::DVec3;

impl Stop {
    /// When no point would be moved farther, or after many iterations.
    pub fn at_move(largest_move: f64, iterations: usize) -> Self {
        Self { largest_move, ..Self::after(iterations) }
    }
}

impl Springs {
    /// The largest time step at which the thesis' fixed step is safe: 1/max D.
    pub fn safe_fixed_step(&self) -> f64 {
        self.stiffness.iter().copied().fold(0.0, f64::max).recip()
    }

    /// Moves `points`, a skinned mesh, towards the equilibrium.
    pub fn solve(&self, frame: &SpringFrame<'_>, points: &mut Vec<DVec3>, scheme: Scheme, stop: &Stop) -> Solved {
        let edits = frame.edits.iter().map(|edit| edit.0).fold(0.0, f64::max);
        let fixed = (1.0 / self.safe_fixed_step() + edits).max(FIXED_STEPS);
        let mut energy =
            PointEnergy { springs: self, frame, fixed, directions: Vec::new(), lengths: Vec::new(), terms: Vec::new() };
        descend(&mut energy, points, scheme, stop, &mut DescentScratch::default())
    }
}

/// The energy of a frame, point by point.
struct PointEnergy<'a> {
    springs: &'a Springs,
    frame: &'a SpringFrame<'a>,
    /// One bound for all points.
    fixed: f64,
    directions: Vec<DVec3>,
    lengths: Vec<f64>,
    terms: Vec<[f64; 3]>,
}

impl PointEnergy<'_> {
    /// What a plain step multiplies the force on a point by.
    fn gain(&self, point: usize, fixed: bool) -> f64 {
        let bound = if fixed { self.fixed } else { self.springs.bound(self.frame, point) };
        // What nothing holds feels no force.
        if bound > f64::MIN_POSITIVE { SAFETY / bound } else { 0.0 }
    }
}

impl Energy for PointEnergy<'_> {
    type Vectors = Vec<DVec3>;
    const ROUNDING: f64 = 0.0;

    fn forces(&mut self, points: &Vec<DVec3>, forces: &mut Vec<DVec3>) -> Evaluated {
        let energy =
            self.springs.forces(self.frame, points, &mut self.directions, &mut self.lengths, &mut self.terms, forces);
        let mut felt = Evaluated { energy, ..Evaluated::default() };
        for (i, force) in forces.iter().enumerate() {
            felt.largest_move = felt.largest_move.max(force.length() * self.gain(i, false));
            felt.largest_force = felt.largest_force.max(force.length());
        }
        felt
    }

    fn plain_step(&self, points: &Vec<DVec3>, forces: &Vec<DVec3>, fixed: bool, k: f64, out: &mut Vec<DVec3>) {
        out.clear();
        let both = points.iter().zip(forces).enumerate();
        out.extend(both.map(|(i, (&p, &f))| p + f * (k * self.gain(i, fixed))));
    }

    fn plain_square(&self, a: &Vec<DVec3>) -> f64 {
        a.iter().enumerate().map(|(i, a)| a.length_squared() * self.gain(i, false)).sum()
    }

    fn plain_dot(&self, a: &mut Vec<DVec3>, k: f64, c: &Vec<DVec3>) -> f64 {
        a.iter_mut().enumerate().for_each(|(i, a)| *a *= k * self.gain(i, false));
        self.dot(a, c)
    }

    /// In index order: the same bits everywhere.
    fn dot(&self, a: &Vec<DVec3>, b: &Vec<DVec3>) -> f64 {
        a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
    }

    fn sum(&self, a: &Vec<DVec3>, b: &Vec<DVec3>, k: f64, out: &mut Vec<DVec3>) {
        out.clear();
        out.extend(a.iter().zip(b).map(|(&a, &b)| a + b * k));
    }

    fn add_dot(&self, a: &mut Vec<DVec3>, b: &Vec<DVec3>, k: f64, c: &Vec<DVec3>) -> f64 {
        a.iter_mut().zip(b).for_each(|(a, &b)| *a += b * k);
        self.dot(a, c)
    }
}
