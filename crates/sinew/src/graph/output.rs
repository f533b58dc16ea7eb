//! What a frame gives, and what it is asked for.

use crate::correct::CorrectionReport;
use crate::rig::Rig;
use crate::simd::{LANES, PointRow, Points};
use glam::{DMat3, DVec3, Vec3, Vec4};

/// What a frame is to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Normals and tangents as the recipe asks for them. Without, as engines make them: nothing is cheaper.
    pub directions: bool,
    /// The recipe's base alone, beside the result.
    pub base: bool,
    /// What an engine's own skinning makes of the frame, beside the result.
    pub engine: bool,
}

impl Default for Outputs {
    /// The result alone.
    fn default() -> Self {
        Self { directions: true, base: false, engine: false }
    }
}

/// Linear blending as engines do it, whatever the recipe's base, point by point ([`crate::Rig::point_of_vertex`]).
#[derive(Clone, Debug, Default)]
pub struct EngineSkinning {
    pub(super) points: Points,
    pub(super) linear: Vec<[PointRow; 3]>,
}

impl EngineSkinning {
    /// Number of points.
    pub fn len(&self) -> usize {
        self.linear.len() * LANES
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }

    /// Where a point is, relative to its character's origin.
    pub fn position(&self, point: usize) -> Vec3 {
        self.points.get(point)
    }

    /// The blended 3×3 of a point, `Σ w_i T_i` without translation: what a morph's displacement is carried by.
    pub fn world_from_rest(&self, point: usize) -> DMat3 {
        let [x, y, z] = &self.linear[point / LANES];
        let lane = point % LANES;
        let row = |row: &PointRow| DVec3::new(row[0][lane].into(), row[1][lane].into(), row[2][lane].into());
        DMat3::from_cols(row(x), row(y), row(z)).transpose()
    }
}

/// The result, in the source's vertex order over all parts.
#[derive(Clone, Debug, Default)]
pub struct DeformedMesh {
    /// Per character: the point its positions are relative to.
    pub origins: Vec<DVec3>,
    /// Positions relative to the character's origin.
    pub positions: Vec<Vec3>,
    /// Unit normals.
    pub normals: Vec<Vec3>,
    /// Unit tangents with handedness; empty where no part has them.
    pub tangents: Vec<Vec4>,
    /// What the corrections did.
    pub corrected: CorrectionReport,
}

/// The result in rows, in the rig's own order ([`crate::Rig::rows`]).
#[derive(Clone, Debug, Default)]
pub struct DeformedRows {
    /// Per character: the point its positions are relative to.
    pub origins: Vec<DVec3>,
    /// Control points, by [`crate::Rig::point_of_vertex`].
    pub points: Points,
    /// Unit normals, by [`crate::Rig::layer_slot_of_vertex`].
    pub normals: Points,
    /// Unit tangents as the normals; empty where no part has them.
    pub tangents: Points,
    /// What the corrections did.
    pub corrected: CorrectionReport,
}

/// A result in vertices, as it is written.
pub(super) struct Vertices<'a> {
    pub positions: &'a mut [Vec3],
    pub normals: &'a mut [Vec3],
    pub tangents: &'a mut [Vec4],
}

impl DeformedMesh {
    /// Of the rig's size, taken apart.
    pub(super) fn sink(&mut self, rig: &Rig) -> (&mut Vec<DVec3>, &mut CorrectionReport, Vertices<'_>) {
        let count = rig.vertex_count();
        self.positions.resize(count, Vec3::ZERO);
        self.normals.resize(count, Vec3::ZERO);
        self.tangents.resize(if rig.layer_tangents().is_some() { count } else { 0 }, Vec4::ZERO);
        let Self { origins, positions, normals, tangents, corrected } = self;
        (origins, corrected, Vertices { positions, normals, tangents })
    }

    /// World position of a vertex of a part of `character`.
    pub fn world_position(&self, character: usize, vertex: usize) -> DVec3 {
        self.origins[character] + self.positions[vertex].as_dvec3()
    }
}
