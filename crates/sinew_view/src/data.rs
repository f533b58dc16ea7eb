//! What shaders are given, word by word: mirrors of the structures in `shaders/`.

use bytemuck::{Pod, Zeroable};

/// Mirror of `View` in common.wgsl.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct View {
    pub clip: [[f32; 4]; 4],
    pub right: [f32; 4],
    pub up: [f32; 4],
    pub back: [f32; 4],
    pub key: [f32; 4],
    pub fill: [f32; 4],
    pub rim: [f32; 4],
    pub top: [f32; 4],
    pub bottom: [f32; 4],
    pub depth: [f32; 4],
    pub light: [[f32; 4]; 3],
    pub ground_place: [[f32; 4]; 2],
    pub ground: [f32; 4],
    pub reach: [f32; 4],
}

/// Mirror of `Draw` in mesh.wgsl.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Draw {
    pub place: [[f32; 4]; 3],
    pub normal: [[f32; 4]; 3],
    pub base_color: [f32; 4],
    pub wire: [f32; 4],
    pub veil: [f32; 4],
    pub amounts: [f32; 4],
    pub cut: [f32; 4],
    pub facts: [u32; 4],
}

/// Bits of `Draw::facts`, as in mesh.wgsl.
pub const HAS_TEXTURE: u32 = 1;
pub const HAS_COLORS: u32 = 2;
pub const HAS_NORMALS: u32 = 4;
pub const MIRRORED: u32 = 8;
pub const HAS_WIRE: u32 = 16;
pub const HAS_PAINT: u32 = 32;

/// Mirror of `Filter` in filter.wgsl.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Filter {
    pub step: [i32; 2],
    pub radius: i32,
    pub unused: i32,
}

/// Mirror of `Stroke` in stroke.wgsl.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Stroke {
    pub ends: [[f32; 4]; 2],
    pub colors: [[f32; 4]; 2],
    pub around: [f32; 4],
    pub amounts: [f32; 4],
}
