//! Painting on the skin.
//!
//! Distances are measured on the rest surface, so that a stroke means the same whatever the pose it is drawn on, and a
//! stroke is the largest of its dabs everywhere: how fast the pointer moves, and how often it is asked where it is, change
//! nothing.

use glam::DVec3;
use sinew::maps::RestSurface;
use sinew::maps::mirror::{MirrorImages, MirrorPlane};
use sinew::{BoneId, Rig};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// What a brush does to the values under it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Raises them.
    #[default]
    Add,
    /// Lowers them, also below 0: there effects act the other way round.
    Subtract,
    /// Draws them to the mean of their neighbours.
    Smooth,
    /// Draws them to 0.
    Erase,
}

/// How far a brush reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Along the skin: not from one leg to the other.
    #[default]
    Skin,
    /// All that is near, also behind a crease.
    Ball,
}

/// How a dab fades from its middle to its rim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Falloff {
    /// Round as a hill.
    #[default]
    Smooth,
    /// Straight.
    Linear,
    /// Not at all.
    Hard,
}

impl Falloff {
    /// From 1 in the middle to 0 at the rim; `way` is the share of the radius.
    pub fn at(self, way: f64) -> f64 {
        if way.is_nan() || way >= 1.0 {
            return 0.0;
        }
        let left = 1.0 - way.max(0.0);
        match self {
            Self::Smooth => left * left * (3.0 - 2.0 * left),
            Self::Linear => left,
            Self::Hard => 1.0,
        }
    }
}

/// A brush.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brush {
    /// What it does.
    pub mode: Mode,
    /// Radius as a share of the character's size.
    pub radius: f64,
    /// How much, 0…1.
    pub strength: f64,
    /// How it fades.
    pub falloff: Falloff,
    /// How far it reaches.
    pub reach: Reach,
    /// Also on the other side of the body.
    pub mirror: bool,
    /// Only skin that hangs most on this bone.
    pub bone: Option<BoneId>,
}

impl Default for Brush {
    fn default() -> Self {
        Self {
            mode: Mode::Add,
            radius: 0.06,
            strength: 0.5,
            falloff: Falloff::Smooth,
            reach: Reach::Skin,
            mirror: false,
            bone: None,
        }
    }
}

/// A place on the skin: a triangle by its corners' slots, and shares of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkinPlace {
    /// Slots of the corners.
    pub slots: [u32; 3],
    /// Barycentric coordinates.
    pub shares: [f64; 3],
}

/// How much longer ways along edges are than along the skin, at most: along one side of a square and the other.
const ZIGZAG: f64 = std::f64::consts::SQRT_2;

/// Values lie within.
pub const MOST: f32 = 1.0;

/// The skin at rest, ready to be painted on.
#[derive(Clone, Debug)]
pub struct Canvas {
    rig: Arc<Rig>,
    points: Vec<DVec3>,
    size: f64,
    /// The other side of the body, found when it is first asked for.
    images: Option<MirrorImages>,
}

impl Canvas {
    /// That of a rig.
    pub fn new(rig: &Arc<Rig>) -> Self {
        let points = RestSurface::new(rig).points().to_vec();
        let size = rig.characters().iter().map(|character| character.size).fold(0.0, f64::max);
        Self { rig: Arc::clone(rig), points, size, images: None }
    }

    /// Where a place lies at rest.
    fn at(&self, place: &SkinPlace) -> DVec3 {
        place.slots.iter().zip(place.shares).map(|(&slot, share)| self.points[slot as usize] * share).sum()
    }

    /// How much of a dab each point takes, ascending by slot.
    fn dab(&mut self, place: &SkinPlace, brush: &Brush) -> Vec<(u32, f32)> {
        let radius = brush.radius * self.size;
        let mut reached = match brush.reach {
            Reach::Skin => self.along_skin(place, radius),
            Reach::Ball => self.within(self.at(place), radius),
        };
        if let Some(bone) = brush.bone {
            reached.retain(|slot, _| self.rig.main_bone(*slot as usize) == Some(bone));
        }
        let mut covered: BTreeMap<u32, f32> = reached
            .into_iter()
            .map(|(slot, away)| (slot, brush.falloff.at(away / radius) as f32))
            .filter(|(_, cover)| *cover > 0.0)
            .collect();
        if brush.mirror {
            let count = self.points.len();
            let images = self.images();
            // A point takes what its mirror image would.
            let other: Vec<(u32, f32)> = (0..count)
                .filter_map(|slot| {
                    let place = images.of(slot)?;
                    let cover: f64 = place
                        .iter()
                        .map(|(corner, share)| share * f64::from(covered.get(corner).copied().unwrap_or(0.0)))
                        .sum();
                    (cover > 0.0).then_some((slot as u32, cover as f32))
                })
                .collect();
            for (slot, cover) in other {
                let held = covered.entry(slot).or_insert(0.0);
                *held = held.max(cover);
            }
        }
        covered.into_iter().collect()
    }

    fn within(&self, center: DVec3, radius: f64) -> BTreeMap<u32, f64> {
        let near = self.points.iter().enumerate().map(|(slot, point)| (slot as u32, point.distance(center)));
        near.filter(|(_, away)| *away < radius).collect()
    }

    /// Straight distances to what can be reached along edges: ways along edges zigzag, and would make ragged rims.
    fn along_skin(&self, place: &SkinPlace, radius: f64) -> BTreeMap<u32, f64> {
        let center = self.at(place);
        let mut found: BTreeMap<u32, f64> = BTreeMap::new();
        // Bits of floats that are not negative are in the order of the floats.
        let mut heap: BinaryHeap<Reverse<(u64, u32)>> = BinaryHeap::new();
        for &slot in &place.slots {
            heap.push(Reverse((self.points[slot as usize].distance(center).to_bits(), slot)));
        }
        let longest = ZIGZAG * radius;
        while let Some(Reverse((bits, slot))) = heap.pop() {
            let way = f64::from_bits(bits);
            if way >= longest || found.get(&slot).is_some_and(|known| *known <= way) {
                continue;
            }
            found.insert(slot, way);
            for &next in self.rig.adjacency().of(slot as usize) {
                let there = way + self.points[slot as usize].distance(self.points[next as usize]);
                if there < longest && found.get(&next).is_none_or(|known| there < *known) {
                    heap.push(Reverse((there.to_bits(), next)));
                }
            }
        }
        found.into_keys().map(|slot| (slot, self.points[slot as usize].distance(center))).collect()
    }

    fn images(&mut self) -> &MirrorImages {
        let rig = &self.rig;
        self.images.get_or_insert_with(|| MirrorImages::new(&RestSurface::new(rig), MirrorPlane::X))
    }

    /// The value of its neighbours' mean, where it has any.
    fn mean(&self, values: &[f32], slot: u32) -> f32 {
        let around = self.rig.adjacency().of(slot as usize);
        if around.is_empty() {
            return values[slot as usize];
        }
        around.iter().map(|&next| values[next as usize]).sum::<f32>() / around.len() as f32
    }
}

/// A stroke that is being painted.
#[derive(Clone, Debug)]
pub struct Stroke {
    brush: Brush,
    /// Values before the stroke.
    start: Vec<f32>,
    /// The largest dab at each slot, times pressure.
    cover: BTreeMap<u32, f32>,
    last: Option<(SkinPlace, f64)>,
}

impl Stroke {
    /// Begins on a map with these values.
    pub fn new(brush: Brush, values: &[f32]) -> Self {
        Self { brush, start: values.to_vec(), cover: BTreeMap::new(), last: None }
    }

    /// The pointer is at a place, pressed so hard (0…1). Between two places of the same triangle or of ones that touch the
    /// stroke runs straight; gives what has changed: slots and their values.
    pub fn to(&mut self, canvas: &mut Canvas, place: SkinPlace, pressure: f64) -> Vec<(usize, f32)> {
        let pressure = if pressure.is_finite() { pressure.clamp(0.0, 1.0) } else { 1.0 };
        let mut changed: BTreeMap<u32, f32> = BTreeMap::new();
        let between = self.between(canvas, &place, pressure);
        for (place, pressure) in between.into_iter().chain([(place, pressure)]) {
            for (slot, cover) in canvas.dab(&place, &self.brush) {
                let cover = cover * pressure as f32;
                let held = self.cover.entry(slot).or_insert(0.0);
                if cover > *held {
                    *held = cover;
                    changed.insert(slot, cover);
                }
            }
        }
        self.last = Some((place, pressure));
        changed.into_iter().map(|(slot, cover)| (slot as usize, self.value(canvas, slot, cover))).collect()
    }

    /// Dabs a quarter of the radius apart, so that a fast pointer leaves no gaps; from the nearest point of the skin on.
    fn between(&self, canvas: &Canvas, place: &SkinPlace, pressure: f64) -> Vec<(SkinPlace, f64)> {
        let Some((last, pressed)) = self.last else { return Vec::new() };
        let (from, to) = (canvas.at(&last), canvas.at(place));
        let step = 0.25 * self.brush.radius * canvas.size;
        let way = from.distance(to);
        // Farther apart than a few radii is another part of the body, not a line on the skin.
        if step <= 0.0 || way <= step || way > 4.0 * self.brush.radius * canvas.size {
            return Vec::new();
        }
        let count = (way / step).ceil() as usize;
        (1..count)
            .map(|k| {
                let t = k as f64 / count as f64;
                let target = from.lerp(to, t);
                let near = if t < 0.5 { &last } else { place };
                (nearest_place(canvas, near, target), pressed + (pressure - pressed) * t)
            })
            .collect()
    }

    fn value(&self, canvas: &Canvas, slot: u32, cover: f32) -> f32 {
        let start = self.start[slot as usize];
        let amount = cover * self.brush.strength as f32;
        let value = match self.brush.mode {
            Mode::Add => start + amount,
            Mode::Subtract => start - amount,
            Mode::Smooth => start + amount * (canvas.mean(&self.start, slot) - start),
            Mode::Erase => start - amount * start,
        };
        value.clamp(-MOST, MOST)
    }
}

/// The corner nearest to `target` that is reached from a place by going downhill along edges.
fn nearest_place(canvas: &Canvas, from: &SkinPlace, target: DVec3) -> SkinPlace {
    let away = |slot: u32| canvas.points[slot as usize].distance_squared(target);
    let mut at = from.slots.into_iter().min_by(|&a, &b| away(a).total_cmp(&away(b))).unwrap_or(from.slots[0]);
    loop {
        let around = canvas.rig.adjacency().of(at as usize);
        match around.iter().copied().min_by(|&a, &b| away(a).total_cmp(&away(b))) {
            Some(next) if away(next) < away(at) => at = next,
            _ => break SkinPlace { slots: [at; 3], shares: [1.0, 0.0, 0.0] },
        }
    }
}

/// All points that hang together with a slot, over edges: a piece of the skin.
pub fn island(rig: &Rig, slot: usize) -> Vec<usize> {
    let mut seen = vec![false; rig.slots()];
    let mut found = Vec::new();
    let mut open = vec![slot];
    while let Some(slot) = open.pop() {
        if seen.get(slot).is_none_or(|seen| *seen) {
            continue;
        }
        seen[slot] = true;
        found.push(slot);
        open.extend(rig.adjacency().of(slot).iter().map(|&next| next as usize));
    }
    found.sort_unstable();
    found
}
