//! Light and colour: a studio for characters.
//!
//! A soft warm key from the upper left of the camera, a cool fill from the right, a rim from behind and a sky-to-floor
//! ambience, all attached to the camera so that every view is flattering. Everything is summed in linear light; a
//! shoulder keeps highlights from clipping. Light wraps around the terminator a little further in red than in blue, as
//! it does on skin.

use crate::ground::{Contact, GroundShade};
use crate::image::Image;
use crate::occlusion::Occlusion;
use crate::overlay::Overlay;
use crate::raster::Pattern;
use crate::scene::{Finish, Mesh};
use crate::setup::Setup;
use crate::shadow::ShadowMap;
use crate::srgb::{Bytes, linear_rgb};
use crate::studio::{self, Lights};
use crate::visibility::{BAND, Layer, Visibility};
use glam::{DVec3, Vec3, Vec4};
use rayon::prelude::*;

/// What is behind the scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Background {
    /// From the top's sRGB colour to the bottom's.
    Gradient([u8; 3], [u8; 3]),
    /// Nothing: alpha 0, shadows on the ground as translucent black.
    Transparent,
}

/// Where the plane is on which shadows fall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ground {
    /// At the lowest point drawn. For clips give the height, or the shadow follows each frame.
    Lowest,
    /// At this height (y).
    At(f64),
    /// No ground.
    None,
}

/// How a scene is lit and set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Behind the scene.
    pub background: Background,
    /// Under it.
    pub ground: Ground,
    /// Strength of shadows, 0…1.
    pub shadows: f32,
    /// Strength of darkening in crevices, 0…1.
    pub occlusion: f32,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            background: Background::Gradient([0xD3, 0xDA, 0xE2], [0xF6, 0xF4, 0xF0]),
            ground: Ground::Lowest,
            shadows: 1.0,
            occlusion: 1.0,
        }
    }
}

/// All that shading a point needs.
struct Studio<'a> {
    view: &'a Visibility<'a>,
    lights: Lights,
    look: Look,
    shadow: Option<ShadowMap>,
    occlusion: Option<Occlusion>,
    ground: Option<GroundShade>,
    to_camera: Vec3,
    /// Length over which a ghost passes from behind a surface to before it.
    veil_depth: f64,
}

impl Visibility<'_> {
    /// The picture.
    pub fn shade(&self, look: &Look) -> Image {
        let studio = Studio::new(self, *look);
        let overlay = Overlay::new(&self.scene.lines, &self.scene.dots, &self.projector);
        let (width, samples) = (self.size.width() as usize, self.pattern.samples());
        let mut rgba = vec![[0_u8; 4]; self.size.pixels()];
        rgba.par_chunks_mut(width * BAND).enumerate().for_each(|(band, out)| {
            let first_row = band * BAND;
            let rows = first_row..first_row + out.len() / width;
            let mut pixels: Vec<[f32; 4]> = Vec::with_capacity(out.len());
            for y in rows {
                match self.pattern {
                    Pattern::One => studio.row::<1>(y, &mut pixels),
                    Pattern::Four => studio.row::<5>(y, &mut pixels),
                    Pattern::Eight => studio.row::<9>(y, &mut pixels),
                }
            }
            let at = first_row * width * samples;
            let keys = &self.solid.keys[at..at + out.len() * samples];
            overlay.paint(first_row, width, &mut pixels, keys, self.pattern);
            let bytes = Bytes::new();
            let (mut last, mut encoded) = ([f32::NAN; 4], [0; 4]);
            for (out, pixel) in out.iter_mut().zip(&pixels) {
                // Backgrounds are long runs of one colour.
                if *pixel != last {
                    let [r, g, b, alpha] = *pixel;
                    let straight = if alpha > 0.0 { 1.0 / alpha } else { 0.0 };
                    let [r, g, b] = [r, g, b].map(|c| bytes.of(c * straight));
                    encoded = [r, g, b, (alpha.clamp(0.0, 1.0) * 255.0 + 0.5) as u8];
                    last = *pixel;
                }
                *out = encoded;
            }
        });
        Image::from_pixels(self.size, rgba).unwrap_or_else(|| Image::filled(self.size, [0; 4]))
    }
}

/// The box around all finite points of meshes that triangles use.
fn bounds(meshes: &[Mesh<'_>]) -> Option<[DVec3; 2]> {
    let points = meshes.iter().filter(|m| !m.triangles.is_empty()).flat_map(|m| m.world_positions());
    points
        .filter(|p| p.is_finite())
        .fold(None, |found: Option<[DVec3; 2]>, p| Some(found.map_or([p, p], |[low, high]| [low.min(p), high.max(p)])))
}

impl<'a> Studio<'a> {
    fn new(view: &'a Visibility<'a>, look: Look) -> Self {
        let meshes = &view.scene.meshes;
        let lights = Lights::of(view.projector.camera());
        let bounds = bounds(meshes).filter(|[low, high]| (*high - *low).length() > 0.0);
        let size = bounds.map_or(1.0, |[low, high]| (high - low).length());
        let side = studio::shadow_side(view.size.height());
        let eye = view.projector.camera().eye();
        let shadow = bounds
            .filter(|_| look.shadows > 0.0)
            .map(|bounds| ShadowMap::new(meshes, lights.key.as_dvec3(), eye, bounds, side));
        let occlusion =
            bounds.filter(|_| look.occlusion > 0.0).map(|_| Occlusion::new(view, studio::OCCLUSION_REACH * size));
        let height = match look.ground {
            Ground::Lowest => bounds.map(|[low, _]| low.y),
            Ground::At(y) => Some(y).filter(|y| y.is_finite()),
            Ground::None => None,
        };
        let ground = height.zip(bounds).filter(|_| look.shadows > 0.0).map(|(height, bounds)| {
            let contact = Contact::new(meshes, height, bounds, side);
            GroundShade::new(
                view,
                |p| {
                    let cast = shadow.as_ref().map_or(0.0, |s| 1.0 - s.light_on_ground((p - eye).as_vec3()));
                    (1.0 - (1.0 - contact.at(p)) * (1.0 - studio::SHADOW_ON_GROUND * cast)) * look.shadows
                },
                height,
            )
        });
        let to_camera = view.projector.camera().back().as_vec3();
        Self { view, lights, look, shadow, occlusion, ground, to_camera, veil_depth: studio::VEIL_DEPTH * size }
    }

    /// The background of a row, linear RGBA.
    fn backdrop(&self, y: usize) -> Vec4 {
        match self.look.background {
            Background::Transparent => Vec4::ZERO,
            Background::Gradient(top, bottom) => {
                let t = (y as f32 + 0.5) / self.view.size.height() as f32;
                let [top, bottom] = [top, bottom].map(|c| Vec3::from(linear_rgb(c)));
                (top + (bottom - top) * t).extend(1.0)
            }
        }
    }

    /// Adds a row of pixels, premultiplied linear RGBA.
    fn row<const N: usize>(&self, y: usize, pixels: &mut Vec<[f32; 4]>) {
        let width = self.view.size.width() as usize;
        let backdrop = self.backdrop(y);
        let (ids, _) = self.view.solid.ids[y * width * N..(y + 1) * width * N].as_chunks::<N>();
        pixels.extend(ids.iter().enumerate().map(|(x, ids)| self.pixel(x, y, ids, backdrop).to_array()));
    }

    fn pixel<const N: usize>(&self, x: usize, y: usize, ids: &[u32; N], backdrop: Vec4) -> Vec4 {
        if *ids == [Layer::NONE; N] && self.view.ghost.is_none() {
            return self.background(x, y, backdrop);
        }
        let samples = N;
        let at = (y * self.view.size.width() as usize + x) * samples;
        let range = at..at + samples;
        let first = if samples > 1 { 1 } else { 0 };
        let per_sample = 1.0 / (samples - first) as f32;

        let mut color = Vec4::ZERO;
        let open = ids[first..].iter().filter(|&&id| id == Layer::NONE).count();
        if open > 0 {
            color += self.background(x, y, backdrop) * (open as f32 * per_sample);
        }
        if open < samples - first {
            let keys = &self.view.solid.keys[range.clone()];
            let alike = |a: u32, b: u32| self.view.solid.alike(&self.view.scene.meshes, a, b);
            for_each_surface(ids, alike, |id, own, shaded| {
                let weight = (shaded >> first).count_ones() as f32 * per_sample;
                if weight == 0.0 {
                    return;
                }
                let open = self.occlusion.as_ref().map_or(1.0, |o| {
                    let key = f64::from(keys[own.trailing_zeros() as usize]);
                    o.at(x, y, self.view.projector.depth_of_key(key) as f32)
                });
                let occlusion = 1.0 + (open - 1.0) * self.look.occlusion;
                let setup = &self.view.solid.setups[id as usize];
                let [px, py] = self.place(x, y, own);
                color += self.solid(setup, px, py, occlusion) * weight;
            });
        }
        if let Some(layer) = &self.view.ghost {
            let keys = [&self.view.solid.keys[range.clone()], &layer.keys[range.clone()]];
            let (ids, _) = layer.ids[range].as_chunks::<N>();
            let alike = |a: u32, b: u32| layer.alike(&self.view.ghost_meshes, a, b);
            for_each_surface(&ids[0], alike, |id, own, shaded| {
                let setup = &layer.setups[id as usize];
                let [px, py] = self.place(x, y, own);
                let (rgb, alpha) = self.veil(layer, setup, px, py);
                let through = self.view.scene.ghosts[setup.mesh as usize].through;
                let alpha = alpha * per_sample * self.unhidden(keys, shaded, through);
                color += (rgb.extend(1.0) - color) * alpha;
            });
        }
        color
    }

    /// Mean place of the samples of a pixel: inside the triangle that covers them.
    fn place(&self, x: usize, y: usize, members: u32) -> [f64; 2] {
        let center = [x as f64 + 0.5, y as f64 + 0.5];
        if members & 1 == 1 {
            return center;
        }
        let mut sum = [0.0; 2];
        for s in (0..self.view.pattern.samples()).filter(|s| members >> s & 1 == 1) {
            let offset = self.view.pattern.offset(s);
            sum = [sum[0] + offset[0], sum[1] + offset[1]];
        }
        let count = f64::from(members.count_ones().max(1));
        [center[0] + sum[0] / count, center[1] + sum[1] / count]
    }

    fn background(&self, x: usize, y: usize, backdrop: Vec4) -> Vec4 {
        let dark = self.ground.as_ref().map_or(0.0, |g| g.at(x, y));
        if self.look.background == Background::Transparent {
            return Vec4::new(0.0, 0.0, 0.0, dark);
        }
        // Shadows keep some of the sky's blue.
        backdrop * (Vec4::ONE - lanes(studio::SHADOW_TINT) * dark)
    }

    fn to_eye(&self, from_eye: Vec3) -> Vec3 {
        if self.view.projector.is_perspective() { (-from_eye).normalize_or(self.to_camera) } else { self.to_camera }
    }

    /// Linear RGBA of a solid mesh.
    fn solid(&self, setup: &Setup, x: f64, y: f64, occlusion: f32) -> Vec4 {
        let mesh = &self.view.scene.meshes[setup.mesh as usize];
        let weights = setup.barycentrics(x, y);
        let surface = self.view.solid.surface(&self.view.scene.meshes, setup, weights);
        let color = Vec4::from(surface.color(|| setup.barycentric_slopes(weights, x, y)));
        let albedo = if color.is_finite() { color.max(Vec4::ZERO) } else { Vec4::ZERO };
        let mut rgb = match mesh.material.finish {
            Finish::Flat => albedo,
            Finish::Chart => {
                let n = surface.normal();
                let facing = n.dot(self.to_eye(surface.offset_from_eye())).max(0.0);
                let key = n.dot(self.lights.key).max(0.0);
                let [ambient, toward_eye, toward_key] = studio::CHART;
                albedo * ((ambient + toward_eye * facing + toward_key * key) * (0.6 + 0.4 * occlusion))
            }
            Finish::Studio => self.studio(albedo, surface.normal(), surface.offset_from_eye(), occlusion),
        };
        if let Some(wire) = &mesh.wire {
            // Each of two faces draws its half.
            let distance = setup.edge_distance(x, y) as f32;
            let coverage = (0.5 * wire.width + 0.5 - distance).clamp(0.0, 1.0) * wire.opacity.clamp(0.0, 1.0);
            rgb += (Vec3::from(wire.color).extend(1.0) - rgb) * coverage;
        }
        rgb.truncate().extend(1.0)
    }

    /// Light on a surface. Colours are four lanes wide, the last without meaning.
    fn studio(&self, albedo: Vec4, n: Vec3, from_eye: Vec3, occlusion: f32) -> Vec4 {
        const KEY: Vec4 = lanes(studio::KEY);
        const FILL: Vec4 = lanes(studio::FILL);
        const RIM: Vec4 = lanes(studio::RIM);
        const SKY: Vec4 = lanes(studio::SKY);
        const FLOOR: Vec4 = lanes(studio::FLOOR);
        const WRAP: Vec4 = lanes(studio::WRAP);
        const WRAP_SCALE: Vec4 = lanes(studio::WRAP_SCALE);

        let to_eye = self.to_eye(from_eye);
        let facing = n.dot(to_eye).clamp(0.0, 1.0);
        let shadow = self.shadow.as_ref().map_or(1.0, |s| {
            1.0 + (s.light_on_surface(from_eye) - 1.0) * studio::SHADOW_ON_SURFACE * self.look.shadows
        });

        let toward_key = n.dot(self.lights.key);
        let wrapped = ((Vec4::splat(toward_key) + WRAP) * WRAP_SCALE).max(Vec4::ZERO);
        let key = KEY * wrapped * (shadow * (0.75 + 0.25 * occlusion));
        let fill = FILL * (0.5 + 0.5 * n.dot(self.lights.fill)).max(0.0);
        let sky = 0.5 + 0.5 * n.y;
        // Light that bounces in crevices takes on the surface's colour.
        let open = Vec4::ONE - (Vec4::ONE - albedo * studio::BOUNCE) * (1.0 - occlusion);
        let ambient = (FLOOR + (SKY - FLOOR) * sky) * open;
        let diffuse = albedo * (key + fill + ambient);

        let grazing = 1.0 - facing;
        let fresnel = grazing * grazing * grazing * grazing;
        let behind = (0.3 + 0.7 * n.dot(self.lights.rim)).max(0.0);
        let rim = RIM * (fresnel * behind * occlusion) * (Vec4::splat(0.35) + albedo * 0.65);

        let glint = if toward_key > 0.0 {
            let half = (self.lights.key + to_eye).normalize_or(n);
            power_24(n.dot(half).max(0.0)) * toward_key * shadow
        } else {
            0.0
        };
        shoulder(diffuse + rim + Vec4::splat(studio::GLINT * glint))
    }

    /// Colour and opacity of a ghost.
    fn veil(&self, layer: &Layer, setup: &Setup, x: f64, y: f64) -> (Vec3, f32) {
        let ghost = &self.view.scene.ghosts[setup.mesh as usize];
        let surface = layer.surface(&self.view.ghost_meshes, setup, setup.barycentrics(x, y));
        let n = surface.normal();
        let facing = n.dot(self.to_eye(surface.offset_from_eye())).clamp(0.0, 1.0);
        let grazing = 1.0 - facing;
        let [everywhere, toward_key] = studio::VEIL_LIGHT;
        let light = everywhere + toward_key * n.dot(self.lights.key).max(0.0);
        let [flat, outline] = studio::VEIL_OPACITY;
        let alpha = ghost.opacity.clamp(0.0, 1.0) * (flat + outline * grazing * grazing);
        (Vec3::from(ghost.tint) * light, alpha.min(1.0))
    }

    /// Number of a ghost's samples that are seen, those behind surfaces counted by their part.
    fn unhidden(&self, [solid, ghost]: [&[f32]; 2], members: u32, through: f32) -> f32 {
        let projector = &self.view.projector;
        let first = usize::from(solid.len() > 1);
        (first..solid.len())
            .filter(|s| members >> s & 1 == 1)
            .map(|s| {
                if solid[s] == f32::NEG_INFINITY {
                    return 1.0;
                }
                let [front, back] = [solid[s], ghost[s]].map(|key| projector.depth_of_key(f64::from(key)));
                // Gradual, so that surfaces that nearly coincide do not flicker through each other.
                let seen = (0.5 + (front - back) / self.veil_depth).clamp(0.0, 1.0) as f32;
                seen + (1.0 - seen) * through.clamp(0.0, 1.0)
            })
            .sum()
    }
}

/// Visits the surfaces among a pixel's samples: a triangle, the set of its samples, and the set of samples it is
/// shaded for. Triangles that are `alike` are shaded as one, by the one at the centre where that is among them; the
/// centre (bit 0) takes part in the sets without counting.
fn for_each_surface<const N: usize>(
    ids: &[u32; N],
    alike: impl Fn(u32, u32) -> bool,
    mut visit: impl FnMut(u32, u32, u32),
) {
    let all = (1 << N) - 1;
    if *ids == [ids[0]; N] {
        if ids[0] != Layer::NONE {
            visit(ids[0], all, all);
        }
        return;
    }
    let mut done = ids.iter().enumerate().fold(0, |set, (s, &id)| set | u32::from(id == Layer::NONE) << s);
    while done != all {
        let id = ids[(!done).trailing_zeros() as usize];
        let set = |belongs: &dyn Fn(u32) -> bool| {
            ids.iter().enumerate().fold(0, |set, (s, &other)| set | u32::from(belongs(other)) << s)
        };
        let own = set(&|other| other == id);
        let shaded = set(&|other| other == id || (other != Layer::NONE && alike(id, other))) & !done;
        done |= shaded;
        visit(id, own, shaded);
    }
}

/// Three lanes and one without meaning.
const fn lanes([r, g, b]: [f32; 3]) -> Vec4 {
    Vec4::new(r, g, b, 0.0)
}

fn power_24(x: f32) -> f32 {
    let x2 = x * x;
    let x4 = x2 * x2;
    let x8 = x4 * x4;
    x8 * x8 * x8
}

/// Linear up to a knee, then towards 1 without reaching it.
fn shoulder(c: Vec4) -> Vec4 {
    const KNEE: f32 = studio::KNEE;
    if c.cmple(Vec4::splat(KNEE)).all() {
        return c;
    }
    let over = (c - KNEE).max(Vec4::ZERO) / (1.0 - KNEE);
    c.min(Vec4::splat(KNEE)) + (over / (Vec4::ONE + over)) * (1.0 - KNEE)
}
