//! What a name says: split into words, sides and numbers taken off, looked up whole.
//!
//! Words are looked up as wholes, so that a *forearm* has no *ear* and a *whip* no *hip*. Where a word is unknown it may be
//! two known ones written as one ("shoulderpad"), or a side letter glued to one ("lfoot"). Of several words the one
//! that tells most counts: a *head slot* is a place for things, an *eye lid* is the head's.

use super::role::{Role, Segment, Side};

/// What a name says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Clue {
    pub role: Option<Role>,
    /// The word it was told by.
    pub word: String,
    pub side: Option<Side>,
    pub segment: Option<Segment>,
    /// Made for the animator, not for the skin: a target, an end, a control.
    pub control: bool,
    /// The word could mean something else: a finger's *middle*.
    pub weak: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Sense {
    Is(Role),
    Part(Role, Segment),
    /// Only where nothing else tells.
    Weak(Role),
    /// With a side, and without.
    Sided(Role, Role),
    /// Only with a side.
    OnlySided(Role),
    /// The head's, however it is called: a brow is not an eye.
    Face,
    Up,
    Low,
    Fore,
    /// Front and back: a place, and the trunk where nothing else is named.
    Place,
    Control,
    Root,
    Left,
    Right,
}

use Role::{
    Arm, Cloth, Ear, Eye, Fin, Flesh, Foot, Hair, Hand, Head, Horn, Jaw, Leg, Mechanical, Neck, Prop, Spine, Tail,
    Teeth, Tongue, Wing,
};
use Segment::{Lower, Upper};
use Sense::{Control, Face, Fore, Is, Left, Low, OnlySided, Part, Place, Right, Root, Sided, Up, Weak};

/// Words of the usual rigs and, for the commonest parts, of German, Spanish, French, Italian and Portuguese.
const WORDS: &[(Sense, &str)] = &[
    (Left, "l left lf lft lt links linke linker izq izquierda izquierdo gauche sinistra sinistro esquerda esquerdo"),
    (Right, "r right rt rgt rechts rechte rechter der derecha derecho droite droit destra destro direita direito"),
    (Up, "up upper uppr top ober oben superior"),
    (Low, "low lower lo down unter unten inferior"),
    (Fore, "fore"),
    (Place, "back rear front hind"),
    (
        Control,
        "ik pole target ctrl control controller goal effector null nub end locator loc aim lookat pivot helper dummy \
         heelik footik handik kneeik elbowik hint mch endsite leaf",
    ),
    (Root, "root world global master reference trajectory origin cog"),
    (
        Is(Spine),
        "spine spines pelvis hips torso body trunk chest thorax ribs ribcage rib sternum waist abdomen lowerback upperback \
         backbone navel shoulders loin loins withers rump vertebra becken wirbel brust rumpf columna cadera pecho bassin \
         torse poitrine schiena colonna bacino coluna quadril",
    ),
    (Sided(Leg, Spine), "hip huefte"),
    (Sided(Arm, Spine), "shoulder shldr schulter hombro epaule spalla ombro"),
    (Sided(Flesh, Spine), "ass butt"),
    (Is(Neck), "neck lowerneck upperneck throat hals nacken cuello collo pescoco"),
    (Is(Head), "head skull cranium face kopf cabeza tete testa cabeca muzzle snout mouth"),
    (
        Face,
        "brow eyebrow brows eyebrows eyelid eyelids lid lids eyelash eyelashes lash lashes nose nostril lip lips chin forehead \
         temple squint crease",
    ),
    (Is(Jaw), "jaw mandible lowermouth beak kiefer mandibula machoire mascella"),
    (Is(Teeth), "teeth tooth fang fangs zahn zaehne dientes dents denti"),
    (Is(Tongue), "tongue zunge lengua langue lingua"),
    (Is(Eye), "eye eyes eyeball eyeballs pupil pupils iris auge augen ojo ojos oeil yeux occhio occhi olho olhos"),
    (Is(Ear), "ear ears ohr ohren oreja orejas oreille oreilles orecchio orelha orelhas"),
    (
        Is(Hair),
        "hair hairs bang bangs fringe ponytail pigtail pigtails twintail braid braids beard mustache moustache mane ahoge \
         sideburn sideburns dreadlock dreadlocks haar haare pelo cabello cheveux capelli cabelo barba zopf",
    ),
    (Is(Horn), "horn horns antler antlers tusk tusks"),
    (
        Is(Arm),
        "arm arms clavicle collarbone collar scapula scap delt deltoid bicep biceps tricep triceps brazo bras braccio \
         braco",
    ),
    (Part(Arm, Upper), "upperarm uparm humerus uparms oberarm"),
    (Part(Arm, Lower), "forearm lowerarm lowarm elbow radius ulna unterarm elbows"),
    (
        Is(Hand),
        "hand hands wrist finger fingers thumb thumbs palm pinky pinkie metacarpal carpal knuckle mano pulgar dedo daumen \
         handgelenk",
    ),
    (Weak(Hand), "index middle ring little"),
    (Is(Leg), "leg legs foreleg hindleg frontleg backleg limb bein pierna jambe gamba perna"),
    (Part(Leg, Upper), "thigh upleg upperleg femur oberschenkel muslo cuisse coscia coxa haunch"),
    (Part(Leg, Lower), "calf shin tibia lowleg lowerleg knee crus unterschenkel rodilla genou ginocchio hock"),
    (
        Is(Foot),
        "foot feet toe toes ankle heel hoof hooves paw paws tarsal tarsus metatarsal talocrural subtalar transversetarsal \
         toebase sole fuss knoechel zeh zehen tobillo pied cheville piede caviglia tornozelo",
    ),
    (OnlySided(Foot), "ball"),
    (Is(Tail), "tail tails tentacle tentacles schwanz cola queue coda cauda rabo"),
    (Is(Wing), "wing wings feather feathers fluegel aile"),
    (Is(Fin), "fin fins flipper flippers dorsalfin"),
    (
        Is(Cloth),
        "skirt skirts cape capes cloak dress gown cloth cloths coat coattail coattails robe robes scarf ribbon ribbons sleeve \
         sleeves sash loincloth tabard flag banner veil kilt shawl poncho apron tassel tassels necktie hood frill \
         umhang falda capa jupe saia mantello hem",
    ),
    (
        Is(Flesh),
        "belly stomach tummy gut paunch udder breast breasts boob boobs bust jiggle jiggles buttock buttocks glute glutes \
         glut bum cheek cheeks wattle dewlap bauch barriga panza ventre pancia",
    ),
    (
        Is(Prop),
        "sword blade dagger knife axe hammer mace spear lance staff wand bow arrow arrows quiver crossbow gun rifle pistol \
         weapon weapons shield buckler hat helmet helm crown glasses goggles spectacles visor mask armor armour \
         pauldron pauldrons gauntlet gauntlets greave greaves cuirass breastplate backpack bag pouch satchel belt buckle \
         scabbard sheath holster torch lantern lamp book mug cup bottle tankard potion prop props accessory accessories \
         earring earrings necklace bracelet headphone headphones headset shovel pickaxe broom umbrella saddle bridle \
         club whip katana scythe trident chainsaw slot slots socket attach attachment holder pad pads handslot \
         shoulderpad kneepad schwert schild helm waffe espada escudo epee bouclier spada scudo cap brille",
    ),
    (
        Is(Mechanical),
        "piston pistons gear gears wheel wheels tire tires tyre axle turret barrel cannon propeller rotor engine hydraulic \
         hinge servo motor chassis hatch thruster suspension exhaust",
    ),
];

/// Characters that are words by themselves, longest first: Japanese and Chinese rigs.
const SIGNS: &[(&str, Sense)] = &[
    ("スカート", Is(Cloth)),
    ("裙", Is(Cloth)),
    ("マント", Is(Cloth)),
    ("リボン", Is(Cloth)),
    ("袖", Is(Cloth)),
    ("上半身", Is(Spine)),
    ("下半身", Is(Spine)),
    ("センター", Root),
    ("グルーブ", Root),
    ("全ての親", Root),
    ("ｉｋ", Control),
    ("先", Control),
    ("親指", Is(Hand)),
    ("人指", Is(Hand)),
    ("中指", Is(Hand)),
    ("薬指", Is(Hand)),
    ("小指", Is(Hand)),
    ("手首", Is(Hand)),
    ("手捩", Part(Arm, Lower)),
    ("腕捩", Part(Arm, Upper)),
    ("足首", Is(Foot)),
    ("つま先", Is(Foot)),
    ("ひじ", Part(Arm, Lower)),
    ("ひざ", Part(Leg, Lower)),
    ("しっぽ", Is(Tail)),
    ("尻尾", Is(Tail)),
    ("尾", Is(Tail)),
    ("前髪", Is(Hair)),
    ("髪", Is(Hair)),
    ("头发", Is(Hair)),
    ("眉", Face),
    ("まぶた", Face),
    ("両目", Is(Eye)),
    ("目", Is(Eye)),
    ("眼", Is(Eye)),
    ("耳", Is(Ear)),
    ("舌", Is(Tongue)),
    ("歯", Is(Teeth)),
    ("あご", Is(Jaw)),
    ("頭", Is(Head)),
    ("头", Is(Head)),
    ("首", Is(Neck)),
    ("肩", Is(Arm)),
    ("腕", Is(Arm)),
    ("手", Is(Hand)),
    ("足", Is(Leg)),
    ("腿", Is(Leg)),
    ("脚", Is(Foot)),
    ("胸", Is(Flesh)),
    ("乳", Is(Flesh)),
    ("腰", Is(Spine)),
    ("翼", Is(Wing)),
    ("羽", Is(Wing)),
    ("角", Is(Horn)),
    ("剣", Is(Prop)),
    ("盾", Is(Prop)),
    ("帽子", Is(Prop)),
    ("眼鏡", Is(Prop)),
    ("メガネ", Is(Prop)),
    ("左", Left),
    ("右", Right),
];

fn look_up(word: &str) -> Option<Sense> {
    WORDS.iter().find(|(_, words)| words.split_whitespace().any(|known| known == word)).map(|&(sense, _)| sense)
}

/// Which of several roles a name means: worn things before what they are worn on, organs before limbs, limbs before trunk.
fn rank(role: Role) -> usize {
    const ORDER: [Role; 21] = [
        Prop, Cloth, Hair, Teeth, Tongue, Eye, Ear, Horn, Jaw, Flesh, Mechanical, Wing, Fin, Tail, Foot, Hand, Leg,
        Arm, Neck, Head, Spine,
    ];
    ORDER.iter().position(|&known| known == role).unwrap_or(ORDER.len())
}

/// Words of a name, lower case: split at anything that is no letter, between letters and digits, and at capitals.
pub(super) fn words(name: &str) -> Vec<String> {
    let name = name.rsplit([':', '|']).next().unwrap_or(name);
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    for (i, &c) in letters.iter().enumerate() {
        let ends = match previous {
            Some(before) if c.is_alphabetic() && before.is_alphabetic() => {
                let next_is_small = letters.get(i + 1).is_some_and(|next| next.is_lowercase());
                c.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_is_small))
            }
            Some(_) => true,
            None => false,
        };
        if ends && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase().map(plain));
        }
        previous = Some(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Letters without their accents, as far as the words above need it.
fn plain(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ã' => 'a',
        'é' | 'è' | 'ê' => 'e',
        'í' | 'ì' | 'î' => 'i',
        'ó' | 'ò' | 'ô' | 'õ' => 'o',
        'ú' | 'ù' | 'û' => 'u',
        'ç' => 'c',
        'ñ' => 'n',
        _ => c,
    }
}

/// An unknown word as two or more known ones of three letters or more; the empty word is no words.
fn split(word: &str) -> Option<Vec<(Sense, &str)>> {
    if word.is_empty() {
        return Some(Vec::new());
    }
    (3..=word.len()).rev().filter(|&end| word.is_char_boundary(end)).find_map(|end| {
        let sense = look_up(&word[..end])?;
        let mut parts = split(&word[end..])?;
        parts.insert(0, (sense, &word[..end]));
        Some(parts)
    })
}

fn senses(word: &str) -> Vec<(Sense, String)> {
    if let Some(sense) = look_up(word) {
        return vec![(sense, word.to_owned())];
    }
    if !word.is_ascii() {
        let mut rest = word;
        let mut found = Vec::new();
        while let Some(first) = rest.chars().next() {
            let longest = SIGNS.iter().filter(|(sign, _)| rest.starts_with(sign)).max_by_key(|(sign, _)| sign.len());
            match longest {
                Some(&(sign, sense)) => {
                    found.push((sense, sign.to_owned()));
                    rest = &rest[sign.len()..];
                }
                None => rest = &rest[first.len_utf8()..],
            }
        }
        return found;
    }
    if let Some(parts) = split(word) {
        return parts.into_iter().map(|(sense, part)| (sense, part.to_owned())).collect();
    }
    // "lfoot", "rtibia": only limbs are written so, and "rear" is no right ear.
    let glued = match word.as_bytes().first() {
        Some(b'l') => Some((Left, "l")),
        Some(b'r') => Some((Right, "r")),
        _ => None,
    };
    if let Some((side, letter)) = glued {
        let sense = look_up(&word[1..]);
        let of_limb = |role| matches!(role, Arm | Hand | Leg | Foot);
        match sense {
            Some(Is(role) | Part(role, _) | Sided(role, _)) if of_limb(role) => {
                return sense
                    .map(|sense| vec![(side, letter.to_owned()), (sense, word[1..].to_owned())])
                    .unwrap_or_default();
            }
            _ => {}
        }
    }
    Vec::new()
}

/// Reads a name.
pub(super) fn read(name: &str) -> Clue {
    let found: Vec<(Sense, String)> = words(name).iter().flat_map(|word| senses(word)).collect();
    let mut clue = Clue::default();
    for (sense, _) in &found {
        match sense {
            Left => clue.side = Some(Side::Left),
            Right => clue.side = Some(Side::Right),
            Control => clue.control = true,
            _ => {}
        }
    }
    let sided = clue.side.is_some();
    let places = found.iter().any(|(sense, _)| *sense == Place);
    let mut best: Option<(usize, Role, &str)> = None;
    let mut weakest: Option<(Role, &str)> = None;
    for (sense, word) in &found {
        let role = match *sense {
            Is(role) | Part(role, _) => Some((rank(role), role)),
            Face => Some((rank(Eye), Head)),
            Sided(with, without) => {
                let role = if sided || places { with } else { without };
                Some((rank(role), role))
            }
            OnlySided(role) => sided.then_some((rank(role), role)),
            Weak(role) => {
                weakest.get_or_insert((role, word));
                None
            }
            _ => None,
        };
        // A face's word at the eye's rank wins over the eye: the lid of an eye.
        if let Some((rank, role)) = role
            && best.is_none_or(|(other, _, _)| rank < other || (rank == other && *sense == Face))
        {
            best = Some((rank, role, word));
        }
    }
    if let Some((_, role, word)) = best {
        (clue.role, clue.word) = (Some(role), word.to_owned());
    } else if let Some((role, word)) = weakest.filter(|_| sided) {
        (clue.role, clue.word, clue.weak) = (Some(role), word.to_owned(), true);
    } else if let Some((sense, word)) =
        found.iter().find(|(sense, word)| *sense == Root || (*sense == Place && word == "back"))
    {
        (clue.role, clue.word) = (Some(Spine), word.clone());
        clue.weak = *sense == Root;
    }
    clue.segment = found.iter().find_map(|(sense, _)| match *sense {
        Part(role, segment) if Some(role) == clue.role => Some(segment),
        _ => None,
    });
    if clue.segment.is_none() && matches!(clue.role, Some(Arm | Leg)) {
        let has = |wanted: Sense| found.iter().any(|(sense, _)| *sense == wanted);
        if has(Low) || (has(Fore) && clue.role == Some(Arm)) {
            clue.segment = Some(Lower);
        } else if has(Up) {
            clue.segment = Some(Upper);
        }
    }
    // A socket that no thing is hung in.
    if clue.word == "socket" && found.iter().any(|(sense, _)| matches!(sense, Face | Is(Eye | Teeth))) {
        clue.role = Some(Head);
    }
    // "LowerMouth": the head's mouth, its lower half.
    if clue.role == Some(Head) && clue.word == "mouth" && found.iter().any(|(sense, _)| *sense == Low) {
        clue.role = Some(Jaw);
    }
    clue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_at_capitals_digits_and_signs() {
        for (name, expected) in [
            ("mixamorig:LeftUpLeg", "left up leg"),
            ("DEF-upper_arm.L.001", "def upper arm l"),
            ("LThigh", "l thigh"),
            ("lThigh", "l thigh"),
            ("Bip01 L UpperArm", "bip l upper arm"),
            ("HTMLParser", "html parser"),
            ("b_LeftForeArm_010", "b left fore arm"),
            ("Armature|mixamorig:Head", "head"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn names_of_the_usual_rigs_are_read() {
        let cases: &[(&str, Option<Role>)] = &[
            // Mixamo.
            ("mixamorig:Hips", Some(Spine)),
            ("mixamorig:Spine2", Some(Spine)),
            ("mixamorig:LeftShoulder", Some(Arm)),
            ("mixamorig:LeftForeArm", Some(Arm)),
            ("mixamorig:LeftHandThumb1", Some(Hand)),
            ("mixamorig:RightToeBase", Some(Foot)),
            ("mixamorig:LeftEye", Some(Eye)),
            // Rigify.
            ("DEF-spine.006", Some(Spine)),
            ("DEF-forearm.L.001", Some(Arm)),
            ("DEF-f_index.01.R", Some(Hand)),
            ("DEF-thigh.L", Some(Leg)),
            ("DEF-breast.L", Some(Flesh)),
            ("ORG-ear.L.001", Some(Ear)),
            ("DEF-lid.T.L.001", Some(Head)),
            ("DEF-brow.B.R", Some(Head)),
            ("DEF-cheek.T.L", Some(Flesh)),
            ("DEF-teeth.B", Some(Teeth)),
            ("DEF-tongue", Some(Tongue)),
            // VRM and VRoid.
            ("J_Bip_C_UpperChest", Some(Spine)),
            ("J_Bip_L_LowerLeg", Some(Leg)),
            ("J_Sec_Hair1_01", Some(Hair)),
            ("J_Sec_L_Bust1", Some(Flesh)),
            ("J_Sec_R_SkirtBack0_01", Some(Cloth)),
            ("J_Adj_L_FaceEye", Some(Eye)),
            ("leftLittleProximal", Some(Hand)),
            // Unreal.
            ("clavicle_l", Some(Arm)),
            ("thigh_twist_01_l", Some(Leg)),
            ("ball_r", Some(Foot)),
            ("ball", None),
            ("weapon_r", Some(Prop)),
            ("neck_01", Some(Neck)),
            // 3ds Max, CMU, DAZ, Source.
            ("Bip01 L Finger0", Some(Hand)),
            ("Bip01 Pelvis", Some(Spine)),
            ("Bip01 Ponytail1", Some(Hair)),
            ("lhumerus", Some(Arm)),
            ("rtibia", Some(Leg)),
            ("ltoes", Some(Foot)),
            ("LHipJoint", Some(Leg)),
            ("lShldrBend", Some(Arm)),
            ("ValveBiped.Bip01_R_Calf", Some(Leg)),
            // KayKit, Quaternius, Ready Player Me.
            ("handslot.r", Some(Prop)),
            ("wrist.l", Some(Hand)),
            ("BackLowLeg.R", Some(Leg)),
            ("Shoulders", Some(Spine)),
            ("Shoulder.L", Some(Arm)),
            ("BackHip.L", Some(Leg)),
            ("Back", Some(Spine)),
            ("LowerMouth", Some(Jaw)),
            ("HeadTop_End", Some(Head)),
            // Several languages.
            ("Oberarm.L", Some(Arm)),
            ("Kopf", Some(Head)),
            ("brazo_izq", Some(Arm)),
            ("tête", Some(Head)),
            ("左ひじ", Some(Arm)),
            ("右足首", Some(Foot)),
            ("前髪1", Some(Hair)),
            ("スカート_0_1", Some(Cloth)),
            // Meshes.
            ("Knight_Cape", Some(Cloth)),
            ("1H_Sword_Offhand", Some(Prop)),
            ("shoulderpad_l", Some(Prop)),
            ("Eyelashes", Some(Head)),
            ("EyeSocket", Some(Head)),
        ];
        for (name, role) in cases {
            assert_eq!(read(name).role, *role, "{name}");
        }
    }

    #[test]
    fn words_inside_words_do_not_count() {
        for name in [
            "detail", "handle", "rearing", "bearing", "charm", "tearoff", "harmony", "armature", "heading", "shipment",
            "winged2x",
        ] {
            assert_eq!(read(name).role, None, "{name}");
        }
        for (name, role) in [("forearm", Arm), ("whip", Prop), ("rear_leg", Leg), ("earring", Prop), ("ponytail", Hair)]
        {
            assert_eq!(read(name).role, Some(role), "{name}");
        }
        assert_eq!(read("rear").role, None);
    }

    #[test]
    fn sides_and_segments_are_told() {
        for (name, side, segment) in [
            ("mixamorig:LeftUpLeg", Some(Side::Left), Some(Upper)),
            ("FrontLowLeg.R", Some(Side::Right), Some(Lower)),
            ("b_RightForeArm_07", Some(Side::Right), Some(Lower)),
            ("lfemur", Some(Side::Left), Some(Upper)),
            ("calf_r", Some(Side::Right), Some(Lower)),
            ("Spine", None, None),
            ("左腕", Some(Side::Left), None),
        ] {
            let clue = read(name);
            assert_eq!((clue.side, clue.segment), (side, segment), "{name}");
        }
        assert!(read("kneeIK.l").control && read("PoleTarget.L").control && !read("hand.l").control);
    }
}
