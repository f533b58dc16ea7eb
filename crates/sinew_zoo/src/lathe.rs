//! A closed ring turned around the Y axis: a profile that comes back to where it began, carried all around.

use crate::surface_nets::Surface;
use glam::DVec3;
use std::f64::consts::TAU;

/// Meshes `point(angle, row)` for `columns` angles from +Z towards +X and `rows` places along the profile, which runs
/// down on the outside and up on the inside. Normals are those of the faces around, by area.
pub(crate) fn lathe(columns: usize, rows: usize, point: impl Fn(f64, usize) -> DVec3) -> Surface {
    let positions: Vec<DVec3> = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, TAU * column as f64 / columns as f64)))
        .map(|(row, angle)| point(angle, row))
        .collect();
    let at = |row: usize, column: usize| ((row % rows) * columns + column % columns) as u32;
    let mut triangles = Vec::with_capacity(2 * rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            let [a, b, c, d] = [at(row, column), at(row + 1, column), at(row + 1, column + 1), at(row, column + 1)];
            let length = |p: u32, q: u32| positions[p as usize].distance_squared(positions[q as usize]);
            if length(a, c) <= length(b, d) {
                triangles.extend([[a, b, c], [a, c, d]]);
            } else {
                triangles.extend([[b, c, d], [b, d, a]]);
            }
        }
    }
    let mut normals = vec![DVec3::ZERO; positions.len()];
    for triangle in &triangles {
        let [a, b, c] = triangle.map(|vertex| positions[vertex as usize]);
        for &vertex in triangle {
            normals[vertex as usize] += (b - a).cross(c - a);
        }
    }
    let normals = normals.into_iter().map(|normal| normal.normalize_or(DVec3::Y)).collect();
    Surface { positions, normals, triangles }
}
