//! Numbers and lists as people read them.

/// Names a sentence lists.
pub(crate) const MOST_NAMES: usize = 4;

/// Two decimals at most: `4.25 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.2}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// `a, b and c`; of many, the first few and how many more.
pub(crate) fn enumerated(names: &[String], most: usize) -> String {
    let more = names.len().saturating_sub(most);
    match names {
        [] => String::new(),
        [one] => one.clone(),
        _ if more > 1 => format!("{} and {more} more", names[..most].join(", ")),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

/// The name of a clip without what exporters put in front of it: `Armature|Walk` is Walk.
pub(crate) fn short_name(clip: &str) -> &str {
    if clip.is_empty() {
        return "a clip without a name";
    }
    clip.rsplit('|').next().filter(|name| !name.is_empty()).unwrap_or(clip)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_lists() {
        assert_eq!((percent(0.0425), percent(0.05), percent(0.0)), ("4.25 %".into(), "5 %".into(), "0 %".into()));
        let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
        assert_eq!(enumerated(&names[..1], 2), "a");
        assert_eq!(enumerated(&names[..3], 2), "a, b and c");
        assert_eq!(enumerated(&names, 2), "a, b and 2 more");
        assert_eq!(enumerated(&[], 2), "");
        assert_eq!(["Armature|Walk", "Walk", "Walk|"].map(short_name), ["Walk", "Walk", "Walk|"]);
        assert!(!short_name("").is_empty());
    }
}
