//! What effects do to parts is held to what parts can do: rods bend, and nothing is moved farther than its length allows.
//!
//! Ears, tails and the like that a bone or two move, their own or that of the head, have nothing in them that could bend:
//! effects shift them as a whole, and held at the root they would be sheared, and stretched or pushed together along their
//! length. They take what effects do to them as one bend. With `G` the rigid motion nearest to what happened to the root, U
//! the mean of what the points were moved by beyond that, and `x` from 0 to 1 the way along the part, cross-sections turn by
//! `x φ` and stand on the arc that they turn along:
//!
//! `p' = c(x) + R(xφ) (Gp − r − xLa)`, `c(x) = r + L ∫₀ˣ R(ξφ) a dξ`
//!
//! with r where the root went, a towards the middle of the part and L its length. To first order the mean of that is
//! `φ × λ`, `λ = mean(x(Gp − r) − ½x²La)`, so that `φ = λ × U / λ²` keeps the mean of what effects did across the part. What
//! lies along it is given up: a rod does not get longer.
//!
//! A fibre at d from the middle line is strained by `φ·(d × a)/L`: a flap bends across its surface and hardly along it, a round rod
//! alike in all directions. With `K = 3 mean((d × a)(d × a)ᵀ)/(εL)²`, so that `φᵀKφ` is 1 where the outermost fibres of an even
//! section are strained by ε (`max_strain` − 1), φ goes smoothly into `φᵀKφ = 1` by `(1 + tK)⁻¹φ`, `t = (√(1 + q) − 1) φ²/q`, `q = φᵀKφ`, which for one
//! direction is `φ/√(1 + q)`.
//!
//! A part that is sewn to the body also leans at its root: all of it turns by `ηφ` about r first, and the skin around its
//! root with it, the less the farther it is, up to a collar of about the root's own radius. Where skin lies flat about a
//! part, that lifts one side of the collar and lowers the other, which strains it by next to nothing: an ear is moved
//! farther so than by any bend that its own skin can take. With `e` along an edge of the collar, of length l, that begins
//! at d from r and over which the share that turns falls by f, the edge is strained by `ηφ·(d × e) f/l` to first order and
//! sheared by `ηφ d f/l`. The first goes into K as fibres do; the second so that the edge is as long as ε allows, where the
//! shear is `√((1 + ε)² − 1)`. η is ½, and less where the collar would be strained before the part.
//!
//! A short beam is sheared more easily than bent (Timoshenko, On the correction for shear of the differential equation for
//! transverse vibrations of prismatic bars, 1921): what the limits of bending take off, the part is sheared by, across its
//! length and in proportion to the way, as far as half of what other parts are.
//!
//! Flesh, cloth, chains of bones, and what is thicker than long are no rods. They keep what effects did, as far as their skin can
//! give all along (`strand`); flesh and what is too short to be cut into sections, up to a share of their length.
//!
//! What the root does beyond a rigid motion fades along the part. Parts of the body itself keep what effects did.
//!
//! Oracles: a part on a tube, moved rigidly, moved a little and moved much (`tests/all/parts.rs`).

use super::GraphError;
use super::parts::{JoinedSkin, Part, PartPoint, Parts, smoothstep};
use super::rigid_pieces::{RigidMotion, fit};
use super::settle::{Directions, set_repeated};
use super::strand::{Strand, StrandPoint};
use crate::anatomy::{Anatomy, Role};
use crate::recipe::{MaxStrain, Recipe};
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use glam::{DMat3, DQuat, DVec2, DVec3};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Share of a part that two bones move, or bones of other parts, where it cannot bend by itself: one joint makes no curve.
const STIFF: f64 = 0.9;
/// How long a rod is at least, in its thickness.
const SLENDER: f64 = 0.75;
/// No rod is bent farther, in radians.
const FARTHEST: f64 = std::f64::consts::FRAC_PI_2;

/// What the root leans by, of the bend.
const LEAN: f64 = 0.5;
/// How far the collar reaches, in radii of the root.
const COLLAR: f64 = 1.5;

/// What a rod is sheared by at most, of what other parts are: its bend strains it too.
const OF_BEND: f64 = 0.5;

/// Nothing else is moved farther, in the way from its root to its end, for each unit that fibres may be strained by.
const SHEARED: f64 = 0.2 / 0.28;

/// The parts that effects act on, but for those of the body itself.
#[derive(Debug)]
pub(super) struct Bending {
    parts: Vec<HeldPart>,
    /// The most that fibres are strained by.
    strain: f64,
}

#[derive(Debug)]
struct HeldPart {
    /// Slots of its root and how much they count; together 1.
    root: Vec<(u32, f64)>,
    points: Vec<HeldPoint>,
    /// Where it is a rod.
    rod: Option<Rod>,
    /// Where it is none, and long enough to be cut into sections.
    strand: Option<Strand>,
    /// From its root to its end.
    reach: f64,
}

#[derive(Debug)]
struct Rod {
    /// Its length over the distance from the root to its middle.
    length: f64,
    /// Mean square of the way.
    mean_square: f64,
    /// What its root leans by, of the bend; 0 where nothing around it can follow.
    lean: f64,
    /// Skin around its root that leans with it, and by how much of that.
    collar: Vec<(u32, f64)>,
    /// Edges of the collar, from the root outward, with how much less the outer end leans.
    edges: Vec<(u32, u32, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct HeldPoint {
    slot: u32,
    way: f64,
    source: u32,
    /// How much it counts; together 1.
    weight: f64,
}

impl Bending {
    /// `None` where effects act on no part, or on those of the body alone.
    pub fn build(rig: &Rig, recipe: &Recipe) -> Result<Option<Self>, GraphError> {
        let mut parts: Vec<HeldPart> = Vec::new();
        let mut taken = vec![false; rig.slots()];
        for effect in recipe.effects.iter().filter(|effect| !effect.parts.is_empty()) {
            for part in Parts::find(rig, &effect.parts, effect.effect.name())?.parts {
                if part.points.iter().any(|point| taken[point.slot as usize]) {
                    continue;
                }
                if let Some(held) = HeldPart::of(rig, &rig.kept(), &part) {
                    held.points.iter().for_each(|point| taken[point.slot as usize] = true);
                    parts.push(held);
                }
            }
        }
        surround(rig, &rig.kept(), &taken, &mut parts);
        Ok((!parts.is_empty()).then_some(Self { parts, strain: strain(recipe.max_strain) }))
    }

    /// Follows another limit.
    pub fn retune(&mut self, max_strain: MaxStrain) {
        self.strain = strain(max_strain);
    }

    /// Names the points that it reads or moves.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        for part in &self.parts {
            part.root.iter().for_each(|&(slot, _)| touch(slot));
            part.points.iter().flat_map(|point| [point.slot, point.source]).for_each(&mut *touch);
            if let Some(rod) = &part.rod {
                rod.collar.iter().for_each(|&(slot, _)| touch(slot));
                rod.edges.iter().flat_map(|&(inner, outer, _)| [inner, outer]).for_each(&mut *touch);
            }
            part.strand.iter().for_each(|strand| strand.touched(touch));
        }
    }

    /// Bends and holds the parts. `base` is where the base has all points, `points` where the effects have them. `directions` are
    /// turned too: in place, or from where the base has them.
    pub fn bend(&self, rig: &Rig, base: &Points, points: &mut Points, directions: &mut [Directions<'_>]) {
        for part in &self.parts {
            part.hold(self.strain, (rig, base), points, directions);
        }
    }
}

fn strain(most: MaxStrain) -> f64 {
    most.get() - 1.0
}

impl HeldPart {
    /// `None` where the part is of the body, or nothing holds it.
    fn of(rig: &Rig, skin: &JoinedSkin, part: &Part) -> Option<Self> {
        let areas = &skin.areas;
        let around: f64 = part.root.iter().map(|&slot| areas[slot as usize]).sum();
        let mass: f64 = part.points.iter().map(|point| areas[point.slot as usize] * smoothstep(point.way)).sum();
        if part.role.is_body() || !(around > 0.0 && mass > 0.0) {
            return None;
        }
        let root = part.root.iter().map(|&slot| (slot, areas[slot as usize] / around)).collect();
        let point = |point: &PartPoint| {
            let PartPoint { slot, way, source } = *point;
            HeldPoint { slot, way, source, weight: areas[slot as usize] * smoothstep(way) / mass }
        };
        let points = part.points.iter().map(point).collect();
        let mut held = Self { root, points, rod: None, strand: None, reach: part.reach };
        held.rod =
            if matches!(part.role, Role::Cloth | Role::Flesh) { None } else { held.rod(rig, part.role, &skin.points) };
        if held.rod.is_none() && part.role != Role::Flesh {
            let points: Vec<_> = held.points.iter().map(|point| (point.way, point.weight)).collect();
            held.strand = Strand::of(&points, &edges(skin, part));
        }
        held.fill_rows(rig);
        Some(held)
    }

    /// The part as a rod, where it is longer than thick and has no bones that could bend it.
    fn rod(&self, rig: &Rig, role: Role, rest: &[DVec3]) -> Option<Rod> {
        let at = |slot: u32| rest[slot as usize];
        let mut of_bone = vec![0.0; rig.skeleton().len()];
        for point in &self.points {
            for influence in rig.influences(point.slot as usize) {
                let bone = rig.palette()[influence.palette as usize].bone;
                of_bone[bone.index()] += point.weight * f64::from(influence.weight);
            }
        }
        let foot: DVec3 = self.root.iter().map(|&(slot, weight)| at(slot) * weight).sum();
        let middle: DVec3 = self.points.iter().map(|point| at(point.slot) * point.weight).sum();
        let axis = (middle - foot).try_normalize()?;
        let length = self.points.iter().map(|point| (at(point.slot) - foot).dot(axis)).fold(0.0, f64::max);
        let (one, two) = axis.any_orthonormal_pair();
        let spread = |p: &HeldPoint| DVec2::new((at(p.slot) - foot).dot(one), (at(p.slot) - foot).dot(two));
        let mean: DVec2 = self.points.iter().map(|point| spread(point) * point.weight).sum();
        let [xx, xy, yy] = self.points.iter().fold([0.0; 3], |[xx, xy, yy], point| {
            let d = spread(point) - mean;
            [xx + point.weight * d.x * d.x, xy + point.weight * d.x * d.y, yy + point.weight * d.y * d.y]
        });
        // The smaller eigenvalue: what is even over its thickness has a variance of a twelfth of that squared.
        let variance = 0.5 * (xx + yy - ((xx - yy).powi(2) + 4.0 * xy * xy).sqrt()).max(0.0);
        let thickness = (12.0 * variance).sqrt();
        // What its bones do not move, those of the head do, and they bend elsewhere.
        let anatomy = rig.kept::<Anatomy>();
        let own = rig.skeleton().bones().filter(|&bone| anatomy.bone(bone).role == role);
        let by_own: f64 = own.map(|bone| of_bone[bone.index()]).sum();
        of_bone.sort_by(|a, b| b.total_cmp(a));
        let is_stiff = by_own < 1.0 - STIFF || of_bone.iter().take(2).sum::<f64>() >= STIFF;
        let is_rod = is_stiff && length >= SLENDER * thickness;
        let mean_square = self.points.iter().map(|point| point.weight * point.way * point.way).sum();
        let (collar, edges) = (Vec::new(), Vec::new());
        is_rod.then_some(Rod { length: length / middle.distance(foot), mean_square, lean: 0.0, collar, edges })
    }

    /// Where its root is at rest, and the root's radius.
    fn foot(&self, rest: &[DVec3]) -> (DVec3, f64) {
        let foot: DVec3 = self.root.iter().map(|&(slot, weight)| rest[slot as usize] * weight).sum();
        let spread: f64 =
            self.root.iter().map(|&(slot, weight)| weight * rest[slot as usize].distance_squared(foot)).sum();
        (foot, spread.sqrt())
    }

    /// Lanes without a point follow the one that they repeat.
    fn fill_rows(&mut self, rig: &Rig) {
        for place in 0..self.points.len() {
            let HeldPoint { slot, way, source, .. } = self.points[place];
            let row = slot as usize / LANES;
            let filled = rig.rows()[row].filled as usize;
            if slot as usize % LANES + 1 == filled {
                let repeated = (row * LANES + filled) as u32..((row + 1) * LANES) as u32;
                self.points.extend(repeated.map(|slot| HeldPoint { slot, way, source, weight: 0.0 }));
            }
        }
    }

    fn hold(&self, strain: f64, (rig, base): (&Rig, &Points), points: &mut Points, directions: &mut [Directions<'_>]) {
        let before = |slot: u32| base.get(slot as usize).as_dvec3();
        if self.points.iter().all(|point| base.get(point.slot as usize) == points.get(point.slot as usize)) {
            return;
        }
        let foot: DVec3 = self.root.iter().map(|&(slot, weight)| before(slot) * weight).sum();
        let carried = fit(&self.root, base, points).unwrap_or_else(|| RigidMotion::none_about(foot));
        match &self.rod {
            Some(rod) => self.bend((rod, strain), (rig, base), carried.of(foot), &carried, points, directions),
            None => self.limit(strain, base, &carried, points),
        }
    }

    /// What the nearest place of the root was moved by beyond the rigid motion, fading along the part.
    fn beyond(point: &HeldPoint, base: &Points, carried: &RigidMotion, points: &Points) -> DVec3 {
        let source = point.source as usize;
        let off = points.get(source).as_dvec3() - carried.of(base.get(source).as_dvec3());
        (1.0 - smoothstep(point.way)) * off
    }

    fn bend(
        &self,
        (rod, strain): (&Rod, f64),
        (rig, base): (&Rig, &Points),
        foot: DVec3,
        carried: &RigidMotion,
        points: &mut Points,
        directions: &mut [Directions<'_>],
    ) {
        let at = |slot: u32| carried.of(base.get(slot as usize).as_dvec3());
        let (mut middle, mut lever, mut moved) = (DVec3::ZERO, DVec3::ZERO, DVec3::ZERO);
        for &HeldPoint { slot, way, weight, .. } in &self.points {
            let at = at(slot);
            middle += weight * at;
            lever += weight * way * (at - foot);
            moved += weight * (points.get(slot as usize).as_dvec3() - at);
        }
        let (axis, length) = ((middle - foot).normalize_or_zero(), rod.length * middle.distance(foot));
        lever += rod.lean * (middle - foot) - 0.5 * rod.mean_square * length * axis;
        let squared = lever.length_squared();
        let turn = if squared > 0.0 { lever.cross(moved) / squared } else { DVec3::ZERO };
        if !turn.is_finite() {
            return;
        }
        let mut strains = DMat3::ZERO;
        for &HeldPoint { slot, way, weight, .. } in &self.points {
            let lengthens = (at(slot) - foot - way * length * axis).cross(axis);
            strains += outer(lengthens * weight, lengthens);
        }
        let around = rod.strains(base, foot, carried);
        let sheared = (strain * (2.0 + strain)).recip();
        let wanted = turn;
        let turn = eased(turn, (strains * (3.0 / length.powi(2)) + around.0) * strain.powi(-2) + around.1 * sheared);
        // Bends smoothly into the limit.
        let farthest = FARTHEST / (1.0 + rod.lean);
        let turn = turn / (1.0 + turn.length_squared() / (farthest * farthest)).sqrt();
        let lost = (wanted - turn).cross(lever);
        let shear = limited(lost - axis * lost.dot(axis), OF_BEND * SHEARED * strain * self.reach);
        let leant = DQuat::from_scaled_axis(rod.lean * turn);
        let layers_of = |slot: usize| {
            rig.rows()[slot / LANES].layers.clone().map(move |layer| layer as usize * LANES + slot % LANES)
        };
        for point in &self.points {
            let (slot, way) = (point.slot as usize, point.way);
            let bent = DQuat::from_scaled_axis(way * turn);
            let across = at(point.slot) - foot - way * length * axis;
            let to = foot + leant * (arc(axis, way * turn) * (way * length) + bent * across) + shear * way;
            points.set(slot, (to + Self::beyond(point, base, carried, points)).as_vec3());
            for slot in layers_of(slot) {
                for Directions { base, result } in &mut *directions {
                    let at = base.map_or_else(|| result.get(slot), |base| base.get(slot)).as_dvec3();
                    result.set(slot, (leant * bent * (carried.turn * at)).as_vec3());
                }
            }
        }
        for &(slot, share) in &rod.collar {
            let (from, slot) = (at(slot) - foot, slot as usize);
            let to = points.get(slot).as_dvec3() + share * (leant * from - from);
            set_repeated(rig, slot, to.as_vec3(), points);
            let turned = DQuat::from_scaled_axis(share * rod.lean * turn);
            for slot in layers_of(slot) {
                for Directions { result, .. } in &mut *directions {
                    result.set(slot, (turned * result.get(slot).as_dvec3()).as_vec3());
                }
            }
        }
    }

    fn limit(&self, strain: f64, base: &Points, carried: &RigidMotion, points: &mut Points) {
        let limit = SHEARED * strain * self.reach;
        let held = |point: &HeldPoint, points: &Points| {
            let slot = point.slot as usize;
            let held = carried.of(base.get(slot).as_dvec3()) + Self::beyond(point, base, carried, points);
            (held, points.get(slot).as_dvec3() - held)
        };
        let followed = self.strand.as_ref().map(|strand| {
            let of = |point: &HeldPoint| {
                let (held, moved) = held(point, points);
                StrandPoint { way: point.way, weight: point.weight, held, moved }
            };
            let at = |slot: u32| carried.of(base.get(slot as usize).as_dvec3());
            strand.follow(self.points.iter().map(of), at, strain, SHEARED * strain)
        });
        for point in &self.points {
            let (held, moved) = held(point, points);
            let to = held
                + match &followed {
                    Some(followed) => {
                        let along = followed.at(point.way);
                        along.kept + (moved - along.moved) * along.beside
                    }
                    // In proportion to the way from the root, or what is near it would be sheared by more.
                    None => limited(moved, limit * point.way),
                };
            if to.is_finite() {
                points.set(point.slot as usize, to.as_vec3());
            }
        }
    }
}

impl Rod {
    /// What a bend does to the edges of the collar by leaning: how their lengths change to first order, and how far they are sheared.
    fn strains(&self, base: &Points, foot: DVec3, carried: &RigidMotion) -> (DMat3, DMat3) {
        let (mut lengthened, mut sheared) = (DMat3::ZERO, DMat3::ZERO);
        let count = self.edges.len().max(1) as f64;
        for &(inner, outer_end, falls) in &self.edges {
            let [inner, end] = [inner, outer_end].map(|slot| carried.of(base.get(slot as usize).as_dvec3()));
            let (from, edge) = (inner - foot, end - inner);
            let length = edge.length();
            if length > 0.0 {
                let rate = self.lean * falls / length;
                let lengthens = from.cross(edge / length) * rate;
                lengthened += outer(lengthens, lengthens);
                sheared += DMat3::from_diagonal(DVec3::splat(from.length_squared() * rate * rate));
            }
        }
        (lengthened * (3.0 / count), sheared * (1.0 / count))
    }
}

/// Finds what leans with the roots of rods: skin sewn to them that is of no part, as far as it is nearer to that root than to any other.
fn surround(rig: &Rig, skin: &JoinedSkin, taken: &[bool], parts: &mut [HeldPart]) {
    let is_sewn = |slot: u32, to: u32| !taken[to as usize] && rig.adjacency().of(slot as usize).contains(&to);
    let mut ways: Vec<BTreeMap<u32, f64>> = Vec::with_capacity(parts.len());
    for part in &*parts {
        let sewn = |point: &HeldPoint| {
            point.weight > 0.0
                && part.root.iter().any(|&(slot, _)| rig.adjacency().of(point.slot as usize).contains(&slot))
        };
        let mut near = BTreeMap::new();
        if part.rod.is_some() && part.points.iter().any(sewn) {
            // Twice as far, so that collars know of each other where they meet.
            let farthest = 2.0 * COLLAR * part.foot(&skin.points).1;
            let mut queue: BinaryHeap<Reverse<(u64, u32)>> =
                part.root.iter().map(|&(slot, _)| Reverse((0, slot))).collect();
            while let Some(Reverse((bits, slot))) = queue.pop() {
                // Distances are not negative, so their bits are in order.
                let way = f64::from_bits(bits);
                if near.contains_key(&slot) {
                    continue;
                }
                near.insert(slot, way);
                let onward = skin.graph.of(slot).iter().filter(|edge| is_sewn(slot, edge.0));
                let onward = onward.map(|&(to, length)| (way + length, to)).filter(|(far, _)| *far < farthest);
                queue.extend(onward.map(|(far, to)| Reverse((far.to_bits(), to))));
            }
        }
        ways.push(near);
    }
    for (index, part) in parts.iter_mut().enumerate() {
        let (foot, radius) = part.foot(&skin.points);
        let HeldPart { root, points, rod: Some(rod), .. } = part else { continue };
        if ways[index].is_empty() || radius <= 0.0 || radius.is_nan() {
            continue;
        }
        let share = |slot: u32| {
            let Some(&own) = ways[index].get(&slot) else { return 0.0 };
            let others = ways.iter().enumerate().filter(|(other, _)| *other != index);
            let other = others.filter_map(|(_, near)| near.get(&slot)).copied().fold(f64::INFINITY, f64::min);
            // Nothing half way to another root.
            let between = if own + other > 0.0 { 2.0 * own / (own + other) } else { 1.0 };
            1.0 - smoothstep((own / (COLLAR * radius)).max(between))
        };
        let shares: Vec<(u32, f64)> = ways[index].keys().map(|&slot| (slot, share(slot))).collect();
        rod.collar = shares.iter().copied().filter(|(_, share)| *share > 0.0).collect();
        for &(slot, own) in &rod.collar {
            let around = skin.graph.of(slot).iter().map(|edge| edge.0).filter(|&to| is_sewn(slot, to));
            let falls = around.map(|to| (slot, to, own - share(to))).filter(|(.., falls)| *falls > 0.0);
            rod.edges.extend(falls);
        }
        // What a bend strains: fibres of the part, and edges of its collar were the lean all of it.
        let at = |slot: u32| skin.points[slot as usize];
        let middle: DVec3 = points.iter().map(|point| at(point.slot) * point.weight).sum();
        let (axis, length) = ((middle - foot).normalize_or_zero(), rod.length * middle.distance(foot));
        let bent: f64 = (points.iter())
            .map(|point| {
                point.weight * (at(point.slot) - foot - point.way * length * axis).cross(axis).length_squared()
            })
            .sum();
        let leant: f64 = (rod.edges.iter())
            .map(|&(inner, end, falls)| {
                let edge = at(end) - at(inner);
                ((at(inner) - foot).cross(edge) * falls).length_squared() / edge.length_squared().powi(2)
            })
            .filter(|strained| strained.is_finite())
            .sum();
        let leant = leant / rod.edges.len().max(1) as f64;
        let share = (bent / (length * length * leant)).sqrt();
        rod.lean = if share < LEAN { share } else { LEAN };
        // A root that is all there is around it has nothing that could follow.
        if rod.edges.is_empty() && root.len() == ways[index].len() {
            (rod.lean, rod.collar) = (0.0, Vec::new());
        }
    }
}

/// The edges of a part, and those by which it hangs on its root.
fn edges(skin: &JoinedSkin, part: &Part) -> Vec<[(u32, f64); 2]> {
    let way = |slot: u32| match part.points.binary_search_by_key(&slot, |point| point.slot) {
        Ok(place) => Some(part.points[place].way),
        Err(_) => part.root.binary_search(&slot).ok().map(|_| 0.0),
    };
    let of_point = |point: &PartPoint| {
        let PartPoint { slot, way: own, .. } = *point;
        let to = skin.graph.of(slot).iter().filter_map(move |&(to, _)| Some((to, way(to)?)));
        to.filter(move |&(to, way)| way < own || (way == own && to < slot)).map(move |to| [to, (slot, own)])
    };
    part.points.iter().flat_map(of_point).collect()
}

pub(super) fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

/// No longer than a limit, as effects bend into theirs: x / (1 + x⁴)^¼.
pub(super) fn limited(moved: DVec3, limit: f64) -> DVec3 {
    let share = moved.length_squared() / (limit * limit);
    let to = moved / (1.0 + share * share).sqrt().sqrt();
    if to.is_finite() { to } else { DVec3::ZERO }
}

/// A turn that strains no more than 1 by `strains`, and is itself where that is little.
fn eased(turn: DVec3, strains: DMat3) -> DVec3 {
    let strained = turn.dot(strains * turn);
    if !(strained.is_finite() && strained > 0.0) {
        return turn;
    }
    let t = ((1.0 + strained).sqrt() - 1.0) * turn.length_squared() / strained;
    let eased = (DMat3::IDENTITY + strains * t).inverse() * turn;
    if eased.is_finite() { eased } else { DVec3::ZERO }
}

/// The mean of a direction while it is turned, `∫₀¹ R(ξ·turn) a dξ`.
fn arc(direction: DVec3, turn: DVec3) -> DVec3 {
    let angle = turn.length();
    // The next terms of these series are below what f64 tells from 1.
    let (sine, versine) = match angle < 1e-4 {
        true => (1.0 - angle * angle / 6.0, 0.5 - angle * angle / 24.0),
        false => (angle.sin() / angle, (1.0 - angle.cos()) / (angle * angle)),
    };
    let along = turn * if angle > 0.0 { direction.dot(turn) / (angle * angle) } else { 0.0 };
    along + (direction - along) * sine + turn.cross(direction) * versine
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Alone in a direction as limits are; a flap gives way across its surface and not along it.
    #[test]
    fn turns_are_eased_by_what_they_strain() {
        let round = DMat3::from_diagonal(DVec3::new(4.0, 4.0, 0.0));
        for turn in [DVec3::new(0.3, 0.4, 0.0), DVec3::new(30.0, -7.0, 0.0)] {
            let expected = turn / (1.0 + 4.0 * turn.length_squared()).sqrt();
            assert!(eased(turn, round).distance(expected) < 1e-12 * turn.length());
        }
        assert_eq!(eased(DVec3::Z, round), DVec3::Z, "twist strains no fibre");
        let flap = DMat3::from_diagonal(DVec3::new(1e-3, 400.0, 0.0));
        let bent = eased(DVec3::new(0.7, 0.7, 0.0), flap);
        assert!(bent.x > 0.65 && bent.y.abs() < 0.05, "{bent}");
        assert!(bent.dot(flap * bent) <= 1.0);
    }

    /// Against the sum of many small steps.
    #[test]
    fn an_arc_is_the_mean_of_its_directions() {
        for turn in [DVec3::ZERO, DVec3::new(1e-6, 0.0, 2e-6), DVec3::new(0.3, -0.8, 0.2), DVec3::new(0.0, 0.0, 2.9)] {
            let direction = DVec3::new(0.3, 0.7, -0.2);
            let steps = 2000;
            let at = |step: i32| (f64::from(step) + 0.5) / f64::from(steps);
            let sum: DVec3 = (0..steps).map(|step| DQuat::from_scaled_axis(at(step) * turn) * direction).sum();
            let off = arc(direction, turn).distance(sum / f64::from(steps));
            assert!(off < 1e-6, "{turn}: {off}");
        }
    }
}
