//! Automatic weights beside the artists' and Blender's, over the clips of real characters: `cargo xtask bind-table`.
//!
//!     bind_table dump FOLDER            writes what is to be bound, for the peer to bind
//!     bind_table table FOLDER OUT.md    reads its weights and writes the table of the manual

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that tells what it finds")]

use glam::DVec3;
use serde_json::{Value, json};
use sinew::bind::{BindOptions, Method, bind_skin};
use sinew::raw::{RawBinding, RawInfluences};
use sinew::{Clip, MotionSettings, RawRig, Recipe, Rig, Stage, Workspace};
use sinew_gltf::RawAsset;
use sinew_testkit::assets::{assets, folder};
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Per clip.
const FRAMES: usize = 8;
/// Clips looked at: the first, and others evenly over the rest.
const CLIPS: usize = 16;
const INFLUENCES: usize = 4;
const METHODS: [(&str, Option<Method>); 3] =
    [("Blender", None), ("`heat`", Some(Method::Heat)), ("`distance`", Some(Method::DISTANCE))];

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["dump", to] => dump(Path::new(to)),
        ["table", from, out] => table(Path::new(from), out, ""),
        ["table", from, out, only] => table(Path::new(from), out, only),
        _ => Err("bind_table dump FOLDER | bind_table table FOLDER OUT.md [ONLY]".into()),
    }
}

/// Skinned, animated characters; of copies that differ in fineness alone, the coarse one.
fn characters() -> Vec<(String, RawAsset)> {
    let Some(folder) = folder() else { return Vec::new() };
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&folder).unwrap_or(path).with_extension("");
        path.display().to_string()
    };
    let paths = assets();
    let names: Vec<String> = paths.iter().map(name).collect();
    let finer = |name: &str| names.iter().any(|other| other != name && name.starts_with(&format!("{other}_sub")));
    let mut found = Vec::new();
    for (path, name) in paths.iter().zip(&names).filter(|(_, name)| !finer(name)) {
        let Ok(asset) = RawAsset::open(path) else { continue };
        let bones = asset.raw.skins.iter().map(|skin| skin.joints.len()).max().unwrap_or(0);
        // Two bones on a strip are a test of files, not a character.
        if bones > 4 && !asset.clips.is_empty() {
            found.push((name.clone(), asset));
        }
    }
    found
}

fn file(folder: &Path, name: &str, ending: &str) -> PathBuf {
    folder.join(format!("{}.{ending}", name.replace(['/', '\\'], "-")))
}

/// The nearest joint above each joint of a skin.
fn parents(raw: &RawRig, skin: usize) -> Vec<Option<usize>> {
    let joints = &raw.skins[skin].joints;
    let parent = |bone: usize| {
        let above = std::iter::successors(raw.bones[bone].parent, |&node| raw.bones[node].parent);
        above.into_iter().find_map(|node| joints.iter().position(|joint| joint.bone == node))
    };
    joints.iter().map(|joint| parent(joint.bone)).collect()
}

fn dump(folder: &Path) -> Result<(), Box<dyn Error>> {
    for (name, asset) in characters() {
        let raw = &asset.raw;
        let skins: Vec<Value> = (0..raw.skins.len())
            .map(|skin| {
                let (mut points, mut triangles) = (Vec::new(), Vec::new());
                for mesh in raw.meshes.iter().filter(|mesh| mesh.binding == RawBinding::Skin(skin)) {
                    for primitive in &mesh.primitives {
                        let first = points.len() as u32;
                        points.extend(primitive.positions.iter().map(|p| p.to_array()));
                        triangles.extend(primitive.triangles.iter().map(|t| t.map(|v| v + first)));
                    }
                }
                let joints = raw.skins[skin].joints.iter();
                let joints: Vec<_> = joints.map(|j| j.bone_from_rest.inverse().translation.to_array()).collect();
                json!({"points": points, "triangles": triangles, "joints": joints, "parents": parents(raw, skin)})
            })
            .collect();
        std::fs::write(file(folder, &name, "json"), json!({ "skins": skins }).to_string())?;
    }
    Ok(())
}

/// The weights of the peer: per skin and vertex, joints with their weights.
fn bind_as_told(raw: &mut RawRig, told: &Value) -> Result<usize, Box<dyn Error>> {
    let mut lost = 0;
    for skin in 0..raw.skins.len() {
        let mut vertices = told["skins"][skin].as_array().ok_or("no weights")?.iter();
        for mesh in raw.meshes.iter_mut().filter(|mesh| mesh.binding == RawBinding::Skin(skin)) {
            for primitive in &mut mesh.primitives {
                let mut influences = RawInfluences { per_vertex: INFLUENCES, ..RawInfluences::default() };
                for _ in 0..primitive.positions.len() {
                    let pairs = vertices.next().and_then(Value::as_array).ok_or("too few weights")?;
                    let pair = |pair: &Value| Some((pair[0].as_u64()? as u32, pair[1].as_f64()?));
                    let mut pairs: Vec<(u32, f64)> =
                        pairs.iter().filter_map(pair).filter(|pair| pair.1 > 0.0).collect();
                    pairs.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    pairs.truncate(INFLUENCES);
                    lost += usize::from(pairs.is_empty());
                    // What has no weights stays with the topmost bone.
                    let pairs = if pairs.is_empty() { vec![(0, 1.0)] } else { pairs };
                    let sum: f64 = pairs.iter().map(|pair| pair.1).sum();
                    for k in 0..INFLUENCES {
                        let (joint, weight) = pairs.get(k).copied().unwrap_or((0, 0.0));
                        influences.joints.push(joint);
                        influences.weights.push((weight / sum) as f32);
                    }
                }
                primitive.influences = influences;
            }
        }
    }
    Ok(lost)
}

struct Played {
    frames: Vec<Vec<DVec3>>,
    edges: Vec<[u32; 2]>,
    size: f64,
    /// Per vertex, the names of its bones with their shares.
    told: Vec<String>,
}

/// The skinned vertices in frames of the clips.
fn played(raw: &RawRig, clips: &[Clip]) -> Result<Played, Box<dyn Error>> {
    let mut raw = raw.clone();
    raw.meshes.retain(|mesh| mesh.binding != RawBinding::Node);
    let mut told = Vec::new();
    for mesh in &raw.meshes {
        let RawBinding::Skin(skin) = mesh.binding else { continue };
        for primitive in &mesh.primitives {
            let influences = &primitive.influences;
            let per_vertex = influences.per_vertex.max(1);
            for (joints, weights) in influences.joints.chunks(per_vertex).zip(influences.weights.chunks(per_vertex)) {
                let mut pairs: Vec<(u32, f32)> = joints.iter().copied().zip(weights.iter().copied()).collect();
                pairs.sort_by(|a, b| b.1.total_cmp(&a.1));
                let mut text = String::new();
                for (joint, weight) in pairs.iter().filter(|pair| pair.1 > 0.05).take(3) {
                    let bone = raw.skins[skin].joints[*joint as usize].bone;
                    write!(text, "{} {:.0} ", raw.bones[bone].name, 100.0 * weight)?;
                }
                told.push(text);
            }
        }
    }
    let rig = Arc::new(Rig::build(&raw)?.0);
    let stage = Stage::new(&rig, &Recipe::default())?;
    let mut edges: Vec<[u32; 2]> = (rig.triangles().iter())
        .flat_map(|&[a, b, c]| [[a.min(b), a.max(b)], [b.min(c), b.max(c)], [c.min(a), c.max(a)]])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut workspace = Workspace::default();
    let mut frames = Vec::new();
    let stride = clips.len().div_ceil(CLIPS).max(1);
    for clip in clips.iter().step_by(stride) {
        let playing = stage.motion(clip, &MotionSettings::default())?;
        let (start, end) = clip.span().unwrap_or((0.0, 0.0));
        for frame in 0..FRAMES {
            let out = playing.frame(start + (end - start) * frame as f64 / FRAMES as f64, &mut workspace);
            frames.push((0..out.positions.len()).map(|vertex| out.world_position(0, vertex)).collect());
        }
    }
    Ok(Played { frames, edges, size: rig.characters().first().map_or(1.0, |c| c.size), told })
}

/// How far one is from the artist's; distances in thousandths of the size.
struct Apart {
    mean: f64,
    largest: f64,
    /// 99.9th percentile of the length of an edge over the artist's.
    stretch: f64,
    /// The farthest vertex, its bones with the artist's weights and with these.
    why: String,
}

fn apart(artist: &Played, other: &Played) -> Apart {
    let unit = 1000.0 / artist.size;
    let (mut sum, mut count, mut largest, mut ratios) = (0.0, 0usize, (0.0, 0), Vec::new());
    for (a, b) in artist.frames.iter().zip(&other.frames) {
        for (vertex, (p, q)) in a.iter().zip(b).enumerate() {
            let d = p.distance(*q) * unit;
            sum += d;
            count += 1;
            if d > largest.0 {
                largest = (d, vertex);
            }
        }
        // An edge of no length in the artist's pose counts as a thousandth of the size.
        let length = |points: &[DVec3], [i, j]: [u32; 2]| points[i as usize].distance(points[j as usize]) * unit;
        ratios.extend(other.edges.iter().map(|&edge| length(b, edge).max(1.0) / length(a, edge).max(1.0)));
    }
    ratios.sort_by(f64::total_cmp);
    let stretch = ratios.get((0.999 * ratios.len() as f64) as usize).copied().unwrap_or(1.0);
    let why = format!("{}: artist {}, here {}", largest.1, artist.told[largest.1], other.told[largest.1]);
    Apart { mean: sum / count.max(1) as f64, largest: largest.0, stretch, why }
}

const HEAD: &str = "\
# Automatic weights beside the artists'

`cargo xtask bind-table` writes this page. Every character is bound anew, its clips are played, and each vertex is compared with
where the artist's own weights put it. *mean* and *largest* are distances in thousandths of the character's size. *stretch* is the
99.9th percentile of the length of an edge over its length with the artist's weights. Blender binds the same mesh, copies along
seams joined, to the same joints with *Armature Deform with Automatic Weights*; what it leaves without weights stays with the
topmost bone.

| | Blender | | | `heat` | | | `distance` | | |
|---|---|---|---|---|---|---|---|---|---|
| character | mean | largest | stretch | mean | largest | stretch | mean | largest | stretch |
";

/// What `heat` may be off at most, over Blender's or in thousandths of the size.
const LARGEST: (f64, f64) = (1.1, 100.0);
/// An edge stretched more than this is torn.
const TORN: f64 = 3.0;

fn table(folder: &Path, out: &str, only: &str) -> Result<(), Box<dyn Error>> {
    let (mut text, mut lost_in) = (HEAD.to_owned(), Vec::new());
    let (mut rows, mut nearer, mut within, mut whole) = (0, 0, 0, [0; 2]);
    for (name, asset) in characters().iter().filter(|(name, _)| name.contains(only)) {
        let artist = played(&asset.raw, &asset.clips)?;
        let mut found = Vec::new();
        for (method_name, method) in METHODS {
            let mut raw = asset.raw.clone();
            match method {
                Some(method) => {
                    for skin in 0..raw.skins.len() {
                        bind_skin(&mut raw, skin, &BindOptions { method, influences: INFLUENCES })?;
                    }
                }
                None => {
                    let told = std::fs::read_to_string(file(folder, name, "weights.json"))?;
                    match bind_as_told(&mut raw, &serde_json::from_str(&told)?)? {
                        0 => {}
                        lost => lost_in.push(format!("{lost} vertices of {name}")),
                    }
                }
            }
            let apart = apart(&artist, &played(&raw, &asset.clips)?);
            let Apart { mean, largest, stretch, why } = &apart;
            eprintln!("{name:<34} {method_name:<10} mean {mean:6.2} largest {largest:4.0} stretch {stretch:.2}  {why}");
            found.push(apart);
        }
        let [blender, heat, distance] = &found[..] else { return Err("three ways to bind".into()) };
        rows += 1;
        nearer += u32::from(heat.mean <= blender.mean);
        within += u32::from(heat.largest <= (LARGEST.0 * blender.largest).max(LARGEST.1));
        whole[0] += u32::from(heat.stretch <= TORN);
        whole[1] += u32::from(distance.stretch <= TORN);
        write!(text, "| {name} ")?;
        for Apart { mean, largest, stretch, .. } in &found {
            write!(text, "| {mean:.2} | {largest:.0} | {stretch:.2} ")?;
        }
        writeln!(text, "|")?;
    }
    write!(
        text,
        "\nOf {rows} characters, `heat` is in the mean at most as far off as Blender on {nearer}, and its largest distance is at \
         most {} times\nBlender's or {} thousandths on {within}. Stretch is at most {TORN} on {} with `heat` and on {} with \
         `distance`.\n",
        LARGEST.0, LARGEST.1, whole[0], whole[1]
    )?;
    if !lost_in.is_empty() {
        writeln!(text, "Blender leaves {} without weights.", lost_in.join(", "))?;
    }
    std::fs::write(out, text)?;
    Ok(())
}
