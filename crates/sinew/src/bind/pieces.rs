//! Which bones move which piece of the mesh.
//!
//! A piece that is not joined to another one (an arm, a head, a boot; a helmet, an eye, a skirt) is moved by the bones
//! that run inside it, and where pieces lie in one another, as a leg in a skirt and a head in a helmet, by the innermost
//! alone. A piece that no bone runs inside has none of its own and copies what it lies on (`layers`).
//!
//! Bones outside every piece belong to the nearest: a foot's joint just under the sole, a row of bones along a cape. Only
//! those that keep close to it, as along a cape, make it theirs; others (targets, poles) merely have a say, and none where they
//! lead away from it, as an upper arm from a glove that ends at the elbow, if others make it theirs.

use super::lines::Line;
use super::shell::Shell;
use rayon::prelude::*;

/// Share of a bone's places that makes a piece its own.
const SHARE: usize = 4;
/// Of its length: a bone this near a piece runs along it.
const ALONG: f64 = 0.25;
/// Of its length: a bone whose places are nearer and farther by this much leads away.
const AWAY: f64 = 0.5;

/// What a bone has to say of its pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Hold {
    /// Where nothing else moves them.
    #[default]
    Spare,
    /// A say, not the last.
    Say,
    /// They are its own.
    Own,
}

/// Per piece its bones, ascending.
pub(super) fn bones_of_pieces(shell: &Shell, lines: &[Option<Line>]) -> Vec<Vec<u32>> {
    let found: Vec<(Vec<usize>, Hold)> = lines
        .par_iter()
        .map(|line| line.as_ref().map_or_else(Default::default, |line| pieces_of(shell, line)))
        .collect();
    let mut is_owned = vec![false; shell.piece_count()];
    for (pieces, hold) in &found {
        pieces.iter().for_each(|&piece| is_owned[piece] |= *hold == Hold::Own);
    }
    let any_owned = is_owned.contains(&true);
    let mut bones = vec![Vec::new(); shell.piece_count()];
    for (bone, (pieces, hold)) in found.into_iter().enumerate() {
        let moves = |piece: &usize| !any_owned || (is_owned[*piece] && hold != Hold::Spare);
        pieces.into_iter().filter(moves).for_each(|piece| bones[piece].push(bone as u32));
    }
    bones
}

/// The pieces that a bone moves, and what it has to say of them.
fn pieces_of(shell: &Shell, line: &Line) -> (Vec<usize>, Hold) {
    let places = line.places();
    let mut inside = vec![0usize; shell.piece_count()];
    let mut beside = inside.clone();
    let (mut closest, mut farthest) = (f64::INFINITY, 0.0f64);
    for &place in &places {
        let distances = shell.distances_to_pieces(place);
        let windings = shell.windings(place);
        let nearest = (0..distances.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        if let Some(piece) = Shell::innermost(&windings, &distances) {
            inside[piece] += 1;
        } else if let Some(piece) = nearest {
            beside[piece] += 1;
            (closest, farthest) = (closest.min(distances[piece]), farthest.max(distances[piece]));
        }
    }
    let runs_inside = inside.iter().any(|&count| count > 0);
    let counts = if runs_inside { inside } else { beside };
    let mut pieces: Vec<usize> = (0..counts.len()).filter(|&piece| counts[piece] * SHARE >= places.len()).collect();
    if pieces.is_empty() {
        pieces.extend((0..counts.len()).max_by_key(|&piece| (counts[piece], usize::MAX - piece)));
    }
    let runs_along = !line.ends.is_empty() && farthest <= ALONG * line.length();
    let leads_away = farthest - closest > AWAY * line.length();
    let hold = match (runs_inside || runs_along, leads_away) {
        (true, _) => Hold::Own,
        (false, true) => Hold::Spare,
        (false, false) => Hold::Say,
    };
    (pieces, hold)
}
