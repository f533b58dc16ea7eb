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
