//! What is drawn, and from where: the scene in numbers that shaders are given.

use crate::data;
use crate::model::{Model, Part};
use glam::{DAffine3, DVec3};
use sinew_render::studio::{self, Lights, Square};
use sinew_render::{Background, Camera, Dot, Finish, Ground, Line, Look, Projector, Size, Stroke, Wire, linear_rgb};

/// A rectangle of pixels, from the picture's top left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// First column.
    pub left: u32,
    /// First row.
    pub top: u32,
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

impl Cut {
    /// All of a picture.
    pub fn whole(size: Size) -> Self {
        Self { left: 0, top: 0, width: size.width(), height: size.height() }
    }

    /// What of it lies in a picture; `None` if that is nothing.
    pub(crate) fn within(self, size: Size) -> Option<Self> {
        let width = self.width.min(size.width().checked_sub(self.left)?);
        let height = self.height.min(size.height().checked_sub(self.top)?);
        (width > 0 && height > 0).then_some(Self { width, height, ..self })
    }

    /// Its first column and row, and the first beyond it.
    fn edges(self) -> [f32; 4] {
        let [left, top] = [self.left, self.top].map(|v| v as f32);
        [left, top, left + self.width as f32, top + self.height as f32]
    }

    /// Whether a place lies in it.
    pub(crate) fn holds(self, [x, y]: [f64; 2]) -> bool {
        let inside = |v: f64, from: u32, length: u32| v >= f64::from(from) && v < f64::from(from) + f64::from(length);
        inside(x, self.left, self.width) && inside(y, self.top, self.height)
    }
}

/// A model as a tinted veil, as [`sinew_render::Ghost`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Veil {
    /// Linear RGB.
    pub tint: [f32; 3],
    /// Opacity in 0…1 where it faces the camera.
    pub opacity: f32,
    /// Part of the opacity left where solid models hide it, 0…1.
    pub through: f32,
}

impl Default for Veil {
    /// A blue one.
    fn default() -> Self {
        let ghost = sinew_render::Ghost::new(sinew_render::Mesh::new(&[], &[], &[]));
        Self { tint: ghost.tint, opacity: ghost.opacity, through: ghost.through }
    }
}

/// A model and how it is drawn. Nothing of this makes anything new on the device.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'a> {
    /// The model.
    pub model: &'a Model,
    /// From the model's space to the world; rounded after the eye is taken off.
    pub transform: DAffine3,
    /// Drawn as a veil over what is solid.
    pub veil: Option<Veil>,
    /// Edges drawn on it.
    pub wire: Option<Wire>,
    /// Share of painted colours ([`Model::write_colors`]) in the material's, 0…1.
    pub paint: f32,
    /// How it answers light, where that is not the material's affair.
    pub finish: Option<Finish>,
    /// The part of the picture it is drawn in: for a wipe, base left and result right of a line.
    pub cut: Option<Cut>,
    /// Whether it throws shadows; veils do not.
    pub casts_shadow: bool,
}

impl<'a> Draw<'a> {
    /// As its materials say, in world space.
    pub fn new(model: &'a Model) -> Self {
        Self {
            model,
            transform: DAffine3::IDENTITY,
            veil: None,
            wire: None,
            paint: 0.0,
            finish: None,
            cut: None,
            casts_shadow: true,
        }
    }

    pub(crate) fn bounds(&self) -> impl Iterator<Item = [DVec3; 2]> {
        let corners = |part: &Part| part.bounds.filter(|_| part.corners() > 0);
        self.model.parts.iter().filter_map(corners).map(|[low, high]| {
            let corner = |i: u32| {
                let pick = |bit: u32, a: f64, b: f64| if i >> bit & 1 == 0 { a } else { b };
                let p = DVec3::new(pick(0, low.x, high.x), pick(1, low.y, high.y), pick(2, low.z, high.z));
                self.transform.transform_point3(p)
            };
            let start = [corner(0); 2];
            (1..8).map(corner).fold(start, |[low, high], p| [low.min(p), high.max(p)])
        })
    }

    /// In numbers, for an eye.
    pub(crate) fn data(&self, part: &Part, eye: DVec3, [draw, mesh]: [u32; 2]) -> data::Draw {
        let m = self.transform.matrix3;
        let t = self.transform.translation - eye;
        let row = |i: usize| [m.x_axis[i], m.y_axis[i], m.z_axis[i], t[i]].map(|v| v as f32);
        let n = studio::normals_to_world(&self.transform);
        let normal = |i: usize| [n.x_axis[i], n.y_axis[i], n.z_axis[i], 0.0];
        let mirrored = if m.determinant() < 0.0 { data::MIRRORED } else { 0 };
        let wired = if self.wire.is_some() { data::HAS_WIRE } else { 0 };
        let wire = self.wire.unwrap_or_default();
        let veil = self.veil.unwrap_or_default();
        let [wr, wg, wb] = wire.color;
        let [vr, vg, vb] = veil.tint;
        let has_paint = part.facts & data::HAS_PAINT != 0;
        let paint = if has_paint { self.paint.clamp(0.0, 1.0) } else { 0.0 };
        let finish = match self.finish.unwrap_or(part.finish) {
            Finish::Studio => 0,
            Finish::Chart => 1,
            Finish::Flat => 2,
        };
        data::Draw {
            place: [0, 1, 2].map(row),
            normal: [0, 1, 2].map(normal),
            base_color: part.base_color,
            wire: [wr, wg, wb, wire.opacity.clamp(0.0, 1.0)],
            veil: [vr, vg, vb, veil.opacity.clamp(0.0, 1.0)],
            amounts: [wire.width, veil.through.clamp(0.0, 1.0), paint, part.alpha_cutoff.unwrap_or(-1.0)],
            cut: self.cut.map_or([-1.0, -1.0, f32::MAX, f32::MAX], Cut::edges),
            facts: [part.facts | mirrored | wired, finish, draw, mesh],
        }
    }
}

/// A picture to make.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Where from.
    pub camera: &'a Camera,
    /// How it is lit and set.
    pub look: &'a Look,
    /// Models.
    pub draws: &'a [Draw<'a>],
    /// Lines, drawn in this order.
    pub lines: &'a [Line],
    /// Dots, drawn in this order over the lines.
    pub dots: &'a [Dot],
}

/// Views in the uniforms.
pub(crate) const CAMERA: usize = 0;
pub(crate) const LIGHT: usize = 1;
pub(crate) const GROUND: usize = 2;

/// What a frame needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Of the camera, the light, and from below the ground.
    pub views: [data::View; 3],
    pub has_shadows: bool,
    pub has_ground: bool,
    pub has_occlusion: bool,
    pub has_ghosts: bool,
}

fn joined(boxes: impl Iterator<Item = [DVec3; 2]>) -> Option<[DVec3; 2]> {
    boxes
        .filter(|[low, high]| low.is_finite() && high.is_finite())
        .reduce(|[low, high], [l, h]| [low.min(l), high.max(h)])
}

/// Nearest and farthest depth that the depth buffer tells apart: as narrow as the boxes allow.
fn depth_range(camera: &Camera, bounds: Option<[DVec3; 2]>) -> [f64; 2] {
    let Some([low, high]) = bounds else { return [camera.near(), 2.0 * camera.near()] };
    let center = camera.back().dot(camera.eye() - 0.5 * (low + high));
    let half = 0.5 * camera.back().abs().dot(high - low);
    // A little room, for what is rounded.
    let room = half * 0.01 + (center.abs() + half) * 1e-5;
    let near = (center - half - room).max(camera.near());
    [near, (center + half + room).max(near + room).max(near * 1.001)]
}

/// Eye-relative points to clip space.
fn camera_clip(camera: &Camera, projector: &Projector, size: Size, [near, far]: [f64; 2]) -> [[f64; 4]; 4] {
    let scale = 1.0 / projector.pixel_size(1.0);
    let [sx, sy] = [2.0 * scale / f64::from(size.width()), 2.0 * scale / f64::from(size.height())];
    let with = |v: DVec3, w: f64| [v.x, v.y, v.z, w];
    let (z, w) = if projector.is_perspective() {
        ([0.0, 0.0, 0.0, near], with(-camera.back(), 0.0))
    } else {
        (with(camera.back() / (far - near), far / (far - near)), [0.0, 0.0, 0.0, 1.0])
    };
    [with(camera.right() * sx, 0.0), with(camera.up() * sy, 0.0), z, w]
}

/// Rows to what shaders take: columns.
pub(crate) fn columns(rows: [[f64; 4]; 4]) -> [[f32; 4]; 4] {
    std::array::from_fn(|c| std::array::from_fn(|r| rows[r][c] as f32))
}

impl Frame<'_> {
    fn solids(&self) -> impl Iterator<Item = &Draw<'_>> {
        self.draws.iter().filter(|draw| draw.veil.is_none())
    }

    /// Rows of the clip matrix, and the ends of the depth buffer.
    pub(crate) fn clip(&self, projector: &Projector, size: Size) -> ([[f64; 4]; 4], [f64; 2]) {
        let range = depth_range(self.camera, joined(self.draws.iter().flat_map(Draw::bounds)));
        (camera_clip(self.camera, projector, size, range), range)
    }

    pub(crate) fn plan(&self, size: Size, side: u32) -> Plan {
        let (camera, look) = (self.camera, self.look);
        let projector = camera.projector(size);
        let eye = camera.eye();
        let bounds = joined(self.solids().flat_map(Draw::bounds)).filter(|[low, high]| (*high - *low).length() > 0.0);
        let scene_size = bounds.map_or(1.0, |[low, high]| (high - low).length());
        let lights = Lights::of(camera);
        let (clip, [near, far]) = self.clip(&projector, size);
        let amount = |v: f32| if v > 0.0 { v } else { 0.0 };
        let has_shadows = bounds.is_some() && look.shadows > 0.0;
        let has_occlusion = bounds.is_some() && look.occlusion > 0.0;
        let height = match look.ground {
            Ground::Lowest => bounds.map(|[low, _]| low.y),
            Ground::At(y) => Some(y).filter(|y| y.is_finite()),
            Ground::None => None,
        };
        let height = height.filter(|_| has_shadows);
        let bounds = bounds.unwrap_or([DVec3::ZERO, DVec3::ONE]);
        let light = Square::of_light(lights.key.as_dvec3(), bounds);
        let ground = Square::of_ground(height.unwrap_or(0.0), bounds);
        let below = (-ground.place(bounds[0]).z).max(0.0) * 1.01;
        let [light_rows, ground_rows] = [light, ground].map(|square| cells(&square, eye, f64::from(side)));
        let nodes = [size.width(), size.height()].map(|s| s.div_ceil(studio::OCCLUSION_STEP as u32));
        let (top, bottom, has_background) = match look.background {
            Background::Gradient(top, bottom) => (linear_rgb(top), linear_rgb(bottom), 1.0),
            Background::Transparent => ([0.0; 3], [0.0; 3], 0.0),
        };
        let with = |v: glam::Vec3, w: f32| [v.x, v.y, v.z, w];
        let flag = |is: bool| if is { 1.0 } else { 0.0 };
        let of_camera = data::View {
            clip: columns(clip),
            right: with(camera.right().as_vec3(), 0.5 * size.width() as f32),
            up: with(camera.up().as_vec3(), 0.5 * size.height() as f32),
            back: with(camera.back().as_vec3(), projector.pixel_size(1.0) as f32),
            key: with(lights.key, flag(projector.is_perspective())),
            fill: with(lights.fill, amount(look.shadows)),
            rim: with(lights.rim, if has_occlusion { amount(look.occlusion) } else { 0.0 }),
            top: with(top.into(), has_background),
            bottom: with(bottom.into(), size.height() as f32),
            depth: [near, far, camera.near(), studio::VEIL_DEPTH * scene_size].map(|v| v as f32),
            light: light_rows.map(|row| row.map(|v| v as f32)),
            ground_place: [0, 1].map(|i: usize| ground_rows[i].map(|v| v as f32)),
            ground: [(height.unwrap_or(0.0) - eye.y) as f32, flag(height.is_some()), flag(has_shadows), side as f32],
            reach: [below as f32, (studio::OCCLUSION_REACH * scene_size) as f32, nodes[0] as f32, nodes[1] as f32],
        };
        let from_above =
            |rows, lift| data::View { clip: columns(square_clip(rows, f64::from(side), lift)), ..of_camera };
        Plan {
            views: [of_camera, from_above(light_rows, 0.0), from_above(ground_rows, below)],
            has_shadows,
            has_ground: height.is_some(),
            has_occlusion,
            has_ghosts: self.draws.iter().any(|draw| draw.veil.is_some()),
        }
    }

    /// Lines and dots on the screen.
    pub(crate) fn strokes(&self, size: Size, out: &mut Vec<data::Stroke>) {
        out.clear();
        let projector = self.camera.projector(size);
        let mut push = |stroke: &Stroke, hidden: f32, follows: bool| {
            let end = |i: usize| {
                let end = &stroke.ends[i];
                [end.x, end.y, end.depth_key as f32, end.radius]
            };
            let mut new = data::Stroke {
                ends: [end(0), end(1)],
                colors: stroke.ends.map(|end| end.color),
                around: [0.0; 4],
                amounts: [hidden.clamp(0.0, 1.0), 0.0, 0.0, 0.0],
            };
            if let Some(before) = out.last_mut().filter(|_| follows) {
                let ([bx, by, ..], [ex, ey, ..]) = (before.ends[0], new.ends[1]);
                (before.around[2], before.around[3], before.amounts[2]) = (ex, ey, 1.0);
                (new.around[0], new.around[1], new.amounts[1]) = (bx, by, 1.0);
            }
            out.push(new);
        };
        for line in self.lines {
            let mut follows = false;
            for pair in line.points.windows(2) {
                let stroke = Stroke::new(&pair[0], &pair[1], &projector);
                if let Some(stroke) = &stroke {
                    push(stroke, line.hidden, follows);
                }
                follows = stroke.is_some();
            }
        }
        for dot in self.dots {
            if let Some(stroke) = Stroke::of_dot(dot, &projector) {
                push(&stroke, dot.hidden, false);
            }
        }
    }
}

/// Rows that take a point relative to the eye to cells of a square and its depth.
fn cells(square: &Square, eye: DVec3, side: f64) -> [[f64; 4]; 3] {
    let per_unit = side / square.extent;
    let start = square.place(eye);
    let [x, y, z] = square.axes;
    let depth = 1.0 / (square.depth_range[1] - square.depth_range[0]);
    let row = |v: DVec3, w: f64| [v.x, v.y, v.z, w];
    [
        row(x * per_unit, (start.x - square.origin.x) * per_unit),
        row(y * per_unit, (start.y - square.origin.y) * per_unit),
        row(z * depth, start.z),
    ]
}

/// Rows of the clip matrix of a square, cell by cell a texel; `lift` is how far below 0 depths may be.
fn square_clip([x, y, z]: [[f64; 4]; 3], side: f64, lift: f64) -> [[f64; 4]; 4] {
    let across = |row: [f64; 4], sign: f64| {
        let [a, b, c, d] = row.map(|v| v * 2.0 * sign / side);
        [a, b, c, d - sign]
    };
    let [a, b, c, d] = z;
    [across(x, 1.0), across(y, -1.0), [a, b, c, d + lift].map(|v| v / (1.0 + lift)), [0.0, 0.0, 0.0, 1.0]]
}
