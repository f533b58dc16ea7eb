//! Soft parts of the skin itself: the belly and breast of a trunk, and what a material is named after.
//!
//! The trunk's skin is soft where it is far from the spine on the side that hangs: in front on who stands upright, below
//! on who walks on four legs. Far is by the trunk's own measure, so that a slim body has none, and a small patch is none either.

use super::BoneFinding;
use super::body::Body;
use super::names::read;
use super::role::Role;
use crate::rig::Rig;
use glam::DVec3;

/// How much farther from the spine than the middle of the trunk's skin.
const FAR: f64 = 1.3;
/// How much of the way from the spine to the point must lead to the hanging side.
const TOWARDS: f64 = 0.5;
/// Part of the trunk's skin that a soft part has at least.
const LEAST: f64 = 0.03;
/// The radius of its area in sizes, at least: it is held all around, and what is smaller tears before it is seen to swing.
const RADIUS: f64 = 0.1;

/// Roles of points that their bones do not tell.
pub(super) fn places(rig: &Rig, bodies: &[Body], bones: &[BoneFinding], points: &[Role]) -> Vec<Option<Role>> {
    let mut found = vec![None; rig.slots()];
    for body in bodies {
        trunk(body, bones, points, &mut found);
    }
    materials(rig, &mut found);
    found
}

fn trunk(body: &Body, bones: &[BoneFinding], points: &[Role], found: &mut [Option<Role>]) {
    let spine: Vec<usize> = body
        .skinned
        .iter()
        .copied()
        .filter(|&bone| bones[bone].role == Role::Spine && bones[bone].confidence >= 0.5)
        .collect();
    let inner = |bone: usize| matches!(bones[bone].role, Role::Spine | Role::Neck);
    let lines: Vec<(DVec3, DVec3)> = spine
        .iter()
        .flat_map(|&bone| {
            let next = body.children[bone].iter().copied().filter(|&child| inner(child));
            next.map(move |child| (body.joints[bone], body.joints[child]))
        })
        .collect();
    let length: f64 = lines.iter().map(|(a, b)| a.distance(*b)).sum();
    let legs = body.skinned.iter().filter(|&&bone| bones[bone].role == Role::Leg).count();
    if lines.is_empty() || legs < 2 || length < 0.1 * body.height {
        return;
    }
    let run: DVec3 = lines.iter().map(|(a, b)| *b - *a).sum();
    let upright = run.dot(body.axes.up).abs() > 0.7 * run.length();
    let soft_side = if upright { body.axes.forward } else { -body.axes.up };
    let mut reached: Vec<(usize, f64, bool)> = Vec::new();
    for &slot in body.skin.iter().filter(|&&slot| points[slot] == Role::Spine) {
        let p = body.points[slot];
        let away = lines
            .iter()
            .map(|&(a, b)| {
                let t = ((p - a).dot(b - a) / (b - a).length_squared()).clamp(0.0, 1.0);
                let within = (p - a).dot(b - a) >= 0.0 && (p - b).dot(a - b) >= 0.0;
                (p - (a + (b - a) * if t.is_finite() { t } else { 0.0 }), within)
            })
            .reduce(|a, b| if b.0.length_squared() < a.0.length_squared() { b } else { a });
        if let Some((away, within)) = away {
            let towards = within && away.dot(soft_side) > TOWARDS * away.length();
            reached.push((slot, away.length(), towards));
        }
    }
    let mut by_distance = reached.clone();
    by_distance.sort_by(|a, b| a.1.total_cmp(&b.1));
    let whole: f64 = reached.iter().map(|&(slot, ..)| body.areas[slot]).sum();
    let mut sum = 0.0;
    let middle = by_distance.iter().find(|(slot, ..)| {
        sum += body.areas[*slot];
        2.0 * sum >= whole
    });
    let Some(&(_, middle, _)) = middle else { return };
    let soft: Vec<usize> =
        reached.iter().filter(|&&(_, far, towards)| towards && far > FAR * middle).map(|&(slot, ..)| slot).collect();
    let area = soft.iter().map(|&slot| body.areas[slot]).sum::<f64>();
    if area >= LEAST * whole && area >= std::f64::consts::PI * (RADIUS * body.size).powi(2) {
        soft.into_iter().for_each(|slot| found[slot] = Some(Role::Flesh));
    }
}

/// Eyes, teeth and hair that are sewn to the skin, told by their material.
fn materials(rig: &Rig, found: &mut [Option<Role>]) {
    let told = |name: &str| {
        let clue = read(name);
        clue.role.filter(|role| {
            matches!(role, Role::Eye | Role::Teeth | Role::Tongue | Role::Hair | Role::Horn | Role::Ear | Role::Cloth)
        })
    };
    let mut faces = vec![0u32; found.len()];
    let mut of_role: Vec<Option<(Role, u32)>> = vec![None; found.len()];
    for part in rig.parts() {
        let all: Vec<Option<Role>> = part.primitives.iter().map(|primitive| told(&primitive.material)).collect();
        // One material for everything tells nothing of its parts.
        let whole = all.len() < 2;
        for (primitive, role) in part.primitives.iter().zip(all) {
            for face in &rig.point_triangles()[primitive.triangles.clone()] {
                for &slot in face {
                    faces[slot as usize] += 1;
                    if let Some(role) = role.filter(|_| !whole) {
                        let (kept, count) = of_role[slot as usize].get_or_insert((role, 0));
                        *count += u32::from(*kept == role);
                    }
                }
            }
        }
    }
    for (slot, told) in of_role.into_iter().enumerate() {
        if let Some((role, _)) = told.filter(|&(_, count)| 2 * count > faces[slot]) {
            found[slot] = Some(role);
        }
    }
}
