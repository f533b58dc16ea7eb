//! The surface edits of a recipe, bound to one character: [`super::surface_edit`] on its nodes; and growth along bones as a
//! correction (`bulge`).
//!
//! Attachments are those of the default plan, so that an edit made once means the same under any base. Direct edits
//! come after all corrections; the others are targets of the springs.

mod bulge;

pub(super) use bulge::BULGE;

use super::body::{Body, Reach, Surface};
use super::bound::{Binding, Bound, EditList, Log, PosedBones, Work, node_means};
use super::surface_edit::{Change, EditedPoint, Encoded, Overlap, SurfaceEdit, Wave};
use crate::attach::hanging::{Hanging, Hangings, Hung};
use crate::pose::WorldPose;
use crate::recipe::{Drive, EditShape, EditSpec};
use crate::rig::Rig;
use crate::simd::Lanes;
use crate::skeleton::BoneId;
use crate::strokes::{Sample, Stroke};
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::sync::Arc;

/// A shape as painted maps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Field {
    /// How far inside each point lies; where nothing is painted, wherever something changes.
    pub inside: Option<Vec<Lanes>>,
    /// Growth in length, and the rotation vector of the turn.
    pub changes: [Option<Vec<Lanes>>; 4],
}

/// Shapes over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub Vec<(f64, Field)>);

/// An edit of a recipe with its names looked up.
pub(crate) struct EditRequest<'a> {
    pub spec: &'a EditSpec,
    /// Its place in the recipe.
    pub place: usize,
    pub fields: Fields,
    /// Only what hangs on these; on any where there are none.
    pub bones: Vec<BoneId>,
    pub painted: Option<Vec<Lanes>>,
}

/// The edits of one character.
#[derive(Default)]
pub(super) struct BoundEdits {
    pub direct: EditList,
    pub sprung: EditList,
}

impl BoundEdits {
    pub fn new(rig: &Rig, surface: &Surface, asked: &[EditRequest<'_>]) -> Self {
        let mut bound = Self::default();
        if asked.is_empty() {
            return bound;
        }
        let Some(hanging) = rig.kept::<Hangings>().of(surface.character) else { return bound };
        for edit in asked {
            let takes: Vec<f64> = takes(rig, surface, &hanging, edit);
            let list = if edit.spec.drive == Drive::Springs { &mut bound.sprung } else { &mut bound.direct };
            if let Some(bound) = bind(rig, surface, &hanging, edit, &takes) {
                list.edits.push(bound);
                list.places.push(edit.place);
            }
        }
        bound
    }
}

/// How much each node takes, before the shape itself is looked at.
fn takes(rig: &Rig, surface: &Surface, hanging: &Hanging, edit: &EditRequest<'_>) -> Vec<f64> {
    let painted = edit.painted.as_ref().map(|map| node_means(surface, map));
    let take = |(node, slots): (usize, &[u32])| {
        let hangs = edit.bones.is_empty() || edit.bones.contains(&hanging.bone(hanging.attachments[node].line));
        let rides = slots.iter().any(|&slot| rig.is_rider(slot as usize));
        if rides || !hangs { 0.0 } else { painted.as_ref().map_or(1.0, |map| map[node].max(0.0)) }
    };
    surface.members.iter().enumerate().map(take).collect()
}

fn bind(rig: &Rig, surface: &Surface, hanging: &Hanging, edit: &EditRequest<'_>, takes: &[f64]) -> Option<SurfaceEdit> {
    let EditSpec { shape, amount, stiffness, .. } = edit.spec;
    let nodes = 0..surface.nodes();
    let reached = |take: &dyn Fn(usize) -> f64| -> Vec<EditedPoint> {
        let point = |node: usize| EditedPoint { point: node as u32, weight: take(node) };
        nodes.clone().map(point).filter(|point| point.weight > 0.0).collect()
    };
    let (points, change) = match shape {
        EditShape::Shape(_) => {
            let keys: Vec<(f64, Vec<Encoded>, Vec<f64>)> =
                edit.fields.0.iter().map(|key| encoded(surface, key)).collect();
            let inside = |node: usize| keys.iter().map(|key| key.2[node]).fold(0.0, f64::max) * takes[node];
            let points = reached(&inside);
            // What is taken in part is also done in part.
            let key = |(time, all, _): &(f64, Vec<Encoded>, Vec<f64>)| {
                let of = |point: &EditedPoint| all[point.point as usize].scaled(takes[point.point as usize].min(1.0));
                (*time, points.iter().map(of).collect())
            };
            let change = Change::Keyed(keys.iter().map(key).collect());
            (points, change)
        }
        EditShape::Radial(profile) => {
            let points = reached(&|node| takes[node]);
            let growth = |point: &EditedPoint| {
                let node = point.point as usize;
                profile.at(hanging.attachments[node].t) * takes[node]
            };
            let growths = points.iter().map(growth).collect();
            (points, Change::Radial(growths))
        }
        EditShape::Wave { along, reach, crests, frequency_hz } => {
            let samples: Vec<Sample> = along.iter().map(|&position| Sample { position, time_secs: 0.0 }).collect();
            let stroke = Stroke::new(&samples).ok()?;
            let reach = reach * rig.characters()[surface.character].size;
            let place = |p: DVec3| {
                let fraction = stroke.nearest(p);
                let near = (1.0 - stroke.at(fraction).distance(p) / reach).max(0.0);
                (fraction, near * near * (3.0 - 2.0 * near))
            };
            let places: Vec<(f64, f64)> = at_rest(rig, surface).into_iter().map(place).collect();
            let points = reached(&|node| places[node].1 * takes[node]);
            let wave = Wave { crests: *crests, frequency_hz: *frequency_hz };
            let at = points.iter().map(|point| {
                let node = point.point as usize;
                (places[node].0, places[node].1 * takes[node])
            });
            let at = at.collect();
            (points, Change::Wave(wave, at))
        }
    };
    SurfaceEdit::new(points, change, amount.clone(), *stiffness).filter(|edit| !edit.points().is_empty())
}

/// Changes of all nodes, and how far inside they lie.
fn encoded(surface: &Surface, (time, field): &(f64, Field)) -> (f64, Vec<Encoded>, Vec<f64>) {
    let none = || vec![0.0; surface.nodes()];
    let [length, x, y, z] =
        field.changes.each_ref().map(|map| map.as_ref().map_or_else(none, |map| node_means(surface, map)));
    let turn = |node: usize| DVec3::new(x[node], y[node], z[node]);
    let changes = (0..surface.nodes())
        .map(|node| Encoded { ratio: (1.0 + length[node]).max(0.0), turn: DQuat::from_scaled_axis(turn(node)) })
        .collect();
    let inside = match &field.inside {
        Some(map) => node_means(surface, map).into_iter().map(|inside| inside.max(0.0)).collect(),
        None => (0..surface.nodes())
            .map(|node| if length[node] != 0.0 || turn(node) != DVec3::ZERO { 1.0 } else { 0.0 })
            .collect(),
    };
    (*time, changes, inside)
}

/// Nodes in world space at the default transforms.
fn at_rest(rig: &Rig, surface: &Surface) -> Vec<DVec3> {
    let mut world = WorldPose::default();
    world.compose(rig.skeleton(), &rig.rest_pose());
    let world_from_rest: Vec<DAffine3> =
        rig.palette().iter().map(|entry| world.world_from_bone(entry.bone) * entry.bone_from_rest).collect();
    let place = |node: usize| -> DVec3 {
        let by = |&(entry, weight): &(u32, f64)| {
            surface.world_from_bind(entry, &world_from_rest).transform_point3(surface.bind[node]) * weight
        };
        surface.influences_of(node).iter().map(by).sum()
    };
    (0..surface.nodes()).map(place).collect()
}

/// Memory of edits.
#[derive(Clone, Debug, Default)]
pub(super) struct EditWork {
    hung: Hung,
    overlaps: Vec<Overlap>,
    /// Per node, the stiffness of its edits and where they want it; 0 without any.
    pub targets: Vec<(f64, DVec3)>,
}

/// Edits with what they hang on.
pub(super) struct HungEdits {
    hanging: Arc<Hanging>,
    edits: Vec<SurfaceEdit>,
    /// Of each edit, in the recipe.
    places: Vec<usize>,
}

impl HungEdits {
    /// `None` where there are none.
    pub fn new(rig: &Rig, surface: &Surface, list: &EditList) -> Option<Self> {
        let EditList { edits, places } = list;
        if edits.is_empty() {
            return None;
        }
        let hanging = rig.kept::<Hangings>().of(surface.character)?;
        Some(Self { hanging, edits: edits.clone(), places: places.clone() })
    }

    /// Follows other amounts and stiffnesses.
    pub fn retune(&mut self, specs: &[EditSpec]) {
        for (edit, &place) in self.edits.iter_mut().zip(&self.places) {
            edit.retune(&specs[place].amount, specs[place].stiffness);
        }
    }

    /// What edits change at a time, in the body's own units: node, change, stiffness, where it hangs and the axes there.
    fn changes(
        &self,
        time: f64,
        surface: &Surface,
        body: &Body,
        (hung, overlaps): (&mut Hung, &mut Vec<Overlap>),
        mut each: impl FnMut(usize, Encoded, f64, (DVec3, DQuat)),
    ) {
        if !self.hanging.pose(&body.from_bind, body.bind(surface), hung) {
            return;
        }
        self.hanging.pose_axes(&body.from_bind, hung);
        Overlap::fill(&self.edits, surface.nodes(), time, overlaps);
        for (node, overlap) in overlaps.iter().enumerate() {
            if let Some((change, stiffness)) = overlap.mean() {
                each(node, change, stiffness, (hung.anchors[node] * hung.scale, hung.axes[node]));
            }
        }
    }

    /// Where the edits want the nodes at a time, in the body's own units.
    pub fn targets(&self, time: f64, surface: &Surface, body: &Body, work: &mut EditWork) {
        let EditWork { hung, overlaps, targets } = work;
        targets.clear();
        targets.resize(surface.nodes(), (0.0, DVec3::ZERO));
        self.changes(time, surface, body, (hung, overlaps), |node, change, stiffness, (anchor, axes)| {
            let here = body.points[node];
            let place = change.place(axes.inverse() * (here - anchor), axes, anchor);
            // An edit that changes nothing at the moment leaves the point to the bit, and springs still hold it.
            targets[node] = (stiffness, if change == Encoded::IDENTITY || !place.is_finite() { here } else { place });
        });
    }
}

/// Edits that are put where they belong.
pub(super) struct DirectEdits(HungEdits);

impl DirectEdits {
    pub fn new(rig: &Rig, surface: &Surface, edits: &EditList) -> Option<Self> {
        HungEdits::new(rig, surface, edits).map(Self)
    }
}

impl Bound for DirectEdits {
    fn retune(&mut self, _: &Binding<'_>, _: bool) {}

    fn retune_edits(&mut self, specs: &[EditSpec]) {
        self.0.retune(specs);
    }

    fn reach(&self) -> Reach {
        Reach::Always
    }

    fn apply(&self, place: &PosedBones<'_>, surface: &Surface, work: &mut Work, log: &mut Log<'_>) -> usize {
        let Work { body, memory } = work;
        // Passes that follow new contacts find it done.
        if log.is_later_pass() {
            return 0;
        }
        memory.with(|edits: &mut EditWork| {
            self.0.targets(place.time, surface, body, edits);
            for (node, &(stiffness, target)) in edits.targets.iter().enumerate() {
                if stiffness > 0.0 {
                    body.points[node] = target;
                }
            }
        });
        surface.place_apexes(&mut body.points);
        0
    }

    fn remaps(&self) -> bool {
        true
    }

    fn remap(&self, time_secs: f64, surface: &Surface, work: &mut Work, maps: &mut [DAffine3]) {
        let Work { body, memory } = work;
        memory.with(|edits: &mut EditWork| {
            let EditWork { hung, overlaps, .. } = edits;
            self.0.changes(time_secs, surface, body, (hung, overlaps), |node, change, stiffness, (anchor, axes)| {
                let turn = axes * change.turn * axes.inverse();
                let linear = DMat3::from_quat(turn) * change.ratio;
                let map = DAffine3::from_mat3_translation(linear, anchor - linear * anchor);
                if stiffness > 0.0 && change != Encoded::IDENTITY && map.is_finite() {
                    maps[node] = map * maps[node];
                }
            });
        });
    }
}
