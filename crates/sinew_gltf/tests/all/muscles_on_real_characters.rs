//! Muscles that nobody names, on real characters: seen where flesh is, in what moves fast, and nowhere else.
use sinew::anatomy::{Anatomy, Role};
use sinew::recipe::CorrectionSpec;
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;

const CHARACTERS: [&str; 8] = [
    "CesiumMan.glb",
    "Fox.glb",
    "Quaternius_farm/Cow.gltf",
    "Quaternius_Velociraptor.glb",
    "Quaternius_Apatosaurus.glb",
    "Quaternius_Frog.glb",
    "Quaternius_knight/KnightCharacter.gltf",
    "MakeHuman_skirt.glb",
];
const FRAMES: usize = 12;
/// Clips looked at.
const CLIPS: usize = 6;

#[test]
fn flesh_is_seen_to_swing_in_what_moves_and_nothing_else_is() {
    let has_flesh = |role: Role| matches!(role, Role::Spine | Role::Arm | Role::Leg | Role::Flesh);
    for name in CHARACTERS {
        let Some(path) = asset(name) else { return };
        let Asset { rig, clips, .. } = Asset::open(&path).expect("imports");
        let anatomy = Anatomy::of(&rig);
        let spec = CorrectionSpec::new("muscles").expect("there is one");
        let recipes = [Recipe::default(), Recipe { corrections: vec![spec], ..Recipe::default() }];
        let stages = recipes.map(|recipe| Stage::new(&rig, &recipe).expect("a stage"));
        let size = rig.characters()[0].size;
        let mut workspaces = [Workspace::default(), Workspace::default()];
        let mut most: f64 = 0.0;
        for clip in clips.iter().take(CLIPS) {
            let motions = [0, 1].map(|k| stages[k].motion(clip, &Default::default()).expect("a motion"));
            let (start, end) = clip.span().unwrap_or_default();
            // How far points go and how far flesh swings, in sizes.
            let (mut travelled, mut swung): (f64, f64) = (0.0, 0.0);
            let mut before: Option<Vec<glam::DVec3>> = None;
            for frame in 0..FRAMES {
                let time = start + (end - start) * (frame as f64 + 0.5) / FRAMES as f64;
                let [base, with] = [0, 1].map(|k| {
                    motions[k].frame(time, &mut workspaces[k]);
                    let mesh = workspaces[k].mesh();
                    (0..rig.vertex_count()).map(|v| mesh.world_position(0, v)).collect::<Vec<_>>()
                });
                let first = before.get_or_insert_with(|| base.clone());
                for vertex in 0..rig.vertex_count() {
                    let moved = base[vertex].distance(with[vertex]) / size;
                    let role = rig.main_bone(rig.point(vertex)).map_or(Role::Prop, |bone| anatomy.bone(bone).role);
                    assert!(moved < 1e-6 || has_flesh(role), "{name}: {role} moves by {moved}");
                    swung = swung.max(moved);
                    travelled = travelled.max(base[vertex].distance(first[vertex]) / size);
                }
            }
            println!("{name:<40} {:<30} goes {travelled:.3}, swings {swung:.4} sizes", clip.name);
            assert!(swung < 0.05, "{name}, {}: {swung}", clip.name);
            assert!(travelled > 0.1 || swung < 0.003, "{name}, {}: {swung}", clip.name);
            most = most.max(swung);
        }
        assert!(most > 0.007, "{name}: flesh swings by {most} at most");
    }
}
