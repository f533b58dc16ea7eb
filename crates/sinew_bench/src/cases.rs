//! What is measured. A new base, effect or correction of the lists is measured by itself; anything else is one more entry
//! of [`cases`].

use std::hint::black_box;

use glam::DVec3;
use sinew::Points;
use sinew::base::{BASES, DQS};
use sinew::cone::Cone;
use sinew::correct::CORRECTIONS;
use sinew::recipe::{BaseSpec, CorrectionSpec, EffectSpec, Normals};
use sinew::registry::EFFECTS;
use sinew::{Cpu, DeformedRows, Recipe, Stage, Workspace};

use crate::data::{PosedFrame, Skinned, Workload};
use crate::plain;
use crate::plain_velocity::PlainVelocity;
use crate::stopwatch::Stopwatch;

type Run = dyn Fn(&Workload, &mut Stopwatch) -> Skinned;

/// One kernel.
pub struct Case {
    /// What a filter is matched against.
    pub name: String,
    /// Prepares the kernel's own layout, hands one frame of it to the stopwatch, and returns that frame.
    run: Box<Run>,
}

impl Case {
    fn new(name: impl Into<String>, run: impl Fn(&Workload, &mut Stopwatch) -> Skinned + 'static) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A recipe evaluated by the library, from world transforms to vertices in the file's order.
    fn recipe(name: impl Into<String>, recipe: Recipe) -> Self {
        Self::posed(name, recipe, Workload::frame)
    }

    /// As [`Case::recipe`], where only the last bone of the chain moves.
    fn one_moving(name: impl Into<String>, recipe: Recipe) -> Self {
        Self::posed(name, recipe, |work, stage| {
            let mut frame = work.frame(stage);
            frame.hold_all_but_last(1, &work.rig);
            frame
        })
    }

    fn posed(name: impl Into<String>, recipe: Recipe, frame: fn(&Workload, &Stage) -> PosedFrame) -> Self {
        Self::new(name, move |work, stopwatch| {
            let stage = Stage::new(&work.rig, &recipe).expect("the recipe fits any rig");
            let mut workspace = Workspace::default();
            let mut posed = frame(work, &stage).on(&stage, &mut workspace);
            stopwatch.time(|| black_box(&mut posed).deform(&Cpu::serial()));
            let out = workspace.take_mesh();
            Skinned { positions: out.positions, normals: out.normals }
        })
    }

    /// Times the kernel and returns its frame.
    pub fn run(&self, work: &Workload, stopwatch: &mut Stopwatch) -> Skinned {
        (self.run)(work, stopwatch)
    }
}

/// Every kernel: the baselines, the bases, each effect on LBS, the corrections.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![Case::new(PLAIN, |work, stopwatch| {
        let mut out = Skinned::for_workload(work);
        stopwatch.time(|| plain::skin(black_box(work), black_box(&mut out)));
        out
    })];
    #[cfg(feature = "ozz")]
    cases.push(Case::new(OZZ, |work, stopwatch| {
        let work = crate::ozz::OzzWorkload::from(work);
        let mut out = crate::ozz::OzzSkinned::for_workload(&work);
        stopwatch.time(|| {
            crate::ozz::skin(black_box(&work), black_box(&mut out)).expect("the job fits its workload");
        });
        out.into()
    }));
    cases.push(Case::new("lbs-rows", |work, stopwatch| {
        let stage = Stage::new(&work.rig, &Recipe::default()).expect("an empty recipe fits");
        let (mut workspace, mut out) = (Workspace::default(), DeformedRows::default());
        let mut posed = work.frame(&stage).on(&stage, &mut workspace);
        stopwatch.time(|| black_box(&mut posed).deform_rows(&Cpu::serial(), black_box(&mut out)));
        let in_order = |points: &Points, slots: &[u32]| slots.iter().map(|&slot| points.get(slot as usize)).collect();
        Skinned {
            positions: in_order(&out.points, work.rig.point_of_vertex()),
            normals: in_order(&out.normals, work.rig.layer_slot_of_vertex()),
        }
    }));
    let base = |name: &str, base| Case::recipe(name, Recipe { base, ..Recipe::default() });
    cases.extend(BASES.iter().map(|entry| base(entry.name, BaseSpec::of(entry))));
    cases.push(base("dqs-pivot", BaseSpec::of(&DQS).with("pivot", 1.0).expect("a switch")));
    for effect in EFFECTS {
        cases.push(stack(&format!("displace/{}", effect.name()), &[effect.name()], Normals::Auto));
    }
    cases.push(Case::new("displace/velocity-plain", |work, stopwatch| {
        let base = Stage::new(&work.rig, &Recipe::default()).expect("an empty recipe fits");
        let plain = PlainVelocity::new(work, &work.frame(&base));
        let mut out = Skinned::for_workload(work);
        stopwatch.time(|| plain.run(black_box(work), black_box(&mut out)));
        out
    }));
    let all: Vec<_> = EFFECTS.iter().map(|effect| effect.name()).collect();
    cases.extend([
        Case::recipe("displace/velocity", velocity(Normals::Engine)),
        Case::recipe("displace/velocity-normals", velocity(Normals::Exact)),
        Case::recipe("displace/velocity-faces", velocity(Normals::Faces)),
        Case::one_moving("displace/velocity-one-moving", velocity(Normals::Engine)),
        Case::one_moving("displace/velocity-one-moving-normals", velocity(Normals::Exact)),
        Case::one_moving("displace/velocity-one-moving-faces", velocity(Normals::Faces)),
        stack("displace/all", &all, Normals::Engine),
        stack("displace/all-normals", &all, Normals::Exact),
    ]);
    // What remains without any correction: all rows kept, normals turned by the faces.
    cases.push(Case::recipe("correct/nothing", Recipe { normals: Normals::Faces, ..Recipe::default() }));
    for correction in CORRECTIONS {
        cases.push(Case::recipe(format!("correct/{}", correction.name), corrected(correction.name, "both")));
    }
    cases.push(Case::recipe("correct/volume-whole", corrected("volume", "whole")));
    cases.push(Case::posed("correct/volume-still", corrected("volume", "both"), Workload::still));
    for scope in ["whole", "segments"] {
        let name = format!("correct/volume-{scope}-last-bent");
        cases.push(Case::posed(name, corrected("volume", scope), Workload::last_bent));
    }
    cases
}

/// A correction with its defaults on LBS; a volume correction of that scope.
pub fn corrected(name: &str, scope: &str) -> Recipe {
    let corrections = CorrectionSpec::new(name).map(|mut spec| {
        // Other corrections have no scope.
        let _ = spec.values.choose("scope", scope);
        spec
    });
    Recipe { corrections: corrections.into_iter().collect(), ..Recipe::default() }
}

/// Effects with their defaults on LBS.
fn stack(name: &str, effects: &[&str], normals: Normals) -> Case {
    Case::recipe(name, effects_recipe(effects, normals))
}

/// The velocity stack.
pub fn velocity(normals: Normals) -> Recipe {
    effects_recipe(&["squash", "floppy"], normals)
}

fn effects_recipe(effects: &[&str], normals: Normals) -> Recipe {
    let effects = effects
        .iter()
        .filter_map(|name| EffectSpec::new(name))
        .map(|mut spec| {
            // A tube has no skirt to fit a cone to: one by hand costs the same.
            if let Some(cone) = &mut spec.cone {
                cone.cone = Cone::new(DVec3::Y, DVec3::Y * 4.0, 0.2, 0.01).ok();
            }
            spec
        })
        .collect();
    Recipe { effects, normals, ..Recipe::default() }
}

/// Baselines: what the ratios of every other case are to.
pub const PLAIN: &str = "plain";
/// See [`PLAIN`]; absent without the feature `ozz`.
pub const OZZ: &str = "ozz";

/// Vertices of the tube, about.
pub const VERTICES: &[usize] = &[1_600, 10_000, 100_000, 1_000_000];

/// Bones of its chain.
pub const BONE_COUNTS: &[usize] = &[4, 12, 64];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn frame_of(name: &str, work: &Workload) -> Skinned {
        let cases = cases();
        let case = cases.iter().find(|case| case.name == name).expect("a case of that name");
        case.run(work, &mut Stopwatch::new(Duration::ZERO))
    }

    /// The blend in f64 and the other way round: transform by each bone, then mix the points.
    #[test]
    fn plain_agrees_with_mixing_transformed_points_in_f64() {
        for &bone_count in BONE_COUNTS {
            let work = Workload::tube(VERTICES[0], bone_count);
            let out = frame_of(PLAIN, &work);
            for vertex in 0..work.positions.len() {
                let mix = |transformed: &dyn Fn(glam::DMat4) -> DVec3| -> DVec3 {
                    let influences = work.bones[vertex].iter().zip(work.weights[vertex]);
                    influences
                        .map(|(&b, w)| f64::from(w) * transformed(work.world_from_bind[usize::from(b)].as_dmat4()))
                        .sum()
                };
                let position = mix(&|m| m.transform_point3(work.positions[vertex].as_dvec3()));
                let normal = mix(&|m| m.transform_vector3(work.normals[vertex].as_dvec3()));
                assert!(out.positions[vertex].as_dvec3().distance(position) < 1e-5);
                assert!(out.normals[vertex].as_dvec3().distance(normal) < 1e-6);
            }
        }
    }

    /// What is compared computes the same: ours against the plain loop, whose normals are left unnormalised.
    #[test]
    fn lbs_agrees_with_plain() {
        for &bone_count in BONE_COUNTS {
            let work = Workload::tube(VERTICES[0], bone_count);
            let (plain, lbs) = (frame_of(PLAIN, &work), frame_of("lbs", &work));
            for vertex in 0..work.positions.len() {
                assert!(plain.positions[vertex].distance(lbs.positions[vertex]) < 1e-5);
                assert!(plain.normals[vertex].normalize().distance(lbs.normals[vertex]) < 1e-5);
            }
        }
    }

    #[test]
    fn velocity_agrees_with_the_plain_loop() {
        let work = Workload::tube(VERTICES[0], 12);
        let (plain, ours) = (frame_of("displace/velocity-plain", &work), frame_of("displace/velocity", &work));
        let still = frame_of("lbs", &work);
        let mut moved = 0.0f32;
        for vertex in 0..work.positions.len() {
            assert!(plain.positions[vertex].distance(ours.positions[vertex]) < 2e-5);
            moved = moved.max(still.positions[vertex].distance(ours.positions[vertex]));
        }
        assert!(moved > 0.01);
    }

    #[cfg(feature = "ozz")]
    #[test]
    fn ozz_agrees_with_plain() {
        for &bone_count in BONE_COUNTS {
            let work = Workload::tube(VERTICES[0], bone_count);
            let (plain, ozz) = (frame_of(PLAIN, &work), frame_of(OZZ, &work));
            for vertex in 0..work.positions.len() {
                assert!(plain.positions[vertex].distance(ozz.positions[vertex]) < 1e-5);
                assert!(plain.normals[vertex].distance(ozz.normals[vertex]) < 1e-6);
            }
        }
    }
}
