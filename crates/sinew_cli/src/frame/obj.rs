//! A frame as Wavefront OBJ: one object per mesh node, one group per primitive, positions and normals.

use super::snapshot::Snapshot;
use std::io::{self, Write};

pub(super) fn write(snapshot: &Snapshot<'_>, out: &mut dyn Write) -> io::Result<()> {
    // OBJ counts vertices over the whole file, from 1.
    let mut first = 1;
    for part in snapshot.parts() {
        writeln!(out, "o {}", object_name(&part.name, part.node))?;
        for (index, primitive) in part.primitives.iter().enumerate() {
            if part.primitives.len() > 1 {
                writeln!(out, "g primitive_{index}")?;
            }
            for [x, y, z] in snapshot.positions(&snapshot.deformed, part, primitive) {
                writeln!(out, "v {x} {y} {z}")?;
            }
            for n in &snapshot.deformed.normals[primitive.vertices.clone()] {
                writeln!(out, "vn {} {} {}", n.x, n.y, n.z)?;
            }
            for corners in snapshot.triangles(primitive) {
                let [a, b, c] = corners.map(|corner| first + u64::from(corner));
                writeln!(out, "f {a}//{a} {b}//{b} {c}//{c}")?;
            }
            first += primitive.vertices.len() as u64;
        }
    }
    Ok(())
}

/// A name without what would end it: objects are named by one word on one line.
fn object_name(name: &str, node: usize) -> String {
    if name.is_empty() {
        return format!("node_{node}");
    }
    name.chars().map(|c| if c.is_whitespace() || c.is_control() { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_one_word() {
        assert_eq!(object_name("left arm\nv 0 0 0", 3), "left_arm_v_0_0_0");
        assert_eq!(object_name("", 3), "node_3");
    }
}
