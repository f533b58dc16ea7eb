// Part of the light that arrives at a depth, by Chebyshev's inequality: twin of shadow.rs.
fn reached(moments: vec2f, depth: f32, bias: f32) -> f32 {
    // Beyond the map's far end there is nothing more to tell apart.
    let behind = min(depth, 1.0) - bias - moments.x;
    if behind <= 0.0 {
        return 1.0;
    }
    let variance = max(moments.y - moments.x * moments.x, LEAST_VARIANCE);
    let reach = variance / (variance + behind * behind);
    return max((reach - BLEEDING) / (1.0 - BLEEDING), 0.0);
}

// Between cells; the last number says whether the place is inside.
fn between(source: texture_2d<f32>, place: vec2f) -> vec3f {
    let q = place - 0.5;
    let limit = view.ground.w - 1.0;
    if !(q.x >= 0.0 && q.y >= 0.0 && q.x < limit && q.y < limit) {
        return vec3f(0.0);
    }
    let cell = vec2i(q);
    let part = q - floor(q);
    let upper = mix(
        moments_of(textureLoad(source, cell, 0)),
        moments_of(textureLoad(source, cell + vec2i(1, 0), 0)),
        part.x,
    );
    let lower = mix(
        moments_of(textureLoad(source, cell + vec2i(0, 1), 0)),
        moments_of(textureLoad(source, cell + vec2i(1, 1), 0)),
        part.x,
    );
    return vec3f(mix(upper, lower, part.y), 1.0);
}

