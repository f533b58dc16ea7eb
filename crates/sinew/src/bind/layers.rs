//! Pieces without bones of their own (clothing, helmets, hair, eyes, buttons) follow what they lie on: the weights of
//! the nearest place of the bound pieces, relaxed along the piece as far as it lies off. What is tight copies them; a skirt
//! opens between the legs without a tear and the legs stay inside.

use super::conduction::Source;
use super::shell::Shell;
use crate::strokes::surface::SurfaceTree;
use rayon::prelude::*;

/// What the points of layers follow, given the weights of the pieces that have bones; `None` for points of these.
pub(super) fn sources(shell: &Shell, is_bound: &[bool], weights: &[Vec<(u32, f64)>]) -> Vec<Option<Source>> {
    let is_layer = |point: usize| !is_bound[shell.piece_of(point)];
    let faces: Vec<[u32; 3]> = shell.faces().iter().copied().filter(|face| !is_layer(face[0] as usize)).collect();
    let none = || vec![None; shell.points().len()];
    let Some(tree) = SurfaceTree::new(&faces, shell.points()) else { return none() };
    let source = |point: usize| {
        let (place, gap) = is_layer(point).then(|| tree.nearest_within(shell.points()[point], f64::INFINITY))??;
        let corners = faces[place.triangle as usize].into_iter().zip(place.barycentric.to_array());
        let mut found: Vec<(u32, f64)> = Vec::new();
        for (corner, share) in corners.filter(|corner| corner.1 > 0.0) {
            found.extend(weights[corner as usize].iter().map(|&(bone, weight)| (bone, weight * share)));
        }
        found.sort_by_key(|w| w.0);
        let sum = |run: &[(u32, f64)]| (run[0].0, run.iter().map(|w| w.1).sum());
        let weights: Vec<(u32, f64)> = found.chunk_by(|a, b| a.0 == b.0).map(sum).collect();
        (!weights.is_empty()).then(|| Source { weights, distance: gap.max(shell.least_distance()) })
    };
    (0..shell.points().len()).into_par_iter().map(source).collect()
}
