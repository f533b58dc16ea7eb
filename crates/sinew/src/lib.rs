//! Sinew brings skinned characters to life.
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
//! | [`hierarchy`] | which bone carries which in the body, where the file's tree says otherwise |
//! | [`motion`] | a clip as a function of time: pose, velocities and accelerations without history |
//! | [`stance`] | which bones of a clip stand on the ground, and when |
//! | [`recipe`], [`presets`] | what the user asks for, as data and as a file; ready-made ones |
//! | [`maps`], [`cone`] | what the rest shape tells: maps of softness, the cone of a skirt |
//! | [`strokes`], [`attach`] | what is drawn, as geometry; where on the bones the skin hangs |
//!
//! Comments cite papers by key (VS, AS, LV, KD, EX); `docs/SOURCES.md` names them and lists which equation is in which file.
//!
//! Absent by design: files, clocks, environment, printing, thread pools of its own.

pub mod anatomy;
pub mod attach;
pub mod backend;
pub mod base;
pub mod bind;
mod bind_space;
mod bvh;
mod cholesky;
pub mod clip;
pub mod cone;
mod control_points;
pub mod correct;
mod crowd;
mod csr;
pub mod displace;
mod edge_graph;
mod gradients;
pub mod graph;
pub mod hierarchy;
pub mod influences;
pub mod kinodynamic;
mod limbs;
pub mod maps;
mod memory;
pub mod motion;
mod normals;
pub mod param;
pub mod polar;
pub mod pose;
pub mod presets;
mod propagated;
pub mod raw;
pub mod recipe;
pub mod registry;
pub mod retarget;
pub mod rig;
mod rings;
mod simd;
mod simd8;
pub mod skeleton;
pub mod stage;
pub mod stance;
pub mod strength;
pub mod strokes;
pub mod table;
pub mod text;
pub mod topology;
mod triangle;
pub mod warning;

pub use anatomy::Anatomy;
pub use backend::{Backend, FrameMaker};
pub use clip::{Clip, Curve, Interpolation};
pub use crowd::{CrowdScratch, Member, evaluate_crowd};
pub use gradients::Slopes;
pub use graph::{
    Cpu, CrowdArrays, CrowdSample, DeformedMesh, DeformedRows, EngineSkinning, FramePlan, GraphError, NoCrowd, NoPlan,
    Outputs, RigArrays,
};
pub use hierarchy::Hierarchy;
pub use motion::{
    BoneMotion, DerivativeFilter, Ends, Filter, FilteredSignal, Kinematics, LiveKinematics, LoopVerdict, Looping,
    Motion, MotionError, MotionReport, MotionSettings, Oscillator, Puppet, Signal, Smoothing, TimeFilter, Travel,
};
pub use pose::{LocalTransform, Pose, Trs, WorldPose};
pub use raw::RawRig;
pub use recipe::{Recipe, RecipeError, RecipeFile};
pub use rig::{Rig, RigError};
pub use simd::{LANES, Lanes, Level, Limit, PointRow, Points};
pub use skeleton::{BoneId, Skeleton};
pub use stage::{ForeignMotion, Live, Playing, PoseError, Posed, Retuned, Stage, Workspace};
pub use stance::{Contact, Stance};
pub use warning::Warning;
