//! Feet on the ground: where they stand, whether effects make them slip, and whether skin goes below the ground.
//!
//! *Ground* is the lowest point the base reaches over the clip, y being up. A bone is *planted* while its lowest skin is
//! within a fiftieth of the size of the ground and no faster than what stands there. In a walk on the spot that is not zero:
//! feet that stand go back together, so the ground's own velocity is the median of all skin that is low.
//!
//! *Slip* of a planted bone: with s(t) the mean place, on the ground, of the skin it stands on, how far s goes over the
//! span from the straight and even path that fits the base best; in the base, and with effects. A sole that spreads does
//! not slip. *Below ground*: how far the lowest skin with effects is below the ground, or below y = 0 where the base stays
//! above that: a character that stands on the floor of its scene may use what is left of it.
//!
//! Oracle: a foot that slides by a known amount (`truth.rs`).

use crate::shape::{NONE, Shape};
use glam::{DVec2, DVec3};

/// Share of the size above the ground within which skin is low.
const LOW: f64 = 0.02;
/// Share of the size per second that skin on the ground may go against it and still stand.
const SLOW: f64 = 0.15;
/// The same as a share of the ground's own speed: a walk on the spot is no treadmill.
const SLOW_SHARE: f64 = 0.25;
/// Seconds: a shorter touch plants nothing.
const SHORTEST: f64 = 0.08;

/// A bone that stands on the ground for a while.
#[derive(Clone, Debug, PartialEq)]
pub struct Contact {
    /// The bone, as the skeleton numbers it.
    pub bone: usize,
    /// From when, in seconds on the clip's clock.
    pub from: f64,
    /// Until when.
    pub to: f64,
}

impl Contact {
    /// Whether it stands at a moment.
    pub fn holds(&self, time: f64) -> bool {
        (self.from..=self.to).contains(&time)
    }
}

/// The lowest skin of a bone at a frame: where, and how fast per second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lowest {
    pub place: DVec3,
    pub velocity: DVec3,
}

/// The lowest skin of every bone of a frame, in the base; `None` for bones without skin.
pub(crate) fn lowest(
    shape: &Shape,
    bones: usize,
    now: &[DVec3],
    velocity: impl Fn(usize) -> DVec3,
) -> Vec<Option<Lowest>> {
    let mut found: Vec<Option<usize>> = vec![None; bones];
    for (point, &bone) in shape.bone.iter().enumerate().filter(|(_, bone)| **bone != NONE) {
        let lowest = &mut found[bone as usize];
        if lowest.is_none_or(|lowest| now[point].y < now[lowest].y) {
            *lowest = Some(point);
        }
    }
    let tell = |point: usize| Lowest { place: now[point], velocity: velocity(point) };
    found.into_iter().map(|lowest| lowest.map(tell)).collect()
}

/// Spans in which bones are planted. `lowest` has all bones of each frame; `character` that of each bone.
pub(crate) fn detect(
    shape: &Shape,
    character: &[usize],
    times: &[f64],
    lowest: &[Vec<Option<Lowest>>],
    ground: &[f64],
) -> Vec<Contact> {
    let mut contacts = Vec::new();
    for (of, (&size, &ground)) in shape.sizes.iter().zip(ground).enumerate() {
        let is_low = |l: &Lowest| l.place.y <= ground + LOW * size;
        let flat = |l: &Lowest| DVec2::new(l.velocity.x, l.velocity.z);
        let mut speeds: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for frame in lowest {
            for (bone, lowest) in frame.iter().enumerate() {
                if let Some(l) = lowest.as_ref().filter(|l| character[bone] == of && is_low(l)) {
                    speeds[0].push(flat(l).x);
                    speeds[1].push(flat(l).y);
                }
            }
        }
        let [x, z] = &mut speeds;
        let moving = DVec2::new(crate::groups::quantile(x, 0.5), crate::groups::quantile(z, 0.5));
        let most = size * SLOW + SLOW_SHARE * moving.length();
        let stands = |l: &Lowest| is_low(l) && flat(l).distance(moving) <= most && l.velocity.y.abs() <= most;
        for bone in (0..character.len()).filter(|&bone| character[bone] == of) {
            let planted: Vec<bool> = lowest.iter().map(|frame| frame[bone].as_ref().is_some_and(stands)).collect();
            let mut from = None;
            for frame in 0..=planted.len() {
                match (planted.get(frame).copied().unwrap_or(false), from) {
                    (true, None) => from = Some(frame),
                    (false, Some(first)) => {
                        let (start, end): (f64, f64) = (times[first], times[frame - 1]);
                        if end - start >= SHORTEST {
                            contacts.push(Contact { bone, from: start, to: end });
                        }
                        from = None;
                    }
                    _ => {}
                }
            }
        }
    }
    contacts
}

/// The skin a bone stands on at a frame: its points within a hundredth of the size of its lowest.
pub(crate) fn sole(shape: &Shape, bone: usize, base: &[DVec3]) -> Vec<u32> {
    let own = || (0..base.len()).filter(|&p| shape.bone[p] as usize == bone);
    let lowest = own().map(|p| base[p].y).fold(f64::INFINITY, f64::min);
    own().filter(|&p| base[p].y <= lowest + 0.5 * LOW * shape.size(p)).map(crate::shape::u32_of).collect()
}

/// Where a sole is at a frame, in the base and with effects.
pub(crate) fn means(sole: &[u32], frame: [&[DVec3]; 2]) -> [DVec3; 2] {
    frame.map(|points| sole.iter().map(|&p| points[p as usize]).sum::<DVec3>() / sole.len().max(1) as f64)
}

/// How far a sole goes from the path that fits the base best, in the base and with effects, in scene units, and the frame
/// at which it is farthest with effects. `places` are the sole's means at `times`.
pub(crate) fn slip(times: &[f64], places: &[[DVec3; 2]]) -> ([f64; 2], usize) {
    let flat = |p: DVec3| DVec2::new(p.x, p.z);
    let count = times.len().max(1) as f64;
    let middle = times.iter().sum::<f64>() / count;
    let mean = |which: usize| places.iter().map(|p| flat(p[which])).sum::<DVec2>() / count;
    let base_mean = mean(0);
    let spread: f64 = times.iter().map(|t| (t - middle).powi(2)).sum();
    let slope = if spread > 0.0 {
        times.iter().zip(places).map(|(t, p)| (flat(p[0]) - base_mean) * (t - middle)).sum::<DVec2>() / spread
    } else {
        DVec2::ZERO
    };
    let (mut extent, mut worst) = ([0.0f64; 2], 0);
    for which in 0..2 {
        let left: Vec<DVec2> = times.iter().zip(places).map(|(t, p)| flat(p[which]) - slope * (t - middle)).collect();
        // The largest distance between two moments.
        for (n, a) in left.iter().enumerate() {
            for b in &left[..n] {
                let apart = a.distance(*b);
                if apart > extent[which] {
                    extent[which] = apart;
                    worst = n;
                }
            }
        }
    }
    (extent, worst)
}
