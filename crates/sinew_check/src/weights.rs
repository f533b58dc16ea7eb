//! Skin weights as they came in, before anything was repaired.

use sinew::RawRig;
use sinew::raw::{RawBinding, RawPrimitive};

/// How far a vertex's weights may miss 1 and still count as normalised: a few steps of an 8-bit weight.
const NORMALISED: f64 = 1e-3;
/// Influences that every engine takes.
const USUAL_INFLUENCES: usize = 4;

/// The weights of one skinned mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightReport {
    /// The mesh node.
    pub node: usize,
    /// Name of the mesh.
    pub mesh: String,
    /// Vertices.
    pub vertices: usize,
    /// Vertices whose weights do not sum to 1.
    pub unnormalised: usize,
    /// The sum that is farthest from 1; 1 where there is nothing to tell.
    pub worst_sum: f64,
    /// Vertices without any weight that can be used.
    pub weightless: usize,
    /// Vertices with more than four influences.
    pub over_four: usize,
    /// The most influences of a vertex.
    pub most_influences: usize,
}

/// Measures every skinned mesh.
pub fn weights(raw: &RawRig) -> Vec<WeightReport> {
    let skinned = raw.meshes.iter().filter(|mesh| mesh.binding != RawBinding::Node);
    skinned
        .map(|mesh| {
            let mut report = WeightReport {
                node: mesh.node,
                mesh: mesh.name.clone(),
                vertices: 0,
                unnormalised: 0,
                worst_sum: 1.0,
                weightless: 0,
                over_four: 0,
                most_influences: 0,
            };
            mesh.primitives.iter().for_each(|primitive| measure(primitive, &mut report));
            report
        })
        .collect()
}

fn measure(primitive: &RawPrimitive, report: &mut WeightReport) {
    let influences = &primitive.influences;
    report.vertices += primitive.positions.len();
    for vertex in 0..primitive.positions.len() {
        let slots = vertex * influences.per_vertex..(vertex + 1) * influences.per_vertex;
        let usable = |weight: &&f32| weight.is_finite() && **weight > 0.0;
        let weights = influences.weights.get(slots).unwrap_or_default().iter().filter(usable);
        let (count, sum) = weights.fold((0, 0.0), |(count, sum), &weight| (count + 1, sum + f64::from(weight)));
        report.weightless += usize::from(count == 0);
        report.over_four += usize::from(count > USUAL_INFLUENCES);
        report.most_influences = report.most_influences.max(count);
        if count > 0 && (sum - 1.0).abs() > NORMALISED {
            report.unnormalised += 1;
            if (sum - 1.0).abs() > (report.worst_sum - 1.0).abs() {
                report.worst_sum = sum;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;
    use sinew::raw::{RawInfluences, RawMesh};

    #[test]
    fn faults_are_counted() {
        let influences = RawInfluences {
            per_vertex: 5,
            joints: vec![0; 20],
            weights: [
                [1.0, 0.0, 0.0, 0.0, 0.0],
                [0.2, 0.2, 0.2, 0.2, 0.2],
                [0.0, f32::NAN, -1.0, 0.0, 0.0],
                [1.0, 0.5, 0.25, 0.0, 0.0],
            ]
            .concat(),
        };
        let primitive = RawPrimitive { positions: vec![Vec3::ZERO; 4], influences, ..RawPrimitive::default() };
        let mesh = |binding| RawMesh {
            name: "m".into(),
            node: 3,
            binding,
            primitives: vec![primitive.clone()],
            morph_weights: Vec::new(),
        };
        let raw = RawRig { meshes: vec![mesh(RawBinding::Skin(0)), mesh(RawBinding::Node)], ..RawRig::default() };
        let expected = WeightReport {
            node: 3,
            mesh: "m".into(),
            vertices: 4,
            unnormalised: 1,
            worst_sum: 1.75,
            weightless: 1,
            over_four: 1,
            most_influences: 5,
        };
        assert_eq!(weights(&raw), [expected]);
    }
}
