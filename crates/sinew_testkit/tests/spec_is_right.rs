//! The judge judged: the evaluator on files whose answer is known by hand.

use serde_json::json;
use sinew_testkit::glb::Builder;
use sinew_testkit::spec::{IDENTITY, SpecFile, product, transformed};

fn close(a: &[f64], b: &[f64]) {
    assert_eq!(a.len(), b.len());
    for (x, y) in a.iter().zip(b) {
        assert!((x - y).abs() < 1e-7, "{a:?} against {b:?}");
    }
}

#[test]
fn the_default_pose_is_the_rest_shape() {
    let file = SpecFile::from_bytes(&Builder::rigged().glb(), None);
    let positions = &file.positions(0, None, 0.0)[0];
    assert_eq!(positions.len(), Builder::RIGGED_VERTICES);
    close(&positions[0], &[0.5, 0.0, 0.5]);
    close(&positions[19], &[0.5, 2.0, -0.5]);
}

/// At 0.5 s the upper joint is turned by 90° about x through (0, 1, 0), and all is lifted by 1.
#[test]
fn a_quarter_turn_by_hand() {
    let file = SpecFile::from_bytes(&Builder::rigged().glb(), None);
    let positions = &file.positions(0, Some(0), 0.5)[0];
    // Fully on the upper joint: (x, y, z) → (x, 1 − z, y − 1), then lifted.
    close(&positions[16], &[0.5, 1.0 - 0.5 + 1.0, 1.0]);
    // Half on each: the mean of (0.5, 1, 0.5) and (0.5, 1 − 0.5, 0), lifted.
    close(&positions[8], &[0.5, 0.75 + 1.0, 0.25]);
    // Not on it at all.
    close(&positions[0], &[0.5, 1.0, 0.5]);
    // Halfway there, the angle is 45°.
    let turn = file.channel(0, 2, "rotation", 0.25).expect("animated");
    let (sine, cosine) = std::f64::consts::FRAC_PI_8.sin_cos();
    close(&turn, &[sine, 0.0, 0.0, cosine]);
}

#[test]
fn clamped_before_and_after() {
    let file = SpecFile::from_bytes(&Builder::rigged().glb(), None);
    let clips = file.clips();
    assert_eq!((clips[0].name.as_str(), clips[0].start, clips[0].end), ("bend", 0.0, 2.0));
    for (outside, inside) in [(-3.0, 0.0), (9.0, 2.0)] {
        assert_eq!(file.positions(0, Some(0), outside), file.positions(0, Some(0), inside));
    }
}

/// A cubic through the keys of x³ with its true tangents is x³; a step holds.
#[test]
fn cubic_and_step_curves_by_hand() {
    let mut file = Builder::rigged();
    let times = file.accessor("SCALAR", &[0.0f32, 1.0, 3.0]);
    let mut cubic = Vec::new();
    for x in [0.0f32, 1.0, 3.0] {
        let slope = 3.0 * x * x;
        cubic.extend([slope, 0.0, 0.0, x.powi(3), 0.0, 0.0, slope, 0.0, 0.0]);
    }
    let output = file.accessor("VEC3", &cubic);
    file.set("/animations/0/samplers/1", json!({"input": times, "output": output, "interpolation": "CUBICSPLINE"}));
    file.set("/animations/0/samplers/0/interpolation", json!("STEP"));
    let file = SpecFile::from_bytes(&file.glb(), None);
    for x in [0.3, 0.99, 1.0, 2.2] {
        close(&file.channel(0, 1, "translation", x).expect("animated"), &[x * x * x, 0.0, 0.0]);
    }
    close(&file.channel(0, 2, "rotation", 0.49).expect("animated"), &[0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn embedded_and_binary_are_the_same_file() {
    let built = Builder::rigged();
    let (a, b) = (SpecFile::from_bytes(&built.glb(), None), SpecFile::from_bytes(&built.embedded(), None));
    assert_eq!(a.positions(0, Some(0), 0.7), b.positions(0, Some(0), 0.7));
}

#[test]
fn matrices_multiply_as_columns() {
    let mut moved = IDENTITY;
    moved[12] = 5.0;
    let mut doubled = IDENTITY;
    doubled[0] = 2.0;
    close(&transformed(&product(&moved, &doubled), &[1.0, 1.0, 1.0]), &[7.0, 1.0, 1.0]);
    close(&transformed(&product(&doubled, &moved), &[1.0, 1.0, 1.0]), &[12.0, 1.0, 1.0]);
}
