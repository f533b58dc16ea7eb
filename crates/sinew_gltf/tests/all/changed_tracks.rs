//! Tracks of an animation replaced: read again they are what was written, and the others keep their samplers.

use glam::{Quat, Vec3};
use sinew::{Curve, Interpolation};
use sinew_gltf::{RawAsset, export};

#[test]
fn changed_tracks_are_read_again_and_the_others_stay() {
    let zoo = sinew_zoo::build("tube:bones=4").expect("a zoo character");
    let document = export(&zoo.raw, &zoo.clips).expect("a document");
    let asset = RawAsset::from_document("tube", document.clone()).expect("imports");
    let before = asset.clips[0].clone();
    let mut after = before.clone();
    // One curve that there is, one that there is not.
    let track = after.tracks.iter_mut().find(|track| track.rotation.is_some()).expect("a bone that turns");
    let turns = vec![Quat::IDENTITY, Quat::from_rotation_x(0.5), Quat::from_rotation_z(0.2)];
    track.rotation = Curve::new(Interpolation::Linear, vec![0.0, 0.25, 0.5], turns).ok();
    assert!(track.translation.is_none());
    track.translation = Curve::new(Interpolation::Linear, vec![0.0, 0.5], vec![Vec3::Y, Vec3::X]).ok();
    let changed = track.clone();
    let mut written = document.clone();
    written.replace_tracks(0, &before, &after).expect("written");
    let again = RawAsset::from_document("tube", written.clone()).expect("imports again");
    for track in &again.clips[0].tracks {
        let (wanted, was) = (&after, &before);
        let of = |clip: &sinew::Clip| clip.tracks.iter().find(|other| other.node == track.node).cloned();
        let expected = if track.node == changed.node { of(wanted) } else { of(was) }.expect("a track");
        assert_eq!((&track.rotation, &track.translation), (&expected.rotation, &expected.translation));
    }
    // Nothing that differs: the same file.
    let mut same = document.clone();
    same.replace_tracks(0, &before, &before).expect("written");
    assert_eq!(same.to_glb().expect("a file"), document.to_glb().expect("a file"));
    assert!(written.replace_tracks(99, &before, &after).is_err());
}
