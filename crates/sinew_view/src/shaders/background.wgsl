// What is behind the scene, and the shadows on the ground.

@group(2) @binding(1) var soft: texture_2d<f32>;
@group(2) @binding(2) var contact: texture_2d<f32>;

@vertex
fn background_corner(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    return covering(index);
}

fn darkness(pixel: vec2f) -> f32 {
    let at = (pixel - vec2f(view.right.w, view.up.w)) * view.back.w;
    let across = view.right.xyz * at.x - view.up.xyz * at.y;
    var origin = across;
    var direction = -view.back.xyz;
    if is_perspective() {
        origin = vec3f(0.0);
        direction = across - view.back.xyz;
    }
    let depth = (view.ground.x - origin.y) / direction.y;
    if !(view.ground.y > 0.5 && direction.y < 0.0 && depth > 0.0) {
        return 0.0;
    }
    let p = vec4f(origin + direction * depth, 1.0);
    let held = between(soft, vec2f(dot(view.light_x, p), dot(view.light_y, p)));
    var shadow = 0.0;
    if held.z > 0.5 {
        shadow = 1.0 - reached(held.xy, dot(view.light_z, p), 0.0);
    }
    let under = between(contact, vec2f(dot(view.ground_x, p), dot(view.ground_y, p))).x;
    return (1.0 - (1.0 - under) * (1.0 - SHADOW_ON_GROUND * shadow)) * view.fill.w;
}

@fragment
fn background(@builtin(position) position: vec4f) -> @location(0) vec4f {
    let dark = darkness(position.xy);
    if view.top.w < 0.5 {
        return vec4f(0.0, 0.0, 0.0, dark);
    }
    let backdrop = mix(view.top.rgb, view.bottom.rgb, position.y / view.bottom.w);
    return vec4f(backdrop * (1.0 - SHADOW_TINT * dark), 1.0);
}
