//! Scene nodes: names, default transforms, and a forest that is checked to be one.
//!
//! Source: glTF 2.0 specification, chapter 3.5. Nothing here recurses: nodes may be nested as deep as they like.

use crate::error::Fault;
use crate::view::View;
use glam::{DAffine3, DMat4, DQuat, DVec3};
use sinew::raw::RawBone;
use sinew::{LocalTransform, Trs, Warning};

/// How far a quaternion's length may be from 1 before it is worth a word: the Khronos validator's own threshold.
pub(crate) const UNIT_SLACK: f64 = 0.00769;

/// How far the last row of a matrix may be from (0, 0, 0, 1) and still be rounding.
const LAST_ROW_ROUNDING: f64 = 1e-5;
/// How far it may be and still be mended.
const LAST_ROW_SLACK: f64 = 1e-2;

pub(crate) fn read(root: &View<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<RawBone>, Fault> {
    let views = root.list("nodes")?;
    let mut bones = Vec::with_capacity(views.len());
    for view in &views {
        bones.push(RawBone { name: view.name(), parent: None, local: local_transform(view, warnings)? });
    }
    for (node, view) in views.iter().enumerate() {
        for child in view.list("children")? {
            let index = child.reference("nodes")?;
            let mend = |fault: Fault| fault.remedy("fix the hierarchy in the program that made the file");
            if index == node {
                return Err(mend(child.invalid("names the node as its own child")));
            }
            match bones[index].parent {
                Some(parent) if parent == node => {
                    return Err(mend(child.invalid(format!("lists node {index} as a child twice"))));
                }
                Some(parent) => {
                    return Err(mend(
                        child.invalid(format!("names node {index}, which is a child of node {parent} already")),
                    ));
                }
                None => bones[index].parent = Some(node),
            }
        }
    }
    refuse_cycles(&views, &bones)?;
    Ok(bones)
}

/// Nodes with every parent before its children. Nodes on a cycle, or below one, are left out.
pub(crate) fn parents_first(bones: &[RawBone]) -> Vec<usize> {
    let mut children = vec![Vec::new(); bones.len()];
    let mut order = Vec::with_capacity(bones.len());
    for (node, bone) in bones.iter().enumerate() {
        match bone.parent {
            Some(parent) => children[parent].push(node),
            None => order.push(node),
        }
    }
    let mut next = 0;
    while next < order.len() {
        order.append(&mut children[order[next]]);
        next += 1;
    }
    order
}

fn refuse_cycles(views: &[View<'_>], bones: &[RawBone]) -> Result<(), Fault> {
    let mut reached = vec![false; bones.len()];
    parents_first(bones).into_iter().for_each(|node| reached[node] = true);
    let Some(lost) = reached.iter().position(|reached| !reached) else { return Ok(()) };
    // With one parent each, as many steps up as there are nodes end on the cycle itself.
    let on_cycle = (0..bones.len()).fold(lost, |node, _| bones[node].parent.unwrap_or(node));
    let fault = views[on_cycle].invalid("is its own ancestor: the node tree has a cycle");
    Err(fault.remedy("fix the hierarchy in the program that made the file"))
}

fn local_transform(view: &View<'_>, warnings: &mut Vec<Warning>) -> Result<LocalTransform, Fault> {
    let translation = view.numbers_at("translation")?;
    let rotation: Option<[f64; 4]> = view.numbers_at("rotation")?;
    let scale = view.numbers_at("scale")?;
    if let Some(matrix) = view.numbers_at::<16>("matrix")? {
        if translation.is_some() || rotation.is_some() || scale.is_some() {
            warnings.push(Warning {
                code: "node-matrix-and-parts",
                subject: view.words(),
                message: "has a matrix and also translation, rotation or scale; the matrix was used".into(),
                remedy: "export the node with one or the other",
            });
        }
        return Ok(LocalTransform::Matrix(affine(&matrix, view, warnings)?));
    }
    Ok(LocalTransform::Trs(Trs {
        translation: translation.map_or(DVec3::ZERO, DVec3::from_array),
        rotation: rotation.map_or(Ok(DQuat::IDENTITY), |xyzw| unit(xyzw, view, warnings))?,
        scale: scale.map_or(DVec3::ONE, DVec3::from_array),
    }))
}

fn unit(xyzw: [f64; 4], view: &View<'_>, warnings: &mut Vec<Warning>) -> Result<DQuat, Fault> {
    let quaternion = DQuat::from_array(xyzw);
    let length = quaternion.length();
    if length < f64::from(f32::MIN_POSITIVE) {
        let fault = view.need("rotation")?.invalid("is a quaternion of length zero, which is not a rotation");
        return Err(fault.remedy("give the node a rotation such as [0, 0, 0, 1]"));
    }
    if (length - 1.0).abs() > UNIT_SLACK {
        warnings.push(Warning {
            code: "rotation-not-unit",
            subject: view.words(),
            message: format!("has a rotation quaternion of length {length}; it was normalised"),
            remedy: "export the node with a unit quaternion",
        });
    }
    Ok(quaternion.normalize())
}

/// A column-major 4×4 matrix as an affine map: a last row that is off by rounding is mended, one that is not is
/// refused.
pub(crate) fn affine(columns: &[f64; 16], view: &View<'_>, warnings: &mut Vec<Warning>) -> Result<DAffine3, Fault> {
    let matrix = DMat4::from_cols_array(columns);
    if !matrix.is_finite() {
        return Err(view.invalid("has a matrix with a number that is not finite"));
    }
    let row = matrix.row(3).to_array();
    let off = row.iter().zip([0.0, 0.0, 0.0, 1.0]).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs()));
    if off > LAST_ROW_SLACK {
        let fault = view.invalid(format!("has a matrix whose last row is {row:?}, not [0, 0, 0, 1]"));
        return Err(fault.remedy("glTF matrices are column-major and affine: check for a transposed matrix"));
    }
    if off > LAST_ROW_ROUNDING {
        warnings.push(Warning {
            code: "matrix-not-affine",
            subject: view.words(),
            message: format!("has a matrix whose last row is {row:?}; it was set to [0, 0, 0, 1]"),
            remedy: "export the file again, or check the matrix",
        });
    }
    Ok(DAffine3::from_mat4(matrix))
}
