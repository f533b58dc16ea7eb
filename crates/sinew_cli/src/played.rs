//! What is played, from names on the command line: the clip, how it loops, the base under the effects.

use crate::args::LoopName;
use crate::fault::Fault;
use crate::load::Scene;
use crate::text::quoted;
use sinew::Looping;
use sinew::base::BaseEntry;
use sinew::recipe::BaseSpec;
use sinew::text::nearest;

/// Clips an error lists by name.
const MOST_CLIPS: usize = 20;

/// The clip called `wanted`: a name is tried first, then a number from 0.
pub fn find_clip(scene: &Scene, wanted: &str) -> Result<usize, Fault> {
    let named = scene.clips.iter().position(|clip| clip.name == wanted);
    let numbered = || wanted.parse().ok().filter(|&index: &usize| index < scene.clips.len());
    named.or_else(numbered).ok_or_else(|| {
        let mut message = format!("{}: there is no clip {}", scene.name, quoted(wanted));
        if scene.clips.is_empty() {
            message.push_str("; the file has no clips, so leave --clip out");
            return Fault::Usage(message);
        }
        if let Some(nearest) = nearest(wanted, scene.clips.iter().map(|clip| clip.name.as_str())) {
            message.push_str(&format!("; did you mean {}?", quoted(&nearest)));
        }
        let listed: Vec<_> = (scene.clips.iter().enumerate().take(MOST_CLIPS))
            .map(|(index, clip)| format!("{index} {}", quoted(&clip.name)))
            .collect();
        message.push_str(&format!(" Clips: {}", listed.join(", ")));
        if scene.clips.len() > MOST_CLIPS {
            message.push_str(&format!(
                " and {} more, listed by `sinew inspect {}`",
                scene.clips.len() - MOST_CLIPS,
                scene.name
            ));
        }
        Fault::Usage(message)
    })
}

/// The clips asked for, each once, in the file's order.
pub fn chosen_clips(scene: &Scene, wanted: &[String]) -> Result<Vec<usize>, Fault> {
    let is_all = |wanted: &String| wanted == "all" && !scene.clips.iter().any(|clip| clip.name == "all");
    if wanted.is_empty() || wanted.iter().any(is_all) {
        return Ok((0..scene.clips.len()).collect());
    }
    let mut chosen = wanted.iter().map(|wanted| find_clip(scene, wanted)).collect::<Result<Vec<_>, _>>()?;
    chosen.sort_unstable();
    chosen.dedup();
    Ok(chosen)
}

/// How to read a clip's ends.
pub fn looping_of(name: LoopName) -> Looping {
    match name {
        LoopName::Yes => Looping::Yes,
        LoopName::No => Looping::No,
        LoopName::Auto => Looping::Auto,
    }
}

/// The base asked for, with the recipe's own settings where it is of the same kind.
pub fn base_spec(wanted: &'static BaseEntry, recipe: &BaseSpec) -> BaseSpec {
    if recipe.base == wanted { recipe.clone() } else { BaseSpec::of(wanted) }
}
