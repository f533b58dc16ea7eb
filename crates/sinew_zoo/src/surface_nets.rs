//! The surface of a solid as an even, closed mesh.
//!
//! Surface nets (Gibson 1998), with a vertex per *sheet* of surface in a cell rather than one per cell (Nielson 2004,
//! dual marching cubes), so that two sheets which meet in one cell stay apart: on a cubic grid, one quad per grid edge
//! the surface crosses. Every grid edge is shared by four cells, so each side of a quad is met by another and the mesh
//! is closed by construction; that it is manifold is tested. Vertices are then spread evenly along the surface
//! (tangential Laplacian steps) and put onto it (Newton steps along the gradient); edges are flipped where that opens
//! the smallest angle.

use crate::solid::Solid;
use glam::DVec3;
use std::collections::HashMap;

/// Rounds of spreading before and after each round of flips; more change nothing visible.
const SPREAD_ROUNDS: usize = 5;
/// Rounds of flips.
const FLIP_ROUNDS: usize = 3;

/// Side, in grid nodes, of the blocks that are looked at once when far from the surface.
const BLOCK: usize = 4;

/// A closed triangle mesh.
pub(crate) struct Surface {
    pub positions: Vec<DVec3>,
    pub normals: Vec<DVec3>,
    pub triangles: Vec<[u32; 3]>,
}

/// Meshes `solid` with triangles of side about `cell`.
pub(crate) fn surface_nets(solid: &Solid, cell: f64) -> Surface {
    let (low, high) = solid.bounds();
    // Grid nodes sit on multiples of `cell`, so what is symmetric in x is meshed symmetrically.
    let first = (low / cell).floor() - DVec3::ONE;
    let [nx, ny, nz] = ((high / cell).ceil() + DVec3::splat(2.0) - first).to_array().map(|n| n as usize);
    let at = |i: usize, j: usize, k: usize| (k * ny + j) * nx + i;
    let point = |i: usize, j: usize, k: usize| (first + DVec3::new(i as f64, j as f64, k as f64)) * cell;
    let mut distance = vec![0.0; nx * ny * nz];
    for k in (0..nz).step_by(BLOCK) {
        for j in (0..ny).step_by(BLOCK) {
            for i in (0..nx).step_by(BLOCK) {
                let middle = point(i, j, k) + DVec3::splat(0.5 * (BLOCK - 1) as f64 * cell);
                let far = solid.distance(middle);
                // Twice the half diagonal: distances are approximate. Farther off only the sign matters.
                let empty = far.abs() > 3.0_f64.sqrt() * (BLOCK - 1) as f64 * cell;
                for k in k..nz.min(k + BLOCK) {
                    for j in j..ny.min(j + BLOCK) {
                        for i in i..nx.min(i + BLOCK) {
                            distance[at(i, j, k)] = if empty { far } else { solid.distance(point(i, j, k)) };
                        }
                    }
                }
            }
        }
    }
    let crosses = |a: usize, b: usize| (distance[a] < 0.0) != (distance[b] < 0.0);

    let mut positions = Vec::new();
    let mut active_cell = vec![usize::MAX; nx * ny * nz];
    let mut vertex_of_edge: Vec<[u32; 12]> = Vec::new();
    for k in 0..nz - 1 {
        for j in 0..ny - 1 {
            for i in 0..nx - 1 {
                let corner = |c: usize| (i + (c & 1), j + (c >> 1 & 1), k + (c >> 2 & 1));
                let inside: [bool; 8] = std::array::from_fn(|c| {
                    let (i, j, k) = corner(c);
                    distance[at(i, j, k)] < 0.0
                });
                if inside.iter().all(|&c| c == inside[0]) {
                    continue;
                }
                let sheet = sheets(inside);
                let mut sums = [(DVec3::ZERO, 0.0); 12];
                for (edge, &(a, b)) in EDGES.iter().enumerate() {
                    if inside[a] != inside[b] {
                        let ((ai, aj, ak), (bi, bj, bk)) = (corner(a), corner(b));
                        let (da, db) = (distance[at(ai, aj, ak)], distance[at(bi, bj, bk)]);
                        let (sum, count) = &mut sums[sheet[edge]];
                        *sum += point(ai, aj, ak).lerp(point(bi, bj, bk), da / (da - db));
                        *count += 1.0;
                    }
                }
                let mut vertex = [u32::MAX; 12];
                for (edge, (sum, count)) in sums.into_iter().enumerate() {
                    if count > 0.0 {
                        vertex[edge] = positions.len() as u32;
                        positions.push(sum / count);
                    }
                }
                active_cell[at(i, j, k)] = vertex_of_edge.len();
                vertex_of_edge.push(sheet.map(|edge| vertex[edge]));
            }
        }
    }

    let mut triangles = Vec::new();
    for k in 1..nz - 1 {
        for j in 1..ny - 1 {
            for i in 1..nx - 1 {
                let here = at(i, j, k);
                // For each axis, the four cells around the edge from here, and which of their edges it is.
                let around = [
                    (
                        at(i + 1, j, k),
                        [(at(i, j, k), 0), (at(i, j - 1, k), 1), (at(i, j - 1, k - 1), 3), (at(i, j, k - 1), 2)],
                    ),
                    (
                        at(i, j + 1, k),
                        [(at(i, j, k), 4), (at(i, j, k - 1), 6), (at(i - 1, j, k - 1), 7), (at(i - 1, j, k), 5)],
                    ),
                    (
                        at(i, j, k + 1),
                        [(at(i, j, k), 8), (at(i - 1, j, k), 9), (at(i - 1, j - 1, k), 11), (at(i, j - 1, k), 10)],
                    ),
                ];
                for (there, cells) in around {
                    if crosses(here, there) {
                        let mut quad = cells.map(|(cell, edge)| vertex_of_edge[active_cell[cell]][edge]);
                        if distance[here] >= 0.0 {
                            quad.reverse();
                        }
                        let [a, b, c, d] = quad;
                        let length = |a: u32, b: u32| positions[a as usize].distance_squared(positions[b as usize]);
                        if length(a, c) <= length(b, d) {
                            triangles.extend([[a, b, c], [a, c, d]]);
                        } else {
                            triangles.extend([[b, c, d], [b, d, a]]);
                        }
                    }
                }
            }
        }
    }

    for _ in 0..FLIP_ROUNDS {
        for _ in 0..SPREAD_ROUNDS {
            spread(solid, &mut positions, &triangles, cell);
        }
        flip(&positions, &mut triangles);
    }
    for _ in 0..SPREAD_ROUNDS {
        spread(solid, &mut positions, &triangles, cell);
    }
    let mut normals = Vec::with_capacity(positions.len());
    for position in &mut positions {
        for _ in 0..3 {
            *position += to_surface(solid, *position, cell).0;
        }
        normals.push(to_surface(solid, *position, cell).1);
    }
    Surface { positions, normals, triangles }
}

/// Edges of a cell, by the corners they join (bits of a corner: x, y, z): along x, then y, then z.
const EDGES: [(usize, usize); 12] =
    [(0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7)];
/// Faces of a cell: corners in turn.
const FACES: [[usize; 4]; 6] = [[0, 2, 6, 4], [1, 3, 7, 5], [0, 1, 5, 4], [2, 3, 7, 6], [0, 1, 3, 2], [4, 5, 7, 6]];

/// For each edge of a cell the smallest edge of the same sheet of surface. On a face crossed four times the inside
/// corners are cut off one by one, seen alike from both cells that share it.
fn sheets(inside: [bool; 8]) -> [usize; 12] {
    let edge = |a: usize, b: usize| EDGES.iter().position(|&e| e == (a.min(b), a.max(b))).unwrap_or(0);
    let mut sheet: [usize; 12] = std::array::from_fn(|edge| edge);
    let mut join = |a: usize, b: usize| {
        let (low, high) = (sheet[a].min(sheet[b]), sheet[a].max(sheet[b]));
        for other in &mut sheet {
            if *other == high {
                *other = low;
            }
        }
    };
    for face in FACES {
        let sides: [usize; 4] = std::array::from_fn(|n| edge(face[n], face[(n + 1) % 4]));
        let crossed = |n: usize| inside[face[n % 4]] != inside[face[(n + 1) % 4]];
        let crossings: Vec<usize> = (0..4).filter(|&n| crossed(n)).collect();
        match crossings[..] {
            [a, b] => join(sides[a], sides[b]),
            [..] if crossings.len() == 4 => {
                for n in 0..4 {
                    if inside[face[n]] {
                        join(sides[(n + 3) % 4], sides[n]);
                    }
                }
            }
            _ => {}
        }
    }
    sheet
}

/// The Newton step from `p` to the surface, and the unit normal at `p`.
fn to_surface(solid: &Solid, p: DVec3, cell: f64) -> (DVec3, DVec3) {
    let (distance, gradient) = solid.distance_and_gradient(p, 1e-4 * cell);
    let length = gradient.length();
    if length == 0.0 {
        return (DVec3::ZERO, DVec3::Y);
    }
    let normal = gradient / length;
    // Where the field is flat a Newton step would overshoot by cells.
    (normal * (-distance / length).clamp(-0.5 * cell, 0.5 * cell), normal)
}

/// Moves each vertex half-way to the mean of its neighbours along the surface, and towards the surface.
fn spread(solid: &Solid, positions: &mut [DVec3], triangles: &[[u32; 3]], cell: f64) {
    let mut sums = vec![(DVec3::ZERO, 0.0); positions.len()];
    for &[a, b, c] in triangles {
        // Each edge has two faces, so each neighbour is counted twice, evenly.
        for (vertex, one, other) in [(a, b, c), (b, c, a), (c, a, b)] {
            let (sum, count) = &mut sums[vertex as usize];
            *sum += positions[one as usize] + positions[other as usize];
            *count += 2.0;
        }
    }
    for (position, (sum, count)) in positions.iter_mut().zip(&sums) {
        let (newton, normal) = to_surface(solid, *position, cell);
        let step = (*sum / *count - *position) * 0.5;
        *position += step - normal * step.dot(normal) + newton;
    }
}

/// Flips each edge whose other diagonal gives a larger smallest angle, where the two faces are nearly in one plane and
/// the diagonal is not an edge already.
fn flip(positions: &[DVec3], triangles: &mut [[u32; 3]]) {
    let mut face_of_edge: HashMap<(u32, u32), usize> = HashMap::with_capacity(3 * triangles.len());
    for (face, &[a, b, c]) in triangles.iter().enumerate() {
        face_of_edge.extend([((a, b), face), ((b, c), face), ((c, a), face)]);
    }
    let at = |vertex: u32| positions[vertex as usize];
    let normal = |[a, b, c]: [u32; 3]| (at(b) - at(a)).cross(at(c) - at(a)).normalize_or_zero();
    let widest_cosine = |[a, b, c]: [u32; 3]| {
        let cosine = |p: u32, q: u32, r: u32| (at(q) - at(p)).angle_between(at(r) - at(p)).cos();
        cosine(a, b, c).max(cosine(b, c, a)).max(cosine(c, a, b))
    };
    for face in 0..triangles.len() {
        for side in 0..3 {
            let [a, b, c] = [0, 1, 2].map(|k| triangles[face][(side + k) % 3]);
            let Some(&other) = face_of_edge.get(&(b, a)) else { continue };
            let Some(&d) = triangles[other].iter().find(|&&vertex| vertex != a && vertex != b) else { continue };
            if face_of_edge.contains_key(&(c, d)) || face_of_edge.contains_key(&(d, c)) {
                continue;
            }
            let (old, new) = ([[a, b, c], [b, a, d]], [[a, d, c], [d, b, c]]);
            let flat = new.iter().all(|&n| old.iter().all(|&o| normal(n).dot(normal(o)) > 0.8));
            let sharpest = |faces: [[u32; 3]; 2]| widest_cosine(faces[0]).max(widest_cosine(faces[1]));
            if !flat || sharpest(new) >= sharpest(old) - 0.02 {
                continue;
            }
            for (from, to) in [(a, b), (b, a)] {
                face_of_edge.remove(&(from, to));
            }
            triangles[face] = new[0];
            triangles[other] = new[1];
            for (index, [p, q, r]) in [(face, new[0]), (other, new[1])] {
                face_of_edge.extend([((p, q), index), ((q, r), index), ((r, p), index)]);
            }
            break;
        }
    }
}
