//! One clip frame by frame, for modelling tools: every vertex in world space (glTF's axes), by node, primitive and the
//! file's own order, as in the OBJ of any of its frames.

use crate::{ExportError, bake_clip, place, solved};
use glam::Vec3;
use sinew::strength::Finding;
use sinew::{Backend, DeformedMesh, Recipe, RecipeFile, Rig};
use sinew_bake::{BakeClip, BakeFailure, Subject, frame_times, play};
use sinew_gltf::{Asset, WriteError, mdd, obj, pc2};
use std::io::{self, Write};

/// A clip with a recipe's effects, at so many frames a second.
#[derive(Clone, Debug)]
pub struct Sequence<'a> {
    asset: &'a Asset,
    recipe: Recipe,
    strength: Vec<Finding>,
    clip: BakeClip<'a>,
    times: Vec<f64>,
    backend: Option<&'a dyn Backend>,
}

/// Why frames ended early: because of the frames, or of who saw them.
enum Stop<E> {
    Bake(BakeFailure),
    Seen(E),
}

impl<E> From<BakeFailure> for Stop<E> {
    fn from(failure: BakeFailure) -> Self {
        Self::Bake(failure)
    }
}

impl<'a> Sequence<'a> {
    /// The clip of that number, `fps` frames a second from its first key to its last.
    pub fn new(asset: &'a Asset, recipe: &RecipeFile, clip: usize, fps: f64) -> Result<Self, ExportError> {
        let index = clip;
        let clip = bake_clip(asset, recipe, index)?;
        let solved = solved(asset, recipe, std::slice::from_ref(&clip))?;
        let place = place(recipe, 0, index);
        let strength = solved.findings_of(place).to_vec();
        let recipe = solved.recipe(place).clone();
        let mut sequence = Self { asset, recipe, strength, clip, times: Vec::new(), backend: None };
        let times = frame_times(sequence.subject(), &sequence.clip, fps);
        sequence.times = times.map_err(|source| sequence.failed(source))?;
        Ok(sequence)
    }

    /// The same with frames made by somebody else, as far as he can make them.
    pub fn made_by(self, backend: Option<&'a dyn Backend>) -> Self {
        Self { backend, ..self }
    }

    /// The gains found for the strengths that the recipe asks for.
    pub fn strength(&self) -> &[Finding] {
        &self.strength
    }

    /// The moments of its frames.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Evaluates all frames on all cores and hands them over in order; `see` may end it with an error.
    pub fn play<E: From<ExportError>>(&self, see: impl FnMut(usize, &DeformedMesh) -> Result<(), E>) -> Result<(), E> {
        self.play_at(&self.times, see)
    }

    /// Writes one frame as OBJ, which tells what the points of a cache are.
    pub fn write_obj(&self, frame: usize, out: &mut dyn Write) -> Result<(), ExportError> {
        let times = self.times.get(frame).map(std::slice::from_ref).unwrap_or_default();
        self.play_at(times, |_, mesh| self.written(obj::write(&self.asset.rig, mesh, out)))
    }

    /// Writes all frames as PC2.
    pub fn write_pc2(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let samples = count(self.times.len());
        let header = samples.and_then(|samples| pc2::write_header(out, self.points()?, samples));
        self.written(header)?;
        self.play(|_, mesh| self.written(pc2::write_frame(out, &world_points(&self.asset.rig, mesh))))
    }

    /// Writes all frames as MDD.
    pub fn write_mdd(&self, out: &mut dyn Write) -> Result<(), ExportError> {
        let start = self.times.first().copied().unwrap_or(0.0);
        let seconds: Vec<f32> = self.times.iter().map(|time| (time - start) as f32).collect();
        self.written(self.points().and_then(|points| mdd::write_header(out, points, &seconds)))?;
        self.play(|_, mesh| self.written(mdd::write_frame(out, &world_points(&self.asset.rig, mesh))))
    }

    fn play_at<E: From<ExportError>>(
        &self,
        times: &[f64],
        mut see: impl FnMut(usize, &DeformedMesh) -> Result<(), E>,
    ) -> Result<(), E> {
        let seen = |frame: usize, mesh: &DeformedMesh| see(frame, mesh).map_err(Stop::Seen);
        play(self.subject(), &self.clip, times, seen).map_err(|stop| match stop {
            Stop::Bake(source) => self.failed(source).into(),
            Stop::Seen(error) => error,
        })
    }

    fn subject(&self) -> Subject<'_> {
        Subject { raw: &self.asset.raw, rig: &self.asset.rig, recipe: &self.recipe, backend: self.backend }
    }

    fn points(&self) -> io::Result<u32> {
        count(self.asset.rig.vertex_count())
    }

    fn failed(&self, source: BakeFailure) -> ExportError {
        ExportError::Bake { file: self.asset.name.clone(), source }
    }

    fn written(&self, result: io::Result<()>) -> Result<(), ExportError> {
        result.map_err(|error| ExportError::Write { file: self.asset.name.clone(), source: WriteError::Io(error) })
    }
}

/// As caches count.
fn count(number: usize) -> io::Result<u32> {
    u32::try_from(number).map_err(io::Error::other)
}

/// All vertices in the order of the OBJ.
fn world_points(rig: &Rig, mesh: &DeformedMesh) -> Vec<Vec3> {
    let parts = obj::parts(rig);
    let vertices = parts.iter().flat_map(|part| part.primitives.iter().map(move |primitive| (part, primitive)));
    vertices
        .flat_map(|(part, primitive)| {
            primitive.vertices.clone().map(|vertex| mesh.world_position(part.character, vertex).as_vec3())
        })
        .collect()
}
