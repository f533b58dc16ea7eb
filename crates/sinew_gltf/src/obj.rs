//! A mesh in world space as Wavefront OBJ: one object per mesh node, one group per primitive, positions and normals.
//! Vertices stand by node, primitive and the file's own order, each once.

use sinew::rig::Part;
use sinew::{DeformedMesh, Rig};
use std::io::{self, Write};

/// Parts in the order they are written in: by node.
pub fn parts(rig: &Rig) -> Vec<&Part> {
    let mut parts: Vec<_> = rig.parts().iter().collect();
    parts.sort_by_key(|part| part.node);
    parts
}

/// Writes a deformed mesh.
pub fn write(rig: &Rig, mesh: &DeformedMesh, out: &mut dyn Write) -> io::Result<()> {
    // OBJ counts vertices over the whole file, from 1.
    let mut first = 1;
    for part in parts(rig) {
        writeln!(out, "o {}", object_name(&part.name, part.node))?;
        for (index, primitive) in part.primitives.iter().enumerate() {
            if part.primitives.len() > 1 {
                writeln!(out, "g primitive_{index}")?;
            }
            for vertex in primitive.vertices.clone() {
                let [x, y, z] = mesh.world_position(part.character, vertex).to_array();
                writeln!(out, "v {x} {y} {z}")?;
            }
            for n in &mesh.normals[primitive.vertices.clone()] {
                writeln!(out, "vn {} {} {}", n.x, n.y, n.z)?;
            }
            let start = primitive.vertices.start as u64;
            for corners in &rig.triangles()[primitive.triangles.clone()] {
                let [a, b, c] = corners.map(|corner| first + u64::from(corner) - start);
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
