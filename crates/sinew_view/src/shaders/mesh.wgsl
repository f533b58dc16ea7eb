// A mesh's corners, fetched from textures: triangles are not shared, so that each knows its number and its edges, and no
// provoking vertex is asked.

struct Draw {
    // Rows: to a point relative to the eye.
    place_x: vec4f,
    place_y: vec4f,
    place_z: vec4f,
    // Rows: normals into the world.
    normal_x: vec4f,
    normal_y: vec4f,
    normal_z: vec4f,
    // Linear RGBA.
    base_color: vec4f,
    // Linear RGB and opacity.
    wire: vec4f,
    veil: vec4f,
    // Width of the wire, part of the veil seen through surfaces, share of painted colours, least alpha.
    amounts: vec4f,
    // First column and row of what is drawn of the picture, and the first beyond it.
    cut: vec4f,
    // What there is (bits below), how light is answered, number of the draw and of the mesh.
    facts: vec4u,
}

const HAS_TEXTURE = 1u;
const HAS_COLORS = 2u;
const HAS_NORMALS = 4u;
const MIRRORED = 8u;
const HAS_WIRE = 16u;
const HAS_PAINT = 32u;
const CHART_FINISH = 1u;
const FLAT_FINISH = 2u;

@group(0) @binding(1) var<uniform> draw: Draw;
@group(1) @binding(0) var indices: texture_2d<u32>;
@group(1) @binding(1) var positions: texture_2d<f32>;
@group(1) @binding(2) var normals: texture_2d<f32>;
@group(1) @binding(3) var uvs: texture_2d<f32>;
@group(1) @binding(4) var colors: texture_2d<f32>;
@group(1) @binding(5) var paint: texture_2d<f32>;
@group(1) @binding(6) var texture: texture_2d<f32>;
@group(1) @binding(7) var texture_sampler: sampler;

fn has(fact: u32) -> bool {
    return (draw.facts.x & fact) != 0u;
}

fn texel(element: u32) -> vec2i {
    return vec2i(i32(element % ROW), i32(element / ROW));
}

fn vector(source: texture_2d<f32>, vertex: u32) -> vec3f {
    let first = 3u * vertex;
    let x = textureLoad(source, texel(first), 0).x;
    let y = textureLoad(source, texel(first + 1u), 0).x;
    let z = textureLoad(source, texel(first + 2u), 0).x;
    return vec3f(x, y, z);
}

// Which corner of its triangle, counter-clockwise in the world.
fn corner_of(index: u32) -> u32 {
    let corner = index % 3u;
    return select(corner, (3u - corner) % 3u, has(MIRRORED));
}

fn vertex_of(index: u32) -> u32 {
    return textureLoad(indices, texel(index - index % 3u + corner_of(index)), 0).x;
}

fn from_eye_of(vertex: u32) -> vec3f {
    let p = vec4f(vector(positions, vertex), 1.0);
    return vec3f(dot(draw.place_x, p), dot(draw.place_y, p), dot(draw.place_z, p));
}

fn normal_of(vertex: u32) -> vec3f {
    if !has(HAS_NORMALS) {
        return vec3f(0.0);
    }
    let n = vector(normals, vertex);
    return vec3f(dot(draw.normal_x.xyz, n), dot(draw.normal_y.xyz, n), dot(draw.normal_z.xyz, n));
}

struct Corner {
    @builtin(position) @invariant position: vec4f,
    @location(0) @interpolate(perspective, centroid) from_eye: vec3f,
    @location(1) @interpolate(perspective, centroid) normal: vec3f,
    @location(2) @interpolate(perspective, centroid) color: vec4f,
    @location(3) @interpolate(perspective, centroid) painted: vec4f,
    // At the covered part of the pixel, and at its centre, for slopes.
    @location(4) @interpolate(perspective, centroid) uv: vec2f,
    @location(5) uv_center: vec2f,
    @location(6) barycentrics: vec3f,
}

@vertex
fn corner(@builtin(vertex_index) index: u32) -> Corner {
    let vertex = vertex_of(index);
    var out: Corner;
    out.from_eye = from_eye_of(vertex);
    out.position = view.clip * vec4f(out.from_eye, 1.0);
    out.normal = normal_of(vertex);
    out.color = vec4f(1.0);
    if has(HAS_COLORS) {
        out.color = textureLoad(colors, texel(vertex), 0);
    }
    if has(HAS_PAINT) {
        out.painted = textureLoad(paint, texel(vertex), 0);
    }
    if has(HAS_TEXTURE) {
        out.uv = textureLoad(uvs, texel(vertex), 0).xy;
        out.uv_center = out.uv;
    }
    let which = corner_of(index);
    out.barycentrics = vec3f(f32(which == 0u), f32(which == 1u), f32(which == 2u));
    return out;
}

// Nothing but where it is.
@vertex
fn place(@builtin(vertex_index) index: u32) -> @builtin(position) @invariant vec4f {
    return view.clip * vec4f(from_eye_of(vertex_of(index)), 1.0);
}

// Linear RGBA: base colour × vertex colour × texture.
fn color_of(in: Corner) -> vec4f {
    var color = draw.base_color * in.color;
    // Slopes are taken where all go.
    let right = dpdx(in.uv_center);
    let down = dpdy(in.uv_center);
    if has(HAS_TEXTURE) {
        let held = textureSampleGrad(texture, texture_sampler, in.uv, right, down);
        color *= vec4f(held.rgb / max(held.a, 1e-6), held.a);
    }
    return color;
}

// Nothing is drawn where alpha is too low, nor beyond the cut: with more samples than one, some drivers let those of the pixel
// next to a scissor's border through.
fn has_hole(in: Corner, color: vec4f) -> bool {
    let beyond = any(in.position.xy < draw.cut.xy) || any(in.position.xy > draw.cut.zw);
    return beyond || color.a < draw.amounts.w;
}

// On the side that is seen; the face's own where the mesh has none that is usable.
fn seen_normal(in: Corner, face: vec3f, is_front: bool) -> vec3f {
    let square = dot(in.normal, in.normal);
    if square > 1e-12 && square < 1e12 {
        return in.normal * select(-1.0, 1.0, is_front) / sqrt(square);
    }
    let towards = select(view.back.xyz, -in.from_eye, is_perspective());
    return face * select(-1.0, 1.0, dot(face, towards) >= 0.0) / max(length(face), 1e-30);
}

// With a largest part of 1, so that products of small things do not vanish.
fn enlarged(v: vec3f) -> vec3f {
    return v / max(max(abs(v.x), abs(v.y)), max(abs(v.z), 1e-30));
}

fn face_of(in: Corner) -> vec3f {
    return enlarged(cross(enlarged(dpdx(in.from_eye)), enlarged(dpdy(in.from_eye))));
}

fn to_eye(from_eye: vec3f) -> vec3f {
    if is_perspective() {
        return -from_eye / max(length(from_eye), 1e-30);
    }
    return view.back.xyz;
}
