// Points that the skin as a whole has moved, and directions that turned with them. Twin: sinew/src/graph/plan.rs.

@compute @workgroup_size(64)
fn settle(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let index = place(group, groups, local);
    let settled = frame[HEADER_SETTLED_COUNT];
    let turned = settled + frame[HEADER_NORMALS_COUNT];
    if index >= turned + frame[HEADER_TANGENTS_COUNT] {
        return;
    }
    // The three lists follow each other.
    let at = frame[HEADER_SETTLED] + index * 4u;
    let to = row_place(frame[at]);
    let v = vector(at + 1u);
    for (var axis = 0u; axis < 3u; axis++) {
        let place = to + axis * LANES;
        if index < settled {
            points[place] = base_points[place] + v[axis];
        } else if index < turned {
            normals[place] = v[axis];
        } else {
            tangents[place] = v[axis];
        }
    }
}
