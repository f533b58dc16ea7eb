//! Where on a character, and when.

use sinew::Rig;

/// A vertex at a moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The mesh node.
    pub node: usize,
    /// Name of the mesh.
    pub mesh: String,
    /// The primitive of the mesh.
    pub primitive: usize,
    /// The vertex, in the file's order.
    pub vertex: usize,
    /// The bone that moves it most.
    pub bone: String,
    /// Seconds on the clip's clock.
    pub time: f64,
}

/// The largest of something, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Extreme {
    /// How large.
    pub value: f64,
    /// Where.
    pub place: Location,
}

/// The largest value so far over vertices and frames. Of equals the first is kept, so that the order in which parts of
/// the work finish does not matter as long as they are joined in order.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Worst {
    pub value: f64,
    pub vertex: usize,
    pub time: f64,
}

impl Worst {
    pub fn see(&mut self, value: f64, vertex: usize, time: f64) {
        if value > self.value {
            *self = Self { value, vertex, time };
        }
    }

    pub fn join(&mut self, later: Self) {
        self.see(later.value, later.vertex, later.time);
    }

    pub fn extreme(self, rig: &Rig) -> Extreme {
        Extreme { value: self.value, place: place(rig, self.vertex, self.time) }
    }
}

/// The place of a vertex of the rig.
pub(crate) fn place(rig: &Rig, vertex: usize, time: f64) -> Location {
    for part in rig.parts() {
        for (primitive, ranges) in part.primitives.iter().enumerate() {
            if ranges.vertices.contains(&vertex) {
                let bone = rig.main_bone(rig.point(vertex));
                return Location {
                    node: part.node,
                    mesh: part.name.clone(),
                    primitive,
                    vertex: vertex - ranges.vertices.start,
                    bone: bone.map_or(String::new(), |bone| rig.skeleton().name(bone).to_owned()),
                    time,
                };
            }
        }
    }
    Location { node: 0, mesh: String::new(), primitive: 0, vertex, bone: String::new(), time }
}

/// The character of each vertex.
pub(crate) fn character_of_vertex(rig: &Rig) -> Vec<usize> {
    let mut character = vec![0; rig.vertex_count()];
    for part in rig.parts() {
        for primitive in &part.primitives {
            character[primitive.vertices.clone()].fill(part.character);
        }
    }
    character
}
