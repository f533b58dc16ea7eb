//! Names as people type them.

/// Whether `name` matches `pattern`, where `*` stands for any run of characters and `?` for any one.
pub fn wildcard(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            p += 1;
            n += 1;
        } else if let Some((star_p, star_n)) = star {
            (p, n) = (star_p + 1, star_n + 1);
            star = Some((star_p, star_n + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The name most like `wanted`, if any is like it at all. One of which `wanted` is a whole word is: `base_radius` for
/// `radius`.
pub fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    const A_WORD_OF_IT: f64 = 0.95;
    let wanted = wanted.to_lowercase();
    let likeness = |name: &str| {
        let word = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == wanted);
        strsim::jaro_winkler(&wanted, name).max(if word { A_WORD_OF_IT } else { 0.0 })
    };
    names
        .map(|name| (likeness(&name.to_lowercase()), name))
        .filter(|&(score, _)| score > 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
        .map(|(_, name)| name.to_owned())
}

/// Whether a name is another one but for a letter.
pub(crate) fn is_slip(given: &str, name: &str) -> bool {
    strsim::levenshtein(given, name) == 1
}

/// A closing word of errors that name the nearest there is.
pub(crate) fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or(String::new(), |name| format!("; did you mean \"{name}\"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards() {
        for (pattern, name, expected) in [
            ("tail*", "tail.03", true),
            ("*.L", "ear.L", true),
            ("*ear*", "forearm", true),
            ("ear.?", "ear.L", true),
            ("ear", "ear.L", false),
            ("*", "", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
        ] {
            assert_eq!(wildcard(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn nearest_name() {
        assert_eq!(nearest("flopy", ["squash", "floppy"].into_iter()).as_deref(), Some("floppy"));
        assert_eq!(nearest("qqq", ["squash", "floppy"].into_iter()), None);
        assert_eq!(nearest("radius", ["axis", "base_radius"].into_iter()).as_deref(), Some("base_radius"));
    }
}
