//! The outer shell: GLB chunks or JSON text, and the bytes of every buffer.
//!
//! Source: glTF 2.0 specification, chapters 3.6.1 (buffers) and 4 (GLB).

use crate::edit::Unnoted;
use crate::encode::Packing;
use crate::error::{Fault, ImportError, Kind};
use crate::limits::{Limits, RAISE, read_plain};
use crate::view::View;
use crate::{decode, extensions, note, uri};
use serde_json::Value;
use sinew::Warning;
use std::path::{Path, PathBuf};

/// How a file wraps its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Binary: JSON and the first buffer in one file.
    Glb,
    /// JSON text with buffers beside it or inside it.
    Gltf,
}

/// A file as it was, but for compression, which is undone: what writing needs so that nothing unknown is lost.
#[derive(Clone, Debug)]
pub struct Document {
    /// The whole JSON, members in their order.
    pub json: Value,
    /// The bytes of each buffer, as many as it declares.
    pub buffers: Vec<Vec<u8>>,
    /// How the file wrapped them.
    pub container: Container,
    /// GLB chunks of unknown type, in their order: type and bytes.
    pub other_chunks: Vec<(u32, Vec<u8>)>,
    /// What is wrong with its outer shell.
    pub warnings: Vec<Warning>,
    /// Where the images it names lie.
    pub(crate) folder: Option<PathBuf>,
    /// What it may ask for.
    pub limits: Limits,
    /// What has been added and is to be noted with what comes next.
    pub(crate) unnoted: Option<Unnoted>,
    /// How what Sinew adds is packed when it is written; in memory it lies as it is.
    pub packing: Option<Packing>,
}

const TRUNCATED: &str = "the file was truncated or damaged in transfer: copy or export it again";
const NOT_GLTF: &str = "give a .glb or .gltf file (glTF 2.0)";

pub(crate) const CHUNK_JSON: u32 = 0x4E4F_534A;
pub(crate) const CHUNK_BIN: u32 = 0x004E_4942;

fn broken(element: &str, fault: impl Into<String>, remedy: &'static str) -> Fault {
    Fault::new(Kind::Container, element, fault, remedy)
}

impl Document {
    /// Takes the file at `path` apart without asking what it means: enough to strip it, compare it, or write it
    /// elsewhere. The buffers it keeps beside it are read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ImportError> {
        Self::open_within(path, Limits::default())
    }

    /// As [`Self::open`], with limits of one's own.
    pub fn open_within(path: impl AsRef<Path>, limits: Limits) -> Result<Self, ImportError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let bytes = read_plain(path, limits.file_bytes).map_err(|source| {
            let remedy = "check the path and the file's permissions";
            Fault::new(Kind::Io(source), "the file", "", remedy).in_file(&name)
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Self::parse(&bytes, Some(folder), limits).map_err(|fault| fault.in_file(&name))
    }

    /// As [`Self::open`], from bytes already in memory. `name` stands for the file in messages; `folder` is where its
    /// buffers may lie (without one, a file that keeps buffers outside is refused).
    pub fn from_slice(name: &str, bytes: &[u8], folder: Option<&Path>) -> Result<Self, ImportError> {
        Self::parse(bytes, folder, Limits::default()).map_err(|fault| fault.in_file(name))
    }

    /// Whether Sinew has added to it, and [`strip`](crate::strip()) would take that off.
    pub fn has_layer(&self) -> bool {
        self.json.pointer(note::PLACE).is_some()
    }

    /// Takes the shell apart and gathers the buffers; files are looked for below `folder` only.
    fn parse(bytes: &[u8], folder: Option<&Path>, limits: Limits) -> Result<Self, Fault> {
        let mut warnings = Vec::new();
        let (container, json, bin, other_chunks) = if bytes.starts_with(b"glTF") {
            let Chunks { json, bin, other } = Chunks::split(bytes, &mut warnings)?;
            (Container::Glb, json, bin, other)
        } else {
            (Container::Gltf, bytes, None, Vec::new())
        };
        let json = parse(json, container)?;
        let root = View::root(&json);
        check_version(&root)?;
        extensions::check(&root, &mut warnings)?;
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        let mut left = limits.file_bytes;
        for (index, buffer) in root.list("buffers")?.iter().enumerate() {
            let bin = if index == 0 { bin } else { None };
            let bytes = read_buffer(buffer, bin, folder, left)?;
            left = left.saturating_sub(bytes.len() as u64);
            buffers.push(bytes);
        }
        let other_chunks = other_chunks.into_iter().map(|(kind, bytes)| (kind, bytes.to_vec())).collect();
        let folder = folder.map(Path::to_owned);
        let mut document =
            Self { json, buffers, container, other_chunks, warnings, folder, limits, unnoted: None, packing: None };
        decode::unpack(&mut document)?;
        Ok(document)
    }
}

struct Chunks<'a> {
    json: &'a [u8],
    bin: Option<&'a [u8]>,
    other: Vec<(u32, &'a [u8])>,
}

impl<'a> Chunks<'a> {
    fn split(bytes: &'a [u8], warnings: &mut Vec<Warning>) -> Result<Self, Fault> {
        let header = "GLB header";
        let (Some(version), Some(length)) = (word(bytes, 4), word(bytes, 8)) else {
            return Err(broken(header, format!("has {} of its 12 bytes", bytes.len()), TRUNCATED));
        };
        if version != 2 {
            return Err(broken(header, format!("says version {version}, not 2"), "export the file as glTF 2.0"));
        }
        let length = length as usize;
        if length > bytes.len() {
            return Err(broken(header, format!("says {length} bytes, but there are {}", bytes.len()), TRUNCATED));
        }
        if length < bytes.len() {
            warnings.push(Warning {
                code: "trailing-bytes",
                subject: header.into(),
                message: format!("says {length} bytes, but there are {}; the rest was ignored", bytes.len()),
                remedy: "export the file again",
            });
        }
        let mut rest = bytes.get(12..length).unwrap_or_default();
        let (mut json, mut bin, mut other) = (None, None, Vec::new());
        let mut number = 0;
        while !rest.is_empty() {
            let element = format!("GLB chunk {number}");
            let (Some(size), Some(kind)) = (word(rest, 0), word(rest, 4)) else {
                return Err(broken(&element, format!("has {} of its 8 header bytes", rest.len()), TRUNCATED));
            };
            let body = &rest[8..];
            let Some((chunk, after)) = body.split_at_checked(size as usize) else {
                return Err(broken(&element, format!("says {size} bytes, but {} are left", body.len()), TRUNCATED));
            };
            match (kind, number) {
                (CHUNK_JSON, 0) => json = Some(chunk),
                (_, 0) => return Err(broken(&element, "is not the JSON chunk every GLB begins with", NOT_GLTF)),
                (CHUNK_BIN, 1) => bin = Some(chunk),
                _ => other.push((kind, chunk)),
            }
            rest = after;
            number += 1;
        }
        let json = json.ok_or_else(|| broken("GLB file", "has no JSON chunk", TRUNCATED))?;
        Ok(Self { json, bin, other })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes)
}

fn parse(bytes: &[u8], container: Container) -> Result<Value, Fault> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let first = text.iter().find(|byte| !byte.is_ascii_whitespace());
    if container == Container::Gltf && first != Some(&b'{') {
        return Err(broken("the file", "is neither GLB nor glTF JSON", NOT_GLTF));
    }
    let json: Value = serde_json::from_slice(text).map_err(|error| {
        // serde_json limits nesting itself, which is what stops a depth bomb.
        broken("JSON text", format!("cannot be read: {error}"), "export the file again; JSON knows no NaN or Infinity")
    })?;
    if json.is_object() { Ok(json) } else { Err(broken("JSON text", "is not an object", NOT_GLTF)) }
}

fn check_version(root: &View<'_>) -> Result<(), Fault> {
    let asset = root.need("asset")?;
    let version = asset.need("version")?;
    for version in [Some(version), asset.get("minVersion")?].into_iter().flatten() {
        let text = version.text()?;
        let supported = match text.split_once('.') {
            Some(("2", minor)) => minor.parse::<u32>().is_ok(),
            _ => false,
        };
        if !supported {
            let fault = format!("is \"{text}\"; Sinew reads glTF 2.x");
            return Err(Fault::new(Kind::Unsupported, version.element(), fault, "export the file as glTF 2.0"));
        }
    }
    Ok(())
}

/// The bytes of a buffer, of which `left` may still be had.
fn read_buffer(buffer: &View<'_>, bin: Option<&[u8]>, folder: Option<&Path>, left: u64) -> Result<Vec<u8>, Fault> {
    let declared = buffer.need("byteLength")?.whole()?;
    if declared > left && buffer.get("uri")?.is_some() {
        let fault =
            format!("declares {declared} bytes, beyond the {left} left of the limit for a file and its buffers");
        return Err(Fault::new(Kind::TooLarge, buffer.element(), fault, RAISE));
    }
    let mut bytes = match (buffer.get("uri")?, bin) {
        (Some(uri), _) => uri::resolve(&uri, folder, declared)?,
        (None, Some(bin)) => {
            let wanted = usize::try_from(declared).unwrap_or(usize::MAX);
            bin[..bin.len().min(wanted)].to_vec()
        }
        // A buffer without data is legal (a fallback of a compression extension) until something reads from it.
        (None, None) => return Ok(Vec::new()),
    };
    let found = bytes.len() as u64;
    if found < declared {
        return Err(buffer.invalid(format!("declares {declared} bytes, but there are {found}")).remedy(TRUNCATED));
    }
    bytes.truncate(usize::try_from(declared).unwrap_or(usize::MAX));
    Ok(bytes)
}
