//! One frame with effects and without, and what the blended 3×3 makes of areas.

use crate::place::character_of_vertex;
use glam::{DMat3, DVec3};
use sinew::correct::SegmentVolume;
use sinew::graph::GraphError;
use sinew::recipe::Normals;
use sinew::simd::LANES;
use sinew::{
    BoneId, Cpu, DeformedMesh, FilteredSignal, Frame, FrameIndependentGraph, Kinematics, Motion, Pose, Recipe, Rig,
    Scratch, WorldPose, evaluate,
};

/// What the frames of one character have in common.
pub(crate) struct Stage<'a> {
    pub rig: &'a Rig,
    /// The recipe's base alone.
    base: FrameIndependentGraph,
    /// With effects and corrections; `None` where the recipe has none.
    effects: Option<FrameIndependentGraph>,
    rest: Pose,
    pub character_of_vertex: Vec<usize>,
    /// The topmost moving bone of each character: what the whole of it turns with.
    roots: Vec<Option<BoneId>>,
}

/// Memory for frames; one per thread.
pub(crate) struct Workspace {
    pose: Pose,
    world: WorldPose,
    kinematics: Kinematics,
    scratch: Scratch,
    mesh: DeformedMesh,
    palette: Vec<DMat3>,
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

impl<'a> Stage<'a> {
    pub fn new(rig: &'a Rig, recipe: &Recipe) -> Result<Self, GraphError> {
        // Positions alone are looked at, so normals are made as cheaply as can be.
        let recipe = Recipe { normals: Normals::Engine, ..recipe.clone() };
        let base = recipe.base_only();
        let has_effects = recipe.adds();
        let build = |recipe| Ok::<_, GraphError>(FrameIndependentGraph::build(rig, recipe)?.metered(rig));
        let effects = has_effects.then(|| build(&recipe)).transpose()?;
        let mut roots = vec![None; rig.characters().len()];
        for bone in rig.skeleton().bones().filter(|&bone| rig.is_root(bone)) {
            if let Some(root) = roots.get_mut(rig.character_of_bone(bone)) {
                root.get_or_insert(bone);
            }
        }
        Ok(Self {
            rig,
            base: build(&base)?,
            effects,
            rest: rig.rest_pose(),
            character_of_vertex: character_of_vertex(rig),
            roots,
        })
    }

    pub fn has_effects(&self) -> bool {
        self.effects.is_some()
    }

    /// Signals the motions must prepare.
    pub fn filtered_signals(&self) -> &[FilteredSignal] {
        self.effects.as_ref().unwrap_or(&self.base).filtered_signals()
    }

    /// Size of the character a vertex belongs to.
    pub fn size(&self, vertex: usize) -> f64 {
        self.rig.characters()[self.character_of_vertex[vertex]].size
    }

    pub fn workspace(&self) -> Workspace {
        Workspace {
            pose: self.rest.clone(),
            world: WorldPose::default(),
            kinematics: Kinematics::at_rest(self.rig.skeleton().len(), self.filtered_signals().len()),
            scratch: Scratch::default(),
            mesh: DeformedMesh::default(),
            palette: Vec::new(),
        }
    }

    /// The frame at `time` of a motion; without one, the nodes' default transforms.
    pub fn frame(&self, motion: Option<&Motion>, time: f64, workspace: &mut Workspace, out: &mut Positions) {
        let Workspace { pose, world, kinematics, scratch, mesh, palette } = workspace;
        let rig = self.rig;
        pose.clone_from(&self.rest);
        if let Some(motion) = motion {
            motion.pose(time, pose);
        }
        world.compose(rig.skeleton(), pose);
        match motion {
            Some(motion) => motion.kinematics(time, world, rig.skeleton(), kinematics),
            None => *kinematics = Kinematics::at_rest(rig.skeleton().len(), self.filtered_signals().len()),
        }
        let frame = Frame { rig, pose, world, kinematics, time };
        evaluate(&self.base, &frame, &Cpu::serial(), scratch, mesh);
        self.place(mesh, &mut out.base);
        out.base_segments.clone_from(&mesh.corrected.segments);
        blend(rig, world, palette, &mut out.cofactors);
        match &self.effects {
            Some(effects) => {
                evaluate(effects, &frame, &Cpu::serial(), scratch, mesh);
                self.place(mesh, &mut out.effects);
                out.effect_segments.clone_from(&mesh.corrected.segments);
            }
            None => {
                out.effects.clone_from(&out.base);
                out.effect_segments.clone_from(&out.base_segments);
            }
        }
        out.turns.clear();
        out.turns.extend(self.roots.iter().map(|root| match root {
            Some(bone) => world.world_from_bone(*bone).matrix3,
            None => DMat3::IDENTITY,
        }));
    }

    fn place(&self, mesh: &DeformedMesh, out: &mut Vec<DVec3>) {
        out.clear();
        let placed = self.character_of_vertex.iter().enumerate();
        out.extend(placed.map(|(vertex, &character)| mesh.world_position(character, vertex)));
    }
}

fn blend(rig: &Rig, world: &WorldPose, palette: &mut Vec<DMat3>, out: &mut Vec<DMat3>) {
    palette.clear();
    palette.extend(rig.palette().iter().map(|e| world.world_from_bone(e.bone).matrix3 * e.bone_from_rest.matrix3));
    out.clear();
    out.resize(rig.rows().len() * LANES, DMat3::ZERO);
    for (row, matrices) in rig.rows().iter().zip(out.chunks_mut(LANES)) {
        for entry in row.skin.start as usize..row.skin.end as usize {
            let matrix = palette[rig.skin_entries()[entry] as usize];
            let weights = &rig.skin_weights()[entry];
            for (lane, blended) in matrices.iter_mut().enumerate() {
                *blended += matrix * f64::from(weights[lane]);
            }
        }
        matrices.iter_mut().for_each(|matrix| *matrix = cofactors(*matrix));
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
