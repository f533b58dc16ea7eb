//! What each bone and each part of the skin is: spine, arm, ear, cape, sword.
//!
//! Names are the first evidence (`names`), read word by word. Shape is the second (`body`, `shape`): what hangs on
//! what, what mirrors what, what reaches the ground. Where both agree a finding is sure; where only one speaks it is less
//! so; where neither does a bone is *unknown*, and what it moves stays firm: neither made to swing nor frozen. Pieces of
//! skin that are worn or held are told from the body they are on (`pieces`), ears that no bone moves from the head (`ears`),
//! and thick soft parts of the trunk from the rest of it (`flesh`).
//!
//! Everything is found in the bind pose and in sizes of the character, from the rig alone: scale, pose, clips and frame
//! rate change nothing, and a mirrored rig has mirrored findings.

mod body;
mod ears;
mod flesh;
mod names;
mod pieces;
mod role;
mod shape;
mod skirts;

pub(crate) use body::owners;
pub use pieces::Piece;
pub use role::{Firmness, Role, Segment, Side};

use crate::maps::RestSurface;
use crate::rig::{OfRig, PartKind, Rig};
use crate::skeleton::BoneId;
use crate::text::wildcard;
use body::Body;
use names::Clue;
use shape::Guess;

/// What one bone is.
#[derive(Clone, Debug, PartialEq)]
pub struct BoneFinding {
    /// What it moves.
    pub role: Role,
    /// On which side of the body.
    pub side: Side,
    /// Which half of an arm or leg, where that is clear.
    pub segment: Option<Segment>,
    /// From 0, a guess, to 1, sure.
    pub confidence: f64,
    /// Why, in a few words.
    pub reason: String,
}

/// A part of the skin that its shape tells, not its bones: an ear that no bone moves, a skirt.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The character it belongs to.
    pub character: usize,
    /// What it is.
    pub role: Role,
    /// On which side of the body.
    pub side: Side,
    /// Slots of its control points, ascending.
    pub points: Vec<u32>,
    /// From 0 to 1.
    pub confidence: f64,
    /// Why, in a few words.
    pub reason: String,
}

/// What each bone and each part of the skin of a rig is.
#[derive(Clone, Debug)]
pub struct Anatomy {
    bones: Vec<BoneFinding>,
    pieces: Vec<Piece>,
    piece_of_slot: Vec<Option<u32>>,
    /// What shape or material says of single points, over what their bones are.
    of_place: Vec<Option<Role>>,
    places: Vec<Place>,
    points: Vec<Role>,
}

impl Anatomy {
    /// Finds out. A rig that nothing is known of has unknown bones; nothing is an error.
    pub fn of(rig: &Rig) -> Self {
        let surface = RestSurface::new(rig);
        let skeleton = rig.skeleton();
        let clues: Vec<Clue> = skeleton.bones().map(|bone| names::read(rig.telling_name(bone))).collect();
        let bodies: Vec<Body> =
            (0..rig.characters().len()).map(|character| Body::new(&surface, character, &clues)).collect();
        let mut bones: Vec<BoneFinding> = skeleton
            .bones()
            .map(|bone| BoneFinding {
                role: Role::Helper,
                side: clues[bone.index()].side.unwrap_or(Side::Middle),
                segment: None,
                confidence: 0.5,
                reason: "moves no skin".into(),
            })
            .collect();
        for (character, body) in bodies.iter().enumerate() {
            let guesses = shape::guesses(body);
            Merge { rig, character, body, clues: &clues, guesses: &guesses }.run(&mut bones);
        }
        let (pieces, piece_of_slot) = pieces::pieces(rig, &bodies, &bones);
        // A node that carries a stiff mesh is what the mesh is.
        for piece in pieces.iter().filter(|piece| piece.rider) {
            if let Some(role) = piece.role {
                let finding = &mut bones[piece.bone.index()];
                (finding.role, finding.confidence) = (role, piece.confidence);
                finding.reason.clone_from(&piece.reason);
            }
        }
        let of_place = vec![None; rig.slots()];
        let mut anatomy = Self { bones, pieces, piece_of_slot, of_place, places: Vec::new(), points: Vec::new() };
        anatomy.resolve(rig);
        for (character, body) in bodies.iter().enumerate() {
            anatomy.places.extend(ears::ears(rig, character, body, &anatomy.bones, &anatomy.points));
            let pieces = &anatomy.piece_of_slot;
            let skirts = skirts::skirts(rig, character, body, &anatomy.bones, &anatomy.points, pieces);
            anatomy.places.extend(skirts);
        }
        anatomy.of_place = flesh::places(rig, &bodies, &anatomy.bones, &anatomy.points);
        for place in &anatomy.places {
            for &slot in &place.points {
                anatomy.of_place[slot as usize].get_or_insert(place.role);
            }
        }
        anatomy.resolve(rig);
        anatomy
    }

    /// Per bone, in skeleton order.
    pub fn bones(&self) -> &[BoneFinding] {
        &self.bones
    }

    /// What a bone is.
    pub fn bone(&self, bone: BoneId) -> &BoneFinding {
        &self.bones[bone.index()]
    }

    /// Connected pieces of skin and meshes that ride on bones.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The piece a control point belongs to.
    pub fn piece_of_point(&self, slot: usize) -> Option<usize> {
        self.piece_of_slot.get(slot).copied().flatten().map(|piece| piece as usize)
    }

    /// Parts of the skin that their shape tells, not their bones: ears that no bone moves.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// What a control point is: its piece where that is worn or held, else what moves it most. A number that is no slot is
    /// unknown.
    pub fn role_of_point(&self, slot: usize) -> Role {
        self.points.get(slot).copied().unwrap_or(Role::Unknown)
    }

    /// Per slot, what each control point is.
    pub fn points(&self) -> &[Role] {
        &self.points
    }

    /// The same with the role of some bones, and of the pieces that only they move, set by hand: all whose name matches
    /// `pattern`, with `*` and `?`. What such a bone moves is that all over, whatever its shape. Meshes match too. Returns
    /// how many did.
    pub fn with_role(mut self, rig: &Rig, pattern: &str, role: Role) -> (Self, usize) {
        let mut matched = 0;
        let mut by_hand = vec![false; self.bones.len()];
        let reason = || format!("set by hand for \"{pattern}\"");
        for bone in rig.skeleton().bones().filter(|&bone| wildcard(pattern, rig.skeleton().name(bone))) {
            by_hand[bone.index()] = true;
            let finding = &mut self.bones[bone.index()];
            (finding.role, finding.confidence, finding.reason) = (role, 1.0, reason());
            if !matches!(role, Role::Arm | Role::Leg) {
                finding.segment = None;
            }
            matched += 1;
        }
        let told = |slot: usize| rig.main_bone(slot).is_some_and(|bone| by_hand[bone.index()]);
        self.places.retain(|place| !place.points.iter().any(|&slot| told(slot as usize)));
        self.of_place.iter_mut().enumerate().filter(|&(slot, _)| told(slot)).for_each(|(_, place)| *place = None);
        for piece in &mut self.pieces {
            let of_bone = piece.rigid && wildcard(pattern, rig.skeleton().name(piece.bone));
            let of_mesh = wildcard(pattern, &piece.mesh);
            if of_bone || of_mesh {
                (piece.role, piece.confidence, piece.reason) = (Some(role), 1.0, reason());
                matched += usize::from(!of_bone);
            }
        }
        self.resolve(rig);
        (self, matched)
    }

    /// Roles of points from those of pieces, places and bones.
    fn resolve(&mut self, rig: &Rig) {
        self.points = (0..rig.slots()).map(|slot| self.resolved(rig, slot)).collect();
    }

    fn resolved(&self, rig: &Rig, slot: usize) -> Role {
        let piece = self.piece_of_point(slot).and_then(|piece| self.pieces.get(piece));
        if let Some(role) = piece.and_then(|piece| piece.role) {
            return role;
        }
        let mut weights = [0.0f32; Role::ALL.len()];
        for influence in rig.influences(slot) {
            let bone = rig.palette()[influence.palette as usize].bone;
            weights[self.bones[bone.index()].role as usize] += influence.weight;
        }
        let (mut role, mut most) = (Role::Unknown, 0.0);
        for (candidate, weight) in Role::ALL.into_iter().zip(weights) {
            if weight > most {
                (role, most) = (candidate, weight);
            }
        }
        match self.of_place[slot] {
            Some(place) if role.is_body() => place,
            _ => role,
        }
    }
}

impl OfRig for Anatomy {
    fn of(rig: &Rig) -> Self {
        Self::of(rig)
    }
}

/// Names and shape of one character brought together.
struct Merge<'a> {
    rig: &'a Rig,
    character: usize,
    body: &'a Body,
    clues: &'a [Clue],
    guesses: &'a [Option<Guess>],
}

impl Merge<'_> {
    fn run(&self, bones: &mut [BoneFinding]) {
        let skeleton = self.rig.skeleton();
        let mine: Vec<usize> = skeleton
            .bones()
            .filter(|&bone| self.rig.character_of_bone(bone) == self.character)
            .map(BoneId::index)
            .collect();
        let mut carries_mesh = vec![false; bones.len()];
        for part in self.rig.parts().iter().filter(|part| part.kind == PartKind::Skinned) {
            if let Some(bone) = skeleton.bone_of_node(part.node) {
                carries_mesh[bone.index()] = true;
            }
        }
        for &bone in &mine {
            let found = if self.body.area[bone] > 0.0 {
                self.with_skin(bone)
            } else if carries_mesh[bone] {
                (Role::Helper, 0.9, "carries a mesh that other bones move".into())
            } else {
                self.without_skin(bone)
            };
            let finding = &mut bones[bone];
            (finding.role, finding.confidence, finding.reason) = found;
            finding.side = self.side(bone);
        }
        self.inherit(&mine, bones);
        self.segments(&mine, bones);
    }

    /// Bones that move no skin of their own.
    fn without_skin(&self, bone: usize) -> (Role, f64, String) {
        let clue = &self.clues[bone];
        match clue.role {
            _ if clue.control => (Role::Helper, 0.9, "moves no skin and is called as controls are".into()),
            Some(role) if !clue.weak => {
                (role, 0.7, format!("called \"{}\", though it moves no skin itself", clue.word))
            }
            _ => (Role::Helper, 0.8, "moves no skin".into()),
        }
    }

    fn with_skin(&self, bone: usize) -> (Role, f64, String) {
        let clue = &self.clues[bone];
        let guess = self.guesses[bone];
        let by_shape = |guess: Guess| (guess.role, guess.confidence, guess.reason.to_owned());
        let Some(role) = clue.role else {
            return guess.map_or((Role::Unknown, 0.0, "neither its name nor its shape tells".into()), by_shape);
        };
        let called = format!("called \"{}\"", clue.word);
        match guess {
            Some(guess) if guess.role == role => (role, 0.95, format!("{called}, and {}", guess.reason)),
            Some(guess) if clue.weak => (guess.role, guess.confidence, guess.reason.to_owned()),
            Some(guess) if stands(role, guess) || self.ends(bone, role, guess.role) => {
                (guess.role, 0.75, format!("{called}, but {}", guess.reason))
            }
            None if clue.weak => (role, 0.5, called),
            Some(_) => (role, 0.75, called),
            None => (role, 0.85, called),
        }
    }

    /// Chains numbered by one word: the last arm is the hand, the last leg the foot, the last neck the head.
    fn ends(&self, bone: usize, named: Role, shaped: Role) -> bool {
        let end = match (named, shaped) {
            (Role::Leg, Role::Foot) => Role::Foot,
            (Role::Arm, Role::Hand) => Role::Hand,
            (Role::Neck, Role::Head) => Role::Head,
            _ => return false,
        };
        let named_so = |&other: &usize| self.clues[other].role == Some(end) && self.side(other) == self.side(bone);
        self.clues[bone].segment.is_none() && !self.body.skinned.iter().any(named_so)
    }

    fn side(&self, bone: usize) -> Side {
        if !self.body.axes.symmetric && self.clues.iter().all(|clue| clue.side.is_none()) {
            return Side::Middle;
        }
        let off = |place: glam::DVec3| (place.dot(self.body.axes.left) - self.body.axes.middle).abs();
        let (joint, centre) = (self.body.joints[bone], self.body.centre[bone]);
        match self.body.side(if off(centre) > off(joint) { centre } else { joint }) {
            Side::Middle => self.clues[bone].side.unwrap_or(Side::Middle),
            // A middle bone whose skin leans to one side has none.
            _ if self.clues[bone].side.is_none() && self.body.partner[bone].is_none() => Side::Middle,
            side => side,
        }
    }

    /// Bones that nothing tells of, but whose skin is sewn to that of a known bone, are part of it. Not on the head, where
    /// they may be hair as well as a hat.
    fn inherit(&self, mine: &[usize], bones: &mut [BoneFinding]) {
        loop {
            let mut changed = false;
            for &bone in mine.iter().filter(|&&bone| self.body.area[bone] > 0.0) {
                let Some(carrier) = self.body.carrier[bone].filter(|_| bones[bone].role == Role::Unknown) else {
                    continue;
                };
                let above = bones[carrier].role;
                let between = self.body.children[bone].iter().any(|&child| bones[child].role == above);
                let sewn = self.body.seam[bone] >= 0.5;
                let safe = above.is_body() && above != Role::Head || above == Role::Tail;
                if bones[carrier].confidence >= 0.3 && above != Role::Unknown && (between || (sewn && safe)) {
                    let confidence = if between { 0.6 } else { 0.35 };
                    let reason = format!("sewn to a bone of the {above} that carries it");
                    (bones[bone].role, bones[bone].confidence, bones[bone].reason) = (above, confidence, reason);
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Which half of a limb: as named, as shaped, else by the other half.
    fn segments(&self, mine: &[usize], bones: &mut [BoneFinding]) {
        let limb = |finding: &BoneFinding| matches!(finding.role, Role::Arm | Role::Leg);
        let named = |bone: usize, bones: &[BoneFinding]| {
            self.clues[bone].segment.filter(|_| self.clues[bone].role == Some(bones[bone].role))
        };
        for &bone in mine {
            if !limb(&bones[bone]) {
                continue;
            }
            // Where names tell the halves of a limb, the shape has no say in it.
            let (role, side) = (bones[bone].role, bones[bone].side);
            let told =
                mine.iter().any(|&b| bones[b].role == role && bones[b].side == side && named(b, bones).is_some());
            let shaped = self.guesses[bone].filter(|guess| !told && guess.role == role).and_then(|guess| guess.segment);
            bones[bone].segment = named(bone, bones).or(shaped);
        }
        for &bone in mine.iter().filter(|&&bone| self.body.area[bone] > 0.0) {
            let role = bones[bone].role;
            if !limb(&bones[bone]) || bones[bone].segment.is_some() {
                continue;
            }
            let same = |other: usize, segment| bones[other].role == role && bones[other].segment == Some(segment);
            let below_upper = self.body.carrier[bone].is_some_and(|carrier| same(carrier, Segment::Upper));
            let above_lower = self.body.children[bone].iter().any(|&child| same(child, Segment::Lower));
            bones[bone].segment = match (below_upper, above_lower) {
                (true, false) => Some(Segment::Lower),
                (false, true) => Some(Segment::Upper),
                _ => None,
            };
        }
    }
}

/// Arms by name that stand on the ground are the front legs of an animal; front legs by name that end in the air are arms.
fn stands(named: Role, guess: Guess) -> bool {
    match (named, guess.role) {
        (Role::Arm | Role::Hand, Role::Leg | Role::Foot) => true,
        (Role::Leg | Role::Foot, Role::Arm | Role::Hand) => guess.raised,
        _ => false,
    }
}
