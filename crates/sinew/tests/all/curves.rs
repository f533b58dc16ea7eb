//! STEP, LINEAR and CUBICSPLINE curves on a built-in rig against an evaluation of the glTF specification written here:
//! own sampling, own composition, own blending, in f64.

use crate::common::Subject;
use glam::{DMat4, DQuat, DVec3, DVec4, Quat, Vec3};
use sinew::clip::Track;
use sinew::*;

/// Keys as the file stores them; cubic keys are (in-tangent, value, out-tangent).
#[derive(Clone)]
struct Keys {
    interpolation: Interpolation,
    times: Vec<f64>,
    values: Vec<DVec4>,
}

impl Keys {
    /// The specification's appendix C, component by component; `rotation` picks slerp and normalisation.
    fn at(&self, t: f64, rotation: bool) -> DVec4 {
        let stride = if self.interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let value = |k: usize| self.values[stride * k + stride / 2];
        let last = self.times.len() - 1;
        let finish = |v: DVec4| if rotation { v.normalize() } else { v };
        if t <= self.times[0] {
            return finish(value(0));
        }
        if t >= self.times[last] {
            return finish(value(last));
        }
        let k = (0..last).find(|&k| t < self.times[k + 1]).unwrap();
        let td = self.times[k + 1] - self.times[k];
        let s = (t - self.times[k]) / td;
        match self.interpolation {
            Interpolation::Step => finish(value(k)),
            Interpolation::Linear if !rotation => value(k) * (1.0 - s) + value(k + 1) * s,
            Interpolation::Linear => {
                let (a, b) = (value(k).normalize(), value(k + 1).normalize());
                let d = a.dot(b);
                let angle = d.abs().min(1.0).acos();
                if angle.sin() < 1e-9 {
                    return (a * (1.0 - s) + b * (s * d.signum())).normalize();
                }
                a * ((angle * (1.0 - s)).sin() / angle.sin()) + b * (d.signum() * (angle * s).sin() / angle.sin())
            }
            Interpolation::CubicSpline => {
                let (s2, s3) = (s * s, s * s * s);
                let (out_tangent, in_tangent) = (self.values[3 * k + 2], self.values[3 * (k + 1)]);
                finish(
                    value(k) * (2.0 * s3 - 3.0 * s2 + 1.0)
                        + out_tangent * (td * (s3 - 2.0 * s2 + s))
                        + value(k + 1) * (-2.0 * s3 + 3.0 * s2)
                        + in_tangent * (td * (s3 - s2)),
                )
            }
        }
    }
}

#[test]
fn every_interpolation_agrees_with_the_specification() {
    let mut seed = 3u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((seed >> 40) as f32 / (1u64 << 24) as f32) * 2.0 - 1.0
    };
    for interpolation in [Interpolation::Step, Interpolation::Linear, Interpolation::CubicSpline] {
        let zoo = sinew_zoo::build("tube:vertices=300,bones=4").unwrap();
        let per_key = if interpolation == Interpolation::CubicSpline { 3 } else { 1 };
        let times: Vec<f64> = vec![0.25, 0.5, 0.875, 1.5];
        let (mut tracks, mut truth) = (Vec::new(), Vec::new());
        for node in 0..4 {
            let count = per_key * times.len();
            let quats: Vec<Quat> =
                (0..count).map(|_| Quat::from_xyzw(random(), random(), random(), 1.0 + random())).collect();
            let shifts: Vec<Vec3> = (0..count).map(|_| Vec3::new(random(), random(), random()) * 0.3).collect();
            let scales: Vec<Vec3> =
                (0..count).map(|_| Vec3::ONE + Vec3::new(random(), random(), random()) * 0.3).collect();
            let keys = |values: Vec<DVec4>| Keys { interpolation, times: times.clone(), values };
            truth.push([
                keys(shifts.iter().map(|v| v.as_dvec3().extend(0.0)).collect()),
                keys(quats.iter().map(|q| DVec4::new(q.x.into(), q.y.into(), q.z.into(), q.w.into())).collect()),
                keys(scales.iter().map(|v| v.as_dvec3().extend(0.0)).collect()),
            ]);
            tracks.push(Track {
                node,
                translation: Some(Curve::new(interpolation, times.clone(), shifts).unwrap()),
                rotation: Some(Curve::new(interpolation, times.clone(), quats).unwrap()),
                scale: Some(Curve::new(interpolation, times.clone(), scales).unwrap()),
                morph: None,
            });
        }
        let clip = Clip { name: "keys".to_owned(), tracks };
        let subject = Subject::new(&zoo.raw, vec![clip]);
        let stage = subject.stage(&Recipe::default());
        let settings = MotionSettings { looping: Looping::No, ..MotionSettings::default() };
        let motion = subject.motion(0, &settings, &stage);
        let surface = &zoo.raw.meshes[0].primitives[0];
        for time in [0.0, 0.25, 0.3, 0.6, 0.875, 1.2, 1.5, 2.0] {
            let out = subject.at(&stage, &motion, time, &Cpu::serial());
            let mut world: Vec<DMat4> = Vec::new();
            for (node, [t, r, s]) in truth.iter().enumerate() {
                let rotation = DQuat::from_vec4(r.at(time, true));
                let (t, s) = (t.at(time, false).truncate(), s.at(time, false).truncate());
                let local = DMat4::from_scale_rotation_translation(s, rotation, t);
                world.push(if node == 0 { local } else { world[node - 1] * local });
            }
            for (vertex, p) in surface.positions.iter().enumerate() {
                let pairs = 4 * vertex..4 * vertex + 4;
                let (joints, weights) = (&surface.influences.joints[pairs.clone()], &surface.influences.weights[pairs]);
                let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
                let blended: DVec3 = joints
                    .iter()
                    .zip(weights)
                    .map(|(&j, &w)| {
                        let bind = DMat4::from(zoo.raw.skins[0].joints[j as usize].bone_from_rest);
                        (world[j as usize] * bind).transform_point3(p.as_dvec3()) * (f64::from(w) / total)
                    })
                    .sum();
                let apart = out.world_position(0, vertex).distance(blended);
                assert!(apart <= 3e-6 * subject.size(), "{interpolation:?} at {time}: {apart}");
            }
        }
    }
}
