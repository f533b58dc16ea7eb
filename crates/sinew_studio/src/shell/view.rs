//! The picture: the character as it moves, turned and clicked and painted on.

use crate::brush::{SkinPlace, Stroke};
use crate::document::Document;
use crate::player::Frame;
use crate::shake::{Grab, Shake};
use crate::shell::desk::{Colour, Compare, Desk, Hand, ONIONS};
use crate::shell::gpu_easel::{GpuEasel, Placed, Shot, Side};
use crate::shell::pick::{Picked, pick};
use crate::shell::{drawing, gizmo};
use crate::words;
use eframe::egui::{self, Color32, Pos2, Rect, Sense, Vec2};
use glam::{DVec2, DVec3};
use sinew::{DeformedMesh, Rig};
use sinew_render::{
    Antialias, Camera, Dot, Finish, Ghost, Ground, Image, Line, Look, Material, Mesh, Palette, Scale, Scene, Size,
    SkeletonStyle, View, Wire, skeleton,
};
use sinew_show::{AnatomyColors, Piece};
use sinew_view::{Cut, Ray};

/// Strain that the hottest colour stands for, and the least that displacement's does.
const HOTTEST_STRAIN: f32 = 1.6;
const LEAST_HEAT: f32 = 0.01;

/// What is in the hand.
const HELD: Color32 = Color32::from_rgb(40, 110, 210);

/// Draws pictures of a desk, and hands on what the pointer does there.
#[derive(Default)]
pub struct Easel {
    texture: Option<egui::TextureHandle>,
    /// What was drawn, so that a still picture is drawn once.
    drawn: Option<String>,
    anatomy: Option<AnatomyColors>,
    heat: Vec<f32>,
    /// Where there is a GPU; without, pictures are drawn on the processor.
    gpu: Option<GpuEasel>,
}

impl std::fmt::Debug for Easel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Easel").finish_non_exhaustive()
    }
}

impl Easel {
    /// On the window's GPU, where it has one.
    pub fn new(state: Option<&eframe::egui_wgpu::RenderState>) -> Self {
        Self { gpu: state.map(GpuEasel::new), ..Self::default() }
    }

    /// Another character.
    pub fn clear(&mut self) {
        let mut gpu = self.gpu.take();
        gpu.iter_mut().for_each(GpuEasel::clear);
        *self = Self { gpu, ..Self::default() };
    }

    /// The picture with its bar.
    pub fn show(&mut self, ui: &mut egui::Ui, desk: &mut Desk) {
        bar(ui, desk);
        let (rect, response) =
            ui.allocate_exact_size(ui.available_size().max(Vec2::splat(16.0)), Sense::click_and_drag());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::Image, true, words::TITLE));
        desk.draw_frame();
        let sides = sides_of(desk.showing.compare, rect, desk.showing.wipe);
        act(ui, desk, &response, rect);
        if let Err(error) = self.paint_by_gpu(ui, desk, rect, &sides) {
            desk.complain(error);
            self.gpu = None;
        }
        if self.gpu.is_none() {
            self.paint(ui, desk, rect, &sides);
        }
        overlay(ui, desk, rect, &response);
    }

    /// Every side in a picture of its own, or, where a line divides them, all in one.
    fn paint_by_gpu(
        &mut self,
        ui: &egui::Ui,
        desk: &Desk,
        rect: Rect,
        sides: &[(Side, Rect)],
    ) -> Result<(), sinew_view::ViewError> {
        let Some(mut gpu) = self.gpu.take() else { return Ok(()) };
        let moment = desk.player.last();
        let colors = self.colors(desk, &moment);
        let (camera, look) = (desk.orbit.camera(), look(desk));
        let (lines, dots) = skeleton_of(desk, &moment, rect.height() * ui.pixels_per_point());
        let pixels = |length: f32| (length * ui.pixels_per_point()).round().max(1.0) as u32;
        let wipes = desk.showing.compare == Compare::Wipe;
        let pictures: Vec<(Rect, Vec<Placed>)> = if wipes {
            let cut = |(side, part): &(Side, Rect)| {
                let left = pixels(part.left() - rect.left() + 1e-3) * u32::from(part.left() > rect.left());
                let cut = Cut { left, top: 0, width: pixels(part.width()), height: pixels(rect.height()) };
                (*side, Some(cut))
            };
            vec![(rect, sides.iter().map(cut).collect())]
        } else {
            sides.iter().map(|(side, part)| (*part, vec![(*side, None)])).collect()
        };
        for (number, (part, sides)) in pictures.iter().enumerate() {
            let Some(size) = Size::new(pixels(part.width()), pixels(part.height())) else { continue };
            let shot = Shot {
                character: desk.character(),
                moment,
                sides,
                ghost: desk.showing.compare == Compare::Ghost,
                onions: &desk.onions,
                colors: colors.as_deref(),
                wire: desk.showing.wire,
                camera: &camera,
                look: &look,
                lines: &lines,
                dots: &dots,
            };
            let id = gpu.draw(number, size, &shot)?;
            let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
            ui.painter_at(rect).image(id, *part, whole, Color32::WHITE);
        }
        self.gpu = Some(gpu);
        Ok(())
    }

    fn paint(&mut self, ui: &egui::Ui, desk: &Desk, rect: Rect, sides: &[(Side, Rect)]) {
        let scale = if desk.is_playing || ui.input(|i| i.pointer.any_down()) { 0.6 } else { 1.0 };
        let pixels = ui.pixels_per_point() * scale;
        let painter = ui.painter_at(rect);
        let key = format!("{:?}{:?}{:?}{:?}{}{rect:?}", desk.orbit, desk.time, desk.showing, desk.map, pixels)
            + &format!("{}{:?}{:?}", desk.document.history().revision(), desk.costs, desk.bone);
        if self.drawn.as_ref() != Some(&key) {
            let size = Size::new((rect.width() * pixels) as u32, (rect.height() * pixels) as u32);
            let Some(size) = size else { return };
            let image = self.picture(desk, rect, sides, size, scale < 1.0);
            let image = egui::ColorImage::from_rgba_unmultiplied(
                [size.width() as usize, size.height() as usize],
                image.bytes(),
            );
            match &mut self.texture {
                Some(texture) => texture.set(image, egui::TextureOptions::LINEAR),
                None => self.texture = Some(ui.ctx().load_texture("picture", image, egui::TextureOptions::LINEAR)),
            }
            self.drawn = Some(key);
        }
        if let Some(texture) = &self.texture {
            let whole = Rect::from_min_max(Pos2::ZERO, Pos2::new(1.0, 1.0));
            painter.image(texture.id(), rect, whole, Color32::WHITE);
        }
    }

    /// All sides as one picture.
    fn picture(&mut self, desk: &Desk, rect: Rect, sides: &[(Side, Rect)], size: Size, fast: bool) -> Image {
        let scale = size.width() as f32 / rect.width();
        let mut whole = Image::filled(size, [0, 0, 0, 255]);
        for (side, part) in sides {
            let left = ((part.left() - rect.left()) * scale) as u32;
            let width = (part.width() * scale).round() as u32;
            let wide = if desk.showing.compare == Compare::Wipe { Some(size) } else { Size::new(width, size.height()) };
            let Some(wide) = wide else { continue };
            let image = self.side(desk, *side, wide, fast);
            if desk.showing.compare == Compare::Wipe {
                for y in 0..size.height() {
                    for x in left..(left + width).min(size.width()) {
                        if let Some([r, g, b, _]) = image.pixel(x, y) {
                            whole.fill(i64::from(x), i64::from(y), 1, 1, [r, g, b], 1.0);
                        }
                    }
                }
            } else {
                whole.paste(&image, left, 0);
            }
        }
        whole
    }

    fn side(&mut self, desk: &Desk, side: Side, size: Size, fast: bool) -> Image {
        let frame = desk.player.last();
        let colors = if side == Side::Result { self.colors(desk, &frame) } else { None };
        let mesh = match side {
            Side::Base => frame.base,
            Side::Result => frame.result,
        };
        let mut scene = Scene { meshes: meshes(&desk.document, mesh, colors.as_deref()), ..Scene::default() };
        if desk.showing.wire {
            scene.meshes.iter_mut().for_each(|mesh| mesh.wire = Some(Wire::default()));
        }
        if desk.showing.compare == Compare::Ghost {
            scene.ghosts = meshes(&desk.document, frame.base, None).into_iter().map(Ghost::new).collect();
        }
        if side == Side::Result {
            for (mesh, (_, tint, opacity)) in desk.onions.iter().zip(ONIONS) {
                let skins = meshes(&desk.document, mesh, None).into_iter();
                scene.ghosts.extend(skins.map(|mesh| Ghost { tint, opacity, through: 0.0, ..Ghost::new(mesh) }));
            }
        }
        (scene.lines, scene.dots) = skeleton_of(desk, &frame, size.height() as f32);
        let look = Look { occlusion: if fast { 0.0 } else { 1.0 }, ..look(desk) };
        let antialias = if fast { Antialias::Off } else { Antialias::Four };
        sinew_render::draw(&scene, &desk.orbit.camera(), size, antialias, &look)
    }

    /// Colours of all vertices, where they are not materials.
    fn colors(&mut self, desk: &Desk, frame: &Frame<'_>) -> Option<Vec<[f32; 4]>> {
        let rig = desk.document.rig();
        match desk.showing.colour {
            Colour::Material => None,
            Colour::Anatomy => {
                let colors = self.anatomy.get_or_insert_with(|| AnatomyColors::new(rig));
                Some(colors.of_vertex.clone())
            }
            Colour::Map => {
                let values = desk.document.values_or_zero(desk.map.as_deref()?);
                let of_vertex = rig.point_of_vertex().iter().map(|&slot| values[slot as usize]);
                Some(of_vertex.map(map_color).collect())
            }
            Colour::Displacement => {
                frame.displacement(rig, &mut self.heat);
                let most = self.heat.iter().copied().fold(LEAST_HEAT, f32::max);
                Some(Scale::fit([most], Palette::Viridis).colors(&self.heat))
            }
            Colour::Strain => {
                strain(rig, frame, &mut self.heat);
                let heat: Vec<f32> = self.heat.iter().map(|s| (s - 1.0).min(HOTTEST_STRAIN - 1.0)).collect();
                Some(Scale::fit([HOTTEST_STRAIN - 1.0], Palette::Viridis).colors(&heat))
            }
        }
    }
}

/// A painted value: grey where there is none, to yellow above 0, to blue below; told apart by lightness too.
fn map_color(value: f32) -> [f32; 4] {
    const NONE: [f32; 3] = [0.16, 0.16, 0.17];
    const MORE: [f32; 3] = [0.98, 0.78, 0.10];
    const LESS: [f32; 3] = [0.05, 0.20, 0.75];
    let end = if value < 0.0 { LESS } else { MORE };
    let share = value.abs().min(1.0);
    let [r, g, b] = [0, 1, 2].map(|i| NONE[i] + (end[i] - NONE[i]) * share);
    [r, g, b, 1.0]
}

/// The most that an edge at each vertex is stretched or pressed by effects.
fn strain(rig: &Rig, frame: &Frame<'_>, out: &mut Vec<f32>) {
    out.clear();
    out.resize(rig.vertex_count(), 1.0);
    for triangle in rig.triangles() {
        for [a, b] in [[0, 1], [1, 2], [2, 0]].map(|pair| pair.map(|corner| triangle[corner] as usize)) {
            let length = |mesh: &DeformedMesh| mesh.positions[a].distance(mesh.positions[b]);
            let (base, result) = (length(frame.base), length(frame.result));
            if base > 0.0 && result > 0.0 {
                let ratio = (result / base).max(base / result);
                out[a] = out[a].max(ratio);
                out[b] = out[b].max(ratio);
            }
        }
    }
}

fn meshes<'a>(document: &'a Document, mesh: &'a DeformedMesh, colors: Option<&'a [[f32; 4]]>) -> Vec<Mesh<'a>> {
    let dress = |(piece, placed): (&'a Piece, Mesh<'a>)| {
        let Some(colors) = colors else { return placed };
        let double_sided = placed.material.double_sided;
        let material = Material { base_color: [1.0; 4], finish: Finish::Chart, double_sided, ..Material::default() };
        Mesh { material, colors: Some(&colors[piece.vertices.clone()]), ..placed }
    };
    document.character().placed(mesh).map(dress).collect()
}

fn look(desk: &Desk) -> Look {
    let ground = if desk.ground.is_finite() { Ground::At(desk.ground) } else { Ground::None };
    Look { ground, ..Look::default() }
}

/// Bones as lines, where they are shown.
fn skeleton_of(desk: &Desk, moment: &Frame<'_>, height: f32) -> (Vec<Line>, Vec<Dot>) {
    if !desk.showing.skeleton {
        return (Vec::new(), Vec::new());
    }
    let bones = &desk.character().bones;
    let origins: Vec<DVec3> = bones.joints.iter().map(|&bone| moment.world.joint_origin(bone)).collect();
    let style = SkeletonStyle { width: (0.008 * height).max(2.0), ..SkeletonStyle::default() };
    skeleton(&origins, &bones.parents, &style)
}

fn sides_of(compare: Compare, rect: Rect, wipe: f32) -> Vec<(Side, Rect)> {
    let (left, right) = rect.split_left_right_at_fraction(if compare == Compare::Wipe { wipe } else { 0.5 });
    match compare {
        Compare::Result | Compare::Ghost => vec![(Side::Result, rect)],
        Compare::Base => vec![(Side::Base, rect)],
        Compare::SideBySide | Compare::Wipe => vec![(Side::Base, left), (Side::Result, right)],
    }
}

fn bar(ui: &mut egui::Ui, desk: &mut Desk) {
    ui.horizontal_wrapped(|ui| {
        use words::view::*;
        let compared = [
            (Compare::Result, RESULT),
            (Compare::Base, BASE),
            (Compare::SideBySide, SIDE_BY_SIDE),
            (Compare::Wipe, WIPE),
            (Compare::Ghost, GHOST),
        ];
        for (compare, name) in compared {
            ui.selectable_value(&mut desk.showing.compare, compare, name).on_hover_text(COMPARE_TIP);
        }
        ui.separator();
        let colours = [
            (Colour::Material, MATERIAL),
            (Colour::Displacement, DISPLACEMENT),
            (Colour::Strain, STRAIN),
            (Colour::Map, MAP),
            (Colour::Anatomy, ANATOMY),
        ];
        let chosen =
            colours.iter().find(|(colour, _)| *colour == desk.showing.colour).map_or(MATERIAL, |(_, name)| name);
        egui::ComboBox::from_id_salt(COLOUR).selected_text(chosen).width(96.0).show_ui(ui, |ui| {
            for (colour, name) in colours {
                ui.selectable_value(&mut desk.showing.colour, colour, name);
            }
        });
        ui.toggle_value(&mut desk.showing.skeleton, SKELETON);
        ui.toggle_value(&mut desk.showing.names, NAMES);
        ui.toggle_value(&mut desk.showing.wire, WIRE);
        ui.toggle_value(&mut desk.showing.onion, ONION).on_hover_text(ONION_TIP);
        let mut is_live = desk.is_live;
        if ui.toggle_value(&mut is_live, words::live::LIVE).on_hover_text(words::live::LIVE_TIP).changed() {
            desk.toggle_live();
        }
        if desk.is_live {
            let text = match desk.player.recorded() {
                Some(seconds) => format!("{} {seconds:.1} s", words::live::STOP),
                None => words::live::RECORD.to_owned(),
            };
            if ui.button(text).on_hover_text(words::live::RECORD_TIP).clicked() {
                desk.toggle_recording();
            }
        }
        if ui.button(FRAME).on_hover_text(FRAME_TIP).clicked() {
            desk.frame_all();
        }
    });
}

/// What the pointer does in the picture.
fn act(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect) {
    let (modifiers, scroll, middle) = ui.input(|input| {
        (input.modifiers, input.smooth_scroll_delta().y, input.pointer.middle_down() || input.pointer.secondary_down())
    });
    let height = f64::from(rect.height().max(1.0));
    let drag = response.drag_delta();
    let moved = DVec2::new(f64::from(drag.x), f64::from(drag.y)) / height;
    if response.hovered() && scroll != 0.0 {
        desk.orbit.zoom(f64::from(scroll) / 50.0);
    }
    let zoom = ui.input(|input| input.zoom_delta());
    if response.hovered() && zoom != 1.0 {
        desk.orbit.zoom(f64::from(zoom.ln()) / 0.15);
    }
    let at = response.interact_pointer_pos().or(response.hover_pos());
    let paints = desk.is_painting && desk.map.is_some() && !modifiers.alt && !middle;
    let wipes = desk.showing.compare == Compare::Wipe
        && at.is_some_and(|at| (at.x - rect.left() - desk.showing.wipe * rect.width()).abs() < 8.0);
    let pressed = ui.input(|input| input.pointer.press_origin());
    let began_on_wipe = desk.showing.compare == Compare::Wipe
        && pressed.is_some_and(|at| (at.x - rect.left() - desk.showing.wipe * rect.width()).abs() < 24.0);
    if wipes {
        ui.ctx().set_cursor_icon(egui::CursorIcon::ResizeHorizontal);
    }
    let of_result = part_of_result(desk, rect);
    if !paints && !modifiers.alt && !middle && gizmo::act(ui, desk, response, of_result) {
        return;
    }
    if !paints && !modifiers.alt && !middle && drawing::act(ui, desk, response, rect) {
        return;
    }
    if desk.is_live && !paints && !modifiers.alt && !middle && !began_on_wipe && shake(desk, response, rect, modifiers)
    {
        return;
    }
    if response.dragged() && began_on_wipe && !paints {
        desk.showing.wipe = (desk.showing.wipe + drag.x / rect.width()).clamp(0.02, 0.98);
    } else if paints {
        paint(ui, desk, response, rect);
    } else if response.dragged() {
        if middle || modifiers.shift { desk.orbit.pan(moved) } else { desk.orbit.turn(moved) }
    } else if response.clicked()
        && let Some(at) = at
    {
        desk.picked = pick_at(desk, rect, at);
        desk.bone = desk.picked.and_then(|picked| {
            let rig = desk.document.rig();
            rig.main_bone(rig.point(picked.vertex()))
        });
        desk.why = None;
    }
    if response.double_clicked() {
        desk.frame_all();
    }
}

/// Takes a bone and draws it to the pointer; false where there is none under it.
fn shake(desk: &mut Desk, response: &egui::Response, rect: Rect, modifiers: egui::Modifiers) -> bool {
    let was_held = desk.hand.is_some();
    if !response.is_pointer_button_down_on() {
        desk.hand = None;
        return was_held;
    }
    let Some(at) = response.interact_pointer_pos() else { return was_held };
    let camera = desk.orbit.camera();
    if !was_held {
        if response.dragged() && !response.drag_started() {
            // The drag began beside the character.
            return false;
        }
        let Some(picked) = pick_at(desk, rect, at) else { return false };
        let (rig, stage) = (desk.document.rig(), desk.player.stage());
        let skeleton = rig.skeleton();
        let main = rig.main_bone(rig.point(picked.vertex()));
        let Some(held) = main.and_then(|bone| Shake::holdable(stage, bone)) else { return false };
        // Carried, all of it goes along.
        let top = skeleton.ancestors(held).filter_map(|bone| Shake::holdable(stage, bone)).last();
        let bone = if modifiers.shift { top.unwrap_or(held) } else { held };
        let world = desk.player.last().world;
        let on_bone = world.world_from_bone(bone).inverse().transform_point3(picked.point);
        let grab = Grab { bone, held: on_bone, to: picked.point, carries: modifiers.shift };
        desk.hand = Some(Hand { grab, depth: (camera.eye() - picked.point).dot(camera.back()) });
        desk.bone = Some(held);
    }
    let part = part_of(desk, rect, at);
    if let (Some(hand), Some(ray)) = (&mut desk.hand, ray(&camera, part, at)) {
        hand.grab.to = ray.origin + ray.direction * hand.depth;
    }
    true
}

/// The part of the picture that shows the result.
fn part_of_result(desk: &Desk, rect: Rect) -> Rect {
    match desk.showing.compare {
        Compare::SideBySide => rect.split_left_right_at_fraction(0.5).1,
        _ => rect,
    }
}

/// The part of the picture that a place lies in, as cameras see it.
fn part_of(desk: &Desk, rect: Rect, at: Pos2) -> Rect {
    if desk.showing.compare == Compare::SideBySide {
        let (left, right) = rect.split_left_right_at_fraction(0.5);
        return if left.contains(at) { left } else { right };
    }
    rect
}

fn ray(camera: &Camera, rect: Rect, at: Pos2) -> Option<Ray> {
    let size = Size::new(rect.width() as u32, rect.height() as u32)?;
    let (scale_x, scale_y) = (size.width() as f32 / rect.width(), size.height() as f32 / rect.height());
    let (x, y) = ((at.x - rect.left()) * scale_x, (at.y - rect.top()) * scale_y);
    Some(Ray::through(&camera.projector(size), f64::from(x), f64::from(y)))
}

/// What is under a place of the picture.
pub fn pick_at(desk: &Desk, rect: Rect, at: Pos2) -> Option<Picked> {
    let part = part_of(desk, rect, at);
    let ray = ray(&desk.orbit.camera(), part, at)?;
    let frame = desk.player.last();
    let is_base = desk.showing.compare == Compare::Base
        || (desk.showing.compare == Compare::SideBySide && part.left() == rect.left());
    pick(desk.character(), if is_base { frame.base } else { frame.result }, &ray)
}

/// Paints where the pointer is down.
fn paint(ui: &egui::Ui, desk: &mut Desk, response: &egui::Response, rect: Rect) {
    let Some(name) = desk.map.clone() else { return };
    if !desk.document.maps().contains_key(&name) {
        // A map of the character's file is copied before it is painted on.
        desk.change(|document| document.make_map(&name, None));
    }
    let is_down = response.is_pointer_button_down_on();
    if is_down && desk.stroke.is_none() {
        let mut brush = desk.brush;
        brush.bone = brush.bone.and(desk.bone);
        let gesture = desk.document.gesture();
        let Some(values) = desk.document.maps().get(&name) else { return };
        desk.stroke = Some((Stroke::new(brush, values), gesture));
    }
    if !is_down {
        desk.stroke = None;
        return;
    }
    // All places since the last picture, not the last alone.
    let mut places: Vec<(Pos2, f64)> = ui.input(|input| {
        let events = input.events.iter();
        events
            .filter_map(|event| match event {
                egui::Event::PointerMoved(at) => Some((*at, 1.0)),
                egui::Event::Touch { pos, force, .. } => Some((*pos, force.map_or(1.0, f64::from))),
                _ => None,
            })
            .collect()
    });
    if places.is_empty() {
        places.extend(response.interact_pointer_pos().map(|at| (at, 1.0)));
    }
    for (at, pressure) in places {
        let Some(picked) = pick_at(desk, rect, at) else { continue };
        let rig = desk.document.rig();
        let slots = picked.vertices.map(|vertex| rig.point_of_vertex()[vertex]);
        let place = SkinPlace { slots, shares: picked.shares };
        let Some((stroke, gesture)) = &mut desk.stroke else { return };
        let (changed, gesture) = (stroke.to(&mut desk.canvas, place, pressure), *gesture);
        desk.change(|document| document.paint(&format!("Paint {name}"), Some(gesture), &name, changed));
    }
    ui.ctx().request_repaint();
}

/// What is drawn over the picture: brush, names, the line of the wipe, axes, the clicked place.
fn overlay(ui: &mut egui::Ui, desk: &mut Desk, rect: Rect, response: &egui::Response) {
    let painter = ui.painter_at(rect);
    let camera = desk.orbit.camera();
    let ink = Color32::from_rgb(20, 20, 24);
    if desk.showing.compare == Compare::Wipe {
        let x = rect.left() + desk.showing.wipe * rect.width();
        painter.vline(x, rect.y_range(), egui::Stroke::new(2.0, ink));
        painter.circle_filled(Pos2::new(x, rect.center().y), 7.0, ink);
    }
    if matches!(desk.showing.compare, Compare::Wipe | Compare::SideBySide) {
        for (side, part) in sides_of(desk.showing.compare, rect, desk.showing.wipe) {
            let text = if side == Side::Base { words::view::BASE } else { words::view::RESULT };
            painter.text(
                part.left_top() + Vec2::new(8.0, 6.0),
                egui::Align2::LEFT_TOP,
                text,
                egui::FontId::proportional(13.0),
                ink,
            );
        }
    }
    let part = part_of_result(desk, rect);
    let Some(size) = Size::new(part.width() as u32, part.height() as u32) else { return };
    let projector = camera.projector(size);
    let on_screen = |point: DVec3| {
        let [x, y] = projector.project(point).pixel()?;
        let at = Pos2::new(part.left() + x as f32, part.top() + y as f32);
        part.contains(at).then_some(at)
    };
    if desk.showing.names {
        let frame = desk.player.last();
        let skeleton = desk.document.rig().skeleton();
        for &bone in &desk.character().bones.joints {
            if let Some(at) = on_screen(frame.world.joint_origin(bone)) {
                let strong = desk.bone == Some(bone);
                let font = egui::FontId::proportional(if strong { 13.0 } else { 10.0 });
                painter.text(at, egui::Align2::LEFT_BOTTOM, skeleton.name(bone), font, ink);
            }
        }
    }
    if let Some(hand) = desk.hand {
        let held = desk.player.last().world.world_from_bone(hand.grab.bone).transform_point3(hand.grab.held);
        if let (Some(from), Some(to)) = (on_screen(held), on_screen(hand.grab.to)) {
            painter.line_segment([from, to], egui::Stroke::new(1.5, HELD));
            painter.circle_filled(from, 4.0, HELD);
        }
    }
    if let Some(picked) = desk.picked {
        let frame = desk.player.last();
        let rig = desk.document.rig();
        if let Some(character) = rig.character_of_point(rig.point(picked.vertex()))
            && let Some(at) = on_screen(frame.result.world_position(character, picked.vertex()))
        {
            painter.circle_stroke(at, 6.0, egui::Stroke::new(2.0, Color32::from_rgb(220, 60, 20)));
            if let Some(from) = on_screen(frame.base.world_position(character, picked.vertex())) {
                painter.line_segment([from, at], egui::Stroke::new(1.5, Color32::from_rgb(220, 60, 20)));
            }
        }
    }
    if desk.is_painting
        && let Some(at) = response.hover_pos()
        && let Some(picked) = pick_at(desk, rect, at)
    {
        let depth = (camera.eye() - picked.point).dot(camera.back());
        let radius = desk.brush.radius * desk.character().size() / projector.pixel_size(depth);
        painter.circle_stroke(at, radius as f32, egui::Stroke::new(1.5, ink));
    }
    gizmo::overlay(&painter, desk, part);
    drawing::overlay(&painter, desk, rect);
    axes(ui, desk, rect);
}

/// The three axes in a corner; each end is a side to look from.
fn axes(ui: &mut egui::Ui, desk: &mut Desk, rect: Rect) {
    let camera = desk.orbit.camera();
    let center = rect.right_top() + Vec2::new(-46.0, 46.0);
    let ends = [
        (DVec3::X, "X", Color32::from_rgb(200, 60, 60), View::Side),
        (DVec3::Y, "Y", Color32::from_rgb(60, 140, 60), View::Top),
        (DVec3::Z, "Z", Color32::from_rgb(60, 90, 200), View::Front),
    ];
    for (axis, name, color, view) in ends {
        let at = center + 30.0 * Vec2::new(axis.dot(camera.right()) as f32, -axis.dot(camera.up()) as f32);
        ui.painter().line_segment([center, at], egui::Stroke::new(2.0, color));
        let spot = Rect::from_center_size(at, Vec2::splat(18.0));
        let response = ui.interact(spot, ui.scope_id().with(name), Sense::click()).on_hover_text(format!("{view:?}"));
        ui.painter().circle_filled(at, 8.0, color);
        ui.painter().text(at, egui::Align2::CENTER_CENTER, name, egui::FontId::proportional(11.0), Color32::WHITE);
        if response.clicked() {
            desk.orbit.look_from(view);
        }
    }
}
