// Exact normals: base and effects with their derivatives along the surface, as `deform` but for that. Twins:
// sinew/src/displace/{shove,turn,swing,squash,centrifugal_stretch}.rs, sinew/src/base/{lbs,dqs}.rs and
// sinew/src/graph/{blocks,accumulate,collapsed,cone_filter}.rs.

const LARGEST: f32 = 3.4028234e38;

// The rows of a matrix.
struct Rows {
    x: vec3<f32>,
    y: vec3<f32>,
    z: vec3<f32>,
}

fn no_rows() -> Rows {
    return Rows(vec3<f32>(0.0), vec3<f32>(0.0), vec3<f32>(0.0));
}

fn added_rows(a: Rows, b: Rows) -> Rows {
    return Rows(a.x + b.x, a.y + b.y, a.z + b.z);
}

fn scaled_rows(m: Rows, by: f32) -> Rows {
    return Rows(m.x * by, m.y * by, m.z * by);
}

// m + a ⊗ b
fn outer(m: Rows, a: vec3<f32>, b: vec3<f32>) -> Rows {
    return Rows(b * a.x + m.x, b * a.y + m.y, b * a.z + m.z);
}

// mᵀ n
fn transposed(m: Rows, n: vec3<f32>) -> vec3<f32> {
    return m.z * n.z + (m.y * n.y + m.x * n.x);
}

fn finite_or_zero(v: vec3<f32>) -> vec3<f32> {
    return select(vec3<f32>(0.0), v, abs(v) < vec3<f32>(LARGEST));
}

// The bounded quantity, and its slope.
fn limited_slope(limit: Limit, x: f32) -> vec2<f32> {
    if !limit.soft {
        return vec2<f32>(min(x, limit.max), select(1.0, 0.0, x > limit.max));
    }
    let ratio = min(x * (1.0 / max(limit.max, MIN_POSITIVE)), 1e9);
    let square = ratio * ratio;
    let share = inverse_fourth_root(square * square + 1.0);
    let share_square = share * share;
    return vec2<f32>(limit.max * (ratio * share), share_square * share_square * share);
}

// A vector bounded in length.
struct Bounded {
    unit: vec3<f32>,
    bounded: f32,
    slope: f32,
    share: f32,
}

fn bounded_vector(limit: Limit, v: vec3<f32>) -> Bounded {
    let length = sqrt(dot(v, v));
    let both = limited_slope(limit, length);
    if length > MIN_POSITIVE {
        let inverse = 1.0 / length;
        return Bounded(v * inverse, both.x, both.y, both.x * inverse);
    }
    return Bounded(vec3<f32>(0.0), both.x, both.y, 1.0);
}

// A displacement with its derivatives by the point and by the gain.
struct Psi {
    d: vec3<f32>,
    dp: Rows,
    dk: vec3<f32>,
}

fn no_psi() -> Psi {
    return Psi(vec3<f32>(0.0), no_rows(), vec3<f32>(0.0));
}

fn added_psi(a: Psi, b: Psi) -> Psi {
    return Psi(a.d + b.d, added_rows(a.dp, b.dp), a.dk + b.dk);
}

fn shove_psi(at: u32, point: At) -> Psi {
    let unit = vector(at + SWING_SHOVE_UNIT) * number(at + SWING_SHOVE_SHARE);
    let length = number(at + SWING_SHOVE_LENGTH);
    let both = limited_slope(limit(at + SWING_SHOVE_LIMIT_MAX), abs(point.gain) * length);
    return Psi(unit * copysign(both.x, point.gain), no_rows(), unit * (both.y * length));
}

fn turn_psi(at: u32, point: At) -> Psi {
    let r = point.p - vector(at + SWING_TURN_ORIGIN);
    let k = vector(at + SWING_TURN_UNIT);
    let rate = number(at + SWING_TURN_RATE);
    let across = cross(k, r);
    let distance = sqrt(dot(across, across));
    let both = limited_slope(limit(at + SWING_TURN_LIMIT_MAX), abs(point.gain) * rate * distance);
    let angle = copysign(both.x, point.gain);
    let inward = cross(k, across);
    var sines = vec2<f32>(0.0);
    if number(at + SWING_TURN_LIMIT_MAX) <= 1.5707964 {
        sines = sin_versine(angle);
    } else {
        let half = half_sin_cos(angle);
        let two_s = half.x + half.x;
        sines = vec2<f32>(two_s * half.y, two_s * half.x);
    }
    let share = number(at + SWING_TURN_SHARE);
    let cos = (1.0 - sines.y) * share;
    let sin = sines.x * share;
    let versine = sines.y * share;
    let d = inward * versine + across * sin;
    let per_angle = inward * sin + across * cos;
    // ∇θ = k·slope·r⊥/ρ, and r⊥ = −inward; on the axis itself per_angle is 0 and any direction will do.
    let outward = -1.0 / select(1.0, distance, distance > MIN_POSITIVE);
    let grad = inward * (point.gain * rate * both.y * outward);
    let s = k * sin;
    let v = k * versine;
    let dp = Rows(
        grad * per_angle.x + vec3<f32>(v.x * k.x - versine, v.x * k.y - s.z, v.x * k.z + s.y),
        grad * per_angle.y + vec3<f32>(v.y * k.x + s.z, v.y * k.y - versine, v.y * k.z - s.x),
        grad * per_angle.z + vec3<f32>(v.z * k.x - s.y, v.z * k.y + s.x, v.z * k.z - versine),
    );
    return Psi(d, dp, per_angle * (rate * distance * both.y));
}

// From the signed, unbounded s to the stretch f, and its slope.
fn stretched_slope(at: u32, s: f32) -> vec2<f32> {
    let ease = number(at + 2u);
    var eased = abs(s);
    var ease_slope = 1.0;
    if ease > 1e-12 {
        let root = sqrt(eased * eased + ease * ease);
        ease_slope = eased / root;
        eased = root - ease;
    }
    let both = limited_slope(limit(at), eased);
    let grown = 1.0 + both.x;
    let inverse = 1.0 / grown;
    if s < 0.0 {
        return vec2<f32>(inverse, both.y * ease_slope * (inverse * inverse));
    }
    return vec2<f32>(grown, both.y * ease_slope);
}

// (f − g) u u·q + (g − 1) q, g = 1/√f, q = p − center; df by gain, grad the gradient of f by p.
fn scale_about_point_psi(center: vec3<f32>, u: vec3<f32>, p: vec3<f32>, f: f32, df: f32, grad: vec3<f32>) -> Psi {
    let q = p - center;
    let g = 1.0 / sqrt(f);
    let along = dot(u, q);
    let stretch = f - g;
    let thin = g - 1.0;
    let dg = -0.5 * g / f;
    let per_f = q * dg + u * (along * (1.0 - dg));
    let x = u * (stretch * u.x) + vec3<f32>(thin, 0.0, 0.0);
    let y = u * (stretch * u.y) + vec3<f32>(0.0, thin, 0.0);
    let z = u * (stretch * u.z) + vec3<f32>(0.0, 0.0, thin);
    return Psi(q * thin + u * (stretch * along), outer(Rows(x, y, z), per_f, grad), per_f * df);
}

fn along_psi(at: u32, point: At) -> Psi {
    let per_gain = number(at + SQUASH_ALONG_PER_GAIN);
    let f = stretched_slope(at + SQUASH_ALONG_STRETCH_LIMIT_MAX, point.gain * per_gain);
    let center = vector(at + SQUASH_ALONG_CENTER);
    let direction = vector(at + SQUASH_ALONG_DIRECTION);
    return scale_about_point_psi(center, direction, point.p, f.x, f.y * per_gain, vec3<f32>(0.0));
}

fn swung_psi(at: u32, point: At) -> Psi {
    let r = point.p - vector(at + SQUASH_SWUNG_ORIGIN);
    // ‖spin × r‖ and its gradient (spin × r) × spin / ‖spin × r‖.
    let w = vector(at + SQUASH_SWUNG_SPIN);
    let speed = cross(w, r);
    let length = sqrt(dot(speed, speed));
    var grad = vec3<f32>(0.0);
    if length > MIN_POSITIVE {
        grad = cross(speed, w) * (1.0 / length);
    }
    let k = number(at + SQUASH_SWUNG_K);
    let f = stretched_slope(at + SQUASH_SWUNG_STRETCH_LIMIT_MAX, point.gain * k * length);
    grad = grad * (f.y * point.gain * k);
    let per_gain = f.y * k * length;
    let x = vector(at + SQUASH_SWUNG_X);
    if frame[at + SQUASH_SWUNG_ABOUT_POINT] != 0u {
        return scale_about_point_psi(vector(at + SQUASH_SWUNG_CENTER), x, point.p, f.x, per_gain, grad);
    }
    let z = vector(at + SQUASH_SWUNG_Z);
    let along = dot(x, r);
    let aside = dot(z, r);
    let inverse = 1.0 / f.x;
    let stretch = f.x - 1.0;
    let thin = inverse - 1.0;
    let per_f = x * along - z * (aside * inverse * inverse);
    let still = Rows(
        z * (thin * z.x) + x * (stretch * x.x),
        z * (thin * z.y) + x * (stretch * x.y),
        z * (thin * z.z) + x * (stretch * x.z),
    );
    return Psi(z * (thin * aside) + x * (stretch * along), outer(still, per_f, grad), per_f * per_gain);
}

fn thrown_psi(at: u32, point: At) -> Psi {
    let n = vector(at + THROW_OMEGA);
    let r = point.p - vector(at + THROW_ORIGIN);
    let k = number(at + THROW_K);
    let outward = cross(cross(n, r), n) * k;
    let own = bounded_vector(limit(at + THROW_LIMIT_MAX), outward * point.gain);
    // raw = k·gain·(|ω|² I − ωωᵀ) r
    let square = dot(n, n);
    let matrix = Rows(
        vec3<f32>(square - n.x * n.x, -n.x * n.y, -n.x * n.z),
        vec3<f32>(-n.y * n.x, square - n.y * n.y, -n.y * n.z),
        vec3<f32>(-n.z * n.x, -n.z * n.y, square - n.z * n.z),
    );
    let rows = scaled_rows(matrix, point.gain * k);
    let along = transposed(rows, own.unit) * (own.slope - own.share);
    let dp = outer(scaled_rows(rows, own.share), own.unit, along);
    return Psi(own.unit * own.bounded, dp, outward * own.slope);
}

fn psi_of(kind: u32, at: u32, point: At) -> Psi {
    var psi = no_psi();
    if kind == KIND_SWING {
        if number(at + SWING_TURN_SHARE) != 0.0 {
            psi = turn_psi(at, point);
        }
        if number(at + SWING_SHOVE_SHARE) != 0.0 {
            psi = added_psi(psi, shove_psi(at, point));
        }
    } else if kind == KIND_SQUASH {
        if number(at + SQUASH_SWUNG_K) != 0.0 {
            psi = swung_psi(at, point);
        }
        if number(at + SQUASH_ALONG_PER_GAIN) != 0.0 {
            psi = added_psi(psi, along_psi(at, point));
        }
    } else {
        psi = thrown_psi(at, point);
    }
    return psi;
}

// A displacement with the maps A of skinned tangents and B of rest tangents.
struct Moved {
    d: vec3<f32>,
    a: Rows,
    b: Rows,
}

// A gradient in rows of sixteen, of the shape and of what is tuned.
fn shape_gradient(at: u32, index: u32, lane: u32) -> vec3<f32> {
    let place = at + index * 3u * LANES + lane;
    return vec3<f32>(shape[place], shape[place + LANES], shape[place + 2u * LANES]);
}

fn tuned_gradient(at: u32, index: u32, lane: u32) -> vec3<f32> {
    let place = at + index * 3u * LANES + lane;
    return vec3<f32>(tuned[place], tuned[place + LANES], tuned[place + 2u * LANES]);
}

// What effects do alike to all points of a gain, with its derivatives.
fn collapsed_exactly(row: u32, lane: u32, p: vec3<f32>) -> Moved {
    var moved = Moved(vec3<f32>(0.0), no_rows(), no_rows());
    let parts = frame[head + HEADER_COLLAPSED];
    if parts == NONE {
        return moved;
    }
    var x = vec4<f32>(0.0);
    var y = vec4<f32>(0.0);
    var z = vec4<f32>(0.0);
    let stop = of_row(row, ROW_COLUMNS_STOP);
    for (var column = of_row(row, ROW_COLUMNS_START); column < stop; column++) {
        let weight = column_weight(column, lane);
        let at = parts + rig[params.columns + column * COLUMN_WORDS + COLUMN_STRETCH] * 12u;
        let own_x = vector4(at);
        let own_y = vector4(at + 4u);
        let own_z = vector4(at + 8u);
        x = own_x * weight + x;
        y = own_y * weight + y;
        z = own_z * weight + z;
        let d = vec3<f32>(moved_by(own_x, p), moved_by(own_y, p), moved_by(own_z, p));
        moved.b = outer(moved.b, d, shape_gradient(params.column_gradients, column, lane));
    }
    moved.d = vec3<f32>(moved_by(x, p), moved_by(y, p), moved_by(z, p));
    moved.a = Rows(x.xyz, y.xyz, z.xyz);
    return moved;
}

// Σ w̃ ψ over the bones of a point, with its derivatives.
fn added_exactly(effect: u32, row: u32, lane: u32, point: At) -> Moved {
    let kind = frame[effect + EFFECT_KIND];
    let links = frame[effect + EFFECT_ABOVE];
    let character = of_row(row, ROW_CHARACTER);
    let slope = frame[effect + EFFECT_GAIN_GRADIENTS];
    var by_gain = vec3<f32>(0.0);
    if slope != NONE {
        by_gain = tuned_gradient(slope, row, lane) * number(effect + EFFECT_GAIN);
    }
    let stop = of_row(row, ROW_COLUMNS_STOP);
    var moved = Moved(vec3<f32>(0.0), no_rows(), no_rows());
    for (var column = of_row(row, ROW_COLUMNS_START); column < stop; column++) {
        let ends = params.columns + column * COLUMN_WORDS;
        let last = nearest(effect, rig[ends + COLUMN_ABOVE]);
        var mover = nearest(effect, rig[ends + COLUMN_BOTTOM]);
        var psi = no_psi();
        while mover != last {
            psi = added_psi(psi, psi_of(kind, term_of(effect, mover, character), point));
            mover = frame[links + mover];
        }
        let weight = column_weight(column, lane);
        moved.d = psi.d * weight + moved.d;
        moved.a = added_rows(scaled_rows(psi.dp, weight), moved.a);
        moved.b = outer(moved.b, psi.d, shape_gradient(params.column_gradients, column, lane));
        if slope != NONE {
            moved.b = outer(moved.b, psi.dk * weight, by_gain);
        }
    }
    return moved;
}

// ψ ↦ K χ (ψ·n) n, with its derivatives.
fn filtered_exactly(effect: u32, slot: u32, character: u32, moved: Moved) -> Moved {
    let row = slot / LANES;
    let lane = slot % LANES;
    let size = number(frame[effect + EFFECT_SIZES] + character);
    let local = tuned_gradient(frame[effect + EFFECT_CONE_NORMALS], row, lane);
    let turn = effect + EFFECT_CONE_TURN;
    let n = vector(turn + 6u) * local.z + (vector(turn + 3u) * local.y + vector(turn) * local.x);
    let k = number(effect + EFFECT_CONE_GAIN) / size;
    let reach = tuned[frame[effect + EFFECT_CONE_REACH] + slot];
    let along = dot(moved.d, n);
    let length = k * reach * along;
    let most = Limit(min(number(effect + EFFECT_CONE_MAX_LENGTH) * size, LARGEST), frame[effect + EFFECT_CONE_SOFT] != 0u);
    let both = limited_slope(most, abs(length));
    let lift = copysign(both.x, length);
    // d' = g(K χ (d·n)) n.
    let lever = both.y * k * reach;
    var out = Moved(n * lift, no_rows(), no_rows());
    out.a = outer(out.a, n, transposed(moved.a, n) * lever);
    out.b = outer(out.b, n, transposed(moved.b, n) * lever);
    let gradients = frame[effect + EFFECT_CONE_GRADIENTS];
    if gradients != NONE {
        out.b = outer(out.b, n * (both.y * k * along), tuned_gradient(gradients, row, lane));
        for (var axis = 0u; axis < 3u; axis++) {
            let column = vector(turn + 3u * axis);
            let gradient = tuned_gradient(gradients + (axis + 1u) * params.rows * 3u * LANES, row, lane);
            out.b = outer(out.b, n * (lever * dot(moved.d, column)), gradient);
            out.b = outer(out.b, column * lift, gradient);
        }
    }
    return out;
}

// Adds a ⊗ b to the linear map.
fn add_outer(skinned: Skinned, a: vec3<f32>, b: vec3<f32>) -> Skinned {
    let m = outer(Rows(skinned.x, skinned.y, skinned.z), a, b);
    return Skinned(skinned.p, m.x, m.y, m.z);
}

// Σ T_i r ⊗ ∇w_i
fn linear_weight_terms(row: u32, lane: u32, rest: vec3<f32>, blended_there: Skinned) -> Skinned {
    var skinned = blended_there;
    let palette = frame[head + HEADER_PALETTE];
    let stop = of_row(row, ROW_SKIN_STOP);
    for (var entry = of_row(row, ROW_SKIN_START); entry < stop; entry++) {
        let at = palette + rig[params.entries + entry] * 12u;
        let x = moved_by(vector4(at), rest);
        let y = moved_by(vector4(at + 4u), rest);
        let z = moved_by(vector4(at + 8u), rest);
        // The gradients sum to 0: taking the point itself off changes nothing and keeps the terms small.
        let moved = vec3<f32>(x, y, z) - skinned.p;
        skinned = add_outer(skinned, moved, shape_gradient(params.skin_gradients, entry, lane));
    }
    return skinned;
}

fn stretched_by(columns: u32, rest: vec3<f32>) -> vec3<f32> {
    return vector(columns) * rest.x + (vector(columns + 3u) * rest.y + vector(columns + 6u) * rest.z);
}

// ∂p/∂w_i ⊗ ∇w_i: p = N/|q|² with N = q r q* + 2 vec(d q*); along Q_i, ∂p = (∂N − 2(q·q_i) p)/|q|².
fn dual_weight_terms(row: u32, lane: u32, rest: vec3<f32>, blended_there: Skinned) -> Skinned {
    var skinned = blended_there;
    let sum = blended(row, lane);
    let v = sum.real.xyz;
    let w = sum.real.w;
    let d = sum.dual.xyz;
    let dw = sum.dual.w;
    let square = w * w + dot(v, v);
    let usable = square > 1e-12;
    let inverse = select(0.0, 1.0, usable) / select(1.0, square, usable);
    let duals = frame[head + HEADER_DUALS];
    let stretches = frame[head + HEADER_STRETCHES];
    var r = rest;
    if stretches != NONE {
        r = sum.x * rest.x + (sum.y * rest.y + sum.z * rest.z);
    }
    let along = dot(v, r);
    let around = cross(v, r);
    let stop = of_row(row, ROW_SKIN_STOP);
    for (var entry = of_row(row, ROW_SKIN_START); entry < stop; entry++) {
        let palette = rig[params.entries + entry];
        let real = vector4(duals + palette * 8u);
        let own = vector4(duals + palette * 8u + 4u);
        let u = real.xyz;
        let uw = real.w;
        let e = own.xyz;
        let gradient = shape_gradient(params.skin_gradients, entry, lane);
        var along_both = uw * w + dot(u, v);
        var sign = 1.0;
        // The pivot's half is the blend's half wherever a blend exists.
        if params.pivots != NONE && along_both < 0.0 {
            sign = -1.0;
            along_both = -along_both;
        }
        let turned = r * (w * uw - dot(v, u)) + v * dot(u, r) + u * along + around * uw + cross(u, r) * w;
        let moved = d * uw + e * w - v * own.w - u * dw + cross(u, d) + cross(v, e);
        let change = ((turned + moved) * sign - skinned.p * along_both) * (2.0 * inverse);
        skinned = add_outer(skinned, change, gradient);
        if stretches != NONE {
            // R·S_i r: the rotation is the linear map without the blended stretch.
            let there = stretched_by(stretches + palette * 9u, rest);
            let rotated = there * (w * w - dot(v, v)) + v * (dot(v, there) * 2.0) + cross(v, there) * (w * 2.0);
            skinned = add_outer(skinned, rotated * inverse, gradient);
        }
    }
    return skinned;
}

// The base with the slopes of its weights.
fn skin_exactly(row: u32, lane: u32, rest: vec3<f32>) -> Skinned {
    let is_dual = frame[head + HEADER_DUALS] != NONE;
    let is_mixed = is_dual && params.factors != NONE;
    var skinned = Skinned(rest, rest, rest, rest);
    if !is_dual || is_mixed {
        skinned = linear(row, lane, rest);
        if params.skin_gradients != NONE {
            skinned = linear_weight_terms(row, lane, rest, skinned);
        }
    }
    if !is_dual {
        return skinned;
    }
    let turned = dual_weight_terms(row, lane, rest, dual(row, lane, rest));
    if !is_mixed {
        return turned;
    }
    var both = mixed(skinned, turned, tuned[params.factors + row * LANES + lane]);
    if params.factor_gradients != NONE {
        both = add_outer(both, turned.p - skinned.p, tuned_gradient(params.factor_gradients, row, lane));
    }
    return both;
}

fn has_no_gain(effect: u32, row: u32) -> bool {
    for (var lane = 0u; lane < LANES; lane++) {
        if tuned[frame[effect + EFFECT_GAINS] + row * LANES + lane] != 0.0 {
            return false;
        }
    }
    return true;
}

fn put_point(to: u32, p: vec3<f32>) {
    points[to] = p.x;
    points[to + LANES] = p.y;
    points[to + 2u * LANES] = p.z;
}

@compute @workgroup_size(64)
fn deform_exactly(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let slot = place(group, groups, local);
    let row = slot / LANES;
    if row >= params.rows {
        return;
    }
    let lane = slot % LANES;
    let character = of_row(row, ROW_CHARACTER);
    let rest = of_shape(params.rest, slot);
    let engine = skin(row, lane, rest);
    let skinned = skin_exactly(row, lane, rest);
    var moved = collapsed_exactly(row, lane, skinned.p);
    for (var index = 0u; index < params.effects; index++) {
        let effect = head + HEADER_WORDS + index * EFFECT_WORDS;
        if frame[effect + EFFECT_ACTS] == 0u || has_no_gain(effect, row) {
            continue;
        }
        let gain = tuned[frame[effect + EFFECT_GAINS] + slot] * number(effect + EFFECT_GAIN);
        var own = added_exactly(effect, row, lane, At(skinned.p, gain));
        if frame[effect + EFFECT_CONE_NORMALS] != NONE {
            own = filtered_exactly(effect, slot, character, own);
        }
        // A gain of 0 is the base to the bit; a map may have a slope there.
        if gain != 0.0 {
            moved.d = moved.d + own.d;
            moved.a = added_rows(moved.a, own.a);
        }
        moved.b.x = moved.b.x + finite_or_zero(own.b.x);
        moved.b.y = moved.b.y + finite_or_zero(own.b.y);
        moved.b.z = moved.b.z + finite_or_zero(own.b.z);
    }
    if params.limits != NONE {
        let at = params.limits + 2u * character;
        let own = bounded_vector(Limit(tuned[at], tuned[at + 1u] != 0.0), moved.d);
        moved.d = own.unit * own.bounded;
        let bend = own.unit * (own.slope - own.share);
        let along_a = transposed(moved.a, own.unit);
        let along_b = transposed(moved.b, own.unit);
        moved.a = outer(scaled_rows(moved.a, own.share), bend, along_a);
        moved.b = outer(scaled_rows(moved.b, own.share), bend, along_b);
    }
    let j = Rows(skinned.x, skinned.y, skinned.z);
    let x = j.x + transposed(j, moved.a.x) + moved.b.x;
    let y = j.y + transposed(j, moved.a.y) + moved.b.y;
    let z = j.z + transposed(j, moved.a.z) + moved.b.z;
    let at = point_place(slot);
    for (var axis = 0u; axis < 3u; axis++) {
        base_points[at + axis * LANES] = skinned.p[axis];
    }
    put_point(at, skinned.p + moved.d);
    var outside = 1.0;
    if of_row(row, ROW_SKIN_START) < of_row(row, ROW_SKIN_STOP) {
        outside = number(frame[head + HEADER_OUTSIDE] + rig[params.entries + of_row(row, ROW_SKIN_START)]);
    }
    let cofactor = Skinned(skinned.p, cross(y, z) * outside, cross(z, x) * outside, cross(x, y) * outside);
    let displaced = Skinned(skinned.p, x, y, z);
    let stop = of_row(row, ROW_LAYERS_STOP);
    for (var layer = of_row(row, ROW_LAYERS_START); layer < stop; layer++) {
        let corner = layer * LANES + lane;
        let out = corner_place(corner);
        let rest_normal = of_shape(params.rest_normals, corner);
        let given = normalize_or(carry(engine, rest_normal), rest_normal);
        let n = normalize_or(carry(cofactor, rest_normal), normalize_or(carry(skinned, rest_normal), rest_normal));
        for (var axis = 0u; axis < 3u; axis++) {
            // Behind the points: what a normal gives way to.
            base_points[params.blended + out + axis * LANES] = given[axis];
            normals[out + axis * LANES] = n[axis];
        }
        if params.rest_tangents != NONE {
            let rest_tangent = of_shape(params.rest_tangents, corner);
            let t = normalize_or(carry(displaced, rest_tangent), rest_tangent);
            for (var axis = 0u; axis < 3u; axis++) {
                tangents[out + axis * LANES] = t[axis];
            }
        }
    }
}
