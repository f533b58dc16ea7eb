// From rows to the source's vertices, where each character of a crowd stands. Twin: sinew/src/graph/scatter.rs.

@group(0) @binding(0) var<uniform> params: CrowdParams;
@group(0) @binding(1) var<storage, read> rig: array<u32>;
@group(0) @binding(2) var<storage, read> frame: array<u32>;
@group(0) @binding(3) var<storage, read> points: array<f32>;
@group(0) @binding(4) var<storage, read> normals: array<f32>;
@group(0) @binding(5) var<storage, read> tangents: array<f32>;
@group(0) @binding(6) var<storage, read_write> vertex_positions: array<f32>;
@group(0) @binding(7) var<storage, read_write> vertex_normals: array<f32>;
@group(0) @binding(8) var<storage, read_write> vertex_tangents: array<f32>;

fn number(at: u32) -> f32 {
    return bitcast<f32>(frame[at]);
}

// A row of the character's place.
fn of_place(character: u32, row: u32) -> vec4<f32> {
    let at = params.heads + character * params.head_words + params.place + 4u * row;
    return vec4<f32>(number(at), number(at + 1u), number(at + 2u), number(at + 3u));
}

@compute @workgroup_size(64)
fn place_vertices(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let vertex = place(group, groups, local);
    if vertex >= params.vertices {
        return;
    }
    let character = group.z;
    let slot = rig[params.slot_of_vertex + vertex];
    let first = 3u * LANES * character;
    let point = first * params.rows + row_place(rig[params.point_of_vertex + vertex]);
    let corner = first * params.layers + row_place(slot);
    let p = vec4<f32>(points[point], points[point + LANES], points[point + 2u * LANES], 1.0);
    let n = vec3<f32>(normals[corner], normals[corner + LANES], normals[corner + 2u * LANES]);
    var t = vec3<f32>(0.0);
    if params.handedness != NONE {
        t = vec3<f32>(tangents[corner], tangents[corner + LANES], tangents[corner + 2u * LANES]);
    }
    let scale = number(params.heads + character * params.head_words + params.place + 12u);
    let out = character * params.vertices + vertex;
    for (var axis = 0u; axis < 3u; axis++) {
        let row = of_place(character, axis);
        vertex_positions[3u * out + axis] = dot(row, p);
        vertex_normals[3u * out + axis] = dot(row.xyz, n) / scale;
        if params.handedness != NONE {
            vertex_tangents[4u * out + axis] = dot(row.xyz, t) / scale;
        }
    }
    if params.handedness != NONE {
        vertex_tangents[4u * out + 3u] = number(params.handedness + slot);
    }
}
