//! Documents out: one GLB that holds everything.
//!
//! Source: glTF 2.0 specification, chapter 4 (GLB). [`Document::pack`] brings a document into the form a GLB has: all
//! bytes in one buffer, those of the first where they were, and images that lay beside the file inside it. Members
//! keep their order and values; numbers keep their value to the bit, though not always their spelling (`1.50` becomes
//! `1.5`).
//!
//! Oracle: what is written is read back by the specification's evaluator and by the importer (`tests/writing.rs`).

use crate::document::{CHUNK_BIN, CHUNK_JSON, Container, Document};
use crate::encode;
use crate::error::{Fault, WriteError};
use crate::uri;
use crate::view::View;
use crate::whole_file::write_whole;
use serde_json::{Map, Value};
use sinew::Warning;
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

/// Where everything in a GLB is aligned to.
pub(crate) const ALIGNMENT: usize = 4;

impl Document {
    /// Writes the document as the `.glb` file at `path`, whole or not at all, in place of one that is there.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), WriteError> {
        write_whole(path.as_ref(), |out| self.write_glb(out))
    }

    /// The document as the bytes of a `.glb` file.
    pub fn to_glb(&self) -> Result<Vec<u8>, WriteError> {
        let mut bytes = Vec::new();
        self.write_glb(&mut bytes)?;
        Ok(bytes)
    }

    /// How many bytes that is.
    pub fn glb_bytes(&self) -> Result<u64, WriteError> {
        struct Counter(u64);
        impl Write for Counter {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0 += bytes.len() as u64;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut counter = Counter(0);
        self.write_glb(&mut counter)?;
        Ok(counter.0)
    }

    /// Writes the document as GLB, packed if it is not; [`Self::pack`] tells which images could not be taken in.
    pub fn write_glb(&self, out: &mut dyn Write) -> Result<(), WriteError> {
        let mut packed = Cow::Borrowed(self);
        if !self.is_packed() {
            packed.to_mut().pack()?;
        }
        if let Some(smaller) = encode::packed(&packed)? {
            packed = Cow::Owned(smaller);
        }
        let text = packed.json.to_string();
        let bin = packed.buffers.first().filter(|bytes| !bytes.is_empty());
        let mut chunks = vec![(CHUNK_JSON, text.as_bytes(), b' ')];
        chunks.extend(bin.map(|bytes| (CHUNK_BIN, bytes.as_slice(), 0)));
        chunks.extend(packed.other_chunks.iter().map(|(kind, bytes)| (*kind, bytes.as_slice(), 0)));
        let padded = |bytes: &[u8]| bytes.len().next_multiple_of(ALIGNMENT);
        let total = 12 + chunks.iter().map(|(_, bytes, _)| 8 + padded(bytes) as u64).sum::<u64>();
        let length = u32::try_from(total).map_err(|_| WriteError::TooLarge { bytes: total })?;
        out.write_all(b"glTF")?;
        out.write_all(&2u32.to_le_bytes())?;
        out.write_all(&length.to_le_bytes())?;
        for (kind, bytes, padding) in chunks {
            // Shorter than the whole, which fits.
            out.write_all(&(padded(bytes) as u32).to_le_bytes())?;
            out.write_all(&kind.to_le_bytes())?;
            out.write_all(bytes)?;
            out.write_all(&[padding; ALIGNMENT][..padded(bytes) - bytes.len()])?;
        }
        Ok(())
    }

    /// Whether it has the form of a GLB already.
    pub fn is_packed(&self) -> bool {
        let first_is_inside = self.json.pointer("/buffers/0/uri").is_none();
        let is_single = self.buffers.iter().skip(1).all(Vec::is_empty);
        let images = self.json.get("images").and_then(Value::as_array).map_or(&[][..], |images| images);
        first_is_inside && is_single && !images.iter().any(|image| external_uri(image).is_some())
    }

    /// Brings the document into the form a GLB has. Returns a warning for each image that could not be read: it keeps
    /// its URI, and is found as long as the new file lies where the old one did.
    pub fn pack(&mut self) -> Result<Vec<Warning>, WriteError> {
        self.check_buffers()?;
        self.merge_buffers();
        let warnings = self.embed_images()?;
        self.container = Container::Glb;
        Ok(warnings)
    }

    /// Every buffer of the JSON has its bytes, and the first has any if another does.
    fn check_buffers(&self) -> Result<(), Fault> {
        let root = View::root(&self.json);
        let buffers = root.list("buffers")?;
        for view in root.list("bufferViews")? {
            view.need("buffer")?.reference("buffers")?;
            view.whole_at("byteOffset")?;
        }
        if buffers.len() != self.buffers.len() {
            let fault = format!("declares {} buffers, but there are {}", buffers.len(), self.buffers.len());
            return Err(root.invalid(fault));
        }
        for buffer in &buffers {
            buffer.members()?;
        }
        let has_data = self.buffers.iter().any(|bytes| !bytes.is_empty());
        match (buffers.first(), self.buffers.first()) {
            (Some(first), Some(bytes)) if bytes.is_empty() && has_data => {
                Err(first.invalid("has no data, while a later buffer has; a GLB keeps its data in the first"))
            }
            _ => Ok(()),
        }
    }

    /// Appends the bytes of later buffers to the first. Buffers without data (fallbacks of compression extensions)
    /// stay as they are.
    pub(crate) fn merge_buffers(&mut self) {
        let Some(entries) = self.json.get_mut("buffers").and_then(Value::as_array_mut) else { return };
        if entries.is_empty() {
            return;
        }
        let mut moved = vec![(0, 0u64)];
        let (mut kept_entries, mut kept_bytes) = (vec![entries[0].take()], vec![std::mem::take(&mut self.buffers[0])]);
        for (entry, bytes) in entries.iter_mut().zip(&mut self.buffers).skip(1) {
            if bytes.is_empty() {
                moved.push((kept_entries.len(), 0));
                kept_entries.push(entry.take());
                kept_bytes.push(Vec::new());
            } else {
                align(&mut kept_bytes[0]);
                moved.push((0, kept_bytes[0].len() as u64));
                kept_bytes[0].append(bytes);
            }
        }
        *entries = kept_entries;
        self.buffers = kept_bytes;
        if let Some(first) = entries[0].as_object_mut() {
            first.shift_remove("uri");
            if !self.buffers[0].is_empty() {
                first.insert("byteLength".into(), self.buffers[0].len().into());
            }
        }
        for view in self.json.get_mut("bufferViews").and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(view) = view.as_object_mut() else { continue };
            repoint(view, &moved);
            // Compression extensions name the buffer of their packed data in the same two members.
            let extensions = view.get_mut("extensions").and_then(Value::as_object_mut);
            let packed = extensions.into_iter().flatten().filter_map(|(_, extension)| extension.as_object_mut());
            packed.for_each(|extension| repoint(extension, &moved));
        }
    }

    fn embed_images(&mut self) -> Result<Vec<Warning>, WriteError> {
        let root = View::root(&self.json);
        let (mut found, mut warnings) = (Vec::new(), Vec::new());
        for (index, image) in root.list("images")?.iter().enumerate() {
            let Some(text) = self.json.pointer(&format!("/images/{index}")).and_then(external_uri) else { continue };
            let declared = image.get("mimeType")?.map(|kind| kind.text()).transpose()?;
            let mut keep = |message: String, remedy| {
                warnings.push(Warning { code: "image-left-outside", subject: image.words(), message, remedy });
            };
            match uri::resolve_whole(&image.need("uri")?, self.folder.as_deref(), self.limits.file_bytes) {
                Err(fault) => keep(
                    format!("could not be embedded ({}); it keeps its URI \"{text}\"", fault.reason()),
                    "put the image beside the file, or keep the result in the same folder",
                ),
                Ok(bytes) => match declared.map(str::to_owned).or_else(|| media_type(&bytes).map(str::to_owned)) {
                    Some(kind) => found.push((index, bytes, kind)),
                    None => keep(
                        format!("\"{text}\" has an unknown image format; it was left beside the file"),
                        "keep the result in the same folder",
                    ),
                },
            }
        }
        for (index, bytes, kind) in found {
            self.embed_image(index, bytes, kind);
        }
        Ok(warnings)
    }

    fn embed_image(&mut self, index: usize, mut bytes: Vec<u8>, kind: String) {
        let Some(root) = self.json.as_object_mut() else { return };
        if self.buffers.is_empty() {
            self.buffers.push(Vec::new());
            root.insert("buffers".into(), Value::Array(vec![Value::Object(Map::new())]));
        }
        let buffer = &mut self.buffers[0];
        align(buffer);
        let view = serde_json::json!({"buffer": 0, "byteOffset": buffer.len(), "byteLength": bytes.len()});
        buffer.append(&mut bytes);
        root["buffers"][0]["byteLength"] = buffer.len().into();
        let views = root.entry("bufferViews").or_insert_with(|| Value::Array(Vec::new()));
        let Some(views) = views.as_array_mut() else { return };
        let number = views.len();
        views.push(view);
        if let Some(image) = root["images"][index].as_object_mut() {
            image.shift_remove("uri");
            image.insert("bufferView".into(), number.into());
            image.entry("mimeType").or_insert(kind.into());
        }
    }
}

/// Fills up with zeros to where the next data may begin.
pub(crate) fn align(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}

/// The URI of an image that lies outside the file.
fn external_uri(image: &Value) -> Option<&str> {
    image.get("uri").and_then(Value::as_str).filter(|uri| !uri.starts_with("data:"))
}

fn repoint(object: &mut Map<String, Value>, moved: &[(usize, u64)]) {
    // Some writers spell whole numbers as 16.0.
    let whole = |key: &str| object.get(key).and_then(|v| v.as_u64().or_else(|| v.as_f64().map(|x| x as u64)));
    let (Some(buffer), offset) = (whole("buffer"), whole("byteOffset").unwrap_or(0)) else { return };
    let Some(&(index, shift)) = usize::try_from(buffer).ok().and_then(|buffer| moved.get(buffer)) else { return };
    if u64::try_from(index) != Ok(buffer) {
        object.insert("buffer".into(), index.into());
    }
    if shift > 0 {
        object.insert("byteOffset".into(), offset.saturating_add(shift).into());
    }
}

/// What an image's first bytes say it is.
fn media_type(bytes: &[u8]) -> Option<&'static str> {
    const SIGNATURES: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\xabKTX 20\xbb\r\n\x1a\n", "image/ktx2"),
        (b"DDS ", "image/vnd-ms.dds"),
    ];
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    SIGNATURES.iter().find(|(signature, _)| bytes.starts_with(signature)).map(|(_, kind)| *kind)
}
