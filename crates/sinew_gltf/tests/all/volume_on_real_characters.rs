//! Volume of closed characters through all their clips, before and after, as a table:
//! `cargo test -p sinew_gltf --test all volume_on_real_characters -- --nocapture`.
use glam::{DVec3, Vec3};
use sinew::correct::{Measure, Outcome};
use sinew::recipe::CorrectionSpec;
use sinew::*;
use sinew_gltf::Asset;
use sinew_testkit::assets::asset;
use std::collections::{BTreeMap, HashMap};

const CLOSED: [&str; 7] = [
    "CesiumMan.glb",
    "Fox.glb",
    "Quaternius_Apatosaurus.glb",
    "Quaternius_Velociraptor.glb",
    "Quaternius_farm/Cow.gltf",
    "Quaternius_Snake.glb",
    "Spot_velocity_skinning.glb",
];

/// Frames per clip; all at 30 per second if `SINEW_FULL` is set.
const FRAMES: usize = 12;

/// Σ over the file's own triangles, about the mean. Vertices that share a place at rest are one: an exporter may have
/// rounded the weights of copies apart.
fn enclosed(raw: &RawRig, rig: &Rig, mesh: &DeformedMesh) -> f64 {
    let places = raw.meshes.iter().flat_map(|mesh| &mesh.primitives).flat_map(|primitive| &primitive.positions);
    let mut copies: HashMap<[u32; 3], Vec<usize>> = HashMap::new();
    for (vertex, place) in places.enumerate() {
        copies.entry((*place + Vec3::ZERO).to_array().map(f32::to_bits)).or_default().push(vertex);
    }
    let mut points = vec![DVec3::ZERO; mesh.positions.len()];
    for here in copies.values() {
        // Each control point once, however many vertices it has.
        let once: HashMap<u32, usize> = here.iter().map(|&v| (rig.point_of_vertex()[v], v)).collect();
        let middle = once.values().map(|&v| mesh.positions[v].as_dvec3()).sum::<DVec3>() / once.len() as f64;
        here.iter().for_each(|&v| points[v] = middle);
    }
    let mean = points.iter().sum::<DVec3>() / points.len() as f64;
    let tetrahedra = rig.triangles().iter().map(|corners| {
        let [a, b, c] = corners.map(|vertex| points[vertex as usize] - mean);
        a.dot(b.cross(c)) / 6.0
    });
    tetrahedra.sum()
}

#[test]
fn closed_characters_keep_their_volume() {
    println!(
        "character                        clips  frames volume              before       after  rounds    largest  \
         segments not restored, by reason"
    );
    for name in CLOSED {
        let Some(path) = asset(name) else { return };
        let Asset { raw, rig, clips, .. } = Asset::open(&path).expect("imports");
        for (scope, shape) in [("whole", "organic"), ("whole", "rubber"), ("both", "bulge"), ("both", "muscle")] {
            let mut spec = CorrectionSpec::new("volume").expect("there is one");
            spec.values.choose("scope", scope).expect("a scope");
            spec.values.choose("shape", shape).expect("a shape");
            let recipe = Recipe { corrections: vec![spec], ..Recipe::default() };
            let stage = Stage::new(&rig, &recipe).expect("fits");
            let mut workspace = Workspace::default();
            let (mut before, mut after, mut rounds, mut largest) = (0.0f64, 0.0f64, 0, 0.0f64);
            let mut frames = 0;
            let mut unfinished: BTreeMap<String, usize> = BTreeMap::new();
            for clip in &clips {
                let playing = stage.motion(clip, &MotionSettings::default()).expect("reads");
                let (start, end) = clip.span().unwrap_or((0.0, 0.0));
                let full = std::env::var_os("SINEW_FULL").is_some();
                let count = if full { ((end - start) * 30.0).ceil() as usize + 1 } else { FRAMES };
                for frame in 0..count {
                    let time = start + (end - start) * frame as f64 / count as f64;
                    let out = playing.frame(time, &mut workspace);
                    let whole = out.corrected.volumes.iter().find(|report| report.measure == Measure::Whole);
                    let whole = whole.expect("a report on the whole");
                    let drift = |volume: f64| (volume / whole.target - 1.0).abs();
                    // Where skin folds near every place that may swell, it falls short, and says so.
                    let is_short = whole.outcome == Outcome::MoveBound;
                    assert!(
                        is_short || matches!(whole.outcome, Outcome::Restored | Outcome::Still),
                        "{name}: {whole:?}"
                    );
                    assert!(drift(whole.after) <= drift(whole.before) + 1e-6, "{name}: {whole:?}");
                    // Positions are rounded to f32 after the correction.
                    let measured = enclosed(&raw, &rig, out);
                    assert!((measured / whole.after - 1.0).abs() < 1e-5, "{name}: {measured} {whole:?}");
                    before = before.max(drift(whole.before));
                    after = after.max(if is_short { 0.0 } else { drift(measured) });
                    rounds = rounds.max(whole.rounds);
                    largest = largest.max(whole.largest_move / rig.characters()[0].size);
                    frames += 1;
                    for report in &out.corrected.volumes {
                        if !matches!(report.outcome, Outcome::Restored | Outcome::Still) {
                            *unfinished.entry(format!("{:?}", report.outcome)).or_default() += 1;
                        }
                    }
                }
            }
            println!(
                "{name:<32} {:>5} {frames:>7} {:<14} {:>9.4} % {:>11.1e} {rounds:>7} {:>8.2} %  {unfinished:?}",
                clips.len(),
                format!("{scope} {shape}"),
                100.0 * before,
                after,
                100.0 * largest,
            );
            assert!(after <= 1e-5, "{name} {scope}: {after}");
        }
    }
}
