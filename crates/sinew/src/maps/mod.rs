//! Maps made from the shape: one value per control point, found on the rest surface, with the operations of painting.
//!
//! | file | what it gives |
//! |---|---|
//! | [`shape_diameter`] | thin parts soft, thick parts stiff (VS fig. 11) |
//! | [`bone_distance`] | 0 on the bone, 1 where its limb is thickest |
//! | [`extremities`] | 1 at the tips of limbs, ears and tails, 0 where they grow from the body |
//! | [`smooth`], [`mirror`], [`remap`] | operations on any map, painted ones included |
//!
//! All of them are scale-free: the same character at another size, place or turn has the same maps.

pub mod bone_distance;
pub mod extremities;
mod geodesic;
pub mod mirror;
pub mod remap;
pub mod shape_diameter;
pub mod smooth;

pub(crate) use geodesic::bridged;

use crate::bvh::Bvh;
use crate::pose::WorldPose;
use crate::rig::{Primitive, Rig, VertexMap};
use crate::simd::{LANES, Lanes};
use glam::{DAffine3, DMat3, DVec3};

/// A rig's surface at the nodes' default transforms and default morph weights, in world space and f64, by slot.
#[derive(Clone, Debug)]
pub struct RestSurface<'r> {
    rig: &'r Rig,
    world: WorldPose,
    points: Vec<DVec3>,
    normals: Vec<DVec3>,
    areas: Vec<f64>,
    faces: Vec<[u32; 3]>,
}

impl<'r> RestSurface<'r> {
    /// Skins the rest points.
    pub fn new(rig: &'r Rig) -> Self {
        let mut world = WorldPose::default();
        world.compose(rig.skeleton(), &rig.rest_pose());
        let (points, mirrored) = skin(rig, &world);
        let mut faces = rig.point_triangles().to_vec();
        let (mut normals, mut areas) = (vec![DVec3::ZERO; points.len()], vec![0.0; points.len()]);
        for face in &mut faces {
            // A node that mirrors turns its faces inside out.
            if face.iter().filter(|&&slot| mirrored[slot as usize]).count() >= 2 {
                face.swap(1, 2);
            }
            let [a, b, c] = face.map(|slot| points[slot as usize]);
            let doubled = (b - a).cross(c - a);
            for &slot in face.iter() {
                normals[slot as usize] += doubled;
                areas[slot as usize] += doubled.length() / 6.0;
            }
        }
        for (normal, area) in normals.iter_mut().zip(&areas) {
            // Two sides of a sheet on the same points cancel but for rounding: no normal.
            let cancels = normal.length() <= 1e-9 * area;
            *normal = if cancels { DVec3::ZERO } else { normal.normalize_or_zero() };
        }
        Self { rig, world, points, normals, areas, faces }
    }

    /// The rig.
    pub fn rig(&self) -> &'r Rig {
        self.rig
    }

    /// The bones at rest.
    pub fn world(&self) -> &WorldPose {
        &self.world
    }

    /// Positions.
    pub fn points(&self) -> &[DVec3] {
        &self.points
    }

    /// Outward unit normals from the faces, weighted by area; zero where they cancel or there is no face.
    pub fn normals(&self) -> &[DVec3] {
        &self.normals
    }

    /// A third of the area around each point.
    pub fn areas(&self) -> &[f64] {
        &self.areas
    }

    /// Triangles on slots, counter-clockwise seen from outside even where a node mirrors.
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces
    }

    /// Triangles of one character, in the same order.
    pub fn faces_of(&self, character: usize) -> Vec<[u32; 3]> {
        let mine = |face: &&[u32; 3]| self.rig.rows()[face[0] as usize / LANES].character as usize == character;
        self.faces.iter().filter(mine).copied().collect()
    }

    fn tree(&self, faces: &[[u32; 3]]) -> Bvh {
        Bvh::of_faces(&faces.iter().map(|face| face.map(|slot| self.points[slot as usize])).collect::<Vec<_>>())
    }

    /// Slots that hold a control point of one character, ascending.
    pub fn slots(&self, character: usize) -> impl Iterator<Item = usize> + '_ {
        let rows = self.rig.characters()[character].rows.clone();
        rows.flat_map(|row| (0..self.rig.rows()[row].filled as usize).map(move |lane| row * LANES + lane))
    }

    /// Slots that hold a control point, ascending.
    pub fn all_slots(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.rig.characters().len()).flat_map(|character| self.slots(character))
    }

    /// Mean length of the edges at a point; 0 without edges.
    pub fn edge_length(&self, slot: usize) -> f64 {
        let neighbours = self.rig.adjacency().of(slot);
        let sum: f64 = neighbours.iter().map(|&n| self.points[n as usize].distance(self.points[slot])).sum();
        sum / neighbours.len().max(1) as f64
    }
}

/// Positions by slot, and whether the blended matrix there mirrors.
fn skin(rig: &Rig, world: &WorldPose) -> (Vec<DVec3>, Vec<bool>) {
    let pose = rig.rest_pose();
    let slots = rig.rows().len() * LANES;
    let mut rest: Vec<DVec3> = (0..slots).map(|slot| rig.rest().get(slot).as_dvec3()).collect();
    for morph in rig.morphs() {
        let weight = pose.morph_weights.get(morph.weight).map_or(0.0, |&w| f64::from(w));
        for &(slot, delta) in &morph.positions {
            rest[slot as usize] += delta.as_dvec3() * weight;
        }
    }
    let matrices: Vec<DAffine3> =
        rig.palette().iter().map(|entry| world.world_from_bone(entry.bone) * entry.bone_from_rest).collect();
    let mut points = Vec::with_capacity(slots);
    let mut mirrored = Vec::with_capacity(slots);
    for (row, packed) in rig.rows().iter().enumerate() {
        for lane in 0..LANES {
            let p = rest[row * LANES + lane];
            let (mut point, mut linear, mut total) = (DVec3::ZERO, DMat3::ZERO, 0.0);
            for entry in packed.skin.start as usize..packed.skin.end as usize {
                let weight = f64::from(rig.skin_weights()[entry][lane]);
                let matrix = &matrices[rig.skin_entries()[entry] as usize];
                point += matrix.transform_point3(p) * weight;
                linear += matrix.matrix3 * weight;
                total += weight;
            }
            // Weights rounded to f32 miss 1 by a little, which far from the origin is a lot.
            points.push(point / total);
            mirrored.push(linear.determinant() < 0.0);
        }
    }
    // Lanes not in use repeat the row's last point, also where a morph moves it.
    for (row, packed) in rig.rows().iter().enumerate() {
        let last = row * LANES + (packed.filled.max(1) as usize - 1);
        for slot in last + 1..(row + 1) * LANES {
            points[slot] = points[last];
        }
    }
    (points, mirrored)
}

/// One finite value per control point, in the rows of one rig; lanes not in use repeat their row's last point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointMap {
    values: Vec<Lanes>,
}

impl PointMap {
    /// The value of every slot that holds a point; values that are not finite become 0.
    pub fn from_fn(rig: &Rig, mut value: impl FnMut(usize) -> f32) -> Self {
        let values = rig.rows().iter().enumerate().map(|(row, packed)| {
            let mut lanes = [0.0; LANES];
            for lane in 0..LANES {
                let given =
                    if lane < packed.filled as usize { value(row * LANES + lane) } else { lanes[lane.max(1) - 1] };
                lanes[lane] = if given.is_finite() { given } else { 0.0 };
            }
            lanes
        });
        Self { values: values.collect() }
    }

    /// A painted map of the same rig.
    pub fn from_vertex_map(rig: &Rig, map: &VertexMap) -> Self {
        Self::from_fn(rig, |slot| map.values.get(slot / LANES).map_or(0.0, |lanes| lanes[slot % LANES]))
    }

    /// As a painted map.
    pub fn into_vertex_map(self, name: &str) -> VertexMap {
        VertexMap { name: name.to_owned(), values: self.values }
    }

    /// Values per row.
    pub fn values(&self) -> &[Lanes] {
        &self.values
    }

    /// The value at a slot.
    pub fn at(&self, slot: usize) -> f32 {
        self.values[slot / LANES][slot % LANES]
    }

    /// One value per vertex of a primitive, in the file's order.
    pub fn of_primitive(&self, rig: &Rig, primitive: &Primitive) -> Vec<f32> {
        rig.point_of_vertex()[primitive.vertices.clone()].iter().map(|&slot| self.at(slot as usize)).collect()
    }

    /// The product with another map of the same rig.
    pub fn multiply(&mut self, other: &Self) {
        self.combine(other, |a, b| a * b);
    }

    /// The larger of the two values everywhere.
    pub fn max(&mut self, other: &Self) {
        self.combine(other, f32::max);
    }

    fn combine(&mut self, other: &Self, f: impl Fn(f32, f32) -> f32) {
        for (a, &b) in self.values.iter_mut().flatten().zip(other.values.iter().flatten()) {
            let value = f(*a, b);
            *a = if value.is_finite() { value } else { 0.0 };
        }
    }

    fn apply(&mut self, f: impl Fn(f32) -> f32) {
        for value in self.values.iter_mut().flatten() {
            let changed = f(*value);
            *value = if changed.is_finite() { changed } else { 0.0 };
        }
    }
}
