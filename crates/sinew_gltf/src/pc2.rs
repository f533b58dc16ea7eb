//! PC2, the point cache of 3ds Max, Blender's Mesh Cache and others: `POINTCACHE2`, a header, then the positions of all
//! points, frame by frame, in little-endian f32.
//!
//! Source: the format as Blender reads it (`MOD_meshcache_pc2.cc`). Oracle: the bytes of a small cache written by hand.

use glam::Vec3;
use std::io::{self, Write};

/// Writes the header of a cache of `samples` frames of `points` points, one sample a frame from frame 0.
pub fn write_header(out: &mut dyn Write, points: u32, samples: u32) -> io::Result<()> {
    out.write_all(b"POINTCACHE2\0")?;
    out.write_all(&1u32.to_le_bytes())?;
    out.write_all(&points.to_le_bytes())?;
    out.write_all(&0f32.to_le_bytes())?;
    out.write_all(&1f32.to_le_bytes())?;
    out.write_all(&samples.to_le_bytes())
}

/// Writes one frame.
pub fn write_frame(out: &mut dyn Write, points: &[Vec3]) -> io::Result<()> {
    points.iter().flat_map(|point| point.to_array()).try_for_each(|x| out.write_all(&x.to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frames_of_one_point() {
        let mut bytes = Vec::new();
        write_header(&mut bytes, 1, 2).unwrap();
        write_frame(&mut bytes, &[Vec3::new(1.0, 2.0, -0.5)]).unwrap();
        write_frame(&mut bytes, &[Vec3::ZERO]).unwrap();
        let mut expected = b"POINTCACHE2\0".to_vec();
        expected.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 2, 0, 0, 0]);
        expected.extend([0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0, 0xbf]);
        expected.extend([0; 12]);
        assert_eq!(bytes, expected);
    }
}
