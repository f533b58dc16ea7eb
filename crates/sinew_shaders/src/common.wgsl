// What every stage shares: vectors in rows of sixteen, elementary functions and limits. Twin: sinew/src/simd.rs.
//
// Products and sums are written out: whether a driver fuses them is its own affair, and results differ in the last bit.

const LANES: u32 = 16u;
const NONE: u32 = 0xffffffffu;
const MIN_POSITIVE: f32 = 1.17549435e-38;

// The invocation's number, over two dimensions of groups: one alone ends at 65,535.
fn place(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
    return (group.y * groups.x + group.x) * 64u + local;
}

// Where the first coordinate of a slot stands in rows of points; the others follow LANES apart.
fn row_place(slot: u32) -> u32 {
    return (slot / LANES) * (3u * LANES) + slot % LANES;
}

fn copysign(magnitude: f32, sign: f32) -> f32 {
    return bitcast<f32>((bitcast<u32>(magnitude) & 0x7fffffffu) | (bitcast<u32>(sign) & 0x80000000u));
}

// Divided by its length; what has none takes the other.
fn normalize_or(v: vec3<f32>, other: vec3<f32>) -> vec3<f32> {
    let square = dot(v, v);
    if square > MIN_POSITIVE {
        return v * (1.0 / sqrt(square));
    }
    return other;
}

// Sine and cosine of half the angle.
fn half_sin_cos(angle: f32) -> vec2<f32> {
    let x = angle * 0.5;
    let turns = round(x * 0.63661977);
    var r = turns * -1.5703125 + x;
    r = turns * -4.837513e-4 + r;
    r = turns * -7.54979e-8 + r;
    let r2 = r * r;
    var sin = ((r2 * 2.6084316e-6 - 1.9810695e-4) * r2 + 8.333075e-3) * r2 - 1.6666657e-1;
    sin = (sin * r2) * r + r;
    var cos = (r2 * 2.4433157e-5 - 1.3887316e-3) * r2 + 4.1666645e-2;
    cos = (cos * r2) * r2 + (r2 * -0.5 + 1.0);
    let quadrant = turns - floor(turns * 0.25) * 4.0;
    let odd = abs(quadrant - 2.0) == 1.0;
    let s = select(sin, cos, odd);
    let c = select(cos, sin, odd);
    return vec2<f32>(select(s, -s, quadrant > 1.5), select(c, -c, abs(quadrant - 1.5) < 1.0));
}

// Sine, and 1 − cosine, of no more than a quarter turn.
fn sin_versine(angle: f32) -> vec2<f32> {
    let z = angle * angle;
    let sin = ((z * 2.6050782e-6 - 1.9809004e-4) * z + 8.33305e-3) * z - 1.6666658e-1;
    let versine = (((z * 2.629727e-7 - 2.4774568e-5) * z + 1.3888652e-3) * z - 4.166666e-2) * z + 0.5;
    return vec2<f32>((sin * z) * angle + angle, versine * z);
}

// u^(−¼) for 1 ≤ u ≤ 1e37.
fn inverse_fourth_root(u: f32) -> f32 {
    var y = bitcast<f32>(0x4f584000u - (bitcast<u32>(u) >> 2u));
    for (var step = 0u; step < 2u; step++) {
        let square = y * y;
        let h = 1.0 - (square * u) * square;
        y = (y * h) * (h * 0.15625 + 0.25) + y;
    }
    return y;
}

struct Limit {
    max: f32,
    soft: bool,
}

fn limited(limit: Limit, x: f32) -> f32 {
    if !limit.soft {
        return min(x, limit.max);
    }
    if limit.max <= 0.0 {
        return 0.0;
    }
    let ratio = min(x * (1.0 / limit.max), 1e9);
    let square = ratio * ratio;
    return limit.max * (ratio * inverse_fourth_root(square * square + 1.0));
}

fn limited_vector(limit: Limit, v: vec3<f32>) -> vec3<f32> {
    let length = sqrt(dot(v, v));
    if length > MIN_POSITIVE {
        return v * (1.0 / length) * limited(limit, length);
    }
    return vec3<f32>(0.0);
}
