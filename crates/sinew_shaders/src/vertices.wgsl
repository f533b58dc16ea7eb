// From rows to the source's vertices. Twin: sinew/src/graph/scatter.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rig: array<u32>;
@group(0) @binding(2) var<storage, read> shape: array<f32>;
@group(0) @binding(3) var<storage, read> points: array<f32>;
@group(0) @binding(4) var<storage, read> normals: array<f32>;
@group(0) @binding(5) var<storage, read> tangents: array<f32>;
@group(0) @binding(6) var<storage, read_write> vertex_positions: array<f32>;
@group(0) @binding(7) var<storage, read_write> vertex_normals: array<f32>;
@group(0) @binding(8) var<storage, read_write> vertex_tangents: array<f32>;

@compute @workgroup_size(64)
fn vertices(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let vertex = place(group, groups, local);
    if vertex >= params.vertices {
        return;
    }
    let point = row_place(rig[params.point_of_vertex + vertex]);
    let slot = rig[params.slot_of_vertex + vertex];
    let corner = row_place(slot);
    for (var axis = 0u; axis < 3u; axis++) {
        vertex_positions[3u * vertex + axis] = points[point + axis * LANES];
        vertex_normals[3u * vertex + axis] = normals[corner + axis * LANES];
        if params.rest_tangents != NONE {
            vertex_tangents[4u * vertex + axis] = tangents[corner + axis * LANES];
        }
    }
    if params.rest_tangents != NONE {
        vertex_tangents[4u * vertex + 3u] = shape[params.handedness + slot];
    }
}
