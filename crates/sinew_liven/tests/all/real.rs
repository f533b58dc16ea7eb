//! Real characters: a seeded sample of the table in the manual, as assertions.

use crate::measured::{Measured, measure, sampled, told};
use sinew_gltf::Asset;
use sinew_liven::Style;
use sinew_liven::judge::BOUNDED;
use sinew_testkit::assets::assets;
use sinew_testkit::random::Random;

fn full() -> bool {
    std::env::var_os("SINEW_FULL").is_some_and(|value| value == "1")
}

/// What must hold of a character, whatever it is. Strengths that fall short must be explained.
fn holds(name: &str, measured: &Measured) {
    let broken = measured.broken();
    let words: Vec<String> = broken
        .iter()
        .map(|(gate, value, most)| format!("{gate} {} > {}", told(gate, *value), told(gate, *most)))
        .collect();
    assert!(
        broken.is_empty(),
        "{name}, {}: {}\n{}",
        measured.style,
        words.join(", "),
        measured.account.lines().join("\n")
    );
    let [least, most] = measured.style.range();
    for pair in measured.pairs() {
        assert!(pair.strength <= most, "{name}: {} in {} {}", pair.role, pair.clip, pair.strength);
        let part = measured.account.parts.iter().find(|part| part.moved.name() == pair.role.name());
        let explained = part.is_none_or(|part| {
            !part.lowered.is_empty() || part.falls_short || part.reasons.iter().any(|why| why == BOUNDED)
        });
        println!("{name} {} {} {}: {:.4}", measured.style, pair.role, pair.clip, pair.strength);
        assert!(pair.strength >= 0.5 * least || explained, "{name}: {} in {} {}", pair.role, pair.clip, pair.strength);
    }
    if measured.strengths().is_empty() {
        assert!(measured.strength() <= 0.021, "{name}: {}", measured.strength());
        assert!(!measured.account.remarks.is_empty(), "{name}: a sentence");
    }
}

#[test]
fn sampled_characters_pass_all_gates() {
    let mut characters: Vec<(String, Asset)> = Vec::new();
    for path in assets() {
        // Heavy copies of characters that are there anyway.
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(asset) = Asset::open_original(&path)
            && asset.rig.vertex_count() < 20_000
            && !asset.clips.is_empty()
            && asset.rig.skeleton().len() > 2
        {
            characters.push((name, asset));
        }
    }
    let count = characters.len();
    if count == 0 {
        return;
    }
    let mut random = Random::new(17);
    let picked: Vec<usize> = if full() { (0..count).collect() } else { (0..3).map(|_| random.below(count)).collect() };
    for at in picked {
        let (name, asset) = &characters[at];
        let clips = sampled(asset.clips.len(), if full() { 6 } else { 2 }, 17);
        let style = if random.below(2) == 0 { Style::Lively } else { Style::Cartoon };
        match measure(asset, &clips, style, false) {
            Ok(measured) => holds(name, &measured),
            Err(error) => panic!("{name}: {error}"),
        }
    }
}
