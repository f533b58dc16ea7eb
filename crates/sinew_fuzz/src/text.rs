//! Recipes and painted maps.

use crate::characters::{play, tube};
use sinew::Rig;
use sinew::recipe::RecipeFile;
use sinew_gltf::map_file::{self, MapFile};

/// Any text, as a recipe; a sound one is played.
pub fn recipe(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(recipe) = RecipeFile::parse(text) else { return };
    assert_eq!(recipe.to_string(), text, "the text is kept");
    play(tube(), &recipe);
}

pub fn recipe_seeds() -> Vec<Vec<u8>> {
    let template = RecipeFile::template();
    // All keys there are, said one by one.
    let said: String = template.lines().map(|line| format!("{}\n", line.strip_prefix("# ").unwrap_or(line))).collect();
    let presets = sinew::presets::names().iter().map(|preset| preset.text.as_bytes().to_vec());
    presets.chain([template.into_bytes(), said.into_bytes()]).collect()
}

/// Any text, as a painted map of the tube.
pub fn map(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(map) = MapFile::from_text("fuzz", text) else { return };
    assert_eq!(MapFile::from_text("again", &map.to_text()).expect("own output is read"), map);
    let mut raw = tube().raw.clone();
    if map_file::apply(&mut raw, &map).is_ok() {
        Rig::build(&raw).expect("a painted rig is a rig");
    }
}

pub fn map_seeds() -> Vec<Vec<u8>> {
    let rig = &tube().rig;
    let part = &rig.parts()[0];
    let values = part.primitives[0].vertices.clone().map(|vertex| vertex as f32 / 40.0).collect();
    vec![MapFile::new(&tube().raw, "belly", part.node, 0, values).expect("a map").to_text().into_bytes()]
}
