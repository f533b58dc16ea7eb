//! One frame as it is measured: with effects and without, and what the blended 3×3 makes of areas.

use crate::location::character_of_vertex;
use glam::{DMat3, DVec3};
use sinew::correct::SegmentVolume;
use sinew::graph::GraphError;
use sinew::{BoneId, Cpu, DeformedMesh, Outputs, Playing, Recipe, Rig, Stage, Workspace};
use std::sync::Arc;

/// What the frames of one character have in common.
pub(crate) struct Subject {
    pub stage: Stage,
    /// Whether there are effects or corrections.
    pub has_effects: bool,
    pub character_of_vertex: Vec<usize>,
    /// The topmost moving bone of each character: what the whole of it turns with.
    roots: Vec<Option<BoneId>>,
}

/// A frame, in world space, in the rig's vertex order.
#[derive(Clone, Default)]
pub(crate) struct Positions {
    pub base: Vec<DVec3>,
    /// By control point: the cofactors of Σ wᵢ Tᵢ, which map area vectors where it maps points.
    pub cofactors: Vec<DMat3>,
    /// With effects; the same as `base` where there are none.
    pub effects: Vec<DVec3>,
    /// How each character's root is turned.
    pub turns: Vec<DMat3>,
    /// Volumes of segments in the base, and with effects where there are any.
    pub base_segments: Vec<SegmentVolume>,
    pub effect_segments: Vec<SegmentVolume>,
}

/// Memory for frames; one per thread. Positions alone are looked at, so normals are made as cheaply as can be.
pub(crate) fn workspace() -> Workspace {
    Workspace::with(Outputs { directions: false, base: true, engine: true })
}

impl Subject {
    pub fn new(rig: &Arc<Rig>, recipe: &Recipe) -> Result<Self, GraphError> {
        let mut roots = vec![None; rig.characters().len()];
        for bone in rig.skeleton().bones().filter(|&bone| rig.is_root(bone)) {
            if let Some(root) = roots.get_mut(rig.character_of_bone(bone)) {
                root.get_or_insert(bone);
            }
        }
        Ok(Self {
            stage: Stage::new(rig, recipe)?,
            has_effects: recipe.adds(),
            character_of_vertex: character_of_vertex(rig),
            roots,
        })
    }

    /// The same with the volumes of segments.
    pub fn metered(self) -> Self {
        Self { stage: self.stage.metered(), ..self }
    }

    pub fn rig(&self) -> &Rig {
        self.stage.rig()
    }

    /// Size of the character a vertex belongs to.
    pub fn size(&self, vertex: usize) -> f64 {
        self.rig().characters()[self.character_of_vertex[vertex]].size
    }

    /// The frame at `time`.
    pub fn frame(&self, playing: &Playing<'_>, time: f64, workspace: &mut Workspace, out: &mut Positions) {
        playing.frame(time, workspace);
        self.read(workspace, out);
    }

    /// The nodes' default transforms.
    pub fn rest(&self, workspace: &mut Workspace, out: &mut Positions) {
        self.stage.resting(workspace).deform(&Cpu::serial());
        self.read(workspace, out);
    }

    fn read(&self, workspace: &Workspace, out: &mut Positions) {
        let (base, mesh, engine) = (workspace.base(), workspace.mesh(), workspace.engine());
        self.place(base, &mut out.base);
        self.place(mesh, &mut out.effects);
        out.base_segments.clone_from(&base.corrected.segments);
        out.effect_segments.clone_from(&mesh.corrected.segments);
        out.cofactors.clear();
        out.cofactors.extend((0..engine.len()).map(|point| cofactors(engine.world_from_rest(point))));
        out.turns.clear();
        out.turns.extend(self.roots.iter().map(|root| match root {
            Some(bone) => workspace.world().world_from_bone(*bone).matrix3,
            None => DMat3::IDENTITY,
        }));
    }

    fn place(&self, mesh: &DeformedMesh, out: &mut Vec<DVec3>) {
        out.clear();
        let placed = self.character_of_vertex.iter().enumerate();
        out.extend(placed.map(|(vertex, &character)| mesh.world_position(character, vertex)));
    }
}

/// The matrix that maps area vectors where `matrix` maps points.
fn cofactors(matrix: DMat3) -> DMat3 {
    let DMat3 { x_axis, y_axis, z_axis } = matrix;
    DMat3::from_cols(y_axis.cross(z_axis), z_axis.cross(x_axis), x_axis.cross(y_axis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cofactors_map_areas() {
        let matrix = DMat3::from_cols_array(&[1.0, 2.0, 0.5, -1.0, 0.3, 2.0, 0.2, -0.7, -1.5]);
        let (a, b) = (DVec3::new(0.3, 1.0, -2.0), DVec3::new(-1.0, 0.4, 0.7));
        let found = cofactors(matrix) * a.cross(b);
        assert!(found.distance((matrix * a).cross(matrix * b)) < 1e-12, "{found}");
    }
}
