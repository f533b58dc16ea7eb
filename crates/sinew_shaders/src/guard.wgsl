// Exact normals that would stand against their faces give way to the blended ones, where those do not. Twin:
// sinew/src/normals.rs, `guard`.

@compute @workgroup_size(64)
fn guard_normals(
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
    let faces = scaled(areas(corner, row * LANES + corner % LANES).after);
    var outside = 1.0;
    if of_row(row, ROW_SKIN_START) < of_row(row, ROW_SKIN_STOP) {
        outside = number(frame[head + HEADER_OUTSIDE] + rig[params.entries + of_row(row, ROW_SKIN_START)]);
    }
    let at = corner_place(corner);
    let given = params.blended + at;
    let n = vec3<f32>(normals[at], normals[at + LANES], normals[at + 2u * LANES]);
    let blended = vec3<f32>(base_points[given], base_points[given + LANES], base_points[given + 2u * LANES]);
    let kept = upright(n, blended, faces * outside);
    for (var axis = 0u; axis < 3u; axis++) {
        normals[at + axis * LANES] = kept[axis];
    }
}
