// What the stages of a crowd are bound to that make the frame of each of its characters. Twin: sinew_shaders/src/crowd.rs.

@group(0) @binding(0) var<uniform> params: CrowdParams;
@group(0) @binding(1) var<storage, read_write> frame: array<u32>;
@group(0) @binding(2) var<storage, read> pieces: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> members: array<u32>;
@group(0) @binding(4) var<storage, read_write> base_points: array<f32>;
@group(0) @binding(5) var<storage, read_write> points: array<f32>;

const CONSTANT: u32 = 0x80000000u;

// A character: where its words begin, and what it is told.
var<private> head: u32;
var<private> member: u32;

fn begin(character: u32) {
    head = params.heads + character * params.head_words;
    member = (params.first_member + character) * MEMBER_WORDS;
}

fn number(at: u32) -> f32 {
    return bitcast<f32>(frame[at]);
}

fn told(field: u32) -> f32 {
    return bitcast<f32>(members[member + field]);
}

// A number of the clip at the character's time: a cubic over its piece, or one that no clip changes.
fn sampled(channel: u32) -> f32 {
    if (channel & CONSTANT) != 0u {
        return number(channel & 0x7fffffffu);
    }
    let c = pieces[members[member + MEMBER_PIECE] * params.channels + channel];
    let share = told(MEMBER_SHARE);
    return ((c.w * share + c.z) * share + c.y) * share + c.x;
}

// Three numbers, whose channels stand from a word on.
fn sampled_vector(at: u32) -> vec3<f32> {
    return vec3<f32>(sampled(frame[at]), sampled(frame[at + 1u]), sampled(frame[at + 2u]));
}
