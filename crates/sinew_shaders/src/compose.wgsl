// The words of a frame, for each character of a crowd: what is sampled of its clip at its time, and the terms that effects
// make of it. Twins: sinew_shaders/src/pack.rs, and sinew/src/displace/{indicator,inertia,swing,shove,turn,squash,
// centrifugal_stretch}.rs, of which these are the `new` and `term`.

const LARGEST: f32 = 3.4028234e38;

// The motion of one bone as an effect sees it.
struct Bone {
    joint_origin: vec3<f32>,
    centroid: vec3<f32>,
    linear_velocity: vec3<f32>,
    angular_velocity: vec3<f32>,
    linear_acceleration: vec3<f32>,
    angular_acceleration: vec3<f32>,
    translation_gain: f32,
    rotation_gain: f32,
    about_point: u32,
    size: f32,
}

fn put(at: u32, value: f32) {
    frame[at] = bitcast<u32>(value);
}

fn put_vector(at: u32, v: vec3<f32>) {
    put(at, v.x);
    put(at + 1u, v.y);
    put(at + 2u, v.z);
}

fn put_limit(at: u32, max: f32, soft: u32) {
    put(at, max);
    frame[at + 1u] = soft;
}

fn largest_of(v: vec3<f32>) -> f32 {
    return max(max(abs(v.x), abs(v.y)), abs(v.z));
}

fn time_to_rest(a: vec3<f32>, b: vec3<f32>, time: f32) -> f32 {
    let largest = largest_of(b);
    if largest == 0.0 {
        return 0.0;
    }
    let unit = b / largest;
    return clamp(-(dot(a, unit) / (dot(unit, unit) * largest)) / time, 0.0, 1.0);
}

fn braking(maker: u32, bone: Bone) -> vec2<f32> {
    let indicator = number(maker + MAKER_INDICATOR);
    if frame[maker + MAKER_PAPER_INDICATOR] == 0u {
        return vec2<f32>(
            time_to_rest(bone.linear_velocity, bone.linear_acceleration, indicator),
            time_to_rest(bone.angular_velocity, bone.angular_acceleration, indicator),
        );
    }
    let linear = -dot(bone.linear_velocity, bone.linear_acceleration) / (indicator * bone.size * bone.size);
    let angular = -dot(bone.angular_velocity, bone.angular_acceleration) / number(maker + MAKER_ANGULAR_INDICATOR);
    return vec2<f32>(clamp(linear, 0.0, 1.0), clamp(angular, 0.0, 1.0));
}

fn put_swing(to: u32, maker: u32, bone: Bone, linear: vec3<f32>, angular: vec3<f32>, shares: vec2<f32>) {
    let soft = frame[maker + MAKER_SOFT];
    let along = linear * (number(maker + MAKER_TRANSLATION) * bone.translation_gain);
    let length = sqrt(dot(along, along));
    if length > 0.0 && length <= LARGEST {
        put_vector(to + SWING_SHOVE_UNIT, along / length);
        put(to + SWING_SHOVE_LENGTH, length);
        put_limit(to + SWING_SHOVE_LIMIT_MAX, min(number(maker + MAKER_MAX_LENGTH) * bone.size, LARGEST), soft);
        put(to + SWING_SHOVE_SHARE, shares.x);
    }
    let axis = angular * (number(maker + MAKER_ROTATION) * bone.rotation_gain / bone.size);
    let rate = sqrt(dot(axis, axis));
    if rate > 0.0 && rate <= LARGEST {
        put_vector(to + SWING_TURN_ORIGIN, bone.joint_origin);
        put_vector(to + SWING_TURN_UNIT, axis / rate);
        put(to + SWING_TURN_RATE, rate);
        put_limit(to + SWING_TURN_LIMIT_MAX, number(maker + MAKER_MAX_ANGLE), soft);
        put(to + SWING_TURN_SHARE, shares.y);
    }
}

fn put_squash(to: u32, maker: u32, bone: Bone) {
    let per_size = 1.0 / bone.size;
    let most = number(maker + MAKER_MAX_LENGTH);
    let soft = frame[maker + MAKER_SOFT];
    let ease = number(maker + MAKER_EASE);
    let v = bone.linear_velocity;
    let speed = sqrt(dot(v, v));
    let per_gain = number(maker + MAKER_TRANSLATION) * bone.translation_gain * per_size * speed;
    if per_gain != 0.0 && abs(per_gain) <= LARGEST && any(bone.centroid != bone.joint_origin) {
        put_vector(to + SQUASH_ALONG_CENTER, bone.centroid);
        put_vector(to + SQUASH_ALONG_DIRECTION, v / speed);
        put(to + SQUASH_ALONG_PER_GAIN, per_gain);
        put_limit(to + SQUASH_ALONG_STRETCH_LIMIT_MAX, most, soft);
        put(to + SQUASH_ALONG_STRETCH_EASE, ease);
    }
    let k = number(maker + MAKER_ROTATION) * bone.rotation_gain * per_size;
    let omega = bone.angular_velocity;
    let medial = bone.centroid - bone.joint_origin;
    let reach = sqrt(dot(medial, medial));
    // No axis without skin.
    if k == 0.0 || reach <= 0.0 || reach > LARGEST {
        return;
    }
    let y = medial / reach;
    let across = omega - y * dot(omega, y);
    let rate = sqrt(dot(across, across));
    // No swing for a spin along it (a millionth of it is rounding).
    if !(rate > 1e-6 * sqrt(dot(omega, omega))) || rate > LARGEST {
        return;
    }
    let z = across / rate;
    put_vector(to + SQUASH_SWUNG_ORIGIN, bone.joint_origin);
    put_vector(to + SQUASH_SWUNG_CENTER, bone.centroid);
    frame[to + SQUASH_SWUNG_ABOUT_POINT] = bone.about_point;
    put_vector(to + SQUASH_SWUNG_X, cross(y, z));
    put_vector(to + SQUASH_SWUNG_Z, z);
    if frame[maker + MAKER_PAPER_SPIN] != 0u {
        put_vector(to + SQUASH_SWUNG_SPIN, omega);
    } else {
        put_vector(to + SQUASH_SWUNG_SPIN, across);
    }
    put(to + SQUASH_SWUNG_K, k);
    put_limit(to + SQUASH_SWUNG_STRETCH_LIMIT_MAX, most, soft);
    put(to + SQUASH_SWUNG_STRETCH_EASE, ease);
}

fn put_throw(to: u32, maker: u32, bone: Bone) {
    put_vector(to + THROW_ORIGIN, bone.joint_origin);
    put_vector(to + THROW_OMEGA, bone.angular_velocity);
    put(to + THROW_K, number(maker + MAKER_ROTATION) * bone.rotation_gain);
    let max = min(number(maker + MAKER_MAX_LENGTH) * bone.size, LARGEST);
    put_limit(to + THROW_LIMIT_MAX, max, frame[maker + MAKER_SOFT]);
}

// The term of a bone that moves an effect; zeros move nothing.
fn compose_term(mover: u32) {
    let to = head + frame[mover + MOVER_TERM];
    let words = frame[mover + MOVER_TERM_WORDS];
    for (var word = 0u; word < words; word++) {
        frame[to + word] = 0u;
    }
    let bone = Bone(
        sampled_vector(mover + MOVER_JOINT_X),
        sampled_vector(mover + MOVER_CENTROID_X),
        sampled_vector(mover + MOVER_VELOCITY_X),
        sampled_vector(mover + MOVER_SPIN_X),
        sampled_vector(mover + MOVER_ACCELERATION_X),
        sampled_vector(mover + MOVER_SPIN_UP_X),
        number(mover + MOVER_TRANSLATION_GAIN),
        number(mover + MOVER_ROTATION_GAIN),
        frame[mover + MOVER_ABOUT_POINT],
        number(mover + MOVER_SIZE),
    );
    let maker = frame[mover + MOVER_MAKER];
    let kind = frame[maker + MAKER_KIND];
    if kind == MAKES_SQUASH {
        put_squash(to, maker, bone);
    } else if kind == MAKES_THROW {
        put_throw(to, maker, bone);
    } else if kind == MAKES_VELOCITY {
        put_swing(to, maker, bone, bone.linear_velocity, bone.angular_velocity, vec2<f32>(1.0));
    } else {
        var shares = vec2<f32>(1.0);
        if kind == MAKES_BRAKING {
            shares = braking(maker, bone);
        } else if kind == MAKES_STARTING {
            shares = 1.0 - braking(maker, bone);
        }
        put_swing(to, maker, bone, bone.linear_acceleration, bone.angular_acceleration, shares);
    }
}

// Rows that put a point, relative to the clip's origin, where the character stands, and how much larger it is there.
fn compose_place() {
    let v = vec3<f32>(told(MEMBER_TURN_X), told(MEMBER_TURN_Y), told(MEMBER_TURN_Z));
    let w = told(MEMBER_TURN_W);
    let scale = told(MEMBER_SCALE);
    let two_w = w + w;
    let v2 = v + v;
    let x = vec3<f32>(1.0 - (v2.y * v.y + v2.z * v.z), v2.x * v.y - two_w * v.z, v2.x * v.z + two_w * v.y) * scale;
    let y = vec3<f32>(v2.x * v.y + two_w * v.z, 1.0 - (v2.x * v.x + v2.z * v.z), v2.y * v.z - two_w * v.x) * scale;
    let z = vec3<f32>(v2.x * v.z - two_w * v.y, v2.y * v.z + two_w * v.x, 1.0 - (v2.x * v.x + v2.y * v.y)) * scale;
    let origin = sampled_vector(params.origin);
    let at = head + params.place;
    put_vector(at, x);
    put(at + 3u, dot(x, origin) + told(MEMBER_AT_X));
    put_vector(at + 4u, y);
    put(at + 7u, dot(y, origin) + told(MEMBER_AT_Y));
    put_vector(at + 8u, z);
    put(at + 11u, dot(z, origin) + told(MEMBER_AT_Z));
    put(at + 12u, scale);
}

@compute @workgroup_size(64)
fn compose(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let index = place(group, groups, local);
    if index < params.table_words {
        let at = params.table + 2u * index;
        let how = frame[at];
        let value = frame[at + 1u];
        if how == WORD_CONSTANT {
            frame[head + index] = value;
        } else if how == WORD_WITHIN {
            frame[head + index] = head + value;
        } else if how == WORD_SAMPLED {
            put(head + index, sampled(value));
        } else {
            put(head + index, sampled(value) * told(MEMBER_GAIN));
        }
    } else if index < params.table_words + params.mover_count {
        compose_term(params.movers + (index - params.table_words) * MOVER_WORDS);
    } else if index == params.table_words + params.mover_count {
        compose_place();
    }
}
