//! Bitstreams of meshopt compression: vertex attributes (versions 0 and 1), triangle lists and index sequences.
//!
//! Source: `EXT_meshopt_compression` and `KHR_meshopt_compression`, appendix A (bitstream). Every read is bounded, what
//! is written is as large as the caller says, and the time is linear in both.
//!
//! Oracle: files packed by meshoptimizer give the numbers of the plain ones (`tests/compressed.rs`).

/// Why a stream cannot be unpacked.
pub(crate) type Reason = &'static str;

const ENDS_EARLY: Reason = "ends before its data does";
const GOES_ON: Reason = "goes on after its data";
const OTHER_KIND: Reason = "does not begin as its mode says, or is of a later version";

/// Vertices coded together: a byte's worth of bit widths covers four of these groups.
const GROUP: usize = 16;

/// Reads forward and never past the end.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Reason> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, Reason> {
        Ok(self.take(1)?[0])
    }

    /// Seven bits a byte, lowest first; at most five bytes.
    fn varint(&mut self) -> Result<u32, Reason> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u32::from(byte & 127) << shift;
            if byte < 128 {
                break;
            }
        }
        Ok(value)
    }

    fn is_read(&self) -> Result<(), Reason> {
        if self.rest.is_empty() { Ok(()) } else { Err(GOES_ON) }
    }
}

/// The version in the first byte, whose upper half must be `kind`.
fn version(stream: &[u8], kind: u8) -> Result<(u8, &[u8]), Reason> {
    let (&header, rest) = stream.split_first().ok_or(ENDS_EARLY)?;
    if header & 0xf0 == kind && header & 0x0f <= 1 { Ok((header & 0x0f, rest)) } else { Err(OTHER_KIND) }
}

/// The whole number whose lowest bit is its sign.
fn unzigzag(value: u32) -> u32 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

/// Fills `out` with elements of `stride` bytes: 4 to 256, in fours.
pub(crate) fn attributes(stream: &[u8], stride: usize, out: &mut [u8]) -> Result<(), Reason> {
    const SHORTEST_TAIL: [usize; 2] = [32, 24];
    let (version, rest) = version(stream, 0xa0)?;
    // Behind the blocks: the element before the first, and in version 1 how each four bytes follow those before.
    let tail = stride + if version == 0 { 0 } else { stride / 4 };
    let padded = tail.max(SHORTEST_TAIL[usize::from(version)]);
    let split = rest.len().checked_sub(padded).ok_or(ENDS_EARLY)?;
    let (blocks, tail_bytes) = rest.split_at(split);
    let (first, channels) = tail_bytes[padded - tail..].split_at(stride);
    let mut last = first.to_vec();
    let mut reader = Reader { rest: blocks };
    let in_block = (8192 / stride / GROUP * GROUP).min(256);
    let mut planes = [const { [0; 256] }; 4];
    for block in out.chunks_mut(in_block * stride) {
        let count = block.len() / stride;
        let control = if version == 0 { &[][..] } else { reader.take(stride / 4)? };
        for (quad, last) in last.chunks_mut(4).enumerate() {
            for (byte, plane) in planes.iter_mut().enumerate() {
                match control.get(quad).map(|control| control >> (2 * byte) & 3) {
                    None => byte_groups(&mut reader, [0, 2, 4, 8], count, plane)?,
                    Some(0) => byte_groups(&mut reader, [0, 1, 2, 4], count, plane)?,
                    Some(1) => byte_groups(&mut reader, [1, 2, 4, 8], count, plane)?,
                    Some(2) => plane[..count].fill(0),
                    Some(_) => plane[..count].copy_from_slice(reader.take(count)?),
                }
            }
            let channel = channels.get(quad).copied().unwrap_or(0);
            let last = last.first_chunk_mut().ok_or(ENDS_EARLY)?;
            for (n, element) in block.chunks_mut(stride).enumerate() {
                follow(last, channel, [planes[0][n], planes[1][n], planes[2][n], planes[3][n]])?;
                element[4 * quad..4 * quad + 4].copy_from_slice(last);
            }
        }
    }
    reader.is_read()
}

/// Four bytes of an element from those of the one before: differences of bytes or of pairs, or a turned difference of
/// bits.
fn follow(last: &mut [u8; 4], channel: u8, delta: [u8; 4]) -> Result<(), Reason> {
    match channel & 3 {
        0 => {
            for (byte, delta) in last.iter_mut().zip(delta) {
                *byte = byte.wrapping_add(unzigzag(u32::from(delta)) as u8);
            }
        }
        1 => {
            for (pair, delta) in last.as_chunks_mut::<2>().0.iter_mut().zip(delta.as_chunks::<2>().0) {
                let delta = unzigzag(u32::from(u16::from_le_bytes(*delta))) as u16;
                *pair = u16::from_le_bytes(*pair).wrapping_add(delta).to_le_bytes();
            }
        }
        2 => {
            let turned = u32::from_le_bytes(delta).rotate_right(u32::from(channel >> 4));
            *last = (u32::from_le_bytes(*last) ^ turned).to_le_bytes();
        }
        _ => return Err("names a channel that does not exist"),
    }
    Ok(())
}

/// One byte of each of `count` elements, in groups, each with one of four `widths`.
fn byte_groups(reader: &mut Reader<'_>, widths: [u32; 4], count: usize, out: &mut [u8; 256]) -> Result<(), Reason> {
    let groups = count.div_ceil(GROUP);
    let header = reader.take(groups.div_ceil(4))?;
    for (group, out) in out.chunks_mut(GROUP).take(groups).enumerate() {
        match widths[usize::from(header[group / 4] >> (2 * (group % 4)) & 3)] {
            0 => out.fill(0),
            8 => out.copy_from_slice(reader.take(GROUP)?),
            bits => {
                let packed = reader.take(2 * bits as usize)?;
                let escape = (1u8 << bits) - 1;
                let per_byte = 8 / bits as usize;
                for (n, out) in out.iter_mut().enumerate() {
                    let place = (n % per_byte) as u32 * bits;
                    // Single bits begin at the lowest, wider ones at the highest.
                    let shift = if bits == 1 { place } else { 8 - bits - place };
                    let value = packed[n / per_byte] >> shift & escape;
                    *out = if value == escape { reader.byte()? } else { value };
                }
            }
        }
    }
    Ok(())
}

/// The last sixteen things seen, by how long ago.
struct Recent<T> {
    things: [T; 16],
    next: usize,
}

impl<T: Copy> Recent<T> {
    fn new(empty: T) -> Self {
        Self { things: [empty; 16], next: 0 }
    }

    fn push(&mut self, thing: T) {
        self.things[self.next] = thing;
        self.next = (self.next + 1) % 16;
    }

    /// `ago` is 1 for the last one.
    fn get(&self, ago: u8) -> T {
        self.things[(self.next + 16 - usize::from(ago % 16)) % 16]
    }
}

/// The corners of `count` / 3 triangles.
pub(crate) fn triangles(stream: &[u8], count: usize) -> Result<Vec<u32>, Reason> {
    if !count.is_multiple_of(3) {
        return Err("holds triangles, but its count is no multiple of 3");
    }
    let (version, rest) = version(stream, 0xe0)?;
    let split = rest.len().checked_sub(16).ok_or(ENDS_EARLY)?;
    let (rest, table) = rest.split_at(split);
    let (codes, rest) = rest.split_at_checked(count / 3).ok_or(ENDS_EARLY)?;
    let mut reader = Reader { rest };
    // Codes above are near the last free index in version 1, free indices in both.
    let fifo_codes = if version == 0 { 15 } else { 13 };
    let mut edges = Recent::new([u32::MAX; 2]);
    let mut corners = Recent::new(u32::MAX);
    let (mut next, mut last) = (0u32, 0u32);
    let mut out = Vec::with_capacity(count);
    let fresh = |next: &mut u32| {
        let index = *next;
        *next = next.wrapping_add(1);
        index
    };
    let free = |reader: &mut Reader<'_>, last: &mut u32| -> Result<u32, Reason> {
        *last = last.wrapping_add(unzigzag(reader.varint()?));
        Ok(*last)
    };
    for &code in codes {
        let (upper, lower) = (code >> 4, code & 15);
        let [a, b, c];
        if upper < 15 {
            [a, b] = edges.get(upper + 1);
            c = match lower {
                0 => fresh(&mut next),
                _ if lower < fifo_codes => corners.get(lower + 1),
                15 => free(&mut reader, &mut last)?,
                _ => {
                    last = if lower == 13 { last.wrapping_sub(1) } else { last.wrapping_add(1) };
                    last
                }
            };
            if lower == 0 || lower >= fifo_codes {
                corners.push(c);
            }
        } else {
            let (first, aux) = if lower < 14 {
                (0, table[usize::from(lower)])
            } else {
                (if lower == 14 { 0 } else { 15 }, reader.byte()?)
            };
            if lower >= 14 && aux == 0 {
                next = 0;
            }
            let codes = [first, aux >> 4, aux & 15];
            // New indices are given to all three before free ones are read.
            let mut found = [0; 3];
            for (found, &code) in found.iter_mut().zip(&codes) {
                *found = if code == 0 { fresh(&mut next) } else { corners.get(code) };
            }
            for (found, _) in found.iter_mut().zip(codes).filter(|(_, code)| *code == 15 && lower >= 14) {
                *found = free(&mut reader, &mut last)?;
            }
            for (&found, code) in found.iter().zip(codes) {
                if code == 0 || (code == 15 && lower >= 14) {
                    corners.push(found);
                }
            }
            [a, b, c] = found;
            edges.push([b, a]);
        }
        edges.push([c, b]);
        edges.push([a, c]);
        out.extend([a, b, c]);
    }
    reader.is_read()?;
    Ok(out)
}

/// `count` indices in any order, each near one of the last two.
pub(crate) fn indices(stream: &[u8], count: usize) -> Result<Vec<u32>, Reason> {
    let (_, rest) = version(stream, 0xd0)?;
    let split = rest.len().checked_sub(4).ok_or(ENDS_EARLY)?;
    let mut reader = Reader { rest: &rest[..split] };
    if split < count {
        return Err(ENDS_EARLY);
    }
    let mut last = [0u32; 2];
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        let value = reader.varint()?;
        let last = &mut last[(value & 1) as usize];
        *last = last.wrapping_add(unzigzag(value >> 1));
        out.push(*last);
    }
    reader.is_read()?;
    Ok(out)
}

/// What is done to the elements of [`attributes`] after they are unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filter {
    /// Directions as two coordinates on an octahedron.
    Octahedral,
    /// Quaternions without their largest component.
    Quaternion,
    /// Floats as 24 bits and an exponent.
    Exponential,
    /// Colours as luma and chroma.
    Color,
}

impl Filter {
    /// The filter the extension calls `name`; the outer `None`: there is no such filter.
    pub fn of_name(name: &str) -> Option<Option<Self>> {
        Some(match name {
            "NONE" => None,
            "OCTAHEDRAL" => Some(Self::Octahedral),
            "QUATERNION" => Some(Self::Quaternion),
            "EXPONENTIAL" => Some(Self::Exponential),
            "COLOR" => Some(Self::Color),
            _ => return None,
        })
    }

    /// Whether elements of `stride` bytes can have gone through it.
    pub fn fits(self, stride: usize) -> bool {
        match self {
            Self::Octahedral | Self::Color => stride == 4 || stride == 8,
            Self::Quaternion => stride == 8,
            Self::Exponential => stride.is_multiple_of(4),
        }
    }

    /// Elements of `stride` bytes, which fits, as they were before they were filtered.
    pub fn undo(self, stride: usize, bytes: &mut [u8]) {
        match (self, stride) {
            (Self::Octahedral, 4) => bytes.as_chunks_mut().0.iter_mut().for_each(|b| narrow(b, octahedral)),
            (Self::Octahedral, _) => bytes.as_chunks_mut().0.iter_mut().for_each(|b| wide(b, octahedral)),
            (Self::Color, 4) => bytes.as_chunks_mut().0.iter_mut().for_each(|b| narrow(b, color)),
            (Self::Color, _) => bytes.as_chunks_mut().0.iter_mut().for_each(|b| wide(b, color)),
            (Self::Quaternion, _) => bytes.as_chunks_mut().0.iter_mut().for_each(|b| wide(b, quaternion)),
            (Self::Exponential, _) => bytes.as_chunks_mut().0.iter_mut().for_each(exponential),
        }
    }
}

/// Four bytes as numbers with sign, changed by `change`, which is told how many bits they have.
fn narrow(bytes: &mut [u8; 4], change: impl Fn([i32; 4], u32) -> [i32; 4]) {
    *bytes = change(bytes.map(|b| i32::from(b as i8)), 8).map(|n| n as u8);
}

/// As [`narrow`], of sixteen bits each.
fn wide(bytes: &mut [u8; 8], change: impl Fn([i32; 4], u32) -> [i32; 4]) {
    let (pairs, _) = bytes.as_chunks_mut::<2>();
    let numbers = change(std::array::from_fn(|n| i32::from(i16::from_le_bytes(pairs[n]))), 16);
    pairs.iter_mut().zip(numbers).for_each(|(pair, n)| *pair = (n as i16).to_le_bytes());
}

/// To the nearest, halves away from zero; in f32, as the specification's arithmetic.
fn round(value: f32) -> i32 {
    (value + if value >= 0.0 { 0.5 } else { -0.5 }) as i32
}

fn octahedral([x, y, one, w]: [i32; 4], bits: u32) -> [i32; 4] {
    let (x, y, one) = (x as f32, y as f32, one as f32);
    let z = one - x.abs() - y.abs();
    let below = z.min(0.0);
    let fold = |v: f32| v + if v >= 0.0 { below } else { -below };
    let (x, y) = (fold(x), fold(y));
    let scale = ((1 << (bits - 1)) - 1) as f32 / (x * x + y * y + z * z).sqrt();
    [round(x * scale), round(y * scale), round(z * scale), w]
}

fn quaternion([x, y, z, last]: [i32; 4], _: u32) -> [i32; 4] {
    let scale = std::f32::consts::FRAC_1_SQRT_2 / (last | 3) as f32;
    let [x, y, z] = [x, y, z].map(|v| v as f32 * scale);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let mut out = [0; 4];
    for (n, value) in [w, x, y, z].into_iter().enumerate() {
        out[((last as usize & 3) + n) & 3] = round(value * 32767.0);
    }
    out
}

fn exponential(bytes: &mut [u8; 4]) {
    let value = i32::from_le_bytes(*bytes);
    let (mantissa, exponent) = (value << 8 >> 8, value >> 24);
    *bytes = (f32::from_bits(((exponent + 127) as u32) << 23) * mantissa as f32).to_le_bytes();
}

fn color([y, co, cg, alpha]: [i32; 4], bits: u32) -> [i32; 4] {
    let unsigned = |v: i32| v & ((1 << bits) - 1);
    let (y, alpha) = (unsigned(y), unsigned(alpha));
    // The highest bit of alpha tells how many bits the colours have.
    let largest = [1, 2, 4, 8].into_iter().fold(alpha, |bits, shift| bits | bits >> shift);
    let scale = unsigned(-1) as f32 / largest as f32;
    let expanded = alpha << 1 & largest | alpha & 1;
    [y + co - cg, y + cg, y - co - cg, expanded].map(|v| (v as f32 * scale + 0.5) as i32)
}
