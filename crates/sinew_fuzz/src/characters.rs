//! The characters that are fuzzed: as small as they can be with bones, a clip and something to move.

use sinew::recipe::RecipeFile;
use sinew::{Cpu, Outputs, Stage, Workspace};
use sinew_gltf::{Asset, Document};
use sinew_testkit::glb::Builder;
use std::sync::OnceLock;

/// By the name that commands know it by.
pub const TUBE: &str = "zoo:tube:vertices=40,bones=3";

/// The tube in a file.
pub fn tube() -> &'static Asset {
    static TUBE_ASSET: OnceLock<Asset> = OnceLock::new();
    TUBE_ASSET.get_or_init(|| {
        let made = sinew_zoo::build(TUBE.trim_start_matches("zoo:")).expect("a built-in character");
        Asset::exported(TUBE, &made.raw, &made.clips).expect("sound")
    })
}

/// Files to start from: the smallest rig by hand, the tube, and the tube baked.
pub fn documents() -> &'static [Document] {
    static DOCUMENTS: OnceLock<Vec<Document>> = OnceLock::new();
    DOCUMENTS.get_or_init(|| {
        let by_hand = Document::from_slice("by hand", &Builder::rigged().glb(), None).expect("sound");
        vec![by_hand, tube().document.clone().expect("in a file"), baked().clone()]
    })
}

/// The tube, baked.
pub fn baked() -> &'static Document {
    static BAKED: OnceLock<Document> = OnceLock::new();
    BAKED.get_or_init(|| {
        let recipe = RecipeFile::parse("version = 1\n[[effect]]\ntype = 'floppy'\n").expect("a recipe");
        let options = sinew_bake::Options { fps: 10.0, ..Default::default() };
        sinew_export::bake(tube(), &recipe, &options).expect("bakes").document
    })
}

/// Coordinates whose squares are beyond f32: a file that asks for them has nothing that effects could be added to, and
/// commands refuse the frame.
const BEYOND_SQUARES: f32 = 1e18;

/// Plays a moment of the first clip, or the rest pose; every number must be one where those of the base are of a size
/// that can be reckoned with.
pub fn play(asset: &Asset, recipe: &RecipeFile) {
    let recipe_of_clips = recipe.recipe().without_strength();
    let Ok(stage) = Stage::new(&asset.rig, &recipe_of_clips) else { return };
    let mut workspace = Workspace::with(Outputs { base: true, ..Outputs::default() });
    let settings = |name: &str| recipe.motion(name);
    let clip = asset.clips.first();
    match clip.and_then(|clip| stage.motion(clip, &settings(&clip.name)).ok()) {
        Some(playing) => {
            playing.frame(0.3, &mut workspace);
        }
        None => stage.resting(&mut workspace).deform(&Cpu::serial()),
    }
    if workspace.base().positions.iter().any(|p| !p.is_finite() || p.abs().max_element() > BEYOND_SQUARES) {
        return;
    }
    let mesh = workspace.mesh();
    assert!(mesh.positions.iter().all(|p| p.is_finite()), "a position is no number");
    assert!(mesh.normals.iter().all(|n| n.is_finite()), "a normal is no number");
}
