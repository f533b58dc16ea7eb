//! The same skin coarse and fine: what a method makes of one should be what it makes of the other.
//!
//! A tube and a walking man. Fine is coarse with every edge halved: the same surface at rest, with weights that are linear
//! along its edges, so that the corners of the coarse one are among those of the fine one. Blending bends the halves of an
//! edge against each other, so linear blending itself is told for comparison only at those corners, where it does not differ.

use super::elbow::placed;
use glam::{DQuat, DVec3, Vec3};
use sinew::raw::{RawInfluences, RawPrimitive, RawRig};
use sinew::{Clip, Cpu, LocalTransform, Recipe, Rig, Stage, Workspace};
use sinew_gltf::RawAsset;
use sinew_testkit::assets::assets;
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

/// What of the methods is no matter of the weights: those that promise it.
const METHODS: [&str; 3] = ["volume", "fold-over-free", "springs"];
/// How far the two may be apart, in percent of the size.
const ALIKE: f64 = 1.0;
const TUBE: &str = "tube:vertices=500,bones=4,radius=0.1,length=1";
const BENDS: [f64; 3] = [30.0, 60.0, 90.0];
const MAN: &str = "CesiumMan.glb";
const FRAMES: usize = 12;

/// The rig with every edge halved, `times` times; vertices keep their numbers and new ones follow.
fn halved(raw: &RawRig, times: usize) -> RawRig {
    let mut fine = raw.clone();
    for primitive in fine.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
        (0..times).for_each(|_| halve(primitive));
    }
    fine
}

fn halve(primitive: &mut RawPrimitive) {
    let mut middles: HashMap<[u32; 2], u32> = HashMap::new();
    let mut ends: Vec<[u32; 2]> = Vec::new();
    let first = primitive.positions.len() as u32;
    let mut middle = |a: u32, b: u32| {
        *middles.entry([a.min(b), a.max(b)]).or_insert_with(|| {
            ends.push([a, b]);
            first + ends.len() as u32 - 1
        })
    };
    let split = |&[a, b, c]: &[u32; 3]| {
        let [ab, bc, ca] = [middle(a, b), middle(b, c), middle(c, a)];
        [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    };
    primitive.triangles = primitive.triangles.iter().flat_map(split).collect();
    let mean = |of: &[Vec3], [a, b]: [u32; 2]| (of[a as usize] + of[b as usize]) * 0.5;
    primitive.positions.extend(ends.iter().map(|&ends| mean(&primitive.positions, ends)).collect::<Vec<_>>());
    if let Some(normals) = &mut primitive.normals {
        normals.extend(ends.iter().map(|&ends| mean(normals, ends).normalize_or_zero()).collect::<Vec<_>>());
    }
    primitive.tangents = None;
    primitive.morphs.clear();
    primitive.maps.clear();
    primitive.influences = blended(&primitive.influences, &ends);
}

/// Those of all vertices and of the middles between some.
fn blended(of: &RawInfluences, ends: &[[u32; 2]]) -> RawInfluences {
    let count = of.per_vertex;
    let at = |vertex: u32| {
        let pairs = vertex as usize * count..(vertex as usize + 1) * count;
        of.joints[pairs.clone()].iter().copied().zip(of.weights[pairs].iter().copied())
    };
    let middle = |&[a, b]: &[u32; 2]| {
        let mut pairs: Vec<(u32, f32)> = at(a).chain(at(b)).map(|(joint, weight)| (joint, 0.5 * weight)).collect();
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0.0 };
            same
        });
        pairs.retain(|pair| pair.1 > 0.0);
        pairs
    };
    let vertices = (0..(of.joints.len() / count.max(1)) as u32).map(|vertex| at(vertex).collect::<Vec<_>>());
    let all: Vec<Vec<(u32, f32)>> = vertices.chain(ends.iter().map(middle)).collect();
    let per_vertex = all.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = RawInfluences { per_vertex, ..RawInfluences::default() };
    for pairs in &all {
        for k in 0..per_vertex {
            let (joint, weight) = pairs.get(k).copied().unwrap_or((0, 0.0));
            out.joints.push(joint);
            out.weights.push(weight);
        }
    }
    out
}

/// Frames of a rig by a recipe.
trait Shown {
    fn frames(&self, rig: &Arc<Rig>, recipe: &Recipe) -> Result<Vec<Vec<DVec3>>, Box<dyn Error>>;
}

/// Joints of a tube, each bent by so many degrees.
struct Bent<'a>(&'a [f64]);

impl Shown for Bent<'_> {
    fn frames(&self, rig: &Arc<Rig>, recipe: &Recipe) -> Result<Vec<Vec<DVec3>>, Box<dyn Error>> {
        let (stage, mut workspace) = (Stage::new(rig, recipe)?, Workspace::default());
        let mut frames = Vec::new();
        for degrees in self.0 {
            let mut pose = rig.rest_pose();
            for bone in rig.skeleton().bones().filter(|&bone| rig.skeleton().name(bone) == "tube.2") {
                if let LocalTransform::Trs(trs) = &mut pose.locals[bone.index()] {
                    trs.rotation *= DQuat::from_rotation_z(degrees.to_radians());
                }
            }
            stage.posed(&pose, &stage.at_rest(), 0.0, &mut workspace)?.deform(&Cpu::serial());
            frames.push(placed(rig, workspace.mesh()));
        }
        Ok(frames)
    }
}

/// A clip.
struct Played<'a>(&'a Clip);

impl Shown for Played<'_> {
    fn frames(&self, rig: &Arc<Rig>, recipe: &Recipe) -> Result<Vec<Vec<DVec3>>, Box<dyn Error>> {
        let (stage, mut workspace) = (Stage::new(rig, recipe)?, Workspace::default());
        let playing = stage.motion(self.0, &Default::default())?;
        let (start, end) = self.0.span().unwrap_or_default();
        let at = |frame: usize| start + (end - start) * (frame as f64 + 0.5) / FRAMES as f64;
        let frames = (0..FRAMES).map(|frame| {
            playing.frame(at(frame), &mut workspace);
            placed(rig, workspace.mesh())
        });
        Ok(frames.collect())
    }
}

/// The table of the manual; `recipe` makes that of a method.
pub fn table(recipe: impl Fn(&str) -> Result<Recipe, Box<dyn Error>>, text: &mut String) -> Result<(), Box<dyn Error>> {
    writeln!(
        text,
        "\n## Coarse and fine\n\nA tube bent at a joint by {BENDS:.0?}°, and CesiumMan's walk in {FRAMES} frames; beside each the same with every edge \
         halved, and\nhalved again. *mean* and *largest* are how far the corners of the coarse one are from the same corners of the \
         finer one, in\npercent of the size: {ALIKE} and less is alike, **!** marks more.\n\n| skin | method | vertices | mean | largest | vertices | \
         mean | largest |\n|---|---|---|---|---|---|---|---|"
    )?;
    let tube = sinew_zoo::build(TUBE)?.raw;
    show("tube", &tube, &Bent(&BENDS), &recipe, text)?;
    if let Some(path) = assets().iter().find(|path| path.ends_with(MAN)) {
        let man = RawAsset::open(path)?;
        let clip = man.clips.first().ok_or("a man who walks")?;
        show("CesiumMan", &man.raw, &Played(clip), &recipe, text)?;
    }
    Ok(())
}

fn show(
    name: &str,
    raw: &RawRig,
    shown: &dyn Shown,
    recipe: &impl Fn(&str) -> Result<Recipe, Box<dyn Error>>,
    text: &mut String,
) -> Result<(), Box<dyn Error>> {
    let rigs: Vec<Arc<Rig>> =
        (0..3).map(|times| Ok(Arc::new(Rig::build(&halved(raw, times))?.0))).collect::<Result<_, Box<dyn Error>>>()?;
    let size = rigs[0].characters().iter().map(|character| character.size).fold(0.0, f64::max);
    // Where each primitive of the coarse one begins, in the coarse one and in another.
    let starts = |rig: &Rig, times: usize| -> Vec<usize> {
        let fine = halved(raw, times);
        let counts = fine.meshes.iter().flat_map(|mesh| &mesh.primitives).map(|primitive| primitive.positions.len());
        let starts = counts.scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)));
        debug_assert!(rig.vertex_count() > 0);
        starts.collect()
    };
    let coarse_starts = starts(&rigs[0], 0);
    for method in METHODS {
        let recipe = recipe(method)?;
        let coarse = shown.frames(&rigs[0], &recipe)?;
        write!(text, "| {name} | {method} ")?;
        for times in 1..3 {
            let fine_starts = starts(&rigs[times], times);
            let fine = shown.frames(&rigs[times], &recipe)?;
            let same = |vertex: usize| {
                let primitive = coarse_starts.partition_point(|&start| start <= vertex) - 1;
                fine_starts[primitive] + vertex - coarse_starts[primitive]
            };
            let apart = coarse.iter().zip(&fine).flat_map(|(coarse, fine)| {
                coarse.iter().enumerate().map(|(vertex, p)| 100.0 * p.distance(fine[same(vertex)]) / size)
            });
            let (sum, count, largest) =
                apart.fold((0.0, 0, 0.0f64), |(sum, count, most), d| (sum + d, count + 1, most.max(d)));
            let mark = if largest <= ALIKE { "" } else { " **!**" };
            write!(text, "| {} | {:.3} | {largest:.2}{mark} ", rigs[times].vertex_count(), sum / f64::from(count))?;
        }
        writeln!(text, "|")?;
    }
    Ok(())
}
