// Grids of shadows made soft, and occlusion: twins of grid.rs, ground.rs and occlusion.rs. Two box filters are one tent.

struct Filter {
    // A step, and the radius of a box.
    step: vec2i,
    radius: i32,
    unused: i32,
}

@group(1) @binding(0) var<uniform> filter_by: Filter;
@group(1) @binding(1) var source: texture_2d<f32>;
@group(1) @binding(2) var beside: texture_2d<f32>;
@group(1) @binding(3) var nearest: sampler;

@vertex
fn filter_corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return covering(index);
}

// The tap's place, cells beyond the border repeating the last.
fn tap(at: vec4f, offset: i32) -> vec2i {
    let last = vec2i(textureDimensions(source)) - 1;
    return clamp(vec2i(at.xy) + filter_by.step * offset, vec2i(0), last);
}

fn weight(offset: i32) -> f32 {
    let window = f32(2 * filter_by.radius + 1);
    return (window - f32(abs(offset))) / (window * window);
}

// From depths seen by the light.
@fragment
fn moments(@builtin(position) at: vec4f) -> @location(0) vec4f {
    var sum = vec2f(0.0);
    for (var k = -2 * filter_by.radius; k <= 2 * filter_by.radius; k++) {
        let d = depth_at(source, nearest, tap(at, k));
        sum += vec2f(d, d * d) * weight(k);
    }
    return packed_moments(sum);
}

fn softened(at: vec4f) -> vec2f {
    var sum = vec2f(0.0);
    for (var k = -2 * filter_by.radius; k <= 2 * filter_by.radius; k++) {
        sum += moments_of(textureLoad(source, tap(at, k), 0)) * weight(k);
    }
    return sum;
}

@fragment
fn soften(@builtin(position) at: vec4f) -> @location(0) vec4f {
    return packed_moments(softened(at));
}

// From heights above the ground: how near the lowest surface is to it.
@fragment
fn contact(@builtin(position) at: vec4f) -> @location(0) vec4f {
    var sum = 0.0;
    for (var k = -2 * filter_by.radius; k <= 2 * filter_by.radius; k++) {
        let height = depth_at(source, nearest, tap(at, k)) * (1.0 + view.reach.x) - view.reach.x;
        let near = max(1.0 - max(height, 0.0), 0.0);
        sum += near * near * weight(k);
    }
    return pack(sum, 0.0);
}

@fragment
fn contact_darkness(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let wide = softened(at).x;
    let near = unpack(textureLoad(beside, vec2i(at.xy), 0)).x;
    return pack(1.0 - (1.0 - CONTACT.x * min(CONTACT.y * near, 1.0)) * (1.0 - CONTACT.z * wide), 0.0);
}

// The point of a node in the camera's axes, in units of the radius.
fn node_point(node: vec2f, depth: f32) -> vec3f {
    let pixel = node * f32(OCCLUSION_STEP) + 0.5;
    let scale = pixel_size(depth) / view.reach.y;
    return vec3f((pixel.x - view.right.w) * scale, (view.up.w - pixel.y) * scale, -depth / view.reach.y);
}

// `source` is the depth of what is seen, `beside` its normals.
@fragment
fn occlusion(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let node = vec2i(at.xy);
    let z = depth_at(source, nearest, node * OCCLUSION_STEP);
    if z <= 0.0 {
        return pack(1.0, 0.0);
    }
    let here = depth_of_z(z);
    let held = textureLoad(beside, node * OCCLUSION_STEP, 0).xyz * 2.0 - 1.0;
    let normal = held / max(length(held), 1e-6);
    let nodes = view.reach.zw;
    let reach = max(min(view.reach.y / (f32(OCCLUSION_STEP) * pixel_size(here)), 0.25 * nodes.y), 2.0);
    let start = node_point(vec2f(node), here);
    let turn = (node.x & 3) + 4 * (node.y & 3);
    var hidden = 0.0;
    for (var i = 0; i < OCCLUSION_TAPS; i++) {
        let place = vec2f(node) + 0.5 + reach * spirals[turn * OCCLUSION_TAPS + i];
        if !(place.x >= 0.0 && place.y >= 0.0 && place.x < nodes.x && place.y < nodes.y) {
            continue;
        }
        let tapped = floor(place);
        let there = depth_at(source, nearest, vec2i(tapped) * OCCLUSION_STEP);
        if there > 0.0 {
            let v = node_point(tapped, depth_of_z(there)) - start;
            let square = dot(v, v);
            let near = max(1.0 - square, 0.0);
            hidden += near * near * near * max(dot(v, normal) - OCCLUSION_BETA, 0.0) / (square + 0.02);
        }
    }
    return pack(1.0 - 1.1 * hidden / f32(OCCLUSION_TAPS), 0.0);
}

// Takes the pattern of turns out; `source` is what the pass before made, `beside` the depth.
@fragment
fn occlusion_mean(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let node = vec2i(at.xy);
    let z = depth_at(beside, nearest, node * OCCLUSION_STEP);
    let here = depth_of_z(z);
    let last = vec2i(view.reach.zw) - 1;
    var sum = 0.0;
    var count = 0.0;
    for (var dy = -2; dy < 2; dy++) {
        for (var dx = -2; dx < 2; dx++) {
            let other = node + vec2i(dx, dy);
            if any(other < vec2i(0)) || any(other > last) {
                continue;
            }
            let there = depth_at(beside, nearest, other * OCCLUSION_STEP);
            if there > 0.0 && (z <= 0.0 || abs(depth_of_z(there) - here) < 0.5 * view.reach.y) {
                sum += unpack(textureLoad(source, other, 0)).x;
                count += 1.0;
            }
        }
    }
    return pack(select(1.0, sum / max(count, 1.0), count > 0.0), 0.0);
}
