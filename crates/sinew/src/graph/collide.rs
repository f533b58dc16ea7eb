//! Cloth and hair stay outside the body: a cape that swings does not go into the legs.
//!
//! Every bone has an *obstacle* that holds the skin which follows it most: a box with rounded edges, in the directions in
//! which that skin spreads at rest, as thick as it is. It moves with the bone. At a frame each point of cloth has, in the
//! base, a distance d to an obstacle and a direction n away from it. Effects may take it toward the obstacle by no more than
//! that distance, and where it is within already, which cloth is by its maker's will or by the roundness of the box, no
//! deeper:
//!
//! `n·(u(p) − u(obstacle)) ≥ −max(d, 0)`
//!
//! The ground is one more. These are half spaces, so it does not matter how fast something goes, and n and d are continuous in the pose. What a
//! point lacks it is pushed along n. So that cloth is not dented point by point, pushes are handed around among neighbours,
//! those that still lack something are pushed again, and so on for as many rounds as reach over the same share of the size
//! on a fine mesh and on a coarse one.
//!
//! Oracle: a curtain blown against a post (`tests/all/collide.rs`).

use super::evaluate::Frame;
use super::settle::{Displaced, set_repeated};
use crate::anatomy::{Anatomy, Role};
use crate::csr::Csr;
use crate::maps::RestSurface;
use crate::polar::principal_axes;
use crate::pose::WorldPose;
use crate::recipe::{Collide as Wanted, Recipe, Riders};
use crate::rig::Rig;
use crate::skeleton::BoneId;
use crate::stance::smooth_step;
use glam::{DAffine3, DMat3, DVec3};

/// Points without which there is no telling how thick something is.
const FEWEST: usize = 8;
/// Share of the size: what is smaller is no obstacle.
const SMALLEST: f64 = 0.02;
/// Share of the size over which contact sets in.
const SOFT: f64 = 3e-3;
/// How far pushes are handed around, as a share of the size, and the rounds that are spent on it.
const REACH: f64 = 0.04;
const ROUNDS: [f64; 2] = [4.0, 24.0];
/// Share of an obstacle's radius around its core in which there is no telling which way is out.
const WITHIN: f64 = 0.25;
/// Share of what a shape spreads by below which differences between directions say nothing.
const ROUND: f64 = 1e-3;
/// Slots that tell what effects do to an end of an obstacle.
const TOLD_BY: usize = 6;

/// What cloth of a rig may run into.
#[derive(Debug)]
pub(super) struct Collide {
    obstacles: Vec<Obstacle>,
    cloths: Vec<Cloth>,
    /// Riders just follow their bones.
    riders_still: bool,
}

/// All points closer than `radius` to a box, its *core*.
#[derive(Debug)]
struct Obstacle {
    bone: BoneId,
    character: usize,
    /// From the core's own frame, which is centred.
    bone_from_core: DAffine3,
    half: DVec3,
    radius: f64,
    /// The core's longest axis, and slots at its two ends.
    along: usize,
    ends: [Vec<u32>; 2],
}

/// The cloth of a character.
#[derive(Debug)]
struct Cloth {
    character: usize,
    slots: Vec<u32>,
    /// By place in `slots`.
    neighbours: Csr,
    rounds: usize,
}

/// Memory for a frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Collisions {
    posed: Vec<PosedObstacle>,
    lacks: Vec<Lack>,
    pushes: Vec<DVec3>,
    handed: Vec<DVec3>,
}

#[derive(Clone, Copy, Debug)]
struct PosedObstacle {
    place_from_core: DAffine3,
    core_from_place: DAffine3,
    centre: DVec3,
    radius: f64,
    /// From the centre to the farthest point.
    extent: f64,
    /// What effects do to its two ends.
    moved: [DVec3; 2],
}

/// A point that is to be farther along a direction; where `by` is below 0 it may be so much less far.
#[derive(Clone, Copy, Debug)]
struct Lack {
    point: u32,
    direction: DVec3,
    by: f64,
}

impl Collide {
    /// `None` where nothing may run into anything.
    pub fn build(rig: &Rig, recipe: &Recipe) -> Option<Self> {
        if recipe.collide == Wanted::None {
            return None;
        }
        let anatomy = rig.kept::<Anatomy>();
        let is_cloth = |slot: usize| matches!(anatomy.role_of_point(slot), Role::Cloth | Role::Hair);
        let surface = RestSurface::new(rig);
        let mut cloths: Vec<Cloth> = (0..rig.characters().len())
            .filter_map(|character| {
                let own = |slot: &usize| rig.character_of_point(*slot) == Some(character) && is_cloth(*slot);
                let slots: Vec<u32> = surface.all_slots().filter(own).map(|slot| slot as u32).collect();
                (!slots.is_empty()).then(|| cloth(rig, &surface, character, slots))
            })
            .collect();
        let mut by_bone: Vec<Vec<u32>> = vec![Vec::new(); rig.skeleton().len()];
        for slot in surface.all_slots().filter(|&slot| !anatomy.role_of_point(slot).is_soft()) {
            if let Some(bone) = rig.main_bone(slot) {
                by_bone[bone.index()].push(slot as u32);
            }
        }
        let wearing: Vec<usize> = cloths.iter().map(|cloth| cloth.character).collect();
        let obstacles: Vec<Obstacle> = (rig.skeleton().bones().zip(&by_bone))
            .filter_map(|(bone, slots)| obstacle(rig, &surface, bone, slots))
            .filter(|obstacle| wearing.contains(&obstacle.character))
            .collect();
        cloths.retain(|cloth| obstacles.iter().any(|obstacle| obstacle.character == cloth.character));
        (!cloths.is_empty()).then_some(Self { obstacles, cloths, riders_still: recipe.riders == Riders::Still })
    }

    /// Follows another word for riders.
    pub fn retune(&mut self, riders: Riders) {
        self.riders_still = riders == Riders::Still;
    }

    /// Names the points that it reads or moves.
    pub fn touched(&self, touch: &mut impl FnMut(u32)) {
        self.obstacles.iter().flat_map(|obstacle| obstacle.ends.iter().flatten()).for_each(|&slot| touch(slot));
        self.cloths.iter().flat_map(|cloth| &cloth.slots).for_each(|&slot| touch(slot));
    }

    /// Pushes out what effects have moved into the body. `origins` are what points are relative to, and `floors` how high
    /// the ground is above them, by character.
    pub fn push(
        &self,
        frame: &Frame<'_>,
        origins: &[DVec3],
        floors: impl Iterator<Item = Option<f32>> + Clone,
        moved: &mut Displaced<'_>,
        memory: &mut Collisions,
    ) {
        let (rig, world) = (frame.rig, frame.world);
        let Collisions { posed, lacks, pushes, handed } = memory;
        posed.clear();
        posed.extend(self.obstacles.iter().map(|obstacle| obstacle.posed(world, origins, moved)));
        for cloth in &self.cloths {
            let size = rig.characters()[cloth.character].size;
            let floor = floors.clone().nth(cloth.character).flatten().map(f64::from);
            lacks.clear();
            for (point, &slot) in cloth.slots.iter().enumerate() {
                let by = moved.by(slot as usize);
                if by == DVec3::ZERO || (self.riders_still && rig.is_rider(slot as usize)) {
                    continue;
                }
                let place = moved.base.get(slot as usize).as_dvec3();
                let mut add = |(direction, by): (DVec3, f64)| {
                    // What is farther off than pushes ever go need not be looked at again.
                    if by > -REACH * size {
                        lacks.push(Lack { point: point as u32, direction, by });
                    }
                };
                for (obstacle, posed) in self.obstacles.iter().zip(&*posed) {
                    if obstacle.character == cloth.character {
                        obstacle.lack(posed, place, by, size).into_iter().for_each(&mut add);
                    }
                }
                if let Some(floor) = floor {
                    add((DVec3::Y, soft(-by.y - (place.y - floor).max(0.0), knee(by, size))));
                }
            }
            if !lacks.iter().any(|lack| lack.by > 0.0) {
                continue;
            }
            cloth.hand_around(lacks, pushes, handed);
            for (&slot, push) in cloth.slots.iter().zip(&*pushes).filter(|(_, push)| **push != DVec3::ZERO) {
                let slot = slot as usize;
                set_repeated(rig, slot, (moved.points.get(slot).as_dvec3() + *push).as_vec3(), moved.points);
            }
        }
    }
}

impl Obstacle {
    fn posed(&self, world: &WorldPose, origins: &[DVec3], moved: &Displaced<'_>) -> PosedObstacle {
        let mut place_from_core = world.world_from_bone(self.bone) * self.bone_from_core;
        place_from_core.translation -= origins[self.character];
        let scale = place_from_core.matrix3.determinant().abs().cbrt();
        let mean = |slots: &Vec<u32>| {
            let sum: DVec3 = slots.iter().map(|&slot| moved.by(slot as usize)).sum();
            sum / slots.len().max(1) as f64
        };
        let size = place_from_core.matrix3 * self.half;
        PosedObstacle {
            place_from_core,
            // A bone that is scaled to nothing is no obstacle: its extent is not finite.
            core_from_place: place_from_core.inverse(),
            centre: place_from_core.translation,
            radius: self.radius * scale,
            extent: size.length() + self.half.length() * scale + self.radius * scale,
            moved: [mean(&self.ends[0]), mean(&self.ends[1])],
        }
    }

    /// How much farther from it a point has to be that effects move by `by`, and which way that is.
    fn lack(&self, posed: &PosedObstacle, place: DVec3, by: DVec3, size: f64) -> Option<(DVec3, f64)> {
        let [low, high] = posed.moved;
        let fastest = (by - low).length().max((by - high).length());
        let near = posed.extent + fastest + (SOFT + REACH) * size;
        let is_near = place.distance_squared(posed.centre) <= near * near;
        if !is_near {
            return None;
        }
        let local = posed.core_from_place.transform_point3(place);
        let inner = local.clamp(-self.half, self.half);
        let away = place - posed.place_from_core.transform_point3(inner);
        let distance = away.length();
        let direction = away.try_normalize()?;
        let share =
            if self.half[self.along] > 0.0 { 0.5 + 0.5 * inner[self.along] / self.half[self.along] } else { 0.5 };
        let moved = by - low.lerp(high, share);
        let lack = soft(-moved.dot(direction) - (distance - posed.radius).max(0.0), knee(moved, size));
        let known = smooth_step(distance / (WITHIN * posed.radius));
        let lack = if lack > 0.0 { lack * known } else { lack };
        (known > 0.0 && lack.is_finite()).then_some((direction, lack))
    }
}

/// Over how much contact sets in: what hardly moves is hardly pushed, whatever it lies in.
fn knee(moved: DVec3, size: f64) -> f64 {
    (SOFT * size).min(0.5 * moved.length())
}

/// Of what is lacking, what is asked for: it sets in over a knee.
fn soft(x: f64, knee: f64) -> f64 {
    if x >= knee {
        x
    } else if x <= -knee {
        x + knee
    } else {
        (x + knee) * (x + knee) / (4.0 * knee)
    }
}

impl Cloth {
    fn hand_around(&self, lacks: &[Lack], pushes: &mut Vec<DVec3>, handed: &mut Vec<DVec3>) {
        pushes.clear();
        pushes.resize(self.slots.len(), DVec3::ZERO);
        for round in 0..self.rounds {
            if round > 0 {
                handed.clear();
                handed.extend(pushes.iter().enumerate().map(|(point, push)| {
                    let around = self.neighbours.of(point);
                    let sum: DVec3 = around.iter().map(|&other| pushes[other as usize]).sum();
                    0.5 * (*push + sum / around.len().max(1) as f64)
                }));
                std::mem::swap(pushes, handed);
            }
            for of_point in lacks.chunk_by(|a, b| a.point == b.point) {
                let push = &mut pushes[of_point[0].point as usize];
                // What lacks most comes first, whatever the order of bones.
                for _ in of_point {
                    let lacking = of_point.iter().map(|lack| (lack.by - push.dot(lack.direction), lack.direction));
                    let most = lacking.max_by(|a, b| a.0.total_cmp(&b.0));
                    let Some((by, direction)) = most.filter(|most| most.0 > 0.0) else { break };
                    *push += direction * by;
                }
            }
        }
    }
}

fn cloth(rig: &Rig, surface: &RestSurface<'_>, character: usize, slots: Vec<u32>) -> Cloth {
    let points = surface.points();
    let mut lengths = 0.0;
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for (from, &slot) in slots.iter().enumerate() {
        for &to in rig.adjacency().of(slot as usize) {
            let Ok(place) = slots.binary_search(&to) else { continue };
            lengths += points[slot as usize].distance(points[to as usize]);
            pairs.push((from as u32, place as u32));
        }
    }
    let reach = REACH * rig.characters()[character].size;
    let mean = lengths / pairs.len().max(1) as f64;
    // Handing around among neighbours reaches as far as the root of the rounds.
    let rounds = if mean > 0.0 { (reach / mean).powi(2).clamp(ROUNDS[0], ROUNDS[1]) as usize } else { 1 };
    Cloth { character, neighbours: Csr::new(slots.len(), pairs), slots, rounds }
}

fn obstacle(rig: &Rig, surface: &RestSurface<'_>, bone: BoneId, slots: &[u32]) -> Option<Obstacle> {
    if slots.len() < FEWEST {
        return None;
    }
    let character = rig.character_of_point(slots[0] as usize)?;
    let at = |slot: u32| surface.points()[slot as usize];
    let middle = slots.iter().map(|&slot| at(slot)).sum::<DVec3>() / slots.len() as f64;
    let square = |d: DVec3| DMat3::from_cols(d * d.x, d * d.y, d * d.z);
    let spread = slots.iter().fold(DMat3::ZERO, |sum, &slot| sum + square(at(slot) - middle));
    // What is round has no directions of its own: there the bone's decide, and not the last bit.
    let bone_axes = surface.world().world_from_bone(bone).matrix3;
    let trace = spread.x_axis.x + spread.y_axis.y + spread.z_axis.z;
    let [x, y] = [bone_axes.x_axis, bone_axes.y_axis].map(|axis| square(axis.normalize_or_zero()));
    let spread = spread + (x + y * 0.5) * (ROUND * trace);
    let (axes, _) = principal_axes(spread);
    let local = |slot: u32| axes.transpose() * (at(slot) - middle);
    let (low, high) = slots.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(low, high), &slot| {
        let p = local(slot);
        (low.min(p), high.max(p))
    });
    let half = 0.5 * (high - low);
    let radius = half.min_element();
    // Edges of what is not round stand out: half of what they do is lost, and half of it kept clear on its sides.
    let centre = 0.5 * (low + high);
    let out = |slot: u32| {
        let p = local(slot) - centre;
        p.distance(p.clamp(radius - half, half - radius))
    };
    let mean = slots.iter().map(|&slot| out(slot)).sum::<f64>() / slots.len() as f64;
    let clear = 0.5 * (radius + mean.max(radius));
    if !(half.length() > SMALLEST * rig.characters()[character].size && radius > 0.0) {
        return None;
    }
    let along = half.max_position();
    let mut by_place: Vec<u32> = slots.to_vec();
    by_place.sort_by(|&a, &b| local(a)[along].total_cmp(&local(b)[along]).then(a.cmp(&b)));
    // Evenly over the third at either end.
    let third = (slots.len() / 3).max(1);
    let some = |from: &[u32]| from.iter().step_by(from.len().div_ceil(TOLD_BY)).copied().collect::<Vec<u32>>();
    let ends = [some(&by_place[..third]), some(&by_place[by_place.len() - third..])];
    let world_from_core = DAffine3::from_mat3_translation(axes, middle + axes * (0.5 * (low + high)));
    let bone_from_core = surface.world().world_from_bone(bone).inverse() * world_from_core;
    bone_from_core.is_finite().then_some(Obstacle {
        bone,
        character,
        bone_from_core,
        half: half - radius,
        radius: clear,
        along,
        ends,
    })
}
