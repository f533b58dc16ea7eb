//! How targets are stored: the smallest form for each with which rounding stays within what the targets left of the
//! tolerance.
//!
//! Displacements may be whole numbers in 8 or 16 bits (`KHR_mesh_quantization`), as they are or as parts of the largest.
//! A target is divided by a scale s ≤ 1 and its weight multiplied by it, so that its reach M (its largest coordinate)
//! fills the numbers there are, and weights stay in 0…1: parts of the largest L reach ±s and lie s/L apart; whole numbers
//! reach ±L s and lie s apart, for meshes whose unit is small beside what moves. Directions are parts always, so s is at
//! least their reach, and where a target has directions on a mesh of large units no whole numbers may do.
//!
//! Beginning with 8 bits for all, the coarsest target gets the next finer form until, at every frame, truncation and
//! rounding are within the limit. Both are largest errors over points, so that their sum bounds what is played. Since they
//! are hardly ever largest at the same point, the bound may exceed the tolerance at first ([`Allowance::LOOSE`]); where the
//! result turns out to be off, it may not ([`Allowance::STRICT`]).

use super::solution::Solution;
use crate::keys::{Moved, WeightCurve};
use crate::matrix::Tall;
use crate::pulled::PulledGroup;

/// What errors may add up to at a frame, as shares of the tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Allowance {
    /// Those of targets and rounding.
    stored: f64,
    /// With those of keys.
    pub all: f64,
    /// Keys may use this in any case.
    pub least_keys: f64,
}

impl Allowance {
    pub(super) const LOOSE: Self = Self { stored: 1.05, all: 1.15, least_keys: 0.1 };
    pub(super) const STRICT: Self = Self { stored: 0.9, all: 1.0, least_keys: 0.1 };
}

/// Least share of the tolerance that rounding may use where the targets have used it up (best effort).
const LEAST_ROUNDING_SHARE: f64 = 0.02;
/// What may be cut off a target's directions, per number and on average, as an angle: a few of them are wild where triangles
/// are next to nothing, and would leave positions coarse.
const DIRECTIONS_CUT: f64 = 0.02 * std::f64::consts::PI / 180.0;
/// Frames that forms are tried on, before all of them are looked at.
const TRIED_FRAMES: usize = 256;

/// Numbers of an accessor. See `KHR_mesh_quantization`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// As they are, in f32.
    #[default]
    Float,
    /// Whole numbers in 8 bits.
    Byte,
    /// Whole numbers in 16 bits.
    Short,
    /// Parts of 127, up to 1.
    NormalizedByte,
    /// Parts of 32767, up to 1.
    NormalizedShort,
}

impl Storage {
    /// Distance of neighbouring numbers, and the largest; `None` where they are as fine as ours.
    fn grid(self) -> Option<(f64, f64)> {
        let (byte, short) = (f64::from(i8::MAX), f64::from(i16::MAX));
        match self {
            Self::Float => None,
            Self::Byte => Some((1.0, byte)),
            Self::Short => Some((1.0, short)),
            Self::NormalizedByte => Some((1.0 / byte, 1.0)),
            Self::NormalizedShort => Some((1.0 / short, 1.0)),
        }
    }

    /// What a number becomes when it is stored and read again.
    fn held(self, x: f64) -> f64 {
        self.grid().map_or(x, |(step, most)| ((x / step).round() * step).clamp(-most, most))
    }
}

/// How one target is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Form {
    pub positions: Storage,
    pub directions: Storage,
    /// What the target is divided and its weight multiplied by.
    pub scale: f64,
}

impl Default for Form {
    fn default() -> Self {
        Self { positions: Storage::Float, directions: Storage::Float, scale: 1.0 }
    }
}

impl Form {
    /// The forms of a target of the given reaches, from coarse to fine: each is finer than those before.
    fn ladder(reach: f64, directions: f64) -> Vec<Self> {
        let stored = if directions > 0.0 { Storage::NormalizedByte } else { Storage::Float };
        let mut forms: Vec<(f64, Self)> = Vec::new();
        for pair in [[Storage::NormalizedByte, Storage::Byte], [Storage::NormalizedShort, Storage::Short]] {
            let finest = pair.into_iter().filter_map(|positions| {
                let (step, most) = positions.grid()?;
                let scale = (reach / most).max(directions);
                let fits = scale <= 1.0 && scale >= f64::from(f32::MIN_POSITIVE);
                fits.then_some((scale * step, Self { positions, directions: stored, scale }))
            });
            let finest = finest.min_by(|a, b| a.0.total_cmp(&b.0));
            forms.extend(finest.filter(|(step, _)| forms.last().is_none_or(|(coarser, _)| step < coarser)));
        }
        let scale = if directions > 0.0 { directions } else { 1.0 };
        forms.push((0.0, Self { positions: Storage::Float, directions: stored, scale }));
        forms.into_iter().map(|(_, form)| form).collect()
    }

    /// Distance of neighbouring positions, in the mesh's units.
    fn step(&self) -> f64 {
        self.positions.grid().map_or(0.0, |(step, _)| step * self.scale)
    }

    /// A number of the target as it is played.
    fn played(&self, storage: Storage, x: f32) -> f32 {
        (storage.held(f64::from(x) / self.scale) * self.scale) as f32
    }
}

impl Solution {
    /// Chooses a form for every target, and rounds all of them as they will be read.
    pub(super) fn store(&mut self, group: &PulledGroup, tolerance: f64, whole_numbers: bool) {
        match &self.unrounded {
            Some((written, fields)) => {
                self.written = written.clone();
                self.fields.clone_from(fields);
            }
            None => {
                self.unrounded = Some((self.written.clone(), self.fields.clone()));
            }
        }
        let ladders: Vec<Vec<Form>> = (0..self.count)
            .map(|target| {
                let reach = largest(self.written.column(target));
                let directions = self.fields.iter().map(|targets| direction_reach(targets.column(target)));
                let directions = directions.fold(0.0, f64::max);
                if whole_numbers { Form::ladder(reach, directions) } else { vec![Form::default()] }
            })
            .collect();
        let steps = coarsest_first(&ladders);
        let left: Vec<Vec<f32>> = (self.trade.fits.iter())
            .map(|fits| fits.iter().map(|fit| self.left_for_rounding(fit.errors[self.rung()], tolerance)).collect())
            .collect();
        let places: Vec<(usize, usize)> =
            left.iter().enumerate().flat_map(|(clip, left)| (0..left.len()).map(move |place| (clip, place))).collect();
        let mut tightest = places.clone();
        tightest.sort_by(|a, b| left[a.0][a.1].total_cmp(&left[b.0][b.1]).then(a.cmp(b)));
        tightest.truncate(TRIED_FRAMES / 4);
        let spread = places.iter().step_by(places.len().div_ceil(TRIED_FRAMES).max(1)).copied();
        tightest.extend(spread);
        let will_do = |taken: usize, places: &[(usize, usize)]| {
            let rounding = self.rounding_at(group, &chosen(&ladders, &steps[..taken]), places);
            rounding.iter().zip(places).all(|(&off, &(clip, place))| off <= left[clip][place])
        };
        let (mut low, mut high) = (0, steps.len());
        while low < high {
            let middle = low.midpoint(high);
            if will_do(middle, &tightest) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        while low < steps.len() && !will_do(low, &places) {
            low += 1;
        }
        let forms = chosen(&ladders, &steps[..low]);
        let mut rounding = self.rounding_at(group, &forms, &places).into_iter();
        self.rounding = left.iter().map(|left| rounding.by_ref().take(left.len()).collect()).collect();
        for (target, form) in forms.iter().enumerate() {
            let held = |numbers: &mut [f32], storage| numbers.iter_mut().for_each(|x| *x = form.played(storage, *x));
            held(self.written.column_mut(target), form.positions);
            self.fields.iter_mut().for_each(|targets| held(targets.column_mut(target), form.directions));
        }
        self.played = group.in_world(&self.written);
        self.forms = forms;
        let used = |targets: &Tall| {
            let is_used = |&target: &usize| targets.column(target).iter().any(|x| *x != 0.0);
            let used: Vec<usize> = (0..self.count).filter(is_used).collect();
            let mut columns = Tall::new(targets.rows());
            used.iter().for_each(|&target| columns.push(targets.column(target)));
            (used, columns)
        };
        self.used = self.fields.iter().map(used).collect();
    }

    /// Allows less: at first to the keys of the clips that are `off`, then to everything. Tells whether it could.
    pub(super) fn tighten(&mut self, off: &[bool]) -> bool {
        let clips = || self.key_allowances.iter().zip(off);
        if clips().any(|(allowance, &is_off)| is_off && *allowance != Allowance::STRICT) {
            self.stale_keys.clone_from_slice(off);
        } else if self.allowance != Allowance::STRICT && off.contains(&true) {
            self.allowance = Allowance::STRICT;
            self.stale_forms = true;
            self.stale_keys.fill(true);
        } else {
            return false;
        }
        let stale = self.key_allowances.iter_mut().zip(&self.stale_keys).filter(|(_, stale)| **stale);
        stale.for_each(|(allowance, _)| *allowance = Allowance::STRICT);
        true
    }

    /// What a frame with the given error of the targets leaves.
    fn left_for_rounding(&self, error: f32, tolerance: f64) -> f32 {
        (self.allowance.stored * tolerance - f64::from(error)).max(LEAST_ROUNDING_SHARE * tolerance) as f32
    }

    /// How far points are off at frames because targets are stored as `forms` say.
    fn rounding_at(&self, group: &PulledGroup, forms: &[Form], places: &[(usize, usize)]) -> Vec<f32> {
        let mut off = Tall::new(self.written.rows());
        for (target, form) in forms.iter().enumerate() {
            let column = self.written.column(target);
            off.push(&column.iter().map(|&x| form.played(form.positions, x) - x).collect::<Vec<_>>());
        }
        let weights: Vec<&[f32]> = places.iter().map(|&(clip, place)| &self.weights[clip][place][..]).collect();
        Moved { targets: &group.in_world(&off), stretch: &self.trade.stretch }.errors(&weights)
    }

    /// A clip's weights as they are written.
    pub(super) fn written_curve(&self, clip: usize) -> WeightCurve {
        let mut curve = self.curves[clip].clone();
        for weights in &mut curve.weights {
            let scaled = |(weight, form): (&mut f32, &Form)| *weight = (f64::from(*weight) * form.scale) as f32;
            weights.iter_mut().zip(&self.forms).for_each(scaled);
        }
        curve
    }
}

/// Which target is taken one form further, one after the other.
fn coarsest_first(ladders: &[Vec<Form>]) -> Vec<usize> {
    let mut rungs = vec![0; ladders.len()];
    let mut steps = Vec::new();
    let step = |rungs: &[usize], target: usize| ladders[target][rungs[target]].step();
    while let Some(coarsest) = (0..ladders.len())
        .filter(|&target| rungs[target] + 1 < ladders[target].len())
        .max_by(|&a, &b| step(&rungs, a).total_cmp(&step(&rungs, b)).then(b.cmp(&a)))
    {
        rungs[coarsest] += 1;
        steps.push(coarsest);
    }
    steps
}

fn chosen(ladders: &[Vec<Form>], steps: &[usize]) -> Vec<Form> {
    let mut rungs = vec![0; ladders.len()];
    steps.iter().for_each(|&target| rungs[target] += 1);
    ladders.iter().zip(rungs).map(|(ladder, rung)| ladder[rung]).collect()
}

fn largest(numbers: &[f32]) -> f64 {
    f64::from(numbers.iter().fold(0.0f32, |largest, x| largest.max(x.abs())))
}

/// How far directions reach, but for a few; at most 1, which is what can be stored.
fn direction_reach(numbers: &[f32]) -> f64 {
    let mut sizes: Vec<f64> = numbers.iter().map(|&x| f64::from(x.abs())).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    let allowed = DIRECTIONS_CUT * sizes.len() as f64;
    // Cut at s, the n numbers above it lose Σ x − n s.
    let mut sum = 0.0;
    for (above, &size) in sizes.iter().enumerate() {
        if sum - above as f64 * size > allowed {
            return ((sum - allowed) / above as f64).min(1.0);
        }
        sum += size;
    }
    let even = (sum - allowed) / sizes.len().max(1) as f64;
    // Where all of them could be cut off, what is there is kept as well as it can be.
    if even > 0.0 { even.min(1.0) } else { sizes.first().map_or(0.0, |&size| size.min(1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader computes of a stored whole number.
    fn read(storage: Storage, stored: i32) -> f64 {
        match storage {
            Storage::Float => f64::NAN,
            Storage::Byte | Storage::Short => f64::from(stored),
            Storage::NormalizedByte => (f64::from(stored) / 127.0).max(-1.0),
            Storage::NormalizedShort => (f64::from(stored) / 32767.0).max(-1.0),
        }
    }

    #[test]
    fn forms_reach_what_they_must_and_get_finer() {
        for reach in [1e-6, 0.003, 0.5, 1.0, 7.0, 126.0, 900.0, 32000.0, 1e6] {
            for directions in [0.0, 0.02, 0.6, 1.0] {
                let ladder = Form::ladder(reach, directions);
                assert!(ladder.windows(2).all(|pair| pair[1].step() < pair[0].step()), "{reach} {directions}");
                for form in &ladder {
                    assert!(form.scale <= 1.0 && form.scale >= directions);
                    let off = f64::from(form.played(form.positions, reach as f32)) - reach;
                    assert!(off.abs() <= 0.5 * form.step() + 1e-6 * reach, "{reach} {directions} {form:?}");
                }
                assert_eq!(ladder.last().map(|form| form.positions), Some(Storage::Float));
            }
        }
        let coarsest = |reach: f64| Form::ladder(reach, 0.0)[0];
        assert_eq!((coarsest(0.2).positions, coarsest(0.2).scale), (Storage::NormalizedByte, 0.2));
        assert_eq!(coarsest(50.8).positions, Storage::Byte);
        assert!((coarsest(50.8).scale - 0.4).abs() < 1e-12);
        assert_eq!(coarsest(200.0).positions, Storage::Short);
    }

    #[test]
    fn what_is_held_is_what_readers_read() {
        for storage in [Storage::Byte, Storage::Short, Storage::NormalizedByte, Storage::NormalizedShort] {
            for stored in [-127, -60, -1, 0, 1, 99, 127] {
                let x = read(storage, stored);
                assert!((storage.held(x) - x).abs() < 1e-12, "{storage:?} {stored}");
            }
        }
        assert_eq!((Storage::NormalizedByte.held(3.0), Storage::Byte.held(-900.0)), (1.0, -127.0));
        assert_eq!(Storage::Float.held(0.1), 0.1);
    }

    #[test]
    fn a_few_wild_directions_do_not_count() {
        let mut numbers = vec![0.1f32; 3000];
        numbers[7] = 0.9;
        // What may be lost is more than that one stands out by: the others lose the rest.
        let expected = (2999.0 * 0.1 + 0.9) / 3000.0 - DIRECTIONS_CUT;
        assert!((direction_reach(&numbers) - expected).abs() < 1e-6);
        numbers[8] = 0.9;
        let expected = 0.9 - 1500.0 * DIRECTIONS_CUT;
        assert!((direction_reach(&numbers) - expected).abs() < 1e-6, "{}", direction_reach(&numbers));
        assert_eq!(direction_reach(&[0.0, 0.0]), 0.0);
        assert_eq!(direction_reach(&[4.0, 4.0]), 1.0);
    }
}
