// What all shaders share. Layouts: `data.rs`. Constants that are not here come from `sinew_render::studio`, see `shaders.rs`.

struct View {
    // From a point relative to the eye.
    clip: mat4x4f,
    // In w: the picture's centre column and row, and the size of a pixel at depth 1.
    right: vec4f,
    up: vec4f,
    back: vec4f,
    // To the lights. In w: whether the lens is a perspective one; strength of shadows; of occlusion.
    key: vec4f,
    fill: vec4f,
    rim: vec4f,
    // Linear RGB of the background; in w whether there is one, and the number of rows.
    top: vec4f,
    bottom: vec4f,
    // Near and far end of the depth buffer, the camera's near end, the veil's depth.
    depth: vec4f,
    // To cells across the light and the depth along it.
    light_x: vec4f,
    light_y: vec4f,
    light_z: vec4f,
    // To cells on the ground.
    ground_x: vec4f,
    ground_y: vec4f,
    // The ground's height above the eye, whether there is a ground, whether there are shadows, cells along a side.
    ground: vec4f,
    // How far below the ground the lowest point is, in reaches; radius of occlusion; columns and rows of its nodes.
    reach: vec4f,
}

@group(0) @binding(0) var<uniform> view: View;

fn is_perspective() -> bool {
    return view.key.w > 0.5;
}

// Distance along the line of sight of what the depth buffer holds; infinity is large.
fn depth_of_z(z: f32) -> f32 {
    if is_perspective() {
        return view.depth.x / max(z, 1e-30);
    }
    return view.depth.y - z * (view.depth.y - view.depth.x);
}

fn z_of_depth(depth: f32) -> f32 {
    if is_perspective() {
        return clamp(view.depth.x / depth, 0.0, 1.0);
    }
    return clamp((view.depth.y - depth) / (view.depth.y - view.depth.x), 0.0, 1.0);
}

fn pixel_size(depth: f32) -> f32 {
    return view.back.w * select(1.0, depth, is_perspective());
}

// Two numbers of 0…1 with 16 bits each, in a format that every device can draw to.
fn pack(a: f32, b: f32) -> vec4f {
    let whole = floor(clamp(vec2f(a, b), vec2f(0.0), vec2f(1.0)) * 65535.0 + 0.5);
    let high = floor(whole / 256.0);
    let low = whole - high * 256.0;
    return vec4f(high.x, low.x, high.y, low.y) / 255.0;
}

fn unpack(packed: vec4f) -> vec2f {
    let bytes = floor(packed * 255.0 + 0.5);
    return (bytes.xz * 256.0 + bytes.yw) / 65535.0;
}

// Mean and mean square from mean and deviation.
fn moments_of(packed: vec4f) -> vec2f {
    let held = unpack(packed);
    return vec2f(held.x, held.x * held.x + held.y * held.y);
}

fn packed_moments(moments: vec2f) -> vec4f {
    return pack(moments.x, sqrt(max(moments.y - moments.x * moments.x, 0.0)));
}

// A cell of a depth buffer. Sampled and not loaded: without a sampler of its own a depth texture counts as incomplete in
// WebGL2, and reads 0.
fn depth_at(held: texture_2d<f32>, nearest: sampler, cell: vec2i) -> f32 {
    let place = (vec2f(cell) + 0.5) / vec2f(textureDimensions(held));
    return textureSampleLevel(held, nearest, place, 0.0).x;
}

// A triangle that covers the picture.
fn covering(index: u32) -> vec4f {
    let corner = vec2f(f32((index << 1u) & 2u), f32(index & 2u));
    return vec4f(corner * 2.0 - 1.0, 0.0, 1.0);
}
