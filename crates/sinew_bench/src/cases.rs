//! What is measured. A new kernel is one more entry of [`CASES`].

use std::hint::black_box;

use crate::data::{Resolution, Skinned, Workload};
use crate::plain;
use crate::stopwatch::Stopwatch;

/// One kernel.
pub struct Case {
    /// What a filter is matched against.
    pub name: &'static str,
    /// Prepares the kernel's own layout, hands one frame of it to the stopwatch, and returns that frame.
    pub run: fn(&Workload, &mut Stopwatch) -> Skinned,
}

/// Every kernel; the baselines first.
pub const CASES: &[Case] = &[
    Case {
        name: "plain",
        run: |work, stopwatch| {
            let mut out = Skinned::for_workload(work);
            stopwatch.time(|| plain::skin(black_box(work), black_box(&mut out)));
            out
        },
    },
    #[cfg(feature = "ozz")]
    Case {
        name: "ozz",
        run: |work, stopwatch| {
            let work = crate::ozz::OzzWorkload::from(work);
            let mut out = crate::ozz::OzzSkinned::for_workload(&work);
            stopwatch.time(|| {
                crate::ozz::skin(black_box(&work), black_box(&mut out)).expect("the job fits its workload");
            });
            out.into()
        },
    },
];

/// Baselines: what the ratios of every other case are to.
pub const PLAIN: &str = "plain";
/// See [`PLAIN`]; absent without the feature `ozz`.
pub const OZZ: &str = "ozz";

/// 1.6k, 10k, 100k and 1M vertices.
pub const RESOLUTIONS: &[Resolution] = &[
    Resolution { around: 40, rings: 40 },
    Resolution { around: 100, rings: 100 },
    Resolution { around: 250, rings: 400 },
    Resolution { around: 1000, rings: 1000 },
];

/// Bones of the chain.
pub const BONE_COUNTS: &[u16] = &[4, 12, 64];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use glam::DVec3;

    use super::*;
    use crate::data::tube;

    fn frame_of(name: &str, work: &Workload) -> Skinned {
        let case = CASES.iter().find(|case| case.name == name).expect("a case of that name");
        (case.run)(work, &mut Stopwatch::new(Duration::ZERO))
    }

    /// The blend in f64 and the other way round: transform by each bone, then mix the points.
    #[test]
    fn plain_agrees_with_mixing_transformed_points_in_f64() {
        for &bone_count in BONE_COUNTS {
            let work = tube(RESOLUTIONS[0], bone_count);
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

    #[cfg(feature = "ozz")]
    #[test]
    fn ozz_agrees_with_plain() {
        for &bone_count in BONE_COUNTS {
            let work = tube(RESOLUTIONS[0], bone_count);
            let (plain, ozz) = (frame_of(PLAIN, &work), frame_of(OZZ, &work));
            for vertex in 0..work.positions.len() {
                assert!(plain.positions[vertex].distance(ozz.positions[vertex]) < 1e-5);
                assert!(plain.normals[vertex].distance(ozz.normals[vertex]) < 1e-6);
            }
        }
    }
}
