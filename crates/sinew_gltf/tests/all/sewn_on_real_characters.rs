//! A cape stays on its shoulders and is alive, on real characters: clips drawn by a seed, with the lively and the
//! strongest preset.

use glam::DVec3;
use sinew::anatomy::Role;
use sinew::recipe::Sewn;
use sinew::strokes::surface::SurfaceTree;
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;

/// Share of the size: what is nearer at rest touches, and what parts farther is seen.
const SEEN: f64 = 5e-3;

fn by_slot(rig: &Rig, mesh: &DeformedMesh) -> Vec<DVec3> {
    let mut points = vec![DVec3::ZERO; rig.slots()];
    (0..rig.vertex_count()).for_each(|v| points[rig.point(v)] = mesh.positions[v].as_dvec3());
    points
}

#[test]
fn capes_stay_on_their_shoulders_and_live() {
    let mut seed = 17u64;
    for file in ["KayKit_Knight.glb", "KayKit_Barbarian.glb"] {
        let Some(path) = asset(file) else { return };
        let Asset { rig, clips, .. } = Asset::open(&path).expect("opens");
        let anatomy = Anatomy::of(&rig);
        let size = rig.characters()[0].size;
        let is_cape = |slot: u32| anatomy.role_of_point(slot as usize) == Role::Cloth && rig.is_rider(slot as usize);
        let firm = |slot: u32| !rig.is_rider(slot as usize);
        let faces: Vec<[u32; 3]> = rig.point_triangles().iter().copied().filter(|face| firm(face[0])).collect();
        let cape: Vec<u32> = (0..rig.slots() as u32).filter(|&slot| is_cape(slot)).collect();
        assert!(!cape.is_empty(), "{file} has a cape");
        let parted = |points: &[DVec3], slot: u32| {
            let p = points[slot as usize];
            let place = SurfaceTree::new(&faces, points).and_then(|tree| tree.nearest(p));
            place.and_then(|place| place.at(&faces, points)).map_or(0.0, |q| q.distance(p) / size)
        };
        let rest_pose = Stage::new(&rig, &Recipe::default()).expect("fits");
        let mut workspace = Workspace::default();
        let kinematics = rest_pose.at_rest();
        rest_pose.posed(&rig.rest_pose(), &kinematics, 0.0, &mut workspace).expect("fits").deform(&Cpu::serial());
        let rest = by_slot(&rig, &workspace.take_mesh());
        let touching: Vec<u32> = cape.iter().copied().filter(|&slot| parted(&rest, slot) < SEEN).collect();
        assert!(touching.len() > 3 && touching.len() < cape.len(), "{file}: {} touch", touching.len());
        for preset in ["lively", "cartoon"] {
            let told = RecipeFile::parse(presets::get(preset).expect("a preset")).expect("parses");
            let told = told.recipe().without_strength();
            let stages =
                [Sewn::None, Sewn::Auto].map(|sewn| Stage::new(&rig, &Recipe { sewn, ..told.clone() }).expect("fits"));
            let (mut widest, mut farthest) = ([0.0f64; 2], [0.0f64; 2]);
            for _ in 0..4 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let clip = &clips[(seed >> 33) as usize % clips.len()];
                for ((stage, widest), farthest) in stages.iter().zip(&mut widest).zip(&mut farthest) {
                    let playing = stage.motion(clip, &MotionSettings::default()).expect("plays");
                    let report = playing.report();
                    for i in 0..6 {
                        let time = report.start + (f64::from(i) + 0.5) / 6.0 * (report.last_key - report.start);
                        let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
                        playing.frame(time, &mut workspace);
                        let base = by_slot(&rig, &workspace.take_base());
                        let held = by_slot(&rig, &workspace.take_mesh());
                        for &slot in &touching {
                            *widest = widest.max(parted(&held, slot) - parted(&base, slot));
                        }
                        let moved = |&slot: &u32| held[slot as usize].distance(base[slot as usize]) / size;
                        *farthest = cape.iter().map(moved).fold(*farthest, f64::max);
                    }
                }
            }
            println!("{file} {preset}: gap {:.2} %, sewn {:.2} %", 100.0 * widest[0], 100.0 * widest[1]);
            assert!(widest[1] < SEEN, "{file} {preset}: {widest:?}");
            // Its free end swings as it did.
            assert!(farthest[1] > 0.8 * farthest[0], "{file} {preset}: {farthest:?}");
        }
    }
}
