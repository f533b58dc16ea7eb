//! New default transforms of nodes, written and read back.

use glam::{DAffine3, DQuat, DVec3};
use sinew::{LocalTransform, Trs};
use sinew_gltf::{Document, RawAsset, set_transforms};
use sinew_testkit::glb::Builder;

#[test]
fn transforms_come_back_and_other_nodes_keep_their_json() {
    let mut file = Builder::rigged();
    file.set("/nodes/1/matrix", serde_json::json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1]));
    let bytes = file.glb();
    let mut document = Document::from_slice("a.glb", &bytes, None).expect("opens");
    let before = document.json.clone();
    let trs = Trs { translation: DVec3::X, rotation: DQuat::from_rotation_z(0.5), scale: DVec3::splat(2.0) };
    let sheared = DAffine3::from_cols(DVec3::X, DVec3::new(1.0, 1.0, 0.0), DVec3::Z, DVec3::ONE);
    set_transforms(&mut document, &[(1, LocalTransform::Trs(trs)), (0, LocalTransform::Matrix(sheared))])
        .expect("nodes exist");
    let nodes = before["nodes"].as_array().expect("nodes").len();
    for node in 2..nodes {
        assert_eq!(document.json["nodes"][node], before["nodes"][node]);
    }
    let asset = RawAsset::from_slice("b.glb", &document.to_glb().expect("writable")).expect("imports");
    let LocalTransform::Trs(read) = asset.raw.bones[1].local else { panic!("parts") };
    assert!(read.rotation.dot(trs.rotation) > 1.0 - 1e-12);
    assert_eq!((read.translation, read.scale), (trs.translation, trs.scale));
    assert_eq!(asset.raw.bones[0].local.to_affine(), sheared);
    assert!(set_transforms(&mut document, &[(nodes, LocalTransform::Trs(trs))]).is_err());
}
