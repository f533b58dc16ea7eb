//! Bases that place the skin point by point in f64, bound to a rig: [`super::incremental_rotation`],
//! [`super::centres_of_rotation`] and [`super::stretchable_twistable`].
//!
//! They work on the welded surface in bind space, as corrections do; what is not skin rides on its bones as in every
//! base. Points are independent of each other: the same bits at any thread count.

use super::centres_of_rotation::{self, TurningBone, centres};
use super::incremental_rotation::{self, PosedLine, Turned, nearest_place};
use super::stretchable_twistable::{self, TwistBone, twist_about};
use crate::attach::hanging::{AttachBy, DividerEdit, HangPlan, Hanging};
use crate::attach::smoothed::ROUNDS;
use crate::attach::{Attachment, Gap, Line};
use crate::correct::surface::Surface;
use crate::kinodynamic::FreeFrame;
use crate::rig::Rig;
use crate::simd::{LANES, Points};
use crate::skeleton::BoneId;
use glam::{DAffine3, DQuat, DVec3};
use rayon::prelude::*;

/// How a recipe asks for incremental rotation.
#[derive(Clone, Debug, PartialEq)]
pub struct IncrementalRotationSpec {
    /// How far joints reach along the bones that meet there, in their lengths; 0 is rigid.
    pub influence: f64,
    /// Whether points are put back to their distance from the bones.
    pub keep_distance: bool,
    /// How points find their bones.
    pub attach: AttachBy,
    /// Rounds of smoothing of where they hang.
    pub smoothing: usize,
    /// Influence of joints by bone name; `*` and `?` match any. Later entries win.
    pub joints: Vec<(String, f64)>,
    /// Dividers moved by hand, by the name of the bone that begins there; for [`AttachBy::Planar`].
    pub dividers: Vec<(String, DividerEdit)>,
}

impl Default for IncrementalRotationSpec {
    fn default() -> Self {
        Self {
            influence: 0.5,
            keep_distance: true,
            attach: AttachBy::default(),
            smoothing: ROUNDS,
            joints: Vec::new(),
            dividers: Vec::new(),
        }
    }
}

/// The recipe's tables with their names looked up.
#[derive(Clone, Debug, Default)]
pub(crate) struct JointTables {
    pub joints: Vec<(Vec<BoneId>, f64)>,
    pub dividers: Vec<(Vec<BoneId>, DividerEdit)>,
}

/// One of these bases, bound to a rig.
#[derive(Clone, Debug)]
pub struct ByPoint {
    /// Per character; none where there are no faces or no bones.
    skins: Vec<Option<Skin>>,
}

#[derive(Clone, Debug)]
struct Skin {
    surface: Surface,
    /// Nodes that ride on a bone.
    is_rider: Vec<bool>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Incremental {
        hanging: Hanging,
        /// Per line, how far its joints reach.
        reaches: Vec<[f64; 2]>,
        /// Per line, those that share a joint with it.
        around: Vec<Vec<u32>>,
        keep_distance: bool,
    },
    Centres {
        centres: Vec<Option<DVec3>>,
        /// Palette entries of the surface and their parents, parents first.
        entries: Vec<(u32, Option<u32>)>,
    },
    Twist {
        hanging: Hanging,
        /// Per palette entry, the line that stands for it.
        lines: Vec<Option<u32>>,
        share: f64,
    },
}

impl ByPoint {
    pub(crate) fn incremental_rotation(rig: &Rig, spec: &IncrementalRotationSpec, tables: &JointTables) -> Self {
        Self::new(rig, |surface| {
            let plan = HangPlan { by: spec.attach, rounds: spec.smoothing, bones: &[], dividers: &tables.dividers };
            let hanging = Hanging::new(rig, surface, &plan)?;
            let influence = |bone: BoneId| {
                let own = tables.joints.iter().rev().find(|(bones, _)| bones.contains(&bone));
                own.map_or(spec.influence, |joint| joint.1)
            };
            let reaches = (0..hanging.lines.len()).map(|line| hanging.joints(rig, line).map(influence)).collect();
            let around = hanging.lines_around();
            Some(Kind::Incremental { hanging, reaches, around, keep_distance: spec.keep_distance })
        })
    }

    pub(crate) fn centres_of_rotation(rig: &Rig) -> Self {
        Self::new(rig, |surface| {
            let weights: Vec<Vec<(u32, f64)>> = (0..surface.nodes())
                .map(|node| {
                    let mut weights = surface.influences_of(node).to_vec();
                    weights.sort_by_key(|weight| weight.0);
                    weights
                })
                .collect();
            let centres = centres(&surface.bind, &surface.faces(), &|node| &weights[node]);
            let mine = |&&entry: &&u32| rig.palette()[entry as usize].character as usize == surface.character;
            let entries = rig.palette_order().iter().filter(mine);
            let entries = entries.map(|&entry| (entry, rig.palette()[entry as usize].parent)).collect();
            Some(Kind::Centres { centres, entries })
        })
    }

    pub(crate) fn stretchable_twistable(rig: &Rig, share: f64) -> Self {
        Self::new(rig, |surface| {
            let hanging = Hanging::new(rig, surface, &HangPlan::default())?;
            // Of a bone's lines, the one that its skin lies along.
            let line_of = |bone: BoneId| {
                let middle = rig.centroid(bone);
                let own = (0..hanging.lines.len() as u32).filter(|&line| hanging.bone(line) == bone);
                let bone_from_rest: Vec<DAffine3> = rig.palette().iter().map(|entry| entry.bone_from_rest).collect();
                own.min_by(|&a, &b| {
                    let away = |line: u32| {
                        let entry = hanging.entry(line as usize);
                        let bind_from_bone = surface.world_from_bind(entry, &bone_from_rest).inverse();
                        middle
                            .map_or(0.0, |m| hanging.lines[line as usize].distance(bind_from_bone.transform_point3(m)))
                    };
                    away(a).total_cmp(&away(b))
                })
            };
            let lines = rig.palette().iter().map(|entry| line_of(entry.bone)).collect();
            Some(Kind::Twist { hanging, lines, share })
        })
    }

    fn new(rig: &Rig, kind: impl Fn(&Surface) -> Option<Kind>) -> Self {
        let skin = |character: usize| {
            let surface = Surface::new(rig, character)?;
            let kind = kind(&surface)?;
            let rides = |slots: &[u32]| slots.iter().any(|&slot| rig.is_rider(slot as usize));
            Some(Skin { is_rider: surface.members.iter().map(rides).collect(), surface, kind })
        };
        Self { skins: (0..rig.characters().len()).map(skin).collect() }
    }

    /// The widest gaps of the attachments, by character; none for bases without.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.skins.iter().flatten().filter_map(|skin| match &skin.kind {
            Kind::Incremental { hanging, .. } => hanging.gap(),
            Kind::Centres { .. } | Kind::Twist { .. } => None,
        })
    }

    /// Where the frame has all points, relative to their characters' origins.
    pub(crate) fn carry(&self, frame: &FreeFrame<'_>, pool: Option<&rayon::ThreadPool>, out: &mut Points) {
        let rig = frame.rig;
        out.resize(rig.rows().len());
        for slot in 0..rig.rows().len() * LANES {
            let (row, lane) = (&rig.rows()[slot / LANES], slot % LANES);
            if self.skins[row.character as usize].is_none() {
                let rest = frame.rest.get(slot).as_dvec3();
                let follow = |i: usize| {
                    let weight = f64::from(rig.skin_weights()[i][lane]);
                    frame.world_from_rest[rig.skin_entries()[i] as usize].transform_point3(rest) * weight
                };
                let p: DVec3 = (row.skin.start as usize..row.skin.end as usize).map(follow).sum();
                out.set(slot, p.as_vec3());
            }
        }
        for skin in self.skins.iter().flatten() {
            let nodes = skin.carry(frame, pool);
            for (slots, p) in skin.surface.members.iter().zip(&nodes) {
                slots.iter().for_each(|&slot| out.set(slot as usize, p.as_vec3()));
            }
            // Lanes that are not in use repeat the last point.
            for row in rig.characters()[skin.surface.character].rows.clone() {
                let filled = rig.rows()[row].filled as usize;
                for lane in filled.max(1)..LANES {
                    let last = out.get(row * LANES + filled.max(1) - 1);
                    out.set(row * LANES + lane, last);
                }
            }
        }
    }
}

impl Skin {
    fn carry(&self, frame: &FreeFrame<'_>, pool: Option<&rayon::ThreadPool>) -> Vec<DVec3> {
        let surface = &self.surface;
        let entries = 0..frame.world_from_rest.len() as u32;
        let from_bind: Vec<DAffine3> =
            entries.map(|entry| surface.world_from_bind(entry, frame.world_from_rest)).collect();
        let mut bind = Vec::new();
        surface.bind_points(frame.rest, &mut bind);
        let posed = self.pose(&from_bind);
        let place = |node: usize| {
            let blend = || -> DVec3 {
                let of = |&(entry, w): &(u32, f64)| from_bind[entry as usize].transform_point3(bind[node]) * w;
                surface.influences_of(node).iter().map(of).sum()
            };
            if self.is_rider[node] {
                return blend();
            }
            let p = self.place(node, bind[node], &posed);
            if p.is_finite() { p } else { blend() }
        };
        let nodes = surface.nodes();
        match pool {
            None => (0..nodes).map(place).collect(),
            Some(pool) => pool.install(|| (0..nodes).into_par_iter().map(place).collect()),
        }
    }

    fn pose(&self, from_bind: &[DAffine3]) -> Posed {
        match &self.kind {
            Kind::Incremental { hanging, reaches, .. } => {
                Posed::Lines(hanging.posed_lines(from_bind, &|line| reaches[line]))
            }
            Kind::Centres { entries, .. } => Posed::Turning(turning(from_bind, entries)),
            Kind::Twist { hanging, lines, share } => Posed::Twisting(twisting(from_bind, hanging, lines, *share)),
        }
    }

    fn place(&self, node: usize, bind: DVec3, posed: &Posed) -> DVec3 {
        let influences = self.surface.influences_of(node);
        match (&self.kind, posed) {
            (Kind::Incremental { hanging, around, keep_distance, .. }, Posed::Lines(lines)) => {
                let attachment: Attachment = hanging.attachments[node];
                let around = &around[attachment.line as usize];
                let skeleton = || around.iter().map(|&line| hanging.lines[line as usize]);
                let distance = keep_distance.then(|| nearest_place(bind, skeleton())).flatten().map(|found| found.0);
                let scale_vector = bind - attachment.point(&hanging.lines);
                let hung = incremental_rotation::Hung { attachment, scale_vector, distance };
                incremental_rotation::skin(&hung, lines, around)
            }
            (Kind::Centres { centres, .. }, Posed::Turning(bones)) => {
                centres_of_rotation::skin(bind, centres[node], influences, bones)
            }
            (_, Posed::Twisting(bones)) => stretchable_twistable::skin(bind, influences, bones),
            _ => DVec3::NAN,
        }
    }
}

/// The bones of a frame, as the kind of base reads them.
enum Posed {
    Lines(Vec<PosedLine>),
    Turning(Vec<TurningBone>),
    Twisting(Vec<TwistBone>),
}

/// Signs of the rotations by the parent, root to leaf.
fn turning(from_bind: &[DAffine3], entries: &[(u32, Option<u32>)]) -> Vec<TurningBone> {
    let split = |transform: &DAffine3| {
        let Turned { rotation, stretch } = Turned::of(transform.matrix3);
        TurningBone { transform: *transform, rotation, stretch }
    };
    let mut bones: Vec<TurningBone> = from_bind.iter().map(split).collect();
    for &(entry, parent) in entries {
        let side = parent.map_or(DQuat::IDENTITY, |parent| bones[parent as usize].rotation);
        let bone = &mut bones[entry as usize];
        if bone.rotation.dot(side) < 0.0 {
            bone.rotation = -bone.rotation;
        }
    }
    bones
}

fn twisting(from_bind: &[DAffine3], hanging: &Hanging, lines: &[Option<u32>], share: f64) -> Vec<TwistBone> {
    let posed = hanging.posed_lines(from_bind, &|_| [0.0; 2]);
    let along = |line: usize| (hanging.lines[line].end - hanging.lines[line].start).normalize_or_zero();
    let bone = |(entry, transform): (usize, &DAffine3)| {
        let still = Line { start: DVec3::ZERO, end: DVec3::ZERO };
        let at = Line { start: transform.translation, ..still };
        let Some(line) = lines[entry].map(|line| line as usize) else {
            return TwistBone { bind: still, posed: at, linear: transform.matrix3, twist: [0.0; 2] };
        };
        let PosedLine { line: now, own, before, after, .. } = posed[line];
        let (rotation, before, after) = (own.rotation, before.rotation, after.rotation);
        // The bone after is measured about its own line, as it does itself.
        let next = hanging.line_after(line).map_or(along(line), along);
        let twist = [
            -(1.0 - share) * twist_about(along(line), before.inverse() * rotation),
            share * twist_about(next, rotation.inverse() * after),
        ];
        TwistBone { bind: hanging.lines[line], posed: now, linear: transform.matrix3, twist }
    };
    from_bind.iter().enumerate().map(bone).collect()
}
