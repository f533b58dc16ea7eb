//! Skins: palettes of joints with their inverse bind matrices.
//!
//! Source: glTF 2.0 specification, chapter 3.7.3. Without inverse bind matrices each is the identity.

use crate::accessor::Accessors;
use crate::error::Fault;
use crate::nodes::affine;
use crate::view::View;
use glam::DAffine3;
use sinew::Warning;
use sinew::raw::{RawJoint, RawSkin};
use std::collections::HashSet;

/// Volume of the image of a unit cube, as a fraction of what its longest side allows, below which a bind counts as
/// flat.
const SINGULAR: f64 = 1e-12;

pub(crate) fn read(
    root: &View<'_>,
    accessors: &Accessors<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<RawSkin>, Fault> {
    let mut skins = Vec::new();
    for view in root.list("skins")? {
        let joints = view.need("joints")?.entries()?;
        if joints.is_empty() {
            return Err(view.invalid("has no joints").remedy("bind the mesh to at least one bone, or remove the skin"));
        }
        let matrices = match view.get("inverseBindMatrices")? {
            None => None,
            Some(reference) => {
                let accessor = accessors.open(&reference)?;
                if accessor.count < joints.len() {
                    let fault = format!("has {} matrices for {} joints", accessor.count, joints.len());
                    return Err(accessor.invalid(fault));
                }
                Some(accessor.floats::<16>()?)
            }
        };
        let mut palette = Vec::with_capacity(joints.len());
        let mut listed = HashSet::new();
        let mut twice: Vec<usize> = Vec::new();
        for (number, joint) in joints.iter().enumerate() {
            let bone_from_rest = match &matrices {
                None => DAffine3::IDENTITY,
                Some(matrices) => {
                    let bind = affine(&matrices[number].map(f64::from), joint, warnings)?;
                    warn_if_singular(&bind, joint, warnings);
                    bind
                }
            };
            let bone = joint.reference("nodes")?;
            if !listed.insert(bone) {
                twice.push(bone);
            }
            palette.push(RawJoint { bone, bone_from_rest });
        }
        if let Some(first) = twice.first() {
            warnings.push(Warning {
                code: "skin-joint-twice",
                subject: view.words(),
                message: format!(
                    "lists node {first} as a joint more than once ({} in all); each was kept",
                    twice.len()
                ),
                remedy: "list every joint once, and export again",
            });
        }
        skins.push(RawSkin { name: view.name(), joints: palette });
    }
    Ok(skins)
}

fn warn_if_singular(bind: &DAffine3, joint: &View<'_>, warnings: &mut Vec<Warning>) {
    let columns = bind.matrix3;
    let longest = columns.x_axis.length().max(columns.y_axis.length()).max(columns.z_axis.length());
    if columns.determinant().abs() <= SINGULAR * longest.powi(3) {
        warnings.push(Warning {
            code: "bind-matrix-singular",
            subject: joint.words(),
            message: format!(
                "has a singular inverse bind matrix (determinant {:e}); it was kept",
                columns.determinant()
            ),
            remedy: "give the bone a scale other than zero when binding, and export again",
        });
    }
}
