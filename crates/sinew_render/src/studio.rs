//! What the look is tuned by: lights, shadows, darkness under feet and in crevices, as numbers. Whoever else draws the same
//! scenes takes them from here, so that pictures agree.

use crate::camera::Camera;
use glam::{DAffine3, DVec2, DVec3, Mat3, Vec3};

/// Linear RGB of the key light.
pub const KEY: [f32; 3] = [0.74, 0.70, 0.645];
/// Linear RGB of the fill.
pub const FILL: [f32; 3] = [0.07, 0.085, 0.11];
/// Linear RGB of the rim.
pub const RIM: [f32; 3] = [0.42, 0.46, 0.52];
/// Linear RGB of what comes from above.
pub const SKY: [f32; 3] = [0.27, 0.295, 0.335];
/// Linear RGB of what comes from below.
pub const FLOOR: [f32; 3] = [0.20, 0.18, 0.16];
/// How far the key light wraps around the terminator.
pub const WRAP: [f32; 3] = [0.30, 0.19, 0.14];
/// 1/(1 + [`WRAP`]).
pub const WRAP_SCALE: [f32; 3] = [1.0 / 1.30, 1.0 / 1.19, 1.0 / 1.14];
/// Strength of the highlight.
pub const GLINT: f32 = 0.07;
/// Linear light up to here, then towards 1 without reaching it.
pub const KNEE: f32 = 0.72;
/// Share of albedo in light that bounces in crevices.
pub const BOUNCE: f32 = 0.45;
/// Of a chart: light everywhere, where it faces the eye, and towards the key light.
pub const CHART: [f32; 3] = [0.58, 0.22, 0.24];
/// Of a ghost: light everywhere and towards the key light.
pub const VEIL_LIGHT: [f32; 2] = [0.75, 0.35];
/// Of a ghost: opacity everywhere, and towards its outline.
pub const VEIL_OPACITY: [f32; 2] = [0.7, 1.3];
/// Length over which a ghost passes from behind a surface to before it, of the scene's size.
pub const VEIL_DEPTH: f64 = 0.004;

/// How much of the key light a shadow on a surface takes.
pub const SHADOW_ON_SURFACE: f32 = 0.85;
/// How much a shadow that is cast darkens the ground.
pub const SHADOW_ON_GROUND: f32 = 0.26;
/// Shadows keep some of the sky's blue: how much of red, green and blue they take.
pub const SHADOW_TINT: [f32; 3] = [1.0, 0.97, 0.92];
/// Light that arrives is cut below this part and stretched, against light that bleeds through two layers.
pub const BLEEDING: f32 = 0.3;
/// A surface this far (of the map's depth) behind what the light sees is still lit by it.
pub const SHADOW_BIAS: f32 = 0.012;
/// Least variance of a shadow map's depth.
pub const LEAST_VARIANCE: f32 = 2e-5;
/// Part of the size above which nothing darkens the ground.
pub const CONTACT_REACH: f64 = 0.12;
/// Of the darkness under feet: the rim's strength and how far it reaches out from under a foot, where half of the blurred
/// light is already lost, and the strength of what is wide.
pub const CONTACT: [f32; 3] = [0.55, 1.8, 0.5];

/// Radius of darkening in crevices, of the scene's size.
pub const OCCLUSION_REACH: f64 = 0.07;
/// Pixels per node of occlusion in each direction: what is hidden changes slowly.
pub const OCCLUSION_STEP: usize = 3;
/// Places looked at around each node.
pub const OCCLUSION_TAPS: usize = 8;
/// Turns of the spiral those lie on.
pub const OCCLUSION_TURNS: usize = 16;
/// Against surfaces that hide themselves where they are merely coarse.
pub const OCCLUSION_BETA: f32 = 0.06;

/// Cells along a side of a shadow's grid, in a picture of so many rows.
pub fn shadow_side(rows: u32) -> usize {
    (rows as usize * 3 / 8).clamp(96, 768)
}

/// Radii in cells of what is blurred, by the grid's side: shadows on surfaces, then on the ground; the darkness under feet,
/// then what is wide of it.
pub fn blur_radii(side: usize) -> [usize; 4] {
    [160, 40, 70, 26].map(|part| (side / part).max(1))
}

/// The ways to the lights, which are attached to the camera.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lights {
    /// To the key light.
    pub key: Vec3,
    /// To the fill.
    pub fill: Vec3,
    /// To the rim.
    pub rim: Vec3,
}

impl Lights {
    /// Of a camera.
    pub fn of(camera: &Camera) -> Self {
        let along = |x: f64, y: f64, z: f64| {
            // Up is the world's as long as the camera does not look along it.
            let level = DVec3::Y - camera.back() * camera.back().y;
            let up = if level.length() > 0.3 { DVec3::Y } else { camera.up() };
            let back = up.cross(camera.right()) * -1.0;
            let toward = if back.dot(camera.back()) < 0.0 { -back } else { back };
            (camera.right() * x + up * y + toward * z).normalize_or(DVec3::Y).as_vec3()
        };
        // From above, a light above the picture's top would throw shadows as long as the character is tall.
        let key = if camera.back().y > 0.9 { along(-0.45, 0.45, 1.0) } else { along(-0.62, 0.95, 0.72) };
        Self { key, fill: along(0.85, 0.25, 0.55), rim: along(0.55, 0.55, -0.75) }
    }
}

/// The square across a direction over which a grid of shadows lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Square {
    /// Across, along, and what depth is measured by.
    pub axes: [DVec3; 3],
    /// Where it starts, along the first two axes.
    pub origin: DVec2,
    /// Length of a side.
    pub extent: f64,
    /// Where depth is 0 and 1, along the third axis.
    pub depth_range: [f64; 2],
}

impl Square {
    /// The square seen from the light, and the depth along it from 0 (nearest) to 1, of what a box bounds.
    pub fn of_light(toward_light: DVec3, bounds: [DVec3; 2]) -> Self {
        let z = toward_light;
        let x = z.any_orthonormal_vector();
        let axes = [x, z.cross(x), z];
        let center = 0.5 * (bounds[0] + bounds[1]);
        let radius = (0.5 * (bounds[1] - bounds[0]).length()).max(f64::MIN_POSITIVE);
        let [cx, cy, cz] = axes.map(|a| a.dot(center));
        // Room for the blur, so that shadows end before the map does.
        let extent = 2.0 * radius * 1.15;
        let origin = DVec2::new(cx, cy) - 0.5 * extent;
        Self { axes, origin, extent, depth_range: [cz + radius, cz - radius] }
    }

    /// The square on the ground under a box, and the height above it from 0 to 1, where it darkens nothing.
    pub fn of_ground(height: f64, bounds: [DVec3; 2]) -> Self {
        let diagonal = (bounds[1] - bounds[0]).length().max(f64::MIN_POSITIVE);
        let center = 0.5 * (bounds[0] + bounds[1]);
        let footprint = bounds[1] - bounds[0];
        let extent = footprint.x.max(footprint.z) + 0.5 * diagonal;
        let origin = DVec2::new(center.x, center.z) - 0.5 * extent;
        let depth_range = [height, height + CONTACT_REACH * diagonal];
        Self { axes: [DVec3::X, DVec3::Z, DVec3::Y], origin, extent, depth_range }
    }

    /// Across the square, and the depth.
    pub fn place(&self, p: DVec3) -> DVec3 {
        let [x, y, z] = self.axes.map(|a| a.dot(p));
        let [near, far] = self.depth_range;
        DVec3::new(x, y, (z - near) / (far - near))
    }
}

/// Where the taps of occlusion lie, as parts of its reach, turn by turn.
pub fn occlusion_spirals() -> [[[f32; 2]; OCCLUSION_TAPS]; OCCLUSION_TURNS] {
    // Turns of pixels next to each other lie far apart.
    const ORDER: [usize; OCCLUSION_TURNS] = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];
    const GOLDEN_ANGLE: f64 = 2.399963229728653;
    ORDER.map(|turn| {
        let turn = turn as f64 / OCCLUSION_TURNS as f64;
        std::array::from_fn(|i| {
            let radius = (i as f64 + 0.3 + 0.7 * turn) / OCCLUSION_TAPS as f64;
            let angle = GOLDEN_ANGLE * i as f64 + std::f64::consts::TAU * turn;
            [(radius * libm::cos(angle)) as f32, (radius * libm::sin(angle)) as f32]
        })
    })
}

/// Carries normals of a mesh outward into the world: the cofactor matrix, which is the inverse transpose without its
/// division, scaled to be harmless in f32.
pub fn normals_to_world(transform: &DAffine3) -> Mat3 {
    let m = transform.matrix3;
    let [x, y, z] = [m.x_axis, m.y_axis, m.z_axis];
    let side = if x.cross(y).dot(z) < 0.0 { -1.0 } else { 1.0 };
    let columns = [y.cross(z), z.cross(x), x.cross(y)];
    let largest = columns.iter().map(|c| c.abs().max_element()).fold(0.0, f64::max);
    let [x, y, z] = columns.map(|c| if largest > 0.0 { (c * (side / largest)).as_vec3() } else { Vec3::ZERO });
    Mat3::from_cols(x, y, z)
}
