// Points through base, collapsed affine parts, all effects and the limit on them, with the base's normals and tangents.
// Twins: sinew/src/graph/{blocks,accumulate,collapsed,cone_filter}.rs.

fn column_weight(column: u32, lane: u32) -> f32 {
    return shape[params.column_weights + column * LANES + lane];
}

// What effects do alike to all points of a gain.
fn collapsed(row: u32, lane: u32, p: vec3<f32>) -> vec3<f32> {
    let parts = frame[head + HEADER_COLLAPSED];
    if parts == NONE {
        return vec3<f32>(0.0);
    }
    var x = vec4<f32>(0.0);
    var y = vec4<f32>(0.0);
    var z = vec4<f32>(0.0);
    let stop = of_row(row, ROW_COLUMNS_STOP);
    for (var column = of_row(row, ROW_COLUMNS_START); column < stop; column++) {
        let weight = column_weight(column, lane);
        if weight == 0.0 {
            continue;
        }
        let at = parts + rig[params.columns + column * COLUMN_WORDS + COLUMN_STRETCH] * 12u;
        x = vector4(at) * weight + x;
        y = vector4(at + 4u) * weight + y;
        z = vector4(at + 8u) * weight + z;
    }
    return vec3<f32>(moved_by(x, p), moved_by(y, p), moved_by(z, p));
}

// The nearest mover at or above a bone.
fn nearest(effect: u32, bone: u32) -> u32 {
    if bone == NONE {
        return NONE;
    }
    return frame[frame[effect + EFFECT_NEAREST] + bone];
}

// Where a mover's term for the points of a character stands.
fn term_of(effect: u32, mover: u32, character: u32) -> u32 {
    var term = mover;
    if frame[frame[effect + EFFECT_CHARACTERS] + mover] != character {
        let first = frame[frame[effect + EFFECT_ELSEWHERE] + mover];
        if first != NONE {
            term = first + character;
        }
    }
    return frame[effect + EFFECT_TERMS] + term * frame[effect + EFFECT_TERM_WORDS];
}

// Σ w̃ ψ over the bones of a point.
fn added(effect: u32, row: u32, lane: u32, point: At) -> vec3<f32> {
    let kind = frame[effect + EFFECT_KIND];
    let links = frame[effect + EFFECT_ABOVE];
    let character = of_row(row, ROW_CHARACTER);
    let stop = of_row(row, ROW_COLUMNS_STOP);
    var moved = vec3<f32>(0.0);
    for (var column = of_row(row, ROW_COLUMNS_START); column < stop; column++) {
        let weight = column_weight(column, lane);
        if weight == 0.0 {
            continue;
        }
        let ends = params.columns + column * COLUMN_WORDS;
        let last = nearest(effect, rig[ends + COLUMN_ABOVE]);
        var mover = nearest(effect, rig[ends + COLUMN_BOTTOM]);
        var d = vec3<f32>(0.0);
        while mover != last {
            d = d + psi(kind, term_of(effect, mover, character), point);
            mover = frame[links + mover];
        }
        moved = d * weight + moved;
    }
    return moved;
}

// The same with the turns of all bones composed to one screw.
fn composed(effect: u32, row: u32, lane: u32, point: At) -> vec3<f32> {
    let kind = frame[effect + EFFECT_KIND];
    let links = frame[effect + EFFECT_ABOVE];
    let character = of_row(row, ROW_CHARACTER);
    let stop = of_row(row, ROW_COLUMNS_STOP);
    var moved = vec3<f32>(0.0);
    var turned = vec3<f32>(0.0);
    var swept = vec3<f32>(0.0);
    for (var column = of_row(row, ROW_COLUMNS_START); column < stop; column++) {
        let weight = column_weight(column, lane);
        if weight == 0.0 {
            continue;
        }
        let ends = params.columns + column * COLUMN_WORDS;
        let last = nearest(effect, rig[ends + COLUMN_ABOVE]);
        var mover = nearest(effect, rig[ends + COLUMN_BOTTOM]);
        while mover != last {
            let at = term_of(effect, mover, character);
            if kind == KIND_SWING {
                if number(at + SWING_SHOVE_SHARE) != 0.0 {
                    moved = shove(at, point) * weight + moved;
                }
                if number(at + SWING_TURN_SHARE) != 0.0 {
                    let seen = see(at, point);
                    let spin = seen.unit * (seen.angle * number(at + SWING_TURN_SHARE));
                    turned = spin * weight + turned;
                    swept = cross(spin, seen.r) * weight + swept;
                }
            } else {
                moved = psi(kind, at, point) * weight + moved;
            }
            mover = frame[links + mover];
        }
    }
    return moved + screw(turned, swept);
}

fn screw(spin: vec3<f32>, swept: vec3<f32>) -> vec3<f32> {
    let square = dot(spin, spin);
    // Series below an angle of 0.03, where the quotients lose their digits.
    var first = square * (-1.0 / 24.0) + 0.5;
    var second = square * (-1.0 / 120.0) + 1.0 / 6.0;
    if square >= 1e-3 {
        let angle = sqrt(square);
        let half = half_sin_cos(angle);
        let inverse = 1.0 / (angle * angle);
        first = (half.x + half.x) * half.x * inverse;
        second = (angle - (half.x + half.x) * half.y) * inverse / angle;
    }
    let across = cross(spin, swept);
    return cross(spin, across) * second + (across * first + swept);
}

// ψ ↦ K χ (ψ·n) n.
fn filtered(effect: u32, slot: u32, character: u32, d: vec3<f32>) -> vec3<f32> {
    let size = number(frame[effect + EFFECT_SIZES] + character);
    let at = frame[effect + EFFECT_CONE_NORMALS] + row_place(slot);
    let turn = effect + EFFECT_CONE_TURN;
    let n = vector(turn + 6u) * tuned[at + 2u * LANES] + (vector(turn + 3u) * tuned[at + LANES] + vector(turn) * tuned[at]);
    let k = number(effect + EFFECT_CONE_GAIN) / size;
    let length = k * tuned[frame[effect + EFFECT_CONE_REACH] + slot] * dot(d, n);
    let most = Limit(min(number(effect + EFFECT_CONE_MAX_LENGTH) * size, 3.4028234e38), frame[effect + EFFECT_CONE_SOFT] != 0u);
    return n * copysign(limited(most, abs(length)), length);
}

@compute @workgroup_size(64)
fn deform(
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
    let skinned = skin(row, lane, of_shape(params.rest, slot));
    let at = point_place(slot);
    var carried = skinned.p;
    if params.is_carried != NONE && rig[params.is_carried + slot] != 0u {
        carried = vec3<f32>(base_points[at], base_points[at + LANES], base_points[at + 2u * LANES]);
    }
    var d = collapsed(row, lane, carried);
    for (var index = 0u; index < params.effects; index++) {
        let effect = head + HEADER_WORDS + index * EFFECT_WORDS;
        if frame[effect + EFFECT_ACTS] == 0u {
            continue;
        }
        // A gain of 0 is the base to the bit, even where a speed beyond all range overflows.
        let gain = tuned[frame[effect + EFFECT_GAINS] + slot] * number(effect + EFFECT_GAIN);
        if gain == 0.0 {
            continue;
        }
        let point = At(carried, gain);
        var moved = vec3<f32>(0.0);
        if frame[effect + EFFECT_COMPOSED] != 0u {
            moved = composed(effect, row, lane, point);
        } else {
            moved = added(effect, row, lane, point);
        }
        if frame[effect + EFFECT_CONE_NORMALS] != NONE {
            moved = filtered(effect, slot, character, moved);
        }
        d = d + moved;
    }
    if params.limits != NONE {
        let limit = params.limits + 2u * character;
        d = limited_vector(Limit(tuned[limit], tuned[limit + 1u] != 0.0), d);
    }
    let p = carried + d;
    for (var axis = 0u; axis < 3u; axis++) {
        base_points[at + axis * LANES] = skinned.p[axis];
        points[at + axis * LANES] = p[axis];
    }
    let stop = of_row(row, ROW_LAYERS_STOP);
    for (var layer = of_row(row, ROW_LAYERS_START); layer < stop; layer++) {
        let corner = layer * LANES + lane;
        let out = corner_place(corner);
        let rest = of_shape(params.rest_normals, corner);
        let n = normalize_or(carry(skinned, rest), rest);
        for (var axis = 0u; axis < 3u; axis++) {
            normals[out + axis * LANES] = n[axis];
        }
        if params.rest_tangents != NONE {
            let rest = of_shape(params.rest_tangents, corner);
            let t = normalize_or(carry(skinned, rest), rest);
            for (var axis = 0u; axis < 3u; axis++) {
                tangents[out + axis * LANES] = t[axis];
            }
        }
    }
}
