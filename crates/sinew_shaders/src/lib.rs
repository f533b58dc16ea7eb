//! Sinew's deformers as WGSL, with the layouts of the buffers they read and write.
//!
//! Nothing here knows wgpu: engines and pages bring their own version of it. A backend makes a pipeline of every
//! [`Stage`], uploads a [`PackedRig`] once and the words of a frame ([`PackedRig::pack_frame`]) before each frame, and
//! runs the stages in order, with as many invocations as [`PackedRig::invocations`] says. `sinew_gpu` is one such backend.
//!
//! | stage | what it does | bindings |
//! |---|---|---|
//! | [`Stage::Carry`] | nodes by lines between joints; only for the base that does so | [`Bindings::Deform`] |
//! | [`Stage::GiveWay`] | of those, the squeezed ones | [`Bindings::Deform`] |
//! | [`Stage::Deform`] | base, effects and their limit; normals and tangents as the base has them | [`Bindings::Deform`] |
//! | [`Stage::DeformExactly`] | in its place where normals are exact: all that with its derivatives | [`Bindings::Deform`] |
//! | [`Stage::Settle`] | points that the skin as a whole has a say in; only where a frame has any | [`Bindings::Deform`] |
//! | [`Stage::Correct`] | nodes that corrections move; only where a frame has any | [`Bindings::Deform`] |
//! | [`Stage::Normals`] | normals turn as their faces did; only where the recipe asks for that | [`Bindings::Deform`] |
//! | [`Stage::Guard`] | exact normals do not stand against their faces | [`Bindings::Deform`] |
//! | [`Stage::Vertices`] | from rows to vertices | [`Bindings::Vertices`] |
//!
//! A crowd of one character ([`PackedCrowd`]) runs its own stages around those that make points and normals, all
//! characters at once, one per layer of the dispatch:
//!
//! | stage | what it does | bindings |
//! |---|---|---|
//! | [`Stage::Compose`] | the words of each character's frame, of what is sampled of its clip | [`Bindings::Crowd`] |
//! | [`Stage::Deform`] | as above | [`Bindings::Deform`] |
//! | [`Stage::SettleEach`] | points that the skin as a whole has a say in | [`Bindings::Crowd`] |
//! | [`Stage::Normals`] | as above | [`Bindings::Deform`] |
//! | [`Stage::PlaceVertices`] | from rows to vertices, where each character stands | [`Bindings::Place`] |
//!
//! Shaders are twins of the loops in `sinew`: same names, same order of operations. Layouts are one list of names from
//! which both sides are made.

mod crowd;
mod cubics;
mod pack;
mod words;

pub use crowd::{CrowdMember, CrowdParams, Member, Mover, PackedCrowd, Swept};

pub use pack::{Column, Effect, FrameWork, Header, NONE, Node, PackedRig, Params, Row};

use crowd::{How, MAKER_PLACES};
use sinew::displace::{MakerKind, TermKind, TermMaker};

/// Invocations of a workgroup.
pub const WORKGROUP: u32 = 64;
/// Groups in one dimension, at most.
pub const MOST_GROUPS: u32 = 65_535;

/// A compute shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nodes by lines.
    Carry,
    /// Where they are squeezed.
    GiveWay,
    /// Points through base and effects.
    Deform,
    /// The same with exact normals.
    DeformExactly,
    /// Points that settled elsewhere.
    Settle,
    /// Nodes that corrections move.
    Correct,
    /// Normals from faces.
    Normals,
    /// Exact normals, against their faces.
    Guard,
    /// Rows to vertices.
    Vertices,
    /// Frames of a crowd.
    Compose,
    /// Points that settled, of a crowd.
    SettleEach,
    /// Rows to vertices, of a crowd.
    PlaceVertices,
}

/// What a stage is bound to, all in group 0: a uniform at 0, storage from 1 on; true may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bindings {
    /// [`Params`], rig, shape, tuned, frame; points of the base, points, normals, tangents.
    Deform,
    /// [`Params`], rig, shape, points, normals, tangents; positions, normals and tangents of vertices.
    Vertices,
    /// [`CrowdParams`]; frame, pieces of clips, members, points of the base, points.
    Crowd,
    /// [`CrowdParams`], rig, frame, points, normals, tangents; positions, normals and tangents of vertices.
    Place,
}

impl Bindings {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Deform, Self::Vertices, Self::Crowd, Self::Place];

    /// Of the storage buffers, in order: whether they are written.
    pub const fn written(self) -> &'static [bool] {
        match self {
            Self::Deform => &[false, false, false, false, true, true, true, true],
            Self::Vertices | Self::Place => &[false, false, false, false, false, true, true, true],
            Self::Crowd => &[true, false, false, true, true],
        }
    }
}

impl Stage {
    /// Every one.
    pub const ALL: [Self; 12] = [
        Self::Carry,
        Self::GiveWay,
        Self::Deform,
        Self::DeformExactly,
        Self::Settle,
        Self::Correct,
        Self::Normals,
        Self::Guard,
        Self::Vertices,
        Self::Compose,
        Self::SettleEach,
        Self::PlaceVertices,
    ];
    /// Those of a frame, in the order they run.
    pub const FRAME: [Self; 9] = [
        Self::Carry,
        Self::GiveWay,
        Self::Deform,
        Self::DeformExactly,
        Self::Settle,
        Self::Correct,
        Self::Normals,
        Self::Guard,
        Self::Vertices,
    ];
    /// Those of a crowd.
    pub const CROWD: [Self; 5] = [Self::Compose, Self::Deform, Self::SettleEach, Self::Normals, Self::PlaceVertices];

    /// Name of its entry point.
    pub const fn entry_point(self) -> &'static str {
        match self {
            Self::Carry => "carry_nodes",
            Self::GiveWay => "give_way",
            Self::Deform => "deform",
            Self::DeformExactly => "deform_exactly",
            Self::Settle => "settle",
            Self::Correct => "correct",
            Self::Normals => "turn_normals",
            Self::Guard => "guard_normals",
            Self::Vertices => "vertices",
            Self::Compose => "compose",
            Self::SettleEach => "settle_each",
            Self::PlaceVertices => "place_vertices",
        }
    }

    /// What it is bound to.
    pub const fn bindings(self) -> Bindings {
        match self {
            Self::Vertices => Bindings::Vertices,
            Self::Compose | Self::SettleEach => Bindings::Crowd,
            Self::PlaceVertices => Bindings::Place,
            _ => Bindings::Deform,
        }
    }

    /// Its text.
    pub fn source(self) -> String {
        let parts: &[&str] = match self {
            Self::Carry | Self::GiveWay => {
                &[include_str!("buffers.wgsl"), include_str!("base.wgsl"), include_str!("carry.wgsl")]
            }
            Self::Deform => &[
                include_str!("buffers.wgsl"),
                include_str!("base.wgsl"),
                include_str!("terms.wgsl"),
                include_str!("deform.wgsl"),
            ],
            Self::DeformExactly => &[
                include_str!("buffers.wgsl"),
                include_str!("base.wgsl"),
                include_str!("terms.wgsl"),
                include_str!("deform.wgsl"),
                include_str!("exact.wgsl"),
            ],
            Self::Settle => &[include_str!("buffers.wgsl"), include_str!("settle.wgsl")],
            Self::Correct => &[include_str!("buffers.wgsl"), include_str!("correct.wgsl")],
            Self::Normals => &[include_str!("buffers.wgsl"), include_str!("normals.wgsl")],
            Self::Guard => &[include_str!("buffers.wgsl"), include_str!("normals.wgsl"), include_str!("guard.wgsl")],
            Self::Vertices => &[include_str!("vertices.wgsl")],
            Self::Compose => &[include_str!("crowd_buffers.wgsl"), include_str!("compose.wgsl")],
            Self::SettleEach => &[include_str!("crowd_buffers.wgsl"), include_str!("settle_each.wgsl")],
            Self::PlaceVertices => &[include_str!("place.wgsl")],
        };
        let mut source = layouts();
        source.push_str(include_str!("common.wgsl"));
        parts.iter().for_each(|part| source.push_str(part));
        source
    }
}

/// How many groups for so many invocations, in two dimensions.
pub fn groups(invocations: u32) -> [u32; 2] {
    let groups = invocations.div_ceil(WORKGROUP);
    let high = groups.div_ceil(MOST_GROUPS).max(1);
    [groups.div_ceil(high), high]
}

/// Structs and places, from the same lists as the Rust ones.
fn layouts() -> String {
    let numbered = |fields: &'static [&'static str]| fields.iter().enumerate().map(|(word, &field)| (field, word));
    let mut text = words::uniform("Params", Params::FIELDS);
    text.push_str(&words::uniform("CrowdParams", CrowdParams::FIELDS));
    text.push_str(&words::places("MEMBER", numbered(Member::FIELDS), Member::WORDS));
    text.push_str(&words::places("MOVER", numbered(Mover::FIELDS), Mover::WORDS));
    text.push_str(&words::places("MAKER", MAKER_PLACES, size_of::<TermMaker>() / 4));
    let makers = [
        ("VELOCITY", MakerKind::Velocity),
        ("ACCELERATION", MakerKind::Acceleration),
        ("BRAKING", MakerKind::Braking),
        ("STARTING", MakerKind::Starting),
        ("SQUASH", MakerKind::Squash),
        ("THROW", MakerKind::Throw),
    ];
    for (name, kind) in makers {
        text.push_str(&format!("const MAKES_{name}: u32 = {}u;\n", kind as u32));
    }
    let ways =
        [("CONSTANT", How::Constant), ("WITHIN", How::Within), ("SAMPLED", How::Sampled), ("GAINED", How::Gained)];
    for (name, how) in ways {
        text.push_str(&format!("const WORD_{name}: u32 = {}u;\n", how as u32));
    }
    text.push_str(&words::places("HEADER", numbered(Header::FIELDS), Header::WORDS));
    text.push_str(&words::places("EFFECT", numbered(Effect::FIELDS), Effect::WORDS));
    text.push_str(&words::places("ROW", numbered(Row::FIELDS), Row::WORDS));
    text.push_str(&words::places("COLUMN", numbered(Column::FIELDS), Column::WORDS));
    text.push_str(&words::places("NODE", numbered(Node::FIELDS), Node::WORDS));
    text.push_str(&words::places("LINE", pack::LINE_PLACES, pack::LINE_WORDS));
    text.push_str(&words::places("NODE_MOVE", [], pack::NODE_MOVE_WORDS));
    for kind in TermKind::ALL {
        let name = format!("{kind:?}").to_uppercase();
        let layout = kind.layout();
        text.push_str(&words::places(&name, layout.fields.iter().copied(), layout.words));
        text.push_str(&format!("const KIND_{name}: u32 = {}u;\n", pack::kind_number(kind)));
    }
    text
}

#[cfg(test)]
mod cost;
#[cfg(test)]
mod tests;
