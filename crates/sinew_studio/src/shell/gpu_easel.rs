//! Pictures on the GPU that shows the window.

use crate::character::Character;
use crate::player::Frame as Moment;
use crate::shell::desk::ONIONS;
use eframe::egui;
use eframe::egui_wgpu::RenderState;
use glam::DAffine3;
use sinew::DeformedMesh;
use sinew_render::{Camera, Dot, Finish, Line, Look, Mesh, Size, Wire};
use sinew_view::{Cut, Draw, Frame, Model, Renderer, Target, Veil, ViewError};

/// Which of the two meshes of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Without effects.
    Base,
    /// With them.
    Result,
}

/// A mesh, and the part of the picture that it is drawn in; all of it where there is none.
pub type Placed = (Side, Option<Cut>);

/// What is drawn.
#[derive(Debug)]
pub struct Shot<'a> {
    /// Of whom.
    pub character: &'a Character,
    /// When.
    pub moment: Moment<'a>,
    /// Which meshes, and the part of the picture each is drawn in.
    pub sides: &'a [Placed],
    /// The base as a veil over them.
    pub ghost: bool,
    /// Skins of other moments as veils beside the result, in the order of [`ONIONS`].
    pub onions: &'a [DeformedMesh],
    /// Colours of the result's vertices in place of its materials.
    pub colors: Option<&'a [[f32; 4]]>,
    /// Edges.
    pub wire: bool,
    /// From where.
    pub camera: &'a Camera,
    /// In what light.
    pub look: &'a Look,
    /// Lines over it.
    pub lines: &'a [Line],
    /// Dots over it.
    pub dots: &'a [Dot],
}

/// Draws into textures that the window shows.
pub struct GpuEasel {
    state: RenderState,
    renderer: Renderer,
    /// Pictures, as many as are shown side by side.
    pictures: Vec<(Target, egui::TextureId)>,
    /// Base and result, by character; of the character that was drawn last.
    models: [Vec<Model>; 2],
    /// Other moments, by character.
    onions: Vec<Vec<Model>>,
}

impl GpuEasel {
    /// On the window's own device.
    pub fn new(state: &RenderState) -> Self {
        let renderer = Renderer::new(&state.device, &state.queue);
        Self { state: state.clone(), renderer, pictures: Vec::new(), models: Default::default(), onions: Vec::new() }
    }

    /// Another character comes.
    pub fn clear(&mut self) {
        self.models = Default::default();
        self.onions.clear();
    }

    /// Draws the picture of that number.
    pub fn draw(&mut self, number: usize, size: Size, shot: &Shot<'_>) -> Result<egui::TextureId, ViewError> {
        let characters = shot.character.asset.rig.characters().len();
        let mut wanted = [false; 2];
        shot.sides.iter().for_each(|(side, _)| wanted[index(*side)] = true);
        wanted[0] |= shot.ghost;
        for (side, mesh) in [(Side::Base, shot.moment.base), (Side::Result, shot.moment.result)] {
            let models = &mut self.models[index(side)];
            if !wanted[index(side)] {
                continue;
            }
            if models.len() != characters {
                models.clear();
                for character in 0..characters {
                    models.push(Model::new(&self.renderer, &meshes(shot.character, mesh, character))?);
                }
            }
            write(models, shot, side, mesh)?;
        }
        let has_onions = shot.sides.iter().any(|(side, _)| *side == Side::Result);
        let onions = if has_onions { shot.onions } else { &[] };
        for (order, mesh) in onions.iter().enumerate() {
            if self.onions.len() <= order {
                let made = (0..characters).map(|one| Model::new(&self.renderer, &meshes(shot.character, mesh, one)));
                self.onions.push(made.collect::<Result<_, _>>()?);
            }
            write(&mut self.onions[order], shot, Side::Base, mesh)?;
        }
        self.place(number, size)?;
        let mut draws = Vec::new();
        for (order, (side, cut)) in shot.sides.iter().enumerate() {
            let mesh = of(shot, *side);
            for (model, origin) in self.models[index(*side)].iter().zip(&mesh.origins) {
                let painted = *side == Side::Result && shot.colors.is_some();
                draws.push(Draw {
                    transform: DAffine3::from_translation(*origin),
                    wire: shot.wire.then(Wire::default),
                    paint: if painted { 1.0 } else { 0.0 },
                    finish: painted.then_some(Finish::Chart),
                    cut: *cut,
                    casts_shadow: order == 0,
                    ..Draw::new(model)
                });
            }
        }
        if shot.ghost {
            for (model, origin) in self.models[0].iter().zip(&shot.moment.base.origins) {
                let transform = DAffine3::from_translation(*origin);
                draws.push(Draw { transform, veil: Some(Veil::default()), casts_shadow: false, ..Draw::new(model) });
            }
        }
        for ((models, mesh), (_, tint, opacity)) in self.onions.iter().zip(onions).zip(ONIONS) {
            let veil = Some(Veil { tint, opacity, through: 0.0 });
            for (model, origin) in models.iter().zip(&mesh.origins) {
                let transform = DAffine3::from_translation(*origin);
                draws.push(Draw { transform, veil, casts_shadow: false, ..Draw::new(model) });
            }
        }
        let frame = Frame { camera: shot.camera, look: shot.look, draws: &draws, lines: shot.lines, dots: shot.dots };
        let (target, id) = &mut self.pictures[number];
        let mut encoder = self.state.device.create_command_encoder(&Default::default());
        self.renderer.draw(&mut encoder, target, &frame)?;
        self.state.queue.submit([encoder.finish()]);
        Ok(*id)
    }

    /// Room for the picture of that number, in that size.
    fn place(&mut self, number: usize, size: Size) -> Result<(), ViewError> {
        let Self { state, renderer, pictures, .. } = self;
        let mut shown = state.renderer.write();
        while pictures.len() <= number {
            let target = Target::new(renderer, size)?;
            let id = shown.register_native_texture(&state.device, &target.view(), wgpu::FilterMode::Linear);
            pictures.push((target, id));
        }
        let (target, id) = &mut pictures[number];
        if target.resize(renderer, size)? {
            let filter = wgpu::FilterMode::Linear;
            shown.update_egui_texture_from_wgpu_texture(&state.device, &target.view(), filter, *id);
        }
        Ok(())
    }
}

fn index(side: Side) -> usize {
    match side {
        Side::Base => 0,
        Side::Result => 1,
    }
}

fn of<'a>(shot: &Shot<'a>, side: Side) -> &'a DeformedMesh {
    match side {
        Side::Base => shot.moment.base,
        Side::Result => shot.moment.result,
    }
}

/// What is drawn of one of the characters in a file, in the space about its origin.
fn meshes<'a>(character: &'a Character, mesh: &'a DeformedMesh, number: usize) -> Vec<Mesh<'a>> {
    character.dressed(mesh).filter(|(piece, _)| piece.character == number).map(|(_, mesh)| mesh).collect()
}

fn write(models: &mut [Model], shot: &Shot<'_>, side: Side, mesh: &DeformedMesh) -> Result<(), ViewError> {
    let mut counts = vec![0; models.len()];
    for piece in &shot.character.pieces {
        let Some(model) = models.get_mut(piece.character) else { continue };
        let number = counts[piece.character];
        counts[piece.character] += 1;
        model.write(number, &mesh.positions[piece.vertices.clone()], &mesh.normals[piece.vertices.clone()])?;
        if let Some(colors) = shot.colors.filter(|_| side == Side::Result) {
            model.write_colors(number, &colors[piece.vertices.clone()])?;
        }
    }
    Ok(())
}
