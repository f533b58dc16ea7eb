// Light and colour: twin of `sinew_render`'s shade.rs, term by term.

@group(2) @binding(0) var sharp: texture_2d<f32>;
@group(2) @binding(3) var open: texture_2d<f32>;
@group(2) @binding(4) var solid_depth: texture_2d<f32>;
@group(2) @binding(5) var nearest: sampler;

// Part of the light that reaches a point.
fn light_on_surface(from_eye: vec3f) -> f32 {
    let p = vec4f(from_eye, 1.0);
    let held = between(sharp, vec2f(dot(view.light_x, p), dot(view.light_y, p)));
    if held.z < 0.5 {
        return 1.0;
    }
    return reached(held.xy, dot(view.light_z, p), SHADOW_BIAS);
}

// Whether two depths belong to one surface.
fn joined(here: f32, z: f32) -> bool {
    return z > 0.0 && abs(depth_of_z(z) - here) < 0.5 * view.reach.y;
}

// Light of the sky that arrives: between the nodes on the same surface.
fn openness(pixel: vec2i, depth: f32) -> f32 {
    let node = pixel / OCCLUSION_STEP;
    let last = vec2i(view.reach.zw) - 1;
    let part = vec2f(pixel - node * OCCLUSION_STEP) / f32(OCCLUSION_STEP);
    var sum = 0.0;
    var weight = 0.0;
    var any = 1.0;
    for (var i = 0; i < 4; i++) {
        let side = vec2i(i & 1, i >> 1u);
        let at = min(node + side, last);
        let share = mix(1.0 - part.x, part.x, f32(side.x)) * mix(1.0 - part.y, part.y, f32(side.y));
        let held = unpack(textureLoad(open, at, 0)).x;
        any = min(any, held);
        if joined(depth, depth_at(solid_depth, nearest, at * OCCLUSION_STEP)) {
            sum += share * held;
            weight += share;
        }
    }
    if weight > 0.0 {
        return sum / weight;
    }
    return any;
}

fn shoulder(c: vec3f) -> vec3f {
    let over = max(c - KNEE, vec3f(0.0)) / (1.0 - KNEE);
    return min(c, vec3f(KNEE)) + (over / (1.0 + over)) * (1.0 - KNEE);
}

fn studio(albedo: vec3f, n: vec3f, from_eye: vec3f, occlusion: f32) -> vec3f {
    let eye = to_eye(from_eye);
    let facing = clamp(dot(n, eye), 0.0, 1.0);
    var shadow = 1.0;
    if view.ground.z > 0.5 {
        shadow = 1.0 + (light_on_surface(from_eye) - 1.0) * SHADOW_ON_SURFACE * view.fill.w;
    }
    let toward_key = dot(n, view.key.xyz);
    let wrapped = max((toward_key + WRAP) * WRAP_SCALE, vec3f(0.0));
    let key = KEY * wrapped * (shadow * (0.75 + 0.25 * occlusion));
    let fill = FILL * max(0.5 + 0.5 * dot(n, view.fill.xyz), 0.0);
    let sky = 0.5 + 0.5 * n.y;
    let unhidden = 1.0 - (1.0 - albedo * BOUNCE) * (1.0 - occlusion);
    let ambient = (FLOOR + (SKY - FLOOR) * sky) * unhidden;
    let diffuse = albedo * (key + fill + ambient);

    let grazing = 1.0 - facing;
    let fresnel = grazing * grazing * grazing * grazing;
    let behind = max(0.3 + 0.7 * dot(n, view.rim.xyz), 0.0);
    let rim = RIM * (fresnel * behind * occlusion) * (0.35 + albedo * 0.65);

    var glint = 0.0;
    if toward_key > 0.0 {
        let half_way = view.key.xyz + eye;
        let x = max(dot(n, half_way / max(length(half_way), 1e-12)), 0.0);
        let x2 = x * x;
        let x4 = x2 * x2;
        let x8 = x4 * x4;
        glint = x8 * x8 * x8 * toward_key * shadow;
    }
    return shoulder(diffuse + rim + GLINT * glint);
}

@fragment
fn solid(in: Corner, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let material = color_of(in);
    let face = face_of(in);
    // How far an edge is, in pixels.
    let slope = sqrt(dpdx(in.barycentrics) * dpdx(in.barycentrics) + dpdy(in.barycentrics) * dpdy(in.barycentrics));
    if has_hole(in, material) {
        discard;
    }
    let albedo = max(mix(material.rgb, in.painted.rgb, draw.amounts.z), vec3f(0.0));
    let n = seen_normal(in, face, is_front);
    var occlusion = 1.0;
    if view.rim.w > 0.0 && draw.facts.y != FLAT_FINISH {
        let held = openness(vec2i(in.position.xy), -dot(in.from_eye, view.back.xyz));
        occlusion = 1.0 + (held - 1.0) * view.rim.w;
    }
    var rgb = albedo;
    if draw.facts.y == CHART_FINISH {
        let facing = max(dot(n, to_eye(in.from_eye)), 0.0);
        let key = max(dot(n, view.key.xyz), 0.0);
        rgb = albedo * ((CHART.x + CHART.y * facing + CHART.z * key) * (0.6 + 0.4 * occlusion));
    } else if draw.facts.y != FLAT_FINISH {
        rgb = studio(albedo, n, in.from_eye, occlusion);
    }
    if has(HAS_WIRE) {
        let away = max(in.barycentrics, vec3f(0.0)) / max(slope, vec3f(1e-12));
        let distance = min(away.x, min(away.y, away.z));
        let coverage = clamp(0.5 * draw.amounts.x + 0.5 - distance, 0.0, 1.0) * draw.wire.a;
        rgb = mix(rgb, draw.wire.rgb, coverage);
    }
    return vec4f(rgb, 1.0);
}

// Normals in the camera's axes, for occlusion; the depth is what ghosts are compared with.
@fragment
fn solid_normal(in: Corner, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let face = face_of(in);
    if has_hole(in, color_of(in)) {
        discard;
    }
    let n = seen_normal(in, face, is_front);
    return vec4f(0.5 + 0.5 * vec3f(dot(n, view.right.xyz), dot(n, view.up.xyz), dot(n, view.back.xyz)), 1.0);
}

// The nearest surface of ghosts; no colour is written.
@fragment
fn ghost_depth(in: Corner) -> @location(0) vec4f {
    if has_hole(in, color_of(in)) {
        discard;
    }
    return vec4f(0.0);
}

@fragment
fn ghost(in: Corner, @builtin(front_facing) is_front: bool) -> @location(0) vec4f {
    let material = color_of(in);
    let n = seen_normal(in, face_of(in), is_front);
    if has_hole(in, material) {
        discard;
    }
    let grazing = 1.0 - clamp(dot(n, to_eye(in.from_eye)), 0.0, 1.0);
    let light = VEIL_LIGHT.x + VEIL_LIGHT.y * max(dot(n, view.key.xyz), 0.0);
    let alpha = min(draw.veil.a * (VEIL_OPACITY.x + VEIL_OPACITY.y * grazing * grazing), 1.0);
    let z = depth_at(solid_depth, nearest, vec2i(in.position.xy));
    var seen = 1.0;
    if z > 0.0 {
        // Gradual, so that surfaces that nearly coincide do not flicker through each other.
        let behind = -dot(in.from_eye, view.back.xyz);
        let before = clamp(0.5 + (depth_of_z(z) - behind) / view.depth.w, 0.0, 1.0);
        seen = before + (1.0 - before) * draw.amounts.y;
    }
    return vec4f(draw.veil.rgb * light, 1.0) * (alpha * seen);
}
