//! How weights and maps change along the rest surface: the terms a normal is wrong without, exactly at joints and map
//! borders (`Σ T_i r ⊗ ∇w_i`, `ψ ⊗ ∇w̃_i`, `∂ψ/∂k ⊗ ∇k`).
//!
//! At each control point a quadratic in the two tangent coordinates is fitted by least squares to the values at its
//! neighbours and theirs; its linear part is the gradient, a vector in the tangent plane at rest. Second order in the
//! edge length where a linear fit is first. Points with too few neighbours fall back to the linear fit, then to 0.
//!
//! Rigs made in code may know better: see [`Slopes`].

use crate::propagated::{Ancestry, Propagated};
use crate::rig::{OfRig, Rig, Row};
use crate::simd::{LANES, Lanes};
use crate::skeleton::BoneId;
use glam::DVec3;

/// A vector per lane.
pub(crate) type Gradient = [Lanes; 3];

/// Exact derivatives, for rigs made in code whose weights and gains are functions of the rest point. Only their part
/// along the surface counts.
pub trait Slopes {
    /// Gradient of the normalised weight of `bone` at a vertex.
    fn weight(&self, vertex: usize, bone: BoneId) -> DVec3;
    /// Gradient of the gain (global × painted) of an effect at a vertex.
    fn gain(&self, effect: &str, vertex: usize) -> DVec3;
}

/// Gradients of all skin weights and propagated weights of a rig.
#[derive(Clone, Debug)]
pub(crate) struct Gradients {
    /// Beside [`Rig::skin_weights`]; those of one point sum to 0.
    pub skin: Vec<Gradient>,
    /// Beside the columns of the tree.
    pub columns: Vec<Gradient>,
}

impl Gradients {
    /// Fitted to the neighbours.
    pub fn new(rig: &Rig, tree: &Propagated) -> Self {
        Self::collect(rig, tree, &rig.kept::<SkinSlopes>())
    }

    /// As they are known.
    pub fn exact(rig: &Rig, tree: &Propagated, slopes: &impl Slopes) -> Self {
        let slopes = SkinSlopes::collect(rig, |row, lane, here| {
            let data = &rig.rows()[row];
            let entries = &rig.skin_entries()[data.skin.start as usize..data.skin.end as usize];
            for (gradient, &entry) in here.iter_mut().zip(entries) {
                *gradient = slopes.weight(vertex_at(rig, row, lane), rig.palette()[entry as usize].bone);
            }
        });
        Self::collect(rig, tree, &slopes)
    }

    fn collect(rig: &Rig, tree: &Propagated, slopes: &SkinSlopes) -> Self {
        let ancestry = Ancestry::new(tree.hierarchy());
        let mut gradients = Self {
            skin: vec![[[0.0; LANES]; 3]; rig.skin_weights().len()],
            columns: vec![[[0.0; LANES]; 3]; tree.weights().len()],
        };
        for (row, data) in rig.rows().iter().enumerate() {
            let skin = data.skin.start as usize..data.skin.end as usize;
            for own in skin.clone() {
                (0..data.filled as usize).for_each(|lane| set(&mut gradients.skin[own], lane, slopes.0[own][lane]));
            }
            for column in tree.of_row(row) {
                let bottom = tree.columns()[column].bottom;
                let mut sums = [DVec3::ZERO; LANES];
                for own in skin.clone() {
                    if ancestry.is_at_or_below(rig.palette()[rig.skin_entries()[own] as usize].bone, bottom) {
                        (0..LANES).for_each(|lane| sums[lane] += slopes.0[own][lane]);
                    }
                }
                (0..data.filled as usize).for_each(|lane| set(&mut gradients.columns[column], lane, sums[lane]));
            }
        }
        gradients
    }
}

/// Gradients of skin weights, beside [`Rig::skin_weights`]; those of one point sum to 0.
pub(crate) struct SkinSlopes(Vec<[DVec3; LANES]>);

impl OfRig for SkinSlopes {
    fn of(rig: &Rig) -> Self {
        let fits = rig.kept::<Fits>();
        Self::collect(rig, |row, lane, here| {
            let skin = rig.rows()[row].skin.start as usize..rig.rows()[row].skin.end as usize;
            for &(neighbour, coefficient) in fits.at(row * LANES + lane) {
                let (other, other_lane) = (&rig.rows()[neighbour as usize / LANES], neighbour as usize % LANES);
                // Both lists ascend: walk them together.
                let mut theirs = other.skin.start as usize..other.skin.end as usize;
                for (sum, own) in here.iter_mut().zip(skin.clone()) {
                    let entry = rig.skin_entries()[own];
                    while theirs.start < theirs.end && rig.skin_entries()[theirs.start] < entry {
                        theirs.start += 1;
                    }
                    let shared = theirs.start < theirs.end && rig.skin_entries()[theirs.start] == entry;
                    let weight = if shared { rig.skin_weights()[theirs.start][other_lane] } else { 0.0 };
                    *sum += coefficient * (f64::from(weight) - f64::from(rig.skin_weights()[own][lane]));
                }
            }
        })
    }
}

impl SkinSlopes {
    /// From the gradients of a point's skin weights (row, lane, one per entry of the row).
    fn collect(rig: &Rig, mut at: impl FnMut(usize, usize, &mut [DVec3])) -> Self {
        let mut slopes = vec![[DVec3::ZERO; LANES]; rig.skin_weights().len()];
        let mut here: Vec<DVec3> = Vec::new();
        for (row, data) in rig.rows().iter().enumerate() {
            let skin = data.skin.start as usize..data.skin.end as usize;
            for lane in 0..data.filled as usize {
                here.clear();
                here.resize(skin.len(), DVec3::ZERO);
                at(row, lane, &mut here);
                // Weights sum to 1 everywhere, so their gradients sum to 0; bones that only neighbours have took a
                // share of that, which goes back by weight.
                let total: DVec3 = here.iter().sum();
                for (gradient, own) in here.iter().zip(skin.clone()) {
                    slopes[own][lane] = *gradient - total * f64::from(rig.skin_weights()[own][lane]);
                }
            }
        }
        Self(slopes)
    }
}

/// The first copy of a control point.
fn vertex_at(rig: &Rig, row: usize, lane: usize) -> usize {
    rig.vertex_of_layer()[rig.rows()[row].layers.start as usize][lane] as usize
}

/// Known gradients of an effect's gain.
pub(crate) fn gain_slopes(rig: &Rig, slopes: &impl Slopes, effect: &str) -> Vec<Gradient> {
    let row = |(row, data): (usize, &Row)| {
        let mut gradient = [[0.0; LANES]; 3];
        for lane in 0..data.filled as usize {
            set(&mut gradient, lane, slopes.gain(effect, vertex_at(rig, row, lane)));
        }
        gradient
    };
    rig.rows().iter().enumerate().map(row).collect()
}

fn set(gradient: &mut Gradient, lane: usize, v: DVec3) {
    for (axis, value) in v.to_array().into_iter().enumerate() {
        gradient[axis][lane] = value as f32;
    }
}

/// Gradient of a value per control point.
pub(crate) fn gradient_of(rig: &Rig, values: &[Lanes]) -> Vec<Gradient> {
    let mut gradients = Vec::new();
    gradient_into(rig, values, &mut gradients);
    gradients
}

/// The same in memory that is there.
pub(crate) fn gradient_into(rig: &Rig, values: &[Lanes], out: &mut Vec<Gradient>) {
    let fits = rig.kept::<Fits>();
    let value = |slot: usize| f64::from(values[slot / LANES][slot % LANES]);
    out.clear();
    out.extend(rig.rows().iter().enumerate().map(|(row, data)| {
        let mut gradient = [[0.0; LANES]; 3];
        for lane in 0..data.filled as usize {
            let slot = row * LANES + lane;
            let fit = fits.at(slot).iter();
            set(&mut gradient, lane, fit.map(|&(other, c)| c * (value(other as usize) - value(slot))).sum());
        }
        gradient
    }));
}

/// By slot, its neighbours with the coefficient vectors of `∇f = Σ c (f_neighbour − f)`.
pub(crate) struct Fits {
    stops: Vec<u32>,
    all: Vec<(u32, DVec3)>,
}

impl OfRig for Fits {
    fn of(rig: &Rig) -> Self {
        let rest = Rest::new(rig);
        let mut scratch = FitScratch::default();
        let mut fits = Self { stops: Vec::with_capacity(rig.rows().len() * LANES), all: Vec::new() };
        for (row, data) in rig.rows().iter().enumerate() {
            for lane in 0..LANES {
                if lane < data.filled as usize {
                    fits.all.extend_from_slice(rest.fit(row * LANES + lane, &mut scratch));
                }
                fits.stops.push(fits.all.len() as u32);
            }
        }
        fits.all.shrink_to_fit();
        fits
    }
}

impl Fits {
    fn at(&self, slot: usize) -> &[(u32, DVec3)] {
        let start = if slot == 0 { 0 } else { self.stops[slot - 1] as usize };
        &self.all[start..self.stops[slot] as usize]
    }
}

/// The surface at rest.
struct Rest<'a> {
    rig: &'a Rig,
    normals: Vec<DVec3>,
}

#[derive(Default)]
struct FitScratch {
    ring: Vec<u32>,
    samples: Vec<(u32, [f64; 2], f64)>,
    fit: Vec<(u32, DVec3)>,
}

impl<'a> Rest<'a> {
    fn new(rig: &'a Rig) -> Self {
        let mut normals = vec![DVec3::ZERO; rig.rows().len() * LANES];
        for t in rig.point_triangles() {
            let [a, b, c] = t.map(|slot| rig.rest().get(slot as usize).as_dvec3());
            let area = (b - a).cross(c - a);
            for &slot in t {
                normals[slot as usize] += area;
            }
        }
        for normal in &mut normals {
            *normal = normal.normalize_or_zero();
        }
        Self { rig, normals }
    }

    /// Fits at one point.
    fn fit<'s>(&self, slot: usize, scratch: &'s mut FitScratch) -> &'s [(u32, DVec3)] {
        let FitScratch { ring, samples, fit } = scratch;
        fit.clear();
        let adjacency = self.rig.adjacency();
        ring.clear();
        ring.extend_from_slice(adjacency.of(slot));
        for &neighbour in adjacency.of(slot) {
            ring.extend_from_slice(adjacency.of(neighbour as usize));
        }
        ring.sort_unstable();
        ring.dedup();
        let normal = self.normals[slot];
        let position = |slot: usize| self.rig.rest().get(slot).as_dvec3();
        let here = position(slot);
        let near = adjacency.of(slot);
        let reach = near.iter().map(|&n| position(n as usize).distance(here)).sum::<f64>() / near.len().max(1) as f64;
        if normal == DVec3::ZERO || reach.is_nan() || reach <= 0.0 {
            return fit;
        }
        let e1 = normal.any_orthonormal_vector();
        let e2 = normal.cross(e1);
        samples.clear();
        for &other in ring.iter().filter(|&&other| other as usize != slot) {
            let offset = (position(other as usize) - here) / reach;
            // A ring folded over an edge is another side of the surface, not a neighbourhood in this plane.
            if self.normals[other as usize].dot(normal) <= 0.0 {
                continue;
            }
            let uv = [offset.dot(e1), offset.dot(e2)];
            let square = uv[0] * uv[0] + uv[1] * uv[1];
            if square > 1e-12 {
                samples.push((other, uv, 1.0 / (square * square)));
            }
        }
        let quadratic = |[u, v]: [f64; 2]| [u, v, 0.5 * u * u, u * v, 0.5 * v * v];
        let linear = |[u, v]: [f64; 2]| [u, v];
        if !fit_with(samples, quadratic, [e1, e2], reach, fit) && !fit_with(samples, linear, [e1, e2], reach, fit) {
            fit.clear();
        }
        fit
    }
}

/// Weighted least squares in a basis of N functions, the first two of which are the tangent coordinates. False when the
/// samples do not determine them.
fn fit_with<const N: usize>(
    samples: &[(u32, [f64; 2], f64)],
    basis: impl Fn([f64; 2]) -> [f64; N],
    [e1, e2]: [DVec3; 2],
    reach: f64,
    fit: &mut Vec<(u32, DVec3)>,
) -> bool {
    let mut normal = [[0.0; N]; N];
    for &(_, uv, weight) in samples {
        let b = basis(uv);
        for i in 0..N {
            for j in 0..N {
                normal[i][j] += weight * b[i] * b[j];
            }
        }
    }
    let Some(inverse) = first_two_rows_of_inverse(normal) else { return false };
    fit.clear();
    fit.extend(samples.iter().map(|&(other, uv, weight)| {
        let b = basis(uv);
        let along = |row: [f64; N]| (0..N).map(|i| row[i] * b[i]).sum::<f64>() * weight / reach;
        (other, e1 * along(inverse[0]) + e2 * along(inverse[1]))
    }));
    true
}

/// Gauss–Jordan with pivots; `None` when the matrix is singular beside its own size.
fn first_two_rows_of_inverse<const N: usize>(mut a: [[f64; N]; N]) -> Option<[[f64; N]; 2]> {
    let size = a.iter().flatten().fold(0.0, |m: f64, v| m.max(v.abs()));
    let mut inverse = [[0.0; N]; N];
    for (i, row) in inverse.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for column in 0..N {
        let pivot = (column..N).max_by(|&i, &j| f64::total_cmp(&a[i][column].abs(), &a[j][column].abs()))?;
        a.swap(column, pivot);
        inverse.swap(column, pivot);
        let lead = a[column][column];
        if lead.is_nan() || lead.abs() <= 1e-9 * size {
            return None;
        }
        for j in 0..N {
            a[column][j] /= lead;
            inverse[column][j] /= lead;
        }
        for i in (0..N).filter(|&i| i != column) {
            let factor = a[i][column];
            for j in 0..N {
                a[i][j] -= factor * a[column][j];
                inverse[i][j] -= factor * inverse[column][j];
            }
        }
    }
    Some([inverse[0], inverse[1]])
}
