//! What others' code we build on may be used under, and whether it was found unsafe since: `cargo deny` where it is
//! installed, and in any case the licences, from what cargo itself knows.

use crate::command::{cargo, stdout, succeed, works};
use serde_json::Value;

/// Licences that ask for no more than to be named. `deny.toml` has the same list.
const ALLOWED: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "0BSD",
    "CC0-1.0",
    // Of the fonts in the studio's window, which may be passed on with a program.
    "OFL-1.1",
    "Ubuntu-font-1.0",
];

/// Every package has a licence of the list.
pub fn check() -> Result<(), String> {
    let metadata =
        stdout(&mut cargo("metadata --format-version 1 --locked")).ok_or("`cargo metadata` does not work")?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("`cargo metadata` lists no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !is_allowed(&text(package, "license")))
        .map(|package| {
            format!("{} {}: \"{}\"", text(package, "name"), text(package, "version"), text(package, "license"))
        })
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(format!("licences that are not allowed\n{}", refused.join("\n"))) }
}

/// `cargo deny`, or a loud word that it is not here.
pub fn deny() -> Result<bool, String> {
    if !works(&mut cargo("deny --version")) {
        return Ok(false);
    }
    // Advisories are fetched; without a network they are those that were fetched last, if any.
    let fetched = works(&mut cargo("deny fetch"));
    let checks =
        if fetched { "deny --all-features check" } else { "deny --all-features --offline check bans licenses sources" };
    if !fetched {
        eprintln!("THE ADVISORIES CANNOT BE FETCHED: nothing is known of faults found since");
    }
    succeed(&mut cargo(checks)).map(|()| true)
}

/// Whether an expression of SPDX can be met by the list. `/` is an old way to write OR.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    let mut words = expression.split(" AND ").map(|all| all.split(" OR ").map(str::trim));
    !expression.trim().is_empty() && words.all(|mut any| any.any(|licence| ALLOWED.contains(&licence)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_one_of_each_choice() {
        for sound in ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR GPL-2.0) AND Zlib"] {
            assert!(is_allowed(sound), "{sound}");
        }
        for unsound in ["", "GPL-3.0", "MIT AND GPL-3.0", "LGPL-2.1 OR MPL-2.0"] {
            assert!(!is_allowed(unsound), "{unsound}");
        }
    }
}
