//! The displacement that vortex samples give to what is around them.
//!
//! Source: KD 5.2. `V(p) = Σ f(‖p−p_i‖/r_i) X_i × (p−p_i)`, `f(d) = (d²−1)²` inside the radius, 0 outside. Each
//! term turns spheres about p_i in themselves, so V is divergence-free whatever the samples. The skin follows the flow of
//! V over a unit of pseudo-time, in one step of Runge and Kutta's: four looks at the field, as
//! four substeps take, and of fourth order. It depends on the samples as they are now and on nothing before, so what
//! leaves comes back. The paper's own accumulation is one step of Euler's for each instant.
//! Samples lie in a grid of cells as wide as the largest radius; points that lie together ([`Blocks`]) look at the cells
//! around them, and each row of them chooses the samples in reach of it and of where the flow takes it. Cost is that of the points
//! and of the samples near them. Samples and points are f32 about the middle of their patch, in the largest radius:
//! what is rounded is a displacement, not a place.
//! Oracle: divergence by central differences; the sum over all samples, without a grid, in f64.

use super::real::{PointsOf, Row, Wide3, load, rounded, splat};
use crate::simd::{LANES, Level, Simd, dispatch, prelude::*};
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// A vortex: where it is, how it turns what is around it, and how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vortex {
    pub at: DVec3,
    pub vorticity: DVec3,
    pub reach: f64,
}

impl Vortex {
    /// Its part of the field.
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        let away = p - self.at;
        let inside = 1.0 - away.length_squared() / (self.reach * self.reach);
        if inside > 0.0 { self.vorticity.cross(away) * (inside * inside) } else { DVec3::ZERO }
    }

    /// Its part of the field's gradient: `f [X]× + (X×d) ⊗ ∇f`.
    pub fn gradient(&self, p: DVec3) -> DMat3 {
        let away = p - self.at;
        let per_square = 1.0 / (self.reach * self.reach);
        let inside = 1.0 - away.length_squared() * per_square;
        if inside <= 0.0 {
            return DMat3::ZERO;
        }
        let fall = away * (-4.0 * inside * per_square);
        let turn = self.vorticity.cross(away);
        let column = |axis: DVec3| self.vorticity.cross(axis) * (inside * inside) + turn * fall.dot(axis);
        DMat3::from_cols(column(DVec3::X), column(DVec3::Y), column(DVec3::Z))
    }
}

/// Cells along a side, at most: beyond it they are made wider.
const MOST_CELLS: f64 = 64.0;
/// How far points may go before their patch looks for samples again, in the largest radius.
const MARGIN: f64 = 0.15;
/// How far beyond its largest velocity a row chooses samples: choosing anew at every stage costs more than it saves.
const BEYOND: f32 = 1.25;
/// Rows of a patch.
const PATCH: usize = 8;
/// Pieces of the work per thread, so that none waits long for the last.
const PIECES: usize = 8;

/// How points follow the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    /// Its flow over a unit of time.
    Flow,
    /// One step of Euler's.
    Once,
}

/// Samples, sorted by cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct VortexField {
    vortices: Vec<Vortex>,
    sorted: Vec<Vortex>,
    reach: f64,
    corner: DVec3,
    cells_per_length: f64,
    cells: [i32; 3],
    /// Per cell, where its samples start; one more at the end.
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl VortexField {
    /// Begins a new field, keeping memory.
    pub fn clear(&mut self) {
        self.vortices.clear();
    }

    /// Adds a sample. One that turns nothing, or is not finite, is left out.
    pub fn push(&mut self, vortex: Vortex) {
        let sound = vortex.at.is_finite() && vortex.vorticity.is_finite() && vortex.reach.is_finite();
        if sound && vortex.reach > 0.0 && vortex.vorticity != DVec3::ZERO {
            self.vortices.push(vortex);
        }
    }

    /// Sorts the samples into cells: call it after the last one.
    pub fn build(&mut self) {
        let (mut low, mut high) = (DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY));
        self.reach = 0.0;
        for vortex in &self.vortices {
            (low, high) = (low.min(vortex.at), high.max(vortex.at));
            self.reach = self.reach.max(vortex.reach);
        }
        self.starts.clear();
        self.sorted.clear();
        self.cells = [0; 3];
        let Some(&first) = self.vortices.first() else { return };
        let width = self.reach.max((high - low).max_element() / (MOST_CELLS - 1.0));
        self.corner = low;
        self.cells_per_length = 1.0 / width;
        // At most 64 along each side.
        self.cells = self.cell(high).map(|last| last + 1);
        let count = self.cells.iter().map(|&cells| cells as usize).product::<usize>();
        self.starts.resize(count + 1, 0);
        for vortex in &self.vortices {
            let cell = self.index(self.cell(vortex.at));
            self.starts[cell + 1] += 1;
        }
        for cell in 0..count {
            self.starts[cell + 1] += self.starts[cell];
        }
        self.sorted.resize(self.vortices.len(), first);
        // Back to front, each to the end of what is left of its cell, keeps the order within cells.
        self.ends.clear();
        self.ends.extend_from_slice(&self.starts[1..]);
        for vortex in self.vortices.iter().rev() {
            let cell = self.index(self.cell(vortex.at));
            self.ends[cell] -= 1;
            self.sorted[self.ends[cell] as usize] = *vortex;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.vortices.is_empty()
    }

    fn cell(&self, p: DVec3) -> [i32; 3] {
        // Casts saturate: what is far off stays outside.
        ((p - self.corner) * self.cells_per_length).to_array().map(|v| v.floor() as i32)
    }

    /// Of a cell that is inside.
    fn index(&self, [x, y, z]: [i32; 3]) -> usize {
        ((z * self.cells[1] + y) * self.cells[0] + x) as usize
    }

    /// Hands over the samples that reach into a box.
    fn reaching(&self, low: DVec3, high: DVec3, mut found: impl FnMut(&Vortex)) {
        let (first, last) = (self.cell(low - self.reach), self.cell(high + self.reach));
        let first = first.map(|cell| cell.max(0));
        let last: [i32; 3] = std::array::from_fn(|axis| last[axis].min(self.cells[axis] - 1));
        if first[0] > last[0] {
            return;
        }
        for z in first[2]..=last[2] {
            for y in first[1]..=last[1] {
                // The cells of a line lie together.
                let start = self.starts[self.index([first[0], y, z])] as usize;
                let end = self.starts[self.index([last[0], y, z]) + 1] as usize;
                let reaches = |vortex: &&Vortex| {
                    let nearest = vortex.at.clamp(low, high);
                    nearest.distance_squared(vortex.at) < vortex.reach * vortex.reach
                };
                self.sorted[start..end].iter().filter(reaches).for_each(&mut found);
            }
        }
    }

    /// V.
    #[cfg(test)]
    pub fn velocity(&self, p: DVec3) -> DVec3 {
        let mut sum = DVec3::ZERO;
        if p.is_finite() {
            self.reaching(p, p, |vortex| sum += vortex.velocity(p));
        }
        sum
    }

    /// Where the flow takes a point: the reference of [`Followers::follow`].
    #[cfg(test)]
    pub fn carry(&self, p: DVec3) -> DVec3 {
        let k1 = self.velocity(p);
        let k2 = self.velocity(p + k1 * 0.5);
        let k3 = self.velocity(p + k2 * 0.5);
        let k4 = self.velocity(p + k3);
        p + (k1 + (k2 + k3) * 2.0 + k4) / 6.0
    }
}

/// An order of points in which those of a row, and the rows of a patch, lie together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blocks {
    order: Vec<u32>,
}

impl Blocks {
    /// By halving along the longest side.
    pub fn new(points: &[DVec3]) -> Self {
        fn halve(points: &[DVec3], order: &mut [u32]) {
            if order.len() <= LANES {
                return;
            }
            let places = order.iter().map(|&index| points[index as usize]);
            let (low, high) = places.fold((DVec3::MAX, DVec3::MIN), |(l, h), p| (l.min(p), h.max(p)));
            let axis = (high - low).max_position();
            let key = |index: &u32| points[*index as usize][axis];
            // Whole rows, and whole patches while there are some.
            let unit = if order.len() > PATCH * LANES { PATCH * LANES } else { LANES };
            let half = (order.len() / 2).next_multiple_of(unit).min(order.len() - 1);
            order.select_nth_unstable_by(half, |a, b| f64::total_cmp(&key(a), &key(b)).then(a.cmp(b)));
            let (near, far) = order.split_at_mut(half);
            halve(points, near);
            halve(points, far);
        }
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        halve(points, &mut order);
        Self { order }
    }
}

/// A sample as points of a patch feel it.
#[derive(Clone, Copy, Debug)]
struct Whirl {
    /// `1 − d²` by powers of p: `1 − ‖p_i‖²/r²`, `2p_i/r²` and `−1/r²`.
    inside: f32,
    slope: [f32; 3],
    per_square: f32,
    vorticity: [f32; 3],
    /// Velocity at the middle of the patch: `−X × p_i`.
    linear: [f32; 3],
}

/// The samples of one field around a patch.
#[derive(Clone, Debug, Default)]
struct Around {
    whirls: Vec<Whirl>,
    /// Their places and squared radii in rows, to be looked through; the rest of the last row reaches nowhere.
    places: Vec<PointsOf<f32>>,
    squares: Vec<Row<f32>>,
    /// Those in reach of a row, in order; of which so many count.
    near: Vec<u32>,
    count: usize,
}

/// Memory of one piece of the work.
#[derive(Clone, Debug, Default)]
struct Looker {
    /// Per field.
    around: Vec<Around>,
    /// Per field, how much of it each point of a row takes.
    shares: Vec<Row<f32>>,
}

/// Points that follow fields: memory, and how far each went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Followers {
    lookers: Vec<Looker>,
    moves: Vec<PointsOf<f32>>,
    /// Of the moves.
    unit: f64,
}

/// What is followed, and how.
pub(crate) struct Following<'a> {
    pub fields: &'a [VortexField],
    /// How much of a field, by its index, moves a point.
    pub share: &'a (dyn Fn(usize, usize) -> f64 + Sync),
    pub how: Follow,
    pub level: Level,
    pub pool: Option<&'a rayon::ThreadPool>,
}

impl Followers {
    /// Finds where the sum of fields takes points; [`Followers::moves`] tells. Points that are not finite feel nothing.
    pub fn follow(&mut self, following: &Following<'_>, blocks: &Blocks, points: &[DVec3]) {
        let rows = blocks.order.len().div_ceil(LANES);
        self.unit = following.fields.iter().map(|field| field.reach).fold(0.0, f64::max);
        self.moves.resize(rows, [[0.0; LANES]; 3]);
        let pieces = following.pool.map_or(1, |pool| PIECES * pool.current_num_threads());
        self.lookers.resize_with(pieces, Looker::default);
        // Patches are whole, so that what they look at does not depend on the pieces.
        let length = rows.div_ceil(pieces).next_multiple_of(PATCH).max(PATCH);
        let (unit, lookers) = (self.unit, &mut self.lookers);
        let follow = |(piece, (moves, looker)): (usize, (&mut [PointsOf<f32>], &mut Looker))| {
            for (index, moves) in moves.chunks_mut(PATCH).enumerate() {
                let first = (piece * length + index * PATCH) * LANES;
                let order = &blocks.order[first..blocks.order.len().min(first + PATCH * LANES)];
                looker.patch(following, unit, order, points, moves);
            }
        };
        match following.pool {
            None => self.moves.chunks_mut(length).zip(lookers).enumerate().for_each(follow),
            Some(pool) => {
                let moves = &mut self.moves;
                pool.install(|| moves.par_chunks_mut(length).zip(lookers).enumerate().for_each(follow));
            }
        }
    }

    /// Points, and how far they go.
    pub fn moves<'a>(&'a self, blocks: &'a Blocks) -> impl Iterator<Item = (usize, DVec3)> + 'a {
        let of = move |(moves, order): (&'a PointsOf<f32>, &'a [u32])| {
            order.iter().enumerate().map(move |(lane, &point)| {
                let [x, y, z] = moves.map(|moves| f64::from(moves[lane]));
                (point as usize, DVec3::new(x, y, z) * self.unit)
            })
        };
        self.moves.iter().zip(blocks.order.chunks(LANES)).flat_map(of)
    }
}

impl Looker {
    /// The points of a patch.
    fn patch(
        &mut self,
        following: &Following<'_>,
        unit: f64,
        order: &[u32],
        points: &[DVec3],
        moves: &mut [PointsOf<f32>],
    ) {
        let places = order.iter().map(|&point| points[point as usize]).filter(|p| p.is_finite());
        let (low, high) = places.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(p), h.max(p)));
        let centre = 0.5 * (low + high);
        moves.fill([[0.0; LANES]; 3]);
        if !(centre.is_finite() && unit > 0.0) {
            return;
        }
        let mut margin = MARGIN;
        self.look(following.fields, unit, centre, low - margin * unit, high + margin * unit);
        for (order, moves) in order.chunks(LANES).zip(moves) {
            if self.around.iter().all(|around| around.whirls.is_empty()) {
                continue;
            }
            let at = |lane: usize| order[lane.min(order.len() - 1)] as usize;
            let mut row = [[0.0; LANES]; 3];
            for lane in 0..LANES {
                let p = (points[at(lane)] - centre) / unit;
                let p = if p.is_finite() { p } else { DVec3::ZERO };
                row.iter_mut().zip(p.to_array()).for_each(|(lanes, value)| lanes[lane] = value as f32);
            }
            self.shares.resize(following.fields.len(), [1.0; LANES]);
            if following.fields.len() > 1 {
                for (field, shares) in self.shares.iter_mut().enumerate() {
                    *shares = std::array::from_fn(|lane| (following.share)(field, at(lane)) as f32);
                }
            }
            // Rows that go farther than their patch has looked look again.
            while let Some(farther) =
                dispatch!(following.level, simd => self.row(simd, following.how, &row, margin as f32, moves))
            {
                margin = f64::from(farther) * 2.0;
                self.look(following.fields, unit, centre, low - margin * unit, high + margin * unit);
            }
        }
    }

    /// Finds the samples that points of a box feel.
    fn look(&mut self, fields: &[VortexField], unit: f64, centre: DVec3, low: DVec3, high: DVec3) {
        self.around.resize_with(fields.len(), Around::default);
        for (around, field) in self.around.iter_mut().zip(fields) {
            around.whirls.clear();
            around.places.clear();
            around.squares.clear();
            let Around { whirls, places, squares, .. } = around;
            // As many as there may ever be: how many are near differs from frame to frame.
            let (all, rows) = (field.sorted.len(), field.sorted.len().div_ceil(LANES));
            whirls.reserve(all);
            places.reserve(rows);
            squares.reserve(rows);
            field.reaching(low, high, |vortex| {
                let (at, reach) = ((vortex.at - centre) / unit, vortex.reach / unit);
                let lane = whirls.len() % LANES;
                if lane == 0 {
                    places.push([[0.0; LANES]; 3]);
                    squares.push([-1.0; LANES]);
                }
                if let (Some(places), Some(squares)) = (places.last_mut(), squares.last_mut()) {
                    places.iter_mut().zip(at.to_array()).for_each(|(lanes, value)| lanes[lane] = value as f32);
                    squares[lane] = (reach * reach) as f32;
                }
                let per_square = 1.0 / (reach * reach);
                whirls.push(Whirl {
                    inside: (1.0 - at.length_squared() * per_square) as f32,
                    slope: rounded(at * (2.0 * per_square)),
                    per_square: -per_square as f32,
                    vorticity: rounded(vortex.vorticity),
                    linear: rounded(-vortex.vorticity.cross(at)),
                });
            });
            around.near.resize(around.near.len().max(rows * LANES), 0);
        }
    }

    /// Where a row goes; or how far from it samples must be known, if not within `known`.
    #[inline(always)]
    fn row<S: Simd>(
        &mut self,
        simd: S,
        how: Follow,
        row: &PointsOf<f32>,
        known: f32,
        moves: &mut PointsOf<f32>,
    ) -> Option<f32> {
        self.choose(simd, row, 0.0);
        let k1 = self.velocities(simd, row);
        let first = largest(&k1);
        if how == Follow::Once || first == 0.0 {
            *moves = k1;
            return None;
        }
        let mut chosen = 0.0;
        let (mut k, mut sum) = (k1, k1);
        for (step, weight) in [(0.5, 2.0), (0.5, 2.0), (1.0, 1.0)] {
            let far = step * largest(&k);
            if far > chosen {
                // The last stage goes about as far as the first velocity.
                chosen = BEYOND * far.max(first);
                if chosen > known {
                    return Some(chosen);
                }
                self.choose(simd, row, chosen);
            }
            let mut here = *row;
            for (p, k) in here.as_flattened_mut().iter_mut().zip(k.as_flattened()) {
                *p += step * k;
            }
            k = self.velocities(simd, &here);
            for (sum, k) in sum.as_flattened_mut().iter_mut().zip(k.as_flattened()) {
                *sum += weight * k;
            }
        }
        *moves = sum;
        moves.as_flattened_mut().iter_mut().for_each(|sum| *sum *= 1.0 / 6.0);
        None
    }

    /// Chooses the samples in reach of a row and of what is within `margin` of it.
    #[inline(always)]
    fn choose<S: Simd>(&mut self, simd: S, row: &PointsOf<f32>, margin: f32) {
        let (mut middle, mut half) = ([0.0; 3], [0.0; 3]);
        for (axis, lanes) in row.iter().enumerate() {
            let (low, high) = lanes.iter().fold((f32::MAX, f32::MIN), |(l, h), &p| (l.min(p), h.max(p)));
            (middle[axis], half[axis]) = (0.5 * (low + high), 0.5 * (high - low) + margin);
        }
        let (middle, half) = (Wide3::<S, f32>::splat(simd, middle), Wide3::<S, f32>::splat(simd, half));
        let zero = splat::<S, f32>(simd, 0.0);
        for (around, shares) in self.around.iter_mut().zip(&self.shares) {
            around.count = 0;
            if shares.iter().all(|&share| share == 0.0) {
                continue;
            }
            let mut count = 0;
            for (index, (places, squares)) in around.places.iter().zip(&around.squares).enumerate() {
                let mut inside = [0.0; LANES];
                for at in (0..LANES).step_by(S::f32s::LEN) {
                    let away = Wide3::load(simd, places, at).sub(middle);
                    let outside = Wide3::<S, f32> {
                        x: (away.x.abs() - half.x).max(zero),
                        y: (away.y.abs() - half.y).max(zero),
                        z: (away.z.abs() - half.z).max(zero),
                    };
                    let within = load::<S, f32>(simd, squares, at) - outside.dot(outside);
                    within.store_slice(&mut inside[at..at + S::f32s::LEN]);
                }
                for (lane, inside) in inside.into_iter().enumerate() {
                    around.near[count] = (index * LANES + lane) as u32;
                    count += usize::from(inside > 0.0);
                }
            }
            around.count = count;
        }
    }

    /// V at the points of a row, of the samples chosen.
    #[inline(always)]
    fn velocities<S: Simd>(&self, simd: S, row: &PointsOf<f32>) -> PointsOf<f32> {
        let mut out = [[0.0; LANES]; 3];
        // Two vectors share what is read of a sample.
        if S::f32s::LEN == LANES {
            self.some_velocities::<S, 1>(simd, row, 0, &mut out);
        } else {
            for at in (0..LANES).step_by(2 * S::f32s::LEN) {
                self.some_velocities::<S, 2>(simd, row, at, &mut out);
            }
        }
        out
    }

    /// Of C vectors.
    #[inline(always)]
    fn some_velocities<S: Simd, const C: usize>(
        &self,
        simd: S,
        row: &PointsOf<f32>,
        at: usize,
        out: &mut PointsOf<f32>,
    ) {
        let zero = splat::<S, f32>(simd, 0.0);
        let none = Wide3::<S, f32>::zero(simd);
        let (mut p, mut squares, mut all) = ([none; C], [zero; C], [none; C]);
        for c in 0..C {
            p[c] = Wide3::load(simd, row, at + c * S::f32s::LEN);
            squares[c] = p[c].dot(p[c]);
        }
        for (around, shares) in self.around.iter().zip(&self.shares) {
            let (mut angular, mut linear) = ([none; C], [none; C]);
            for &index in &around.near[..around.count] {
                let whirl = &around.whirls[index as usize];
                let (inside, slope) = (splat::<S, f32>(simd, whirl.inside), Wide3::<S, f32>::splat(simd, whirl.slope));
                let per_square = splat::<S, f32>(simd, whirl.per_square);
                let mut share = [zero; C];
                for c in 0..C {
                    let inside = p[c].x.mul_add(slope.x, squares[c].mul_add(per_square, inside));
                    let inside = p[c].z.mul_add(slope.z, p[c].y.mul_add(slope.y, inside)).max(zero);
                    share[c] = inside * inside;
                }
                let vorticity = Wide3::<S, f32>::splat(simd, whirl.vorticity);
                let velocity = Wide3::<S, f32>::splat(simd, whirl.linear);
                for c in 0..C {
                    angular[c] = vorticity.mul_add(share[c], angular[c]);
                    linear[c] = velocity.mul_add(share[c], linear[c]);
                }
            }
            for c in 0..C {
                let share = load::<S, f32>(simd, shares, at + c * S::f32s::LEN);
                all[c] = angular[c].cross_add(p[c], linear[c]).mul_add(share, all[c]);
            }
        }
        for (c, all) in all.into_iter().enumerate() {
            all.store(out, at + c * S::f32s::LEN);
        }
    }
}

/// Largest coordinate, without its sign.
#[inline(always)]
fn largest(row: &PointsOf<f32>) -> f32 {
    row.as_flattened().iter().fold(0.0, |most, v| v.abs().max(most))
}

#[cfg(test)]
#[allow(clippy::print_stdout, reason = "the figures are read by hand")]
mod tests {
    use super::*;

    fn field(seed: u64, count: usize) -> (VortexField, Vec<Vortex>) {
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let mut vector = |size: f64| DVec3::new(random(), random(), random()) * size;
        let vortices: Vec<Vortex> = (0..count)
            .map(|k| Vortex { at: vector(4.0), vorticity: vector(1.0), reach: 0.3 + 0.1 * (k % 5) as f64 })
            .collect();
        let mut field = VortexField::default();
        vortices.iter().for_each(|&vortex| field.push(vortex));
        field.build();
        (field, vortices)
    }

    #[test]
    fn the_grid_finds_every_sample_in_reach() {
        let (field, vortices) = field(3, 300);
        for k in 0..500 {
            let t = f64::from(k) / 40.0;
            let p = DVec3::new(3.0 * t.sin(), 3.0 * (1.7 * t).cos(), 2.5 * (0.6 * t).sin());
            let all: DVec3 = vortices.iter().map(|vortex| vortex.velocity(p)).sum();
            assert!((field.velocity(p) - all).length() < 1e-13, "{p}");
        }
        for p in [DVec3::splat(1e300), DVec3::splat(-1e9), DVec3::new(2e9, 0.0, 0.0), DVec3::splat(f64::NAN)] {
            assert_eq!(field.velocity(p), DVec3::ZERO);
        }
        let mut empty = VortexField::default();
        empty.build();
        assert_eq!(empty.carry(DVec3::ONE), DVec3::ONE);
    }

    /// Where points go.
    fn carried(
        fields: &[VortexField],
        share: &(dyn Fn(usize, usize) -> f64 + Sync),
        how: Follow,
        points: &[DVec3],
    ) -> Vec<DVec3> {
        let (blocks, mut followers) = (Blocks::new(points), Followers::default());
        let following = Following { fields, share, how, level: Level::new(), pool: None };
        followers.follow(&following, &blocks, points);
        let mut to = points.to_vec();
        followers.moves(&blocks).for_each(|(point, moved)| to[point] += moved);
        to
    }

    #[test]
    fn points_follow_the_field_as_each_alone() {
        // Over the sum of all samples, without grid, lanes or rows.
        let ((field, vortices), (other, others)) = (field(3, 300), field(8, 90));
        let at = |k: usize| {
            let t = k as f64 * 0.06;
            DVec3::new(2.0 * t.sin(), 2.0 * (1.7 * t).cos(), 1.5 * (0.6 * t).sin())
        };
        let points: Vec<DVec3> = (0..1000).map(at).collect();
        let share = |field: usize, point: usize| if field == 0 { 1.0 } else { 0.3 * (point % 4) as f64 - 0.5 };
        let fields = [field, other];
        let [once, flow] = [Follow::Once, Follow::Flow].map(|how| carried(&fields, &share, how, &points));
        let mut worst: f64 = 0.0;
        for (index, &start) in points.iter().enumerate() {
            let velocity = |p: DVec3| -> DVec3 {
                let own: DVec3 = vortices.iter().map(|vortex| vortex.velocity(p)).sum();
                own + others.iter().map(|vortex| vortex.velocity(p)).sum::<DVec3>() * share(1, index)
            };
            worst = worst.max((once[index] - start - velocity(start)).length());
            let k1 = velocity(start);
            let k2 = velocity(start + k1 * 0.5);
            let k3 = velocity(start + k2 * 0.5);
            let k4 = velocity(start + k3);
            worst = worst.max((flow[index] - start - (k1 + (k2 + k3) * 2.0 + k4) / 6.0).length());
            // The flow itself: small steps of the midpoint rule.
            let (mut p, moved) = (start, k1.length());
            for _ in 0..200 {
                p += velocity(p + velocity(p) * 0.0025) * 0.005;
            }
            assert!((flow[index] - p).length() < 2e-2 * moved + 1e-6, "{index}");
        }
        println!("f32 against f64: {worst:.1e} of samples about 0.5 wide");
        assert!(worst < 1e-6, "{worst:e}");
    }

    #[test]
    fn points_without_a_place_and_far_flows_are_sound() {
        let (field, vortices) = field(3, 300);
        let mut strong = VortexField::default();
        vortices.iter().for_each(|&vortex| strong.push(Vortex { vorticity: vortex.vorticity * 4.0, ..vortex }));
        strong.build();
        let mut points: Vec<DVec3> = (0..200).map(|k| DVec3::splat(f64::from(k) * 0.01 - 1.0)).collect();
        points[7] = DVec3::NAN;
        points[50] = DVec3::splat(f64::INFINITY);
        for field in [&field, &strong] {
            let carried = carried(std::slice::from_ref(field), &|_, _| 1.0, Follow::Flow, &points);
            for (index, (p, to)) in points.iter().zip(&carried).enumerate() {
                assert_eq!(p.is_finite(), to.is_finite(), "{index}");
                if p.is_finite() {
                    let moved = (*to - *p).length();
                    assert!((field.carry(*p) - *to).length() < 1e-6 + 1e-4 * moved, "{index}: {p} {to}");
                }
            }
        }
    }

    #[test]
    fn gradients_are_those_of_the_field() {
        let (_, vortices) = field(4, 20);
        for vortex in &vortices {
            let p = vortex.at + DVec3::new(0.11, -0.07, 0.15);
            let gradient = vortex.gradient(p);
            for (axis, column) in DVec3::AXES.into_iter().zip([gradient.x_axis, gradient.y_axis, gradient.z_axis]) {
                let h = 1e-6;
                let difference = (vortex.velocity(p + axis * h) - vortex.velocity(p - axis * h)) / (2.0 * h);
                assert!((difference - column).length() < 1e-8);
            }
        }
    }

    #[test]
    fn the_field_is_divergence_free() {
        let (field, vortices) = field(5, 200);
        let h = 1e-4 * 4.0;
        let (mut divergence, mut largest): (f64, f64) = (0.0, 0.0);
        for k in 0..300 {
            let t = f64::from(k) / 30.0;
            let p = DVec3::new(2.0 * t.sin(), 2.0 * (1.3 * t).cos(), 2.0 * (0.7 * t).sin());
            // Second derivatives jump at the samples' borders, which differences across them feel.
            if vortices.iter().any(|vortex| (p.distance(vortex.at) - vortex.reach).abs() < 4.0 * h) {
                continue;
            }
            let slope = |axis: DVec3| {
                let near = field.velocity(p + axis * h) - field.velocity(p - axis * h);
                let far = field.velocity(p + axis * (2.0 * h)) - field.velocity(p - axis * (2.0 * h));
                (near * 8.0 - far) / (12.0 * h)
            };
            let [x, y, z] = DVec3::AXES.map(slope);
            divergence = divergence.max((x.x + y.y + z.z).abs());
            largest = largest.max((x.length_squared() + y.length_squared() + z.length_squared()).sqrt());
        }
        assert!(divergence < 1e-6 * largest, "{:e}", divergence / largest);
    }

    #[test]
    fn the_flow_turns_back_when_the_samples_do() {
        let (forth, vortices) = field(9, 60);
        let mut back = VortexField::default();
        vortices.iter().for_each(|&vortex| back.push(Vortex { vorticity: -vortex.vorticity, ..vortex }));
        back.build();
        for k in 0..50 {
            let p = DVec3::new(f64::from(k) / 25.0 - 1.0, 0.3, -0.2);
            let there = forth.carry(p);
            assert!((back.carry(there) - p).length() < 0.02 * (there - p).length() + 1e-15);
        }
    }
}
