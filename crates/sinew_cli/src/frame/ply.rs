//! A frame as Stanford PLY, binary little-endian: all meshes in one list of vertices, positions in f64 so that a
//! character far from the origin keeps its precision, normals in f32.

use super::snapshot::Snapshot;
use std::io::{self, Write};

pub(super) fn write(snapshot: &Snapshot<'_>, out: &mut dyn Write) -> io::Result<()> {
    let parts = snapshot.parts();
    let primitives = || parts.iter().flat_map(|part| part.primitives.iter().map(move |primitive| (*part, primitive)));
    let vertices: usize = primitives().map(|(_, primitive)| primitive.vertices.len()).sum();
    let triangles: usize = primitives().map(|(_, primitive)| primitive.triangles.len()).sum();
    write!(
        out,
        "ply\nformat binary_little_endian 1.0\n\
         element vertex {vertices}\n\
         property double x\nproperty double y\nproperty double z\n\
         property float nx\nproperty float ny\nproperty float nz\n\
         element face {triangles}\n\
         property list uchar uint vertex_indices\n\
         end_header\n"
    )?;
    for (part, primitive) in primitives() {
        let normals = &snapshot.deformed.normals[primitive.vertices.clone()];
        for (position, normal) in snapshot.positions(&snapshot.deformed, part, primitive).zip(normals) {
            for x in position {
                out.write_all(&x.to_le_bytes())?;
            }
            for x in normal.to_array() {
                out.write_all(&x.to_le_bytes())?;
            }
        }
    }
    let mut first: u32 = 0;
    for (_, primitive) in primitives() {
        for corners in snapshot.triangles(primitive) {
            out.write_all(&[3])?;
            for corner in corners {
                out.write_all(&(first + corner).to_le_bytes())?;
            }
        }
        // A rig holds fewer vertices than u32 can count.
        first += primitive.vertices.len() as u32;
    }
    Ok(())
}
