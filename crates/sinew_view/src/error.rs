//! What can go wrong.

/// Why something is not drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// A picture beyond what the device holds.
    #[error("the picture is {width} × {height} pixels; this GPU draws at most {limit} along a side")]
    Picture {
        /// As asked for.
        width: u32,
        /// As asked for.
        height: u32,
        /// What there may be.
        limit: u32,
    },
    /// A mesh beyond what the device holds.
    #[error("mesh {mesh} has {elements} numbers in one piece; this GPU holds {limit}: split the mesh")]
    Mesh {
        /// Which.
        mesh: usize,
        /// How many.
        elements: usize,
        /// How many there may be.
        limit: usize,
    },
    /// Not as many points as the model has.
    #[error("mesh {mesh} has {expected} vertices, and {found} were given")]
    Vertices {
        /// Which.
        mesh: usize,
        /// Of the model.
        expected: usize,
        /// Given.
        found: usize,
    },
    /// No such mesh.
    #[error("mesh {mesh} was asked for; the model has {meshes}")]
    NoMesh {
        /// Asked for.
        mesh: usize,
        /// How many there are.
        meshes: usize,
    },
    /// The device does not answer.
    #[error("the GPU reports: {0}")]
    Device(String),
}
