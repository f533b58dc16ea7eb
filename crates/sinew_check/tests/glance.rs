//! Looking again at a few frames tells what looking at all of them does.

use sinew::recipe::RecipeFile;
use sinew::{MotionSettings, Recipe, Rig};
use sinew_check::limits::{LIMITS, Limit};
use sinew_check::{Checker, Comparison, Given, Onlooker, Watch};
use std::sync::Arc;

const EVERY: usize = 2;

/// A preset with its gains times a factor.
fn preset(rig: &Arc<Rig>, clips: &[sinew::Clip], factor: f64) -> Recipe {
    let file = RecipeFile::parse(sinew::presets::get("cartoon").expect("a preset")).expect("sound");
    let mut recipe = file.solve(rig, clips).expect("solved").recipe(0).clone();
    recipe.effects.iter_mut().for_each(|effect| effect.scale_gain(factor));
    recipe
}

fn value(gate: &str, found: &Comparison) -> f64 {
    let limit = LIMITS.iter().find(|limit| limit.name == gate).expect("a limit");
    (limit.value)(found)
}

#[test]
fn a_second_look_tells_what_a_whole_one_does() {
    let zoo = sinew_zoo::build("calf").expect("built in");
    let rig = Arc::new(Rig::build(&zoo.raw).expect("sound").0);
    let [whole, lowered] = [1.0, 0.8].map(|factor| preset(&rig, &zoo.clips[..1], factor));
    let mut onlooker = Onlooker::new(&rig, &whole).expect("fits");
    let given = Given { rigid: onlooker.rigid_pieces(), ..Given::default() };
    let clip = &zoo.clips[0];
    let motion = Arc::clone(onlooker.stage().motion(clip, &MotionSettings::default()).expect("plays").motion());
    let view = |onlooker: &Onlooker, every| onlooker.view(&clip.name, &motion, every, &given).expect("plays");

    let mut fresh = view(&onlooker, 1);
    let all = onlooker.look(&mut fresh).expect("seen");
    let checked = Checker::new(&rig, &whole).expect("fits");
    let checked = checked.clip_given(clip, &MotionSettings::default(), 60.0, &given, &|_| ()).expect("measured");
    let checked = checked.comparison.expect("effects");
    for gate in ["strain", "worst-strain", "rigid", "slip", "ground", "crossings", "thinning"] {
        assert_eq!(value(gate, &all), value(gate, &checked), "{gate}: of all frames it is a check");
    }

    let mut again = view(&onlooker, EVERY);
    let first = onlooker.look(&mut again).expect("seen");
    onlooker.retune(&lowered).expect("the same base");
    let whole_look = onlooker.look(&mut view(&onlooker, EVERY)).expect("seen");
    assert!(value("strain", &whole_look) < value("strain", &first), "something was lowered");
    let nothing = |_: &Limit| f64::NEG_INFINITY;
    let everywhere = onlooker.look_again(&mut again, &Watch { most: &nothing, parts: &[] }).expect("seen");
    assert_eq!(everywhere, whole_look, "all frames are near a limit");

    onlooker.retune(&whole).expect("the same base");
    let mut again = view(&onlooker, EVERY);
    let first = onlooker.look(&mut again).expect("seen");
    onlooker.retune(&lowered).expect("the same base");
    let most = |limit: &Limit| (limit.value)(&first);
    let watch = Watch { most: &most, parts: &[] };
    let few = onlooker.look_again(&mut again, &watch).expect("seen");
    let [looked, before, told] = [&whole_look, &first, &few].map(|found| value("strain", found));
    assert!(told >= looked, "{told} {looked}: others tell what they showed before");
    assert!(told < before, "{told} {before}: where it was strained it was looked at again");
    let closer = value("strain", &onlooker.look_closer(&mut again, &watch).expect("seen"));
    assert!(looked <= closer * 1.01 && closer < before, "{looked} {closer} {before}");
}
