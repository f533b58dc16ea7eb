//! Small skeletons and clips, and a way to look at them.

use glam::{DQuat, DVec3, Quat, Vec3};
use sinew::clip::Track;
use sinew::raw::RawBone;
use sinew::{
    Clip, Curve, DerivativeFilter, Filter, FilteredSignal, Interpolation, Kinematics, LocalTransform, Motion,
    MotionError, MotionSettings, Oscillator, Pose, Puppet, Signal, Skeleton, Smoothing, TimeFilter, Trs, WorldPose,
};

/// Splitmix64: the same numbers on every run.
pub struct Random(pub u64);

impl Random {
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.signed(), self.signed(), self.signed())
    }

    pub fn rotation(&mut self, largest: f64) -> DQuat {
        DQuat::from_scaled_axis(self.vector().normalize() * (largest * self.unit()))
    }
}

pub fn bone(name: &str, parent: Option<usize>, trs: Trs) -> RawBone {
    RawBone { name: name.to_owned(), parent, local: LocalTransform::Trs(trs) }
}

/// Bones in a row, each one unit above the last.
pub fn chain(count: usize) -> Skeleton {
    let bones: Vec<_> = (0..count)
        .map(|k| {
            let up = if k == 0 { DVec3::ZERO } else { DVec3::Y };
            bone(&format!("bone{k}"), k.checked_sub(1), Trs::from_translation(up))
        })
        .collect();
    Skeleton::build(&bones).unwrap()
}

pub fn translations(interpolation: Interpolation, times: &[f64], at: impl FnMut(f64) -> DVec3) -> Curve<Vec3> {
    let values = times.iter().copied().map(at).map(|v| v.as_vec3()).collect();
    Curve::new(interpolation, times.to_vec(), values).unwrap()
}

pub fn rotations(interpolation: Interpolation, times: &[f64], at: impl FnMut(f64) -> DQuat) -> Curve<Quat> {
    let values = times.iter().copied().map(at).map(|q| q.as_quat()).collect();
    Curve::new(interpolation, times.to_vec(), values).unwrap()
}

/// Keys from 0 on, `per_second` of them.
pub fn evenly(keys: usize, per_second: f64) -> Vec<f64> {
    (0..keys).map(|k| k as f64 / per_second).collect()
}

pub fn moves(node: usize, curve: Curve<Vec3>) -> Track {
    Track { node, translation: Some(curve), ..Track::default() }
}

pub fn turns(node: usize, curve: Curve<Quat>) -> Track {
    Track { node, rotation: Some(curve), ..Track::default() }
}

pub fn clip(tracks: Vec<Track>) -> Clip {
    Clip { name: "test".to_owned(), tracks }
}

pub const FILTER: f64 = 0.3;

/// All four signals, filtered alike.
pub fn all_filtered(filter: impl Into<Filter>) -> Vec<FilteredSignal> {
    let filter = filter.into();
    SIGNALS.map(|signal| FilteredSignal { signal, filter }).to_vec()
}

pub fn low_pass() -> TimeFilter {
    TimeFilter::new(FILTER).unwrap()
}

pub fn derivative() -> DerivativeFilter {
    DerivativeFilter::new(FILTER).unwrap()
}

pub fn wobble() -> Oscillator {
    Oscillator::new(3.0, 0.15).unwrap()
}

/// One of each kind, and how many times larger than its signal its values may be.
pub fn filters() -> [(Filter, f64); 3] {
    [(low_pass().into(), 1.0), (derivative().into(), 1.0 / low_pass().time_constant_secs()), (wobble().into(), 2.0)]
}

pub const SIGNALS: [Signal; 4] =
    [Signal::LinearVelocity, Signal::AngularVelocity, Signal::LinearAcceleration, Signal::AngularAcceleration];

pub fn exact() -> MotionSettings {
    MotionSettings { smoothing: Smoothing::Box(0.0), ..MotionSettings::default() }
}

/// A clip on a skeleton of size 1 (unless told otherwise).
pub struct Scene {
    pub skeleton: Skeleton,
    pub motion: Motion,
}

impl Scene {
    pub fn new(skeleton: &Skeleton, clip: &Clip, settings: &MotionSettings) -> Self {
        Self::try_new(skeleton, clip, settings, 1.0).unwrap()
    }

    pub fn try_new(
        skeleton: &Skeleton,
        clip: &Clip,
        settings: &MotionSettings,
        size: f64,
    ) -> Result<Self, MotionError> {
        let sizes = vec![size; skeleton.len()];
        let filtered: Vec<_> = filters().into_iter().flat_map(|(filter, _)| all_filtered(filter)).collect();
        let motion = Motion::new(
            Puppet { skeleton, bone_sizes: &sizes, morph_layout: &[], hierarchy: None },
            clip,
            settings,
            &filtered,
        )?;
        Ok(Self { skeleton: skeleton.clone(), motion })
    }

    /// All four signals through one filter.
    pub fn filtering(skeleton: &Skeleton, clip: &Clip, settings: &MotionSettings, filter: impl Into<Filter>) -> Self {
        let sizes = vec![1.0; skeleton.len()];
        let motion = Motion::new(
            Puppet { skeleton, bone_sizes: &sizes, morph_layout: &[], hierarchy: None },
            clip,
            settings,
            &all_filtered(filter),
        )
        .unwrap();
        Self { skeleton: skeleton.clone(), motion }
    }

    pub fn world(&self, t: f64) -> WorldPose {
        let mut pose = Pose::rest(&self.skeleton);
        self.motion.pose(t, &mut pose);
        let mut world = WorldPose::default();
        world.compose(&self.skeleton, &pose);
        world
    }

    pub fn kinematics(&self, t: f64) -> Kinematics {
        let mut out = Kinematics::default();
        self.motion.kinematics(t, &self.world(t), &self.skeleton, &mut out);
        out
    }

    /// One signal of one bone (by its place in the skeleton).
    pub fn signal(&self, t: f64, bone: usize, signal: Signal) -> DVec3 {
        self.kinematics(t).bones[bone].get(signal)
    }

    pub fn filtered(&self, t: f64, bone: usize, signal: Signal) -> DVec3 {
        self.through(low_pass(), t, bone, signal)
    }

    pub fn through(&self, filter: impl Into<Filter>, t: f64, bone: usize, signal: Signal) -> DVec3 {
        let wanted = FilteredSignal { signal, filter: filter.into() };
        let place = self.motion.filtered().iter().position(|entry| *entry == wanted).unwrap();
        self.kinematics(t).filtered[place][bone]
    }
}

/// Every number in it, for comparing bits.
pub fn bits(kinematics: &Kinematics) -> Vec<u64> {
    let bones = kinematics.bones.iter().flat_map(|b| SIGNALS.map(|s| b.get(s)));
    let filtered = kinematics.filtered.iter().flatten().copied();
    bones.chain(filtered).flat_map(|v| v.to_array()).map(f64::to_bits).collect()
}

#[track_caller]
pub fn assert_near(a: DVec3, b: DVec3, tolerance: f64, what: impl std::fmt::Display) {
    let error = (a - b).length();
    assert!(error <= tolerance, "{what}: {a} against {b}, {error:e} apart, allowed {tolerance:e}");
}
