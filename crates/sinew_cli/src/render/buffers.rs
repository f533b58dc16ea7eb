//! What every pixel sees, as files for other tools: PNG for colour, NumPy's `.npy` for numbers.
//!
//! Source: NumPy Enhancement Proposal 1, format version 1.0.

use super::artist::{Artist, Side};
use super::scenery::Moment;
use crate::fault::Fault;
use crate::output::{Destination, Stopped};
use sinew_render::Buffers;
use sinew_render::encode::write_png;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// In place of node, primitive and triangle where nothing is seen.
const NOTHING: u32 = u32::MAX;

/// Where buffers go.
pub struct BufferFolder {
    path: PathBuf,
    force: bool,
}

/// The buffers of a moment, ready to be written.
pub struct Seen {
    color: Vec<u8>,
    buffers: Buffers,
    /// Node, primitive and triangle per pixel.
    primitive: Vec<u32>,
}

impl Seen {
    pub fn new(artist: &Artist<'_>, moment: &Moment) -> Result<Self, Fault> {
        let mut color = Vec::new();
        write_png(&mut color, &artist.picture(moment, Side::Result)).map_err(|e| Fault::Failed(e.to_string()))?;
        let buffers = artist.seen(moment, Side::Result, |visibility| visibility.buffers());
        let ids = buffers.hit.iter().flat_map(|hit| {
            let found = hit.as_ref().and_then(|hit| Some((artist.primitive(hit.mesh)?, hit.triangle)));
            let small = |index: usize| u32::try_from(index).unwrap_or(NOTHING);
            found.map_or([NOTHING; 3], |((node, primitive), triangle)| [small(node), small(primitive), triangle])
        });
        let primitive = ids.collect();
        Ok(Self { color, buffers, primitive })
    }
}

impl BufferFolder {
    /// The folder, made if its parent is there.
    pub fn open(path: &Path, force: bool) -> Result<Self, Fault> {
        if !path.is_dir() {
            let remedy = "check the path and the permissions";
            std::fs::create_dir(path)
                .map_err(|error| Fault::in_file(path.display(), format!("cannot be made ({error}); {remedy}")))?;
        }
        Ok(Self { path: path.to_owned(), force })
    }

    /// Writes the buffers of frame `index`.
    pub fn write(&self, artist: &Artist<'_>, index: usize, seen: &Seen) -> Result<(), Fault> {
        let file =
            |name: &str| Destination::File { path: self.path.join(format!("{index:04}.{name}")), force: self.force };
        let (width, height) = (artist.size().width(), artist.size().height());
        let shape = |deep: usize| {
            if deep == 1 { format!("({height}, {width})") } else { format!("({height}, {width}, {deep})") }
        };
        let npy = |name: &str, kind: &str, deep: usize, bytes: Vec<u8>| {
            file(name).write(|out| write_npy(out, kind, &shape(deep), &bytes))
        };
        let floats = |values: &mut dyn Iterator<Item = f32>| values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>();
        let Seen { color, buffers, primitive } = seen;
        file("color.png").write(|out| -> Result<(), Stopped> { Ok(out.write_all(color)?) })?;
        npy("depth.npy", "<f4", 1, floats(&mut buffers.depth.iter().copied()))?;
        npy("normal.npy", "<f4", 3, floats(&mut buffers.normal.iter().flat_map(|n| n.to_array())))?;
        npy("position.npy", "<f4", 3, floats(&mut buffers.position.iter().flat_map(|p| p.to_array())))?;
        npy("primitive.npy", "<u4", 3, primitive.iter().flat_map(|id| id.to_le_bytes()).collect())?;
        let weights = buffers.hit.iter().flat_map(|hit| hit.map_or([0.0; 3], |hit| hit.barycentrics));
        npy("barycentrics.npy", "<f4", 3, floats(&mut weights.map(|w| w as f32)))
    }
}

fn write_npy(out: &mut dyn Write, kind: &str, shape: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}");
    // The data begin at a multiple of 64, after ten bytes, the header and its line end.
    let padding = (64 - (10 + header.len() + 1) % 64) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(io::Error::other)?;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    out.write_all(bytes)
}
