//! Writes pulls with their solutions as rigid as possible into a folder, for a peer to solve again: a text file each,
//! with lines `v` (rest), `f` (face), `h` (held vertex), `s` (start) and `u` (solution).
//!
//!     cargo run --release -p sinew_author --example arap_pulls -- FOLDER

use glam::DVec3;
use sinew::strokes::{Reach, Region};
use sinew::topology::Adjacency;
use sinew_author::Arap;
use sinew_testkit::pulls::Pull;
use std::fmt::Write as _;

const PROBLEMS: u64 = 20;
/// libigl decomposes 3×3 matrices in single precision and few sweeps: where a surface crumples, as a sheet does or a very
/// uneven tube, its rotations, not its method, are up to 1e-3 off. So these are tubes, and not very uneven.
const UNEVENNESS: f64 = 0.1;
const TUBES: u64 = 2;
/// Enough for the slowest of them to stand still.
const ITERATIONS: usize = 5000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("give the folder to write to")?;
    for problem in 0..PROBLEMS {
        let pull = Pull::random(problem * TUBES, UNEVENNESS);
        let vectors = |places: &[[f64; 3]]| places.iter().map(|p| DVec3::from(*p)).collect::<Vec<_>>();
        let (rest, mut points) = (vectors(&pull.rest), vectors(&pull.start));
        let adjacency = Adjacency::new(rest.len(), &pull.faces);
        let region = Region::grow(&rest, &adjacency, &pull.held, Reach::Rings(usize::MAX));
        Arap::new(&rest, &pull.faces, &region)?.solve(&rest, &mut points, ITERATIONS);
        let mut text = String::new();
        pull.faces.iter().try_for_each(|[a, b, c]| writeln!(text, "f {a} {b} {c}"))?;
        pull.held.iter().try_for_each(|v| writeln!(text, "h {v}"))?;
        for (mark, places) in [("v", &rest), ("s", &vectors(&pull.start)), ("u", &points)] {
            places.iter().try_for_each(|p| writeln!(text, "{mark} {:e} {:e} {:e}", p.x, p.y, p.z))?;
        }
        std::fs::write(std::path::Path::new(&folder).join(format!("pull-{problem:02}.txt")), text)?;
    }
    Ok(())
}
