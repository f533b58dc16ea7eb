// Points carried past joints by all lines nearby, evenly along the skin. Twins: sinew/src/base/{centres_of_rotation,
// evenly_carried}.rs.

const NO_TURN: f32 = 1e-9;
const SQUEEZED: vec2<f32> = vec2<f32>(0.1, 0.8);

fn of_node(node: u32, field: u32) -> u32 {
    return rig[params.nodes + node * NODE_WORDS + field];
}

fn first_slot(node: u32) -> u32 {
    return rig[params.members + of_node(node, NODE_MEMBERS_START)];
}

fn of_nodes(vectors: u32, node: u32) -> vec3<f32> {
    let at = vectors + 3u * node;
    return vec3<f32>(shape[at], shape[at + 1u], shape[at + 2u]);
}

// What the lines of a node blend to: rotations, as they add up, and how much larger they make what they carry.
struct Turned {
    turn: vec4<f32>,
    scale: f32,
}

fn line(index: u32) -> u32 {
    return frame[head + HEADER_LINES] + rig[params.lines + index] * LINE_WORDS;
}

fn turned(node: u32) -> Turned {
    var sum = Turned(vec4<f32>(0.0), 0.0);
    let stop = of_node(node, NODE_LINES_STOP);
    for (var index = of_node(node, NODE_LINES_START); index < stop; index++) {
        let weight = shape[params.line_weights + index];
        let at = line(index);
        sum.turn = vector4(at + LINE_TURN) * weight + sum.turn;
        sum.scale = number(at + LINE_SCALE) * weight + sum.scale;
    }
    return sum;
}

fn rotated(turn: vec4<f32>, v: vec3<f32>) -> vec3<f32> {
    let q = turn * (1.0 / sqrt(dot(turn, turn)));
    let around = cross(q.xyz, v) * 2.0;
    return cross(q.xyz, around) + (around * q.w + v);
}

// Where the lines of a node take a point by linear blending.
fn blended_by_lines(node: u32, p: vec3<f32>) -> vec3<f32> {
    var moved = vec3<f32>(0.0);
    let stop = of_node(node, NODE_LINES_STOP);
    for (var index = of_node(node, NODE_LINES_START); index < stop; index++) {
        let at = line(index);
        let x = moved_by(vector4(at), p);
        let y = moved_by(vector4(at + 4u), p);
        let z = moved_by(vector4(at + 8u), p);
        moved = vec3<f32>(x, y, z) * shape[params.line_weights + index] + moved;
    }
    return moved;
}

// The scale vector as the lines of a node stretch it.
fn stretched_by_lines(node: u32, s: vec3<f32>) -> vec3<f32> {
    var sum = vec3<f32>(0.0);
    let stop = of_node(node, NODE_LINES_STOP);
    for (var index = of_node(node, NODE_LINES_START); index < stop; index++) {
        let at = line(index) + LINE_STRETCH;
        let stretched = vec3<f32>(dot(vector(at), s), dot(vector(at + 3u), s), dot(vector(at + 6u), s));
        sum = stretched * shape[params.line_weights + index] + sum;
    }
    return sum;
}

fn carried(node: u32) -> vec3<f32> {
    let bind = of_nodes(params.bind, node);
    let anchor = of_nodes(params.anchors, node);
    let turn = turned(node).turn;
    if dot(turn, turn) < NO_TURN * NO_TURN {
        return blended_by_lines(node, bind);
    }
    return rotated(turn, stretched_by_lines(node, bind - anchor)) + blended_by_lines(node, anchor);
}

@compute @workgroup_size(64)
fn carry_nodes(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let node = place(group, groups, local);
    if node >= params.node_count {
        return;
    }
    let slot = first_slot(node);
    var p = vec3<f32>(0.0);
    if of_node(node, NODE_IS_LINEAR) != 0u {
        p = linear(slot / LANES, slot % LANES, of_shape(params.rest, slot)).p;
    } else {
        p = carried(node);
    }
    let at = point_place(slot);
    for (var axis = 0u; axis < 3u; axis++) {
        points[at + axis * LANES] = p[axis];
    }
}

fn of_carried(node: u32) -> vec3<f32> {
    let at = point_place(first_slot(node));
    return vec3<f32>(points[at], points[at + LANES], points[at + 2u * LANES]);
}

// The area vector of a face against that of its rest shape, turned: 1 where nothing is squeezed.
fn open(corners: vec3<u32>) -> f32 {
    let here = of_carried(corners.x);
    let area = cross(of_carried(corners.y) - here, of_carried(corners.z) - here);
    let p = turned(corners.x);
    let q = turned(corners.y);
    let r = turned(corners.z);
    let scale = (p.scale + q.scale + r.scale) / 3.0;
    let rest_here = of_nodes(params.bind, corners.x);
    let edge = of_nodes(params.bind, corners.y) - rest_here;
    let rest = cross(edge, of_nodes(params.bind, corners.z) - rest_here) * (scale * scale);
    let square = dot(rest, rest);
    let turn = p.turn + q.turn + r.turn;
    // Opposite rotations cancel, and a face of no area has no sides.
    if dot(turn, turn) < NO_TURN * NO_TURN || square <= 0.0 {
        return 1.0;
    }
    return dot(area, rotated(turn, rest)) / square;
}

@compute @workgroup_size(64)
fn give_way(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    begin(group.z);
    let node = place(group, groups, local);
    if node >= params.node_count {
        return;
    }
    var p = of_carried(node);
    var openness = 1.0;
    let stop = of_node(node, NODE_FACES_STOP);
    for (var face = of_node(node, NODE_FACES_START); face < stop; face++) {
        let at = params.node_faces + 3u * face;
        openness = min(openness, open(vec3<u32>(rig[at], rig[at + 1u], rig[at + 2u])));
    }
    let t = clamp((openness - SQUEEZED.x) / (SQUEEZED.y - SQUEEZED.x), 0.0, 1.0);
    let squeezed = 1.0 - t * t * (3.0 - 2.0 * t);
    if squeezed > 0.0 && of_node(node, NODE_IS_LINEAR) == 0u {
        let flat = blended_by_lines(node, of_nodes(params.bind, node));
        p = (flat - p) * squeezed + p;
    }
    let last = of_node(node, NODE_MEMBERS_STOP);
    for (var member = of_node(node, NODE_MEMBERS_START); member < last; member++) {
        let at = point_place(rig[params.members + member]);
        for (var axis = 0u; axis < 3u; axis++) {
            base_points[at + axis * LANES] = p[axis];
        }
    }
}
