//! A bent elbow and the shape of its outer line.

use glam::{DQuat, DVec3};
use sinew::{Cpu, LocalTransform, Recipe, Rig, Stage, Workspace};
use std::sync::Arc;

/// A frame's vertices in the scene.
pub fn placed(rig: &Rig, mesh: &sinew::DeformedMesh) -> Vec<DVec3> {
    let character = |v: usize| rig.character_of_point(rig.point(v)).unwrap_or(0);
    (0..rig.vertex_count()).map(|v| mesh.world_position(character(v), v)).collect()
}

/// An arm whose elbow bends.
pub struct Elbow {
    pub rig: Arc<Rig>,
    forearm: usize,
    pub rest: Vec<DVec3>,
}

impl Elbow {
    pub fn new() -> Self {
        let zoo = sinew_zoo::build("arm").expect("built in");
        let rig = Arc::new(Rig::build(&zoo.raw).expect("sound").0);
        let forearm = rig.skeleton().bones().position(|bone| rig.skeleton().name(bone) == "forearm").expect("one");
        let mut elbow = Self { rig, forearm, rest: Vec::new() };
        elbow.rest = elbow.bent(&Recipe::default(), 0.0);
        elbow
    }

    pub fn bent(&self, recipe: &Recipe, degrees: f64) -> Vec<DVec3> {
        let stage = Stage::new(&self.rig, recipe).expect("fits");
        let mut workspace = Workspace::default();
        let mut pose = self.rig.rest_pose();
        if let LocalTransform::Trs(trs) = &mut pose.locals[self.forearm] {
            trs.rotation *= DQuat::from_rotation_x(degrees.to_radians());
        }
        stage.posed(&pose, &stage.at_rest(), 0.0, &mut workspace).expect("fits").deform(&Cpu::serial());
        placed(&self.rig, workspace.mesh())
    }

    /// The line of the skin in the plane of the bend, outside (−1) or in the crook (1), between two heights: the edges
    /// of the rest pose that cross that plane, from the shoulder on, where they are when bent.
    fn line(&self, points: &[DVec3], side: f64, low: f64, high: f64) -> Vec<DVec3> {
        let mut found: Vec<(f64, DVec3)> = Vec::new();
        for corners in self.rig.triangles() {
            for (a, b) in [(0, 1), (1, 2), (2, 0)].map(|(a, b)| (corners[a] as usize, corners[b] as usize)) {
                let (from, to) = (self.rest[a], self.rest[b]);
                if a < b && from.x * to.x <= 0.0 && from.x != to.x {
                    let t = from.x / (from.x - to.x);
                    let at = from.lerp(to, t);
                    if at.z * side > 0.0 && at.y > low && at.y < high {
                        found.push((at.y, points[a].lerp(points[b], t)));
                    }
                }
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.dedup_by(|a, b| (a.0 - b.0).abs() < 1e-6);
        found.into_iter().map(|(_, point)| point).collect()
    }
}

/// Points of a line at even distances.
fn resampled(line: &[DVec3], step: f64) -> Vec<DVec3> {
    let mut out = vec![line[0]];
    let mut left = step;
    for pair in line.windows(2) {
        let (mut from, mut length) = (pair[0], pair[0].distance(pair[1]));
        while length >= left {
            from = from.lerp(pair[1], left / length);
            out.push(from);
            length -= left;
            left = step;
        }
        left -= length;
    }
    out
}

/// The sharpest turn of a line, seen at that distance.
fn sharpest(line: &[DVec3], step: f64) -> f64 {
    let turn = |p: &[DVec3]| (p[1] - p[0]).angle_between(p[2] - p[1]);
    resampled(line, step).windows(3).map(turn).fold(0.0, f64::max)
}

/// Heights of the arm between which its elbow lies.
const AROUND: [f64; 2] = [0.19, 0.39];
/// From the joint to the outside of the elbow.
const RADIUS: f64 = 0.0365;
/// How much sharper than a circular arc a bent line may turn.
pub const ROUND: f64 = 1.5;

impl Elbow {
    /// The sharpest turn of the outer line when bent, seen at 2 % of the size, over that of a circular arc about the joint.
    /// Where the arc turns less than the skin does when straight, it is that.
    pub fn sharpness(&self, points: &[DVec3], degrees: f64) -> f64 {
        let step = 0.02 * self.rig.characters()[0].size;
        let of = |points: &[DVec3]| sharpest(&self.line(points, -1.0, AROUND[0], AROUND[1]), step);
        let arc = (step / RADIUS).min(degrees.to_radians());
        of(points) / arc.max(of(&self.rest))
    }
}
