//! Edits that need no drawing, through the whole pipeline: along bones, and as a wave.
use crate::common::Subject;
use glam::{DQuat, DVec3};
use sinew::correct::surface_edit::Profile;
use sinew::recipe::{EditShape, EditSpec, KeyCurve};
use sinew::*;

fn with(edits: Vec<EditSpec>) -> Recipe {
    Recipe { edits, ..Recipe::default() }
}

#[test]
fn radial_edits_follow_their_profile() {
    let subject = Subject::zoo("tube:vertices=3000,bones=2");
    // Distances to the bone grow as the profile says, at any pose of the first bone.
    let amount = KeyCurve::constant(0.5);
    let radial = EditSpec { amount, ..EditSpec::new(EditShape::Radial(Profile::Even)) };
    let radial = EditSpec { bones: vec!["tube.1".to_owned()], ..radial };
    let pose = subject.turned(&[("tube.2", DQuat::from_rotation_z(-0.8))]);
    let (base, grown) = (subject.posed(&Recipe::default(), &pose), subject.posed(&with(vec![radial]), &pose));
    for v in 0..base.positions.len() {
        let (p, q) = (base.world_position(0, v), grown.world_position(0, v));
        if (0.3..0.5).contains(&p.y) {
            assert!((q.x.hypot(q.z) / p.x.hypot(p.z) - 1.5).abs() < 0.02, "{p} → {q}");
        }
        if q.y > 1.4 && p.distance(DVec3::Y) > 0.5 {
            assert!(p.distance(q) < 1e-6, "on the other bone: {p} → {q}");
        }
    }
}

#[test]
fn a_wave_travels_along_its_stroke() {
    let subject = Subject::zoo("tube:vertices=6000,bones=2");
    let wave = EditSpec::new(EditShape::Wave {
        along: vec![DVec3::new(0.0, 0.2, 0.2), DVec3::new(0.0, 1.8, 0.2)],
        reach: 0.2,
        crests: 4.0,
        frequency_hz: 2.0,
    });
    let stage = subject.stage(&with(vec![wave]));
    let crest = |time: f64| {
        let mut workspace = Workspace::default();
        let posed = stage.posed(&subject.rig.rest_pose(), &stage.at_rest(), time, &mut workspace);
        posed.unwrap().deform(&Cpu::serial());
        let out = workspace.mesh();
        let near = (0..out.positions.len()).map(|v| out.world_position(0, v));
        // The highest point near the middle of the stroke, on its side.
        let near = near.filter(|p| (0.8..1.2).contains(&p.y) && p.z > 0.15 && p.x.abs() < 0.02);
        near.max_by(|a, b| a.z.total_cmp(&b.z)).expect("skin there")
    };
    let (first, later) = (crest(0.0), crest(0.05));
    assert!(first.z > 0.22 && later.z > 0.22, "{first} {later}");
    // In a tenth of a period of half a second a crest runs a tenth of its length of 0.4.
    assert!((later.y - first.y - 0.04).abs() < 0.025, "{first} → {later}");
}
