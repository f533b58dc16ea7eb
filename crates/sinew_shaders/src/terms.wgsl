// What one bone does to a point, by the kinds of terms. Twins: sinew/src/displace/{shove,turn,swing,squash,centrifugal_stretch}.rs.

struct At {
    p: vec3<f32>,
    gain: f32,
}

fn shove(at: u32, point: At) -> vec3<f32> {
    let unit = vector(at + SWING_SHOVE_UNIT) * number(at + SWING_SHOVE_SHARE);
    let bounded = limited(limit(at + SWING_SHOVE_LIMIT_MAX), abs(point.gain) * number(at + SWING_SHOVE_LENGTH));
    return unit * copysign(bounded, point.gain);
}

// A point seen from the axis of a turn.
struct Seen {
    r: vec3<f32>,
    unit: vec3<f32>,
    across: vec3<f32>,
    angle: f32,
}

fn see(at: u32, point: At) -> Seen {
    let r = point.p - vector(at + SWING_TURN_ORIGIN);
    let unit = vector(at + SWING_TURN_UNIT);
    let across = cross(unit, r);
    let distance = sqrt(dot(across, across));
    let bounded = limited(limit(at + SWING_TURN_LIMIT_MAX), abs(point.gain) * number(at + SWING_TURN_RATE) * distance);
    return Seen(r, unit, across, copysign(bounded, point.gain));
}

fn turn(at: u32, point: At) -> vec3<f32> {
    let seen = see(at, point);
    let inward = cross(seen.unit, seen.across);
    var sines = vec2<f32>(0.0);
    if number(at + SWING_TURN_LIMIT_MAX) <= 1.5707964 {
        sines = sin_versine(seen.angle);
    } else {
        let half = half_sin_cos(seen.angle);
        let two_s = half.x + half.x;
        sines = vec2<f32>(two_s * half.y, two_s * half.x);
    }
    sines = sines * number(at + SWING_TURN_SHARE);
    return inward * sines.y + seen.across * sines.x;
}

fn swing(at: u32, point: At) -> vec3<f32> {
    var d = vec3<f32>(0.0);
    if number(at + SWING_TURN_SHARE) != 0.0 {
        d = turn(at, point);
    }
    if number(at + SWING_SHOVE_SHARE) != 0.0 {
        d = d + shove(at, point);
    }
    return d;
}

// From the signed, unbounded s to the stretch f.
fn stretched(at: u32, s: f32) -> f32 {
    // Limit, then ease.
    let ease = number(at + 2u);
    var eased = abs(s);
    if ease > 1e-12 {
        eased = sqrt(eased * eased + ease * ease) - ease;
    }
    let grown = 1.0 + limited(limit(at), eased);
    return select(grown, 1.0 / grown, s < 0.0);
}

fn scale_about_point(center: vec3<f32>, u: vec3<f32>, p: vec3<f32>, f: f32) -> vec3<f32> {
    let q = p - center;
    let g = 1.0 / sqrt(f);
    let along = dot(u, q);
    return q * (g - 1.0) + u * ((f - g) * along);
}

fn along(at: u32, point: At) -> vec3<f32> {
    let f = stretched(at + SQUASH_ALONG_STRETCH_LIMIT_MAX, point.gain * number(at + SQUASH_ALONG_PER_GAIN));
    return scale_about_point(vector(at + SQUASH_ALONG_CENTER), vector(at + SQUASH_ALONG_DIRECTION), point.p, f);
}

fn swung(at: u32, point: At) -> vec3<f32> {
    let r = point.p - vector(at + SQUASH_SWUNG_ORIGIN);
    let speed = cross(vector(at + SQUASH_SWUNG_SPIN), r);
    let length = sqrt(dot(speed, speed));
    let f = stretched(at + SQUASH_SWUNG_STRETCH_LIMIT_MAX, point.gain * number(at + SQUASH_SWUNG_K) * length);
    let x = vector(at + SQUASH_SWUNG_X);
    if frame[at + SQUASH_SWUNG_ABOUT_POINT] != 0u {
        return scale_about_point(vector(at + SQUASH_SWUNG_CENTER), x, point.p, f);
    }
    let z = vector(at + SQUASH_SWUNG_Z);
    let stretch = f - 1.0;
    let thin = 1.0 / f - 1.0;
    return z * (thin * dot(z, r)) + x * (stretch * dot(x, r));
}

fn squash(at: u32, point: At) -> vec3<f32> {
    var d = vec3<f32>(0.0);
    if number(at + SQUASH_SWUNG_K) != 0.0 {
        d = swung(at, point);
    }
    if number(at + SQUASH_ALONG_PER_GAIN) != 0.0 {
        d = d + along(at, point);
    }
    return d;
}

fn thrown(at: u32, point: At) -> vec3<f32> {
    let n = vector(at + THROW_OMEGA);
    let r = point.p - vector(at + THROW_ORIGIN);
    let outward = cross(cross(n, r), n) * number(at + THROW_K);
    return limited_vector(limit(at + THROW_LIMIT_MAX), outward * point.gain);
}

// The displacement, before the propagated weight.
fn psi(kind: u32, at: u32, point: At) -> vec3<f32> {
    if kind == KIND_SWING {
        return swing(at, point);
    }
    if kind == KIND_SQUASH {
        return squash(at, point);
    }
    return thrown(at, point);
}
