//! Bone motion set by hand, for a still pose (the deformation visualiser of VS in text form):
//!
//! ```toml
//! [bone."neck"]
//! angular_velocity = [0, 0, 2]
//!
//! [bone."ear.*"]
//! linear_velocity = [0, 1, 0]
//! linear_acceleration = [0, -20, 0]    # it brakes
//! angular_acceleration = [0, 0, 30]
//! ```
//!
//! Relative to the parent, in world axes, metres and radians per second (squared). `*` and `?` in a bone's name match
//! any; where several tables match a bone, the later one wins, key by key.

use crate::fault::Fault;
use crate::text::quoted;
use glam::DVec3;
use sinew::text::{nearest, wildcard};
use sinew::{BoneId, BoneMotion, Skeleton};
use std::path::Path;
use toml_edit::{Document, Item};

/// Keys of a bone's table, in the order of [`slot`].
const KEYS: [&str; 4] = ["linear_velocity", "angular_velocity", "linear_acceleration", "angular_acceleration"];

/// The text of a motion file, understood.
#[derive(Debug)]
pub(super) struct MotionFile {
    file: String,
    /// Pattern, and value per key given.
    bones: Vec<(String, [Option<DVec3>; 4])>,
}

impl MotionFile {
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let file = path.display().to_string();
        let text = crate::limits::chosen().read_text(path).map_err(|error| {
            Fault::in_file(&file, format!("the motion file cannot be read ({error}); check the path"))
        })?;
        Self::parse(file, &text)
    }

    fn parse(file: String, text: &str) -> Result<Self, Fault> {
        let document = Document::parse(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
            Fault::in_file(&file, format!("line {line}: {}; correct the TOML there", error.message().trim()))
        })?;
        let mut bones = Vec::new();
        for (key, item) in document.iter() {
            if key != "bone" {
                let fault = format!("the key \"{key}\" is unknown; motion is set by tables such as [bone.\"neck\"]");
                return Err(Fault::in_file(&file, fault));
            }
            let tables = item.as_table_like().ok_or_else(|| {
                Fault::in_file(&file, "\"bone\" must contain tables, one per bone, such as [bone.\"neck\"]")
            })?;
            for (pattern, item) in tables.iter() {
                let values = values(pattern, item).map_err(|fault| Fault::in_file(&file, fault))?;
                bones.push((pattern.to_owned(), values));
            }
        }
        Ok(Self { file, bones })
    }

    /// The bones meant, each once, with their motion.
    pub fn bones(&self, skeleton: &Skeleton) -> Result<Vec<(BoneId, BoneMotion)>, Fault> {
        let mut motions = vec![None; skeleton.len()];
        for (pattern, values) in &self.bones {
            let mut found = false;
            for bone in skeleton.bones().filter(|&bone| wildcard(pattern, skeleton.name(bone))) {
                found = true;
                let motion = motions[bone.index()].get_or_insert_with(BoneMotion::default);
                for (key, value) in values.iter().enumerate() {
                    if let Some(value) = value {
                        *slot(motion, key) = *value;
                    }
                }
            }
            if !found {
                let names = skeleton.bones().map(|bone| skeleton.name(bone));
                let hint = nearest(pattern, names).map_or("; `sinew inspect` lists the bones".to_owned(), |name| {
                    format!("; did you mean {}?", quoted(&name))
                });
                return Err(Fault::in_file(&self.file, format!("no bone is called {}{hint}", quoted(pattern))));
            }
        }
        Ok(skeleton.bones().filter_map(|bone| Some((bone, motions[bone.index()]?))).collect())
    }
}

fn slot(motion: &mut BoneMotion, key: usize) -> &mut DVec3 {
    match key {
        0 => &mut motion.linear_velocity,
        1 => &mut motion.angular_velocity,
        2 => &mut motion.linear_acceleration,
        _ => &mut motion.angular_acceleration,
    }
}

fn values(pattern: &str, item: &Item) -> Result<[Option<DVec3>; 4], String> {
    let bone = format!("bone {}", quoted(pattern));
    let table = item.as_table_like().ok_or_else(|| format!("{bone}: give a table with {}", KEYS.join(", ")))?;
    let mut values = [None; 4];
    for (key, item) in table.iter() {
        let Some(place) = KEYS.iter().position(|known| *known == key) else {
            if item.is_table_like() {
                return Err(format!("a name with a dot needs quotes: [bone.\"{pattern}.{key}\"]"));
            }
            let hint = nearest(key, KEYS.into_iter()).map_or(String::new(), |k| format!("; did you mean \"{k}\"?"));
            return Err(format!("{bone}: the key {} is unknown{hint} There are: {}", quoted(key), KEYS.join(", ")));
        };
        let vector = vector(item).ok_or_else(|| format!("{bone}: \"{key}\" must be three numbers, as in [0, 0, 2]"))?;
        values[place] = Some(vector);
    }
    Ok(values)
}

fn vector(item: &Item) -> Option<DVec3> {
    let array = item.as_array()?;
    let number = |value: &toml_edit::Value| value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
    let numbers: Vec<f64> = array.iter().map(number).collect::<Option<_>>()?;
    let vector = DVec3::from_array(numbers.try_into().ok()?);
    vector.is_finite().then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew::raw::RawBone;
    use sinew::{LocalTransform, Trs};

    fn skeleton() -> Skeleton {
        let bone =
            |name: &str, parent| RawBone { name: name.to_owned(), parent, local: LocalTransform::Trs(Trs::IDENTITY) };
        Skeleton::build(&[bone("hip", None), bone("neck", Some(0)), bone("ear.L", Some(1)), bone("ear.R", Some(1))])
            .unwrap()
    }

    fn fault(text: &str) -> String {
        match MotionFile::parse("m.toml".into(), text).and_then(|file| file.bones(&skeleton()).map(drop)) {
            Err(Fault::Failed(message)) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn later_tables_win_key_by_key() {
        let text = "[bone.\"ear.*\"]\nlinear_velocity = [1, 2.5, -3]\nangular_velocity = [0, 0, 2]\n\
                    [bone.\"ear.L\"]\nangular_velocity = [1, 0, 0]\n";
        let skeleton = skeleton();
        let bones = MotionFile::parse("m.toml".into(), text).unwrap().bones(&skeleton).unwrap();
        let found: Vec<_> = bones.iter().map(|(bone, _)| skeleton.name(*bone)).collect();
        assert_eq!(found, ["ear.L", "ear.R"]);
        assert_eq!(bones[0].1.linear_velocity, DVec3::new(1.0, 2.5, -3.0));
        assert_eq!(bones[0].1.angular_velocity, DVec3::X);
        assert_eq!(bones[1].1.angular_velocity, 2.0 * DVec3::Z);
        assert_eq!(bones[1].1.linear_acceleration, DVec3::ZERO);
    }

    #[test]
    fn faults_name_the_file_the_bone_and_the_nearest_name() {
        for (text, expected) in [
            ("[bone.nek]\nlinear_velocity = [0, 0, 1]", "did you mean \"neck\"?"),
            ("[bone.neck]\nangular_velocty = [0, 0, 1]", "did you mean \"angular_velocity\"?"),
            ("[bone.neck]\nangular_velocity = [0, 1]", "must be three numbers"),
            ("[bone.neck]\nangular_velocity = [0, 0, inf]", "must be three numbers"),
            ("[bone.neck]\nangular_velocity = \"fast\"", "must be three numbers"),
            ("[bones.neck]\nangular_velocity = [0, 0, 1]", "\"bones\" is unknown"),
            ("bone = 3", "must contain tables"),
            ("[bone]\nneck = 3", "give a table with"),
            ("[bone.ear.L]\nangular_velocity = [0, 0, 1]", "needs quotes: [bone.\"ear.L\"]"),
            ("ok = 1\n[bone", "line 2"),
        ] {
            let message = fault(text);
            assert!(message.starts_with("m.toml: ") && message.contains(expected), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
