//! Point caches for modelling tools: one clip, every vertex in world space (glTF's axes), by node, primitive and the
//! file's own order, as in the OBJ written beside the cache.

use super::{BakeArgs, BakeFormat};
use crate::fault::Fault;
use crate::load::Scene;
use crate::obj;
use crate::output::{Destination, check_new_folder, to_new_folder};
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use crate::text::{count, quoted};
use glam::Vec3;
use sinew::{DeformedMesh, Rig};
use sinew_bake::{BakeClip, BakeFailure, Subject, frame_times, play};
use sinew_gltf::{mdd, pc2};
use std::io::{self, Write};

pub(super) fn run(
    options: &BakeArgs,
    scene: &Scene,
    recipe: &LoadedRecipe,
    clips: &[BakeClip<'_>],
    talk: &Talk,
) -> Result<(), Fault> {
    let clip = match clips {
        [clip] => clip,
        [] => return Err(Fault::in_file(&scene.name, "nothing to bake: there is no clip")),
        many => {
            let names: Vec<_> = many.iter().take(8).map(|clip| quoted(&clip.clip.name)).collect();
            return Err(Fault::Usage(format!(
                "{}: a cache holds one clip; pick one with --clip (there are {})",
                scene.name,
                names.join(", ")
            )));
        }
    };
    let subject = Subject { raw: &scene.raw, rig: &scene.rig, recipe: recipe.recipe() };
    let in_file = |failure: BakeFailure| Fault::in_file(&scene.name, failure);
    let times = frame_times(subject, clip, options.fps).map_err(in_file)?;
    if options.format == BakeFormat::ObjSequence {
        check_new_folder(&options.output)?;
        return to_new_folder(&options.output, |folder| {
            let write = |frame: usize, mesh: &DeformedMesh| {
                let path = folder.join(format!("frame_{:04}.obj", frame + 1));
                Destination::new(&path, false).write(|out| obj::write(&scene.rig, mesh, out)).map_err(Stop::Fault)
            };
            play(subject, clip, &times, write).map_err(|stop| stop.fault(scene))
        })
        .map(|()| {
            let frames = count(times.len(), "frame", "frames");
            talk.note(&format!("wrote {frames} to {}, frame_0001.obj first", options.output.display()));
        });
    }
    let beside = options.output.with_extension("obj");
    let mesh = Destination::new(&beside, options.force);
    mesh.check()?;
    play(subject, clip, &times[..1], |_, first| {
        mesh.write(|out| obj::write(&scene.rig, first, out)).map_err(Stop::Fault)
    })
    .map_err(|stop| stop.fault(scene))?;
    Destination::new(&options.output, options.force)
        .write(|out| write_cache(options.format, scene, &times, out, |see| play(subject, clip, &times, see)))?;
    talk.note(&format!(
        "wrote {} of {} at {} a second to {}; its vertices stand as in {}, in glTF's axes",
        count(times.len(), "frame", "frames"),
        quoted(&clip.clip.name),
        options.fps,
        options.output.display(),
        beside.display()
    ));
    Ok(())
}

/// Why a sequence of frames ended early.
enum Stop {
    Bake(BakeFailure),
    Fault(Fault),
    Io(io::Error),
}

impl From<BakeFailure> for Stop {
    fn from(failure: BakeFailure) -> Self {
        Self::Bake(failure)
    }
}

impl Stop {
    fn fault(self, scene: &Scene) -> Fault {
        match self {
            Self::Bake(failure) => Fault::in_file(&scene.name, failure),
            Self::Fault(fault) => fault,
            Self::Io(error) => Fault::in_file(&scene.name, error),
        }
    }
}

type See<'a> = &'a mut dyn FnMut(usize, &DeformedMesh) -> Result<(), Stop>;

fn write_cache(
    format: BakeFormat,
    scene: &Scene,
    times: &[f64],
    out: &mut dyn Write,
    play: impl FnOnce(See<'_>) -> Result<(), Stop>,
) -> io::Result<()> {
    let rig = &scene.rig;
    let points = u32::try_from(rig.vertex_count()).map_err(io::Error::other)?;
    match format {
        BakeFormat::Mdd => {
            let start = times.first().copied().unwrap_or(0.0);
            let seconds: Vec<f32> = times.iter().map(|time| (time - start) as f32).collect();
            mdd::write_header(out, points, &seconds)?;
        }
        _ => pc2::write_header(out, points, u32::try_from(times.len()).map_err(io::Error::other)?)?,
    }
    let mut see = |_: usize, mesh: &DeformedMesh| {
        let points = world_points(rig, mesh);
        let written = match format {
            BakeFormat::Mdd => mdd::write_frame(out, &points),
            _ => pc2::write_frame(out, &points),
        };
        written.map_err(Stop::Io)
    };
    play(&mut see).map_err(|stop| match stop {
        Stop::Io(error) => error,
        Stop::Bake(failure) => io::Error::other(failure),
        Stop::Fault(fault) => io::Error::other(format!("{fault:?}")),
    })
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
