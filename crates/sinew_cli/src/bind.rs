//! `sinew bind`: skin weights made from the shape, in a copy of the file.

use crate::args::Input;
use crate::fault::Fault;
use crate::output::Destination;
use crate::talk::Talk;
use crate::text::count;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sinew::bind::{BindOptions, Method};
use sinew_gltf::bind::bind;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct BindArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    /// The topmost bone of the skeleton, by name: meshes without a skin are bound to it and all bones below. Without
    /// it, meshes that have a skin get new weights.
    #[arg(long, value_name = "BONE")]
    pub skeleton: Option<String>,

    /// How weights are found.
    #[arg(long, value_name = "M", default_value = "heat")]
    pub method: MethodName,

    /// Most bones per vertex; 0 for as many as there are.
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub influences: usize,

    /// Where to write the bound file: a .glb, or - for stdout.
    #[arg(long, short, value_name = "OUT.glb")]
    pub output: PathBuf,

    /// Replace the output if it exists.
    #[arg(long)]
    pub force: bool,
}

/// How weights are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Heat from the nearest bone, spread along the skin: smooth, and nothing follows a neighbouring limb.
    Heat,
    /// Inverse distance to the bones that can be reached inside the body.
    Distance,
    /// The same, longer bones reaching farther.
    DistanceByLength,
    /// Inverse distance with a test of normals instead of rays: faster, and coarser between close limbs.
    DistanceByNormals,
}

impl MethodName {
    fn method(self) -> Method {
        let Method::Distance { alpha, .. } = Method::DISTANCE else { return Method::Heat };
        match self {
            Self::Heat => Method::Heat,
            Self::Distance => Method::DISTANCE,
            Self::DistanceByLength => Method::Distance { alpha, by_length: true, normals_only: false },
            Self::DistanceByNormals => Method::Distance { alpha, by_length: false, normals_only: true },
        }
    }
}

pub fn run(options: &BindArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    destination.check()?;
    let name = options.input.to_string();
    let mut document = match &options.input {
        Input::Path(path) => {
            let (document, warnings) = sinew_gltf::open(path).map_err(|error| Fault::Failed(error.to_string()))?;
            talk.warnings(&warnings);
            document
        }
        Input::Zoo(spec) => {
            let zoo = sinew_zoo::build(spec).map_err(|error| Fault::Usage(format!("{name}: {error}")))?;
            sinew_gltf::export(&zoo.raw, &zoo.clips).map_err(|error| Fault::in_file(&name, error))?
        }
    };
    let bind_options = BindOptions { method: options.method.method(), influences: options.influences };
    let skeleton = options.skeleton.as_deref();
    let bound =
        bind(&name, &mut document, skeleton, &bind_options).map_err(|error| Fault::Failed(error.to_string()))?;
    for skin in &bound {
        let report = &skin.report;
        let out_of_sight = match report.out_of_sight {
            0 => String::new(),
            lost => format!("; {lost} of them see no bone and follow what is near"),
        };
        let (points, bones) = (count(report.points, "point", "points"), count(report.bones, "bone", "bones"));
        talk.note(&format!("{}: {points} on {bones}{out_of_sight}", skin.meshes.join(", ")));
    }
    destination.write_document(&document, Path::new(&name))?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}", options.output.display()));
    }
    Ok(())
}
