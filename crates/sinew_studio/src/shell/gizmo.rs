//! The centre of squash of the selected bone, moved in the picture: by its dot across the picture, by the ends of its axes
//! along the bone's own axes. What is moved is the `centroid` of the bone in the effect that the bone panel shows.

use crate::shell::desk::Desk;
use crate::shell::panels::bones::own_gain;
use crate::words::bones::CENTRE;
use eframe::egui::{self, Color32, Pos2, Rect, Vec2};
use glam::{DAffine3, DVec3};
use sinew::BoneId;
use sinew::recipe::{BoneGain, Centroid, Place};
use sinew_render::{Projector, Size};

/// What is dragged.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Along one axis, or across the picture.
    axis: Option<usize>,
    /// From the pointer to the place that it moves, in pixels.
    off: Vec2,
    gesture: u64,
}

/// Length of an axis, in sizes of the character; and how near a handle the pointer is on it, in pixels.
const LENGTH: f64 = 0.08;
const NEAR: f32 = 10.0;
const COLORS: [Color32; 3] =
    [Color32::from_rgb(200, 60, 60), Color32::from_rgb(60, 140, 60), Color32::from_rgb(60, 90, 200)];
const DOT: Color32 = Color32::from_rgb(240, 180, 20);

/// The bone whose centre is shown, and its centre in its own frame.
pub fn centre(desk: &Desk) -> Option<(BoneId, DVec3)> {
    let bone = desk.bone.filter(|_| desk.showing.centre)?;
    let rig = desk.document.rig();
    let effect = desk.document.recipe().recipe().effects.get(desk.effect)?;
    let of_skin = rig.centroid(bone).unwrap_or_default();
    let own = own_gain(&effect.bones, rig.skeleton().name(bone)).centroid;
    let place = match own {
        Some(Centroid::At(place)) => place,
        Some(Centroid::Offset(offset)) => of_skin + offset,
        None => of_skin,
    };
    Some((bone, place))
}

/// Where the dot and the ends of the axes lie in the picture.
pub fn handles(desk: &Desk, rect: Rect) -> Option<[Pos2; 4]> {
    let (bone, place) = centre(desk)?;
    let world_from_bone = desk.player.last().world.world_from_bone(bone);
    let projector = projector(desk, rect)?;
    let on_screen = |point: DVec3| {
        let [x, y] = projector.project(point).pixel()?;
        Some(Pos2::new(rect.left() + x as f32, rect.top() + y as f32))
    };
    let at = world_from_bone.transform_point3(place);
    let [x, y, z] = axes(&world_from_bone).map(|axis| on_screen(at + axis * LENGTH * desk.character().size()));
    Some([on_screen(at)?, x?, y?, z?])
}

fn projector(desk: &Desk, rect: Rect) -> Option<Projector> {
    Some(desk.orbit.camera().projector(Size::new(rect.width() as u32, rect.height() as u32)?))
}

/// The bone's axes in the world, of length 1.
fn axes(world_from_bone: &DAffine3) -> [DVec3; 3] {
    [DVec3::X, DVec3::Y, DVec3::Z].map(|axis| world_from_bone.transform_vector3(axis).normalize_or_zero())
}

/// What the pointer does with the handles; true where it has one.
pub fn act(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect) -> bool {
    if !response.is_pointer_button_down_on() {
        return desk.held_centre.take().is_some();
    }
    let Some(at) = response.interact_pointer_pos() else { return false };
    if desk.held_centre.is_none() {
        let pressed = ui.input(|input| input.pointer.press_origin());
        let (Some(handles), Some(pressed)) = (handles(desk, rect), pressed) else { return false };
        // The dot first: of a bone seen along an axis both lie at one place.
        let Some(near) = handles.iter().position(|handle| handle.distance(pressed) <= NEAR) else { return false };
        let gesture = desk.document.gesture();
        desk.held_centre = Some(Held { axis: near.checked_sub(1), off: handles[near] - pressed, gesture });
        desk.is_playing = false;
    }
    let Some(held) = desk.held_centre else { return false };
    if let Some(place) = moved(desk, rect, held, at + held.off) {
        put(desk, place, held.gesture);
    }
    true
}

/// Where the centre comes to, in the bone's frame, with a handle drawn to a place of the picture.
fn moved(desk: &Desk, rect: Rect, held: Held, at: Pos2) -> Option<DVec3> {
    let (bone, place) = centre(desk)?;
    let world_from_bone = desk.player.last().world.world_from_bone(bone);
    let now = world_from_bone.transform_point3(place);
    let (camera, projector) = (desk.orbit.camera(), projector(desk, rect)?);
    let (origin, direction) = projector.ray(f64::from(at.x - rect.left()), f64::from(at.y - rect.top()));
    let to = match held.axis {
        None => origin + direction * (camera.eye() - now).dot(camera.back()),
        Some(axis) => {
            let axis = axes(&world_from_bone)[axis];
            // Where the axis comes nearest to the line of sight.
            let across = axis.cross(direction);
            let share = (origin - now).cross(direction).dot(across) / across.length_squared();
            now + axis * (share - LENGTH * desk.character().size())
        }
    };
    let local = world_from_bone.inverse().transform_point3(to);
    local.is_finite().then_some(local)
}

fn put(desk: &mut Desk, place: DVec3, gesture: u64) {
    let (Some(bone), effect) = (desk.bone, desk.effect) else { return };
    let Some(spec) = desk.document.recipe().recipe().effects.get(effect) else { return };
    let rig = desk.document.rig().clone();
    let name = rig.skeleton().name(bone);
    // Digits that nobody sees are left out of the recipe's text.
    let step = 10f64.powf((desk.character().size() * 1e-5).log10().floor());
    let rounded = (place / step).round() * step;
    let rounded = if rounded.is_finite() { rounded } else { place };
    let gain = BoneGain { centroid: Some(Centroid::At(rounded)), ..own_gain(&spec.bones, name) };
    desk.change(|document| document.set(&format!("{CENTRE} {name}"), Some(gesture), Place::Bone(effect, name), gain));
}

/// Draws the handles.
pub fn overlay(painter: &egui::Painter, desk: &Desk, rect: Rect) {
    let Some([dot, ends @ ..]) = handles(desk, rect) else { return };
    for (end, color) in ends.into_iter().zip(COLORS) {
        painter.line_segment([dot, end], egui::Stroke::new(2.0, color));
        painter.circle_filled(end, 5.0, color);
    }
    painter.circle(dot, 6.0, DOT, egui::Stroke::new(1.5, Color32::BLACK));
}
