// Points that the skin as a whole has a say in, for each character of a crowd: how far from the base they settled was
// sampled with the clip, at a gain of 1; at another it is in proportion.

// The last piece of a point that has begun.
fn piece_at(first: u32, count: u32, time: f32) -> u32 {
    var low = 0u;
    var high = count;
    while low + 1u < high {
        let middle = (low + high) / 2u;
        if pieces[first + 4u * middle].x <= time {
            low = middle;
        } else {
            high = middle;
        }
    }
    return first + 4u * low;
}

fn settled_at(piece: u32, axis: u32, share: f32) -> f32 {
    let c = pieces[piece + 1u + axis];
    return ((c.w * share + c.z) * share + c.y) * share + c.x;
}

@compute @workgroup_size(64)
fn settle_each(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let index = place(group, groups, local);
    if index >= params.settled_count {
        return;
    }
    let at = params.settled + index * (1u + 2u * params.clips);
    let own = at + 1u + 2u * members[member + MEMBER_CLIP];
    let time = told(MEMBER_TIME);
    let piece = piece_at(frame[own], frame[own + 1u], time);
    let span = pieces[piece];
    let share = (time - span.y) * span.z;
    let to = group.z * params.rows * 3u * LANES + row_place(frame[at]);
    let gain = told(MEMBER_GAIN);
    for (var axis = 0u; axis < 3u; axis++) {
        points[to + axis * LANES] = settled_at(piece, axis, share) * gain + base_points[to + axis * LANES];
    }
}
