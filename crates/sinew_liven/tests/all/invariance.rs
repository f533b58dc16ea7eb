//! The same character a hundred times as large, keyed at 24 and 120 frames a second, mirrored, renamed, with its vertices in another
//! order: the same parts are moved, by the same strengths.

use glam::{DAffine3, DQuat, DVec3, Quat, Vec3};
use sinew::clip::{Curve, Interpolation, Track};
use sinew::{Clip, LocalTransform, RawRig};
use sinew_gltf::Asset;
use sinew_liven::plan::Moved;
use sinew_liven::{PlayedClip, Wishes, liven};
use sinew_testkit::assets::assets;
use std::collections::BTreeMap;

struct Character {
    raw: RawRig,
    clips: Vec<Clip>,
}

impl Character {
    /// What is moved in the first clips, and how far.
    fn livened(&self, clips: usize) -> BTreeMap<(Moved, usize), f64> {
        let asset = Asset::from_raw("character", self.raw.clone(), self.clips.clone()).expect("builds");
        let played: Vec<PlayedClip<'_>> =
            asset.clips.iter().take(clips).map(|clip| (clip, Default::default())).collect();
        let chosen: Vec<usize> = (0..played.len()).collect();
        let made = liven(&asset.rig, &played, &chosen, &[], &Wishes::default(), &|_, _| ()).expect("livens");
        let mut seen = BTreeMap::new();
        for part in made.account.parts.iter().filter(|part| part.is_on) {
            for (index, clip) in made.account.clips.iter().enumerate() {
                let strength = match part.moved {
                    Moved::Body => Some(clip.strength),
                    Moved::Part(role) => clip.parts.iter().find(|of| of.role == role).map(|of| of.strength),
                };
                seen.insert((part.moved, index), strength.unwrap_or(0.0));
            }
        }
        seen
    }

    fn clone_with(&self, change: impl FnOnce(&mut RawRig, &mut Vec<Clip>)) -> Self {
        let (mut raw, mut clips) = (self.raw.clone(), self.clips.clone());
        change(&mut raw, &mut clips);
        Self { raw, clips }
    }

    fn scaled(&self, factor: f32) -> Self {
        self.map(|p| p * f64::from(factor), |v| v, |q| q)
    }

    fn mirrored(&self) -> Self {
        let flip = DVec3::new(-1.0, 1.0, 1.0);
        let turned = |q: DQuat| DQuat::from_xyzw(q.x, -q.y, -q.z, q.w);
        self.map(move |p| p * flip, move |v| v * flip, turned).clone_with(|raw, _| {
            for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
                primitive.triangles.iter_mut().for_each(|triangle| triangle.swap(1, 2));
            }
        })
    }

    /// By what places, directions and rotations become; matrices go with them.
    fn map(
        &self,
        place: impl Fn(DVec3) -> DVec3,
        direction: impl Fn(DVec3) -> DVec3,
        rotation: impl Fn(DQuat) -> DQuat,
    ) -> Self {
        let by = DAffine3::from_cols(place(DVec3::X), place(DVec3::Y), place(DVec3::Z), DVec3::ZERO);
        let at = |p: Vec3| place(p.as_dvec3()).as_vec3();
        self.clone_with(|raw, clips| {
            for bone in &mut raw.bones {
                match &mut bone.local {
                    LocalTransform::Trs(trs) => {
                        (trs.translation, trs.rotation) = (place(trs.translation), rotation(trs.rotation));
                    }
                    LocalTransform::Matrix(matrix) => *matrix = by * *matrix * by.inverse(),
                }
            }
            for joint in raw.skins.iter_mut().flat_map(|skin| &mut skin.joints) {
                joint.bone_from_rest = by * joint.bone_from_rest * by.inverse();
            }
            for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
                primitive.positions.iter_mut().for_each(|p| *p = at(*p));
                for normal in primitive.normals.iter_mut().flatten() {
                    *normal = direction(normal.as_dvec3()).as_vec3();
                }
                for morph in &mut primitive.morphs {
                    morph.positions.iter_mut().flatten().for_each(|p| *p = at(*p));
                    (morph.normals, morph.tangents) = (None, None);
                }
                primitive.tangents = None;
            }
            for track in clips.iter_mut().flat_map(|clip| &mut clip.tracks) {
                let vectors = |curve: &Curve<Vec3>| keyed(curve, at);
                track.translation = track.translation.as_ref().map(vectors);
                track.rotation =
                    track.rotation.as_ref().map(|curve| keyed(curve, |q: Quat| rotation(q.as_dquat()).as_quat()));
            }
        })
    }

    /// Keys so many times a second, in place of its own.
    fn resampled(&self, rate: f64) -> Self {
        self.clone_with(|_, clips| {
            for clip in clips {
                let Some((start, end)) = clip.span().filter(|(start, end)| end > start) else { continue };
                let count = (rate * (end - start)).round().max(1.0) as usize;
                let times: Vec<f64> = (0..=count).map(|k| start + (end - start) * k as f64 / count as f64).collect();
                for track in &mut clip.tracks {
                    let vectors = |curve: &Curve<Vec3>| {
                        let values = times.iter().map(|&t| curve.sample(t).as_vec3()).collect();
                        Curve::new(Interpolation::Linear, times.clone(), values).expect("sound keys")
                    };
                    let Track { translation, rotation, scale, .. } = track;
                    (*translation, *scale) = (translation.as_ref().map(vectors), scale.as_ref().map(vectors));
                    *rotation = rotation.as_ref().map(|curve| {
                        let values = times.iter().map(|&t| curve.sample(t).as_quat()).collect();
                        Curve::new(Interpolation::Linear, times.clone(), values).expect("sound keys")
                    });
                }
            }
        })
    }

    /// By another convention of left and right.
    fn renamed(&self) -> Self {
        self.clone_with(|raw, _| {
            for bone in &mut raw.bones {
                let name = bone.name.replace(".L", "_l").replace(".R", "_r").replace(".l", "_l").replace(".r", "_r");
                bone.name = format!("mixamorig:{name}");
            }
        })
    }

    /// With vertices and triangles in the opposite order.
    fn reordered(&self) -> Self {
        self.clone_with(|raw, _| {
            for primitive in raw.meshes.iter_mut().flat_map(|mesh| &mut mesh.primitives) {
                let last = primitive.positions.len() as u32 - 1;
                primitive.positions.reverse();
                primitive.normals.iter_mut().for_each(|normals| normals.reverse());
                primitive.tangents.iter_mut().for_each(|tangents| tangents.reverse());
                let per_vertex = primitive.influences.per_vertex.max(1);
                primitive.influences.joints = reversed(&primitive.influences.joints, per_vertex);
                primitive.influences.weights = reversed(&primitive.influences.weights, per_vertex);
                primitive.triangles.reverse();
                primitive.triangles.iter_mut().flatten().for_each(|vertex| *vertex = last - *vertex);
                primitive.maps.iter_mut().for_each(|(_, values)| values.reverse());
                for morph in &mut primitive.morphs {
                    morph.positions.iter_mut().for_each(|positions| positions.reverse());
                    (morph.normals, morph.tangents) = (None, None);
                }
            }
        })
    }
}

fn reversed<T: Copy>(values: &[T], each: usize) -> Vec<T> {
    values.chunks(each).rev().flatten().copied().collect()
}

/// Sampled where its keys are: of spline curves what is between them is lost, as of an exporter that bakes.
fn keyed<T: Copy>(curve: &Curve<T>, map: impl Fn(T) -> T) -> Curve<T>
where
    Curve<T>: Keys<T>,
{
    curve.mapped(&map)
}

trait Keys<T> {
    fn mapped(&self, map: &dyn Fn(T) -> T) -> Self;
}

macro_rules! keys {
    ($of:ty) => {
        impl Keys<$of> for Curve<$of> {
            fn mapped(&self, map: &dyn Fn($of) -> $of) -> Self {
                let values = (0..self.times().len()).map(|key| map(self.key_value(key))).collect();
                let interpolation = match self.interpolation() {
                    Interpolation::Step => Interpolation::Step,
                    _ => Interpolation::Linear,
                };
                Curve::new(interpolation, self.times().to_vec(), values).expect("sound keys")
            }
        }
    };
}
keys!(Vec3);
keys!(Quat);

/// The largest difference of strengths that are seen, of them. Other keys are another motion between them, and a gate that
/// this just passes or fails makes more of it: `by_keys` is what that may come to.
fn looks_the_same(name: &str, character: &Character, clips: usize, by_keys: f64) -> Vec<String> {
    let own = character.clone_with(|_, _| ()).map(|p| p, |v| v, |q| q);
    let before = own.livened(clips);
    let mut wrong = Vec::new();
    let others = [
        ("× 100", own.scaled(100.0), 0.01),
        ("× 0.02", own.scaled(0.02), 0.01),
        ("mirrored", own.mirrored(), 0.05),
        ("renamed", own.renamed(), 0.01),
        ("reordered", own.reordered(), 0.05),
        ("24 keys a second", own.resampled(24.0), by_keys),
        ("120 keys a second", own.resampled(120.0), by_keys),
    ];
    for (what, other, most) in others {
        let after = other.livened(clips);
        let parts = |seen: &BTreeMap<(Moved, usize), f64>| seen.keys().copied().collect::<Vec<_>>();
        if parts(&before) != parts(&after) {
            wrong.push(format!("{name}, {what}: other parts: {before:?} {after:?}"));
        }
        // What is seen of a part that is hardly moved may be anything.
        let differs = |(key, before): (&(Moved, usize), &f64)| {
            let after = after.get(key).copied().unwrap_or(0.0);
            if before.max(after) > 0.01 { (after / before - 1.0).abs() } else { 0.0 }
        };
        let largest = before.iter().map(differs).fold(0.0, f64::max);
        println!("{name}, {what}: strengths differ by {:.2} %", 100.0 * largest);
        if largest > most {
            wrong.push(format!("{name}, {what}: {largest}: {before:?} {after:?}"));
        }
    }
    wrong
}

#[test]
fn built_in_characters_look_the_same_however_they_are_written() {
    for name in ["calf", "dancer"] {
        let zoo = sinew_zoo::build(name).expect("a character");
        let wrong = looks_the_same(name, &Character { raw: zoo.raw, clips: zoo.clips }, 1, 0.05);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// The long sweep, by SINEW_FULL=1.
#[test]
fn real_characters_look_the_same_however_they_are_written() {
    if std::env::var_os("SINEW_FULL").is_none_or(|value| value != "1") {
        return;
    }
    let mut wrong = Vec::new();
    for path in assets() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Ok(asset) = Asset::open_original(&path)
            && asset.rig.vertex_count() < 10_000
            && !asset.clips.is_empty()
            && asset.rig.skeleton().len() > 2
        {
            let character = Character { raw: asset.raw.clone(), clips: asset.clips.clone() };
            wrong.extend(looks_the_same(&name, &character, 2, 0.25));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
