//! Writes a page that runs the shaders as a browser's own WebGPU compute and compares what comes out with the processor's frames:
//! `cargo run -p sinew_gpu --example browser_page -- page.html`. The page needs nothing beside it; when it is done its title is
//! `sinew: same` or `sinew: different`, and its text says how far apart. Knows no wgpu: a page brings its own.

#![allow(clippy::print_stdout, reason = "the program says what it wrote")]

use sinew::{Cpu, RecipeFile, Rig, Stage, Workspace};
use sinew_shaders::{Bindings, NONE, PackedRig, Stage as Shader, groups};
use std::error::Error;
use std::fmt::Write;
use std::sync::Arc;

/// Characters, recipes and shares of the first clip.
const SAMPLES: [(&str, &str, f64); 5] = [
    ("calf", "[[effect]]\ntype = 'squash'\n[[effect]]\ntype = 'floppy'", 0.3),
    ("dancer", "base = 'dqs'\n[[effect]]\ntype = 'wobble'", 0.6),
    ("arm", "base = 'incremental-rotation'\n[[effect]]\ntype = 'floppy'", 0.5),
    ("bird", "base = 'blend'\n[[effect]]\ntype = 'acceleration-drag'\n[[effect]]\ntype = 'centrifugal-stretch'", 0.4),
    ("snail", "[[effect]]\ntype = 'follow-through'\n[[correction]]\ntype = 'bulge'", 0.7),
];

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("name the page: browser_page OUT.html")?;
    let mut samples = String::new();
    for (name, recipe, share) in SAMPLES {
        sample(name, recipe, share, &mut samples)?;
    }
    let mut stages = String::new();
    for stage in Shader::FRAME {
        let is_deform = stage.bindings() == Bindings::Deform;
        writeln!(stages, "{{ entry: {:?}, deform: {is_deform}, code: {:?} }},", stage.entry_point(), stage.source())?;
    }
    let page = include_str!("browser_page.html").replace("/* STAGES */", &stages).replace("/* SAMPLES */", &samples);
    std::fs::write(&path, page)?;
    println!("wrote {}", path.to_string_lossy());
    Ok(())
}

/// A frame: what it is made of, how it is dispatched, and what should come out.
fn sample(name: &str, recipe: &str, share: f64, out: &mut String) -> Result<(), Box<dyn Error>> {
    let zoo = sinew_zoo::build(name)?;
    let rig = Arc::new(Rig::build(&zoo.raw)?.0);
    let file = RecipeFile::parse(&format!("version = 1\n{recipe}"))?;
    let stage = Stage::new(&rig, file.recipe())?;
    let clip = zoo.clips.first().ok_or("a clip")?;
    let playing = stage.motion(clip, &file.motion(&clip.name))?;
    let time = share * clip.span().map_or(0.0, |span| span.1);
    let mut workspace = Workspace::default();
    playing.at(time, &mut workspace).deform(&Cpu::serial());
    let mesh = workspace.take_mesh();
    let packed = PackedRig::new(&stage.arrays()?);
    let mut words = Vec::new();
    let work = packed.pack_frame(&playing.at(time, &mut workspace).plan(&Cpu::serial())?, &mut words);
    let dispatches: Vec<_> = Shader::FRAME
        .map(|stage| match packed.invocations(stage, work) {
            0 => [0, 0],
            invocations => groups(invocations),
        })
        .into();
    let params = &packed.params;
    let tangents = if params.rest_tangents == NONE { 0 } else { 1 };
    let size = rig.characters().first().map_or(1.0, |character| character.size);
    writeln!(out, "{{ name: {:?}, size: {size}, dispatches: {dispatches:?},", format!("{name}, {recipe}"))?;
    writeln!(
        out,
        "  lengths: {:?},",
        [packed.base_words() as u32, params.rows * 48, params.layers * 48, params.vertices, tangents]
    )?;
    for (what, bytes) in [
        ("params", bytemuck::bytes_of(params)),
        ("rig", bytemuck::cast_slice(&packed.rig)),
        ("shape", bytemuck::cast_slice(&packed.shape)),
        ("tuned", bytemuck::cast_slice(&packed.tuned)),
        ("frame", bytemuck::cast_slice(&words)),
        ("positions", bytemuck::cast_slice(&mesh.positions)),
        ("normals", bytemuck::cast_slice(&mesh.normals)),
    ] {
        writeln!(out, "  {what}: \"{}\",", base64(bytes))?;
    }
    writeln!(out, "}},")?;
    Ok(())
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let is_there = digit <= chunk.len();
            let place = (word >> (18 - 6 * digit)) as usize & 63;
            text.push(if is_there { char::from(DIGITS[place]) } else { '=' });
        }
    }
    text
}
