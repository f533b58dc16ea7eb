//! From plain data to the words that shaders read.

use crate::Stage;
use crate::words::words;
use sinew::displace::TermKind;
use sinew::graph::plan::{EffectPlan, FramePlan};
use sinew::graph::rig_arrays::{BaseArrays, RigArrays};
use sinew::graph::{CarriedArrays, LineMotion, NodeArrays, NodeMove};
use sinew::{LANES, PointRow};
use std::mem::offset_of;

/// Nothing there.
pub const NONE: u32 = u32::MAX;

words! {
    /// What all invocations share; where arrays begin in the words of the buffers they are in.
    Params {
        /// Rows of sixteen points.
        rows,
        /// Layers of display copies.
        layers,
        /// Vertices of the source.
        vertices,
        /// Effects.
        effects,
        /// Of `rig`: palette indices of rows.
        entries,
        /// Stretches of rows.
        columns,
        /// Where rings of corners stop.
        fan_stops,
        /// Rings of corners.
        fan_to,
        /// Rows of layers.
        row_of_layer,
        /// Points of vertices.
        point_of_vertex,
        /// Layer lanes of vertices.
        slot_of_vertex,
        /// The bone whose side others take, per point.
        pivots,
        /// Nodes: what stands at them.
        nodes,
        /// How many.
        node_count,
        /// Slots of nodes.
        members,
        /// Lines that carry nodes.
        lines,
        /// Corners of faces that nodes give way by.
        node_faces,
        /// Whether points are carried with their nodes.
        is_carried,
        /// Of `shape`: weights of bones.
        skin_weights,
        /// Propagated weights.
        column_weights,
        /// Points at rest.
        rest,
        /// Normals at rest.
        rest_normals,
        /// Tangents at rest.
        rest_tangents,
        /// Handedness of tangents.
        handedness,
        /// When faces count as torn.
        torn,
        /// Weights of lines.
        line_weights,
        /// Where nodes hang in bind space.
        anchors,
        /// Nodes in bind space.
        bind,
        /// Of `tuned`: from linear to dual, per point.
        factors,
        /// Limits of characters: how far, and whether softly.
        limits,
        /// Slopes of weights of bones, where normals are exact.
        skin_gradients,
        /// Slopes of propagated weights.
        column_gradients,
        /// Of `tuned`: slopes of factors.
        factor_gradients,
        /// Of the points of the base: where normals as engines make them stand, behind those.
        blended,
        /// Of `frame`: where the words of the first character begin.
        heads,
        /// Words of each.
        head_words,
    }
}

words! {
    /// The head of a frame's words: where its arrays begin.
    Header {
        /// Transforms, three rows of four per palette entry.
        palette,
        /// −1 for entries that turn space inside out, else 1.
        outside,
        /// Dual quaternions, eight numbers per entry.
        duals,
        /// What stretches them, nine numbers per entry.
        stretches,
        /// Collapsed affine parts, three rows of four per stretch of bones.
        collapsed,
        /// Settled points, then normals, then tangents: a slot and a vector each.
        settled,
        /// How many points.
        settled_count,
        /// How many normals.
        normals_count,
        /// How many tangents.
        tangents_count,
        /// What lines do.
        lines,
        /// Nodes that corrections move.
        moves,
        /// How many.
        moves_count,
    }
}

words! {
    /// A node of the welded skin: ranges of what belongs to it.
    Node {
        /// Of its slots: the first.
        members_start,
        /// One behind the last.
        members_stop,
        /// Of the lines that carry it: the first.
        lines_start,
        /// One behind the last.
        lines_stop,
        /// Of the faces that it gives way by: the first.
        faces_start,
        /// One behind the last.
        faces_stop,
        /// It follows its bones linearly.
        is_linear,
    }
}

words! {
    /// An effect at a frame. These follow the head.
    Effect {
        /// Whether points have to look at it.
        acts,
        /// Kind of its terms.
        kind,
        /// Factor on all gains.
        gain,
        /// Where its terms begin.
        terms,
        /// Words per term.
        term_words,
        /// Movers at or above bones.
        nearest,
        /// Movers above movers.
        above,
        /// Characters of movers.
        characters,
        /// Terms of movers for other characters.
        elsewhere,
        /// Sizes of characters.
        sizes,
        /// Of `tuned`: gains of points.
        gains,
        /// Of `tuned`: their slopes, where they have any and normals are exact.
        gain_gradients,
        /// Turns are composed.
        composed,
        /// Of `tuned`: how far out points lie on the cone.
        cone_reach,
        /// Of `tuned`: normals of the cone.
        cone_normals,
        /// Of `tuned`: slopes of both, where normals are exact.
        cone_gradients,
        /// Gain of the cone.
        cone_gain,
        /// The lift never exceeds this, in sizes.
        cone_max_length,
        /// Eases into that.
        cone_soft,
        /// Rotation of the cone's bone: this and the eight that follow, by columns.
        cone_turn,
        /// Of the rotation.
        cone_turn_1,
        /// Of the rotation.
        cone_turn_2,
        /// Of the rotation.
        cone_turn_3,
        /// Of the rotation.
        cone_turn_4,
        /// Of the rotation.
        cone_turn_5,
        /// Of the rotation.
        cone_turn_6,
        /// Of the rotation.
        cone_turn_7,
        /// Of the rotation.
        cone_turn_8,
    }
}

words! {
    /// A row. Twin: [`sinew::graph::rig_arrays::RowRanges`].
    Row {
        /// Bones, from.
        skin_start,
        /// Up to.
        skin_stop,
        /// Stretches, from.
        columns_start,
        /// Up to.
        columns_stop,
        /// Layers, from.
        layers_start,
        /// Up to.
        layers_stop,
        /// Its character.
        character,
        /// Lanes in use.
        filled,
    }
}

words! {
    /// A stretch. Twin: [`sinew::graph::rig_arrays::ColumnEnds`].
    Column {
        /// Its lowest bone.
        bottom,
        /// The bone above its topmost one.
        above,
        /// Its place among collapsed parts.
        stretch,
    }
}

/// Number of a kind of terms.
pub(crate) const fn kind_number(kind: TermKind) -> u32 {
    match kind {
        TermKind::Swing => 0,
        TermKind::Squash => 1,
        TermKind::Throw => 2,
    }
}

/// What is uploaded once. `tuned` and `params` are uploaded again when a recipe's numbers or maps change, `shape` from
/// `rest` on while morph targets are at work.
#[derive(Clone, Debug, Default)]
pub struct PackedRig {
    /// The uniform.
    pub params: Params,
    /// Indices.
    pub rig: Vec<u32>,
    /// Weights and the rest shape.
    pub shape: Vec<f32>,
    /// Gains and other painted numbers.
    pub tuned: Vec<f32>,
    /// Effects as far as frames do not change them.
    effects: Vec<Effect>,
    /// The most words that a frame has.
    pub most_frame_words: usize,
    /// Palette entries.
    pub palette: usize,
    /// Normals turn as their faces do.
    turns_normals: bool,
    /// They are exact.
    is_exact: bool,
}

impl PackedRig {
    /// Packs everything.
    pub fn new(arrays: &RigArrays<'_>) -> Self {
        let mut packed = Self::default();
        packed.pack_rig(arrays);
        packed.pack_shape(arrays);
        packed.retune(arrays);
        packed
    }

    fn pack_rig(&mut self, arrays: &RigArrays<'_>) {
        let (params, rig) = (&mut self.params, arrays.rig);
        params.rows = arrays.rows.len() as u32;
        params.layers = arrays.rows.last().map_or(0, |row| row.layers[1]);
        params.vertices = rig.vertex_count() as u32;
        params.effects = arrays.effects.len() as u32;
        self.is_exact = arrays.exact.is_some();
        self.turns_normals = arrays.fans.is_some() && !self.is_exact;
        params.blended = params.rows * 3 * LANES as u32;
        let words = &mut self.rig;
        // Rows stand first.
        words.extend_from_slice(bytemuck::cast_slice(&arrays.rows));
        params.entries = append(words, arrays.skin_entries);
        params.columns = append(words, bytemuck::cast_slice(&arrays.columns));
        params.point_of_vertex = append(words, rig.point_of_vertex());
        params.slot_of_vertex = append(words, rig.layer_slot_of_vertex());
        params.pivots = match arrays.base {
            BaseArrays::Dual { pivots, .. } if !pivots.is_empty() => append(words, pivots.as_flattened()),
            _ => NONE,
        };
        let (stops, to, rows) = arrays.fans.map_or((&[][..], &[][..], &[][..]), |f| (f.stops, f.to, f.row_of_layer));
        params.fan_stops = append(words, stops);
        params.fan_to = append(words, to);
        params.row_of_layer = append(words, rows);
        params.is_carried = NONE;
        if let Some(nodes) = &arrays.nodes {
            pack_nodes(params, words, nodes, arrays.rows.len() * LANES);
        }
    }

    fn pack_shape(&mut self, arrays: &RigArrays<'_>) {
        let (params, shape) = (&mut self.params, &mut self.shape);
        params.skin_weights = append(shape, arrays.skin_weights.as_flattened());
        params.column_weights = append(shape, arrays.column_weights.as_flattened());
        let exact = arrays.exact.as_ref();
        params.column_gradients = append(shape, exact.map_or(&[][..], |exact| flat(exact.columns)));
        params.skin_gradients = match exact {
            Some(exact) if !exact.skin.is_empty() => append(shape, flat(exact.skin)),
            _ => NONE,
        };
        params.torn = append(shape, arrays.fans.map_or(&[][..], |fans| fans.torn.as_flattened()));
        params.handedness = arrays.handedness.map_or(NONE, |handedness| append(shape, handedness.as_flattened()));
        if let Some(carried) = arrays.nodes.as_ref().and_then(|nodes| nodes.carried.as_ref()) {
            params.line_weights = append(shape, &carried.weights);
            params.anchors = append(shape, carried.anchors.as_flattened());
            params.bind = append(shape, carried.bind.as_flattened());
        }
        // What morph targets change stands last.
        let (rows, layers) = (params.rows as usize * 3 * LANES, params.layers as usize * 3 * LANES);
        params.rest = shape.len() as u32;
        params.rest_normals = params.rest + rows as u32;
        let tangents = if arrays.handedness.is_some() { layers } else { 0 };
        params.rest_tangents = if tangents > 0 { params.rest_normals + layers as u32 } else { NONE };
        let rest = arrays.rest;
        shape.extend_from_slice(rest.points.as_flattened().as_flattened());
        shape.extend_from_slice(rest.normals.as_flattened().as_flattened());
        shape.extend_from_slice(rest.tangents.unwrap_or(&[]).as_flattened().as_flattened());
        let (bones, entries) = (arrays.rig.skeleton().len(), arrays.rig.palette().len());
        self.palette = entries;
        let settled = arrays.most_settled + 2 * arrays.most_directions;
        let words =
            arrays.effects.len() * (4 * bones + arrays.rig.characters().len() + LARGEST_TERM * arrays.most_terms);
        let transforms = entries * (12 + 1 + 8 + 9) + arrays.stretches * 12;
        let carried = arrays.nodes.as_ref().and_then(|nodes| nodes.carried.as_ref());
        let lines = carried.map_or(0, |carried| carried.line_count) * LINE_WORDS;
        let moves = arrays.most_moves * NODE_MOVE_WORDS;
        self.most_frame_words =
            Header::WORDS + arrays.effects.len() * Effect::WORDS + transforms + words + settled * 4 + lines + moves;
    }

    /// Follows other numbers and maps of the same recipe; false where there is more or less of them than there was, and
    /// everything is to be packed and uploaded again.
    pub fn retune(&mut self, arrays: &RigArrays<'_>) -> bool {
        let held = self.tuned.len();
        let (params, tuned) = (&mut self.params, &mut self.tuned);
        tuned.clear();
        self.effects.clear();
        for effect in &arrays.effects {
            let cone = effect.cone.map(|cone| {
                let reach = append(tuned, cone.reach.as_flattened());
                let normals = append(tuned, cone.normals.as_flattened().as_flattened());
                let gradients = cone.gradients.map_or(NONE, |gradients| {
                    // One after the other: shaders know the first.
                    gradients.map(|gradients| append(tuned, flat(gradients)))[0]
                });
                (reach, normals, gradients, cone)
            });
            let number = |of: fn(&sinew::graph::rig_arrays::ConeArrays<'_>) -> f32| {
                cone.as_ref().map_or(0, |(.., cone)| of(cone).to_bits())
            };
            self.effects.push(Effect {
                composed: effect.composed.into(),
                cone_reach: cone.map_or(NONE, |cone| cone.0),
                cone_normals: cone.map_or(NONE, |cone| cone.1),
                cone_gain: number(|cone| cone.gain),
                cone_max_length: number(|cone| cone.max_length),
                cone_soft: cone.is_some_and(|(.., cone)| cone.soft).into(),
                gains: append(tuned, effect.gains.as_flattened()),
                gain_gradients: effect.gain_gradients.map_or(NONE, |gradients| append(tuned, flat(gradients))),
                cone_gradients: cone.map_or(NONE, |cone| cone.2),
                ..Effect::default()
            });
        }
        params.factors = match arrays.base {
            BaseArrays::Dual { factors, .. } if !factors.is_empty() => append(tuned, factors.as_flattened()),
            _ => NONE,
        };
        let factor = arrays.exact.as_ref().and_then(|exact| exact.factor);
        params.factor_gradients = factor.map_or(NONE, |factor| append(tuned, flat(factor)));
        let limits = arrays.limits.iter().flat_map(|limit| [limit.max, f32::from(u8::from(limit.is_soft()))]);
        let start = tuned.len() as u32;
        tuned.extend(limits);
        params.limits = if arrays.limits.is_empty() { NONE } else { start };
        let alike = held == 0 || held == tuned.len();
        alike && params.effects as usize == arrays.effects.len() && params.rows as usize == arrays.rows.len()
    }

    /// An effect as far as frames do not change it.
    pub(crate) fn effect(&self, effect: usize) -> &Effect {
        &self.effects[effect]
    }

    /// Words that the points of the base take of a character: behind them, where normals are exact, those that they give
    /// way to.
    pub fn base_words(&self) -> usize {
        let layers = if self.is_exact { self.params.layers } else { 0 };
        (self.params.rows + layers) as usize * 3 * LANES
    }

    /// Nodes in bind space, as they stand without morph targets.
    pub fn bind(&self) -> &[f32] {
        let start = self.params.bind as usize;
        let count = if self.params.is_carried == NONE { 0 } else { 3 * self.params.node_count as usize };
        self.shape.get(start..start + count).unwrap_or(&[])
    }

    /// The words of a frame; what there is to do in it beside what every frame has.
    pub fn pack_frame(&self, plan: &FramePlan<'_>, words: &mut Vec<u32>) -> FrameWork {
        words.clear();
        words.resize(Header::WORDS + self.effects.len() * Effect::WORDS, 0);
        let mut header = Header { palette: words.len() as u32, ..Header::default() };
        let [x, y, z] = plan.palette;
        three_rows(words, x, y, z);
        header.outside = append(words, bytemuck::cast_slice(plan.outside));
        let some = |words: &mut Vec<u32>, numbers: &[f32]| match numbers {
            [] => NONE,
            numbers => append(words, bytemuck::cast_slice(numbers)),
        };
        header.duals = some(words, plan.duals.as_flattened());
        header.stretches = some(words, plan.stretches.as_flattened());
        header.collapsed = match plan.collapsed {
            None => NONE,
            Some([x, y, z]) => {
                let start = words.len() as u32;
                three_rows(words, x, y, z);
                start
            }
        };
        for (index, (effect, tuned)) in plan.effects().zip(&self.effects).enumerate() {
            let effect = pack_effect(&effect, tuned, words);
            let at = Header::WORDS + index * Effect::WORDS;
            words[at..at + Effect::WORDS].copy_from_slice(bytemuck::cast_slice(std::slice::from_ref(&effect)));
        }
        let [normals, tangents] = plan.directions;
        header.settled = append(words, bytemuck::cast_slice(plan.settled));
        append(words, bytemuck::cast_slice(normals));
        append(words, bytemuck::cast_slice(tangents));
        header.settled_count = plan.settled.len() as u32;
        header.normals_count = normals.len() as u32;
        header.tangents_count = tangents.len() as u32;
        header.lines = append(words, bytemuck::cast_slice(plan.lines));
        header.moves = append(words, bytemuck::cast_slice(plan.moves));
        header.moves_count = plan.moves.len() as u32;
        words[..Header::WORDS].copy_from_slice(bytemuck::cast_slice(std::slice::from_ref(&header)));
        let settled = plan.settled.len() + normals.len() + tangents.len();
        FrameWork { settled: settled as u32, moves: plan.moves.len() as u32 }
    }

    /// How many invocations a stage takes at a frame; none where it has nothing to do.
    pub fn invocations(&self, stage: Stage, work: FrameWork) -> u32 {
        let params = &self.params;
        let of = |is_asked: bool, count: u32| if is_asked { count } else { 0 };
        match stage {
            Stage::Carry | Stage::GiveWay => of(params.is_carried != NONE, params.node_count),
            Stage::Deform => of(!self.is_exact, params.rows * LANES as u32),
            Stage::DeformExactly => of(self.is_exact, params.rows * LANES as u32),
            Stage::Guard => of(self.is_exact, params.layers * LANES as u32),
            Stage::Settle => work.settled,
            Stage::Correct => work.moves,
            Stage::Normals => of(self.turns_normals, params.layers * LANES as u32),
            Stage::Vertices => params.vertices,
            Stage::Compose | Stage::SettleEach | Stage::PlaceVertices => 0,
        }
    }
}

/// What a frame has to do beside what every frame has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameWork {
    /// Points and directions that settled.
    pub settled: u32,
    /// Nodes that corrections move.
    pub moves: u32,
}

/// Words of a [`NodeMove`].
pub(crate) const NODE_MOVE_WORDS: usize = size_of::<NodeMove>() / 4;
/// Words of a [`LineMotion`], and those that shaders look for; its rows stand first.
pub(crate) const LINE_WORDS: usize = size_of::<LineMotion>() / 4;
pub(crate) const LINE_PLACES: [(&str, usize); 3] = [
    ("turn", offset_of!(LineMotion, turn) / 4),
    ("stretch", offset_of!(LineMotion, stretch) / 4),
    ("scale", offset_of!(LineMotion, scale) / 4),
];

fn pack_nodes(params: &mut Params, words: &mut Vec<u32>, nodes: &NodeArrays, slots: usize) {
    params.node_count = nodes.member_stops.len() as u32;
    let range = |stops: &[u32], node: usize| {
        let stop = |node: usize| stops.get(node).copied().unwrap_or(0);
        [node.checked_sub(1).map_or(0, stop), stop(node)]
    };
    let none = CarriedArrays::default();
    let carried = nodes.carried.as_ref().unwrap_or(&none);
    let mut is_carried = vec![0; slots];
    params.nodes = words.len() as u32;
    for node in 0..nodes.member_stops.len() {
        let [members_start, members_stop] = range(&nodes.member_stops, node);
        let [lines_start, lines_stop] = range(&carried.line_stops, node);
        let [faces_start, faces_stop] = range(&carried.face_stops, node);
        let is_linear = u32::from(carried.is_linear.get(node).is_some_and(|&is_linear| is_linear));
        let packed = Node { members_start, members_stop, lines_start, lines_stop, faces_start, faces_stop, is_linear };
        words.extend_from_slice(bytemuck::cast_slice(std::slice::from_ref(&packed)));
        let members = &nodes.members[members_start as usize..members_stop as usize];
        members.iter().for_each(|&slot| is_carried[slot as usize] = 1);
    }
    params.members = append(words, &nodes.members);
    params.lines = append(words, &carried.lines);
    params.node_faces = append(words, carried.faces.as_flattened());
    if nodes.carried.is_some() {
        params.is_carried = append(words, &is_carried);
    }
}

/// Words of the longest kind of term.
const LARGEST_TERM: usize = {
    let (mut most, mut index) = (0, 0);
    while index < TermKind::ALL.len() {
        let words = TermKind::ALL[index].layout().words;
        most = if words > most { words } else { most };
        index += 1;
    }
    most
};

fn pack_effect(effect: &EffectPlan<'_>, tuned: &Effect, words: &mut Vec<u32>) -> Effect {
    let mut packed = Effect { kind: kind_number(effect.kind), gain: effect.gain.to_bits(), ..*tuned };
    if !effect.acts {
        return packed;
    }
    packed.acts = 1;
    packed.terms = append(words, effect.terms);
    packed.term_words = effect.kind.layout().words as u32;
    packed.nearest = append(words, effect.nearest);
    packed.above = append(words, effect.above);
    packed.characters = append(words, effect.characters);
    packed.elsewhere = append(words, effect.elsewhere);
    packed.sizes = append(words, bytemuck::cast_slice(effect.sizes));
    let turn = effect.cone_turn.to_cols_array().map(f32::to_bits);
    [
        packed.cone_turn,
        packed.cone_turn_1,
        packed.cone_turn_2,
        packed.cone_turn_3,
        packed.cone_turn_4,
        packed.cone_turn_5,
        packed.cone_turn_6,
        packed.cone_turn_7,
        packed.cone_turn_8,
    ] = turn;
    packed
}

/// Gradients in rows, number by number.
fn flat(gradients: &[PointRow]) -> &[f32] {
    gradients.as_flattened().as_flattened()
}

/// Adds to a buffer, and says where.
pub(crate) fn append<T: Copy>(words: &mut Vec<T>, more: &[T]) -> u32 {
    let start = words.len() as u32;
    words.extend_from_slice(more);
    start
}

/// Three rows of four for each, together.
fn three_rows(words: &mut Vec<u32>, x: &[[f32; 4]], y: &[[f32; 4]], z: &[[f32; 4]]) {
    for ((x, y), z) in x.iter().zip(y).zip(z) {
        for row in [x, y, z] {
            words.extend(row.map(f32::to_bits));
        }
    }
}
