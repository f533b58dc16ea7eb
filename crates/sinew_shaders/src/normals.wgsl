// Normals turned as the faces under them turned. Twin: sinew/src/normals.rs.

const UNDER: f32 = 0.8;
const TORN: f32 = 0.5;
const FAR_TURN: f32 = 0.034;
const UPRIGHT: f32 = 0.1;
const OPPOSITE: f32 = -0.99999;
const EPSILON: f32 = 1.1920929e-7;

// The doubled areas of the faces around a corner, in the base and after the effects.
struct Areas {
    before: vec3<f32>,
    after: vec3<f32>,
}

fn of_base(slot: u32) -> vec3<f32> {
    let at = point_place(slot);
    return vec3<f32>(base_points[at], base_points[at + LANES], base_points[at + 2u * LANES]);
}

fn of_points(slot: u32) -> vec3<f32> {
    let at = point_place(slot);
    return vec3<f32>(points[at], points[at + LANES], points[at + 2u * LANES]);
}

fn areas(corner: u32, slot: u32) -> Areas {
    var at = 0u;
    if corner > 0u {
        at = rig[params.fan_stops + corner - 1u];
    }
    let stop = rig[params.fan_stops + corner];
    var sum = Areas(vec3<f32>(0.0), vec3<f32>(0.0));
    if at >= stop {
        return sum;
    }
    let here = Areas(of_base(slot), of_points(slot));
    let first_slot = rig[params.fan_to + at];
    let first = Areas(here.before - of_base(first_slot), here.after - of_points(first_slot));
    var edge = first;
    // Both products of a cross apart, and every other one in sums of its own: on crumpled faces, where sums cancel, another
    // order is another normal.
    var plus = array<Areas, 2>(sum, sum);
    var minus = array<Areas, 2>(sum, sum);
    var odd = 0u;
    for (at = at + 1u; at < stop; at++) {
        let other = rig[params.fan_to + at];
        let next = Areas(here.before - of_base(other), here.after - of_points(other));
        plus[odd] = products(edge, turned_about(next), plus[odd]);
        minus[odd] = products(turned_about(edge), next, minus[odd]);
        odd = 1u - odd;
        edge = next;
    }
    plus[1] = products(edge, turned_about(first), plus[1]);
    minus[1] = products(turned_about(edge), first, minus[1]);
    sum.before = (plus[0].before + plus[1].before) - (minus[0].before + minus[1].before);
    sum.after = (plus[0].after + plus[1].after) - (minus[0].after + minus[1].after);
    return turned_about(sum);
}

fn turned_about(v: Areas) -> Areas {
    return Areas(v.before.yzx, v.after.yzx);
}

fn products(a: Areas, b: Areas, sum: Areas) -> Areas {
    return Areas(a.before * b.before + sum.before, a.after * b.after + sum.after);
}

// Brought to a length of 1 to 4 by a power of two. 0 stays 0.
fn scaled(v: vec3<f32>) -> vec3<f32> {
    let largest = max(max(abs(v.x), abs(v.y)), abs(v.z));
    let exponent = bitcast<u32>(largest) & 0x7f800000u;
    if exponent == 0u || exponent >= 0x7f000000u {
        return vec3<f32>(0.0);
    }
    return v * bitcast<f32>(0x7f000000u - exponent);
}

// Between two unit vectors; the second where they are opposite.
fn between(a: vec3<f32>, b: vec3<f32>, share: f32) -> vec3<f32> {
    let sum = (b - a) * share + a;
    let square = dot(sum, sum);
    if square > EPSILON {
        return sum * (1.0 / sqrt(square));
    }
    return b;
}

// The normal, or the blended one before it would stand against its faces and the blended one does not.
fn upright(n: vec3<f32>, blended: vec3<f32>, faces: vec3<f32>) -> vec3<f32> {
    let square = dot(faces, faces);
    if square <= 0.0 || square >= 16.0 {
        return n;
    }
    let inverse = 1.0 / sqrt(square);
    let own = dot(n, faces) * inverse;
    let other = dot(blended, faces) * inverse;
    let share = clamp(1.0 - own * (1.0 / UPRIGHT), 0.0, 1.0) * clamp(1.0 + other * (1.0 / UPRIGHT), 0.0, 1.0);
    if share <= 0.0 {
        return n;
    }
    if share >= 1.0 {
        return blended;
    }
    return between(n, blended, share);
}

// How the mean normals of a fan turned.
struct Turn {
    before: vec3<f32>,
    after: vec3<f32>,
    axis: vec3<f32>,
    square: f32,
    cosine: f32,
    first: f32,
    second: f32,
    same: bool,
    has_after: bool,
    turns: bool,
}

fn turn_of(means: Areas) -> Turn {
    var turn: Turn;
    turn.before = scaled(means.before);
    turn.after = scaled(means.after);
    turn.square = dot(turn.before, turn.before);
    let other = dot(turn.after, turn.after);
    let product = dot(turn.before, turn.after);
    turn.same = all(turn.before == turn.after);
    turn.has_after = other > 0.0 && other < 16.0;
    let lengths = sqrt(turn.square * other);
    turn.turns = !turn.same && turn.has_after && turn.square > 0.0 && turn.square < 16.0 && product >= lengths * OPPOSITE;
    let sum = lengths + product;
    turn.cosine = 1.0;
    if lengths > 0.0 {
        turn.cosine = product / lengths;
    }
    turn.second = 1.0;
    if turn.turns {
        turn.second = 1.0 / (lengths * sum);
    }
    turn.first = turn.second * sum;
    turn.axis = cross(turn.before, turn.after);
    return turn;
}

fn turned(turn: Turn, n: vec3<f32>) -> vec3<f32> {
    if !turn.turns {
        return n;
    }
    let across = cross(turn.axis, n);
    return cross(turn.axis, across) * turn.second + (across * turn.first + n);
}

// The normal; where the base has torn the faces the base's, or their mean after the effects.
fn normal(turn: Turn, n: vec3<f32>, torn: f32, outside: f32) -> vec3<f32> {
    if turn.same {
        return n;
    }
    var found = turned(turn, n);
    let after = turn.after * outside;
    if turn.square > 0.0 && torn > 0.0 && turn.has_after {
        let along = dot(n, turn.before) * outside;
        let apart = (torn * torn * turn.square - along * abs(along)) / (turn.square * (UNDER * UNDER - TORN * TORN));
        if apart > 0.0 {
            let share = min(apart, 1.0);
            let far = clamp((1.0 - turn.cosine) * (1.0 / FAR_TURN), 0.0, 1.0);
            let unit = after * (1.0 / sqrt(dot(after, after)));
            found = between(between(found, n, share), unit, share * far);
        }
    }
    return upright(found, n, after);
}

@compute @workgroup_size(64)
fn turn_normals(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let corner = place(group, groups, local);
    let layer = corner / LANES;
    if layer >= params.layers {
        return;
    }
    let row = rig[params.row_of_layer + layer];
    let turn = turn_of(areas(corner, row * LANES + corner % LANES));
    var outside = 1.0;
    if of_row(row, ROW_SKIN_START) < of_row(row, ROW_SKIN_STOP) {
        outside = number(frame[head + HEADER_OUTSIDE] + rig[params.entries + of_row(row, ROW_SKIN_START)]);
    }
    let at = corner_place(corner);
    let base = vec3<f32>(normals[at], normals[at + LANES], normals[at + 2u * LANES]);
    let n = normal(turn, base, shape[params.torn + corner], outside);
    for (var axis = 0u; axis < 3u; axis++) {
        normals[at + axis * LANES] = n[axis];
    }
    if params.rest_tangents != NONE {
        let t = turned(turn, vec3<f32>(tangents[at], tangents[at + LANES], tangents[at + 2u * LANES]));
        for (var axis = 0u; axis < 3u; axis++) {
            tangents[at + axis * LANES] = t[axis];
        }
    }
}
