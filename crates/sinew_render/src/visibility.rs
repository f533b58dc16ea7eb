//! What each sample of the picture sees: the nearest triangle, or nothing. Everything else (colour, buffers, picking)
//! reads this.
//!
//! The picture is worked in bands of rows, each by one thread and in the scene's order, so the result does not depend
//! on the number of threads.

use crate::camera::{Camera, Projected, Projector};
use crate::clip::clip;
use crate::image::Size;
use crate::raster::{EIGHT, FOUR, ONE, Pattern, Piece, SUBPIXEL, cover};
use crate::scene::{Mesh, Scene};
use crate::setup::Setup;
use crate::surface::{Corner, Surface, corners};
use rayon::prelude::*;

/// Rows worked at a time.
pub(crate) const BAND: usize = 16;

/// Samples per pixel that make up the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Antialias {
    /// One: jagged edges, quickest.
    Off,
    /// Four.
    #[default]
    Four,
    /// Eight: finest edges.
    Eight,
}

impl Antialias {
    pub(crate) fn pattern(self) -> Pattern {
        match self {
            Self::Off => Pattern::One,
            Self::Four => Pattern::Four,
            Self::Eight => Pattern::Eight,
        }
    }
}

/// The nearest surfaces of some meshes.
pub(crate) struct Layer {
    /// Per mesh.
    corners: Vec<Vec<Corner>>,
    pub setups: Vec<Setup>,
    /// Index into `setups` per pixel and sample, [`Layer::NONE`] where nothing is seen.
    pub ids: Vec<u32>,
    /// Depth key per pixel and sample.
    pub keys: Vec<f32>,
}

impl Layer {
    pub const NONE: u32 = u32::MAX;

    /// The point of a triangle of these meshes that is seen at a place of the picture.
    pub fn surface<'a>(&'a self, meshes: &'a [Mesh<'a>], setup: &Setup, weights: [f64; 3]) -> Surface<'a> {
        let mesh = setup.mesh as usize;
        Surface::new(&meshes[mesh], &self.corners[mesh], setup, weights)
    }

    /// Whether light passes smoothly from one triangle to the other: they have a vertex, and so its normal, in common.
    pub fn alike(&self, meshes: &[Mesh<'_>], a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|id| &self.setups[id as usize]);
        if a.mesh != b.mesh || a.back != b.back {
            return false;
        }
        let mesh = &meshes[a.mesh as usize];
        let [a, b] = [a, b].map(|setup| &mesh.triangles[setup.triangle as usize]);
        mesh.wire.is_none() && !mesh.normals.is_empty() && a.iter().any(|corner| b.contains(corner))
    }

    fn new(meshes: &[Mesh<'_>], projector: &Projector, size: Size, pattern: Pattern) -> Self {
        let (setups, pieces) = prepare(meshes, projector, size);
        let corners = meshes.iter().map(|mesh| corners(mesh, projector.camera().eye())).collect();
        let bands = (size.height() as usize).div_ceil(BAND);
        let mut bins = vec![Vec::new(); bands];
        for (i, piece) in pieces.iter().enumerate() {
            let rows = piece.rows();
            let first = rows.start.max(0) as usize / BAND;
            let last = (rows.end.max(1) - 1) as usize / BAND;
            for bin in bins.iter_mut().take(last + 1).skip(first) {
                bin.push(i);
            }
        }
        let samples = pattern.samples();
        let mut ids = vec![Self::NONE; size.pixels() * samples];
        let mut keys = vec![f32::NEG_INFINITY; size.pixels() * samples];
        let chunk = size.width() as usize * BAND * samples;
        ids.par_chunks_mut(chunk).zip(keys.par_chunks_mut(chunk)).zip(bins.par_iter()).enumerate().for_each(
            |(band, ((ids, keys), bin))| {
                let first = (band * BAND) as i64;
                let rows = first..(first + BAND as i64).min(i64::from(size.height()));
                let mut band = Band { rows, width: i64::from(size.width()), ids, keys };
                for &piece in bin {
                    let piece = &pieces[piece];
                    let setup = &setups[piece.setup as usize];
                    let mesh = &meshes[setup.mesh as usize];
                    match pattern {
                        Pattern::One => band.draw(piece, setup, mesh, &ONE),
                        Pattern::Four => band.draw(piece, setup, mesh, &FOUR),
                        Pattern::Eight => band.draw(piece, setup, mesh, &EIGHT),
                    }
                }
            },
        );
        Self { corners, setups, ids, keys }
    }
}

/// A band of rows on its way.
struct Band<'a> {
    rows: std::ops::Range<i64>,
    width: i64,
    ids: &'a mut [u32],
    keys: &'a mut [f32],
}

impl Band<'_> {
    fn draw<const N: usize>(&mut self, piece: &Piece, setup: &Setup, mesh: &Mesh<'_>, offsets: &[(i64, i64); N]) {
        let Self { rows, width, ids, keys } = self;
        let (ids, _) = ids.as_chunks_mut::<N>();
        let (keys, _) = keys.as_chunks_mut::<N>();
        let first = rows.start;
        let keys_at = setup.keys(offsets);
        let holes = mesh.material.alpha_cutoff.is_some();
        cover(piece, rows.clone(), *width, offsets, |x, y, mut mask| {
            let at = ((y - first) * *width + x) as usize;
            let new = keys_at(x, y);
            if holes {
                for (s, (ox, oy)) in offsets.iter().enumerate() {
                    let place = |v: i64, offset: &i64| v as f64 + 0.5 + *offset as f64 / SUBPIXEL as f64;
                    if mask >> s & 1 == 1 && !solid(mesh, setup, place(x, ox), place(y, oy)) {
                        mask &= !(1 << s);
                    }
                }
            }
            let (ids, keys) = (&mut ids[at], &mut keys[at]);
            for s in 0..N {
                let nearer = mask >> s & 1 == 1 && new[s] > keys[s];
                keys[s] = if nearer { new[s] } else { keys[s] };
                ids[s] = if nearer { piece.setup } else { ids[s] };
            }
        });
    }
}

/// Whether the material has no hole there.
fn solid(mesh: &Mesh<'_>, setup: &Setup, x: f64, y: f64) -> bool {
    let Some(cutoff) = mesh.material.alpha_cutoff else { return true };
    let weights = setup.barycentrics(x, y);
    Surface::new(mesh, &[], setup, weights).color(|| setup.barycentric_slopes(weights, x, y))[3] >= cutoff
}

/// Triangles that may be seen, and their pieces in the picture, both in the scene's order.
fn prepare(meshes: &[Mesh<'_>], projector: &Projector, size: Size) -> (Vec<Setup>, Vec<Piece>) {
    const CHUNK: usize = 4096;
    let (mut setups, mut pieces) = (Vec::new(), Vec::new());
    for (m, mesh) in meshes.iter().enumerate() {
        let projected: Vec<Projected> = mesh
            .positions
            .par_iter()
            .with_min_len(CHUNK)
            .map(|p| projector.project(mesh.transform.transform_point3(p.as_dvec3())))
            .collect();
        let mirrored = mesh.transform.matrix3.determinant() < 0.0;
        let parts: Vec<_> = mesh
            .triangles
            .par_chunks(CHUNK)
            .enumerate()
            .map(|(chunk, triangles)| {
                let (mut setups, mut pieces) = (Vec::new(), Vec::new());
                for (i, triangle) in triangles.iter().enumerate() {
                    let [Some(a), Some(b), Some(c)] = triangle.map(|v| projected.get(v as usize)) else { continue };
                    let corners = [*a, *b, *c];
                    let index = (chunk * CHUNK + i) as u32;
                    if let Some(setup) = Setup::new(m as u32, index, mirrored, &corners, projector)
                        && (mesh.material.double_sided || !setup.back)
                        && add_pieces(&corners, setups.len() as u32, projector, size, &mut pieces)
                    {
                        setups.push(setup);
                    }
                }
                (setups, pieces)
            })
            .collect();
        for (part_setups, part_pieces) in parts {
            let base = setups.len() as u32;
            pieces.extend(part_pieces.into_iter().map(|p: Piece| Piece { setup: p.setup + base, ..p }));
            setups.extend(part_setups);
        }
    }
    (setups, pieces)
}

/// Adds what the picture shows of a triangle; `false` if that is nothing.
fn add_pieces(
    corners: &[Projected; 3],
    setup: u32,
    projector: &Projector,
    size: Size,
    pieces: &mut Vec<Piece>,
) -> bool {
    let (width, height) = (f64::from(size.width()), f64::from(size.height()));
    let near = projector.camera().near();
    let beyond = |outside: fn(&Projected, f64) -> bool, limit: f64| corners.iter().all(|p| outside(p, limit));
    if beyond(|p, near| p.depth < near, near)
        || beyond(|p, _| p.x < 0.0, 0.0)
        || beyond(|p, _| p.y < 0.0, 0.0)
        || beyond(|p, width| p.x > width * p.w, width)
        || beyond(|p, height| p.y > height * p.w, height)
    {
        return false;
    }
    let polygon = clip(corners, near, width, height);
    let pixel = |p: &Projected| [p.x / p.w, p.y / p.w];
    let before = pieces.len();
    if let [first, rest @ ..] = polygon.corners() {
        for pair in rest.windows(2) {
            pieces.extend(Piece::new(setup, [pixel(first), pixel(&pair[0]), pixel(&pair[1])]));
        }
    }
    pieces.len() > before
}

/// A scene seen by a camera. Make it once, then ask for colour, buffers or picks.
pub struct Visibility<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) ghost_meshes: Vec<Mesh<'a>>,
    pub(crate) projector: Projector,
    pub(crate) size: Size,
    pub(crate) pattern: Pattern,
    pub(crate) solid: Layer,
    pub(crate) ghost: Option<Layer>,
}

impl<'a> Visibility<'a> {
    /// Finds what is seen.
    pub fn new(scene: &'a Scene<'a>, camera: &Camera, size: Size, antialias: Antialias) -> Self {
        let projector = camera.projector(size);
        let pattern = antialias.pattern();
        let solid = Layer::new(&scene.meshes, &projector, size, pattern);
        let ghost_meshes: Vec<_> = scene.ghosts.iter().map(|g| g.mesh).collect();
        let ghost = (!ghost_meshes.is_empty()).then(|| Layer::new(&ghost_meshes, &projector, size, pattern));
        Self { scene, ghost_meshes, projector, size, pattern, solid, ghost }
    }

    /// Size of the picture.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The camera with the picture's size.
    pub fn projector(&self) -> &Projector {
        &self.projector
    }
}
