//! The rigid motion nearest to what happened to points, by Horn's quaternions (1987): a second formulation beside the
//! polar factors of the library.

/// A place or direction.
pub type V = [f64; 3];

/// A rigid motion, and how far points are from it.
#[derive(Clone, Copy, Debug)]
pub struct RigidFit {
    /// Rows of the rotation.
    pub rotation: [V; 3],
    /// Centre of the points before.
    pub from: V,
    /// Centre of the points after.
    pub to: V,
    /// Largest distance of a point from where the motion takes it.
    pub residual: f64,
}

impl RigidFit {
    /// Where it takes a point.
    pub fn of(&self, p: V) -> V {
        let off: V = std::array::from_fn(|a| p[a] - self.from[a]);
        std::array::from_fn(|a| self.to[a] + (0..3).map(|b| self.rotation[a][b] * off[b]).sum::<f64>())
    }
}

/// Distance of two places.
pub fn distance(p: V, q: V) -> f64 {
    (0..3).map(|a| (p[a] - q[a]).powi(2)).sum::<f64>().sqrt()
}

/// The best fit over pairs of points before and after; all count alike.
pub fn rigid_fit(pairs: &[(V, V)]) -> RigidFit {
    let count = pairs.len().max(1) as f64;
    let mean =
        |of: fn(&(V, V)) -> V| -> V { std::array::from_fn(|a| pairs.iter().map(|p| of(p)[a]).sum::<f64>() / count) };
    let (from, to) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let mut s = [[0.0; 3]; 3];
    for (p, q) in pairs {
        for (a, row) in s.iter_mut().enumerate() {
            for (b, entry) in row.iter_mut().enumerate() {
                *entry += (p[a] - from[a]) * (q[b] - to[b]);
            }
        }
    }
    let mut fit = RigidFit { rotation: nearest_rotation(s), from, to, residual: 0.0 };
    fit.residual = pairs.iter().map(|&(p, q)| distance(fit.of(p), q)).fold(0.0, f64::max);
    fit
}

/// Rows of the rotation that maximises the sum of `q·Rp`, given the sum of `p qᵀ`.
pub fn nearest_rotation([[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]]: [V; 3]) -> [V; 3] {
    let mut n = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    // The eigenvector of the largest eigenvalue: shifted, so that it is the largest by size, and squared again and again.
    let norm = |n: &[[f64; 4]; 4]| n.iter().flatten().map(|x| x * x).sum::<f64>().sqrt();
    let shift = norm(&n).max(f64::MIN_POSITIVE);
    (0..4).for_each(|a| n[a][a] += shift);
    for _ in 0..50 {
        let scale = 1.0 / norm(&n);
        let square = |a: usize, b: usize| (0..4).map(|c| n[a][c] * n[c][b]).sum::<f64>() * scale * scale;
        n = std::array::from_fn(|a| std::array::from_fn(|b| square(a, b)));
    }
    let column = (0..4).max_by(|&a, &b| n[a][a].total_cmp(&n[b][b])).unwrap_or(0);
    let length = (0..4).map(|a| n[a][column].powi(2)).sum::<f64>().sqrt();
    let [w, x, y, z] = std::array::from_fn(|a| n[a][column] / length);
    [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
}
