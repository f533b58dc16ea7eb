//! ARAP against a dense solution of its own: every cell of the surface whole, rotations by quaternions, elimination.
use glam::DVec3;
use sinew::strokes::{Reach, Region};
use sinew::topology::Adjacency;
use sinew_author::Arap;
use sinew_testkit::pulls::Pull;
use sinew_testkit::rigid_fit::{V, distance, nearest_rotation};

const PROBLEMS: u64 = 20;
/// Obtuse faces, folded cells: the weights and the covariances have either sign.
const UNEVENNESS: f64 = 0.3;

fn less(a: V, b: V) -> V {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: V, b: V) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn times(rotation: [V; 3], v: V) -> V {
    rotation.map(|row| dot(row, v))
}

/// `w_ij` as a full matrix, by the law of cosines: `cot = (b² + c² − a²) / 4A` opposite the side a.
fn dense_weights(pull: &Pull) -> Vec<Vec<f64>> {
    let mut w = vec![vec![0.0; pull.rest.len()]; pull.rest.len()];
    for face in &pull.faces {
        let side = |k: usize| {
            let [i, j] = [1, 2].map(|step| pull.rest[face[(k + step) % 3] as usize]);
            distance(i, j)
        };
        let [a, b, c] = [0, 1, 2].map(side);
        let half = 0.5 * (a + b + c);
        let area = (half * (half - a) * (half - b) * (half - c)).sqrt();
        let squares = a * a + b * b + c * c;
        for (k, side) in [a, b, c].into_iter().enumerate() {
            let (i, j) = (face[(k + 1) % 3] as usize, face[(k + 2) % 3] as usize);
            let half_cotangent = (squares - 2.0 * side * side) / (8.0 * area);
            w[i][j] += half_cotangent;
            w[j][i] += half_cotangent;
        }
    }
    w
}

/// The inverse, by Gauss and Jordan with pivots.
fn inverse(mut m: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = m.len();
    for (i, row) in m.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|&a, &b| m[a][k].abs().total_cmp(&m[b][k].abs())).expect("rows");
        m.swap(k, pivot);
        let by = 1.0 / m[k][k];
        m[k].iter_mut().for_each(|x| *x *= by);
        let row = m[k].clone();
        for (_, other) in m.iter_mut().enumerate().filter(|(i, _)| *i != k) {
            let by = other[k];
            other.iter_mut().zip(&row).for_each(|(x, r)| *x -= by * r);
        }
    }
    m.into_iter().map(|row| row[n..].to_vec()).collect()
}

fn dense_arap(pull: &Pull, iterations: usize) -> Vec<V> {
    let w = dense_weights(pull);
    let n = pull.rest.len();
    let neighbours: Vec<Vec<usize>> = (0..n).map(|i| (0..n).filter(|&j| w[i][j] != 0.0).collect()).collect();
    let free: Vec<usize> = (0..n).filter(|&v| pull.held.binary_search(&(v as u32)).is_err()).collect();
    let entry = |i: usize, j: usize| if i == j { w[i].iter().sum() } else { -w[i][j] };
    let solution = inverse(free.iter().map(|&i| free.iter().map(|&j| entry(i, j)).collect()).collect());
    let mut now = pull.start.clone();
    for _ in 0..iterations {
        let rotations: Vec<[V; 3]> = (0..n)
            .map(|i| {
                let mut sum = [[0.0; 3]; 3];
                for &j in &neighbours[i] {
                    let (p, q) = (less(pull.rest[i], pull.rest[j]), less(now[i], now[j]));
                    (0..9).for_each(|k| sum[k / 3][k % 3] += w[i][j] * p[k / 3] * q[k % 3]);
                }
                nearest_rotation(sum)
            })
            .collect();
        let right: Vec<V> = free
            .iter()
            .map(|&i| {
                let mut sum = [0.0; 3];
                for &j in &neighbours[i] {
                    let edge = less(pull.rest[i], pull.rest[j]);
                    let turned = [times(rotations[i], edge), times(rotations[j], edge)];
                    let known = pull.held.binary_search(&(j as u32)).map_or([0.0; 3], |_| now[j]);
                    (0..3).for_each(|a| sum[a] += w[i][j] * (0.5 * (turned[0][a] + turned[1][a]) + known[a]));
                }
                sum
            })
            .collect();
        for (row, &i) in solution.iter().zip(&free) {
            now[i] = std::array::from_fn(|a| row.iter().zip(&right).map(|(x, b)| x * b[a]).sum());
        }
    }
    now
}

struct Solved {
    points: Vec<V>,
    energies: Vec<f64>,
}

fn solved(pull: &Pull, iterations: usize) -> Solved {
    let vectors = |places: &[V]| places.iter().map(|p| DVec3::from(*p)).collect::<Vec<_>>();
    let (rest, mut points) = (vectors(&pull.rest), vectors(&pull.start));
    let adjacency = Adjacency::new(rest.len(), &pull.faces);
    let region = Region::grow(&rest, &adjacency, &pull.held, Reach::Rings(usize::MAX));
    let arap = Arap::new(&rest, &pull.faces, &region).expect("held");
    let energies = arap.solve(&rest, &mut points, iterations);
    Solved { points: points.iter().map(|p| p.to_array()).collect(), energies }
}

#[test]
fn it_is_the_dense_solution_with_whole_cells() {
    for iterations in [1, 10, 300] {
        let mut worst = 0.0f64;
        for seed in 0..PROBLEMS {
            let pull = Pull::random(seed, UNEVENNESS);
            let truth = dense_arap(&pull, iterations);
            let points = solved(&pull, iterations).points;
            let apart = points.iter().zip(&truth).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max) / pull.size();
            assert!(apart <= 1e-6, "problem {seed}, {iterations} iterations: {apart:e} of the size");
            worst = worst.max(apart);
        }
        println!("{iterations} iterations: at most {worst:.1e} of the size apart");
    }
}

#[test]
fn its_energy_never_rises() {
    let mut worst = f64::NEG_INFINITY;
    for seed in 0..PROBLEMS {
        let energies = solved(&Pull::random(seed, UNEVENNESS), 1000).energies;
        // Obtuse faces have negative weights, so it need not be positive.
        assert!(energies.iter().all(|e| e.is_finite()) && energies.len() == 1000);
        let rise = |pair: &[f64]| (pair[1] - pair[0]) / pair[0].abs();
        let rise = energies.windows(2).map(rise).fold(f64::NEG_INFINITY, f64::max);
        assert!(rise <= 1e-12, "problem {seed}: the energy rises by {rise:e}");
        worst = worst.max(rise);
    }
    println!("largest rise in an iteration: {worst:.1e}");
}

/// A flat sheet, half of it held level and the far edge lifted: where the held half ends, the sheet goes on in its
/// direction.
#[test]
fn the_surface_leaves_what_is_held_in_its_direction() {
    let (rows, columns) = (25usize, 7usize);
    let at = |row: usize, column: usize| (row * columns + column) as u32;
    let rest: Vec<V> = (0..rows * columns).map(|v| [(v % columns) as f64, (v / columns) as f64, 0.0]).collect();
    let mut faces = Vec::new();
    for (row, column) in (0..rows - 1).flat_map(|row| (0..columns - 1).map(move |column| (row, column))) {
        let [a, b] = [at(row, column), at(row, column + 1)];
        let [d, c] = [at(row + 1, column), at(row + 1, column + 1)];
        faces.extend([[a, b, c], [a, c, d]]);
    }
    let (level, far) = (9, rows - 1);
    let held: Vec<u32> =
        (0..rest.len() as u32).filter(|&v| v as usize / columns <= level || v as usize / columns == far).collect();
    let mut start = rest.clone();
    start[far * columns..].iter_mut().for_each(|p| *p = [p[0], p[1] - 3.0, 8.0]);
    let points = solved(&Pull { rest, faces, held, start }, 2000).points;
    let middle = columns / 2;
    let slope = |row: usize| {
        let [a, b] = [row, row + 1].map(|row| points[at(row, middle) as usize]);
        (b[2] - a[2]).atan2(b[1] - a[1]).to_degrees()
    };
    let turns: Vec<f64> = (level..far - 1).map(|row| slope(row) - slope(row.max(1) - 1)).collect();
    println!("turns from the border on, in degrees: {turns:.1?}");
    // A rotation that is half the held plane's: the crease at the border is no sharper than a free one.
    assert!(turns[0] < 1.5 * turns[1], "a crease of {} where the next row has {}", turns[0], turns[1]);
}
