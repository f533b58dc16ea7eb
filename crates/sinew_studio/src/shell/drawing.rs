//! Drawing over the picture: what the pointer does becomes strokes, and strokes become edits and poses of the document.
//!
//! A stroke is kept as pixels with its camera, as files of `sinew edit` and `sinew pose` have it, so those make the same of it.

use crate::document::Document;
use crate::player::Player;
use crate::shell::desk::{Compare, Desk};
use crate::shell::orbit::FIELD_OF_VIEW;
use crate::words::draw::*;
use eframe::egui::{self, Color32, Pos2, Rect, Vec2};
use glam::DVec3;
use sinew_draw::edits::{self, DriveName, Edit, KindName, SolveName};
use sinew_draw::pose_strokes::{FitName, PoseStroke};
use sinew_draw::{CameraSpec, Ease, Easing, ScreenSample, ScreenStroke};

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Bones, by a line along them and where it should go.
    Pose,
    /// Skin, by a line on it and where it should go.
    Pull,
    /// The outline.
    Silhouette,
    /// A ridge.
    Bulge,
    /// A furrow.
    Groove,
    /// A wave that runs along a line.
    Wave,
}

impl Tool {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Pose, Self::Pull, Self::Silhouette, Self::Bulge, Self::Groove, Self::Wave];

    /// What it is called, and what one does with it.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Pose => (POSE, POSE_TIP),
            Self::Pull => (PULL, PULL_TIP),
            Self::Silhouette => (OUTLINE, OUTLINE_TIP),
            Self::Bulge => (BULGE, BULGE_TIP),
            Self::Groove => (GROOVE, GROOVE_TIP),
            Self::Wave => (WAVE, WAVE_TIP),
        }
    }

    fn kind(self) -> Option<KindName> {
        match self {
            Self::Pose => None,
            Self::Pull => Some(KindName::Pull),
            Self::Silhouette => Some(KindName::Silhouette),
            Self::Bulge => Some(KindName::Bulge),
            Self::Groove => Some(KindName::Groove),
            Self::Wave => Some(KindName::Wave),
        }
    }

    fn takes_two(self) -> bool {
        matches!(self, Self::Pose | Self::Pull)
    }
}

/// How far from a stroke skin gives way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReachBy {
    /// By rings of points.
    Rings,
    /// By distance through space.
    Distance,
    /// By the way along the skin.
    Geodesic,
}

/// How strokes are made into something.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How skin's reach is told.
    pub by: ReachBy,
    /// Rings of points.
    pub rings: usize,
    /// In sizes.
    pub reach: f64,
    /// How skin gives way.
    pub solve: SolveName,
    /// Of bulges, grooves and waves, in sizes.
    pub height: f64,
    /// Of these, in sizes.
    pub width: f64,
    /// Whether an edit comes and goes about the time it is drawn at.
    pub is_keyed: bool,
    /// Seconds that it comes in.
    pub ease_in: f64,
    /// Seconds that it goes in.
    pub ease_out: f64,
    /// Whether springs draw the skin there.
    pub by_springs: bool,
    /// Whether bones may grow.
    pub stretch: bool,
    /// Whether joints lie on the line.
    pub on_line: bool,
    /// Whether a stroke becomes part of the selected pose.
    pub joins: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            by: ReachBy::Rings,
            rings: 4,
            reach: 0.08,
            solve: SolveName::Arap,
            height: 0.02,
            width: 0.05,
            is_keyed: false,
            ease_in: 0.25,
            ease_out: 0.25,
            by_springs: false,
            stretch: false,
            on_line: false,
            joins: true,
        }
    }
}

/// Something that was drawn, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// A surface edit.
    Edit(usize),
    /// A pose.
    Pose(usize),
}

/// Points of a stroke as files have them: column, row, seconds, pressure.
type Points = Vec<Vec<f64>>;

/// The state of the tool.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// What is drawn, where something is.
    pub tool: Option<Tool>,
    /// How it is made.
    pub options: Options,
    /// What is selected, to be changed.
    pub selected: Option<Item>,
    /// The first of two strokes, and its camera.
    first: Option<(Points, CameraSpec)>,
    current: Points,
    /// The skin that will give way, and how much of it.
    region: Vec<(DVec3, f64)>,
    /// Line and number of the knot that is dragged, and the gesture.
    dragged: Option<(usize, usize, u64)>,
    /// Seconds that the last change took.
    pub took: f64,
}

/// A line that is shorter is a click, pixels.
const LEAST: f64 = 4.0;
/// How far from the line that leaves it out a sample may lie, pixels.
const TOLERANCE: f64 = 1.5;
/// How near a knot the pointer is on it.
const NEAR: f32 = 9.0;

impl Drawing {
    /// Whether a first stroke waits for its second.
    pub fn waits(&self) -> bool {
        self.first.is_some()
    }

    /// Forgets what has been drawn halfway.
    pub fn cancel(&mut self) {
        self.first = None;
        self.current.clear();
        self.region.clear();
        self.dragged = None;
    }
}

/// The camera of a picture, as files have it.
fn camera_of(desk: &Desk, rect: Rect) -> CameraSpec {
    CameraSpec {
        eye: desk.orbit.camera().eye().to_array(),
        target: desk.orbit.target.to_array(),
        up: [0.0, 1.0, 0.0],
        fov: Some(FIELD_OF_VIEW.to_degrees()),
        height: None,
        size: [rect.width().max(1.0) as u32, rect.height().max(1.0) as u32],
    }
}

fn pixel_of(at: Pos2, rect: Rect, camera: &CameraSpec) -> [f64; 2] {
    let [width, height] = camera.size.map(f64::from);
    let (x, y) = (f64::from(at.x - rect.left()), f64::from(at.y - rect.top()));
    [x * width / f64::from(rect.width()), y * height / f64::from(rect.height())]
}

/// Where a pixel of a camera lies in a picture of another size, seen from the same place.
fn place_of(point: &[f64], rect: Rect, camera: &CameraSpec) -> Pos2 {
    let [width, height] = camera.size.map(|side| side as f32);
    let scale = rect.height() / height;
    let (x, y) = (point.first().copied().unwrap_or(0.0) as f32, point.get(1).copied().unwrap_or(0.0) as f32);
    rect.center() + scale * Vec2::new(x - 0.5 * width, y - 0.5 * height)
}

fn is_same_view(a: &CameraSpec, b: &CameraSpec) -> bool {
    let [eye_a, eye_b, target_a, target_b] = [a.eye, b.eye, a.target, b.target].map(DVec3::from);
    let near = 1e-6 * eye_a.distance(target_a);
    eye_a.distance(eye_b) <= near && target_a.distance(target_b) <= near
}

/// What the pointer does while a tool is chosen; true where it has done something with it.
pub fn act(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect) -> bool {
    if move_knot(ui, desk, response, rect) {
        return true;
    }
    let Some(tool) = desk.drawing.tool else { return false };
    if ui.input(|input| input.key_pressed(egui::Key::Escape)) {
        desk.drawing.cancel();
    }
    let camera = camera_of(desk, rect);
    if desk.drawing.first.as_ref().is_some_and(|(_, first)| !is_same_view(first, &camera)) {
        desk.drawing.cancel();
        desk.tell(TURNED);
    }
    if response.is_pointer_button_down_on() {
        (desk.is_playing, desk.showing.compare) = (false, Compare::Result);
        follow(ui, desk, response, rect, &camera);
    } else if !desk.drawing.current.is_empty() {
        // What came between the last picture and the release belongs to it.
        follow(ui, desk, response, rect, &camera);
        let points = simplified(std::mem::take(&mut desk.drawing.current), &camera);
        if let Some(points) = points {
            finish(desk, tool, points, camera);
        }
    }
    true
}

/// All places since the last picture, not the last alone.
fn follow(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect, camera: &CameraSpec) {
    let (now, mut places): (f64, Vec<(Pos2, f64)>) = ui.input(|input| {
        let is_release = |event: &&egui::Event| matches!(event, egui::Event::PointerButton { pressed: false, .. });
        let released = input.events.iter().position(|event| is_release(&event)).unwrap_or(input.events.len());
        let places = input.events[..input.events.len().min(released + 1)].iter().filter_map(|event| match event {
            egui::Event::PointerMoved(at) | egui::Event::PointerButton { pos: at, pressed: false, .. } => {
                Some((*at, 1.0))
            }
            egui::Event::Touch { pos, force, .. } => Some((*pos, force.map_or(1.0, f64::from))),
            _ => None,
        });
        (input.time, places.collect())
    });
    if desk.drawing.current.is_empty() {
        let origin = ui.input(|input| input.pointer.press_origin());
        places.splice(0..0, origin.map(|at| (at, 1.0)));
    }
    if places.is_empty() {
        places.extend(response.interact_pointer_pos().map(|at| (at, 1.0)));
    }
    for (at, pressure) in places {
        let [x, y] = pixel_of(at, rect, camera);
        if desk.drawing.current.last().is_none_or(|last| last[0] != x || last[1] != y) {
            desk.drawing.current.push(vec![x, y, now, pressure]);
        }
    }
    ui.ctx().request_repaint();
}

/// The samples that matter; `None` where it was a click.
fn simplified(points: Points, camera: &CameraSpec) -> Option<Points> {
    let first = points.first()?.clone();
    let farthest = points.iter().map(|p| (p[0] - first[0]).hypot(p[1] - first[1])).fold(0.0, f64::max);
    if farthest < LEAST {
        return None;
    }
    let sample = |p: &Vec<f64>| ScreenSample { pixel: [p[0], p[1]], time_secs: p[2], pressure: p[3] };
    let stroke = ScreenStroke::new(camera.projector().ok()?, points.iter().map(sample).collect()).ok()?;
    let kept = stroke.simplified(TOLERANCE);
    Some(kept.samples().iter().map(|s| vec![s.pixel[0], s.pixel[1], s.time_secs - first[2], s.pressure]).collect())
}

fn finish(desk: &mut Desk, tool: Tool, points: Points, camera: CameraSpec) {
    if tool.takes_two() && desk.drawing.first.is_none() {
        if tool == Tool::Pull {
            let edit = Edit { from: points.clone(), camera: Some(camera), ..wanted(desk, tool, String::new()) };
            match edits::region(desk.document.rig(), desk.player.last().result, &edit) {
                Ok(region) => desk.drawing.region = region,
                Err(fault) => return desk.complain(fault),
            }
        }
        desk.drawing.first = Some((points, camera));
        return;
    }
    let first = desk.drawing.first.take().map(|(points, _)| points).unwrap_or_default();
    desk.drawing.region.clear();
    let clip = desk.document.clip(desk.player.clip()).map(|clip| clip.name.clone());
    let options = desk.drawing.options;
    if tool == Tool::Pose {
        let Some(clip) = clip else { return desk.complain(NO_CLIP) };
        let fit = if options.on_line { FitName::Curve } else { FitName::Offset };
        let stroke = PoseStroke {
            camera: Some(camera),
            baseline: first,
            offset: points,
            stretch: options.stretch,
            fit,
            ..PoseStroke::default()
        };
        if let Some(number) = joined(desk) {
            let mut poses = desk.document.drawn().poses[number..].to_vec();
            poses[0].strokes.push(stroke);
            let poses = poses.into_iter().map(|pose| (pose.clip, pose.strokes, pose.ease));
            change(desk, Item::Pose(number), |document, _| document.draw_poses(POSE, None, number, poses));
            return;
        }
        let number = desk.document.drawn().poses.len();
        let ease = ease(&options, desk.time);
        change(desk, Item::Pose(number), |document, _| {
            document.draw_poses(POSE, None, number, [(clip, vec![stroke], ease)])
        });
        return;
    }
    let name = desk.document.drawn().free_name(&tool.words().0.to_lowercase());
    let mut edit = Edit { camera: Some(camera), ..wanted(desk, tool, name) };
    match tool {
        Tool::Pull => (edit.from, edit.to) = (first, points),
        Tool::Silhouette => edit.to = points,
        _ => edit.from = points,
    }
    let number = desk.document.drawn().edits.len();
    change(desk, Item::Edit(number), |document, player| {
        document.draw_edits(tool.words().0, None, number, vec![edit], player)
    });
}

/// The pose that the next stroke becomes part of: the selected one, at its own moment.
pub fn joined(desk: &Desk) -> Option<usize> {
    let Some(Item::Pose(number)) = desk.drawing.selected.filter(|_| desk.drawing.options.joins) else { return None };
    let pose = desk.document.drawn().poses.get(number)?;
    let is_here = desk.document.clip_number(&pose.clip) == Some(desk.player.clip()) && pose.ease.time == desk.time;
    is_here.then_some(number)
}

fn ease(options: &Options, time: f64) -> Ease {
    Ease { time, ease_in: options.ease_in, ease_out: options.ease_out, easing: Easing::SineInOut }
}

/// An edit at this moment as the options want it, without strokes.
fn wanted(desk: &Desk, tool: Tool, name: String) -> Edit {
    let options = &desk.drawing.options;
    let clip = desk.document.clip(desk.player.clip()).map(|clip| clip.name.clone());
    let mut edit = Edit {
        name,
        time: clip.is_some().then_some(desk.time),
        clip,
        kind: tool.kind().unwrap_or_default(),
        key: options.is_keyed.then(|| ease(options, desk.time)),
        drive: if options.by_springs { DriveName::Springs } else { DriveName::Direct },
        ..Edit::default()
    };
    let length = options.reach * desk.character().size();
    match tool {
        Tool::Pull => {
            edit.solve = options.solve;
            match options.by {
                ReachBy::Rings => edit.rings = Some(options.rings),
                ReachBy::Distance => edit.distance = Some(length),
                ReachBy::Geodesic => edit.geodesic = Some(length),
            }
        }
        Tool::Bulge | Tool::Groove | Tool::Wave => {
            (edit.height, edit.width) = (Some(options.height), Some(options.width));
        }
        Tool::Pose | Tool::Silhouette => {}
    }
    edit
}

/// Does something to what was drawn; what is refused is told, and nothing has changed.
fn change(desk: &mut Desk, item: Item, what: impl FnOnce(&mut Document, &Player) -> Result<(), String>) {
    match what(&mut desk.document, &desk.player) {
        Ok(()) => desk.drawing.selected = Some(item),
        Err(fault) => desk.complain(fault),
    }
}

fn both<'a>(lines: [&'a Points; 2], camera: &'a CameraSpec) -> [(&'a Points, &'a CameraSpec); 2] {
    lines.map(|points| (points, camera))
}

/// The lines of an item, two of each stroke, and what they are seen through.
fn lines_of(desk: &Desk, item: Item) -> Vec<(&Points, &CameraSpec)> {
    let drawn = desk.document.drawn();
    match item {
        Item::Edit(number) => {
            let edit = drawn.edits.get(number).and_then(|edit| Some((edit, edit.camera.as_ref()?)));
            edit.into_iter().flat_map(|(edit, camera)| both([&edit.from, &edit.to], camera)).collect()
        }
        Item::Pose(number) => {
            let strokes = drawn.poses.get(number).into_iter().flat_map(|pose| &pose.strokes);
            let seen = strokes.filter_map(|stroke| Some((stroke, stroke.camera.as_ref()?)));
            seen.flat_map(|(stroke, camera)| both([&stroke.baseline, &stroke.offset], camera)).collect()
        }
    }
}

/// Makes an item again with another place for one of its knots, and all that was drawn after it.
fn set_knot(desk: &mut Desk, item: Item, (line, knot): (usize, usize), [x, y]: [f64; 2], gesture: u64) {
    let put = |lines: [&mut Points; 2]| {
        if let Some(point) = lines.into_iter().nth(line % 2).and_then(|points| points.get_mut(knot)) {
            (point[0], point[1]) = (x, y);
        }
    };
    let drawn = std::sync::Arc::clone(desk.document.drawn());
    match item {
        Item::Edit(number) => {
            let mut edits = drawn.edits[number..].to_vec();
            if let Some(Edit { from, to, .. }) = edits.first_mut() {
                put([from, to]);
            }
            change(desk, item, |document, player| document.draw_edits(REDRAW, Some(gesture), number, edits, player));
        }
        Item::Pose(number) => {
            let mut poses = drawn.poses[number..].to_vec();
            let mut seen = poses[0].strokes.iter_mut().filter(|stroke| stroke.camera.is_some());
            if let Some(stroke) = seen.nth(line / 2) {
                put([&mut stroke.baseline, &mut stroke.offset]);
            }
            let poses = poses.into_iter().map(|pose| (pose.clip, pose.strokes, pose.ease));
            change(desk, item, |document, _| document.draw_poses(REDRAW, Some(gesture), number, poses));
        }
    }
}

/// Removes an item; what was drawn after it is made again without it.
pub fn remove(desk: &mut Desk, item: Item) {
    let drawn = std::sync::Arc::clone(desk.document.drawn());
    match item {
        Item::Edit(number) => {
            let later = drawn.edits[number + 1..].to_vec();
            change(desk, item, |document, player| document.draw_edits(REMOVE, None, number, later, player));
        }
        Item::Pose(number) => {
            let later = drawn.poses[number + 1..].iter().cloned().map(|pose| (pose.clip, pose.strokes, pose.ease));
            change(desk, item, |document, _| document.draw_poses(REMOVE, None, number, later));
        }
    }
    desk.drawing.selected = None;
}

/// Removes the last of a pose's strokes.
pub fn remove_last(desk: &mut Desk, number: usize) {
    let mut poses = desk.document.drawn().poses[number..].to_vec();
    drop(poses[0].strokes.pop());
    let poses = poses.into_iter().map(|pose| (pose.clip, pose.strokes, pose.ease));
    change(desk, Item::Pose(number), |document, _| document.draw_poses(REMOVE, None, number, poses));
}

/// Goes to the clip, the time and the view that an item was drawn at.
pub fn go(desk: &mut Desk, item: Item) {
    let drawn = std::sync::Arc::clone(desk.document.drawn());
    let (clip, time) = match item {
        Item::Edit(number) => drawn.edits.get(number).map_or((None, None), |edit| (edit.clip.clone(), edit.time)),
        Item::Pose(number) => {
            drawn.poses.get(number).map_or((None, None), |pose| (Some(pose.clip.clone()), Some(pose.ease.time)))
        }
    };
    let number = clip.and_then(|name| desk.document.clip_number(&name));
    if let Some(number) = number.filter(|number| *number != desk.player.clip()) {
        desk.choose_clip(number);
    }
    if let Some(camera) = lines_of(desk, item).first().map(|(_, camera)| **camera) {
        desk.orbit = desk.orbit.seen_from(camera.eye.into(), camera.target.into());
    }
    (desk.time, desk.is_playing) = (time.unwrap_or(desk.time), false);
    desk.showing.compare = Compare::Result;
    desk.drawing.selected = Some(item);
}

/// Drags knots of what is selected; true where the pointer has one.
fn move_knot(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect) -> bool {
    let Some(item) = desk.drawing.selected else { return false };
    let lines = lines_of(desk, item);
    if lines.is_empty() {
        desk.drawing.selected = None;
        return false;
    }
    let now = camera_of(desk, rect);
    let at = ui.input(|input| input.pointer.interact_pos());
    if response.is_pointer_button_down_on() && desk.drawing.dragged.is_none() && desk.drawing.current.is_empty() {
        let pressed = ui.input(|input| input.pointer.press_origin());
        let seen = lines.iter().enumerate().filter(|(_, (_, camera))| is_same_view(camera, &now));
        let mut places = seen
            .flat_map(|(line, (points, camera))| {
                points.iter().enumerate().map(move |(knot, point)| (line, knot, place_of(point, rect, camera)))
            })
            .collect::<Vec<_>>()
            .into_iter();
        let near = |(_, _, place): &(usize, usize, Pos2)| pressed.is_some_and(|at| at.distance(*place) <= NEAR);
        if let Some((line, knot, _)) = places.rfind(near) {
            let gesture = desk.document.gesture();
            desk.drawing.dragged = Some((line, knot, gesture));
        }
    }
    let Some((line, knot, gesture)) = desk.drawing.dragged else { return false };
    let is_down = response.is_pointer_button_down_on();
    let has_moved = ui.input(|input| input.pointer.delta() != Vec2::ZERO);
    if let Some(at) = at.filter(|_| has_moved || !is_down) {
        let Some(camera) = lines_of(desk, item).get(line).map(|(_, camera)| **camera) else { return false };
        let scale = f64::from(camera.size[1]) / f64::from(rect.height());
        let middle = camera.size.map(|side| 0.5 * f64::from(side));
        let from_middle = at - rect.center();
        let pixel = [middle[0] + scale * f64::from(from_middle.x), middle[1] + scale * f64::from(from_middle.y)];
        let held = lines_of(desk, item).get(line).and_then(|(points, _)| points.get(knot).map(|p| [p[0], p[1]]));
        if held.is_some_and(|held| held != pixel) {
            desk.is_playing = false;
            set_knot(desk, item, (line, knot), pixel, gesture);
        }
    }
    if !is_down {
        desk.drawing.dragged = None;
    }
    true
}

/// Strokes over the picture: what is being drawn, what waits, what is selected, and the skin that will give way.
pub fn overlay(painter: &egui::Painter, desk: &Desk, rect: Rect) {
    const FROM: Color32 = Color32::from_rgb(20, 90, 200);
    const TO: Color32 = Color32::from_rgb(214, 90, 10);
    let drawing = &desk.drawing;
    let camera = camera_of(desk, rect);
    let line = |points: &Points, camera: &CameraSpec, color: Color32| {
        let places: Vec<Pos2> = points.iter().map(|point| place_of(point, rect, camera)).collect();
        painter.line(places.clone(), egui::Stroke::new(4.0, Color32::WHITE));
        painter.line(places, egui::Stroke::new(2.0, color));
    };
    if let Some(projector) = camera.projector().ok().filter(|_| !drawing.region.is_empty()) {
        for (point, share) in &drawing.region {
            let Some([x, y]) = projector.project(*point).pixel() else { continue };
            let color = Color32::from_rgb(20, 90, 200).gamma_multiply(0.25 + 0.6 * *share as f32);
            painter.circle_filled(place_of(&[x, y], rect, &camera), 2.0, color);
        }
    }
    let is_second = drawing.first.is_some() || !drawing.tool.is_some_and(Tool::takes_two);
    if let Some((points, camera)) = &drawing.first {
        line(points, camera, FROM);
    }
    line(&drawing.current, &camera, if is_second { TO } else { FROM });
    let lines = drawing.selected.map_or_else(Vec::new, |item| lines_of(desk, item));
    for ((points, held), color) in lines.into_iter().zip([FROM, TO].into_iter().cycle()) {
        if !is_same_view(held, &camera) {
            continue;
        }
        line(points, held, color);
        for point in points {
            let at = place_of(point, rect, held);
            painter.circle(at, 4.0, Color32::WHITE, egui::Stroke::new(2.0, color));
        }
    }
}
