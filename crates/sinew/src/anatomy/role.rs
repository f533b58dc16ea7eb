//! What a bone or a part of the skin is.

use std::fmt;

/// What a bone moves, or what a part of the skin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The trunk: pelvis, spine, rib cage.
    Spine,
    /// Between the trunk and the head.
    Neck,
    /// The head with what is firm on it: brows, lids, nose, lips.
    Head,
    /// The lower jaw, a beak.
    Jaw,
    /// Teeth and fangs.
    Teeth,
    /// The tongue.
    Tongue,
    /// An eyeball.
    Eye,
    /// An outer ear.
    Ear,
    /// Hair, beard, mane.
    Hair,
    /// Horns, antlers, tusks.
    Horn,
    /// From the collar bone to the wrist.
    Arm,
    /// The hand with its fingers.
    Hand,
    /// From the hip to the ankle, also the front legs of an animal.
    Leg,
    /// The foot with its toes; paws and hooves.
    Foot,
    /// A tail or a tentacle.
    Tail,
    /// A wing with its feathers.
    Wing,
    /// A fin.
    Fin,
    /// What hangs: skirt, cape, scarf.
    Cloth,
    /// Thick soft parts far from the bones: belly, breast, buttocks, cheeks.
    Flesh,
    /// What is worn or held and does not bend: sword, shield, hat, armour, glasses; also where such things are hung.
    Prop,
    /// Parts of a machine.
    Mechanical,
    /// Moves no skin: roots, targets, ends of chains.
    Helper,
    /// Nothing tells.
    Unknown,
}

/// How a part takes being shaken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Firmness {
    /// It swings and wobbles.
    Soft,
    /// Flesh on bones: it bends where the bones do.
    Firm,
    /// It never bends.
    Rigid,
}

impl Role {
    /// All of them, in the order reports use.
    pub const ALL: [Self; 23] = [
        Self::Spine,
        Self::Neck,
        Self::Head,
        Self::Jaw,
        Self::Teeth,
        Self::Tongue,
        Self::Eye,
        Self::Ear,
        Self::Hair,
        Self::Horn,
        Self::Arm,
        Self::Hand,
        Self::Leg,
        Self::Foot,
        Self::Tail,
        Self::Wing,
        Self::Fin,
        Self::Cloth,
        Self::Flesh,
        Self::Prop,
        Self::Mechanical,
        Self::Helper,
        Self::Unknown,
    ];

    /// In one word, lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spine => "spine",
            Self::Neck => "neck",
            Self::Head => "head",
            Self::Jaw => "jaw",
            Self::Teeth => "teeth",
            Self::Tongue => "tongue",
            Self::Eye => "eye",
            Self::Ear => "ear",
            Self::Hair => "hair",
            Self::Horn => "horn",
            Self::Arm => "arm",
            Self::Hand => "hand",
            Self::Leg => "leg",
            Self::Foot => "foot",
            Self::Tail => "tail",
            Self::Wing => "wing",
            Self::Fin => "fin",
            Self::Cloth => "cloth",
            Self::Flesh => "flesh",
            Self::Prop => "prop",
            Self::Mechanical => "mechanical",
            Self::Helper => "helper",
            Self::Unknown => "unknown",
        }
    }

    /// The role of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// How parts of this role take being shaken. What nobody knows is firm: neither bent nor frozen.
    pub const fn firmness(self) -> Firmness {
        match self {
            Self::Ear | Self::Tail | Self::Hair | Self::Wing | Self::Fin | Self::Cloth | Self::Flesh | Self::Tongue => {
                Firmness::Soft
            }
            Self::Eye | Self::Teeth | Self::Horn | Self::Prop | Self::Mechanical => Firmness::Rigid,
            Self::Spine
            | Self::Neck
            | Self::Head
            | Self::Jaw
            | Self::Arm
            | Self::Hand
            | Self::Leg
            | Self::Foot
            | Self::Helper
            | Self::Unknown => Firmness::Firm,
        }
    }

    /// Whether such parts swing and wobble.
    pub const fn is_soft(self) -> bool {
        matches!(self.firmness(), Firmness::Soft)
    }

    /// Whether such parts must never bend.
    pub const fn is_rigid(self) -> bool {
        matches!(self.firmness(), Firmness::Rigid)
    }

    /// Whether it is of the body that bones carry, as against what grows on it or is worn.
    pub const fn is_body(self) -> bool {
        matches!(self, Self::Spine | Self::Neck | Self::Head | Self::Arm | Self::Hand | Self::Leg | Self::Foot)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Which side of the body, the character's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Its left.
    Left,
    /// On the middle plane, or a body without sides.
    Middle,
    /// Its right.
    Right,
}

impl Side {
    /// In one word, lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Middle => "middle",
            Self::Right => "right",
        }
    }
}

/// Which half of an arm or a leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// From the shoulder or hip to the elbow or knee.
    Upper,
    /// From there to the wrist or ankle.
    Lower,
}

impl Segment {
    /// In one word, lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upper => "upper",
            Self::Lower => "lower",
        }
    }
}
