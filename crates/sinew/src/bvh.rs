//! A bounding volume hierarchy over boxes, in f64: first hit of a ray, nearest neighbour.
//!
//! Split at the median of the centres along their widest axis, so depth is `log₂ n` for any input, building costs
//! `n log n`, and the tree is a function of the boxes alone. What a primitive is, the caller knows: queries hand out
//! indices and take back distances, which is how rays can pass the faces they enter by and neighbours be filtered.

use glam::DVec3;

const LEAF: usize = 4;
/// Deeper than any tree over 32-bit indices.
const STACK: usize = 64;

#[derive(Clone, Debug)]
struct Node {
    low: DVec3,
    high: DVec3,
    /// Of a leaf: its first primitive in `order`. Of an inner node: its second child; the first follows it.
    first: u32,
    /// Primitives of a leaf; 0 for an inner node.
    count: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct Bvh {
    nodes: Vec<Node>,
    order: Vec<u32>,
}

/// Boxes of a tree whose primitives have moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boxes(Vec<(DVec3, DVec3)>);

impl Bvh {
    /// Over boxes given as (low, high) corners.
    pub fn new(boxes: &[(DVec3, DVec3)]) -> Self {
        let mut bvh = Self { nodes: Vec::new(), order: (0..boxes.len() as u32).collect() };
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

    fn split(&mut self, boxes: &[(DVec3, DVec3)], order: &mut [u32], first: usize) {
        let node = self.nodes.len();
        let bounds = |points: &mut dyn Iterator<Item = (DVec3, DVec3)>| {
            points.fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), b| (low.min(b.0), high.max(b.1)))
        };
        let (low, high) = bounds(&mut order.iter().map(|&i| boxes[i as usize]));
        self.nodes.push(Node { low, high, first: first as u32, count: order.len() as u32 });
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

    /// The smallest parameter `hit` gives among the primitives whose boxes the ray meets.
    pub fn first_hit(&self, origin: DVec3, direction: DVec3, mut hit: impl FnMut(u32) -> Option<f64>) -> Option<f64> {
        let inverse = direction.recip();
        let enter = |node: &Node| {
            let (mut enter, mut leave) = (0.0f64, f64::INFINITY);
            for axis in 0..3 {
                let a = (node.low[axis] - origin[axis]) * inverse[axis];
                let b = (node.high[axis] - origin[axis]) * inverse[axis];
                // 0·∞: the ray runs in a side of the box, which bounds it no further.
                if a.is_nan() || b.is_nan() {
                    continue;
                }
                enter = enter.max(a.min(b));
                leave = leave.min(a.max(b));
            }
            (enter <= leave * (1.0 + 1e-12)).then_some(enter)
        };
        let mut best: Option<f64> = None;
        self.visit(enter, |index, limit| {
            if let Some(t) = hit(index).filter(|&t| t < *limit) {
                *limit = t;
                best = Some(t);
            }
        });
        best
    }

    /// The primitive of smallest squared distance not beyond `within_squared`, and that distance; equal ones by index.
    /// `distance_squared` gives `None` for primitives that do not count.
    pub fn nearest(
        &self,
        point: DVec3,
        within_squared: f64,
        mut distance_squared: impl FnMut(u32) -> Option<f64>,
    ) -> Option<(u32, f64)> {
        let mut best: Option<(u32, f64)> = None;
        self.visit(
            |node| {
                let d = (point.clamp(node.low, node.high) - point).length_squared();
                (d <= within_squared).then_some(d)
            },
            |index, limit| {
                let Some(d) = distance_squared(index).filter(|&d| d <= within_squared) else { return };
                if best.is_none_or(|(other, least)| d < least || (d == least && index < other)) {
                    best = Some((index, d));
                    *limit = d;
                }
            },
        );
        best
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

    /// Every primitive of leaves whose boxes, as [`Self::refit`] left them, are within a distance of a point.
    pub fn within(&self, boxes: &Boxes, point: DVec3, squared: f64, mut see: impl FnMut(u32)) {
        let mut stack = [0u32; STACK];
        let mut depth = usize::from(!self.nodes.is_empty());
        while depth > 0 {
            depth -= 1;
            let index = stack[depth] as usize;
            let (low, high) = boxes.0[index];
            if (point.max(low).min(high) - point).length_squared() > squared {
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
    fn visit(&self, reach: impl Fn(&Node) -> Option<f64>, mut see: impl FnMut(u32, &mut f64)) {
        let mut limit = f64::INFINITY;
        let mut stack = [(0u32, 0.0f64); STACK];
        let mut depth = 0;
        if let Some(d) = self.nodes.first().and_then(&reach) {
            stack[0] = (0, d);
            depth = 1;
        }
        while depth > 0 {
            depth -= 1;
            let (index, d) = stack[depth];
            if d > limit {
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
            let [a, b] = children.map(|child| reach(&self.nodes[child as usize]));
            let far_first =
                if a <= b { [(children[1], b), (children[0], a)] } else { [(children[0], a), (children[1], b)] };
            for (child, d) in far_first {
                if let Some(d) = d.filter(|&d| d <= limit) {
                    stack[depth] = (child, d);
                    depth += 1;
                }
            }
        }
    }
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
