// Nodes that corrections move, and whatever is welded there. Twin: sinew/src/correct/mod.rs, `remap`.

@compute @workgroup_size(64)
fn correct(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let index = place(group, groups, local);
    if index >= frame[head + HEADER_MOVES_COUNT] {
        return;
    }
    let at = frame[head + HEADER_MOVES] + index * NODE_MOVE_WORDS;
    let node = params.nodes + frame[at] * NODE_WORDS;
    let first = rig[node + NODE_MEMBERS_START];
    let stop = rig[node + NODE_MEMBERS_STOP];
    var sum = vec3<f32>(0.0);
    for (var member = first; member < stop; member++) {
        let slot = point_place(rig[params.members + member]);
        sum = sum + vec3<f32>(points[slot], points[slot + LANES], points[slot + 2u * LANES]);
    }
    let p = vec4<f32>(sum / f32(stop - first) - vector(at + 1u), 1.0);
    let moved = vec3<f32>(dot(vector4(at + 4u), p), dot(vector4(at + 8u), p), dot(vector4(at + 12u), p));
    for (var member = first; member < stop; member++) {
        let slot = point_place(rig[params.members + member]);
        for (var axis = 0u; axis < 3u; axis++) {
            points[slot + axis * LANES] = points[slot + axis * LANES] + moved[axis];
        }
    }
}
