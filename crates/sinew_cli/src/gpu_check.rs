//! `sinew gpu-check`: whether this computer's GPU makes what the processor makes, as a report to send.

use crate::fault::Fault;
use crate::talk::Talk;
use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub struct GpuCheckArgs {
    /// Compare every recipe on every built-in character, which takes a while; by default, a sample.
    #[arg(long)]
    full: bool,
}

#[cfg(not(feature = "gpu"))]
pub fn run(options: &GpuCheckArgs, _: &Talk) -> Result<(), Fault> {
    let GpuCheckArgs { full: _ } = options;
    Err(crate::gpu::not_built())
}

#[cfg(feature = "gpu")]
pub use with_gpu::run;

#[cfg(feature = "gpu")]
mod with_gpu {
    use super::{Fault, GpuCheckArgs, Talk};
    use crate::output::to_stdout;
    use crate::progress::Progress;
    use sinew::{Clip, Rig};
    use sinew_gpu::conformance::{Case, NORMALS, POSITIONS, Staged, Tally, cases, paint, staged};
    use sinew_gpu::{Gpu, GpuCharacter, GpuError};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::time::Instant;

    /// Moments of each clip, as shares of it.
    const MOMENTS: [f64; 3] = [0.13, 0.52, 0.87];

    struct Subject {
        name: &'static str,
        rig: Arc<Rig>,
        clips: Vec<Clip>,
    }

    pub fn run(options: &GpuCheckArgs, talk: &Talk) -> Result<(), Fault> {
        let start = Instant::now();
        let gpu = crate::gpu::open()?;
        let opened = start.elapsed().as_secs_f64();
        let subjects = subjects()?;
        let cases = cases();
        let progress = Progress::new(talk, "comparing", cases.len());
        let (mut tally, mut elsewhere, mut sizes) = (Tally::default(), BTreeMap::new(), BTreeMap::new());
        for (index, case) in cases.iter().enumerate() {
            let some = if options.full { &subjects[..] } else { &subjects[index % subjects.len()..][..1] };
            for subject in some {
                let moments = if options.full { &MOMENTS[..] } else { &MOMENTS[index % MOMENTS.len()..][..1] };
                match staged(&subject.rig, case) {
                    Staged::Here(_) => {
                        let bytes = compare(&gpu, subject, case, moments, &mut tally).map_err(failed)?;
                        sizes.entry(subject.name).or_insert((&case.name, bytes));
                    }
                    Staged::Elsewhere(why) => _ = elsewhere.insert(case.name.clone(), why.to_string()),
                    Staged::Nowhere => {}
                }
            }
            progress.advance();
        }
        drop(progress);
        let info = gpu.device().adapter_info();
        to_stdout(|out| {
            writeln!(out, "sinew {} on {}", env!("CARGO_PKG_VERSION"), gpu.name())?;
            writeln!(out, "vendor {:#06x}, device {:#06x}, {:?}", info.vendor, info.device, info.device_type)?;
            writeln!(
                out,
                "{} pipelines in {opened:.2} s, {:.1} s in all",
                Gpu::PIPELINES,
                start.elapsed().as_secs_f64()
            )?;
            let Tally { frames, vertices, position, normal, uncertain, faults, told, .. } = &tally;
            writeln!(out, "{frames} frames of {} characters, {vertices} vertices", subjects.len())?;
            writeln!(out, "positions within {position:.1e} of the size (allowed {POSITIONS:.0e})")?;
            writeln!(
                out,
                "normals within {normal:.1e} (allowed {NORMALS:.0e}), but for {uncertain} that the processor is not certain of"
            )?;
            for (name, (case, [held, uploaded])) in &sizes {
                writeln!(out, "{name} as {case}: {held} bytes on the GPU, {uploaded} uploaded for a frame")?;
            }
            writeln!(out, "faults: {faults}")?;
            told.iter().try_for_each(|fault| writeln!(out, "  {fault}"))?;
            writeln!(out, "on the processor, as everywhere:")?;
            elsewhere.iter().try_for_each(|(case, why)| writeln!(out, "  {case}: {why}"))
        })?;
        if tally.faults > 0 { Err(Fault::Findings) } else { Ok(()) }
    }

    fn failed(error: GpuError) -> Fault {
        Fault::Failed(error.to_string())
    }

    fn subjects() -> Result<Vec<Subject>, Fault> {
        let subject = |entry: &sinew_zoo::Entry| {
            let mut zoo = sinew_zoo::build(entry.name).map_err(|error| Fault::in_file(entry.name, error))?;
            paint(&mut zoo.raw);
            let (rig, _) = Rig::build(&zoo.raw).map_err(|error| Fault::in_file(entry.name, error))?;
            Ok(Subject { name: entry.name, rig: Arc::new(rig), clips: zoo.clips })
        };
        sinew_zoo::names().iter().map(subject).collect()
    }

    /// Bytes on the GPU, and uploaded for the last frame.
    fn compare(
        gpu: &Gpu,
        subject: &Subject,
        case: &Case,
        moments: &[f64],
        tally: &mut Tally,
    ) -> Result<[u64; 2], GpuError> {
        let Staged::Here(found) = staged(&subject.rig, case) else { return Ok([0; 2]) };
        let (stage, file) = &*found;
        let mut character = GpuCharacter::new(gpu, stage)?;
        for clip in &subject.clips {
            let Ok(playing) = stage.motion(clip, &file.motion(&clip.name)) else { continue };
            let length = clip.span().map_or(0.0, |span| span.1);
            for moment in moments {
                let time = moment * length;
                let what = format!("{} as {}, {} at {time:.3}", subject.name, case.name, clip.name);
                tally.compare(gpu, &mut character, &playing, time, &what)?;
            }
        }
        Ok([character.device_bytes(), character.frame_bytes() as u64])
    }
}
