//! `sinew strip FILE`: the file as it was before Sinew added to it.

use crate::args::StripArgs;
use crate::fault::Fault;
use crate::output::{Destination, ReadAs};
use crate::talk::Talk;
use sinew_gltf::{Document, WriteError};

pub fn run(options: &StripArgs, talk: &Talk) -> Result<(), Fault> {
    let destination = Destination::new(&options.output, options.force);
    destination.check()?;
    let mut document = Document::open(&options.input).map_err(|error| Fault::Failed(error.to_string()))?;
    talk.warnings(&document.warnings);
    // What cannot be played comes back as it was, too.
    let reading = ReadAs::of(&document);
    let in_file = |error: WriteError| Fault::in_file(options.input.display(), error);
    if !sinew_gltf::strip(&mut document).map_err(in_file)? {
        talk.note(&format!("{}: contains nothing that Sinew added; written unchanged", options.input.display()));
    }
    talk.warnings(&document.pack().map_err(in_file)?);
    destination.write_read_as(reading, &document, &options.input)?;
    if destination != Destination::Stdout {
        talk.note(&format!("wrote {}", options.output.display()));
    }
    Ok(())
}
