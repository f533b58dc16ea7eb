//! Pieces that touch stay together: a cape that hangs on a bending tube, its upper edge on points of the tube.

use crate::common::{Subject, bits, effect, recipe};
use glam::{DQuat, DVec3, Vec3};
use sinew::raw::{RawBinding, RawBone, RawMesh, RawPrimitive};
use sinew::recipe::{Normals, Planted, Riders, Sewn};
use sinew::*;

/// Rows of a cape below its edge.
const ROWS: usize = 12;

/// A cape on a tube.
struct Caped {
    subject: Subject,
    /// Points across the cape.
    across: usize,
    /// Per point of its edge: the vertex of the tube at the same place.
    edge: Vec<usize>,
    scale: f32,
}

/// A cape that rides on a bone of a tube `scale` times as large, as a mesh before or after the tube's. Its upper edge
/// lies on the ring of the tube at `height`, and it falls away from the tube below.
fn caped(scale: f32, bone: &str, height: f32, first: bool) -> Caped {
    let spec = format!("tube:vertices=800,bones=4,radius={},length={}", 0.2 * scale, 2.0 * scale);
    let mut zoo = sinew_zoo::build(&spec).unwrap();
    let raw = &mut zoo.raw;
    let tube = &raw.meshes[0].primitives[0].positions;
    let nearest =
        tube.iter().map(|p| p.y).min_by(|a, b| (a - height * scale).abs().total_cmp(&(b - height * scale).abs()));
    let ring = nearest.unwrap();
    let mut edge: Vec<usize> =
        (0..tube.len()).filter(|&v| (tube[v].y - ring).abs() < 1e-4 * scale && tube[v].x > 0.05 * scale).collect();
    edge.sort_by(|&a, &b| tube[a].z.total_cmp(&tube[b].z));
    // A node at the origin, so that the cape's own space is the world's at rest.
    let carrier = raw.bones.iter().position(|found| found.name == bone).unwrap();
    let (mut origin, mut at) = (DVec3::ZERO, Some(carrier));
    while let Some(bone) = at {
        let LocalTransform::Trs(local) = &raw.bones[bone].local else { panic!("a tube's bones are turns and shifts") };
        assert_eq!(local.rotation, DQuat::IDENTITY);
        origin += local.translation;
        at = raw.bones[bone].parent;
    }
    let mut cape = RawPrimitive { color: [1.0; 4], ..RawPrimitive::default() };
    for row in 0..=ROWS {
        let down = row as f32 * scale;
        for &v in &edge {
            let out = Vec3::new(tube[v].x, 0.0, tube[v].z).normalize();
            cape.positions.push(tube[v] + out * (0.06 * down) - Vec3::Y * (0.07 * down));
        }
    }
    let across = edge.len() as u32;
    for (row, i) in (0..ROWS as u32).flat_map(|row| (0..across - 1).map(move |i| (row, i))) {
        let [a, b] = [row * across + i, row * across + i + 1];
        cape.triangles.extend([[a, b, b + across], [a, b + across, a + across]]);
    }
    let node = raw.bones.len();
    let local = LocalTransform::Trs(Trs::from_translation(-origin));
    raw.bones.push(RawBone { name: "Cape".into(), parent: Some(carrier), local });
    let mesh = RawMesh {
        name: "Cape".into(),
        node,
        binding: RawBinding::Node,
        primitives: vec![cape],
        morph_weights: Vec::new(),
    };
    raw.meshes.insert(if first { 0 } else { raw.meshes.len() }, mesh);
    Caped { across: edge.len(), edge, subject: Subject::new(raw, zoo.clips), scale }
}

impl Caped {
    fn vertices(&self, mesh: &str) -> std::ops::Range<usize> {
        let part = self.subject.rig.parts().iter().find(|part| part.name == mesh).expect("a mesh of that name");
        part.primitives[0].vertices.clone()
    }

    fn frame(&self, recipe: &Recipe, time: f64, cpu: &Cpu<'_>) -> DeformedMesh {
        let stage = self.subject.stage(recipe);
        let motion = self.subject.motion(0, &MotionSettings::default(), &stage);
        self.subject.at(&stage, &motion, time, cpu)
    }

    /// Where the vertices of a mesh are, at the size of a tube of 2 m.
    fn places(&self, mesh: &str, frame: &DeformedMesh) -> Vec<DVec3> {
        let at = |v: usize| (frame.origins[0] + frame.positions[v].as_dvec3()) / f64::from(self.scale);
        self.vertices(mesh).map(at).collect()
    }
}

fn strong(sewn: Sewn) -> Recipe {
    let effects = vec![effect("floppy", &[("rotation", 0.3), ("max_angle", 0.8)]), effect("squash", &[])];
    Recipe { sewn, planted: Planted::None, ..recipe(effects) }
}

const TIMES: [f64; 4] = [0.2, 0.55, 0.9, 1.3];

#[test]
fn the_edge_follows_the_body_and_the_free_end_is_free() {
    let caped = caped(1.0, "tube.3", 1.1, false);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut parted = 0.0f64;
    for time in TIMES {
        let base = caped.frame(&Recipe::default(), time, &Cpu::serial());
        let free = caped.frame(&strong(Sewn::None), time, &Cpu::serial());
        let held = caped.frame(&strong(Sewn::Auto), time, &Cpu::serial());
        assert_eq!(
            bits(&held),
            bits(&caped.frame(&strong(Sewn::Auto), time, &Cpu { pool: Some(&pool), ..Cpu::serial() }))
        );
        let (tube, cape) = (caped.vertices("tube"), caped.vertices("Cape"));
        // The body is where it was.
        assert_eq!(held.positions[tube.clone()], free.positions[tube.clone()]);
        let moved = |frame: &DeformedMesh, v: usize| frame.positions[v] - base.positions[v];
        for (i, &under) in caped.edge.iter().enumerate() {
            let (own, under) = (cape.start + i, tube.start + under);
            parted = parted.max(f64::from((moved(&free, own) - moved(&free, under)).length()));
            let gap = (moved(&held, own) - moved(&held, under)).length();
            assert!(gap < 2e-6, "{i} at {time}: {gap}");
        }
        // Down each column what is added fades, without a step, and is gone before the lower third.
        let added = |row: usize, i: usize| {
            let v = cape.start + row * caped.across + i;
            (held.positions[v] - free.positions[v]).length()
        };
        for i in 0..caped.across {
            let most = (0..caped.across).map(|i| added(0, i)).fold(0.0f32, f32::max);
            for row in 1..=ROWS {
                let step = added(row - 1, i) - added(row, i);
                assert!((-0.05 * most..0.45 * most + 1e-6).contains(&step), "{row}, {i} at {time}: {step} of {most}");
            }
            for row in 2 * ROWS / 3..=ROWS {
                assert_eq!(added(row, i), 0.0, "{row}, {i} at {time}");
            }
        }
    }
    assert!(parted > 0.01, "nothing to sew: {parted}");
}

#[test]
fn size_and_order_of_meshes_do_not_matter() {
    let one = caped(1.0, "tube.3", 1.1, false);
    let (large, reordered) = (caped(100.0, "tube.3", 1.1, false), caped(1.0, "tube.3", 1.1, true));
    for time in TIMES {
        let frames = [&one, &large, &reordered].map(|caped| caped.frame(&strong(Sewn::Auto), time, &Cpu::serial()));
        for mesh in ["tube", "Cape"] {
            let expected = one.places(mesh, &frames[0]);
            for (case, caped, frame) in [("large", &large, &frames[1]), ("reordered", &reordered, &frames[2])] {
                let apart =
                    caped.places(mesh, frame).iter().zip(&expected).map(|(a, b)| a.distance(*b)).fold(0.0, f64::max);
                assert!(apart < 2e-5, "{mesh}, {case} at {time}: {apart}");
            }
        }
    }
}

#[test]
fn what_touches_far_from_its_joint_is_not_sewn() {
    // The cape of the topmost bone lies on the foot of the tube: a hand on a hip.
    let caped = caped(1.0, "tube.4", 0.9, false);
    for time in TIMES {
        let [free, held] = [Sewn::None, Sewn::Auto].map(|sewn| caped.frame(&strong(sewn), time, &Cpu::serial()));
        assert_eq!(bits(&held), bits(&free));
    }
}

#[test]
fn nothing_at_work_is_the_base_to_the_bit() {
    let caped = caped(1.0, "tube.3", 1.1, false);
    for normals in [Normals::Auto, Normals::Exact, Normals::Engine] {
        let mut quiet = Recipe { normals, ..strong(Sewn::Auto) };
        quiet.effects.iter_mut().for_each(|effect| effect.gain = 0.0);
        let base = caped.frame(&Recipe { normals, ..Recipe::default() }, 0.4, &Cpu::serial());
        assert_eq!(bits(&caped.frame(&quiet, 0.4, &Cpu::serial())), bits(&base), "{normals:?}");
    }
    // Riders that are to stay still do, whatever they touch.
    let still = caped.frame(&Recipe { riders: Riders::Still, ..strong(Sewn::Auto) }, 0.4, &Cpu::serial());
    let base = caped.frame(&Recipe::default(), 0.4, &Cpu::serial());
    assert_eq!(still.positions[caped.vertices("Cape")], base.positions[caped.vertices("Cape")]);
}
