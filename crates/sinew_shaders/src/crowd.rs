//! A crowd as words: what its clips do not change, clips as cubics, and what each character is told per frame.
//!
//! The stages of a crowd make of them, for each character, the words that [`PackedRig::pack_frame`] makes of a plan; the
//! stages after that are those of a single character.

use crate::cubics::{Fitter, Joined, Piece, Places};
use crate::pack::{Effect, Header, NONE, PackedRig, append, kind_number};
use crate::words::words;
use glam::{DVec3, Quat, Vec3, Vec4};
use sinew::displace::TermMaker;
use sinew::{Cpu, CrowdArrays, Motion, NoCrowd, Outputs, Playing, Stage, Workspace};
use std::collections::HashMap;
use std::sync::Arc;

words! {
    /// What all invocations of the stages of a crowd share.
    CrowdParams {
        /// Rows of sixteen points.
        rows,
        /// Layers of display copies.
        layers,
        /// Vertices of the source.
        vertices,
        /// The character that stands first in what is bound.
        first_member,
        /// Where the words of the first character begin.
        heads,
        /// Words of a character.
        head_words,
        /// How its words are made, but for terms.
        table,
        /// How many.
        table_words,
        /// Bones that move effects.
        movers,
        /// How many.
        mover_count,
        /// Numbers of a piece of a clip.
        channels,
        /// Channels of where a clip takes the character.
        origin,
        /// Within a character's words: the rows that place it.
        place,
        /// Points that settle, with their own pieces.
        settled,
        /// How many.
        settled_count,
        /// Clips.
        clips,
        /// Of `rig`: points of vertices.
        point_of_vertex,
        /// Layer lanes of vertices.
        slot_of_vertex,
        /// Handedness of tangents.
        handedness,
        /// Not used: a uniform is a multiple of four words.
        padding,
    }
}

words! {
    /// What a character is told per frame; numbers by their bits.
    Member {
        /// The piece of a clip that its time lies in.
        piece,
        /// How far into it, from −1 to 1.
        share,
        /// The clip.
        clip,
        /// Time since its start.
        time,
        /// Factor on all gains.
        gain,
        /// How much larger it is.
        scale,
        /// Rotation.
        turn_x,
        /// Of the rotation.
        turn_y,
        /// Of the rotation.
        turn_z,
        /// Of the rotation.
        turn_w,
        /// Where it stands.
        at_x,
        /// Where it stands.
        at_y,
        /// Where it stands.
        at_z,
    }
}

words! {
    /// A bone that moves an effect: where its term goes, what makes it, and the channels of its motion.
    Mover {
        /// The effect's numbers.
        maker,
        /// Within a character's words: the term.
        term,
        /// Words of it.
        term_words,
        /// Size that terms go by.
        size,
        /// Gain of what its translation causes.
        translation_gain,
        /// Gain of what its rotation causes.
        rotation_gain,
        /// Squash acts about the centroid.
        about_point,
        /// p_i: this and the two that follow.
        joint_x,
        /// Of it.
        joint_y,
        /// Of it.
        joint_z,
        /// c_i.
        centroid_x,
        /// Of it.
        centroid_y,
        /// Of it.
        centroid_z,
        /// v.
        velocity_x,
        /// Of it.
        velocity_y,
        /// Of it.
        velocity_z,
        /// ω.
        spin_x,
        /// Of it.
        spin_y,
        /// Of it.
        spin_z,
        /// a.
        acceleration_x,
        /// Of it.
        acceleration_y,
        /// Of it.
        acceleration_z,
        /// α.
        spin_up_x,
        /// Of it.
        spin_up_y,
        /// Of it.
        spin_up_z,
    }
}

/// How a word of a character is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Constant,
    /// A place within the character's own words.
    Within,
    Sampled,
    /// Times the character's gain.
    Gained,
}

/// A channel that no clip changes: a place in the frame's words instead.
const CONSTANT: u32 = 1 << 31;
/// Rows that place a character, and its scale.
const PLACE_WORDS: u32 = 13;
/// How far a stretch may be from none, as on the processor.
const UNSTRETCHED: f32 = 1e-6;

/// A character of a crowd at a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrowdMember {
    /// Its clip.
    pub clip: usize,
    /// The time in it, clamped to it or wrapped into it.
    pub time: f64,
    /// Factor on the gains of all effects.
    pub gain: f32,
    /// Where the origin of its clips stands in the crowd's space.
    pub translation: Vec3,
    /// How it is turned.
    pub rotation: Quat,
    /// How much larger it is than its rig.
    pub scale: f32,
}

impl Default for CrowdMember {
    fn default() -> Self {
        let (translation, rotation) = (Vec3::ZERO, Quat::IDENTITY);
        Self { clip: 0, time: 0.0, gain: 1.0, translation, rotation, scale: 1.0 }
    }
}

/// What a clip sweeps, relative to [`PackedCrowd::origin`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swept {
    /// The lower corner of a box around the skin at any time, with effects and without.
    pub low: Vec3,
    /// The upper one.
    pub high: Vec3,
    /// How far effects move a point at most.
    pub moved: f32,
}

/// A clip as pieces.
#[derive(Clone, Debug)]
struct PackedClip {
    motion: Arc<Motion>,
    /// Where pieces begin.
    starts: Vec<f64>,
    stop: f64,
    /// Its first piece.
    first: u32,
    swept: Swept,
}

/// What is uploaded once for a crowd.
#[derive(Clone, Debug)]
pub struct PackedCrowd {
    /// The rig. Its uniform says where characters begin.
    pub rig: PackedRig,
    /// The uniform of the crowd's own stages.
    pub params: CrowdParams,
    /// The words before those of the first character.
    pub frame: Vec<u32>,
    /// Cubics: [`CrowdParams::channels`] for every piece.
    pub pieces: Vec<[f32; 4]>,
    origin: DVec3,
    clips: Vec<PackedClip>,
}

impl PackedCrowd {
    /// Samples clips of a stage.
    pub fn new(stage: &Stage, clips: &[Playing<'_>]) -> Result<Self, NoCrowd> {
        let arrays = stage.crowd()?;
        let mut workspace = Workspace::default();
        let origin = stage.rig().origin(0, stage.resting(&mut workspace).world());
        let mut fitter = Fitter::new(&arrays, origin);
        let fitted = fitter.fit(clips)?;
        let mut first = 0;
        let rig = PackedRig::new(&arrays.rig);
        let mut packer = Packer::new(&arrays, fitter.places, &fitted);
        let numbers = packer.numbers.clone();
        let clips = clips.iter().zip(&fitted).map(|(playing, fine)| {
            let pieces = fitter.join(fine, &numbers);
            let starts = pieces.iter().map(|piece| piece.start).collect();
            let stop = pieces.last().map_or(0.0, |piece| piece.stop);
            let swept = swept(playing, &pieces, origin);
            let clip = PackedClip { motion: Arc::clone(playing.motion()), starts, stop, first, swept };
            first += pieces.len() as u32;
            packer.pieces.extend(pieces.iter().flat_map(|piece| &piece.cubics));
            clip
        });
        let clips = clips.collect();
        packer.pack(&rig, &fitted);
        packer.settle(&fitter, &fitted);
        let Packer { frame, mut params, pieces, .. } = packer;
        (params.rows, params.layers, params.vertices) = (rig.params.rows, rig.params.layers, rig.params.vertices);
        (params.point_of_vertex, params.slot_of_vertex) = (rig.params.point_of_vertex, rig.params.slot_of_vertex);
        let mut packed = Self { rig, params, frame, pieces, origin, clips };
        packed.rig.params.heads = packed.params.heads;
        packed.rig.params.head_words = packed.params.head_words;
        Ok(packed)
    }

    /// What the positions of clips are relative to: a member's translation is where this goes.
    pub fn origin(&self) -> DVec3 {
        self.origin
    }

    /// What a clip sweeps; `None` where there is no such clip.
    pub fn swept(&self, clip: usize) -> Option<Swept> {
        self.clips.get(clip).map(|clip| clip.swept)
    }

    /// Clips.
    pub fn clip_count(&self) -> usize {
        self.clips.len()
    }

    /// Words that the frames of so many characters take.
    pub fn frame_words(&self, characters: usize) -> usize {
        self.frame.len() + self.params.head_words as usize * characters
    }

    /// Invocations of a stage for each character.
    pub fn invocations(&self, stage: crate::Stage) -> u32 {
        let params = &self.params;
        match stage {
            crate::Stage::Compose => params.table_words + params.mover_count + 1,
            crate::Stage::SettleEach => params.settled_count,
            crate::Stage::PlaceVertices => params.vertices,
            other => self.rig.invocations(other, crate::FrameWork::default()),
        }
    }

    /// The words of the members that are seen, and which those are: of no clip that there is not. `planes` point inwards: what lies behind one of them,
    /// with all that its clip sweeps, is not seen.
    pub fn pack_members(&self, members: &[CrowdMember], planes: &[Vec4], words: &mut Vec<Member>, seen: &mut Vec<u32>) {
        words.clear();
        seen.clear();
        for (index, member) in members.iter().enumerate() {
            let Some(clip) = self.clips.get(member.clip) else { continue };
            if planes.iter().any(|&plane| is_behind(plane, member, &clip.swept)) {
                continue;
            }
            let time = clip.motion.sample_time(member.time);
            let piece = clip.starts.partition_point(|&start| start <= time).saturating_sub(1);
            let start = clip.starts[piece];
            let length = clip.starts.get(piece + 1).copied().unwrap_or(clip.stop) - start;
            let share = if length > 0.0 { ((time - start) / length).min(1.0) * 2.0 - 1.0 } else { 0.0 };
            let [turn_x, turn_y, turn_z, turn_w] = member.rotation.to_array().map(f32::to_bits);
            let [at_x, at_y, at_z] = member.translation.to_array().map(f32::to_bits);
            words.push(Member {
                piece: clip.first + piece as u32,
                share: (share as f32).to_bits(),
                clip: member.clip as u32,
                time: ((time - clip.starts[0]) as f32).to_bits(),
                gain: member.gain.to_bits(),
                scale: member.scale.to_bits(),
                turn_x,
                turn_y,
                turn_z,
                turn_w,
                at_x,
                at_y,
                at_z,
            });
            seen.push(index as u32);
        }
    }
}

/// Whether everything that a member sweeps lies behind a plane.
fn is_behind(plane: Vec4, member: &CrowdMember, swept: &Swept) -> bool {
    // Effects are bounded: more gain moves skin no farther than in proportion.
    let beyond = swept.moved * (member.gain.abs() - 1.0).max(0.0);
    let half = (swept.high - swept.low) * 0.5 + Vec3::splat(beyond);
    let center = member.rotation * ((swept.low + swept.high) * 0.5) * member.scale + member.translation;
    // Backwards, effects move skin to the other side.
    let half = if member.gain < 0.0 { half + Vec3::splat(2.0 * swept.moved) } else { half };
    let normal = member.rotation.inverse() * plane.truncate();
    let reach = normal.abs().dot(half) * member.scale;
    plane.truncate().dot(center) + plane.w + reach < 0.0
}

/// What a clip sweeps: boxes at and between the ends of its pieces, and what they grow by from one to the next.
fn swept(playing: &Playing<'_>, pieces: &[Joined], origin: DVec3) -> Swept {
    let mut workspace = Workspace::with(Outputs { base: true, directions: false, ..Outputs::default() });
    let (mut low, mut high, mut moved) = (Vec3::INFINITY, Vec3::NEG_INFINITY, 0.0f32);
    let mut last: Option<(Vec3, Vec3)> = None;
    let mut step = Vec3::ZERO;
    let times = pieces.iter().flat_map(|piece| [piece.start, 0.5 * (piece.start + piece.stop)]);
    for time in times.chain(pieces.last().map(|piece| piece.stop)) {
        playing.at(time, &mut workspace).deform(&Cpu::serial());
        let (mesh, base) = (workspace.mesh(), workspace.base());
        let offset = mesh.origins.first().map_or(Vec3::ZERO, |own| (*own - origin).as_vec3());
        let (mut own_low, mut own_high) = (Vec3::INFINITY, Vec3::NEG_INFINITY);
        for (p, q) in mesh.positions.iter().zip(&base.positions) {
            own_low = own_low.min(*p).min(*q);
            own_high = own_high.max(*p).max(*q);
            moved = moved.max(p.distance(*q));
        }
        let (own_low, own_high) = (own_low + offset, own_high + offset);
        if let Some((before_low, before_high)) = last {
            step = step.max((own_low - before_low).abs()).max((own_high - before_high).abs());
        }
        last = Some((own_low, own_high));
        (low, high) = (low.min(own_low), high.max(own_high));
    }
    Swept { low: low - step, high: high + step, moved }
}

/// Which channel each number is.
struct Packer<'a> {
    arrays: &'a CrowdArrays<'a>,
    places: Places,
    /// Per number: its channel, or the constant's place.
    references: Vec<u32>,
    frame: Vec<u32>,
    params: CrowdParams,
    /// Of those that move bones: the number of each channel.
    numbers: Vec<usize>,
    pieces: Vec<[f32; 4]>,
    table: Vec<[u32; 2]>,
}

impl<'a> Packer<'a> {
    /// Numbers that no clip changes become constants; those that are one and the same share a channel.
    fn new(arrays: &'a CrowdArrays<'a>, places: Places, fitted: &[Vec<Piece>]) -> Self {
        let mut references = Vec::with_capacity(places.settled);
        let (mut frame, mut numbers) = (Vec::new(), Vec::new());
        let (mut constants, mut channels) = (HashMap::new(), HashMap::new());
        for place in 0..places.settled {
            let nodes = fitted.iter().flatten().flat_map(|piece| &piece.nodes);
            let values: Vec<u32> = nodes.map(|node| node[place].to_bits()).collect();
            let first = values.first().copied().unwrap_or(0);
            references.push(if values.iter().all(|&value| value == first) {
                *constants.entry(first).or_insert_with(|| CONSTANT | append(&mut frame, &[first]))
            } else {
                *channels.entry(values).or_insert_with(|| {
                    numbers.push(place);
                    numbers.len() as u32 - 1
                })
            });
        }
        let params = CrowdParams { channels: numbers.len() as u32, ..CrowdParams::default() };
        Self { arrays, places, references, frame, params, numbers, pieces: Vec::new(), table: Vec::new() }
    }

    fn word(&mut self, how: How, value: u32) {
        self.table.push([how as u32, value]);
    }

    fn sampled(&mut self, place: usize) {
        self.word(How::Sampled, self.references[place]);
    }

    fn is_always(&self, place: usize, value: f32) -> bool {
        self.constant(place).is_some_and(|constant| (constant - value).abs() <= UNSTRETCHED)
    }

    fn constant(&self, place: usize) -> Option<f32> {
        let reference = self.references[place];
        let is_constant = reference != NONE && reference & CONSTANT != 0;
        is_constant.then(|| f32::from_bits(self.frame[(reference & !CONSTANT) as usize]))
    }

    /// The bones that move an effect, parents first.
    fn movers(&self, effect: usize) -> Vec<u32> {
        let moves = |&&(bone, _): &&(u32, Option<u32>)| {
            let (translation, rotation, _) = self.arrays.effects[effect].bones[bone as usize];
            let signals = self.places.bone(effect, bone as usize) + 6;
            let still = (signals..signals + 12).all(|place| self.constant(place) == Some(0.0));
            !(still || (translation == 0.0 && rotation == 0.0))
        };
        self.arrays.bones.iter().filter(moves).map(|&(bone, _)| bone).collect()
    }

    fn pack(&mut self, rig: &PackedRig, fitted: &[Vec<Piece>]) {
        let (arrays, places) = (self.arrays, self.places);
        let entries = arrays.rig.rig.palette().len();
        let outside = |entry: usize| {
            let at = places.palette + 12 * entry;
            let is_outside = fitted.iter().flatten().next().is_some_and(|piece| {
                let row = |row: usize| Vec3::from_slice(&piece.nodes[0][at + 4 * row..at + 4 * row + 3]);
                row(0).cross(row(1)).dot(row(2)) < 0.0
            });
            if is_outside { (-1.0f32).to_bits() } else { 1.0f32.to_bits() }
        };
        let outside: Vec<u32> = (0..entries).map(outside).collect();
        let outside = append(&mut self.frame, &outside);
        let effects = arrays.effects.len();
        let palette = Header::WORDS + effects * Effect::WORDS;
        let duals = palette + 12 * entries;
        let has_duals = arrays.is_dual;
        let stretches = duals + if has_duals { 8 * entries } else { 0 };
        let unit = |place: usize| if ((place - places.stretches) % 9).is_multiple_of(4) { 1.0 } else { 0.0 };
        let stretched = (places.stretches..places.effects).any(|place| !self.is_always(place, unit(place)));
        let has_stretches = has_duals && stretched;
        let mut terms = stretches + if has_stretches { 9 * entries } else { 0 };
        self.params.table_words = terms as u32;
        for field in Header::FIELDS {
            let (how, value) = match *field {
                "palette" => (How::Within, palette as u32),
                "outside" => (How::Constant, outside),
                "duals" if has_duals => (How::Within, duals as u32),
                "stretches" if has_stretches => (How::Within, stretches as u32),
                "duals" | "stretches" | "collapsed" => (How::Constant, NONE),
                _ => (How::Constant, 0),
            };
            self.word(how, value);
        }
        let mut movers = Vec::new();
        for effect in 0..effects {
            self.effect(effect, rig, &mut terms, &mut movers);
        }
        (places.palette..places.duals).for_each(|place| self.sampled(place));
        if has_duals {
            (places.duals..places.stretches).for_each(|place| self.sampled(place));
        }
        if has_stretches {
            (places.stretches..places.effects).for_each(|place| self.sampled(place));
        }
        self.params.place = terms as u32;
        self.params.head_words = terms as u32 + PLACE_WORDS;
        self.params.mover_count = movers.len() as u32;
        self.params.movers = append(&mut self.frame, bytemuck::cast_slice(&movers));
        self.params.table = append(&mut self.frame, self.table.as_flattened());
        self.params.origin = append(&mut self.frame, &self.references[places.origin..places.origin + 3]);
        self.params.handedness = match arrays.rig.handedness {
            Some(handedness) => append(&mut self.frame, bytemuck::cast_slice(handedness.as_flattened())),
            None => NONE,
        };
    }

    /// Points that settle: of each, its slot and, for each clip, its first piece and how many it has. A piece is when it
    /// begins, its middle and how fast its share grows, and three cubics.
    fn settle(&mut self, fitter: &Fitter<'_>, fitted: &[Vec<Piece>]) {
        let mut words = Vec::new();
        for (index, &slot) in self.arrays.settling.iter().enumerate().filter(|&(index, _)| fitter.settles[index]) {
            words.push(slot);
            let first = self.places.settled + 3 * index;
            for fine in fitted {
                let pieces = fitter.join(fine, &[first, first + 1, first + 2]);
                words.extend([self.pieces.len() as u32, pieces.len() as u32]);
                let since = fine.first().map_or(0.0, |piece| piece.start);
                for piece in &pieces {
                    let (start, half) = (piece.start - since, 0.5 * (piece.stop - piece.start));
                    let rate = if half > 0.0 { 1.0 / half } else { 0.0 };
                    self.pieces.push([start as f32, (start + half) as f32, rate as f32, 0.0]);
                    self.pieces.extend_from_slice(&piece.cubics);
                }
            }
            self.params.settled_count += 1;
        }
        self.params.clips = fitted.len() as u32;
        self.params.settled = append(&mut self.frame, &words);
        self.params.heads = self.frame.len() as u32;
    }

    fn effect(&mut self, effect: usize, rig: &PackedRig, terms: &mut usize, movers: &mut Vec<Mover>) {
        let (arrays, places) = (self.arrays, self.places);
        let own = &arrays.effects[effect];
        let moving = self.movers(effect);
        let mut nearest = vec![NONE; arrays.bones.len()];
        let mut above = Vec::new();
        for &(bone, parent) in &arrays.bones {
            let over = parent.map_or(NONE, |parent| nearest[parent as usize]);
            nearest[bone as usize] = over;
            if moving.get(above.len()) == Some(&bone) {
                nearest[bone as usize] = above.len() as u32;
                above.push(over);
            }
        }
        let frame = &mut self.frame;
        let term_words = own.kind.layout().words;
        let maker = append(frame, bytemuck::cast_slice(std::slice::from_ref(&own.maker)));
        let packed = Effect {
            acts: 1,
            kind: kind_number(own.kind),
            term_words: term_words as u32,
            nearest: append(frame, &nearest),
            above: append(frame, &above),
            characters: append(frame, &vec![0; moving.len()]),
            elsewhere: append(frame, &vec![NONE; moving.len()]),
            sizes: append(frame, &[own.size.to_bits()]),
            ..*rig.effect(effect)
        };
        let words: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&packed));
        let first = places.effect(effect);
        for (&field, &value) in Effect::FIELDS.iter().zip(words) {
            match field {
                "gain" => self.word(How::Gained, self.references[first]),
                "terms" => self.word(How::Within, *terms as u32),
                _ if field.starts_with("cone_turn") => {
                    let column = field.strip_prefix("cone_turn_").and_then(|number| number.parse::<usize>().ok());
                    self.sampled(first + 1 + column.unwrap_or(0));
                }
                _ => self.word(How::Constant, value),
            }
        }
        for &bone in &moving {
            let (translation_gain, rotation_gain, about_point) = own.bones[bone as usize];
            let mut mover = Mover {
                maker,
                term: *terms as u32,
                term_words: term_words as u32,
                size: own.size.to_bits(),
                translation_gain: translation_gain.to_bits(),
                rotation_gain: rotation_gain.to_bits(),
                about_point: about_point.into(),
                ..Mover::default()
            };
            let from = places.bone(effect, bone as usize);
            let words: &mut [u32] = bytemuck::cast_slice_mut(std::slice::from_mut(&mut mover));
            let channels = Mover::WORDS - Places::BONE;
            words[channels..].copy_from_slice(&self.references[from..from + Places::BONE]);
            movers.push(mover);
            *terms += term_words;
        }
    }
}

/// Words of a [`TermMaker`] by name.
pub(crate) const MAKER_PLACES: [(&str, usize); 11] = {
    use std::mem::offset_of;
    [
        ("kind", offset_of!(TermMaker, kind) / 4),
        ("translation", offset_of!(TermMaker, translation) / 4),
        ("rotation", offset_of!(TermMaker, rotation) / 4),
        ("max_length", offset_of!(TermMaker, max_length) / 4),
        ("max_angle", offset_of!(TermMaker, max_angle) / 4),
        ("soft", offset_of!(TermMaker, soft) / 4),
        ("ease", offset_of!(TermMaker, ease) / 4),
        ("paper_spin", offset_of!(TermMaker, paper_spin) / 4),
        ("paper_indicator", offset_of!(TermMaker, paper_indicator) / 4),
        ("indicator", offset_of!(TermMaker, indicator) / 4),
        ("angular_indicator", offset_of!(TermMaker, angular_indicator) / 4),
    ]
};
