//! MDD, the motion file of LightWave, Blender's Mesh Cache and others: number of frames and points, the time of every
//! frame in seconds, then the positions of all points, frame by frame; all of it big-endian.
//!
//! Source: the format as Blender reads it (`MOD_meshcache_mdd.cc`). Oracle: the bytes of a small cache written by hand.

use glam::Vec3;
use std::io::{self, Write};

/// Writes the header of a cache of `points` points at the given times.
pub fn write_header(out: &mut dyn Write, points: u32, times: &[f32]) -> io::Result<()> {
    let frames = u32::try_from(times.len()).map_err(io::Error::other)?;
    out.write_all(&frames.to_be_bytes())?;
    out.write_all(&points.to_be_bytes())?;
    times.iter().try_for_each(|time| out.write_all(&time.to_be_bytes()))
}

/// Writes one frame.
pub fn write_frame(out: &mut dyn Write, points: &[Vec3]) -> io::Result<()> {
    points.iter().flat_map(|point| point.to_array()).try_for_each(|x| out.write_all(&x.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_frames_of_one_point() {
        let mut bytes = Vec::new();
        write_header(&mut bytes, 1, &[0.0, 0.5]).unwrap();
        write_frame(&mut bytes, &[Vec3::new(1.0, 2.0, -0.5)]).unwrap();
        write_frame(&mut bytes, &[Vec3::ZERO]).unwrap();
        let mut expected = vec![0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0x3f, 0, 0, 0];
        expected.extend([0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0xbf, 0, 0, 0]);
        expected.extend([0; 12]);
        assert_eq!(bytes, expected);
    }
}
