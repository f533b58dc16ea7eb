//! Which bones move which piece of the mesh.
//!
//! A piece that is not joined to another one (an arm, a head, a boot; a helmet, an eye, a skirt) is moved by the bones
//! that run inside it, and where pieces lie in one another, as a leg in a skirt and a head in a helmet, by the innermost
//! alone. A piece that no bone runs inside has none of its own and copies what it lies on (`layers`).
//!
//! Bones outside every piece belong to the nearest: a foot's joint just under the sole, a row of bones along a cape. Only
//! those that keep close to it, as along a cape, make it theirs; others (targets, poles) merely have a say.

use super::lines::Line;
use super::shell::Shell;
use rayon::prelude::*;

/// Share of a bone's places that makes a piece its own.
const SHARE: usize = 4;
/// Of its length: a bone this near a piece runs along it.
const ALONG: f64 = 0.25;

/// Per piece its bones, ascending.
pub(super) fn bones_of_pieces(shell: &Shell, lines: &[Option<Line>]) -> Vec<Vec<u32>> {
    let found: Vec<(Vec<usize>, bool)> = lines
        .par_iter()
        .map(|line| line.as_ref().map_or_else(Default::default, |line| pieces_of(shell, line)))
        .collect();
    let mut bones = vec![Vec::new(); shell.piece_count()];
    let mut is_owned = vec![false; shell.piece_count()];
    for (bone, (pieces, owns)) in found.into_iter().enumerate() {
        for piece in pieces {
            bones[piece].push(bone as u32);
            is_owned[piece] |= owns;
        }
    }
    if is_owned.contains(&true) {
        for (bones, is_owned) in bones.iter_mut().zip(is_owned) {
            if !is_owned {
                bones.clear();
            }
        }
    }
    bones
}

/// The pieces that a bone moves, and whether they are its own.
fn pieces_of(shell: &Shell, line: &Line) -> (Vec<usize>, bool) {
    let places = line.places();
    let mut inside = vec![0usize; shell.piece_count()];
    let mut beside = inside.clone();
    let mut farthest = 0.0f64;
    for &place in &places {
        let distances = shell.distances_to_pieces(place);
        let windings = shell.windings(place);
        let nearest = (0..distances.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        if let Some(piece) = Shell::innermost(&windings, &distances) {
            inside[piece] += 1;
        } else if let Some(piece) = nearest {
            beside[piece] += 1;
            farthest = farthest.max(distances[piece]);
        }
    }
    let runs_inside = inside.iter().any(|&count| count > 0);
    let counts = if runs_inside { inside } else { beside };
    let mut pieces: Vec<usize> = (0..counts.len()).filter(|&piece| counts[piece] * SHARE >= places.len()).collect();
    if pieces.is_empty() {
        pieces.extend((0..counts.len()).max_by_key(|&piece| (counts[piece], usize::MAX - piece)));
    }
    let runs_along = !line.ends.is_empty() && farthest <= ALONG * line.length();
    (pieces, runs_inside || runs_along)
}
