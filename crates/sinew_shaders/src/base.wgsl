// Base skinning. Twins: sinew/src/base/{mod,lbs,dqs}.rs.

// A point, and the rows of the linear map that carries directions.
struct Skinned {
    p: vec3<f32>,
    x: vec3<f32>,
    y: vec3<f32>,
    z: vec3<f32>,
}

fn carry(skinned: Skinned, v: vec3<f32>) -> vec3<f32> {
    return vec3<f32>(dot(skinned.x, v), dot(skinned.y, v), dot(skinned.z, v));
}

fn mixed(a: Skinned, b: Skinned, factor: f32) -> Skinned {
    return Skinned(
        (b.p - a.p) * factor + a.p,
        (b.x - a.x) * factor + a.x,
        (b.y - a.y) * factor + a.y,
        (b.z - a.z) * factor + a.z,
    );
}

fn skin_weight(entry: u32, lane: u32) -> f32 {
    return shape[params.skin_weights + entry * LANES + lane];
}

fn linear(row: u32, lane: u32, rest: vec3<f32>) -> Skinned {
    let palette = frame[head + HEADER_PALETTE];
    var x = vec4<f32>(0.0);
    var y = vec4<f32>(0.0);
    var z = vec4<f32>(0.0);
    let stop = of_row(row, ROW_SKIN_STOP);
    for (var entry = of_row(row, ROW_SKIN_START); entry < stop; entry++) {
        let weight = skin_weight(entry, lane);
        if weight == 0.0 {
            continue;
        }
        let at = palette + rig[params.entries + entry] * 12u;
        x = vector4(at) * weight + x;
        y = vector4(at + 4u) * weight + y;
        z = vector4(at + 8u) * weight + z;
    }
    let p = vec3<f32>(moved_by(x, rest), moved_by(y, rest), moved_by(z, rest));
    return Skinned(p, x.xyz, y.xyz, z.xyz);
}

fn moved_by(row: vec4<f32>, p: vec3<f32>) -> f32 {
    return row.z * p.z + (row.y * p.y + (row.x * p.x + row.w));
}

// Dual quaternions and the columns of what stretches them, blended.
struct Dual {
    real: vec4<f32>,
    dual: vec4<f32>,
    x: vec3<f32>,
    y: vec3<f32>,
    z: vec3<f32>,
}

fn blended(row: u32, lane: u32) -> Dual {
    let duals = frame[head + HEADER_DUALS];
    let stretches = frame[head + HEADER_STRETCHES];
    let start = of_row(row, ROW_SKIN_START);
    let stop = of_row(row, ROW_SKIN_STOP);
    var sum = Dual(vec4<f32>(0.0), vec4<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0));
    var pivot = vec4<f32>(0.0);
    if params.pivots != NONE {
        let main = start + rig[params.pivots + row * LANES + lane];
        pivot = vector4(duals + rig[params.entries + main] * 8u);
    }
    for (var entry = start; entry < stop; entry++) {
        let weight = skin_weight(entry, lane);
        if weight == 0.0 {
            continue;
        }
        let palette = rig[params.entries + entry];
        let real = vector4(duals + palette * 8u);
        var signed = weight;
        if dot(pivot, real) < 0.0 {
            signed = -weight;
        }
        sum.real = real * signed + sum.real;
        sum.dual = vector4(duals + palette * 8u + 4u) * signed + sum.dual;
        if stretches != NONE {
            let at = stretches + palette * 9u;
            sum.x = vector(at) * weight + sum.x;
            sum.y = vector(at + 3u) * weight + sum.y;
            sum.z = vector(at + 6u) * weight + sum.z;
        }
    }
    return sum;
}

fn dual(row: u32, lane: u32, rest: vec3<f32>) -> Skinned {
    let sum = blended(row, lane);
    let q = sum.real;
    let square = q.w * q.w + (q.z * q.z + (q.y * q.y + q.x * q.x));
    let usable = square > 1e-12;
    let inverse = 1.0 / sqrt(select(1.0, square, usable));
    let v = q.xyz * inverse;
    let w = select(1.0, q.w * inverse, usable);
    let d = sum.dual.xyz * inverse;
    let dw = sum.dual.w * inverse;
    let t = ((cross(v, d) + d * w) - v * dw) * 2.0;
    let two_w = w + w;
    let v2 = v + v;
    let x = vec3<f32>(1.0 - (v2.y * v.y + v2.z * v.z), v2.x * v.y - two_w * v.z, v2.x * v.z + two_w * v.y);
    let y = vec3<f32>(v2.x * v.y + two_w * v.z, 1.0 - (v2.x * v.x + v2.z * v.z), v2.y * v.z - two_w * v.x);
    let z = vec3<f32>(v2.x * v.z - two_w * v.y, v2.y * v.z + two_w * v.x, 1.0 - (v2.x * v.x + v2.y * v.y));
    if frame[head + HEADER_STRETCHES] != NONE {
        let stretched = Skinned(
            t,
            vec3<f32>(dot(x, sum.x), dot(x, sum.y), dot(x, sum.z)),
            vec3<f32>(dot(y, sum.x), dot(y, sum.y), dot(y, sum.z)),
            vec3<f32>(dot(z, sum.x), dot(z, sum.y), dot(z, sum.z)),
        );
        return Skinned(carry(stretched, rest) + t, stretched.x, stretched.y, stretched.z);
    }
    let around = cross(v, rest) * 2.0;
    return Skinned(cross(v, around) + (around * w + rest) + t, x, y, z);
}

fn skin(row: u32, lane: u32, rest: vec3<f32>) -> Skinned {
    if frame[head + HEADER_DUALS] == NONE {
        return linear(row, lane, rest);
    }
    if params.factors == NONE {
        return dual(row, lane, rest);
    }
    let factor = tuned[params.factors + row * LANES + lane];
    return mixed(linear(row, lane, rest), dual(row, lane, rest), factor);
}
