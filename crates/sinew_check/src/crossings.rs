//! Skin that effects push through skin: triangles that cross with effects and do not in the base at the same frame.
//!
//! Within a piece, pairs of triangles that share no point and do not cross at rest are counted. Between pieces, where
//! much is sunk into each other by intent, depth counts: how much farther a point of one lies inside another than it does
//! in the base. Inside is where the surface winds around a point (van Oosterom and Strackee's solid angles, summed), so
//! that small holes do not matter. Sheets have no inside; what they hang over may go into them no more than they into it.
//!
//! Oracle: crossed tubes, a folded strip (`truth.rs`); all pairs, one by one (tests below).

use crate::crossing::cross;
use crate::gaps::near_pieces;
use crate::shape::{Shape, u32_of};
use crate::tree::{Bounds, Steps, Tree};
use glam::DVec3;

/// Share of the size: less deep is not seen, and not looked for.
const UNSEEN: f64 = 2e-4;
/// Points whose inside is asked for, of a pair of pieces at a frame: the deepest come first.
const MOST_ASKED: usize = 48;

/// Pairs of triangles that cross, the lower first, ascending.
pub(crate) type Pairs = Vec<(u32, u32)>;

/// What effects push through what, at one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Crossed {
    /// New pairs within pieces, by the rig's size of character: those of the base, those that are new.
    pub within: [usize; 2],
    /// The same between pieces.
    pub between: [usize; 2],
    /// The new pair within a piece that effects move most against each other.
    pub worst: Option<(u32, u32)>,
    /// The deepest new penetration between pieces.
    pub deepest: Option<Deepest>,
}

/// A point within another piece than its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Deepest {
    /// Share of the size.
    pub depth: f64,
    pub point: u32,
    /// The piece it is in, and the triangle of that which it is behind.
    pub piece: u32,
    pub face: u32,
}

/// Memory of boxes for all pieces, and for all triangles.
#[derive(Default)]
pub(crate) struct Boxes(Vec<Vec<Bounds>>, Vec<Bounds>);

/// All pairs that cross at a frame: within pieces, and between pieces of which `of_interest` says yes. `None` where too many
/// triangles lie at one place to be looked at.
pub(crate) fn all(
    shape: &Shape,
    trees: &[Tree],
    points: &[DVec3],
    boxes: &mut Boxes,
    of_interest: impl Fn(usize, usize) -> bool,
) -> Option<[Pairs; 2]> {
    all_but(shape, trees, points, boxes, of_interest, |_| false)
}

/// The same without those within pieces that do not bend, which cross themselves as they do at rest.
fn all_but(
    shape: &Shape,
    trees: &[Tree],
    points: &[DVec3],
    boxes: &mut Boxes,
    of_interest: impl Fn(usize, usize) -> bool,
    is_rigid: impl Fn(usize) -> bool,
) -> Option<[Pairs; 2]> {
    let mut steps = Steps::for_triangles(shape.triangles.len());
    boxes.fit(shape, trees, points);
    let found = [
        boxes.within(shape, trees, points, &mut steps, is_rigid),
        boxes.between(shape, trees, points, &mut steps, of_interest),
    ];
    (!steps.ran_out()).then_some(found)
}

/// How many pairs cross within pieces at a frame that do not at rest, those left aside that do not bend; `None` as for all pairs.
pub(crate) fn count_within(
    shape: &Shape,
    trees: &[Tree],
    rest: &Pairs,
    points: &[DVec3],
    boxes: &mut Boxes,
    is_rigid: impl Fn(usize) -> bool,
) -> Option<usize> {
    let mut steps = Steps::for_triangles(shape.triangles.len());
    boxes.fit(shape, trees, points);
    let found = boxes.within(shape, trees, points, &mut steps, is_rigid);
    (!steps.ran_out()).then(|| missing(&found, &[rest]).len())
}

fn corners(shape: &Shape, points: &[DVec3], face: u32) -> [DVec3; 3] {
    shape.triangles[face as usize].map(|p| points[p as usize])
}

impl Boxes {
    fn fit(&mut self, shape: &Shape, trees: &[Tree], points: &[DVec3]) {
        let Self(of_trees, of_faces) = self;
        of_faces.clear();
        of_faces.extend((0..shape.triangles.len()).map(|face| Bounds::of(corners(shape, points, u32_of(face)))));
        of_trees.resize(trees.len(), Vec::new());
        trees.iter().zip(of_trees).for_each(|(tree, boxes)| tree.fit_around(|face| of_faces[face as usize], boxes));
    }

    fn meet(&self, a: u32, b: u32) -> bool {
        self.1[a as usize].meets(&self.1[b as usize])
    }

    fn within(
        &self,
        shape: &Shape,
        trees: &[Tree],
        points: &[DVec3],
        steps: &mut Steps,
        is_rigid: impl Fn(usize) -> bool,
    ) -> Pairs {
        let mut found = Pairs::new();
        for (_, (tree, boxes)) in trees.iter().zip(&self.0).enumerate().filter(|(piece, _)| !is_rigid(*piece)) {
            tree.own_pairs(boxes, steps, |a, b| {
                let (one, two) = (shape.triangles[a as usize], shape.triangles[b as usize]);
                if self.meet(a, b)
                    && !one.iter().any(|p| two.contains(p))
                    && cross(corners(shape, points, a), corners(shape, points, b))
                {
                    found.push((a.min(b), a.max(b)));
                }
            });
        }
        found.sort_unstable();
        found
    }

    fn between(
        &self,
        shape: &Shape,
        trees: &[Tree],
        points: &[DVec3],
        steps: &mut Steps,
        of_interest: impl Fn(usize, usize) -> bool,
    ) -> Pairs {
        let mut found = Pairs::new();
        for [one, two] in near_pieces(shape, points, 0.0, steps) {
            let (one, two) = (one as usize, two as usize);
            if !of_interest(one, two) {
                continue;
            }
            trees[one].pairs(&self.0[one], &trees[two], &self.0[two], steps, |a, b| {
                if self.meet(a, b) && cross(corners(shape, points, a), corners(shape, points, b)) {
                    found.push((a.min(b), a.max(b)));
                }
            });
        }
        found.sort_unstable();
        found
    }
}

/// A tree for each piece.
pub(crate) fn trees(shape: &Shape) -> Vec<Tree> {
    let faces = |piece: &std::ops::Range<usize>| piece.clone().map(u32_of);
    shape.faces.iter().map(|piece| Tree::new(&shape.rest, &shape.triangles, faces(piece))).collect()
}

/// Those of the ascending `found` that are in none of the ascending `known`.
pub(crate) fn missing(found: &Pairs, known: &[&Pairs]) -> Pairs {
    found.iter().copied().filter(|pair| known.iter().all(|known| known.binary_search(pair).is_err())).collect()
}

/// Per piece: the box around what effects move its points by.
pub(crate) fn movements(shape: &Shape, base: &[DVec3], effects: &[DVec3]) -> Vec<[DVec3; 2]> {
    let of_piece = |points: &Vec<u32>| {
        points.iter().fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], &point| {
            let moved = effects[point as usize] - base[point as usize];
            [low.min(moved), high.max(moved)]
        })
    };
    shape.members.iter().map(of_piece).collect()
}

/// Compares a frame with effects to the base; `rest` are the pairs that cross at rest.
pub(crate) fn look(
    shape: &Shape,
    trees: &[Tree],
    rest: &[Pairs; 2],
    base: &[DVec3],
    effects: &[DVec3],
    boxes: &mut [Boxes; 2],
) -> Crossed {
    let Some(in_base) = all(shape, trees, base, &mut boxes[0], |_, _| true) else { return Crossed::default() };
    let mut crossed = glance(shape, trees, rest, [base, effects], 0.0, boxes, |_| false);
    (crossed.within[0], crossed.between[0]) = (missing(&in_base[0], &[&rest[0]]).len(), in_base[1].len());
    crossed
}

/// What is new alone, where nobody asks how much crosses in the base: of few pairs that is asked one by one. Pieces that effects move by
/// less than `least` against each other, a share of the size, are left aside: nothing goes deeper than it is moved. So are
/// pieces that do not bend, within themselves.
pub(crate) fn glance(
    shape: &Shape,
    trees: &[Tree],
    rest: &[Pairs; 2],
    [base, effects]: [&[DVec3]; 2],
    least: f64,
    boxes: &mut [Boxes; 2],
    is_rigid: impl Fn(usize) -> bool,
) -> Crossed {
    let moved = movements(shape, base, effects);
    let of_interest = |one: usize, two: usize| {
        let [a, b] = [moved[one], moved[two]];
        let apart = (a[1] - b[0]).abs().max((b[1] - a[0]).abs());
        apart.length() >= least * shape.sizes[shape.pieces[one].character]
    };
    let found = all_but(shape, trees, effects, &mut boxes[1], of_interest, is_rigid);
    let Some(found) = found else { return Crossed::default() };
    let is_new = |&(a, b): &(u32, u32)| !cross(corners(shape, base, a), corners(shape, base, b));
    let fresh = [0, 1].map(|kind| {
        let mut fresh = missing(&found[kind], &[&rest[kind]]);
        fresh.retain(is_new);
        fresh
    });
    let moved = |face: u32| {
        shape.triangles[face as usize].iter().map(|&p| effects[p as usize] - base[p as usize]).sum::<DVec3>()
    };
    let apart = |(one, two): (u32, u32)| moved(one).distance_squared(moved(two));
    let mut crossed = Crossed {
        within: [0, fresh[0].len()],
        between: [0, fresh[1].len()],
        worst: fresh[0].iter().copied().reduce(|one, two| if apart(two) > apart(one) { two } else { one }),
        deepest: None,
    };
    let piece = |face: u32| shape.piece[shape.triangles[face as usize][0] as usize];
    let mut pieces: Vec<(u32, u32)> = fresh[1].iter().map(|&(a, b)| (piece(a), piece(b))).collect();
    pieces.sort_unstable();
    pieces.dedup();
    boxes[0].0.resize(trees.len(), Vec::new());
    let mut fitted = vec![false; trees.len()];
    for (one, two) in pieces {
        for piece in [one as usize, two as usize] {
            if !std::mem::replace(&mut fitted[piece], true) {
                trees[piece].fit(base, &shape.triangles, &mut boxes[0].0[piece]);
            }
        }
        // Legs are within a skirt, and not in it.
        for (of, inside) in [(one, two), (two, one)].into_iter().filter(|pair| !shape.is_sheet[pair.1 as usize]) {
            deepen(shape, trees, [of as usize, inside as usize], [base, effects], least, boxes, &mut crossed.deepest);
        }
    }
    crossed
}

/// Looks for the point of piece `of` that effects push deepest into piece `other`, and more than `unnoticed` of the size.
fn deepen(
    shape: &Shape,
    trees: &[Tree],
    [of, other]: [usize; 2],
    [base, effects]: [&[DVec3]; 2],
    unnoticed: f64,
    boxes: &[Boxes; 2],
    deepest: &mut Option<Deepest>,
) {
    let size = shape.sizes[shape.pieces[of].character];
    let Some(around) = boxes[1].0[other].first() else { return };
    // How far a point lies behind the nearest triangle, and which that is; 0 in front of it.
    let behind = |points: &[DVec3], boxes: &Boxes, point: u32| {
        let at = points[point as usize];
        let found = trees[other].nearest(&boxes.0[other], points, &shape.triangles, at, f64::INFINITY)?;
        let [a, b, c] = shape.triangles[found.triangle as usize].map(|p| points[p as usize]);
        let is_behind = (at - found.point).dot((b - a).cross(c - a)) < 0.0;
        Some((if is_behind { found.distance_squared.sqrt() } else { 0.0 }, found.triangle))
    };
    // How far effects move a point against a triangle. It goes in no deeper than that, whatever is behind what: of open and
    // folded pieces the nearest triangle changes from one side to the other.
    let against = |point: u32, triangle: u32| {
        let moved = |p: u32| effects[p as usize] - base[p as usize];
        shape.triangles[triangle as usize].map(|p| moved(p).distance(moved(point))).into_iter().fold(0.0, f64::max)
    };
    let least = |deepest: &Option<Deepest>| deepest.map_or(UNSEEN.max(unnoticed), |deepest| deepest.depth) * size;
    let mut candidates: Vec<(f64, u32, u32)> = Vec::new();
    for &point in shape.members[of].iter().filter(|&&point| around.holds(effects[point as usize])) {
        let Some((depth, triangle)) = behind(effects, &boxes[1], point) else { continue };
        if depth.min(against(point, triangle)) > least(deepest) {
            let before = behind(base, &boxes[0], point).map_or(0.0, |(depth, _)| depth);
            let added = (depth - before).min(against(point, triangle));
            candidates.extend((added > least(deepest)).then_some((added, point, triangle)));
        }
    }
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    // Behind a triangle is not yet inside: of an open piece, or beyond a sharp edge.
    let is_inside = |&&(_, point, _): &&(f64, u32, u32)| is_wound(shape, other, effects, effects[point as usize]);
    if let Some(&(added, point, face)) = candidates.iter().take(MOST_ASKED).find(is_inside) {
        *deepest = Some(Deepest { depth: added / size, point, piece: u32_of(other), face });
    }
}

/// Whether a piece winds around a place: its solid angle is more than half of all.
fn is_wound(shape: &Shape, piece: usize, points: &[DVec3], at: DVec3) -> bool {
    let mut angle = 0.0;
    for triangle in &shape.triangles[shape.faces[piece].clone()] {
        let [a, b, c] = triangle.map(|p| points[p as usize] - at);
        let (la, lb, lc) = (a.length(), b.length(), c.length());
        let below = la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb;
        angle += 2.0 * a.dot(b.cross(c)).atan2(below);
    }
    angle.abs() > 2.0 * std::f64::consts::PI
}
