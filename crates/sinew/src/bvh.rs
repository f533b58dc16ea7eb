//! A bounding volume hierarchy over boxes, in f64: first hit of a ray, nearest neighbour.
//!
//! Split at the median of the centres along their widest axis, so depth is `log₂ n` for any input, building costs
//! `n log n`, and the tree is a function of the boxes alone. What a primitive is, the caller knows: queries hand out
//! indices and take back distances, which is how rays can pass the faces they enter by and neighbours be filtered.
//!
//! Three things keep a query at `log n` where boxes alone would not:
//! - Needles across the axes fill boxes that all overlap. A tree of faces holds, where it is tighter, a second box along
//!   the longest edge of a node's faces.
//! - Of points at one place all boxes are as near as the nearest. Each node knows its least index, which decides.
//! - A point among thousands of its own group looks for one of another. [`Groups`] tells which nodes hold one.

use glam::{DMat3, DVec3};

const LEAF: usize = 4;
/// Deeper than any tree over 32-bit indices.
const STACK: usize = 64;
/// Of no box along an edge, and of no primitive.
const NONE: u32 = u32::MAX;
/// A box along an edge is kept where its sides are smaller by this factor.
const TIGHTER: f64 = 0.5;

#[derive(Clone, Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// Of a leaf: its first primitive in `order`. Of an inner node: its second child; the first follows it.
    first: u32,
    /// Primitives of a leaf; 0 for an inner node.
    count: u32,
    /// The smallest index of a primitive.
    least: u32,
    /// Its box along an edge.
    tilted: u32,
}

/// A box along axes of its own.
#[derive(Clone, Debug)]
struct Tilted {
    from_world: DMat3,
    low: DVec3,
    high: DVec3,
}

#[derive(Clone, Debug)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    order: Vec<u32>,
    tilted: Vec<Tilted>,
}

/// Which group each primitive of a tree is of.
pub(crate) struct Groups {
    of: Vec<u32>,
    /// Per node: the smallest index, its group, and the smallest index of any other group.
    least: Vec<[u32; 3]>,
}

/// Boxes of a tree whose primitives have moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxes(Vec<(DVec3, DVec3)>);

impl Bvh {
    /// Over boxes given as (low, high) corners.
    pub fn new(boxes: &[(DVec3, DVec3)]) -> Self {
        let mut bvh = Self { nodes: Vec::new(), order: (0..boxes.len() as u32).collect(), tilted: Vec::new() };
        if !boxes.is_empty() {
            let mut order = std::mem::take(&mut bvh.order);
            bvh.split(boxes, &mut order, 0);
            bvh.order = order;
        }
        bvh
    }

    /// Over points.
    pub fn of_points(points: &[DVec3]) -> Self {
        Self::new(&points.iter().map(|&p| (p, p)).collect::<Vec<_>>())
    }

    /// Over triangles.
    pub fn of_faces(faces: &[[DVec3; 3]]) -> Self {
        let mut bvh = Self::new(&faces.iter().map(|&[a, b, c]| (a.min(b).min(c), a.max(b).max(c))).collect::<Vec<_>>());
        bvh.tilt(faces, 0, 0, faces.len());
        bvh
    }

    fn split(&mut self, boxes: &[(DVec3, DVec3)], order: &mut [u32], first: usize) {
        let node = self.nodes.len();
        let bounds = |points: &mut dyn Iterator<Item = (DVec3, DVec3)>| {
            points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), b| (low.min(b.0), high.max(b.1)))
        };
        let (low, high) = bounds(&mut order.iter().map(|&i| boxes[i as usize]));
        let least = order.iter().copied().min().unwrap_or(NONE);
        self.nodes.push(Node { low, high, first: first as u32, count: order.len() as u32, least, tilted: NONE });
        if order.len() <= LEAF {
            return;
        }
        // Twice the centre: the same order without a rounding.
        let centre = |i: u32| boxes[i as usize].0 + boxes[i as usize].1;
        let (low, high) = bounds(&mut order.iter().map(|&i| (centre(i), centre(i))));
        let axis = (high - low).max_position();
        let middle = order.len() / 2;
        order.select_nth_unstable_by(middle, |&a, &b| centre(a)[axis].total_cmp(&centre(b)[axis]).then(a.cmp(&b)));
        let (left, right) = order.split_at_mut(middle);
        self.split(boxes, left, first);
        self.nodes[node].first = self.nodes.len() as u32;
        self.nodes[node].count = 0;
        self.split(boxes, right, first + middle);
    }

    /// Gives a node and those below it boxes along an edge where that is tighter.
    fn tilt(&mut self, faces: &[[DVec3; 3]], node: usize, first: usize, count: usize) {
        let Some(&Node { low, high, first: second, count: in_leaf, .. }) = self.nodes.get(node) else { return };
        let side = high - low;
        // The large boxes at the top are passed anyway.
        if let Some(tilted) = Tilted::around(self.order[first..first + count].iter().map(|&i| faces[i as usize]))
            && half_area(tilted.high - tilted.low) < TIGHTER * half_area(side)
        {
            self.nodes[node].tilted = self.tilted.len() as u32;
            self.tilted.push(tilted);
        }
        if in_leaf == 0 {
            let left = count / 2;
            self.tilt(faces, node + 1, first, left);
            self.tilt(faces, second as usize, first + left, count - left);
        }
    }

    /// The smallest parameter `hit` gives among the primitives whose boxes the ray meets.
    pub fn first_hit(&self, origin: DVec3, direction: DVec3, mut hit: impl FnMut(u32) -> Option<f64>) -> Option<f64> {
        let inverse = direction.recip();
        let enter = |node: usize| {
            let node = &self.nodes[node];
            let enter = entered(origin, inverse, node.low, node.high)?;
            let Some(tilted) = self.tilted.get(node.tilted as usize) else { return Some((enter, 0)) };
            let [origin, direction] = [origin, direction].map(|v| tilted.from_world * v);
            Some((enter.max(entered(origin, direction.recip(), tilted.low, tilted.high)?), 0))
        };
        let mut best: Option<f64> = None;
        self.visit(enter, |index, limit| {
            if let Some(t) = hit(index).filter(|&t| t < limit.0) {
                *limit = (t, NONE);
                best = Some(t);
            }
        });
        best
    }

    /// Hands out the primitives whose boxes meet a box.
    pub fn overlapping(&self, low: DVec3, high: DVec3, mut see: impl FnMut(u32)) {
        let meets = |node: usize| {
            let node = &self.nodes[node];
            (low.cmple(node.high).all() && node.low.cmple(high).all()).then_some((0.0, 0))
        };
        self.visit(meets, |index, _| see(index));
    }

    /// At most `most` of the primitives before `before`, those of the smallest `gap` to a box, equal ones by index, in that
    /// order. `gap` gives `None` for primitives that do not count, and is squared.
    pub fn nearest_few(
        &self,
        (low, high): (DVec3, DVec3),
        within_squared: f64,
        most: usize,
        before: u32,
        mut gap: impl FnMut(u32) -> Option<f64>,
    ) -> Vec<u32> {
        let mut found: Vec<(f64, u32)> = Vec::with_capacity(most + 1);
        let reach = |at: usize| {
            let node = &self.nodes[at];
            let d = (node.low - high).max(low - node.high).max(DVec3::ZERO).length_squared();
            (d <= within_squared && node.least < before).then_some((d, node.least))
        };
        self.visit(reach, |index, limit| {
            if index >= before {
                return;
            }
            let Some(key) = gap(index).filter(|&d| d <= within_squared).map(|d| (d, index)) else { return };
            let at = found.partition_point(|known| *known < key);
            found.insert(at, key);
            found.truncate(most);
            if found.len() == most
                && let Some(&last) = found.last()
            {
                *limit = last;
            }
        });
        found.into_iter().map(|(_, index)| index).collect()
    }

    /// The primitive of smallest squared distance not beyond `within_squared`, and that distance; equal ones by index.
    /// `distance_squared` gives `None` for primitives that do not count.
    pub fn nearest(
        &self,
        point: DVec3,
        within_squared: f64,
        distance_squared: impl FnMut(u32) -> Option<f64>,
    ) -> Option<(u32, f64)> {
        self.nearest_of(point, within_squared, |node| self.nodes[node].least, distance_squared)
    }

    /// Tells groups apart, one given for each primitive.
    pub fn groups(&self, of: Vec<u32>) -> Groups {
        let mut least = vec![[NONE; 3]; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let mut own = [NONE; 3];
            let mut add = |index: u32, group: u32| match own {
                _ if index == NONE => {}
                [first, of_first, _] if group == of_first => own[0] = first.min(index),
                [first, of_first, _] if index < first => {
                    own = [index, group, if of_first == NONE { NONE } else { first }]
                }
                [_, _, other] => own[2] = other.min(index),
            };
            match node.count {
                0 => {
                    for [first, group, other] in [least[at + 1], least[node.first as usize]] {
                        add(first, group);
                        // Of which group the other is does not matter: it is not the first's.
                        if let Some(&other_group) = of.get(other as usize) {
                            add(other, other_group);
                        }
                    }
                }
                count => {
                    let primitives = &self.order[node.first as usize..(node.first + count) as usize];
                    primitives.iter().for_each(|&index| add(index, of[index as usize]));
                }
            }
            least[at] = own;
        }
        Groups { of, least }
    }

    /// As [`Self::nearest`], among the primitives that are not of the group `own`.
    pub fn nearest_other(
        &self,
        groups: &Groups,
        own: u32,
        point: DVec3,
        within_squared: f64,
        mut distance_squared: impl FnMut(u32) -> f64,
    ) -> Option<(u32, f64)> {
        let least = |node: usize| {
            let [first, of_first, other] = groups.least[node];
            if of_first == own { other } else { first }
        };
        let other = |index: u32| (groups.of[index as usize] != own).then(|| distance_squared(index));
        self.nearest_of(point, within_squared, least, other)
    }

    /// `least` tells the smallest index that counts in a node.
    fn nearest_of(
        &self,
        point: DVec3,
        within_squared: f64,
        least: impl Fn(usize) -> u32,
        mut distance_squared: impl FnMut(u32) -> Option<f64>,
    ) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f64)> = None;
        let reach = |at: usize| {
            let (node, least) = (&self.nodes[at], least(at));
            let mut d = (point.clamp(node.low, node.high) - point).length_squared();
            if let Some(tilted) = self.tilted.get(node.tilted as usize) {
                let p = tilted.from_world * point;
                d = d.max((p.clamp(tilted.low, tilted.high) - p).length_squared());
            }
            (least != NONE && d <= within_squared).then_some((d, least))
        };
        self.visit(reach, |index, limit| {
            let Some(d) = distance_squared(index).filter(|&d| d <= within_squared) else { return };
            if best.is_none_or(|(other, least)| d < least || (d == least && index < other)) {
                best = Some((index, d));
                *limit = (d, index);
            }
        });
        best
    }

    /// Makes memory for [`Self::refit`].
    pub fn reserve(&self, boxes: &mut Boxes) {
        boxes.0.clear();
        boxes.0.reserve(self.nodes.len());
    }

    /// The boxes that the tree has with its primitives in others, in memory that is there.
    pub fn refit(&self, boxes: &mut Boxes, of: impl Fn(u32) -> (DVec3, DVec3)) {
        let boxes = &mut boxes.0;
        boxes.clear();
        boxes.resize(self.nodes.len(), (DVec3::INFINITY, DVec3::NEG_INFINITY));
        let both = |a: (DVec3, DVec3), b: (DVec3, DVec3)| (a.0.min(b.0), a.1.max(b.1));
        // Children follow their parents.
        for (index, node) in self.nodes.iter().enumerate().rev() {
            boxes[index] = match node.count {
                0 => both(boxes[index + 1], boxes[node.first as usize]),
                count => {
                    let own = &self.order[node.first as usize..][..count as usize];
                    own.iter().fold(boxes[index], |sum, &primitive| both(sum, of(primitive)))
                }
            };
        }
    }

    /// Every primitive of leaves whose boxes, as [`Self::refit`] left them, are within a distance of a box.
    pub fn within(&self, boxes: &Boxes, around: (DVec3, DVec3), squared: f64, mut see: impl FnMut(u32)) {
        let mut stack = [0u32; STACK];
        let mut depth = usize::from(!self.nodes.is_empty());
        while depth > 0 {
            depth -= 1;
            let index = stack[depth] as usize;
            let (low, high) = boxes.0[index];
            if (low - around.1).max(around.0 - high).max(DVec3::ZERO).length_squared() > squared {
                continue;
            }
            let node = &self.nodes[index];
            if node.count > 0 {
                self.order[node.first as usize..][..node.count as usize].iter().for_each(|&primitive| see(primitive));
                continue;
            }
            stack[depth] = node.first;
            stack[depth + 1] = index as u32 + 1;
            depth += 2;
        }
    }

    /// Leaves' primitives, nearer boxes first, skipping boxes whose `reach` is beyond the limit that `see` lowers.
    fn visit(&self, reach: impl Fn(usize) -> Option<(f64, u32)>, mut see: impl FnMut(u32, &mut (f64, u32))) {
        let mut limit = (f64::INFINITY, NONE);
        let mut stack = [(0u32, (0.0f64, 0u32)); STACK];
        let mut depth = 0;
        if let Some(key) = (!self.nodes.is_empty()).then(|| reach(0)).flatten() {
            stack[0] = (0, key);
            depth = 1;
        }
        while depth > 0 {
            depth -= 1;
            let (index, key) = stack[depth];
            if key >= limit {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.count > 0 {
                let first = node.first as usize;
                for &primitive in &self.order[first..first + node.count as usize] {
                    see(primitive, &mut limit);
                }
                continue;
            }
            let children = [index + 1, node.first];
            let [a, b] = children.map(|child| reach(child as usize));
            let far_first =
                if a <= b { [(children[1], b), (children[0], a)] } else { [(children[0], a), (children[1], b)] };
            for (child, key) in far_first {
                if let Some(key) = key.filter(|&key| key < limit) {
                    stack[depth] = (child, key);
                    depth += 1;
                }
            }
        }
    }
}

impl Tilted {
    /// Along the longest edge and the side of its face; `None` where that is no plane.
    fn around(faces: impl Iterator<Item = [DVec3; 3]> + Clone) -> Option<Self> {
        let mut longest = (0.0, DVec3::ZERO, DVec3::ZERO);
        for [a, b, c] in faces.clone() {
            for (edge, other) in [(b - a, c - a), (c - b, a - b), (a - c, b - c)] {
                let length = edge.length_squared();
                if length > longest.0 {
                    longest = (length, edge, other);
                }
            }
        }
        let along = longest.1.try_normalize()?;
        let across = (longest.2 - along * along.dot(longest.2)).try_normalize()?;
        let from_world = DMat3::from_cols(along, across, along.cross(across)).transpose();
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut farthest = 0.0f64;
        for corner in faces.flatten() {
            let p = from_world * corner;
            (low, high) = (low.min(p), high.max(p));
            farthest = farthest.max(corner.abs().max_element());
        }
        // What turning rounds must not hide a face.
        let margin = 1e-12 * farthest;
        Some(Self { from_world, low: low - margin, high: high + margin })
    }
}

fn half_area(side: DVec3) -> f64 {
    side.x * side.y + side.y * side.z + side.z * side.x
}

/// How far along a ray is inside a box first.
fn entered(origin: DVec3, inverse: DVec3, low: DVec3, high: DVec3) -> Option<f64> {
    let (mut enter, mut leave) = (0.0f64, f64::INFINITY);
    for axis in 0..3 {
        let a = (low[axis] - origin[axis]) * inverse[axis];
        let b = (high[axis] - origin[axis]) * inverse[axis];
        // 0·∞: the ray runs in a side of the box, which bounds it no further.
        if a.is_nan() || b.is_nan() {
            continue;
        }
        enter = enter.max(a.min(b));
        leave = leave.min(a.max(b));
    }
    (enter <= leave * (1.0 + 1e-12)).then_some(enter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1u64 << 53) as f64
    }

    fn random_point(seed: &mut u64) -> DVec3 {
        DVec3::new(random(seed), random(seed), random(seed))
    }

    #[test]
    fn nearest_agrees_with_looking_at_all() {
        let mut seed = 1;
        for count in [1, 2, 5, 17, 500] {
            let mut points: Vec<_> = (0..count).map(|_| random_point(&mut seed)).collect();
            points.extend_from_within(..count / 3);
            let bvh = Bvh::of_points(&points);
            for _ in 0..200 {
                let p = random_point(&mut seed) * 1.2;
                let distance = |i: u32| (points[i as usize] - p).length_squared();
                let odd = |i: u32| i.is_multiple_of(2).then(|| distance(i));
                let expected = (0..points.len() as u32)
                    .filter(|i| i % 2 == 0 && distance(*i) <= 0.3)
                    .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
                assert_eq!(bvh.nearest(p, 0.3, odd).map(|(i, _)| i), expected);
            }
        }
        assert!(Bvh::of_points(&[]).nearest(DVec3::ZERO, 1.0, |_| None).is_none());
    }

    #[test]
    fn the_nearest_of_another_group_agrees_with_looking_at_all() {
        let mut seed = 3;
        for (count, places, groups) in [(1, 1, 1), (40, 1, 3), (300, 5, 2), (500, 400, 30)] {
            let sites: Vec<_> = (0..places).map(|_| random_point(&mut seed)).collect();
            let mut pick = |of: usize| (random(&mut seed) * of as f64) as usize;
            let points: Vec<DVec3> = (0..count).map(|_| sites[pick(places)]).collect();
            let group: Vec<u32> = (0..count).map(|_| pick(groups) as u32).collect();
            let bvh = Bvh::of_points(&points);
            let grouped = bvh.groups(group.clone());
            for (i, &p) in points.iter().enumerate() {
                let distance = |j: u32| points[j as usize].distance_squared(p);
                let expected = (0..count as u32)
                    .filter(|&j| group[j as usize] != group[i] && distance(j) <= 0.3)
                    .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
                let found = bvh.nearest_other(&grouped, group[i], p, 0.3, distance);
                assert_eq!(found.map(|(j, _)| j), expected);
            }
        }
    }

    #[test]
    fn a_query_looks_at_few_of_the_points_at_one_place() {
        let points = vec![DVec3::ONE; 10_000];
        let bvh = Bvh::of_points(&points);
        // All but the last are of one group, so that nine thousand of its own lie where it looks.
        let mut group = vec![0; points.len()];
        group[9_999] = 1;
        let groups = bvh.groups(group);
        let mut looked = 0;
        let mut distance = |_: u32| {
            looked += 1;
            0.0
        };
        assert_eq!(bvh.nearest_other(&groups, 0, DVec3::ONE, 1.0, &mut distance), Some((9_999, 0.0)));
        assert_eq!(bvh.nearest_other(&groups, 1, DVec3::ONE, 1.0, &mut distance), Some((0, 0.0)));
        assert_eq!(bvh.nearest(DVec3::ONE, 1.0, |i| Some(distance(i))), Some((0, 0.0)));
        assert!(looked <= 3 * LEAF, "{looked}");
    }

    /// A pole of needles across the axes.
    fn pole(sides: usize) -> Vec<[DVec3; 3]> {
        let along = DVec3::new(1.0, 2.0, 3.0).normalize();
        let (u, v) = along.any_orthonormal_pair();
        let at = |side: usize, up: f64| {
            let (sin, cos) = (side as f64 / sides as f64 * std::f64::consts::TAU).sin_cos();
            (u * cos + v * sin) * 0.01 + along * up
        };
        (0..sides)
            .flat_map(|s| [[at(s, 0.0), at(s + 1, 0.0), at(s + 1, 4.0)], [at(s, 0.0), at(s + 1, 4.0), at(s, 4.0)]])
            .collect()
    }

    #[test]
    fn needles_across_the_axes_are_told_apart() {
        let faces = pole(2_000);
        let (plain, tilted) = {
            let boxes: Vec<_> = faces.iter().map(|&[a, b, c]| (a.min(b).min(c), a.max(b).max(c))).collect();
            (Bvh::new(&boxes), Bvh::of_faces(&faces))
        };
        let mut seed = 11;
        let (mut many, mut few) = (0, 0);
        for _ in 0..50 {
            let face = faces[(random(&mut seed) * faces.len() as f64) as usize];
            let middle = (face[0] + face[1] + face[2]) / 3.0;
            let (origin, direction) = (middle * 1.001, (random_point(&mut seed) - 0.5).normalize());
            let hit = |i: u32| {
                let [a, b, c] = faces[i as usize];
                let normal = (b - a).cross(c - a);
                let t = normal.dot(a - origin) / normal.dot(direction);
                let p = origin + direction * t;
                let inside = [(a, b), (b, c), (c, a)].iter().all(|&(a, b)| (b - a).cross(p - a).dot(normal) >= 0.0);
                (t > 0.0 && inside).then_some(t)
            };
            let counted = |tree: &Bvh, looked: &mut usize| {
                tree.first_hit(origin, direction, |i| {
                    *looked += 1;
                    hit(i)
                })
            };
            assert_eq!(counted(&tilted, &mut few), counted(&plain, &mut many));
        }
        assert!(20 * few < many, "{few} and {many}");
    }

    #[test]
    fn a_ray_along_the_side_of_a_box_meets_it() {
        for x in [0.0, 1.0] {
            let bvh = Bvh::new(&[(DVec3::new(0.0, 2.0, -1.0), DVec3::new(1.0, 3.0, 1.0))]);
            for direction in [DVec3::Y, DVec3::new(0.0, 1.0, 0.1)] {
                assert_eq!(bvh.first_hit(DVec3::new(x, 0.0, 0.0), direction, |_| Some(2.5)), Some(2.5));
            }
        }
    }

    #[test]
    fn first_hit_agrees_with_looking_at_all() {
        let mut seed = 7;
        // Small spheres, and flat boxes that a ray may run in the plane of.
        let centres: Vec<_> = (0..400).map(|_| (random_point(&mut seed) * 8.0).round()).collect();
        let boxes: Vec<_> = centres.iter().map(|&c| (c - 0.3, c + 0.3)).collect();
        let bvh = Bvh::new(&boxes);
        for round in 0..2000 {
            let origin = (random_point(&mut seed) * 8.0).round();
            let direction = match round % 3 {
                0 => DVec3::AXES[round % 7 % 3],
                _ => (random_point(&mut seed) - 0.5).normalize(),
            };
            let hit = |i: u32| {
                let to = centres[i as usize] - origin;
                let t = to.dot(direction);
                (t > 0.5 && (to - direction * t).length() < 0.3).then_some(t)
            };
            let expected = (0..400).filter_map(hit).min_by(f64::total_cmp);
            assert_eq!(bvh.first_hit(origin, direction, hit), expected);
        }
    }
}
