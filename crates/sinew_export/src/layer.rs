//! From what was baked to what is written: targets and curves by node and animation.

use sinew_bake::report::Report;
use sinew_bake::{Baked, PrimitiveTarget, WeightCurve};
use sinew_gltf::layer::{ClipWeights, MorphLayer, NodeTargets, NodeWeights, PrimitiveTargets, Storage, Target};
use sinew_gltf::{Asset, repaired_skins};

fn storage(storage: sinew_bake::Storage) -> Storage {
    match storage {
        sinew_bake::Storage::Float => Storage::Float,
        sinew_bake::Storage::Byte => Storage::Byte,
        sinew_bake::Storage::Short => Storage::Short,
        sinew_bake::Storage::NormalizedByte => Storage::NormalizedByte,
        sinew_bake::Storage::NormalizedShort => Storage::NormalizedShort,
    }
}

/// The layer to add to the file, and the report of the bake.
pub fn morph_layer(asset: &Asset, baked: Baked, animations: &[usize], recipe: String) -> (MorphLayer, Report) {
    let parts = asset.rig.parts();
    let mut nodes = Vec::with_capacity(baked.parts.len());
    let mut node_of_part = Vec::with_capacity(baked.parts.len());
    for part in baked.parts {
        let node = parts[part.part].node;
        let count = part.targets.len();
        let mut primitives = vec![PrimitiveTargets::default(); parts[part.part].primitives.len()];
        for target in part.targets {
            for (primitive, target) in primitives.iter_mut().zip(target) {
                let PrimitiveTarget { positions, normals, tangents, position_storage, direction_storage } = target;
                primitive.targets.push(Target {
                    positions,
                    normals,
                    tangents,
                    position_storage: storage(position_storage),
                    direction_storage: storage(direction_storage),
                });
            }
        }
        let names = (0..count).map(|target| format!("sinew_{target}")).collect();
        nodes.push(NodeTargets { node, count, names, primitives });
        node_of_part.push(node);
    }
    let weights = |(curve, &node): (WeightCurve, &usize)| NodeWeights {
        node,
        times: curve.times.iter().map(|&time| time as f32).collect(),
        weights: curve.weights.concat(),
    };
    let clips = animations.iter().zip(baked.clips).map(|(&animation, curves)| ClipWeights {
        animation,
        nodes: curves.into_iter().zip(&node_of_part).map(weights).collect(),
    });
    let clips = clips.collect();
    let repaired_skins = repaired_skins(&asset.raw, &asset.rig);
    (MorphLayer { nodes, clips, repaired_skins, recipe }, baked.report)
}
