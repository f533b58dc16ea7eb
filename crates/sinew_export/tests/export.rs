//! From a character to files and back, in the few lines a program needs.

use sinew::{RecipeFile, presets};
use sinew_export::{ExportError, Options, Sequence, Tolerance, bake, bake_clips};
use sinew_gltf::{Asset, Document, strip};
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
