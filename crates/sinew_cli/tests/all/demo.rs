//! `sinew demo`: a folder that appears whole, with all that its page shows. The whole run only with `SINEW_FULL=1`.

use crate::common::{Folder, inspect, sinew};

#[test]
fn a_folder_that_is_there_is_left_alone() {
    let folder = Folder::new();
    folder.write("mine.txt", "mine");
    let out = folder.path().to_str().expect("UTF-8").to_owned();
    let run = sinew(["demo", "--out", &out]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("already exists"), "{}", run.stderr);
    assert_eq!(folder.names(), ["mine.txt"]);
    assert_eq!(sinew(["demo", "--out", &format!("{out}/no/such")]).code, 1);
}

#[test]
fn every_character_is_baked_and_drawn() {
    if std::env::var("SINEW_FULL").as_deref() != Ok("1") {
        return;
    }
    let folder = Folder::new();
    let out = folder.join("demo");
    let run = sinew(["demo", "--out", &out, "--quiet"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    assert_eq!(folder.names(), ["demo"]);
    let page = std::fs::read_to_string(format!("{out}/index.html")).expect("a page");
    for entry in sinew_zoo::names() {
        for ending in ["glb", "gif", "png"] {
            let file = format!("{}.{ending}", entry.name);
            assert!(page.contains(&file), "{file} is not on the page");
            assert!(std::fs::metadata(format!("{out}/{file}")).expect("a file").len() > 10_000, "{file}");
        }
        let report = inspect(&format!("{out}/{}.glb", entry.name));
        assert_eq!(report["warnings"].as_array().map(Vec::len), Some(0), "{}", entry.name);
    }
}
