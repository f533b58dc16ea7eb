//! What effects do to a character, against the same frame without them: everything an eye takes offence at, as figures.
//!
//! | module | what it measures |
//! |---|---|
//! | `strain` | edges that get longer or shorter |
//! | `gaps` | pieces of skin that part |
//! | `distortion` | pieces on one bone that bend |
//! | `footing` | planted feet that slip, skin below the ground |
//! | `tremble` | shaking, and steps in time |
//! | `crossings` | skin through skin |
//! | `thickness` | limbs pressed flat |
//!
//! What a figure may be is in `limits`.

use crate::crossings::{self, Boxes, Crossed, Deepest};
use crate::distortion::{self, WorstDistortion};
use crate::footing::{self, Contact, Lowest};
use crate::gaps::{Fitted, Gaps, WorstGap};
use crate::groups::{GroupKind, Grouping, Groups, quantile};
use crate::location::{Extreme, Location, Worst, place};
use crate::positions::{Positions, Subject, workspace};
use crate::shape::{NONE, Piece, Shape, u32_of};
use crate::strain::{self, Strains};
use crate::thickness::{self, Caliper, Thinnest};
use crate::tree::Tree;
use crate::tremble::{self, Energy, RATE};
use glam::DVec3;
use rayon::prelude::*;
use sinew::anatomy::Anatomy;
use sinew::{MotionReport, Playing, Rig, Workspace};

/// Frames of a clip at which crossings are looked for, at most.
const CROSSING_FRAMES: usize = 16;
/// Share of the size: what goes in or parts by less is left aside at a glance, well within what gates let
/// through.
const UNNOTICED: f64 = 0.004;
/// Points of a bone whose trembling is looked at, at most.
const TREMBLING_POINTS: usize = 8;
/// Share of a piece's size: less is not seen to bend.
const UNSEEN_BEND: f64 = 1e-3;
/// Share of the size: what shakes by less is not seen to.
const UNSEEN_TREMBLE: f64 = 2e-4;
/// Frames by which visible strength is told: those beyond are moments.
pub(crate) const STRENGTH: f64 = 0.95;
/// Seconds at 120 Hz: longer clips are looked at up to here for trembling, so that memory stays bounded.
const LONGEST_TREMBLE: f64 = 20.0;

/// What the caller knows of a character and a clip. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Parts to tell figures by, beside meshes and bones.
    pub groups: Option<Groups>,
    /// Pieces that must stay rigid, as [`Checker::pieces`](crate::Checker::pieces) numbers them.
    pub rigid: Vec<usize>,
    /// When bones stand on the ground; found from the base's motion where it is `None`.
    pub contacts: Option<Vec<Contact>>,
}

/// Everything measured of one clip against its base. Lengths are shares of the size.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Figures by group: characters first, then meshes, bones, and the caller's.
    pub groups: Vec<GroupFigures>,
    /// Gaps between pieces that touch at rest, widest first.
    pub gaps: Vec<Gap>,
    /// Pieces on one bone that are bent by more than a thousandth of their size, worst first.
    pub distortions: Vec<Distortion>,
    /// What stands on the ground, worst slip first.
    pub slips: Vec<Slip>,
    /// How far skin goes below the ground; `None` where nothing does, or the base stands on none.
    pub below_ground: Option<Extreme>,
    /// Skin through skin.
    pub crossings: Crossings,
    /// The least a thickness is of that in the base.
    pub thinnest: Option<Extreme>,
    /// The largest step in time that effects add.
    pub jolt: Option<Extreme>,
}

/// Figures of a part of a character.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupFigures {
    /// What it is.
    pub kind: GroupKind,
    /// Its name.
    pub name: String,
    /// 99.9th percentile of edge strain.
    pub strain: f64,
    /// The edge most strained; `None` where there is none to tell.
    pub worst_edge: Option<StrainedEdge>,
    /// Visible strength: 95th percentile over frames of the farthest that effects move a point.
    pub strength: f64,
    /// The part's own motion: the same of how far a point of the base is from where it was in the first frame, the
    /// character's travel taken off.
    pub motion: f64,
    /// Share of the energy of what is added that is faster than 8 Hz; 0 where it is too small to be seen.
    pub tremble: f64,
    /// The same of the base's own motion.
    pub base_tremble: f64,
}

/// An edge and its strain.
#[derive(Clone, Debug, PartialEq)]
pub struct StrainedEdge {
    /// max(r, 1/r) of its length with effects over that without.
    pub strain: f64,
    /// Whether it is longer with effects.
    pub is_longer: bool,
    /// One end.
    pub place: Location,
    /// The vertex at the other end.
    pub other: Location,
}

/// A gap between two pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// How much wider than in the base.
    pub gap: Extreme,
    /// The two pieces.
    pub pieces: [usize; 2],
}

/// A piece that effects bend.
#[derive(Clone, Debug, PartialEq)]
pub struct Distortion {
    /// The piece.
    pub piece: usize,
    /// Share of the piece's own size, and where.
    pub residual: Extreme,
    /// Whether the caller says it must be rigid.
    pub is_rigid: bool,
}

/// What a bone that stands on the ground does.
#[derive(Clone, Debug, PartialEq)]
pub struct Slip {
    /// Name of the bone.
    pub bone: String,
    /// From when, in seconds.
    pub from: f64,
    /// Until when.
    pub to: f64,
    /// How far the base slips.
    pub base: f64,
    /// How far it slips with effects.
    pub effects: f64,
    /// When it is farthest.
    pub time: f64,
}

/// Skin through skin, over all frames looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crossings {
    /// Frames looked at.
    pub frames: usize,
    /// Pairs of triangles of one piece that cross in the base.
    pub base_within: usize,
    /// Pairs that cross by effects alone.
    pub within: usize,
    /// Of the frame with most of those, where the two are that effects move most against each other.
    pub worst: Option<Location>,
    /// The other one.
    pub worst_other: Option<Location>,
    /// Pairs of two pieces that cross in the base.
    pub base_between: usize,
    /// Pairs that cross by effects alone.
    pub between: usize,
    /// The farthest that effects push a point of one piece into another, and the piece it is in.
    pub deepest: Option<(Extreme, usize)>,
    /// Where that piece is next to it.
    pub deepest_other: Option<Location>,
}

/// What comparisons need of a rig's shape alone.
pub(crate) struct Skin {
    pub shape: Shape,
    trees: Vec<Tree>,
    gaps: Gaps,
    calipers: Vec<Caliper>,
    /// None where too many triangles lie at one place to be looked at.
    crossing_at_rest: Option<[crossings::Pairs; 2]>,
    /// Per bone: whether what hangs on it is soft. That lies on the ground at times, and does not stand on it.
    is_soft: Vec<bool>,
}

impl Skin {
    /// `rest` are the vertices at the nodes' default transforms.
    pub fn new(rig: &Rig, rest: &[DVec3]) -> Self {
        let shape = Shape::new(rig, rest);
        let trees = crossings::trees(&shape);
        let gaps = Gaps::new(&shape, &trees);
        let calipers = thickness::calipers(&shape, &trees);
        let crossing_at_rest = crossings::all(&shape, &trees, &shape.rest, &mut Boxes::default(), |_, _| true);
        let is_soft = soft_bones(rig, &shape);
        Self { shape, trees, gaps, calipers, crossing_at_rest, is_soft }
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.shape.pieces
    }

    /// Whether too many triangles lie at one place for crossings and gaps to be looked for.
    pub fn is_crowded(&self) -> bool {
        self.crossing_at_rest.is_none()
    }

    /// Pieces all of whose points are among these slots, which ascend.
    pub fn pieces_within(&self, slots: &[usize]) -> Vec<usize> {
        let is_within = |&point: &u32| slots.binary_search(&(self.shape.slot[point as usize] as usize)).is_ok();
        let members = self.shape.members.iter().enumerate();
        members.filter(|(_, points)| points.iter().all(is_within)).map(|(piece, _)| piece).collect()
    }
}

/// Per bone: whether most of its skin is soft.
fn soft_bones(rig: &Rig, shape: &Shape) -> Vec<bool> {
    let anatomy = Anatomy::of(rig);
    let mut balance = vec![0i64; rig.skeleton().len()];
    for (point, &bone) in shape.bone.iter().enumerate().filter(|(_, bone)| **bone != NONE) {
        balance[bone as usize] += if anatomy.role_of_point(shape.slot[point] as usize).is_soft() { 1 } else { -1 };
    }
    balance.into_iter().map(|balance| balance > 0).collect()
}

/// What a clip is compared by, whatever is added to it.
pub(crate) struct Bearings {
    groups: Grouping,
    /// The base at the first frame, about the middle of its character.
    first: Vec<DVec3>,
    character_of_bone: Vec<usize>,
}

/// A clip being compared.
#[derive(Clone, Copy)]
pub(crate) struct Comparing<'a> {
    pub skin: &'a Skin,
    subject: &'a Subject,
    pub groups: &'a Grouping,
    first: &'a [DVec3],
    character_of_bone: &'a [usize],
}

/// Memory for a frame.
#[derive(Default)]
pub(crate) struct Memory {
    base: Vec<DVec3>,
    effects: Vec<DVec3>,
    fitted: [Fitted; 2],
}

impl Memory {
    /// The frame that was looked at last: without effects, and with them.
    pub fn frame(&self) -> [&[DVec3]; 2] {
        [&self.base, &self.effects]
    }

    /// Takes a frame as it was evaluated.
    pub fn read(&mut self, shape: &Shape, workspace: &Workspace) {
        shape.read(workspace.base(), &mut self.base);
        shape.read(workspace.mesh(), &mut self.effects);
    }
}

/// Values at ascending places, with what lies evenly between them.
fn finer(values: impl Iterator<Item = f64>, places: &[usize]) -> Vec<f64> {
    let mut finer: Vec<f64> = Vec::new();
    for (value, &place) in values.zip(places) {
        if let Some(&before) = finer.last() {
            let steps = place - (finer.len() - 1);
            finer.extend((1..steps).map(|n| before + (value - before) * n as f64 / steps as f64));
        }
        finer.push(value);
    }
    finer
}

/// What is asked of single frames.
pub(crate) struct Single {
    pub slips: Vec<Slip>,
    pub crossings: Crossings,
    /// Energies of every group, added and of the base, and the largest jolt, where they are asked for.
    pub trembling: Option<(Vec<[Energy; 2]>, Worst)>,
}

/// The frames at which crossings are looked for: evenly over the clip, in the middle of each share of it.
pub(crate) fn crossing_frames(frames: usize) -> impl Iterator<Item = usize> {
    let count = frames.min(CROSSING_FRAMES);
    (0..count).map(move |n| (2 * n + 1) * frames / (2 * count))
}

/// What a run of frames showed.
pub(crate) struct Compared {
    pub strains: Vec<Strains>,
    pub gaps: Vec<WorstGap>,
    pub distortions: Vec<WorstDistortion>,
    pub thinnest: Thinnest,
    /// Per frame, per group: largest displacement and largest motion.
    pub reach: Vec<Vec<[f64; 2]>>,
    lowest: Vec<Vec<Option<Lowest>>>,
    /// Per character: the lowest of the base, and with effects (height, point, time).
    pub ground: Vec<f64>,
    pub sunk: Vec<(f64, u32, f64)>,
}

impl Compared {
    pub fn join(&mut self, later: &Self) {
        self.strains.iter_mut().zip(&later.strains).for_each(|(a, b)| a.join(b));
        self.gaps.iter_mut().zip(&later.gaps).for_each(|(a, &b)| a.join(b));
        self.distortions.iter_mut().zip(&later.distortions).for_each(|(a, &b)| a.join(b));
        self.thinnest.join(later.thinnest);
        self.reach.extend_from_slice(&later.reach);
        self.lowest.extend_from_slice(&later.lowest);
        self.ground.iter_mut().zip(&later.ground).for_each(|(a, b)| *a = a.min(*b));
        self.sunk.iter_mut().zip(&later.sunk).for_each(|(a, &b)| {
            if b.0 < a.0 {
                *a = b;
            }
        });
    }
}

impl Bearings {
    /// `first` is the base at the clip's first frame, point by point.
    pub fn new(skin: &Skin, subject: &Subject, groups: Grouping, first: &[DVec3]) -> Self {
        let rig = subject.rig();
        let character_of_bone = rig.skeleton().bones().map(|bone| rig.character_of_bone(bone)).collect();
        let middles = middles(&skin.shape, first);
        let about = |(&p, &character): (&DVec3, &u32)| p - middles[character as usize];
        Self { groups, first: first.iter().zip(&skin.shape.character).map(about).collect(), character_of_bone }
    }

    /// The clip to be compared, with what is added to it now.
    pub fn of<'a>(&'a self, skin: &'a Skin, subject: &'a Subject) -> Comparing<'a> {
        let Self { groups, first, character_of_bone } = self;
        Comparing { skin, subject, groups, first, character_of_bone }
    }
}

/// The middle of each character.
fn middles(shape: &Shape, points: &[DVec3]) -> Vec<DVec3> {
    let mut sums = vec![(DVec3::ZERO, 0.0); shape.sizes.len()];
    for (&point, &character) in points.iter().zip(&shape.character) {
        let sum = &mut sums[character as usize];
        *sum = (sum.0 + point, sum.1 + 1.0);
    }
    sums.iter().map(|&(sum, count)| sum / f64::max(count, 1.0)).collect()
}

impl Comparing<'_> {
    pub fn nothing(&self) -> Compared {
        let (skin, characters) = (self.skin, self.skin.shape.sizes.len());
        Compared {
            strains: vec![Strains::default(); self.groups.len()],
            gaps: vec![WorstGap::NONE; skin.gaps.pairs.len()],
            distortions: vec![WorstDistortion::default(); skin.shape.pieces.len()],
            thinnest: Thinnest::NONE,
            reach: Vec::new(),
            lowest: Vec::new(),
            ground: vec![f64::INFINITY; characters],
            sunk: vec![(f64::INFINITY, u32::MAX, 0.0); characters],
        }
    }

    /// The same for those who glance: what parts by less than gates take notice of is not looked at.
    pub fn nothing_noticed(&self) -> Compared {
        Compared { gaps: vec![WorstGap::none_below(UNNOTICED); self.skin.gaps.pairs.len()], ..self.nothing() }
    }

    /// Looks at a frame; `around` are the frames before and after, and the seconds between those.
    pub fn look(
        &self,
        now: &Positions,
        ([before, after], seconds): ([&Positions; 2], f64),
        time: f64,
        memory: &mut Memory,
        seen: &mut Compared,
    ) {
        let shape = &self.skin.shape;
        shape.gather(&now.base, &mut memory.base);
        shape.gather(&now.effects, &mut memory.effects);
        self.look_at(time, memory, seen);
        let place = |frame: &Positions, point: usize| frame.base[shape.vertex[point] as usize];
        let around = |point: usize| place(after, point) - place(before, point);
        self.lowest(&memory.base, around, seconds, seen);
    }

    /// Sees where a frame is low, by its base and those around it.
    pub fn stand(&self, now: &[DVec3], [before, after]: [&[DVec3]; 2], seconds: f64, seen: &mut Compared) {
        self.lowest(now, |point| after[point] - before[point], seconds, seen);
    }

    fn lowest(&self, now: &[DVec3], around: impl Fn(usize) -> DVec3, seconds: f64, seen: &mut Compared) {
        let velocity = |point: usize| if seconds > 0.0 { around(point) / seconds } else { DVec3::ZERO };
        seen.lowest.push(footing::lowest(&self.skin.shape, self.character_of_bone.len(), now, velocity));
    }

    /// Looks at the frame in `memory`, but for what stands in it.
    pub fn look_at(&self, time: f64, memory: &mut Memory, seen: &mut Compared) {
        let Skin { shape, trees, gaps, calipers, .. } = self.skin;
        let Memory { base, effects, fitted } = memory;
        strain::look(shape, self.groups, base, effects, time, &mut seen.strains);
        gaps.look(shape, trees, [base, effects], time, fitted, &mut seen.gaps);
        distortion::look(shape, base, effects, time, &mut seen.distortions);
        thickness::look(shape, calipers, base, effects, time, &mut seen.thinnest);
        let middles = middles(shape, base);
        let mut reach = vec![[0.0f64; 2]; self.groups.len()];
        for (point, groups) in self.groups.of_point.iter().enumerate() {
            let (size, character) = (shape.size(point), shape.character[point] as usize);
            let displacement = effects[point].distance(base[point]) / size;
            let motion = (base[point] - middles[character]).distance(self.first[point]) / size;
            for &group in groups.iter().filter(|&&group| group != NONE) {
                let most = &mut reach[group as usize];
                *most = [most[0].max(displacement), most[1].max(motion)];
            }
            seen.ground[character] = seen.ground[character].min(base[point].y);
            if effects[point].y < seen.sunk[character].0 {
                seen.sunk[character] = (effects[point].y, u32_of(point), time);
            }
        }
        seen.reach.push(reach);
    }

    /// What stands on the ground, by the base of all frames.
    pub fn contacts(&self, times: &[f64], seen: &Compared) -> Vec<Contact> {
        let found = footing::detect(&self.skin.shape, self.character_of_bone, times, &seen.lowest, &seen.ground);
        found.into_iter().filter(|contact| !self.skin.is_soft[contact.bone]).collect()
    }

    /// What all frames together showed, and what is asked of single ones.
    pub fn comparison(&self, playing: &Playing<'_>, times: &[f64], given: &Given, seen: Compared) -> Comparison {
        let contacts = given.contacts.clone().unwrap_or_else(|| self.contacts(times, &seen));
        let single = Single {
            slips: self.slips(playing, times, &contacts),
            crossings: self.crossings(playing, times),
            trembling: Some(self.trembling(playing)),
        };
        let every: Vec<usize> = (0..times.len()).collect();
        self.told(seen, &given.rigid, &contacts, single, &every)
    }

    /// What was seen, as it is told; `places` are those of the frames among all by which strengths are told: a percentile
    /// of few frames is that of the moments they happen to meet, and what lies between them is taken to be even.
    pub fn told(
        &self,
        mut seen: Compared,
        rigid: &[usize],
        contacts: &[Contact],
        single: Single,
        places: &[usize],
    ) -> Comparison {
        let Single { slips, crossings, trembling } = single;
        let (shape, rig) = (&self.skin.shape, self.subject.rig());
        let at = |point: u32, time: f64| place(rig, shape.vertex[point as usize] as usize, time);
        let extreme = |value: f64, point: u32, time: f64| Extreme { value, place: at(point, time) };
        let is_standing = |contacts: &[Contact], character: usize| {
            contacts.iter().any(|c| self.character_of_bone.get(c.bone) == Some(&character))
        };
        let mut below_ground: Option<Extreme> = None;
        for (character, &(height, point, time)) in seen.sunk.iter().enumerate() {
            let floor = seen.ground[character].min(0.0);
            let depth = (floor - height) / shape.sizes[character];
            let is_worst = below_ground.as_ref().is_none_or(|worst| depth > worst.value);
            if depth > 0.0 && is_worst && is_standing(contacts, character) {
                below_ground = Some(extreme(depth, point, time));
            }
        }
        let mut gaps: Vec<Gap> = (self.skin.gaps.pairs.iter().zip(&seen.gaps))
            .filter(|(_, worst)| worst.point != u32::MAX)
            .map(|(pair, worst)| Gap {
                gap: extreme(worst.gap, worst.point, worst.time),
                pieces: pair.map(|piece| piece as usize),
            })
            .collect();
        gaps.sort_by(|a, b| b.gap.value.total_cmp(&a.gap.value));
        let mut distortions: Vec<Distortion> = (seen.distortions.iter().enumerate())
            .filter(|(_, worst)| worst.share > UNSEEN_BEND)
            .map(|(piece, worst)| Distortion {
                piece,
                residual: extreme(worst.share, worst.point, worst.time),
                is_rigid: rigid.contains(&piece),
            })
            .collect();
        distortions.sort_by(|a, b| b.residual.value.total_cmp(&a.residual.value));
        let (energies, jolt) =
            trembling.unwrap_or_else(|| (vec![[Energy::default(); 2]; self.groups.len()], Worst::default()));
        let groups = (0..self.groups.len())
            .map(|group| {
                let strains = &seen.strains[group];
                let of = |column: usize| {
                    let frames = seen.reach.iter().map(|frame| frame[group][column]);
                    quantile(&mut finer(frames, places), STRENGTH)
                };
                let (strength, motion) = (of(0), of(1));
                let [added, base] = energies[group];
                GroupFigures {
                    kind: self.groups.kinds[group],
                    name: self.groups.names[group].clone(),
                    strain: strains.percentile(),
                    worst_edge: strains.worst.map(|worst| {
                        let [a, b] = shape.edges[worst.edge as usize];
                        StrainedEdge {
                            strain: worst.strain,
                            is_longer: worst.is_longer,
                            place: at(a, worst.time),
                            other: at(b, worst.time),
                        }
                    }),
                    strength,
                    motion,
                    tremble: if added.amplitude() > UNSEEN_TREMBLE { added.share() } else { 0.0 },
                    base_tremble: base.share(),
                }
            })
            .collect();
        let thinnest = seen.thinnest;
        seen.reach.clear();
        Comparison {
            groups,
            gaps,
            distortions,
            slips,
            below_ground,
            crossings,
            thinnest: (thinnest.point != u32::MAX).then(|| extreme(thinnest.ratio, thinnest.point, thinnest.time)),
            jolt: (jolt.value > 0.0).then(|| jolt.extreme(rig)),
        }
    }

    /// Frames at `times`, each read by `read`, on all threads.
    fn frames<T: Send>(
        &self,
        playing: &Playing<'_>,
        times: &[f64],
        read: impl Fn(usize, &[DVec3], &[DVec3]) -> T + Sync,
    ) -> Vec<T> {
        let memory = || (workspace(), Positions::default(), Memory::default());
        (0..times.len())
            .into_par_iter()
            .map_init(memory, |(workspace, positions, memory), index| {
                self.subject.frame(playing, times[index], workspace, positions);
                self.skin.shape.gather(&positions.base, &mut memory.base);
                self.skin.shape.gather(&positions.effects, &mut memory.effects);
                read(index, &memory.base, &memory.effects)
            })
            .collect()
    }

    /// Energies of every group, added and of the base, and the largest jolt.
    fn trembling(&self, playing: &Playing<'_>) -> (Vec<[Energy; 2]>, Worst) {
        let shape = &self.skin.shape;
        let MotionReport { start, last_key, period, .. } = *playing.report();
        let seconds = period.unwrap_or(last_key - start).min(LONGEST_TREMBLE);
        let loops = period.is_some_and(|period| period <= LONGEST_TREMBLE);
        let steps = (seconds * RATE).ceil().max(1.0);
        let step = seconds / steps;
        let mut energies = vec![[Energy::default(); 2]; self.groups.len()];
        // Too short to hold a swing of 8 Hz and its neighbours.
        if seconds * RATE < 16.0 {
            return (energies, Worst::default());
        }
        let mut of_bone: Vec<Vec<u32>> = vec![Vec::new(); self.character_of_bone.len()];
        for (point, &bone) in shape.bone.iter().enumerate().filter(|(_, bone)| **bone != NONE) {
            of_bone[bone as usize].push(u32_of(point));
        }
        let points: Vec<u32> = of_bone
            .iter()
            .flat_map(|own| own.iter().step_by(own.len().div_ceil(TREMBLING_POINTS).max(1)).copied())
            .collect();
        let count = steps as u32 + u32::from(!loops);
        let times: Vec<f64> = (0..count).map(|n| start + step * f64::from(n)).collect();
        let frames = self.frames(playing, &times, |_, base, effects| {
            points.iter().map(|&p| [base[p as usize], effects[p as usize]]).collect::<Vec<_>>()
        });
        // Travel is taken off the base, so that a loop of it closes.
        let middles: Vec<DVec3> =
            frames.iter().map(|frame| frame.iter().map(|p| p[0]).sum::<DVec3>() / points.len().max(1) as f64).collect();
        let found: Vec<([Energy; 2], (f64, usize))> = (0..points.len())
            .into_par_iter()
            .map(|n| {
                let size = shape.size(points[n] as usize);
                let added: Vec<DVec3> = frames.iter().map(|frame| (frame[n][1] - frame[n][0]) / size).collect();
                let base: Vec<DVec3> =
                    frames.iter().zip(&middles).map(|(frame, &middle)| (frame[n][0] - middle) / size).collect();
                let energies = [&added, &base].map(|series| tremble::energy(series, step, loops));
                (energies, tremble::jolt(&added, &base, loops))
            })
            .collect();
        let mut jolt = Worst::default();
        for (&point, (own, (value, sample))) in points.iter().zip(found) {
            for &group in self.groups.of_point[point as usize].iter().filter(|&&group| group != NONE) {
                energies[group as usize].iter_mut().zip(own).for_each(|(sum, energy)| sum.add(energy));
            }
            jolt.see(value, shape.vertex[point as usize] as usize, times[sample]);
        }
        (energies, jolt)
    }

    fn slips(&self, playing: &Playing<'_>, times: &[f64], contacts: &[Contact]) -> Vec<Slip> {
        let shape = &self.skin.shape;
        let spans: Vec<std::ops::Range<usize>> = contacts
            .iter()
            .map(|contact| times.partition_point(|&t| t < contact.from)..times.partition_point(|&t| t <= contact.to))
            .collect();
        let middles: Vec<f64> =
            spans.iter().filter_map(|span| times.get(usize::midpoint(span.start, span.end))).copied().collect();
        if middles.len() < contacts.len() {
            // A span beyond the clip.
            let within: Vec<Contact> = (contacts.iter().zip(&spans))
                .filter(|(_, span)| usize::midpoint(span.start, span.end) < times.len())
                .map(|(contact, _)| contact.clone())
                .collect();
            return self.slips(playing, times, &within);
        }
        let soles = self.frames(playing, &middles, |n, base, _| footing::sole(shape, contacts[n].bone, base));
        let mut asked: Vec<usize> = spans.iter().flat_map(Clone::clone).collect();
        asked.sort_unstable();
        asked.dedup();
        let moments: Vec<f64> = asked.iter().map(|&frame| times[frame]).collect();
        let means = self.frames(playing, &moments, |n, base, effects| {
            let of = |(span, sole): (&std::ops::Range<usize>, &Vec<u32>)| {
                span.contains(&asked[n]).then(|| footing::means(sole, [base, effects]))
            };
            spans.iter().zip(&soles).map(of).collect::<Vec<_>>()
        });
        self.slips_of(contacts, &soles, &moments, &means)
    }

    /// How what stands slips; `means` are where the soles are at `moments`, each while it stands.
    pub fn slips_of(
        &self,
        contacts: &[Contact],
        soles: &[Vec<u32>],
        moments: &[f64],
        means: &[Vec<Option<[DVec3; 2]>>],
    ) -> Vec<Slip> {
        let mut slips: Vec<Slip> = Vec::new();
        for (n, contact) in contacts.iter().enumerate().filter(|(n, _)| !soles[*n].is_empty()) {
            let (own, places): (Vec<f64>, Vec<[DVec3; 2]>) =
                moments.iter().zip(means).filter_map(|(&time, of)| of[n].map(|place| (time, place))).unzip();
            let ([base, effects], worst) = footing::slip(&own, &places);
            let size = self.skin.shape.size(soles[n][0] as usize);
            slips.push(Slip {
                bone: crate::shape::bone_name(self.subject.rig(), u32_of(contact.bone)),
                from: contact.from,
                to: contact.to,
                base: base / size,
                effects: effects / size,
                time: own.get(worst).copied().unwrap_or(contact.from),
            });
        }
        slips.sort_by(|a, b| (b.effects - b.base).total_cmp(&(a.effects - a.base)));
        slips
    }

    fn crossings(&self, playing: &Playing<'_>, times: &[f64]) -> Crossings {
        let Skin { shape, trees, crossing_at_rest: Some(crossing_at_rest), .. } = self.skin else {
            return Crossings::default();
        };
        let asked: Vec<f64> = crossing_frames(times.len()).map(|frame| times[frame]).collect();
        let found: Vec<Crossed> = self.frames(playing, &asked, |_, base, effects| {
            let boxes = &mut [Boxes::default(), Boxes::default()];
            crossings::look(shape, trees, crossing_at_rest, base, effects, boxes)
        });
        self.crossings_of(&asked, &found)
    }

    /// How many pairs cross within pieces of a frame's base, but for the `rigid` ones; `None` where too many triangles lie at one place.
    pub fn crossing_base(&self, base: &[DVec3], rigid: &[usize], boxes: &mut Boxes) -> Option<usize> {
        let Skin { shape, trees, crossing_at_rest: Some([rest, _]), .. } = self.skin else { return None };
        crossings::count_within(shape, trees, rest, base, boxes, |piece| rigid.contains(&piece))
    }

    /// What crosses at a frame that does not in its base; pieces that hardly move against each other are left aside, and `rigid` ones
    /// within themselves.
    pub fn crossing_glance(&self, frame: [&[DVec3]; 2], rigid: &[usize], boxes: &mut [Boxes; 2]) -> Crossed {
        let Skin { shape, trees, crossing_at_rest: Some(rest), .. } = self.skin else { return Crossed::default() };
        crossings::glance(shape, trees, rest, frame, UNNOTICED, boxes, |piece| rigid.contains(&piece))
    }

    /// What crosses at all frames looked at.
    pub fn crossings_of(&self, times: &[f64], found: &[Crossed]) -> Crossings {
        let (shape, rig) = (&self.skin.shape, self.subject.rig());
        let mut crossings = Crossings { frames: found.len(), ..Crossings::default() };
        let mut most = 0;
        for (crossed, &time) in found.iter().zip(times) {
            crossings.base_within += crossed.within[0];
            crossings.within += crossed.within[1];
            crossings.base_between += crossed.between[0];
            crossings.between += crossed.between[1];
            let at = |point: u32| place(rig, shape.vertex[point as usize] as usize, time);
            let corner = |face: u32| at(shape.triangles[face as usize][0]);
            if let Some((one, other)) = crossed.worst.filter(|_| crossed.within[1] > most) {
                most = crossed.within[1];
                (crossings.worst, crossings.worst_other) = (Some(corner(one)), Some(corner(other)));
            }
            if let Some(Deepest { depth: value, point, piece, face }) = crossed.deepest
                && crossings.deepest.as_ref().is_none_or(|(deepest, _)| value > deepest.value)
            {
                crossings.deepest = Some((Extreme { value, place: at(point) }, piece as usize));
                crossings.deepest_other = Some(corner(face));
            }
        }
        crossings
    }
}
