// Lines and dots: twin of overlay.rs. One instance is one stroke.

struct Stroke {
    // Column, row, what depth buffers compare, radius.
    @location(0) start: vec4f,
    @location(1) end: vec4f,
    // Linear RGBA.
    @location(2) start_color: vec4f,
    @location(3) end_color: vec4f,
    // Where the strokes before and after it begin and end, columns and rows.
    @location(4) around: vec4f,
    // Opacity where surfaces hide it; whether there is a stroke before and after.
    @location(5) amounts: vec4f,
}

struct StrokeCorner {
    @builtin(position) position: vec4f,
    @location(0) @interpolate(flat) start: vec4f,
    @location(1) @interpolate(flat) end: vec4f,
    @location(2) @interpolate(flat) start_color: vec4f,
    @location(3) @interpolate(flat) end_color: vec4f,
    @location(4) @interpolate(flat) around: vec4f,
    @location(5) @interpolate(flat) amounts: vec4f,
}

@vertex
fn stroke_corner(@builtin(vertex_index) index: u32, in: Stroke) -> StrokeCorner {
    var out: StrokeCorner;
    let way = in.end.xy - in.start.xy;
    let along = select(vec2f(1.0, 0.0), way / max(length(way), 1e-12), length(way) > 1e-6);
    let across = vec2f(-along.y, along.x);
    let reach = max(in.start.w, in.end.w) + 2.0;
    // Two triangles: 0 1 2, 3 2 1.
    let corner = select(index, 6u - index, index > 2u);
    let sides = vec2f(f32(corner & 1u), f32(corner >> 1u));
    let tip = mix(in.start.xy - along * reach, in.end.xy + along * reach, sides.x);
    let pixel = tip + across * (sides.y * 2.0 - 1.0) * reach;
    let place = pixel / vec2f(view.right.w, view.up.w) - 1.0;
    out.position = vec4f(place.x, -place.y, 0.5, 1.0);
    out.start = in.start;
    out.end = in.end;
    out.start_color = in.start_color;
    out.end_color = in.end_color;
    out.around = in.around;
    out.amounts = in.amounts;
    return out;
}

// Place of the nearest point on a segment, 0…1, and its distance in pixels.
fn nearest(start: vec2f, end: vec2f, p: vec2f) -> vec2f {
    let way = end - start;
    let square = dot(way, way);
    var t = 0.0;
    if square > 0.0 {
        t = clamp(dot(p - start, way) / square, 0.0, 1.0);
    }
    return vec2f(t, length(p - start - way * t));
}

struct Painted {
    @location(0) color: vec4f,
    @builtin(frag_depth) depth: f32,
}

fn painted(in: StrokeCorner, opacity: f32) -> Painted {
    let p = in.position.xy;
    let at = nearest(in.start.xy, in.end.xy, p);
    // One path covers a pixel once: it belongs to the nearest of its strokes.
    if in.amounts.y > 0.5 && nearest(in.around.xy, in.start.xy, p).y <= at.y {
        discard;
    }
    if in.amounts.z > 0.5 && nearest(in.end.xy, in.around.zw, p).y < at.y {
        discard;
    }
    let radius = mix(in.start.w, in.end.w, at.x);
    // Thinner than a pixel: fainter instead.
    let coverage = clamp(max(radius, 0.5) + 0.5 - at.y, 0.0, 1.0) * min(2.0 * radius, 1.0);
    let color = mix(in.start_color, in.end_color, at.x);
    let key = mix(in.start.z, in.end.z, at.x);
    let depth = select(-key, 1.0 / key, is_perspective());
    let front = max(depth - (radius + 1.0) * pixel_size(depth), view.depth.z);
    let alpha = clamp(color.a, 0.0, 1.0) * coverage * opacity;
    return Painted(vec4f(color.rgb, 1.0) * alpha, z_of_depth(front));
}

@fragment
fn stroke_seen(in: StrokeCorner) -> Painted {
    return painted(in, 1.0);
}

@fragment
fn stroke_hidden(in: StrokeCorner) -> Painted {
    return painted(in, in.amounts.x);
}
