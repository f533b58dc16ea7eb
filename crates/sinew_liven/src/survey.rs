//! What a character has that could move: its soft parts, how large each is, and how far clips move it already.

use crate::secondary::{Own, own_motion};
use sinew::anatomy::{Anatomy, Firmness, Role};
use sinew::maps::RestSurface;
use sinew::{BoneId, Clip, Cpu, MotionSettings, Outputs, Recipe, Rig, Stage, Workspace};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::LivenError;
use glam::DVec3;
use rayon::prelude::*;

/// Frames a second at which the motion of parts is looked at.
const RATE: f64 = 15.0;
/// Frames of a clip, at most.
const MOST_FRAMES: f64 = 60.0;
/// How sure a finding about a place of the skin is that no bone and no piece stands for.
const BY_PLACE: f64 = 0.6;

/// A clip with how it is read.
pub type PlayedClip<'a> = (&'a Clip, MotionSettings);

/// A soft part: all skin of one role.
#[derive(Clone, Debug)]
pub struct SoftPart {
    /// What it is.
    pub role: Role,
    /// Diagonal of its largest connected patch at rest, in sizes: of two ears, one.
    pub length: f64,
    /// How sure that is, from 0 to 1.
    pub confidence: f64,
    /// Why, in a few words.
    pub reason: String,
    /// Per clip: how far it moves by itself, in sizes, the character's travel taken off.
    pub motion: Vec<f64>,
    /// The largest steady turn of what carries it, in radians a second: a twirl.
    pub twirl: f64,
    /// What its own bones do already.
    pub own: Own,
}

impl SoftPart {
    /// The farthest that a clip moves it.
    pub fn most_motion(&self) -> f64 {
        self.motion.iter().copied().fold(0.0, f64::max)
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Soft parts, in the order of [`Role::ALL`].
    pub parts: Vec<SoftPart>,
    /// Share of the skin that is of each role, in the order of [`Role::ALL`]; roles without any are left out.
    pub shares: Vec<(Role, f64)>,
    /// Names of things that never bend: meshes that are worn, held, or parts of machines.
    pub rigid: Vec<String>,
    /// Bones of the character's own that move skin.
    pub bones: usize,
}

impl Survey {
    /// The share of the skin whose role passes.
    pub fn share(&self, is: impl Fn(Role) -> bool) -> f64 {
        self.shares.iter().filter(|(role, _)| is(*role)).map(|(_, share)| share).sum()
    }

    /// Whether there is skin of that role.
    pub fn has(&self, role: Role) -> bool {
        self.shares.iter().any(|(found, _)| *found == role)
    }
}

/// Looks at a character and its clips. `sprung` are bones that the player swings by itself.
pub fn survey(rig: &Arc<Rig>, clips: &[PlayedClip<'_>], sprung: &[BoneId]) -> Result<Survey, LivenError> {
    let anatomy = Anatomy::of(rig);
    let surface = RestSurface::new(rig);
    let mut slots: BTreeMap<Role, Vec<usize>> = BTreeMap::new();
    for slot in surface.all_slots() {
        slots.entry(anatomy.role_of_point(slot)).or_default().push(slot);
    }
    // By surface: eyes of many points are no more of a character than eyes of few.
    let area = |slots: &Vec<usize>| slots.iter().map(|&slot| surface.areas()[slot]).sum::<f64>();
    let whole = slots.values().map(area).sum::<f64>();
    let share = |slots: &Vec<usize>| if whole > 0.0 { area(slots) / whole } else { 0.0 };
    let shares = slots.iter().map(|(&role, slots)| (role, share(slots))).collect();
    let mut rigid: Vec<String> = Vec::new();
    for piece in anatomy.pieces().iter().filter(|piece| piece.role.is_some_and(Role::is_rigid)) {
        if !rigid.contains(&piece.mesh) {
            rigid.push(piece.mesh.clone());
        }
    }
    let soft: Vec<(Role, &Vec<usize>)> = slots
        .iter()
        .filter(|(role, _)| role.firmness() == Firmness::Soft)
        .map(|(&role, slots)| (role, slots))
        .collect();
    let stage = Stage::new(rig, &Recipe::default())?;
    let motions = motions(&stage, clips, &soft)?;
    let mut parts = Vec::new();
    for (index, &(role, slots)) in soft.iter().enumerate() {
        let (confidence, reason) = evidence(rig, &anatomy, role, slots);
        let main: Vec<BoneId> = slots.iter().filter_map(|&slot| rig.main_bone(slot)).collect();
        parts.push(SoftPart {
            role,
            length: length(&surface, slots),
            confidence,
            reason,
            motion: motions.iter().map(|clip| clip.0[index]).collect(),
            twirl: motions.iter().map(|clip| clip.1[index]).fold(0.0, f64::max),
            own: own_motion(&stage, clips, &anatomy, role, &main, sprung)?,
        });
    }
    let moves_skin = |bone: &BoneId| rig.palette().iter().any(|entry| entry.bone == *bone);
    Ok(Survey { parts, shares, rigid, bones: rig.skeleton().bones().filter(moves_skin).count() })
}

/// How sure the role of these points is, and the reason that stands for most of them.
fn evidence(rig: &Rig, anatomy: &Anatomy, role: Role, slots: &[usize]) -> (f64, String) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sum = 0.0;
    for &slot in slots {
        let piece = anatomy.piece_of_point(slot).and_then(|piece| anatomy.pieces().get(piece));
        let bone = rig.main_bone(slot).map(|bone| anatomy.bone(bone));
        let (confidence, reason) = match (piece.filter(|piece| piece.role == Some(role)), bone) {
            (Some(piece), _) => (piece.confidence, piece.reason.as_str()),
            (None, Some(bone)) if bone.role == role => (bone.confidence, bone.reason.as_str()),
            _ => (BY_PLACE, "by its place on the body"),
        };
        sum += confidence;
        *reasons.entry(reason).or_default() += 1;
    }
    let most = reasons.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    (sum / slots.len().max(1) as f64, most.map_or(String::new(), |(reason, _)| reason.to_owned()))
}

/// The diagonal of the largest connected patch of these points, in sizes.
fn length(surface: &RestSurface<'_>, slots: &[usize]) -> f64 {
    let rig = surface.rig();
    let mut left = vec![false; rig.slots()];
    slots.iter().for_each(|&slot| left[slot] = true);
    // What a part grows from is its end as well: an ear of few points is mostly the faces at its root.
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); rig.slots()];
    for face in surface.faces() {
        for (a, b) in [(0, 1), (1, 2), (2, 0)] {
            for (from, to) in
                [(face[a], face[b]), (face[b], face[a])].into_iter().filter(|(from, _)| left[*from as usize])
            {
                neighbours[from as usize].push(to);
            }
        }
    }
    let mut longest = 0.0f64;
    for &slot in slots {
        if !std::mem::take(&mut left[slot]) {
            continue;
        }
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut open = vec![slot];
        while let Some(at) = open.pop() {
            (low, high) = (low.min(surface.points()[at]), high.max(surface.points()[at]));
            for &next in &neighbours[at] {
                (low, high) = (low.min(surface.points()[next as usize]), high.max(surface.points()[next as usize]));
                if std::mem::take(&mut left[next as usize]) {
                    open.push(next as usize);
                }
            }
        }
        let size = rig.character_of_point(slot).map_or(1.0, |character| rig.characters()[character].size);
        longest = longest.max((high - low).length() / size);
    }
    longest
}

/// Of a clip, per part: how far it moves, and how fast what carries it turns.
type Motions = (Vec<f64>, Vec<f64>);

/// Per clip, per part: how far it moves, and how fast what carries it turns on the whole.
fn motions(stage: &Stage, clips: &[PlayedClip<'_>], parts: &[(Role, &Vec<usize>)]) -> Result<Vec<Motions>, LivenError> {
    let rig = stage.rig();
    let mut vertex_of_slot: Vec<Option<usize>> = vec![None; rig.slots()];
    (0..rig.vertex_count()).for_each(|vertex| {
        vertex_of_slot[rig.point(vertex)].get_or_insert(vertex);
    });
    let mut character = vec![0; rig.vertex_count()];
    for part in rig.parts() {
        part.primitives.iter().for_each(|primitive| character[primitive.vertices.clone()].fill(part.character));
    }
    let vertices: Vec<Vec<usize>> =
        parts.iter().map(|(_, slots)| slots.iter().filter_map(|&slot| vertex_of_slot[slot]).collect()).collect();
    let carriers: Vec<Option<BoneId>> =
        parts.iter().map(|(_, slots)| slots.first().and_then(|&slot| rig.main_bone(slot))).collect();
    let one = |(clip, settings): &PlayedClip<'_>| -> Result<Motions, LivenError> {
        let playing = stage.motion(clip, settings)?;
        let (start, end) = (playing.report().start, playing.report().last_key);
        let steps = ((end - start) * RATE).ceil().clamp(0.0, MOST_FRAMES) as u32;
        let mut workspace = Workspace::with(Outputs { directions: false, base: false, engine: false });
        let mut first: Vec<Vec<DVec3>> = Vec::new();
        let mut reach: Vec<Vec<f64>> = vec![Vec::new(); parts.len()];
        let mut turns = vec![DVec3::ZERO; parts.len()];
        for step in 0..=steps {
            let time = start + (end - start) * f64::from(step) / f64::from(steps.max(1));
            playing.at(time, &mut workspace).deform(&Cpu::serial());
            let mesh = workspace.mesh();
            let middles: Vec<DVec3> = {
                let mut sums = vec![(DVec3::ZERO, 0.0); rig.characters().len()];
                for (vertex, &character) in character.iter().enumerate() {
                    sums[character].0 += mesh.world_position(character, vertex);
                    sums[character].1 += 1.0;
                }
                sums.into_iter().map(|(sum, count)| sum / f64::max(count, 1.0)).collect()
            };
            let places: Vec<Vec<DVec3>> = (vertices.iter())
                .map(|part| {
                    let place = |&v: &usize| mesh.world_position(character[v], v) - middles[character[v]];
                    part.iter().map(place).collect()
                })
                .collect();
            if first.is_empty() {
                first.clone_from(&places);
            }
            for (part, (places, first)) in places.iter().zip(&first).enumerate() {
                let far = |(n, (a, b)): (usize, (&DVec3, &DVec3))| {
                    a.distance(*b) / rig.characters()[character[vertices[part][n]]].size
                };
                let most = places.iter().zip(first).enumerate().map(far).fold(0.0, f64::max);
                reach[part].push(if most.is_finite() { most } else { 0.0 });
                let above = carriers[part].into_iter().flat_map(|bone| rig.skeleton().ancestors(bone));
                let turn = |bone: BoneId| workspace.kinematics().bones[bone.index()].angular_velocity;
                turns[part] += above.map(turn).sum::<DVec3>() / f64::from(steps + 1);
            }
        }
        let percentile = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(((0.95 * values.len() as f64).ceil() as usize).saturating_sub(1)).copied().unwrap_or(0.0)
        };
        let turn = |turn: &DVec3| if turn.is_finite() { turn.length() } else { 0.0 };
        Ok((reach.iter_mut().map(percentile).collect(), turns.iter().map(turn).collect()))
    };
    clips.par_iter().map(one).collect()
}
