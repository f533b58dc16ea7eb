//! Which bone of one file is which of another, by name.
//!
//! Names are compared as they are, then without prefix (`mixamorig:Hips`, `Armature|Hips`, `DEF-Hips`), case and
//! separators, then without the number that programs append (`Hips.001`, `Hips_02`), and last by the part of a human
//! body they are for (`LeftArm` of Mixamo, `upperarm_l` of Unreal, `leftUpperArm` of VRM). A later way is asked only
//! for bones that are still alone, and only where it leaves no choice. Bones between two pairs are pairs too where
//! both sides have as many of them; chains that are numbered from opposite ends are none.

use super::Performer;
use super::rest::Tree;
use std::collections::HashMap;

/// Parts of a human body, as VRM 1.0 names them, and what Mixamo and Unreal call them; `*` is the side.
const PARTS: [(&str, &str, &str); 29] = [
    ("hips", "hips", "pelvis"),
    ("spine", "spine", "spine01"),
    ("chest", "spine1", "spine02"),
    ("upperchest", "spine2", "spine03"),
    ("neck", "neck", "neck01"),
    ("head", "head", "head"),
    ("*shoulder", "*shoulder", "clavicle*"),
    ("*upperarm", "*arm", "upperarm*"),
    ("*lowerarm", "*forearm", "lowerarm*"),
    ("*hand", "*hand", "hand*"),
    ("*upperleg", "*upleg", "thigh*"),
    ("*lowerleg", "*leg", "calf*"),
    ("*foot", "*foot", "foot*"),
    ("*toes", "*toebase", "ball*"),
    ("*thumbmetacarpal", "*handthumb1", "thumb01*"),
    ("*thumbproximal", "*handthumb2", "thumb02*"),
    ("*thumbdistal", "*handthumb3", "thumb03*"),
    ("*indexproximal", "*handindex1", "index01*"),
    ("*indexintermediate", "*handindex2", "index02*"),
    ("*indexdistal", "*handindex3", "index03*"),
    ("*middleproximal", "*handmiddle1", "middle01*"),
    ("*middleintermediate", "*handmiddle2", "middle02*"),
    ("*middledistal", "*handmiddle3", "middle03*"),
    ("*ringproximal", "*handring1", "ring01*"),
    ("*ringintermediate", "*handring2", "ring02*"),
    ("*ringdistal", "*handring3", "ring03*"),
    ("*littleproximal", "*handpinky1", "pinky01*"),
    ("*littleintermediate", "*handpinky2", "pinky02*"),
    ("*littledistal", "*handpinky3", "pinky03*"),
];

/// What programs put before the names of bones, with a separator after it.
const PREFIXES: [&str; 8] = ["skeleton", "armature", "rig", "bip01", "bip001", "cc_base", "def", "org"];

/// A name without prefix, case and separators.
pub(super) fn bare(name: &str) -> String {
    let name = name.rsplit([':', '|']).next().unwrap_or(name).to_lowercase();
    let after = |prefix: &&str| name.strip_prefix(prefix)?.strip_prefix(['_', '-', '.', ' ']);
    let name = PREFIXES.iter().find_map(after).unwrap_or(&name);
    let name: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    let without = name.strip_prefix("mixamorig").map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    without.filter(|rest| !rest.is_empty()).map_or(name.clone(), str::to_owned)
}

/// A name without the number at its end.
fn unnumbered(name: &str) -> &str {
    let digits = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = digits.strip_suffix(['.', '_']).filter(|stem| digits.len() < name.len() && !stem.is_empty());
    stem.unwrap_or(name)
}

/// The part of a human body that a bone of this name is for, as VRM names it.
fn part(name: &str) -> Option<String> {
    let name = bare(name);
    PARTS.iter().find_map(|(part, mixamo, unreal)| {
        [("left", "l"), ("right", "r")].iter().find_map(|(long, short)| {
            let is_it = name == part.replace('*', long)
                || name == mixamo.replace('*', long)
                || name == unreal.replace('*', short);
            is_it.then(|| part.replace('*', long))
        })
    })
}

/// Pairs of nodes, source and target, ascending by target. Of the source those in `moving` count before others.
pub(super) fn pairs(source: &Performer<'_>, moving: &[bool], target: &Performer<'_>) -> Vec<(usize, usize)> {
    let roles = |performer: &Performer<'_>| -> Vec<Option<String>> {
        let mut roles: Vec<_> = performer.raw.bones.iter().map(|bone| part(&bone.name)).collect();
        for (node, role) in performer.roles {
            if let Some(slot) = roles.get_mut(*node) {
                *slot = Some(bare(role));
            }
        }
        roles
    };
    type Key = fn(&str) -> String;
    const UNNUMBERED: usize = 2;
    let by_name: [Key; 3] = [str::to_owned, bare, |name| bare(unnumbered(name))];
    let joints = |performer: &Performer<'_>| {
        let mut is_joint = vec![false; performer.raw.bones.len()];
        for joint in performer.raw.skins.iter().flat_map(|skin| &skin.joints) {
            if let Some(is_joint) = is_joint.get_mut(joint.bone) {
                *is_joint = true;
            }
        }
        is_joint
    };
    let (source_first, target_first) = (moving.to_vec(), joints(target));
    let mut of_source: Vec<Option<usize>> = vec![None; source.raw.bones.len()];
    let mut of_target: Vec<Option<usize>> = vec![None; target.raw.bones.len()];
    for way in 0..=by_name.len() {
        let sole = |performer: &Performer<'_>, taken: &[Option<usize>], first: &[bool]| {
            let keys: Vec<Option<String>> = match by_name.get(way) {
                Some(key) => performer.raw.bones.iter().map(|bone| Some(key(&bone.name))).collect(),
                None => roles(performer),
            };
            let mut found: HashMap<String, Vec<usize>> = HashMap::new();
            // Without its number a name is one only if no other bone differs by number alone, taken or not.
            let counts = |node: usize| taken[node].is_none() || way == UNNUMBERED;
            for (node, key) in keys.into_iter().enumerate().filter(|(node, _)| counts(*node)) {
                if let Some(key) = key.filter(|key| !key.is_empty()) {
                    found.entry(key).or_default().push(node);
                }
            }
            for nodes in found.values_mut() {
                if nodes.iter().any(|&node| first[node]) {
                    nodes.retain(|&node| first[node]);
                }
            }
            found.retain(|_, nodes| nodes.len() == 1 && taken[nodes[0]].is_none());
            found
        };
        let in_source = sole(source, &of_source, &source_first);
        let in_target = sole(target, &of_target, &target_first);
        for (key, nodes) in &in_target {
            if let Some(partner) = in_source.get(key) {
                of_target[nodes[0]] = Some(partner[0]);
                of_source[partner[0]] = Some(nodes[0]);
            }
        }
    }
    let lines = (Lines::of(source), Lines::of(target));
    drop_reversed(&lines, &mut of_source, &mut of_target);
    fill_between(&lines, &mut of_source, &mut of_target);
    let pair = |(target, source): (usize, &Option<usize>)| source.map(|source| (source, target));
    of_target.iter().enumerate().filter_map(pair).collect()
}

/// Who descends from whom.
struct Lines {
    /// Parents before children.
    order: Vec<usize>,
    parent: Vec<Option<usize>>,
    /// Numbers of a node and of all below it are those from the first to before the second.
    span: Vec<(usize, usize)>,
}

impl Lines {
    fn of(performer: &Performer<'_>) -> Self {
        let Tree { order, parent, .. } = Tree::new(performer.raw);
        let mut size = vec![1; parent.len()];
        for &node in order.iter().rev() {
            parent[node].iter().for_each(|&above| size[above] += size[node]);
        }
        let mut span = vec![(0, 0); parent.len()];
        let (mut next, mut top) = (vec![0; parent.len()], 0);
        for &node in &order {
            let place = parent[node].map_or(&mut top, |above| &mut next[above]);
            span[node] = (*place, *place + size[node]);
            *place += size[node];
            next[node] = span[node].0 + 1;
        }
        Self { order, parent, span }
    }

    fn descends(&self, node: usize, from: usize) -> bool {
        let ((at, _), (first, end)) = (self.span[node], self.span[from]);
        first < at && at < end
    }

    /// The next node above that is among `chosen`.
    fn nearest(&self, chosen: &[Option<usize>]) -> Vec<Option<usize>> {
        let mut nearest = vec![None; self.parent.len()];
        for &node in &self.order {
            let above = self.parent[node];
            nearest[node] = above.and_then(|above| if chosen[above].is_some() { Some(above) } else { nearest[above] });
        }
        nearest
    }
}

/// Chains that are numbered from the other end agree in names and not in place: neither of two such bones is a pair.
fn drop_reversed((source, target): &(Lines, Lines), of_source: &mut [Option<usize>], of_target: &mut [Option<usize>]) {
    loop {
        let nearest = target.nearest(of_target);
        let reversed = |&node: &usize| {
            let (mine, above) = (of_target[node]?, nearest[node]?);
            source.descends(of_target[above]?, mine).then_some([node, above])
        };
        let wrong: Vec<usize> = target.order.iter().filter_map(reversed).flatten().collect();
        if wrong.is_empty() {
            return;
        }
        for node in wrong {
            of_target[node].take().into_iter().for_each(|partner| of_source[partner] = None);
        }
    }
}

/// Bones without a partner between two pairs are pairs where both sides have as many of them.
fn fill_between((source, target): &(Lines, Lines), of_source: &mut [Option<usize>], of_target: &mut [Option<usize>]) {
    let (above_source, above_target) = (source.nearest(of_source), target.nearest(of_target));
    let between = |lines: &Lines, node: usize, above: usize| -> Vec<usize> {
        std::iter::successors(lines.parent[node], |&node| lines.parent[node])
            .take_while(|&node| node != above)
            .collect()
    };
    for &node in &target.order {
        let Some(partner) = of_target[node] else { continue };
        let (Some(above), Some(above_partner)) = (above_target[node], above_source[partner]) else { continue };
        if of_target[above] != Some(above_partner) {
            continue;
        }
        let (here, there) = (between(target, node, above), between(source, partner, above_partner));
        let is_free = here.iter().all(|&n| of_target[n].is_none()) && there.iter().all(|&n| of_source[n].is_none());
        if here.len() == there.len() && is_free {
            for (&target, &source) in here.iter().zip(&there) {
                (of_target[target], of_source[source]) = (Some(source), Some(target));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_numbers_and_parts() {
        for name in [
            "mixamorig:LeftArm",
            "mixamorig1:LeftArm",
            "mixamorigLeftArm",
            "Armature|Left_Arm",
            "left arm",
            "Skeleton_LeftArm",
        ] {
            assert_eq!(bare(name), "leftarm");
        }
        assert_eq!(bare("mixamorig"), "mixamorig");
        assert_eq!(bare(unnumbered("Hips.001")), "hips");
        assert_eq!(bare(unnumbered("b_Hip_01")), "bhip");
        assert_eq!(unnumbered("Spine2"), "Spine2");
        assert_eq!(unnumbered("001"), "001");
        for name in ["mixamorig:RightUpLeg", "thigh_r", "rightUpperLeg"] {
            assert_eq!(part(name).as_deref(), Some("rightupperleg"), "{name}");
        }
        assert_eq!(part("tail"), None);
    }
}
