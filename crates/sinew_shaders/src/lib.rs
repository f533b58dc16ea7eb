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
//! | [`Stage::Settle`] | points that the skin as a whole has a say in; only where a frame has any | [`Bindings::Deform`] |
//! | [`Stage::Correct`] | nodes that corrections move; only where a frame has any | [`Bindings::Deform`] |
//! | [`Stage::Normals`] | normals turn as their faces did; only where the recipe asks for that | [`Bindings::Deform`] |
//! | [`Stage::Vertices`] | from rows to vertices | [`Bindings::Vertices`] |
//!
//! Shaders are twins of the loops in `sinew`: same names, same order of operations. Layouts are one list of names from
//! which both sides are made.

mod pack;
mod words;

pub use pack::{Column, Effect, FrameWork, Header, NONE, Node, PackedRig, Params, Row};

use sinew::displace::TermKind;

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
    /// Points that settled elsewhere.
    Settle,
    /// Nodes that corrections move.
    Correct,
    /// Normals from faces.
    Normals,
    /// Rows to vertices.
    Vertices,
}

/// What a stage is bound to, all in group 0: a uniform at 0, storage from 1 on; true may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bindings {
    /// [`Params`], rig, shape, tuned, frame; points of the base, points, normals, tangents.
    Deform,
    /// [`Params`], rig, shape, points, normals, tangents; positions, normals and tangents of vertices.
    Vertices,
}

impl Bindings {
    /// Of the storage buffers, in order: whether they are written.
    pub const fn written(self) -> [bool; 8] {
        match self {
            Self::Deform => [false, false, false, false, true, true, true, true],
            Self::Vertices => [false, false, false, false, false, true, true, true],
        }
    }
}

impl Stage {
    /// In the order they run.
    pub const ALL: [Self; 7] =
        [Self::Carry, Self::GiveWay, Self::Deform, Self::Settle, Self::Correct, Self::Normals, Self::Vertices];

    /// Name of its entry point.
    pub const fn entry_point(self) -> &'static str {
        match self {
            Self::Carry => "carry_nodes",
            Self::GiveWay => "give_way",
            Self::Deform => "deform",
            Self::Settle => "settle",
            Self::Correct => "correct",
            Self::Normals => "turn_normals",
            Self::Vertices => "vertices",
        }
    }

    /// What it is bound to.
    pub const fn bindings(self) -> Bindings {
        match self {
            Self::Vertices => Bindings::Vertices,
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
            Self::Settle => &[include_str!("buffers.wgsl"), include_str!("settle.wgsl")],
            Self::Correct => &[include_str!("buffers.wgsl"), include_str!("correct.wgsl")],
            Self::Normals => &[include_str!("buffers.wgsl"), include_str!("normals.wgsl")],
            Self::Vertices => &[include_str!("vertices.wgsl")],
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
