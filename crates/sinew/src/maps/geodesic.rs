//! A character as one piece of edges, whatever it was modelled from.

use super::RestSurface;
use crate::bvh::{Bvh, Groups};
use crate::control_points::DisjointSets;
use crate::edge_graph::EdgeGraph;
use std::cmp::Reverse;

/// The edges, with every character made one piece: parts modelled apart (hooves, hair, a dress) are joined where
/// they lie within an edge's length of each other, and what then is still apart by the shortest bridge.
pub(crate) fn bridged(surface: &RestSurface<'_>) -> EdgeGraph {
    let points = surface.points();
    let adjacency = surface.rig().adjacency();
    let mut pieces = DisjointSets::new(points.len());
    for slot in 0..points.len() as u32 {
        for &n in adjacency.of(slot as usize) {
            pieces.union(slot, n);
        }
    }
    let mut bridges: Vec<(u32, u32)> = Vec::new();
    for character in 0..surface.rig().characters().len() {
        let slots: Vec<u32> = surface.slots(character).map(|slot| slot as u32).collect();
        let tree = Bvh::of_points(&slots.iter().map(|&slot| points[slot as usize]).collect::<Vec<_>>());
        let mut piece: Vec<u32> = slots.iter().map(|&slot| pieces.find(slot)).collect();
        let nearest_other = |groups: &Groups, own: u32, i: usize, within: f64| {
            let p = points[slots[i] as usize];
            let away = |j: u32| (points[slots[j as usize] as usize] - p).length_squared();
            tree.nearest_other(groups, own, p, within * within, away)
        };
        if piece.iter().any(|&p| p != piece[0]) {
            let groups = tree.groups(piece.clone());
            for i in 0..slots.len() {
                let within = surface.edge_length(slots[i] as usize);
                if let Some((j, _)) = nearest_other(&groups, piece[i], i, within) {
                    bridges.push((slots[i], slots[j as usize]));
                }
            }
            for &(a, b) in &bridges {
                pieces.union(a, b);
            }
        }
        // Borůvka: every piece but the largest takes its shortest bridge, until there is one.
        loop {
            for (piece, &slot) in piece.iter_mut().zip(&slots) {
                *piece = pieces.find(slot);
            }
            let mut order: Vec<usize> = (0..slots.len()).collect();
            order.sort_by_key(|&i| piece[i]);
            let mut groups: Vec<&[usize]> = order.chunk_by(|&a, &b| piece[a] == piece[b]).collect();
            if groups.len() < 2 {
                break;
            }
            groups.sort_by_key(|group| Reverse(group.len()));
            let told_apart = tree.groups(piece.clone());
            for group in &groups[1..] {
                let mut best: Option<(u32, u32)> = None;
                let mut within = f64::INFINITY;
                for &i in *group {
                    if let Some((j, d)) = nearest_other(&told_apart, piece[i], i, within)
                        && d.sqrt() < within
                    {
                        within = d.sqrt();
                        best = Some((slots[i], slots[j as usize]));
                    }
                }
                if let Some((a, b)) = best {
                    bridges.push((a, b));
                    pieces.union(a, b);
                }
            }
        }
    }
    EdgeGraph::new(points, adjacency, &bridges)
}
