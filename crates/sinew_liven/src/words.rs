//! What `--only` and `--keep` name: parts of a body, in the words people have for them.

use sinew::anatomy::Role;
use sinew::text::nearest;
use std::collections::BTreeSet;

/// Parts of a character: roles, and the body as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Roles.
    pub roles: BTreeSet<Role>,
    /// The motion of the body as a whole.
    pub has_body: bool,
}

/// A word for no part of a body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no part of a character is called {word:?}{}; such as tail, ears, hair, cloth, flesh, face, body", near.as_ref().map_or(String::new(), |near| format!(", did you mean {near}?")))]
pub struct UnknownPart {
    word: String,
    near: Option<String>,
}

/// Words that are no role, with the roles they mean.
const WORDS: &[(&str, &[Role])] = &[
    ("face", &[Role::Head, Role::Jaw, Role::Teeth, Role::Tongue, Role::Eye]),
    ("beard", &[Role::Hair]),
    ("mane", &[Role::Hair]),
    ("ponytail", &[Role::Hair]),
    ("cape", &[Role::Cloth]),
    ("cloak", &[Role::Cloth]),
    ("skirt", &[Role::Cloth]),
    ("scarf", &[Role::Cloth]),
    ("dress", &[Role::Cloth]),
    ("belly", &[Role::Flesh]),
    ("chest", &[Role::Flesh]),
    ("cheek", &[Role::Flesh]),
    ("breast", &[Role::Flesh]),
    ("buttock", &[Role::Flesh]),
    ("feather", &[Role::Wing]),
    ("tentacle", &[Role::Tail]),
    ("beak", &[Role::Jaw]),
    ("finger", &[Role::Hand]),
    ("paw", &[Role::Foot]),
    ("hoof", &[Role::Foot]),
    ("toe", &[Role::Foot]),
    ("limb", &[Role::Arm, Role::Leg]),
    ("antler", &[Role::Horn]),
    ("trunk", &[Role::Spine]),
    ("tooth", &[Role::Teeth]),
    ("weapon", &[Role::Prop]),
    ("body", &[]),
];

/// Plurals that are not made by adding letters.
const PLURALS: &[(&str, &str)] =
    &[("feet", "foot"), ("hooves", "hoof"), ("scarves", "scarf"), ("bellies", "belly"), ("teeth", "teeth")];

impl Parts {
    /// Parts named by words with commas between them: `tail,ears`.
    pub fn parse(words: &str) -> Result<Self, UnknownPart> {
        let mut parts = Self::default();
        for word in words.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            parts.add(word)?;
        }
        Ok(parts)
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.roles.is_empty() && !self.has_body
    }

    /// These and those.
    pub fn join(&mut self, others: Self) {
        self.roles.extend(others.roles);
        self.has_body |= others.has_body;
    }

    fn add(&mut self, word: &str) -> Result<(), UnknownPart> {
        let lower = word.trim_start_matches('@').to_lowercase();
        let known = |word: &str| {
            let role = Role::from_name(word).filter(|role| !matches!(role, Role::Helper | Role::Unknown));
            let listed = || WORDS.iter().find(|(known, _)| *known == word).map(|(_, roles)| roles.to_vec());
            role.map(|role| vec![role]).or_else(listed)
        };
        let irregular = PLURALS.iter().find(|(plural, _)| *plural == lower).map(|&(_, one)| one);
        let ends = ["", "s", "es"];
        let singular = ends.iter().filter_map(|end| lower.strip_suffix(end)).find_map(|one| Some((one, known(one)?)));
        match irregular.and_then(|one| Some((one, known(one)?))).or(singular) {
            Some((one, roles)) => {
                self.has_body |= one == "body";
                self.roles.extend(roles);
                Ok(())
            }
            None => {
                let names = Role::ALL.iter().map(|role| role.name()).filter(|name| known(name).is_some());
                let all = names.chain(WORDS.iter().map(|(word, _)| *word));
                Err(UnknownPart { word: word.to_owned(), near: nearest(&lower, all) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_plurals_and_groups() {
        let roles = |words: &str| Parts::parse(words).map(|parts| parts.roles.into_iter().collect::<Vec<_>>());
        assert_eq!(roles("tail, ears"), Ok(vec![Role::Ear, Role::Tail]));
        assert_eq!(roles("feet,Hooves,toes"), Ok(vec![Role::Foot]));
        assert_eq!(roles("face"), Ok(vec![Role::Head, Role::Jaw, Role::Teeth, Role::Tongue, Role::Eye]));
        assert_eq!(roles("@cloth,skirts,capes"), Ok(vec![Role::Cloth]));
        assert_eq!(roles("dresses,tooth"), Ok(vec![Role::Teeth, Role::Cloth]));
        assert_eq!(Parts::parse("body").map(|parts| parts.has_body), Ok(true));
        assert!(Parts::parse("").is_ok_and(|parts| parts.is_empty()));
        for role in Role::ALL.into_iter().filter(|role| !matches!(role, Role::Helper | Role::Unknown)) {
            assert_eq!(roles(role.name()), Ok(vec![role]));
        }
    }

    #[test]
    fn other_words_are_refused_with_the_nearest() {
        let error = Parts::parse("tial").expect_err("no such part").to_string();
        assert!(error.contains("\"tial\"") && error.contains("did you mean tail?"), "{error}");
        assert!(Parts::parse("helper").is_err() && Parts::parse("s").is_err());
    }
}
