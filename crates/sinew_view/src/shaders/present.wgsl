// From linear light to what pictures and user interfaces hold: sRGB values, times alpha.

@group(1) @binding(1) var drawn: texture_2d<f32>;

@vertex
fn present_corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return covering(index);
}

@fragment
fn present(@builtin(position) at: vec4f) -> @location(0) vec4f {
    let held = textureLoad(drawn, vec2i(at.xy), 0);
    let light = clamp(held.rgb / max(held.a, 1e-6), vec3f(0.0), vec3f(1.0));
    let low = light * 12.92;
    let high = 1.055 * pow(light, vec3f(1.0 / 2.4)) - 0.055;
    return vec4f(select(high, low, light <= vec3f(0.0031308)) * held.a, held.a);
}
