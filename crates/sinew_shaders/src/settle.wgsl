// Points that the skin as a whole has moved, and directions that turned with them. Twin: sinew/src/graph/plan.rs.

@compute @workgroup_size(64)
fn settle(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let index = place(group, groups, local);
    let settled = frame[head + HEADER_SETTLED_COUNT];
    let turned = settled + frame[head + HEADER_NORMALS_COUNT];
    if index >= turned + frame[head + HEADER_TANGENTS_COUNT] {
        return;
    }
    // The three lists follow each other.
    let at = frame[head + HEADER_SETTLED] + index * 4u;
    let to = frame[at];
    let v = vector(at + 1u);
    for (var axis = 0u; axis < 3u; axis++) {
        let point = point_place(to) + axis * LANES;
        let corner = corner_place(to) + axis * LANES;
        if index < settled {
            points[point] = base_points[point] + v[axis];
        } else if index < turned {
            normals[corner] = v[axis];
        } else {
            tangents[corner] = v[axis];
        }
    }
}
