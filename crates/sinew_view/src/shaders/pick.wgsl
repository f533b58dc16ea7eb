// Which triangle of which mesh of which draw is seen.

struct Numbered {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) triangle: u32,
    @location(1) @interpolate(perspective, centroid) color: vec4f,
    @location(2) uv: vec2f,
}

@vertex
fn pick_corner(@builtin(vertex_index) index: u32) -> Numbered {
    let vertex = vertex_of(index);
    var out: Numbered;
    out.position = view.clip * vec4f(from_eye_of(vertex), 1.0);
    out.triangle = index / 3u;
    out.color = vec4f(1.0);
    if has(HAS_COLORS) {
        out.color = textureLoad(colors, texel(vertex), 0);
    }
    if has(HAS_TEXTURE) {
        out.uv = textureLoad(uvs, texel(vertex), 0).xy;
    }
    return out;
}

@fragment
fn pick(in: Numbered) -> @location(0) vec4u {
    var alpha = draw.base_color.a * in.color.a;
    if has(HAS_TEXTURE) {
        alpha *= textureSampleLevel(texture, texture_sampler, in.uv, 0.0).a;
    }
    if alpha < draw.amounts.w {
        discard;
    }
    return vec4u(draw.facts.z, draw.facts.w, in.triangle, 1u);
}
