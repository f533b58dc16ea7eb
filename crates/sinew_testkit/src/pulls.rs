//! Surfaces of which some is held and some is moved: problems for solvers that find the rest.

use crate::random::Random;
use crate::rigid_fit::{V, distance};
use std::f64::consts::TAU;

/// A surface, and where some of it goes.
#[derive(Clone, Debug)]
pub struct Pull {
    /// The surface at rest.
    pub rest: Vec<V>,
    /// Its faces.
    pub faces: Vec<[u32; 3]>,
    /// Vertices that are where they should be in `start`, ascending.
    pub held: Vec<u32>,
    /// What is held where it goes, all else at rest.
    pub start: Vec<V>,
}

impl Pull {
    /// Diagonal of the box around the surface at rest.
    pub fn size(&self) -> f64 {
        let end = |pick: fn(f64, f64) -> f64| -> V {
            std::array::from_fn(|a| self.rest.iter().map(|p| p[a]).reduce(pick).unwrap_or(0.0))
        };
        distance(end(f64::min), end(f64::max))
    }

    /// A tube (even seeds) or a sheet with one end held and the other turned and shifted; now and then some of the middle is held
    /// too. Its vertices are off a regular grid by `unevenness` of an edge.
    pub fn random(seed: u64, unevenness: f64) -> Self {
        let mut random = Random::new(seed);
        let is_tube = seed.is_multiple_of(2);
        let (rows, columns) = (10 + random.below(8), 6 + random.below(6));
        let mut rest = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let mut p = if is_tube {
                    let (sin, cos) = (TAU * column as f64 / columns as f64).sin_cos();
                    [1.5 * cos, row as f64, 1.5 * sin]
                } else {
                    [column as f64, row as f64, 0.0]
                };
                p.iter_mut().for_each(|x| *x += random.between(-unevenness, unevenness));
                rest.push(p);
            }
        }
        let at = |row: usize, column: usize| (row * columns + column % columns) as u32;
        let mut faces = Vec::new();
        for row in 0..rows - 1 {
            for column in 0..if is_tube { columns } else { columns - 1 } {
                let [a, b] = [at(row, column), at(row, column + 1)];
                let [d, c] = [at(row + 1, column), at(row + 1, column + 1)];
                faces.extend([[a, c, b], [a, d, c]]);
            }
        }
        let ends = 1 + random.below(3);
        let islands = random.below(3);
        let extra: Vec<u32> = (0..islands).map(|_| random.below(rest.len()) as u32).collect();
        let end_of = |vertex: u32| {
            let row = vertex as usize / columns;
            (usize::from(row >= rows - ends), row < ends || row >= rows - ends)
        };
        let held: Vec<u32> = (0..rest.len() as u32).filter(|v| end_of(*v).1 || extra.contains(v)).collect();
        let (axis, angle): (V, f64) = (std::array::from_fn(|_| random.between(-1.0, 1.0)), random.between(0.3, 1.8));
        let shift: V = std::array::from_fn(|_| random.between(-2.0, 2.0));
        let mut start = rest.clone();
        for &vertex in held.iter().filter(|v| end_of(**v).0 == 1) {
            let p = start[vertex as usize];
            let pivot = [0.0, rows as f64, 0.0];
            let turned = turned(std::array::from_fn(|a| p[a] - pivot[a]), axis, angle);
            start[vertex as usize] = std::array::from_fn(|a| pivot[a] + turned[a] + shift[a]);
        }
        Self { rest, faces, held, start }
    }
}

/// By Rodrigues' formula.
fn turned(p: V, axis: V, angle: f64) -> V {
    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let k: V = axis.map(|x| x / length);
    let (sin, cos) = angle.sin_cos();
    let along: f64 = (0..3).map(|a| k[a] * p[a]).sum();
    std::array::from_fn(|a| {
        let (b, c) = ((a + 1) % 3, (a + 2) % 3);
        p[a] * cos + (k[b] * p[c] - k[c] * p[b]) * sin + k[a] * along * (1.0 - cos)
    })
}
