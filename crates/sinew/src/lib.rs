//! Sinew: life for skinned characters.
//!
//! A rigged character comes in as a [`RawRig`] with its [`Clip`]s, is checked once and packed into an
//! immutable [`Rig`], and any frame of it comes out, in any order, on any thread, with the same bits.
//!
//! The modules stand in the order of the pipeline:
//!
//! | module | what it holds |
//! |---|---|
//! | [`raw`], [`clip`] | what a file or a program hands over: editable, ragged, unchecked |
//! | [`skeleton`], [`pose`] | bones, parents first; local and world transforms |
//! | [`motion`] | a clip as a function of time: pose, velocities and accelerations without history |
//!
//! Absent by design: files, clocks, environment, printing, thread pools of its own.

pub mod clip;
pub mod motion;
pub mod pose;
pub mod raw;
pub mod skeleton;
pub mod warning;

pub use clip::{Clip, Curve, Interpolation};
pub use motion::{
    BoneMotion, Ends, FilteredSignal, Kinematics, LiveKinematics, LoopVerdict, Looping, Motion, MotionError,
    MotionReport, MotionSettings, Signal, Smoothing, TimeFilter, Travel,
};
pub use pose::{LocalTransform, Pose, Trs, WorldPose};
pub use raw::RawRig;
pub use skeleton::{BoneId, Skeleton};
pub use warning::Warning;
