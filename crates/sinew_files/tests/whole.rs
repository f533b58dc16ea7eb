//! Files and sets of files, by what lies in the folder afterwards.

use sinew_files::{Existing, FileSet, NewFolder, Refusal, Stopped, write_file, write_file_at};
use std::io::{self, Write};
use std::path::Path;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn write(path: &Path, existing: Existing, text: &str) -> Result<(), Stopped<io::Error>> {
    write_file(path, existing, |out| out.write_all(text.as_bytes()), |_| Ok(()))
}

fn add(files: &mut FileSet, path: &Path, existing: Existing, text: &str) {
    files.write(path, existing, |out| out.write_all(text.as_bytes())).unwrap();
}

#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let failed = write_file(
        &path,
        Existing::Keep,
        |out| {
            out.write_all(&[7; 200_000])?;
            Err(io::Error::other("no more"))
        },
        |_| Ok(()),
    );
    assert!(matches!(failed, Err(Stopped::Source(_))));
    let refused = write_file(&path, Existing::Keep, |out| out.write_all(b"x"), |_| Err(io::Error::other("unread")));
    assert!(matches!(refused, Err(Stopped::Source(_))));
    assert!(names(folder.path()).is_empty());
    write(&path, Existing::Keep, "new").unwrap();
    let again = write(&path, Existing::Keep, "newer");
    assert!(matches!(again, Err(Stopped::File(error)) if matches!(error.refusal, Refusal::Exists)));
    write(&path, Existing::Replace, "newer").unwrap();
    assert_eq!((names(folder.path()), std::fs::read_to_string(&path).unwrap()), (vec!["a".into()], "newer".into()));
}

#[test]
fn a_program_that_insists_on_a_path_gets_one_that_goes_away() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("film");
    write_file_at(&path, Existing::Keep, |at| std::fs::write(at, "frames")).unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "frames");
    assert!(write_file_at(&path, Existing::Replace, |_| Err::<(), _>(io::Error::other("no"))).is_err());
    write_file_at(&path, Existing::Replace, |at| std::fs::write(at, "others")).unwrap();
    assert_eq!((names(folder.path()), std::fs::read_to_string(&path).unwrap()), (vec!["film".into()], "others".into()));
}

#[test]
fn a_set_takes_its_names_together_or_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
    std::fs::write(&a, "old").unwrap();
    let mut files = FileSet::default();
    add(&mut files, &a, Existing::Replace, "new");
    add(&mut files, &b, Existing::Keep, "new");
    assert_eq!(files.read_last().unwrap(), b"new");
    // Somebody is faster.
    std::fs::write(&b, "foreign").unwrap();
    let refused = files.commit().unwrap_err();
    assert!(matches!(refused.refusal, Refusal::Exists) && refused.path == b);
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert_eq!((read(&a), read(&b), names(folder.path()).len()), ("old".into(), "foreign".into(), 2));
    let mut files = FileSet::default();
    add(&mut files, &a, Existing::Replace, "new");
    drop(files);
    assert_eq!((read(&a), names(folder.path()).len()), ("old".into(), 2));
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut files = FileSet::default();
    add(&mut files, &a, Existing::Replace, "new");
    add(&mut files, &b, Existing::Replace, "new");
    add(&mut files, &other.join("c"), Existing::Keep, "new");
    files.commit().unwrap();
    assert_eq!((read(&a), read(&b), read(&other.join("c"))), ("new".into(), "new".into(), "new".into()));
    assert_eq!((names(folder.path()).len(), names(&other).len()), (3, 1));
}

/// What a program that was killed in the middle of a swap leaves: the next to write puts back the old files, but not
/// over what somebody has written since.
#[cfg(unix)]
#[test]
fn a_swap_that_was_cut_off_is_undone_by_the_next_to_write() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let container = folder.path().join(".sinew-0123456789abcdef.part");
    std::fs::create_dir(&container).unwrap();
    std::fs::write(container.join("lock"), "").unwrap();
    let mut journal = String::from("sinew swap 1\n");
    for (index, (name, replaces)) in [("a", 1), ("b", 1), ("c", 0), ("d", 0)].into_iter().enumerate() {
        let target = folder.path().join(name);
        std::fs::write(&target, "new").unwrap();
        std::fs::write(container.join(format!("{index}.old")), "old").unwrap();
        let found = target.metadata().unwrap();
        let time = found.mtime() as u128 * 1_000_000_000 + found.mtime_nsec() as u128;
        journal += &format!("{:02x} {replaces} {} {} {time}\n", name.as_bytes()[0], found.ino(), found.len());
    }
    std::fs::write(container.join("journal"), journal + "end\n").unwrap();
    for since in ["b", "d"] {
        std::fs::write(folder.path().join(since), "written since").unwrap();
    }
    write(&folder.path().join("further"), Existing::Keep, "").unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(names(folder.path()), ["a", "b", "d", "further"]);
    assert_eq!((read("a").as_str(), read("b").as_str(), read("d").as_str()), ("old", "written since", "written since"));
}

#[test]
fn a_folder_is_there_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let made = NewFolder::new(&path).unwrap();
    write(&made.inside().join("1"), Existing::Keep, "one").unwrap();
    drop(made);
    assert!(names(folder.path()).is_empty());
    let made = NewFolder::new(&path).unwrap();
    write(&made.inside().join("1"), Existing::Keep, "one").unwrap();
    assert!(!path.exists());
    made.commit().unwrap();
    assert_eq!((names(folder.path()), names(&path)), (vec!["frames".into()], vec!["1".into()]));
    assert!(matches!(NewFolder::new(&path), Err(error) if matches!(error.refusal, Refusal::Exists)));
}

/// Many threads at one name: each file is one of theirs, whole, and one alone may be first.
#[test]
fn of_many_that_write_one_file_at_once_one_is_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let first = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..8u8)
            .map(|thread| {
                let path = &path;
                let bytes = vec![thread; 100_000];
                scope.spawn(move || {
                    let fill = |out: &mut dyn Write| out.write_all(&bytes);
                    let kept = write_file(path, Existing::Keep, fill, |_| Ok(())).is_ok();
                    write_file(path, Existing::Replace, fill, |_| Ok(())).unwrap();
                    kept
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).filter(|kept| *kept).count()
    });
    assert_eq!(first, 1);
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.len() == 100_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    assert_eq!(names(folder.path()), ["a"]);
}
