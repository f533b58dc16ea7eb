//! What bones are by shape alone: pairs that reach the ground are legs, the chain of middle bones between them and its
//! far end is the spine with the head, a middle chain that leaves the other way is a tail.
//!
//! Nothing is said of a body without a pair of legs: a tube, a snake and a crane look alike.

use super::body::Body;
use super::role::{Role, Segment};

/// What the shape says of a bone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guess {
    pub role: Role,
    pub segment: Option<Segment>,
    pub confidence: f64,
    pub reason: &'static str,
    /// Of an arm: it ends clearly above the ground.
    pub raised: bool,
}

/// How far above the ground a foot may end, in heights.
const NEAR_GROUND: f64 = 0.08;
/// How high a leg begins at least, in heights.
const LEG_HEIGHT: f64 = 0.15;
/// How far an arm reaches at least, in heights.
const ARM_REACH: f64 = 0.2;

struct Limb {
    root: usize,
    bones: Vec<usize>,
    /// The middle bone it hangs on.
    base: usize,
    lowest: f64,
    reach: f64,
}

/// Guesses per bone of the rig.
pub(super) fn guesses(body: &Body) -> Vec<Option<Guess>> {
    let mut found: Vec<Option<Guess>> = vec![None; body.joints.len()];
    if !body.axes.symmetric {
        return found;
    }
    let limbs = limbs(body);
    let (legs, others): (Vec<Limb>, Vec<Limb>) = limbs.into_iter().partition(|limb| is_leg(body, limb));
    if legs.len() < 2 {
        return found;
    }
    for limb in &legs {
        leg(body, limb, &mut found);
    }
    let trunk = Trunk::new(body, &legs, &others);
    for &bone in &trunk.spine {
        found[bone] = guess(Role::Spine, 0.6, "in the middle, between the limbs");
    }
    if let Some((head, neck)) = trunk.head.split_last() {
        for &bone in neck {
            found[bone] = guess(Role::Neck, 0.45, "in the middle, between the foremost limbs and the end of the chain");
        }
        found[*head] = guess(Role::Head, 0.55, "the end of the middle chain, away from the hind legs");
    }
    for tail in &trunk.tails {
        for &bone in tail {
            found[bone] = guess(Role::Tail, 0.5, "a middle chain that leaves behind the hind legs");
        }
    }
    for limb in &others {
        let on_head = trunk.head.last().is_some_and(|&head| limb.base == head);
        if on_head {
            ear(body, limb, &mut found);
        } else if limb.reach >= ARM_REACH && limb.bones.len() >= 2 && trunk.spine.contains(&limb.base) {
            arm(body, limb, &mut found);
        }
    }
    found
}

fn guess(role: Role, confidence: f64, reason: &'static str) -> Option<Guess> {
    Some(Guess { role, segment: None, confidence, reason, raised: false })
}

/// Bones of pairs that hang on middle bones, with all they carry.
fn limbs(body: &Body) -> Vec<Limb> {
    let paired = |bone: usize| body.partner[bone].is_some();
    let roots = body.skinned.iter().copied().filter(|&bone| paired(bone));
    let hung = roots.filter_map(|root| {
        let base = body.carrier[root].filter(|&base| !paired(base))?;
        let bones = body.subtree(root);
        let lowest = bones.iter().map(|&bone| body.heights[bone][0]).fold(f64::INFINITY, f64::min);
        let farthest = bones.iter().flat_map(|&bone| [body.joints[bone], body.centre[bone]]);
        let reach = farthest.map(|p| p.distance(body.joints[root])).fold(0.0, f64::max) / body.height;
        Some(Limb { root, bones, base, lowest: (lowest - body.ground) / body.height, reach })
    });
    hung.collect()
}

fn is_leg(body: &Body, limb: &Limb) -> bool {
    limb.lowest <= NEAR_GROUND && body.level(body.joints[limb.root]) >= LEG_HEIGHT
}

/// From the root to the bone that carries no other of the limb, by the longest way.
fn longest_chain(body: &Body, root: usize) -> Vec<usize> {
    let mut chain = vec![root];
    let mut bone = root;
    loop {
        let depth = |bone: usize| body.subtree(bone).len();
        let next = body.children[bone].iter().copied().reduce(|a, b| if depth(b) > depth(a) { b } else { a });
        match next {
            Some(next) => {
                chain.push(next);
                bone = next;
            }
            None => return chain,
        }
    }
}

fn leg(body: &Body, limb: &Limb, found: &mut [Option<Guess>]) {
    let start = body.level(body.joints[limb.root]);
    // A leg bends once at least above the foot, and the foot is in its lowest fifth.
    let is_foot = |bone: usize| {
        let level = body.level(body.joints[bone]);
        bone != limb.root
            && level <= 0.25 * start
            && (body.heights[bone][0] - body.ground) / body.height <= NEAR_GROUND.max(0.1 * start)
    };
    let chain = longest_chain(body, limb.root);
    let above: Vec<usize> = chain.iter().copied().filter(|&bone| !is_foot(bone)).collect();
    for &bone in &limb.bones {
        let foot = is_foot(bone) || body.carrier[bone].is_some_and(|c| found[c].is_some_and(|g| g.role == Role::Foot));
        let mut guessed = if foot {
            guess(Role::Foot, 0.6, "the end of a leg, on the ground")
        } else {
            guess(Role::Leg, 0.65, "one of a pair that reaches the ground")
        };
        if let Some(guessed) = guessed.as_mut().filter(|guessed| guessed.role == Role::Leg)
            && above.len() >= 2
        {
            guessed.segment = match above.iter().position(|&b| b == bone) {
                Some(place) if place + 1 == above.len() => Some(Segment::Lower),
                Some(place) if place + 2 == above.len() => Some(Segment::Upper),
                _ => None,
            };
        }
        found[bone] = guessed;
    }
}

fn arm(body: &Body, limb: &Limb, found: &mut [Option<Guess>]) {
    let chain = longest_chain(body, limb.root);
    // The palm is where the fingers part; without fingers the end of three bones or more is the hand. Fingers that begin a
    // long way down the bone that carries them hang on the forearm.
    let parts = (1..chain.len()).find(|&place| {
        let fingers = body.children[chain[place]].len();
        fingers >= 3 || (fingers >= 2 && place >= 2)
    });
    let on_forearm = parts.is_some_and(|place| {
        let joint = body.joints[chain[place]];
        let fingers = &body.children[chain[place]];
        let to_fingers =
            fingers.iter().map(|&child| body.joints[child].distance(joint)).sum::<f64>() / fingers.len() as f64;
        to_fingers > 0.6 * joint.distance(body.joints[chain[place - 1]])
    });
    let hand = parts.map(|place| place + usize::from(on_forearm)).or((chain.len() >= 3).then_some(chain.len() - 1));
    let hands: Vec<usize> = match (hand, parts) {
        (Some(_), Some(place)) if on_forearm => {
            body.children[chain[place]].iter().flat_map(|&child| body.subtree(child)).collect()
        }
        (Some(place), _) => body.subtree(chain[place]),
        (None, _) => Vec::new(),
    };
    let above = &chain[..hand.unwrap_or(chain.len()).min(chain.len())];
    for &bone in &limb.bones {
        found[bone] = if hands.contains(&bone) {
            let fingers = parts.is_some();
            let reason = if fingers { "beyond where the fingers of an arm part" } else { "the end of an arm" };
            guess(Role::Hand, if fingers { 0.55 } else { 0.45 }, reason)
        } else {
            let segment = match above.iter().position(|&b| b == bone) {
                Some(place) if place + 1 == above.len() && above.len() >= 2 => Some(Segment::Lower),
                Some(place) if place + 2 == above.len() => Some(Segment::Upper),
                _ => None,
            };
            let reason = "one of a pair on the trunk that does not reach the ground";
            Some(Guess { role: Role::Arm, segment, confidence: 0.55, reason, raised: false })
        };
        if let Some(guess) = &mut found[bone] {
            guess.raised = limb.lowest > 2.0 * NEAR_GROUND;
        }
    }
}

/// A pair on the head that stands out upwards or sideways and is sewn to it.
fn ear(body: &Body, limb: &Limb, found: &mut [Option<Guess>]) {
    let head = limb.base;
    let sewn = body.seam[limb.root] > 0.3;
    let small = limb.bones.iter().map(|&bone| body.area[bone]).sum::<f64>() < 0.5 * body.area[head];
    let rises = limb.bones.iter().any(|&bone| body.heights[bone][1] >= body.heights[head][1]);
    if sewn && small && rises {
        for &bone in &limb.bones {
            found[bone] = guess(Role::Ear, 0.35, "one of a small pair that rises above the head");
        }
    }
}

/// The middle bones, sorted out.
struct Trunk {
    spine: Vec<usize>,
    /// Neck bones and the head, outwards.
    head: Vec<usize>,
    tails: Vec<Vec<usize>>,
}

impl Trunk {
    fn new(body: &Body, legs: &[Limb], others: &[Limb]) -> Self {
        let paired = |bone: usize| body.partner[bone].is_some();
        let middle: Vec<usize> = body.skinned.iter().copied().filter(|&bone| !paired(bone)).collect();
        // Hind legs: those farthest from the mean of everything else that hangs on the trunk, else the only ones.
        let top = |bone: usize| std::iter::successors(Some(bone), |&b| body.carrier[b]).last().unwrap_or(bone);
        let way = |bone: usize| -> Vec<usize> { std::iter::successors(Some(bone), |&b| body.carrier[b]).collect() };
        // Ends of the middle tree: bones that carry no middle bone.
        let carries_middle = |bone: usize| body.children[bone].iter().any(|&child| !paired(child));
        let ends: Vec<usize> = middle.iter().copied().filter(|&bone| !carries_middle(bone)).collect();
        let mean = |limbs: &[&Limb]| {
            let sum: glam::DVec3 = limbs.iter().map(|limb| body.joints[limb.root]).sum();
            (!limbs.is_empty()).then(|| sum / limbs.len() as f64)
        };
        // Legs in two groups along the trunk: an animal on four; the group on the head's side is in front.
        let along = |limb: &Limb| body.joints[limb.root].dot(body.axes.forward);
        let (least, most) =
            legs.iter().map(along).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        let four = most - least > 0.5 * body.height.min(body.size * 0.5);
        let split = 0.5 * (least + most);
        let arms: Vec<&Limb> = others.iter().filter(|limb| limb.reach >= ARM_REACH && limb.bones.len() >= 2).collect();
        let (rear, front): (Vec<&Limb>, Vec<&Limb>) =
            if four { legs.iter().partition(|limb| along(limb) < split) } else { (legs.iter().collect(), arms) };
        let (hind, fore) = (mean(&rear), mean(&front));
        // The head's end: farthest beyond the fore limbs, seen from the hind ones; the highest without fore limbs.
        let ahead = |bone: usize| {
            let place = body.centre[bone];
            match (hind, fore) {
                (Some(hind), Some(fore)) => {
                    (place - hind).dot((fore - hind).normalize_or_zero()) + 0.5 * place.dot(body.axes.up)
                }
                _ => place.dot(body.axes.up),
            }
        };
        let heavy = |bone: usize| body.area[bone] >= 0.01 * body.area.iter().sum::<f64>();
        let candidates = ends.iter().copied().filter(|&bone| heavy(bone));
        let head_end = candidates.reduce(|a, b| if ahead(b) > ahead(a) { b } else { a });
        let mut spine: Vec<usize> = Vec::new();
        let bases = rear.iter().chain(&front).map(|limb| limb.base);
        for base in bases {
            spine.extend(way(base).into_iter().filter(|&bone| !paired(bone)));
        }
        let mut head = Vec::new();
        if let Some(end) = head_end {
            let chain: Vec<usize> = way(end).into_iter().filter(|&bone| !paired(bone)).collect();
            let begins = chain.iter().position(|bone| spine.contains(bone)).unwrap_or(chain.len());
            // A head that carries a limb itself is a body without a head of its own.
            head = chain[..begins].iter().rev().copied().collect();
            spine.extend_from_slice(&chain[begins..]);
        }
        // Without fore limbs nothing tells where the neck begins: all but the end is spine.
        if fore.is_none() && head.len() > 1 {
            let rest = head.split_off(head.len() - 1);
            spine.append(&mut head);
            head = rest;
        }
        // On four legs the shoulders may be joints of one body bone: two bones before the head are the neck at most.
        if head.len() > 1 && !four {
            let keep = head.len().min(3);
            let rest = head.split_off(head.len() - keep);
            spine.append(&mut head);
            head = rest;
        }
        spine.sort_unstable();
        spine.dedup();
        let tails = Self::tails(body, &ends, &spine, &head, hind, fore, &way);
        let root = top(middle.first().copied().unwrap_or(0));
        if !paired(root)
            && !spine.contains(&root)
            && !head.contains(&root)
            && body.area.get(root).is_some_and(|&a| a > 0.0)
        {
            spine.push(root);
        }
        Self { spine, head, tails }
    }

    /// Chains of two middle bones or more, sewn to the body, that end behind the hind legs and grow thinner.
    fn tails(
        body: &Body,
        ends: &[usize],
        spine: &[usize],
        head: &[usize],
        hind: Option<glam::DVec3>,
        fore: Option<glam::DVec3>,
        way: &dyn Fn(usize) -> Vec<usize>,
    ) -> Vec<Vec<usize>> {
        let Some(hind) = hind else { return Vec::new() };
        let back = match fore {
            Some(fore) if (fore - hind).dot(body.axes.up).abs() < 0.7 * (fore - hind).length() => {
                (hind - fore).normalize_or_zero()
            }
            _ => -body.axes.forward,
        };
        let mut tails: Vec<Vec<usize>> = Vec::new();
        for &end in ends {
            let chain: Vec<usize> =
                way(end).into_iter().take_while(|bone| !spine.contains(bone) && !head.contains(bone)).collect();
            let behind = (body.centre[end] - hind).dot(back);
            let sewn = chain.last().is_some_and(|&first| body.sewn[first]);
            // The rump that a tail grows from is none: its joint lies between the legs, or its skin reaches ahead of them.
            let outside = |bone: &usize| {
                let [rear, front] = body.depths[*bone].map(|depth| depth - hind.dot(body.axes.forward));
                let skin = if back.dot(body.axes.forward) < 0.0 { -front } else { rear };
                (body.joints[*bone] - hind).dot(back) > 0.02 * body.size && skin > 0.0
            };
            let tail: Vec<usize> = chain.iter().copied().take_while(outside).collect();
            if tail.len() >= 2 && behind > 0.1 * body.height && sewn {
                tails.push(tail);
            }
        }
        tails
    }
}
