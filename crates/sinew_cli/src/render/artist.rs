//! Draws moments of a stage, all from one camera.

use super::scenery::{Moment, Scenery};
use super::survey::Survey;
use crate::fault::Fault;
use crate::render::args::{DISPLACEMENT, Viewpoint};
use crate::text::quoted;
use glam::{DAffine3, DVec3};
use sinew::DeformedMesh;
use sinew::correct::MuscleReport;
use sinew::text::nearest;
use sinew_render::{
    Antialias, Background, Camera, Finish, Framing, FramingLens, Ghost, Ground, Image, Line, Look, Material, Mesh,
    Palette, Scale, Scene, Size, SkeletonStyle, Visibility, Wire, draw_color_key, draw_legend, skeleton,
};
use sinew_show::{AnatomyColors, Bones, Garment, Piece, Wardrobe};
use std::f64::consts::TAU;

/// What to draw and how.
#[derive(Clone, Debug)]
pub struct Shot {
    pub size: Size,
    pub viewpoint: Viewpoint,
    pub ghost: bool,
    /// Displacement, or a painted map.
    pub heat: Option<String>,
    /// What parts are, in colours.
    pub anatomy: bool,
    /// Number of vertices.
    pub trajectories: usize,
    pub skeleton: bool,
    pub muscles: bool,
    pub wire: bool,
    pub transparent: bool,
}

impl Shot {
    /// The character and nothing else.
    pub fn plain(size: Size, viewpoint: Viewpoint) -> Self {
        Self {
            size,
            viewpoint,
            ghost: false,
            heat: None,
            anatomy: false,
            trajectories: 0,
            skeleton: false,
            muscles: false,
            wire: false,
            transparent: false,
        }
    }
}

/// Which of the two meshes of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Base,
    Result,
}

/// Colour of muscles, linear RGBA, and points of their rings.
const MUSCLE: [f32; 4] = [0.75, 0.08, 0.10, 1.0];
const RING: u32 = 48;

/// A primitive to draw, and what it wears.
type Dressed<'a> = (Piece, Garment<'a>);

enum Heat {
    Displacement,
    /// Per vertex, with the map's name.
    Painted(Vec<f32>, String),
}

/// Draws any moment of a stage.
pub struct Artist<'a> {
    stage: &'a Scenery<'a>,
    shot: Shot,
    pieces: Vec<Dressed<'a>>,
    camera: Camera,
    look: Look,
    survey: Survey,
    heat: Option<(Heat, Scale)>,
    roles: Option<AnatomyColors>,
    bones: Option<Bones>,
    muscles: Vec<MuscleReport>,
}

impl<'a> Artist<'a> {
    /// Looks over the clip and the moments to be `drawn`, and sets up the camera.
    pub fn new(stage: &'a Scenery<'a>, wardrobe: &'a Wardrobe, shot: Shot, drawn: &[f64]) -> Result<Self, Fault> {
        let rig = &stage.scene.rig;
        let empty = Framing::new(shot.viewpoint.view, FramingLens::default(), shot.size);
        let survey = Survey::new(stage, drawn, &empty, shot.trajectories);
        let camera = match shot.viewpoint.distance {
            None => survey.framing.camera(),
            Some(sizes) => {
                let size = rig.characters().iter().map(|c| c.size).fold(0.0, f64::max);
                survey.framing.camera_at(sizes * size).map_err(|error| Fault::Usage(format!("--view: {error}")))?
            }
        };
        let ground = if survey.ground.is_finite() { Ground::At(survey.ground) } else { Ground::None };
        let mut look = Look { ground, ..Look::default() };
        if shot.transparent {
            look.background = Background::Transparent;
        }
        let wear = |piece: Piece| {
            let part = rig.parts().iter().find(|part| part.node == piece.node);
            let primitive = part.and_then(|part| part.primitives.get(piece.primitive))?;
            let garment = wardrobe.garment(piece.node, piece.primitive, primitive);
            Some((piece, garment))
        };
        let pieces: Vec<_> = Piece::all(rig).into_iter().filter_map(wear).collect();
        let heat = shot.heat.as_deref().map(|name| heat(stage, &survey, name)).transpose()?;
        let roles = shot.anatomy.then(|| AnatomyColors::new(rig));
        let bones = shot.skeleton.then(|| Bones::new(rig));
        let muscles = if shot.muscles { stage.muscles() } else { Vec::new() };
        Ok(Self { stage, shot, pieces, camera, look, survey, heat, roles, bones, muscles })
    }

    pub fn size(&self) -> Size {
        self.shot.size
    }

    /// Farthest move of the skin over the clip, as a part of the character's size.
    pub fn farthest(&self) -> f64 {
        self.survey.farthest
    }

    /// Node and primitive of the mesh with this number in pictures.
    pub fn primitive(&self, mesh: u32) -> Option<(usize, usize)> {
        self.pieces.get(mesh as usize).map(|(piece, _)| (piece.node, piece.primitive))
    }

    /// The picture of one side of a moment.
    pub fn picture(&self, moment: &Moment, side: Side) -> Image {
        let mut image = self.seen(moment, side, |visibility| visibility.shade(&self.look));
        if let Some((heat, scale)) = self.heat.as_ref().filter(|_| side == Side::Result) {
            let label = match heat {
                Heat::Displacement => "displacement, % of size".to_owned(),
                Heat::Painted(_, name) => format!("map {name}"),
            };
            draw_legend(&mut image, scale, &label);
        }
        if let Some(roles) = &self.roles {
            draw_color_key(&mut image, &roles.key);
        }
        image
    }

    /// What every pixel of one side of a moment sees.
    pub fn seen<T>(&self, moment: &Moment, side: Side, ask: impl FnOnce(&Visibility<'_>) -> T) -> T {
        let mesh = match side {
            Side::Base => &moment.base,
            Side::Result => &moment.result,
        };
        let heat = self.heat.as_ref().filter(|_| side == Side::Result);
        let colors: Option<Vec<_>> = heat.map(|(heat, scale)| {
            self.pieces.iter().map(|(piece, _)| scale.colors(&self.values(heat, piece, moment))).collect()
        });
        let colors = colors.or_else(|| {
            let roles = self.roles.as_ref()?;
            Some(self.pieces.iter().map(|(piece, _)| roles.of_vertex[piece.vertices.clone()].to_vec()).collect())
        });
        let mut scene = Scene { meshes: self.meshes(mesh), ..Scene::default() };
        for (mesh, colors) in scene.meshes.iter_mut().zip(colors.iter().flatten()) {
            let sides = mesh.material.double_sided;
            mesh.material =
                Material { base_color: [1.0; 4], finish: Finish::Chart, double_sided: sides, ..<_>::default() };
            mesh.colors = Some(colors);
        }
        if self.shot.wire {
            scene.meshes.iter_mut().for_each(|mesh| mesh.wire = Some(Wire::default()));
        }
        if self.shot.ghost && side == Side::Result && self.stage.has_effects() {
            scene.ghosts = self.meshes(&moment.base).into_iter().map(Ghost::new).collect();
        }
        if let Some(bones) = &self.bones {
            let style = SkeletonStyle { width: 0.01 * self.thickness(), ..SkeletonStyle::default() };
            let origins: Vec<_> = bones.joints.iter().map(|&bone| moment.world.joint_origin(bone)).collect();
            (scene.lines, scene.dots) = skeleton(&origins, &bones.parents, &style);
        }
        if side == Side::Result {
            scene.lines.extend(self.muscles.iter().flat_map(|muscle| self.rings(muscle, moment)));
            scene.lines.extend(self.survey.trails(moment));
        }
        ask(&Visibility::new(&scene, &self.camera, self.shot.size, Antialias::Four))
    }

    /// The three great ellipses of a muscle.
    fn rings(&self, muscle: &MuscleReport, moment: &Moment) -> [Line; 3] {
        let from_ball = moment.world.world_from_bone(muscle.bone) * muscle.ellipsoid;
        [[DVec3::X, DVec3::Y], [DVec3::Y, DVec3::Z], [DVec3::Z, DVec3::X]].map(|[x, y]| {
            let on_ring = |k: u32| {
                let (s, c) = (TAU * f64::from(k) / f64::from(RING)).sin_cos();
                from_ball.transform_point3(x * c + y * s)
            };
            Line::new((0..=RING).map(on_ring), MUSCLE, 0.004 * self.thickness(), 0.6)
        })
    }

    /// The shorter side, in pixels: what widths of lines go by.
    fn thickness(&self) -> f32 {
        self.shot.size.width().min(self.shot.size.height()) as f32
    }

    fn meshes<'m>(&'m self, mesh: &'m DeformedMesh) -> Vec<Mesh<'m>> {
        let draw = |(piece, garment): &'m Dressed<'a>| {
            let (positions, normals) = (&mesh.positions[piece.vertices.clone()], &mesh.normals[piece.vertices.clone()]);
            Mesh {
                uvs: garment.uvs,
                colors: garment.colors,
                material: garment.material,
                transform: DAffine3::from_translation(mesh.origins[piece.character]),
                ..Mesh::new(positions, normals, &piece.triangles)
            }
        };
        self.pieces.iter().map(draw).collect()
    }

    fn values(&self, heat: &Heat, piece: &Piece, moment: &Moment) -> Vec<f32> {
        match heat {
            Heat::Painted(values, _) => values[piece.vertices.clone()].to_vec(),
            Heat::Displacement => {
                let size = self.stage.scene.rig.characters()[piece.character].size;
                let place = |mesh: &DeformedMesh, vertex| mesh.world_position(piece.character, vertex);
                let moved = |v| place(&moment.base, v).distance(place(&moment.result, v));
                piece.vertices.clone().map(|v| (100.0 * moved(v) / size) as f32).collect()
            }
        }
    }
}

fn heat(stage: &Scenery<'_>, survey: &Survey, name: &str) -> Result<(Heat, Scale), Fault> {
    let rig = &stage.scene.rig;
    if let Some(map) = rig.maps().iter().find(|map| map.name == name) {
        let values: Vec<f32> =
            rig.point_of_vertex().iter().map(|&slot| map.values.as_flattened()[slot as usize]).collect();
        let scale = Scale::fit(values.iter().copied(), Palette::Viridis);
        return Ok((Heat::Painted(values, name.to_owned()), scale));
    }
    if name == DISPLACEMENT {
        let scale = Scale::fit([(100.0 * survey.farthest) as f32], Palette::Viridis);
        return Ok((Heat::Displacement, scale));
    }
    let known: Vec<_> = rig.maps().iter().map(|map| map.name.as_str()).chain([DISPLACEMENT]).collect();
    let hint =
        nearest(name, known.iter().copied()).map_or(String::new(), |n| format!("; did you mean {}?", quoted(&n)));
    let known: Vec<_> = known.into_iter().map(quoted).collect();
    Err(Fault::Usage(format!(
        "{}: there is no map {}{hint} There are: {}",
        stage.scene.name,
        quoted(name),
        known.join(", ")
    )))
}
