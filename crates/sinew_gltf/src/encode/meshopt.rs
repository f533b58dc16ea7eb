//! Bitstreams of meshopt compression: vertex attributes, version 0, which every decoder reads.
//!
//! Source: `EXT_meshopt_compression`, appendix A (bitstream). Elements are taken apart into planes of single bytes; each byte
//! is stored as its difference to the one before, sixteen at a time in the fewest bits that will do.
//!
//! Oracle: [`decode`](crate::decode) gives back what went in (below), and so does meshoptimizer (`cargo xtask interop`).

/// Vertices coded together.
const GROUP: usize = 16;
/// What stands behind the last block, at the least: decoders read ahead.
const SHORTEST_TAIL: usize = 32;

/// Packs elements of `stride` bytes: 4 to 256, in fours.
pub(crate) fn attributes(elements: &[u8], stride: usize) -> Vec<u8> {
    let mut out = vec![0xa0];
    let first = elements.get(..stride).unwrap_or_default();
    let mut last = first.to_vec();
    let in_block = (8192 / stride / GROUP * GROUP).min(256);
    let mut plane = [0u8; 256];
    for block in elements.chunks(in_block * stride) {
        let count = block.len() / stride;
        for (byte, last) in last.iter_mut().enumerate() {
            plane.fill(0);
            for (difference, element) in plane.iter_mut().zip(block.chunks_exact(stride)) {
                *difference = zigzag(element[byte].wrapping_sub(*last));
                *last = element[byte];
            }
            byte_groups(&plane[..count.next_multiple_of(GROUP)], &mut out);
        }
    }
    out.resize(out.len() + SHORTEST_TAIL.saturating_sub(stride), 0);
    out.extend_from_slice(first);
    out
}

/// A difference with its sign as the lowest bit.
fn zigzag(difference: u8) -> u8 {
    let signed = difference as i8;
    ((signed << 1) ^ (signed >> 7)) as u8
}

/// One byte of each element: two bits per group that say how wide it is, then the groups.
fn byte_groups(plane: &[u8], out: &mut Vec<u8>) {
    let groups = plane.len() / GROUP;
    let header = out.len();
    out.resize(header + groups.div_ceil(4), 0);
    for (number, group) in plane.chunks_exact(GROUP).enumerate() {
        let escaped = |bits: u32| group.iter().filter(|&&byte| u32::from(byte) >= (1 << bits) - 1).count();
        let sizes =
            [if group.iter().all(|&byte| byte == 0) { 0 } else { usize::MAX }, 4 + escaped(2), 8 + escaped(4), GROUP];
        let code = (0..4).min_by_key(|&code| sizes[code]).unwrap_or(3);
        out[header + number / 4] |= (code as u8) << (2 * (number % 4));
        match code {
            0 => {}
            3 => out.extend_from_slice(group),
            code => narrow_group(group, 1 << code, out),
        }
    }
}

/// Bytes in `bits` bits each, the highest first; those that do not fit are all ones, and follow.
fn narrow_group(group: &[u8], bits: u32, out: &mut Vec<u8>) {
    let escape = (1u8 << bits) - 1;
    for packed in group.chunks_exact(8 / bits as usize) {
        out.push(packed.iter().fold(0, |byte, &value| byte << bits | value.min(escape)));
    }
    out.extend(group.iter().filter(|&&value| value >= escape));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::meshopt;
    use sinew_testkit::random::Random;

    #[test]
    fn what_is_packed_unpacks_to_the_bit() {
        let mut random = Random::new(3);
        for stride in [4, 8, 12, 16, 44, 256] {
            for count in [1, 15, 16, 17, 255, 256, 257, 700] {
                for kind in 0..4 {
                    let byte = |at: usize, random: &mut Random| match kind {
                        0 => 0,
                        1 => random.bits() as u8,
                        // A ramp with noise, and hardly anything.
                        2 => (at / stride / 3) as u8 ^ (random.below(4) as u8),
                        _ => {
                            if random.below(40) == 0 {
                                random.bits() as u8
                            } else {
                                7
                            }
                        }
                    };
                    let plain: Vec<u8> = (0..count * stride).map(|at| byte(at, &mut random)).collect();
                    let packed = attributes(&plain, stride);
                    let mut found = vec![0; plain.len()];
                    meshopt::attributes(&packed, stride, &mut found).unwrap();
                    assert!(found == plain, "stride {stride}, {count} elements, kind {kind}");
                    // Raw groups, and two bits for each.
                    let most = count.next_multiple_of(GROUP) * stride * 65 / 64 + stride * count.div_ceil(16) + 300;
                    assert!(packed.len() <= most, "{} of {}", packed.len(), plain.len());
                }
            }
        }
    }
}
