//! A tree of boxes over triangles. Which triangle lies where in it is settled at rest; at a frame boxes are fitted anew,
//! which is linear, and everything asked of it is about places near each other, which a deformation keeps.

use glam::DVec3;

/// Triangles in a leaf.
const LEAF: usize = 2;

#[derive(Clone, Copy)]
struct Node {
    /// Range of `order`.
    from: u32,
    to: u32,
    /// The right child; the left one follows its parent. 0 for a leaf.
    right: u32,
}

pub(crate) struct Tree {
    nodes: Vec<Node>,
    order: Vec<u32>,
}

/// A box around triangles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounds {
    low: DVec3,
    high: DVec3,
}

impl Bounds {
    const EMPTY: Self = Self { low: DVec3::INFINITY, high: DVec3::NEG_INFINITY };

    /// Around a triangle.
    pub fn of([a, b, c]: [DVec3; 3]) -> Self {
        Self { low: a.min(b).min(c), high: a.max(b).max(c) }
    }

    fn around(self, point: DVec3) -> Self {
        Self { low: self.low.min(point), high: self.high.max(point) }
    }

    fn join(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.low.cmple(other.high).all() && other.low.cmple(self.high).all()
    }

    pub fn holds(&self, point: DVec3) -> bool {
        self.low.cmple(point).all() && point.cmple(self.high).all()
    }

    /// Whether a ray meets it before `most`.
    fn is_hit(&self, from: DVec3, way: DVec3, most: f64) -> bool {
        let (mut near, mut far) = (0.0f64, most);
        for axis in 0..3 {
            if way[axis] == 0.0 {
                if from[axis] < self.low[axis] || from[axis] > self.high[axis] {
                    return false;
                }
                continue;
            }
            let (a, b) = ((self.low[axis] - from[axis]) / way[axis], (self.high[axis] - from[axis]) / way[axis]);
            near = near.max(a.min(b));
            far = far.min(a.max(b));
        }
        near <= far
    }

    fn distance_squared(&self, point: DVec3) -> f64 {
        (point - point.clamp(self.low, self.high)).length_squared()
    }
}

/// Steps that may be taken in looking for pairs. Where thousands of triangles lie at one place each meets all others, which
/// nobody has the time for.
pub(crate) struct Steps(Option<u64>);

/// Steps per triangle: more than any real character was seen to need.
const STEPS_PER_TRIANGLE: u64 = 400;

impl Steps {
    pub fn for_triangles(triangles: usize) -> Self {
        Self(Some(STEPS_PER_TRIANGLE * (triangles as u64 + 100)))
    }

    /// Takes one; `false` where there is none.
    pub fn take(&mut self) -> bool {
        self.0 = self.0.and_then(|left| left.checked_sub(1));
        self.0.is_some()
    }

    /// Whether one was asked for that was not there.
    pub fn ran_out(&self) -> bool {
        self.0.is_none()
    }
}

/// A point of a surface, and how far it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearest {
    pub distance_squared: f64,
    pub triangle: u32,
    pub point: DVec3,
}

impl Tree {
    /// A tree over the triangles numbered by `faces`.
    pub fn new(points: &[DVec3], triangles: &[[u32; 3]], faces: impl Iterator<Item = u32>) -> Self {
        let mut tree = Self { nodes: Vec::new(), order: faces.collect() };
        let middle = |face: u32| triangles[face as usize].iter().map(|&p| points[p as usize]).sum::<DVec3>();
        let count = tree.order.len();
        if count > 0 {
            tree.split(0, count, &middle);
        }
        tree
    }

    fn split(&mut self, from: usize, to: usize, middle: &impl Fn(u32) -> DVec3) {
        let index = self.nodes.len();
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        self.nodes.push(Node { from: narrow(from), to: narrow(to), right: 0 });
        if to - from <= LEAF {
            return;
        }
        let extent = self.order[from..to].iter().fold(Bounds::EMPTY, |all, &face| all.around(middle(face)));
        let spread = extent.high - extent.low;
        let axis = if spread.x >= spread.y && spread.x >= spread.z {
            0
        } else if spread.y >= spread.z {
            1
        } else {
            2
        };
        let half = from + (to - from) / 2;
        let by_axis = |a: &u32, b: &u32| middle(*a)[axis].total_cmp(&middle(*b)[axis]).then(a.cmp(b));
        self.order[from..to].select_nth_unstable_by(half - from, by_axis);
        self.split(from, half, middle);
        self.nodes[index].right = narrow(self.nodes.len());
        self.split(half, to, middle);
    }

    /// Boxes of all nodes at a frame.
    pub fn fit(&self, points: &[DVec3], triangles: &[[u32; 3]], boxes: &mut Vec<Bounds>) {
        self.fit_around(|face| Bounds::of(triangles[face as usize].map(|p| points[p as usize])), boxes);
    }

    /// Boxes of all nodes, from those of triangles.
    pub fn fit_around(&self, of: impl Fn(u32) -> Bounds, boxes: &mut Vec<Bounds>) {
        boxes.clear();
        boxes.resize(self.nodes.len(), Bounds::EMPTY);
        for (index, node) in self.nodes.iter().enumerate().rev() {
            boxes[index] = if node.right == 0 {
                self.faces(node).iter().fold(Bounds::EMPTY, |all, &face| all.join(of(face)))
            } else {
                boxes[index + 1].join(boxes[node.right as usize])
            };
        }
    }

    fn faces(&self, node: &Node) -> &[u32] {
        &self.order[node.from as usize..node.to as usize]
    }

    /// The nearest point of the surface, if it is nearer than the root of `within`.
    pub fn nearest(
        &self,
        boxes: &[Bounds],
        points: &[DVec3],
        triangles: &[[u32; 3]],
        at: DVec3,
        within: f64,
    ) -> Option<Nearest> {
        let mut best: Option<Nearest> = None;
        let mut least = within;
        // Halving keeps the tree of 2³² triangles no deeper than 32, and each level leaves one node to be looked at.
        let mut stack = [(0u32, 0.0f64); 48];
        let mut height = usize::from(!boxes.is_empty());
        while height > 0 {
            height -= 1;
            let (index, distance) = stack[height];
            if distance >= least {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.right == 0 {
                for &face in self.faces(node) {
                    let point = nearest_on_triangle(at, triangles[face as usize].map(|p| points[p as usize]));
                    let distance_squared = point.distance_squared(at);
                    if distance_squared < least {
                        least = distance_squared;
                        best = Some(Nearest { distance_squared, triangle: face, point });
                    }
                }
            } else {
                let children = [index + 1, node.right].map(|c| (c, boxes[c as usize].distance_squared(at)));
                let [near, far] = if children[0].1 <= children[1].1 { children } else { [children[1], children[0]] };
                stack[height] = far;
                stack[height + 1] = near;
                height += 2;
            }
        }
        best
    }

    /// Where a ray first goes through a triangle that is not to be `skipped`: how far, which one, and the barycentric
    /// coordinates of its second and third corner there.
    pub fn first_hit(
        &self,
        boxes: &[Bounds],
        points: &[DVec3],
        triangles: &[[u32; 3]],
        from: DVec3,
        way: DVec3,
        skipped: impl Fn(u32) -> bool,
    ) -> Option<(f64, u32, [f64; 2])> {
        let mut best: Option<(f64, u32, [f64; 2])> = None;
        let mut stack: Vec<u32> = Vec::with_capacity(64);
        if !boxes.is_empty() {
            stack.push(0);
        }
        while let Some(index) = stack.pop() {
            let most = best.map_or(f64::INFINITY, |best| best.0);
            if !boxes[index as usize].is_hit(from, way, most) {
                continue;
            }
            let node = &self.nodes[index as usize];
            if node.right != 0 {
                stack.extend([index + 1, node.right]);
                continue;
            }
            for &face in self.faces(node) {
                let corners = triangles[face as usize].map(|p| points[p as usize]);
                if let Some((length, at)) = hit(from, way, corners)
                    && length < best.map_or(f64::INFINITY, |best| best.0)
                    && !skipped(face)
                {
                    best = Some((length, face, at));
                }
            }
        }
        best
    }

    /// Pairs of triangles of two trees whose leaves' boxes meet, as long as there are `steps` left.
    pub fn pairs(
        &self,
        boxes: &[Bounds],
        other: &Self,
        others: &[Bounds],
        steps: &mut Steps,
        mut visit: impl FnMut(u32, u32),
    ) {
        let mut stack = vec![(0u32, 0u32)];
        if self.nodes.is_empty() || other.nodes.is_empty() {
            return;
        }
        while let Some((a, b)) = stack.pop()
            && steps.take()
        {
            if !boxes[a as usize].meets(&others[b as usize]) {
                continue;
            }
            let (one, two) = (&self.nodes[a as usize], &other.nodes[b as usize]);
            if one.right == 0 && two.right == 0 {
                for &first in self.faces(one) {
                    other.faces(two).iter().for_each(|&second| visit(first, second));
                }
            } else if two.right == 0 || one.right != 0 && one.to - one.from >= two.to - two.from {
                stack.extend([(a + 1, b), (one.right, b)]);
            } else {
                stack.extend([(a, b + 1), (a, two.right)]);
            }
        }
    }

    /// Pairs of triangles of this tree whose leaves' boxes meet, each once, as long as there are `steps` left.
    pub fn own_pairs(&self, boxes: &[Bounds], steps: &mut Steps, mut visit: impl FnMut(u32, u32)) {
        let mut stack = vec![(0u32, 0u32)];
        if self.nodes.is_empty() {
            return;
        }
        let push = |stack: &mut Vec<(u32, u32)>, a: u32, b: u32| {
            if boxes[a as usize].meets(&boxes[b as usize]) {
                stack.push((a, b));
            }
        };
        while let Some((a, b)) = stack.pop()
            && steps.take()
        {
            let (one, two) = (&self.nodes[a as usize], &self.nodes[b as usize]);
            if a == b {
                if one.right == 0 {
                    let faces = self.faces(one);
                    for (n, &first) in faces.iter().enumerate() {
                        faces[n + 1..].iter().for_each(|&second| visit(first, second));
                    }
                } else {
                    stack.extend([(a + 1, a + 1), (one.right, one.right)]);
                    push(&mut stack, a + 1, one.right);
                }
                continue;
            }
            if one.right == 0 && two.right == 0 {
                for &first in self.faces(one) {
                    self.faces(two).iter().for_each(|&second| visit(first, second));
                }
            } else if two.right == 0 || one.right != 0 && one.to - one.from >= two.to - two.from {
                push(&mut stack, a + 1, b);
                push(&mut stack, one.right, b);
            } else {
                push(&mut stack, a, b + 1);
                push(&mut stack, a, two.right);
            }
        }
    }
}

/// The point of a triangle nearest to `at` (Ericson, Real-Time Collision Detection, 5.1.5).
pub(crate) fn nearest_on_triangle(at: DVec3, [a, b, c]: [DVec3; 3]) -> DVec3 {
    let (ab, ac, ap) = (b - a, c - a, at - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let bp = at - b;
    let (d3, d4) = (ab.dot(bp), ac.dot(bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return a + ab * share(d1, d1 - d3);
    }
    let cp = at - c;
    let (d5, d6) = (ab.dot(cp), ac.dot(cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return a + ac * share(d2, d2 - d6);
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        return b + (c - b) * share(d4 - d3, (d4 - d3) + (d5 - d6));
    }
    let sum = va + vb + vc;
    a + ab * share(vb, sum) + ac * share(vc, sum)
}

/// How far along a ray it goes through a triangle, and the barycentric coordinates of its second and third corner there
/// (Möller and Trumbore).
fn hit(from: DVec3, way: DVec3, [a, b, c]: [DVec3; 3]) -> Option<(f64, [f64; 2])> {
    let (ab, ac) = (b - a, c - a);
    let across = way.cross(ac);
    let determinant = ab.dot(across);
    if determinant == 0.0 {
        return None;
    }
    let to = (from - a) / determinant;
    let (u, turned) = (to.dot(across), to.cross(ab));
    let (v, length) = (way.dot(turned), ac.dot(turned));
    (u >= 0.0 && v >= 0.0 && u + v <= 1.0 && length > 0.0).then_some((length, [u, v]))
}

/// A quotient that is 0 where there is nothing to share: a triangle without extent.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crossing::tests::soup;

    /// The nearest point against all triangles, one by one, each looked at on a fine grid of its own.
    #[test]
    fn the_nearest_point_is_the_nearest() {
        let (points, triangles) = soup(7, 60);
        let tree = Tree::new(&points, &triangles, 0..60);
        let mut boxes = Vec::new();
        tree.fit(&points, &triangles, &mut boxes);
        for &at in points.iter().step_by(7) {
            let at = at * 1.7 + DVec3::splat(0.1);
            let found = tree.nearest(&boxes, &points, &triangles, at, f64::INFINITY).expect("something");
            let mut least = f64::INFINITY;
            for triangle in &triangles {
                let [a, b, c] = triangle.map(|p| points[p as usize]);
                for i in 0..=60 {
                    for j in 0..=60 - i {
                        let (u, v) = (f64::from(i) / 60.0, f64::from(j) / 60.0);
                        least = least.min((a + (b - a) * u + (c - a) * v).distance(at));
                    }
                }
            }
            let found = found.distance_squared.sqrt();
            assert!(found <= least + 1e-12 && found > least - 0.03, "{found} against {least}");
        }
    }

    #[test]
    fn every_pair_whose_boxes_meet_is_visited_once() {
        let (points, triangles) = soup(3, 90);
        let (one, two) = (Tree::new(&points, &triangles, 0..40), Tree::new(&points, &triangles, 40..90));
        let whole = Tree::new(&points, &triangles, 0..90);
        let box_of =
            |face: u32| triangles[face as usize].iter().fold(Bounds::EMPTY, |all, &p| all.around(points[p as usize]));
        let check = |mut found: Vec<(u32, u32)>, expected: &dyn Fn(u32, u32) -> bool| {
            found.iter_mut().for_each(|pair| *pair = (pair.0.min(pair.1), pair.0.max(pair.1)));
            found.sort_unstable();
            let count = found.len();
            found.dedup();
            assert_eq!(found.len(), count, "each once");
            for a in 0..90 {
                for b in a + 1..90 {
                    if expected(a, b) && box_of(a).meets(&box_of(b)) {
                        assert!(found.binary_search(&(a, b)).is_ok(), "{a} {b}");
                    }
                }
            }
        };
        let fitted = |tree: &Tree| {
            let mut boxes = Vec::new();
            tree.fit(&points, &triangles, &mut boxes);
            boxes
        };
        let mut found = Vec::new();
        one.pairs(&fitted(&one), &two, &fitted(&two), &mut Steps::for_triangles(1000), |a, b| found.push((a, b)));
        check(found, &|a, b| a < 40 && b >= 40);
        let mut found = Vec::new();
        whole.own_pairs(&fitted(&whole), &mut Steps::for_triangles(1000), |a, b| found.push((a, b)));
        check(found, &|_, _| true);
    }
}
