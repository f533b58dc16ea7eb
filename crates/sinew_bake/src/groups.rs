//! Which meshes share their targets: those joined by a welded seam, so that no crack opens along it. The others have
//! targets of their own, and no mesh carries a target it does not need.

use sinew::Rig;
use sinew::rig::Part;

/// Meshes that share targets and weights.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Indices of [`Rig::parts`], ascending.
    pub parts: Vec<usize>,
    /// Its control points.
    pub points: Vec<Point>,
    /// The character's size.
    pub size: f64,
}

/// A control point of a group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// Its slot in the rig.
    pub slot: u32,
    /// The first of its vertices.
    pub vertex: u32,
}

/// All groups, by their first part, and the place of every slot within its group.
pub(crate) fn groups(rig: &Rig) -> (Vec<Group>, Vec<u32>) {
    let parts = rig.parts();
    let mut label: Vec<usize> = (0..parts.len()).collect();
    let mut first_part: Vec<Option<usize>> =
        vec![None; 1 + rig.point_of_vertex().iter().max().map_or(0, |&s| s as usize)];
    for (part, vertex) in parts.iter().enumerate().flat_map(|(index, part)| vertices(part).map(move |v| (index, v))) {
        let slot = rig.point_of_vertex()[vertex] as usize;
        let first = *first_part[slot].get_or_insert(part);
        let (a, b) = (label[first].min(label[part]), label[first].max(label[part]));
        if a != b {
            label.iter_mut().filter(|label| **label == b).for_each(|label| *label = a);
        }
    }
    let mut place = vec![0u32; first_part.len()];
    let mut taken = vec![false; first_part.len()];
    let mut groups: Vec<Group> = Vec::new();
    let mut group_of_label: Vec<Option<usize>> = vec![None; parts.len()];
    for (index, part) in parts.iter().enumerate() {
        let group = *group_of_label[label[index]].get_or_insert_with(|| {
            let size = rig.characters()[part.character].size;
            groups.push(Group { parts: Vec::new(), points: Vec::new(), size });
            groups.len() - 1
        });
        let group = &mut groups[group];
        group.parts.push(index);
        for vertex in vertices(part) {
            let slot = rig.point_of_vertex()[vertex];
            if !std::mem::replace(&mut taken[slot as usize], true) {
                place[slot as usize] = group.points.len() as u32;
                group.points.push(Point { slot, vertex: vertex as u32 });
            }
        }
    }
    groups.retain(|group| !group.points.is_empty());
    (groups, place)
}

/// All vertices of a part, in the file's order.
pub(crate) fn vertices(part: &Part) -> impl Iterator<Item = usize> + '_ {
    part.primitives.iter().flat_map(|primitive| primitive.vertices.clone())
}
