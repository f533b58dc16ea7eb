//! Scenes to draw on both sides.

use glam::{DAffine3, DVec3, Vec2, Vec3};
use sinew_gltf::{Asset, Surfaces, TextureWrap};
use sinew_render::*;

/// A mesh's own data.
#[derive(Default)]
pub struct Piece {
    pub positions: Vec<Vec3>,
    pub normals: Vec<Vec3>,
    pub uvs: Vec<Vec2>,
    pub colors: Vec<[f32; 4]>,
    pub triangles: Vec<[u32; 3]>,
    pub base_color: [f32; 4],
    pub texture: Option<Texture>,
    pub double_sided: bool,
    pub alpha_cutoff: Option<f32>,
}

impl Piece {
    pub fn mesh(&self) -> Mesh<'_> {
        Mesh {
            uvs: (!self.uvs.is_empty()).then_some(&self.uvs),
            colors: (!self.colors.is_empty()).then_some(&self.colors),
            material: Material {
                base_color: self.base_color,
                texture: self.texture.as_ref(),
                double_sided: self.double_sided,
                alpha_cutoff: self.alpha_cutoff,
                finish: Finish::Studio,
            },
            ..Mesh::new(&self.positions, &self.normals, &self.triangles)
        }
    }

    /// A grid over (u, v) in the unit square, bent by `point`.
    fn bent(columns: u32, rows: u32, point: impl Fn(f32, f32) -> Vec3) -> Self {
        let mut piece = Self { base_color: [0.75, 0.3, 0.2, 1.0], ..Self::default() };
        for j in 0..=rows {
            for i in 0..=columns {
                let (u, v) = (i as f32 / columns as f32, j as f32 / rows as f32);
                let h = 1e-3;
                let across = point(u + h, v) - point(u - h, v);
                let along = point(u, v + h) - point(u, v - h);
                piece.positions.push(point(u, v));
                piece.normals.push(across.cross(along).normalize_or_zero());
                piece.uvs.push(Vec2::new(3.0 * u, 2.0 - 2.0 * v));
                piece.colors.push([1.0, 1.0 - 0.5 * u, 0.6 + 0.4 * v, 1.0]);
            }
        }
        for j in 0..rows {
            for i in 0..columns {
                let a = j * (columns + 1) + i;
                let (b, c, d) = (a + 1, a + columns + 2, a + columns + 1);
                piece.triangles.extend([[a, b, c], [a, c, d]]);
            }
        }
        piece
    }

    pub fn torus(radius: f32, tube: f32) -> Self {
        Self::bent(64, 28, |u, v| {
            let (a, b) = (u * std::f32::consts::TAU, v * std::f32::consts::TAU);
            let r = radius + tube * b.cos();
            Vec3::new(a.sin() * r, tube * b.sin(), a.cos() * r)
        })
    }

    pub fn sphere(radius: f32) -> Self {
        Self::bent(48, 32, |u, v| {
            let (a, b) = (u * std::f32::consts::TAU, (v - 0.5) * std::f32::consts::PI * 0.9999);
            Vec3::new(a.sin() * b.cos(), b.sin(), a.cos() * b.cos()) * radius
        })
    }
}

/// A built-in character at rest.
pub fn built_in(name: &str) -> Vec<Piece> {
    let character = sinew_zoo::build(name).unwrap();
    let primitives = character.raw.meshes.into_iter().flat_map(|mesh| mesh.primitives);
    primitives
        .map(|primitive| Piece {
            positions: primitive.positions,
            normals: primitive.normals.unwrap_or_default(),
            triangles: primitive.triangles,
            base_color: primitive.color,
            ..Piece::default()
        })
        .collect()
}

/// A real character at rest, as its mesh stands in the file, with its textures.
pub fn real(path: &str) -> Option<Vec<Piece>> {
    let asset = Asset::open(sinew_testkit::assets::asset(path)?).unwrap();
    let nodes: Vec<usize> = asset.rig.parts().iter().map(|part| part.node).collect();
    let (surfaces, _) = Surfaces::read(asset.document.as_ref().unwrap(), nodes.iter().copied());
    let wrap = |wrap: TextureWrap| match wrap {
        TextureWrap::Repeat => Wrap::Repeat,
        TextureWrap::Mirror => Wrap::Mirror,
        TextureWrap::Clamp => Wrap::Clamp,
    };
    let mut pieces = Vec::new();
    for (mesh, node) in asset.raw.meshes.into_iter().zip(nodes) {
        for (index, primitive) in mesh.primitives.into_iter().enumerate() {
            let surface = surfaces.get(node, index).cloned().unwrap_or_default();
            let texture = surface.texture.as_ref();
            let decode = |used: &sinew_gltf::TextureUse| {
                Texture::decode(&surfaces.images[used.image], used.wrap.map(wrap)).unwrap()
            };
            pieces.push(Piece {
                texture: texture.map(decode),
                uvs: texture.map_or_else(Vec::new, |used| used.coordinates.clone()),
                colors: surface.colors.clone().unwrap_or_default(),
                positions: primitive.positions,
                normals: primitive.normals.unwrap_or_default(),
                triangles: primitive.triangles,
                base_color: surface.base_color,
                double_sided: surface.double_sided,
                alpha_cutoff: surface.alpha_cutoff,
            });
        }
    }
    Some(pieces)
}

/// Points swayed, as if by a deformer.
pub fn swayed(pieces: &[Piece], gain: f32) -> Vec<Vec<Vec3>> {
    let sway = |p: &Vec3| *p + Vec3::new(0.35 * p.y * p.y, 0.0, 0.25 * p.y) * gain;
    pieces.iter().map(|piece| piece.positions.iter().map(sway).collect()).collect()
}

/// Spots of colour with holes between.
fn spots(has_holes: bool) -> Texture {
    let size = Size::new(192, 160).unwrap();
    let pixel = |i: u32| {
        let (x, y) = (i % 192, i / 192);
        let odd = (x / 24 + y / 20) % 2 == 1;
        if odd { [52, 116, 140, if has_holes { 0 } else { 255 }] } else { [233, 226, 208, 255] }
    };
    let image = Image::from_pixels(size, (0..192 * 160).map(pixel).collect()).unwrap();
    Texture::new(&image, [Wrap::Repeat, Wrap::Mirror])
}

pub fn framed(scene: &Scene<'_>, view: View, lens: FramingLens, size: Size) -> Camera {
    let mut framing = Framing::new(view, lens, size);
    for mesh in scene.meshes.iter().chain(scene.ghosts.iter().map(|ghost| &ghost.mesh)) {
        mesh.world_positions().for_each(|p| framing.include(p));
    }
    framing.camera()
}

/// Calls `visit` with each scene: its name, itself, its camera and look.
pub fn each(size: Size, mut visit: impl FnMut(&str, &Scene<'_>, &Camera, &Look)) {
    let look = Look::default();
    let lens = FramingLens::default();
    let calf = built_in("calf");
    {
        let scene = Scene { meshes: calf.iter().map(Piece::mesh).collect(), ..Scene::default() };
        visit("calf", &scene, &framed(&scene, View::ThreeQuarter, lens, size), &look);
    }
    {
        let dancer = built_in("dancer");
        let moved = swayed(&dancer, 0.25);
        let meshes =
            dancer.iter().zip(&moved).map(|(piece, moved)| Mesh { positions: moved, ..piece.mesh() }).collect();
        let ghosts = dancer.iter().map(|piece| Ghost::new(piece.mesh())).collect();
        let scene = Scene { meshes, ghosts, ..Scene::default() };
        visit("dancer with a ghost", &scene, &framed(&scene, View::Front, lens, size), &look);
    }
    {
        let moved = swayed(&calf, 0.6);
        let meshes: Vec<_> =
            calf.iter().zip(&moved).map(|(piece, moved)| Mesh { positions: moved, ..piece.mesh() }).collect();
        let [low, high] = meshes[0]
            .world_positions()
            .fold([DVec3::INFINITY, DVec3::NEG_INFINITY], |[low, high], p| [low.min(p), high.max(p)]);
        let at = |x: f64, y: f64, z: f64| low + (high - low) * DVec3::new(x, y, z);
        let origins = [at(0.5, 0.3, 0.2), at(0.5, 0.5, 0.5), at(0.5, 0.6, 0.8), at(0.5, 0.95, 1.05), at(0.9, 0.1, 0.3)];
        let parents = [None, Some(0), Some(1), Some(2), Some(0)];
        let (mut lines, dots) = skeleton(&origins, &parents, &SkeletonStyle::default());
        for (start, end) in calf[0].positions.iter().zip(&moved[0]).step_by(97) {
            let path: Vec<DVec3> = (0..30).map(|t| start.lerp(*end, t as f32 / 29.0).as_dvec3()).collect();
            lines.push(Line::trajectory(&path, [0.75, 0.05, 0.10], 3.0));
        }
        let scene = Scene { meshes, lines, dots, ..Scene::default() };
        visit("calf with a skeleton and paths", &scene, &framed(&scene, View::Side, lens, size), &look);
    }
    {
        let snail = built_in("snail");
        let values: Vec<Vec<f32>> =
            snail.iter().map(|piece| piece.positions.iter().map(|p| p.y - 0.3 * p.z).collect()).collect();
        let scale = Scale::fit(values.iter().flatten().copied(), Palette::Viridis);
        let colors: Vec<_> = values.iter().map(|values| scale.colors(values)).collect();
        let mut scene = Scene::default();
        for (piece, colors) in snail.iter().zip(&colors) {
            let mut mesh = piece.mesh();
            mesh.material = Material { base_color: [1.0; 4], finish: Finish::Chart, ..Material::default() };
            mesh.colors = Some(colors);
            mesh.wire = Some(Wire::default());
            scene.meshes.push(mesh);
        }
        visit("snail as heat with a wire", &scene, &framed(&scene, View::ThreeQuarter, lens, size), &look);
    }
    {
        let sphere = Piece {
            texture: Some(spots(true)),
            alpha_cutoff: Some(0.5),
            double_sided: true,
            base_color: [1.0; 4],
            ..Piece::sphere(0.5)
        };
        let torus = Piece { texture: Some(spots(false)), base_color: [1.0; 4], ..Piece::torus(0.5, 0.2) };
        let plain = Piece { normals: vec![], uvs: vec![], ..Piece::torus(0.4, 0.18) };
        let turned = DAffine3::from_rotation_x(0.7);
        let mirrored = DAffine3::from_scale(DVec3::new(-1.0, 1.3, 1.0));
        let mut scene = Scene::default();
        scene.meshes.push(Mesh { transform: DAffine3::from_translation(DVec3::new(-1.05, 0.5, 0.0)), ..sphere.mesh() });
        scene
            .meshes
            .push(Mesh { transform: DAffine3::from_translation(DVec3::new(0.2, 0.6, 0.3)) * turned, ..torus.mesh() });
        scene.meshes.push(Mesh {
            transform: DAffine3::from_translation(DVec3::new(1.2, 0.3, -0.4)) * mirrored,
            ..plain.mesh()
        });
        let camera = framed(&scene, View::Angles { azimuth: 0.4, elevation: 0.5 }, FramingLens::Orthographic, size);
        let look = Look { ground: Ground::At(-0.1), ..look };
        visit("textured solids, parallel", &scene, &camera, &look);
    }
    {
        let flower = built_in("flower");
        let scene = Scene { meshes: flower.iter().map(Piece::mesh).collect(), ..Scene::default() };
        let look = Look { background: Background::Transparent, ..look };
        visit("flower on nothing", &scene, &framed(&scene, View::Top, lens, size), &look);
    }
    if let Some(knight) = real("KayKit_Knight.glb") {
        let scene = Scene { meshes: knight.iter().map(Piece::mesh).collect(), ..Scene::default() };
        visit("knight", &scene, &framed(&scene, View::ThreeQuarter, lens, size), &look);
    }
}
