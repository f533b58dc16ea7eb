// What the deforming stages are bound to. Twin: sinew_shaders/src/pack.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rig: array<u32>;
@group(0) @binding(2) var<storage, read> shape: array<f32>;
@group(0) @binding(3) var<storage, read> tuned: array<f32>;
@group(0) @binding(4) var<storage, read> frame: array<u32>;
@group(0) @binding(5) var<storage, read_write> base_points: array<f32>;
@group(0) @binding(6) var<storage, read_write> points: array<f32>;
@group(0) @binding(7) var<storage, read_write> normals: array<f32>;
@group(0) @binding(8) var<storage, read_write> tangents: array<f32>;

// Where the words of a character begin, its points and its corners: of one alone at 0, of a crowd one after the other.
var<private> head: u32;
var<private> first_point: u32;
var<private> first_corner: u32;

fn begin(character: u32) {
    head = params.heads + character * params.head_words;
    first_point = character * params.rows * 3u * LANES;
    first_corner = character * params.layers * 3u * LANES;
}

fn point_place(slot: u32) -> u32 {
    return first_point + row_place(slot);
}

fn corner_place(corner: u32) -> u32 {
    return first_corner + row_place(corner);
}

fn number(at: u32) -> f32 {
    return bitcast<f32>(frame[at]);
}

fn vector(at: u32) -> vec3<f32> {
    return vec3<f32>(number(at), number(at + 1u), number(at + 2u));
}

fn vector4(at: u32) -> vec4<f32> {
    return vec4<f32>(number(at), number(at + 1u), number(at + 2u), number(at + 3u));
}

fn limit(at: u32) -> Limit {
    return Limit(number(at), frame[at + 1u] != 0u);
}

// A vector of rows in the rig's shape.
fn of_shape(rows: u32, slot: u32) -> vec3<f32> {
    let at = rows + row_place(slot);
    return vec3<f32>(shape[at], shape[at + LANES], shape[at + 2u * LANES]);
}

fn of_row(row: u32, field: u32) -> u32 {
    return rig[row * ROW_WORDS + field];
}
