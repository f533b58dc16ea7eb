//! Where a character stands: which bones are planted on the ground, when, and how high the ground is.
//!
//! *Ground* is the lowest the skin comes over a clip, y being up. A clip that stays well above both the scene's floor and the
//! lowest point of the rest pose is in the air and has none. Ground is not always even, and limbs may stand a little higher:
//! each on the lowest it comes itself. A bone is *planted* while its lowest skin is low and goes with the ground. In a walk on the
//! spot that goes back under the feet, slower where the walk begins or pauses: so skin goes with it whose velocity lies
//! between rest and the ground's own, the most that low skin has along its mean way. Spans of time are found once per clip; in a
//! loop they go around.
//!
//! What reads them wants no steps in time: each bone has a weight that is 1 while it is planted and fades
//! beyond, as a smooth and, in loops, periodic function of time.
//!
//! Each bone is looked at by the points of its skin that lie farthest out in some direction, for one of them is the lowest
//! however the bone turns.
//!
//! Oracle: walks made with known contacts (`tests/all/planting.rs`).

use crate::anatomy::{Anatomy, Role};
use crate::motion::Motion;
use crate::pose::{Pose, WorldPose};
use crate::rig::{Character, OfRig, Rig};
use crate::simd::LANES;
use crate::skeleton::BoneId;
use glam::{DAffine3, DVec2, DVec3};
use std::ops::Range;

/// Share of the size above the ground within which skin is low.
const LOW: f64 = 0.02;
/// As much again above that: skin that may have been low since the look before.
const NEARLY: f64 = 4.0;
/// Share of the size per second that planted skin may go against the ground.
const SLOW: f64 = 0.15;
/// The same as a share of the ground's own speed: a walk on the spot is no treadmill.
const SLOW_SHARE: f64 = 0.25;
/// Share of the size by which a limb may stand higher than the lowest of all.
const UNEVEN: f64 = 0.04;
/// The length of the mean velocity of low skin over its mean speed, from which ground that goes is no longer chance, and from which
/// it is certain.
const AGREED: [f64; 2] = [0.05, 0.15];
/// Share of low skin that is no faster than the ground.
const FASTEST: f64 = 0.9;
/// Seconds: a shorter touch plants nothing, and a shorter gap lifts nothing.
const SHORTEST: f64 = 0.08;
const SHORTEST_GAP: f64 = 0.06;
/// Seconds by which a plant begins earlier and ends later than it is seen: what is between two looks belongs to it.
const MARGIN: f64 = 0.04;
/// Seconds over which a plant fades before and after: faster than a step, slower than is seen as a jerk. In short clips
/// less.
const FADE: f64 = 0.2;
const FADE_SHARE: f64 = 0.25;
/// Share of the size: a clip whose lowest point is higher than this above the floor is in the air.
const AIRBORNE: f64 = 0.05;
/// Looks per second, and in all.
const RATE: f64 = 60.0;
const MOST_LOOKS: f64 = 1200.0;
/// Directions in which skin is asked for what lies farthest out.
const DIRECTIONS: usize = 96;

/// Seconds from when until when.
pub type Spans = Vec<(f64, f64)>;

/// A bone that stands on the ground for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// The bone.
    pub bone: BoneId,
    /// From when, in seconds on the clip's clock.
    pub from: f64,
    /// Until when; beyond the end of a loop where it goes around.
    pub to: f64,
}

/// When the bones of a clip stand, and on what.
#[derive(Clone, Debug, PartialEq)]
pub struct Stance {
    contacts: Vec<Contact>,
    /// Per character: the height of the ground, where it stands on any.
    ground: Vec<Option<f64>>,
    clock: Clock,
    skin: u64,
}

/// The time of a clip.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Clock {
    start: f64,
    end: f64,
    loops: bool,
    fade: f64,
}

/// What stands at a moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Standing {
    /// Bones and how firmly they stand, above 0 and at most 1, each once.
    pub bones: Vec<(BoneId, f64)>,
    /// Per character: the height of the ground, where it stands on any. Empty where nothing is known of it.
    pub ground: Vec<Option<f64>>,
}

impl Standing {
    pub fn clear(&mut self) {
        self.bones.clear();
        self.ground.clear();
    }
}

impl Stance {
    /// Finds it. `told` are bones with the spans somebody gave them, in place of what is seen of these.
    pub(crate) fn new(rig: &Rig, motion: &Motion, told: &[(BoneId, Spans)]) -> Self {
        let (start, end, loops) = motion.span();
        let clock = Clock { start, end, loops, fade: FADE.min(FADE_SHARE * (end - start)) };
        let soles = rig.kept::<Soles>();
        let mut looks = Looks { rig, motion, clock, soles: &soles, pose: Pose::default(), world: WorldPose::default() };
        let lowest = looks.lowest();
        let ground = looks.ground(&lowest);
        let mut contacts = looks.contacts(&lowest, &ground);
        contacts.retain(|contact| !told.iter().any(|(bone, _)| *bone == contact.bone));
        let given = told.iter().flat_map(|(bone, spans)| {
            spans.iter().map(|&(from, to)| Contact { bone: *bone, from: from.max(start), to: to.max(from) })
        });
        contacts.extend(given);
        contacts.sort_by(|a, b| a.bone.cmp(&b.bone).then(a.from.total_cmp(&b.from)));
        let stands = |character: usize| contacts.iter().any(|c| rig.character_of_bone(c.bone) == character);
        let ground = ground.into_iter().enumerate().map(|(of, y)| y.filter(|_| stands(of))).collect();
        Self { contacts, ground, clock, skin: soles.skin }
    }

    /// When bones stand, by bone and time.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// Height of the ground a character stands on.
    pub fn ground(&self, character: usize) -> Option<f64> {
        self.ground.get(character).copied().flatten()
    }

    /// Whether it was found on this skin.
    pub(crate) fn fits(&self, rig: &Rig) -> bool {
        self.skin == rig.kept::<Soles>().skin
    }

    /// What stands at a time within the clip.
    pub(crate) fn at(&self, time: f64, out: &mut Standing) {
        out.clear();
        out.ground.extend(&self.ground);
        for of_bone in self.contacts.chunk_by(|a, b| a.bone == b.bone) {
            let lifted: f64 = of_bone.iter().map(|contact| 1.0 - self.clock.weight(contact, time)).product();
            if lifted < 1.0 {
                out.bones.push((of_bone[0].bone, 1.0 - lifted));
            }
        }
    }
}

impl Clock {
    /// How firmly a contact holds: 1 in it, 0 beyond its fade.
    fn weight(&self, contact: &Contact, time: f64) -> f64 {
        let length = self.end - self.start;
        // The end of a loop is its start, to the bit.
        let time = if self.loops && time >= self.end { self.start } else { time };
        let one = |time: f64| {
            // What stands at an end of a clip that does not loop has stood, or goes on to.
            let before = if !self.loops && contact.from <= self.start { 0.0 } else { contact.from - MARGIN - time };
            let after = if !self.loops && contact.to >= self.end { 0.0 } else { time - contact.to - MARGIN };
            1.0 - smooth_step(before.max(after).max(0.0) / self.fade)
        };
        if !self.loops || length <= 0.0 {
            return one(time);
        }
        [time - length, time, time + length].into_iter().map(one).fold(0.0, f64::max)
    }
}

/// From 0 to 1 without a corner.
pub(crate) fn smooth_step(x: f64) -> f64 {
    // A fade of no time is a step.
    let x = if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) };
    x * x * (3.0 - 2.0 * x)
}

/// The points of each bone's skin that lie farthest out.
#[derive(Debug)]
struct Soles {
    of_bone: Vec<Vec<u32>>,
    /// Per character: the lowest point of the rest pose.
    lowest_at_rest: Vec<f64>,
    /// The same for two rigs only if their skins are alike.
    skin: u64,
}

impl OfRig for Soles {
    fn of(rig: &Rig) -> Self {
        let mut slots: Vec<Vec<u32>> = vec![Vec::new(); rig.skeleton().len()];
        let mut world = WorldPose::default();
        world.compose(rig.skeleton(), &rig.rest_pose());
        let skinning = Skinning::new(rig, &world);
        let mut lowest_at_rest = vec![f64::INFINITY; rig.characters().len()];
        for (row, data) in rig.rows().iter().enumerate() {
            for slot in row * LANES..row * LANES + data.filled as usize {
                let lowest = &mut lowest_at_rest[data.character as usize];
                *lowest = lowest.min(skinning.place(slot).y);
                if let Some(bone) = rig.main_bone(slot) {
                    slots[bone.index()].push(slot as u32);
                }
            }
        }
        let of_bone = slots.iter().map(|slots| farthest_out(slots, |slot| skinning.place(slot as usize))).collect();
        Self { of_bone, lowest_at_rest, skin: fingerprint(rig) }
    }
}

/// Of some points, those farthest out in some direction, ascending.
fn farthest_out(slots: &[u32], place: impl Fn(u32) -> DVec3) -> Vec<u32> {
    if slots.len() <= DIRECTIONS {
        return slots.to_vec();
    }
    let places: Vec<DVec3> = slots.iter().map(|&slot| place(slot)).collect();
    let golden = std::f64::consts::PI * (3.0 - 5.0f64.sqrt());
    let mut found: Vec<u32> = (0..DIRECTIONS)
        .filter_map(|n| {
            // Even over the sphere: a spiral by the golden angle.
            let y = 1.0 - 2.0 * (n as f64 + 0.5) / DIRECTIONS as f64;
            let (sin, cos) = (golden * n as f64).sin_cos();
            let way = DVec3::new(cos * (1.0 - y * y).sqrt(), y, sin * (1.0 - y * y).sqrt());
            let reach = places.iter().map(|place| place.dot(way));
            let farthest = reach.enumerate().reduce(|a, b| if b.1 > a.1 { b } else { a });
            farthest.map(|(index, _)| slots[index])
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

fn fingerprint(rig: &Rig) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    rig.skin_entries().hash(&mut hasher);
    rig.skin_weights().as_flattened().iter().for_each(|weight| weight.to_bits().hash(&mut hasher));
    for row in &rig.rest().rows {
        row.as_flattened().iter().for_each(|value| value.to_bits().hash(&mut hasher));
    }
    hasher.finish()
}

/// Linear blending of single points.
struct Skinning<'a> {
    rig: &'a Rig,
    world_from_rest: Vec<DAffine3>,
}

impl<'a> Skinning<'a> {
    fn new(rig: &'a Rig, world: &WorldPose) -> Self {
        let of = |entry: &crate::rig::PaletteEntry| world.world_from_bone(entry.bone) * entry.bone_from_rest;
        Self { rig, world_from_rest: rig.palette().iter().map(of).collect() }
    }

    fn place(&self, slot: usize) -> DVec3 {
        let rest = self.rig.rest().get(slot).as_dvec3();
        let moved = |palette: u32| self.world_from_rest[palette as usize].transform_point3(rest);
        self.rig.influences(slot).map(|i| moved(i.palette) * f64::from(i.weight)).sum()
    }
}

/// The lowest skin of a bone at a look.
#[derive(Clone, Copy, Debug)]
struct Lowest {
    velocity: DVec3,
    /// How far above what is low, as a share of that.
    above: f64,
}

/// A clip being looked at.
struct Looks<'a> {
    rig: &'a Rig,
    motion: &'a Motion,
    clock: Clock,
    soles: &'a Soles,
    pose: Pose,
    world: WorldPose,
}

impl Looks<'_> {
    fn times(&self) -> Vec<f64> {
        let Clock { start, end, loops, .. } = self.clock;
        let count = ((end - start) * RATE).ceil().clamp(1.0, MOST_LOOKS) as usize;
        let looks = if loops { 0..count } else { 0..count + 1 };
        looks.map(|n| start + (end - start) * n as f64 / count as f64).collect()
    }

    fn skinning(&mut self, time: f64) -> Skinning<'_> {
        self.rig.reset_pose(&mut self.pose);
        self.motion.pose(time, &mut self.pose);
        self.world.compose(self.rig.skeleton(), &self.pose);
        Skinning::new(self.rig, &self.world)
    }

    /// Per bone: the lowest its skin comes over all looks.
    fn lowest(&mut self) -> Vec<f64> {
        let soles = self.soles;
        let mut lowest = vec![f64::INFINITY; soles.of_bone.len()];
        for time in self.times() {
            let skinning = self.skinning(time);
            for (lowest, slots) in lowest.iter_mut().zip(&soles.of_bone) {
                *lowest = slots.iter().map(|&slot| skinning.place(slot as usize).y).fold(*lowest, f64::min);
            }
        }
        lowest
    }

    /// Per character: the height of the ground; `None` where it is in the air.
    fn ground(&self, lowest: &[f64]) -> Vec<Option<f64>> {
        let (rig, soles) = (self.rig, self.soles);
        let of_character = |(of, character): (usize, &Character)| {
            let mine = rig.skeleton().bones().zip(lowest).filter(|(bone, _)| rig.character_of_bone(*bone) == of);
            let y = mine.map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
            let floor = soles.lowest_at_rest[of].max(0.0) + AIRBORNE * character.size;
            (y.is_finite() && y <= floor).then_some(y)
        };
        rig.characters().iter().enumerate().map(of_character).collect()
    }

    fn contacts(&mut self, lowest: &[f64], ground: &[Option<f64>]) -> Vec<Contact> {
        let (rig, soles, times) = (self.rig, self.soles, self.times());
        // Of a leg only its end stands: a shin that is low as well is not the foot.
        let anatomy = rig.kept::<Anatomy>();
        let is_limb = |bone: BoneId| matches!(anatomy.bone(bone).role, Role::Leg | Role::Foot | Role::Arm | Role::Hand);
        let goes_on = |bone: BoneId| {
            let below = |other: &BoneId| rig.hierarchy().parent(*other) == Some(bone);
            let moves_skin = |other: &BoneId| !soles.of_bone[other.index()].is_empty();
            rig.skeleton().bones().filter(below).any(|other| moves_skin(&other) && is_limb(other))
        };
        let ends_limb = |bone: BoneId| is_limb(bone) && !goes_on(bone);
        let height_of = |bone: BoneId| {
            let of = rig.character_of_bone(bone);
            let (own, size) = (lowest[bone.index()], rig.characters()[of].size);
            let higher = |ground: f64| if ends_limb(bone) && own <= ground + UNEVEN * size { own } else { ground };
            ground[of].map(|ground| higher(ground) + LOW * size)
        };
        // Half a look to both sides; at the ends of what does not loop, to one.
        let step = times.get(1).map_or(0.0, |next| 0.5 * (next - times[0]));
        if step <= 0.0 {
            return Vec::new();
        }
        let (start, end) = (self.clock.start, self.clock.end);
        let bones: Vec<BoneId> =
            rig.skeleton().bones().filter(|bone| !soles.of_bone[bone.index()].is_empty()).collect();
        // The lowest skin of each bone, where that is low or nearly so.
        let mut looks: Vec<Vec<Option<Lowest>>> = vec![Vec::with_capacity(times.len()); bones.len()];
        for &time in &times {
            let now: Vec<Option<(u32, f64)>> = {
                let skinning = self.skinning(time);
                let lowest = |bone: &BoneId| {
                    let slots = soles.of_bone[bone.index()].iter().map(|&slot| (slot, skinning.place(slot as usize).y));
                    let (slot, y) = slots.reduce(|a, b| if b.1 < a.1 { b } else { a })?;
                    let size = rig.characters()[rig.character_of_bone(*bone)].size;
                    let above = (y - height_of(*bone)?) / (LOW * size);
                    (above <= NEARLY).then_some((slot, above))
                };
                bones.iter().map(lowest).collect()
            };
            if now.iter().all(Option::is_none) {
                looks.iter_mut().for_each(|of_bone| of_bone.push(None));
                continue;
            }
            let [before, after] = [(time - step).max(start), (time + step).min(end)];
            let places = [before, after].map(|time| {
                let skinning = self.skinning(time);
                now.iter().map(|low| low.map(|(slot, _)| skinning.place(slot as usize))).collect::<Vec<_>>()
            });
            for (index, of_bone) in looks.iter_mut().enumerate() {
                let way = places[0][index].zip(places[1][index]).zip(now[index]);
                let lowest = |((from, to), (_, above))| Lowest { velocity: (to - from) / (after - before), above };
                of_bone.push(way.map(lowest));
            }
        }
        let mut contacts = Vec::new();
        for of in 0..rig.characters().len() {
            let mine: Vec<usize> = (0..bones.len()).filter(|&b| rig.character_of_bone(bones[b]) == of).collect();
            let size = rig.characters()[of].size;
            let near = mine.iter().flat_map(|&bone| looks[bone].iter().flatten());
            let low = || near.clone().filter(|low| low.above <= 0.0).map(|low| &low.velocity);
            let flat = |v: &DVec3| DVec2::new(v.x, v.z);
            let (sum, whole) =
                low().map(flat).fold((DVec2::ZERO, 0.0), |(sum, whole), v| (sum + v, whole + v.length()));
            let way = sum.normalize_or_zero();
            // Feet that turn on the spot go every way, and what is left of that is none.
            let agreed = if whole > 0.0 { (sum.length() / whole - AGREED[0]) / (AGREED[1] - AGREED[0]) } else { 0.0 };
            let fastest = smooth_step(agreed) * quantile(low().map(|v| flat(v).dot(way)), FASTEST).max(0.0);
            let most = SLOW * size + SLOW_SHARE * fastest;
            // How far it is from standing; not above 0 where it stands.
            let lack = |low: &Option<Lowest>| {
                let Some(Lowest { velocity, above }) = low else { return f64::INFINITY };
                let along = flat(velocity).dot(way).clamp(0.0, fastest);
                let speed = flat(velocity).distance(way * along).max(velocity.y.abs());
                above.max(speed / most.max(f64::MIN_POSITIVE) - 1.0)
            };
            for &bone in &mine {
                let lacks: Vec<f64> = looks[bone].iter().map(lack).collect();
                let planted: Vec<bool> = lacks.iter().map(|&lack| lack <= 0.0).collect();
                let at = |look: usize| match times.get(look) {
                    Some(&time) => time,
                    None => times[look - times.len()] + (end - start),
                };
                let spans = spans(&planted, self.clock.loops, 2.0 * step);
                let (count, loops) = (lacks.len(), self.clock.loops);
                // Between the last look at which it stands and the next one, so that little changes little.
                let beyond = |inside: usize, outside: Option<usize>| {
                    let outside = outside.filter(|&look| loops || look < count);
                    let lacking = outside.map_or(f64::INFINITY, |look| lacks[look % count]);
                    let kept = -lacks[inside % count];
                    if lacking > 0.0 && lacking.is_finite() { 2.0 * step * kept / (kept + lacking) } else { 0.0 }
                };
                contacts.extend(spans.into_iter().map(|span| {
                    let before = if loops { Some(span.start + count - 1) } else { span.start.checked_sub(1) };
                    let (from, to) = (span.start, span.end - 1);
                    Contact {
                        bone: bones[bone],
                        from: at(from) - beyond(from, before),
                        to: at(to) + beyond(to, Some(to + 1)),
                    }
                }));
            }
        }
        contacts
    }
}

fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let place = ((values.len() - 1) as f64 * share).round() as usize;
    *values.select_nth_unstable_by(place, f64::total_cmp).1
}

/// Runs of looks that are long enough, short gaps bridged; in a loop those over the seam go beyond its end.
fn spans(planted: &[bool], loops: bool, step: f64) -> Vec<Range<usize>> {
    let count = planted.len();
    if count > 0 && planted.iter().all(|&stands| stands) {
        return std::iter::once(0..count + usize::from(loops)).collect();
    }
    // A loop is cut open where nothing stands.
    let first = if loops { planted.iter().position(|&stands| !stands).unwrap_or(0) } else { 0 };
    let mut found: Vec<Range<usize>> = Vec::new();
    for look in first..first + count {
        if !planted[look % count] {
            continue;
        }
        match found.last_mut() {
            Some(span) if (look - span.end) as f64 * step < SHORTEST_GAP => span.end = look + 1,
            _ => found.push(look..look + 1),
        }
    }
    found.retain(|span| (span.len() - 1) as f64 * step >= SHORTEST);
    found.iter_mut().filter(|span| span.start >= count).for_each(|span| *span = span.start - count..span.end - count);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planted(text: &str) -> Vec<bool> {
        text.bytes().map(|byte| byte == b'x').collect()
    }

    #[test]
    fn spans_bridge_gaps_drop_touches_and_go_around() {
        let found = |text: &str, loops| -> Vec<(usize, usize)> {
            spans(&planted(text), loops, 0.03).iter().map(|span| (span.start, span.end)).collect()
        };
        assert_eq!(found("..xxxx..xxxx....x...", false), [(2, 6), (8, 12)]);
        assert_eq!(found("..xxxx.xxxx.........", false), [(2, 11)], "one missing look lifts nothing");
        assert_eq!(found("xxxx............xxxx", false), [(0, 4), (16, 20)]);
        assert_eq!(found("xxxx............xxxx", true), [(16, 24)]);
        assert_eq!(found("xx................xx", true), [(18, 22)]);
        assert_eq!(found("xxxxxxxx", true), [(0, 9)]);
        assert_eq!(found("xxxxxxxx", false), [(0, 8)]);
        assert!(found("........", true).is_empty());
        assert!(spans(&[], true, 0.03).is_empty());
    }

    #[test]
    fn weights_are_one_in_a_contact_smooth_around_it_and_periodic() {
        let clock = Clock { start: 0.5, end: 1.5, loops: true, fade: 0.12 };
        let local = crate::LocalTransform::Trs(crate::Trs::IDENTITY);
        let node = crate::raw::RawBone { name: String::new(), parent: None, local };
        let bone = crate::Skeleton::build(&[node]).unwrap().bones().next().unwrap();
        let contact = Contact { bone, from: 1.3, to: 1.7 };
        assert_eq!(clock.weight(&contact, 1.4), 1.0);
        assert_eq!(clock.weight(&contact, 0.6), 1.0, "after the seam");
        assert_eq!(clock.weight(&contact, 1.0), 0.0);
        assert_eq!(clock.weight(&contact, 0.5).to_bits(), clock.weight(&contact, 1.5).to_bits());
        let mut last = clock.weight(&contact, 0.5);
        for n in 0..=2000 {
            let now = clock.weight(&contact, 0.5 + f64::from(n) / 2000.0);
            // The steepest a smooth step gets.
            assert!((now - last).abs() <= 1.5 / 0.12 / 2000.0 + 1e-9);
            last = now;
        }
        // What stands at the end of a clip that does not loop goes on standing.
        let once = Clock { loops: false, ..clock };
        let to_the_end = Contact { to: 1.5, ..contact };
        assert_eq!(once.weight(&to_the_end, 1.5), 1.0);
    }
}
