//! `sinew bind`: skin weights made from the shape, in a copy of the file.

use crate::args::Input;
use crate::fault::Fault;
use crate::limits;
use crate::load;
use crate::output::Destination;
use crate::talk::Talk;
use crate::text::count;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sinew::bind::{BindOptions, Method};
use sinew_gltf::bind::{Skeleton, bind};
use sinew_gltf::{Document, RawAsset};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct BindArgs {
    /// A .glb or .gltf file, or a built-in character: zoo:NAME.
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new().map(Input::from))]
    pub input: Input,

    /// Bind meshes that have no skin: to the bone of this name and everything below it, or to the skeleton of another
    /// .glb or .gltf file, which is added with its clips. Without it, meshes that have a skin get new weights.
    #[arg(long, value_name = "BONE|FILE")]
    pub skeleton: Option<String>,

    /// How weights are computed.
    #[arg(long, value_name = "M", default_value = "heat")]
    pub method: MethodName,

    /// Maximum number of bones per vertex; 0 for no limit.
    #[arg(long, value_name = "K", default_value_t = 4)]
    pub influences: usize,

    /// Output file (.glb), or - for stdout.
    #[arg(long, short, value_name = "OUT.glb")]
    pub output: PathBuf,

    /// Overwrite the output if it exists.
    #[arg(long)]
    pub force: bool,
}

/// How weights are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodName {
    /// Heat from the nearest bone spreads along the skin: smooth, and nothing follows a neighbouring limb.
    Heat,
    /// Inverse distance to the bones that can be reached inside the body.
    Distance,
    /// The same, but longer bones reach farther.
    DistanceByLength,
    /// Inverse distance, testing normals instead of casting rays: faster, but coarser between close limbs.
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

fn is_gltf(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["glb", "gltf"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

pub fn run(options: &BindArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    destination.check()?;
    let name = options.input.to_string();
    let mut document = load::document(&options.input)?;
    talk.warnings(&document.warnings);
    let bind_options = BindOptions { method: options.method.method(), influences: options.influences };
    let other = match options.skeleton.as_deref() {
        Some(file) if is_gltf(file) => {
            let asset = Document::open_within(file, limits::chosen())
                .and_then(|document| RawAsset::from_document(file, document))
                .map_err(|error| Fault::Failed(error.to_string()))?;
            talk.warnings(&asset.warnings);
            Some(asset)
        }
        _ => None,
    };
    let skeleton = match (options.skeleton.as_deref(), &other) {
        (_, Some(asset)) => Skeleton::Of(asset),
        (Some(bone), None) => Skeleton::Below(bone),
        (None, None) => Skeleton::Own,
    };
    let bound =
        bind(&name, &mut document, skeleton, &bind_options).map_err(|error| Fault::Failed(error.to_string()))?;
    for skin in &bound {
        let report = &skin.report;
        let out_of_sight = match report.out_of_sight {
            0 => String::new(),
            lost => format!("; {lost} of them see no bone and follow their neighbours"),
        };
        let (points, bones) = (count(report.points, "point", "points"), count(report.bones, "bone", "bones"));
        talk.note(&format!("{}: {points} on {bones}{out_of_sight}", skin.meshes.join(", ")));
    }
    talk.warnings(&document.pack().map_err(|error| Fault::in_file(&name, error))?);
    destination.write_document(&document, Path::new(&name))?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}", options.output.display()));
    }
    Ok(())
}
