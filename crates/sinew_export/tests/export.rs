//! From a character to files and back, in the few lines a program needs.

use sinew::clip::Track;
use sinew::{Clip, Curve, LoopVerdict, Motion, Stage, Workspace};
use sinew::{RecipeFile, presets};
use sinew_export::{ExportError, Options, Packing, Sequence, Shipping, Tolerance, bake, bake_clips, bake_shipped};
use sinew_gltf::{Asset, Document, strip};
use sinew_testkit::assets;
use sinew_testkit::spec::SpecFile;

fn tube() -> Asset {
    let tube = sinew_zoo::build("tube:vertices=200,bones=3").expect("a tube");
    Asset::exported("tube", &tube.raw, &tube.clips).expect("sound")
}

fn lively() -> RecipeFile {
    RecipeFile::parse(presets::get("lively").expect("a preset")).expect("a recipe")
}

fn coarse() -> Options {
    Options { tolerance: Tolerance::OfSize(5e-3), ..Options::default() }
}

#[test]
fn a_baked_file_plays_the_frames_that_were_computed() {
    let (tube, lively) = (tube(), lively());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("baked.glb");
    let baked = bake(&tube, &lively, &coarse()).expect("bakes");
    baked.document.save(&path).expect("writable");
    assert!(baked.report.within_tolerance() && baked.report.most_targets() > 0 && baked.repaired.is_empty());

    let played = SpecFile::open(&path);
    let part = &tube.rig.parts()[0];
    let size = tube.rig.characters()[0].size;
    let sequence = Sequence::new(&tube, &lively, 0, 60.0).expect("the clip can be read");
    let (mut worst, mut moved) = (0.0f64, 0.0f64);
    let plain = SpecFile::from_bytes(&tube.document.as_ref().expect("a file").to_glb().expect("writable"), None);
    let frames = sequence.play(|frame, mesh| {
        let time = sequence.times()[frame];
        let of = |file: &SpecFile| file.positions(part.node, Some(0), time).remove(0);
        for (vertex, (played, plain)) in of(&played).into_iter().zip(of(&plain)).enumerate() {
            let wanted = mesh.world_position(part.character, vertex);
            worst = worst.max(wanted.distance(played.into()) / size);
            moved = moved.max(wanted.distance(plain.into()) / size);
        }
        Ok::<(), ExportError>(())
    });
    frames.expect("plays");
    assert!(worst <= 5e-3 + 3e-6 && moved > 1e-2, "off by {worst}, moved by {moved}");
}

#[test]
fn what_was_added_can_be_taken_off_and_is_not_baked_over() {
    let (tube, lively) = (tube(), lively());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("baked.glb");
    let baked = bake(&tube, &lively, &coarse()).expect("bakes");
    baked.document.save(&path).expect("writable");
    let mut stripped = Document::open(&path).expect("opens");
    assert!(stripped.has_layer());
    assert!(strip(&mut stripped).expect("ours") && !stripped.has_layer());
    assert_eq!(stripped.to_glb().ok(), tube.document.as_ref().expect("a file").to_glb().ok());

    let as_it_is = Asset::open(&path).expect("opens");
    assert!(matches!(bake(&as_it_is, &lively, &coarse()), Err(ExportError::BakedBefore { .. })));
    let again = bake(&Asset::open_original(&path).expect("opens"), &lively, &coarse()).expect("bakes");
    assert_eq!(again.document.to_glb().ok(), baked.document.to_glb().ok());
}

#[test]
fn what_cannot_be_exported_is_told() {
    let (tube, lively) = (tube(), lively());
    let homeless = Asset::from_raw("homeless", tube.raw.clone(), tube.clips.clone()).expect("sound");
    assert!(matches!(bake(&homeless, &lively, &coarse()), Err(ExportError::NoFile { .. })));
    let missing = bake_clips(&tube, &lively, &[7], &coarse(), &|_| ());
    assert!(matches!(missing, Err(ExportError::NoSuchClip { clip: 7, .. })));
    let nothing = bake_clips(&tube, &lively, &[], &coarse(), &|_| ()).map(drop);
    assert_eq!(nothing.expect_err("no clips").to_string(), "tube: nothing to bake: there is no clip");
}

#[test]
fn caches_hold_the_vertices_of_the_obj() {
    let (tube, lively) = (tube(), lively());
    let sequence = Sequence::new(&tube, &lively, 0, 10.0).expect("the clip can be read");
    let (mut obj, mut pc2, mut mdd) = (Vec::new(), Vec::new(), Vec::new());
    sequence.write_obj(0, &mut obj).expect("written");
    sequence.write_pc2(&mut pc2).expect("written");
    sequence.write_mdd(&mut mdd).expect("written");
    let text = String::from_utf8(obj).expect("text");
    let numbers = |line: &str| line.split(' ').map(|x| x.parse::<f32>().expect("a number")).collect::<Vec<_>>();
    let vertices: Vec<f32> = text.lines().filter_map(|line| line.strip_prefix("v ")).flat_map(numbers).collect();
    let (frames, bytes) = (sequence.times().len(), 4 * vertices.len());
    assert!(frames > 5 && bytes == 12 * tube.rig.vertex_count());
    let word = |bytes: &[u8]| -> [u8; 4] { bytes.try_into().expect("four bytes") };
    let first = |cache: &[u8], header: usize, read: fn([u8; 4]) -> f32| -> Vec<f32> {
        assert_eq!(cache.len(), header + frames * bytes);
        cache[header..header + bytes].chunks(4).map(|x| read(word(x))).collect()
    };
    assert_eq!(first(&pc2, 32, f32::from_le_bytes), vertices);
    assert_eq!(first(&mdd, 8 + 4 * frames, f32::from_be_bytes), vertices);
}

/// The tube with a swing of one second, 30 keys a second, whose closing key is missing.
fn open_loop() -> Asset {
    let tube = sinew_zoo::build("tube:vertices=200,bones=3").expect("a tube");
    let times: Vec<f64> = (0..30).map(|key| f64::from(key as f32 / 30.0)).collect();
    let turn = |t: &f64| glam::Quat::from_rotation_z((0.7 * (std::f64::consts::TAU * t).sin()) as f32);
    let curve = Curve::new(sinew::Interpolation::Linear, times.clone(), times.iter().map(turn).collect());
    let node = tube.clips[0].tracks.iter().map(|track| track.node).max().expect("a track");
    let track = Track { node, rotation: Some(curve.expect("sound")), ..Track::default() };
    let clip = Clip { name: "swing".into(), tracks: vec![track] };
    Asset::exported("open", &tube.raw, &[clip]).expect("sound")
}

#[test]
fn a_loop_gets_its_closing_key_in_the_copy() {
    let (open, lively) = (open_loop(), lively());
    let baked = bake(&open, &lively, &coarse()).expect("bakes");
    assert_eq!(baked.closed.len(), 1);
    assert!((baked.closed[0].seconds - 1.0 / 30.0).abs() < 1e-6, "{:?}", baked.closed);
    let seam = baked.report.clips[0].seam.expect("a loop that closes");
    assert!(seam.position == 0.0, "{seam:?}");
    let bytes = baked.document.to_glb().expect("writable");
    let copy = Asset::from_slice("copy", &bytes).expect("sound");
    let settings = lively.motion("swing");
    let motion = Motion::new(copy.rig.puppet(), &copy.clips[0], &settings, &[]).expect("sound");
    assert!(matches!(motion.report().verdict, LoopVerdict::Closed { .. }), "{:?}", motion.report());
    // Also after the last key of the file, the copy plays what the motion without that key does.
    let solved = lively.solve(&open.rig, &open.clips).expect("solvable");
    let stage = Stage::new(&open.rig, solved.recipe(0)).expect("fits");
    let motion = stage.motion(&open.clips[0], &settings).expect("sound");
    let played = SpecFile::from_bytes(&bytes, None);
    let (part, mut workspace) = (&open.rig.parts()[0], Workspace::default());
    let size = open.rig.characters()[0].size;
    for step in 0..=120 {
        let time = f64::from(step as f32 / 120.0);
        let mesh = motion.frame(time, &mut workspace);
        let positions = played.positions(part.node, Some(0), time).remove(0);
        for (vertex, played) in positions.into_iter().enumerate() {
            let off = mesh.world_position(part.character, vertex).distance(played.into()) / size;
            assert!(off <= 5e-3 * 1.01, "{time}: {off}");
        }
    }
    let mut stripped = Document::from_slice("copy", &bytes, None).expect("opens");
    assert!(strip(&mut stripped).expect("ours"));
    assert_eq!(stripped.to_glb().ok(), open.document.as_ref().expect("a file").to_glb().ok());
    // As one that does not loop, it is left as it is.
    let once = RecipeFile::parse(&format!("{lively}\n[clip.\"*\"]\nloop = \"no\"\n")).expect("a recipe");
    assert!(bake(&open, &once, &coarse()).expect("bakes").closed.is_empty());
}

/// What is previewed of it is what is baked: the key that is added changes no frame, of bones that follow others either.
#[test]
fn a_loop_without_its_closing_key_plays_as_its_closed_copy_does() {
    let recipe = "version = 1\n[[effect]]\ntype = \"floppy\"\ntranslation = 0.01\nrotation = 0.07\nroot = 0.6\n[[effect]]\n\
                  type = \"squash\"\ntranslation = 0.15\nrotation = 0.05\nroot = 0.6\n";
    let recipe = RecipeFile::parse(recipe).expect("a recipe");
    let named = ["Quaternius_Velociraptor.glb", "RobotExpressive.glb", "CesiumMan.glb"];
    let real = named.into_iter().filter_map(assets::asset).map(|path| Asset::open(path).expect("opens"));
    for asset in std::iter::once(open_loop()).chain(real) {
        let stage = Stage::new(&asset.rig, recipe.recipe()).expect("fits");
        let size = asset.rig.characters()[0].size;
        let mut open_loops = 0;
        for clip in &asset.clips {
            let settings = recipe.motion(&clip.name);
            let motion = Motion::new(asset.rig.puppet(), clip, &settings, &[]).expect("binds");
            let Some((closed, _)) = motion.closed(clip, asset.rig.skeleton()) else { continue };
            open_loops += 1;
            let (open, closed) = (stage.motion(clip, &settings), stage.motion(&closed, &settings));
            let (open, closed) = (open.expect("a motion"), closed.expect("a motion"));
            let (start, length) = (open.report().start, open.report().period.expect("a loop"));
            for step in 0..20 {
                let time = start + length * f64::from(step) / 20.0;
                let (mut here, mut there) = (Workspace::default(), Workspace::default());
                let (a, b) = (open.frame(time, &mut here), closed.frame(time, &mut there));
                let apart = a.positions.iter().zip(&b.positions).map(|(a, b)| f64::from(a.distance(*b)));
                let apart = apart.fold(0.0, f64::max) / size;
                assert!(apart < 1e-5, "{} {} at {time}: {apart}", asset.name, clip.name);
            }
        }
        assert!(open_loops > 0, "{}", asset.name);
    }
}

#[test]
fn a_budget_of_bytes_is_kept_or_told() {
    let (tube, lively) = (tube(), lively());
    let fine = Options { tolerance: Tolerance::OfSize(2e-4), ..Options::default() };
    let within = |max_bytes: u64, best_effort: bool| {
        let shipping = Shipping { max_bytes: Some(max_bytes), ..Shipping::default() };
        let options = Options { best_effort, ..fine.clone() };
        bake_shipped(&tube, &lively, &[0], None, &options, &shipping, &|_| ())
    };
    let free = bake_clips(&tube, &lively, &[0], &fine, &|_| ()).expect("bakes");
    let bytes = free.document.glb_bytes().expect("writable");
    let original = tube.document.as_ref().expect("a file").glb_bytes().expect("writable");
    assert_eq!(within(bytes, false).expect("fits").document.to_glb().ok(), free.document.to_glb().ok());
    let budget = original + (bytes - original) / 2;
    let Err(ExportError::TooLarge { source, .. }) = within(budget, false) else { panic!("too large") };
    assert!(source.tried.len() > 1 && source.tried[0].bytes == bytes, "{source:?}");
    assert!(source.tried.last().is_some_and(|last| last.bytes <= budget), "{source:?}");
    let text = source.to_string();
    assert!(text.contains(&format!("{budget} are allowed")) && text.contains("0.020 %"), "{text}");
    let kept = within(budget, true).expect("the best that fits");
    assert!(kept.document.glb_bytes().expect("writable") <= budget);
    assert!(kept.report.largest_share() > 2e-4 && !kept.report.within_tolerance());
    let fitting = kept.sizes.iter().filter(|point| point.bytes <= budget);
    let least = fitting.map(|point| point.largest_share).fold(f64::INFINITY, f64::min);
    assert!(kept.report.largest_share() <= least * 1.5, "{:?}", kept.sizes);
    assert!(matches!(within(original / 2, true), Err(ExportError::TooLarge { .. })));
}

#[test]
fn packed_files_are_smaller_and_the_same() {
    let (tube, lively) = (tube(), lively());
    let bake = |packing| {
        let shipping = Shipping { packing, ..Shipping::default() };
        bake_shipped(&tube, &lively, &[0], None, &coarse(), &shipping, &|_| ()).expect("bakes")
    };
    let (plain, packed) = (bake(None), bake(Some(Packing::Meshopt)));
    let bytes = packed.document.to_glb().expect("writable");
    let told = packed.packed.expect("told");
    assert!(told.packed < told.plain && plain.packed.is_none(), "{told:?}");
    let read = Document::from_slice("packed", &bytes, None).expect("opens");
    let (a, b) = (SpecFile::from_bytes(&read.to_glb().expect("writable"), None), plain.document.to_glb());
    let b = SpecFile::from_bytes(&b.expect("writable"), None);
    let node = tube.rig.parts()[0].node;
    assert_eq!(a.positions(node, Some(0), 0.4), b.positions(node, Some(0), 0.4));
    let mut stripped = read;
    assert!(strip(&mut stripped).expect("ours"));
    assert_eq!(stripped.to_glb().ok(), tube.document.as_ref().expect("a file").to_glb().ok());
}
