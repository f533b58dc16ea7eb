//! Sequences for modelling tools: a point cache of one clip with the mesh as OBJ beside it, or a folder of OBJ files.

use super::{BakeArgs, BakeFormat};
use crate::fault::Fault;
use crate::gpu::Frames;
use crate::load::Scene;
use crate::output::{Destination, Outputs, Stopped, check_new_folder, to_new_folder};
use crate::recipe::LoadedRecipe;
use crate::talk::Talk;
use crate::text::{count, quoted};
use sinew::DeformedMesh;
use sinew_export::{ExportError, Sequence};
use sinew_gltf::{WriteError, obj};

pub(super) fn run(
    options: &BakeArgs,
    scene: &Scene,
    recipe: &LoadedRecipe,
    chosen: &[usize],
    gpu: &Frames,
    talk: &Talk,
) -> Result<(), Fault> {
    let name = |clip: usize| quoted(&scene.clips[clip].name);
    let clip = match *chosen {
        [clip] => clip,
        [] => {
            return Err(Fault::in_file(
                &scene.name,
                "nothing to bake: there is no clip; take those of another file by --animations",
            ));
        }
        ref many => {
            let names: Vec<_> = many.iter().take(8).map(|&clip| name(clip)).collect();
            return Err(Fault::Usage(format!(
                "{}: a cache holds one clip; choose one with --clip (there are {})",
                scene.name,
                names.join(", ")
            )));
        }
    };
    let sequence = Sequence::new(scene, recipe.as_file(), clip, options.baking.fps)?.made_by(gpu.backend());
    sequence.strength().iter().for_each(|finding| talk.note(&finding.to_string()));
    let frames = count(sequence.times().len(), "frame", "frames");
    if options.format == BakeFormat::ObjSequence {
        to_obj_sequence(options, scene, &sequence)?;
        gpu.tell(talk);
        talk.note(&format!("wrote {frames} to {}, frame_0001.obj first", options.output.display()));
        return Ok(());
    }
    let beside = options.output.with_extension("obj");
    let mut files = Outputs::default();
    files.write(&beside, options.baking.force, |out| sequence.write_obj(0, out))?;
    files.write(&options.output, options.baking.force, |out| match options.format {
        BakeFormat::Mdd => sequence.write_mdd(out),
        _ => sequence.write_pc2(out),
    })?;
    files.commit()?;
    gpu.tell(talk);
    talk.note(&format!(
        "wrote {frames} of {} at {} per second to {}; vertices are in the order of {}, in glTF's axes",
        name(clip),
        options.baking.fps,
        options.output.display(),
        beside.display()
    ));
    Ok(())
}

fn to_obj_sequence(options: &BakeArgs, scene: &Scene, sequence: &Sequence<'_>) -> Result<(), Fault> {
    check_new_folder(&options.output)?;
    to_new_folder(&options.output, |folder| {
        sequence.play(|frame: usize, mesh: &DeformedMesh| {
            let path = folder.join(format!("frame_{:04}.obj", frame + 1));
            Destination::new(&path, false).write(|out| obj::write(&scene.rig, mesh, out))
        })
    })
}

impl From<ExportError> for Fault {
    /// The message names the file.
    fn from(error: ExportError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<ExportError> for Stopped {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Write { source: WriteError::Io(error), .. } => Self::Io(error),
            other => Self::Fault(other.into()),
        }
    }
}
