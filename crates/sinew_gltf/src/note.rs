//! What was added to a document, written down inside it so that it can be taken back: `asset.extras.sinew`.
//!
//! ```json
//! {
//!   "version": 2,
//!   "generator": "sinew 0.1.0",
//!   "recipe": "version = 1\n…",
//!   "bytes": {"from": 5120, "to": 9216},
//!   "created": ["/meshes/0/extras"],
//!   "added": [{"in": "/accessors", "from": 12, "to": 40, "check": "9e3779b97f4a7c15"}],
//!   "replaced": [{"at": "/nodes/3/mesh", "was": 0, "now": "c2b2ae3d27d4eb4f"}, {"at": "/meshes/0/weights", "now": …}],
//!   "check": "165667b19e3779f9"
//! }
//! ```
//!
//! `bytes` are those of buffer 0. `created` are members that were absent and hold nothing of their own. `added` are the
//! entries at the end of an array. `replaced` are single members: without `was` there was none, without `now` it was
//! removed. Checks are fingerprints of what Sinew wrote: where they differ, another program has been at work. The last
//! is that of the note itself, which says what is to be restored; version 1 had none.

use crate::error::{Fault, WriteError};
use crate::fnv::Fnv1a;
use crate::view::View;
use serde_json::{Value, json};

/// The version this library writes, and the newest it reads.
pub(crate) const VERSION: u64 = 2;

/// The first version whose notes carry a check of themselves.
const CHECKED: u64 = 2;
const CHECK: &str = "check";

/// Where the note lies.
pub(crate) const PLACE: &str = "/asset/extras/sinew";

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    pub recipe: String,
    pub bytes: Span,
    pub created: Vec<String>,
    pub added: Vec<Added>,
    pub replaced: Vec<Replaced>,
}

/// From the former length to the new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub from: usize,
    pub to: usize,
}

/// Entries at the end of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Added {
    pub array: String,
    pub span: Span,
    pub check: u64,
}

/// A member set or removed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Replaced {
    pub at: String,
    pub was: Option<Value>,
    pub now: Option<u64>,
}

impl Note {
    pub fn to_json(&self) -> Value {
        let added = |a: &Added| json!({"in": a.array, "from": a.span.from, "to": a.span.to, "check": hex(a.check)});
        let replaced = |r: &Replaced| {
            let mut json = json!({"at": r.at});
            if let Some(was) = &r.was {
                json["was"] = was.clone();
            }
            if let Some(now) = r.now {
                json["now"] = hex(now).into();
            }
            json
        };
        let mut note = json!({
            "version": VERSION,
            "generator": concat!("sinew ", env!("CARGO_PKG_VERSION")),
            "recipe": self.recipe,
            "bytes": {"from": self.bytes.from, "to": self.bytes.to},
            "created": self.created,
            "added": self.added.iter().map(added).collect::<Vec<_>>(),
            "replaced": self.replaced.iter().map(replaced).collect::<Vec<_>>(),
        });
        note[CHECK] = hex(fingerprint([&note])).into();
        note
    }

    /// The note of the document `json`; `None` where it has none.
    pub fn read(json: &Value) -> Result<Option<Self>, WriteError> {
        let root = View::root(json);
        let Some(asset) = root.get("asset")? else { return Ok(None) };
        if json.pointer(PLACE).is_none() {
            return Ok(None);
        }
        let view = asset.need("extras")?.need("sinew")?;
        let found = view.need("version")?.whole()?;
        if found > VERSION {
            return Err(WriteError::Newer { found, supported: VERSION });
        }
        let check = view.get(CHECK)?.map(|check| unhex(&check)).transpose()?;
        let mut checked = view.value().clone();
        checked.as_object_mut().map(|members| members.shift_remove(CHECK));
        if (found >= CHECKED || check.is_some()) && check != Some(fingerprint([&checked])) {
            let fault = "the note of what Sinew added has changed since Sinew wrote it".to_owned();
            return Err(WriteError::Changed { element: PLACE.to_owned(), fault });
        }
        let added = view.list("added")?.into_iter().map(|entry| {
            let check = unhex(&entry.need("check")?)?;
            Ok(Added { array: entry.need("in")?.text()?.to_owned(), span: span(&entry)?, check })
        });
        let replaced = view.list("replaced")?.into_iter().map(|entry| {
            let now = entry.get("now")?.map(|now| unhex(&now)).transpose()?;
            let was = entry.get("was")?.map(|was| was.value().clone());
            Ok(Replaced { at: entry.need("at")?.text()?.to_owned(), was, now })
        });
        let created = view.list("created")?.into_iter().map(|entry| Ok(entry.text()?.to_owned()));
        Ok(Some(Self {
            recipe: view.need("recipe")?.text()?.to_owned(),
            bytes: span(&view.need("bytes")?)?,
            created: created.collect::<Result<_, Fault>>()?,
            added: added.collect::<Result<_, Fault>>()?,
            replaced: replaced.collect::<Result<_, Fault>>()?,
        }))
    }
}

fn span(view: &View<'_>) -> Result<Span, Fault> {
    let end = |key: &str| -> Result<usize, Fault> {
        let end = view.need(key)?;
        usize::try_from(end.whole()?).map_err(|_| end.invalid("is out of range"))
    };
    let span = Span { from: end("from")?, to: end("to")? };
    if span.from <= span.to { Ok(span) } else { Err(view.invalid("ends before it begins")) }
}

fn hex(check: u64) -> String {
    format!("{check:016x}")
}

fn unhex(view: &View<'_>) -> Result<u64, Fault> {
    u64::from_str_radix(view.text()?, 16).map_err(|_| view.invalid("is no fingerprint of 16 hexadecimal digits"))
}

/// The same for JSON of the same meaning: the order of members and the spelling of numbers do not count.
pub(crate) fn fingerprint<'a>(values: impl IntoIterator<Item = &'a Value>) -> u64 {
    let mut hash = Fnv1a::default();
    values.into_iter().for_each(|value| absorb(value, &mut hash));
    hash.finish()
}

fn absorb(value: &Value, hash: &mut Fnv1a) {
    match value {
        Value::Null => hash.write(b"n"),
        Value::Bool(truth) => hash.write(if *truth { b"t" } else { b"f" }),
        Value::Number(number) => {
            hash.write(b"#");
            // Adding zero turns −0 into 0.
            hash.write(&(number.as_f64().unwrap_or(0.0) + 0.0).to_le_bytes());
        }
        Value::String(text) => text_into(text, hash),
        Value::Array(entries) => {
            hash.write(b"[");
            entries.iter().for_each(|entry| absorb(entry, hash));
            hash.write(b"]");
        }
        Value::Object(members) => {
            hash.write(b"{");
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                text_into(key, hash);
                absorb(value, hash);
            }
            hash.write(b"}");
        }
    }
}

fn text_into(text: &str, hash: &mut Fnv1a) {
    hash.write(b"\"");
    hash.write(&(text.len() as u64).to_le_bytes());
    hash.write(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_see_meaning_not_spelling() {
        let read = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        let same = |a: &str, b: &str| fingerprint([&read(a)]) == fingerprint([&read(b)]);
        assert!(same(r#"{"a": 1, "b": [2.50, null]}"#, r#"{"b":[2.5,null],"a":1.0}"#));
        for (a, b) in [("[1,2]", "[2,1]"), (r#"{"a":[1]}"#, r#"{"a":1}"#), (r#"["ab",""]"#, r#"["a","b"]"#)] {
            assert!(!same(a, b), "{a} {b}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let note = Note {
            recipe: "version = 1\n".into(),
            bytes: Span { from: 3, to: 17 },
            created: vec!["/meshes/0/extras".into()],
            added: vec![Added { array: "/accessors".into(), span: Span { from: 1, to: 2 }, check: 7 }],
            replaced: vec![
                Replaced { at: "/nodes/0/mesh".into(), was: Some(json!(null)), now: Some(u64::MAX) },
                Replaced { at: "/nodes/0/weights".into(), was: None, now: None },
            ],
        };
        let json = json!({"asset": {"version": "2.0", "extras": {"sinew": note.to_json()}}});
        assert_eq!(Note::read(&json).expect("sound"), Some(note));
    }

    #[test]
    fn a_note_that_says_something_else_is_refused() {
        let note = Note {
            recipe: "version = 1\n".into(),
            bytes: Span { from: 3, to: 17 },
            created: vec!["/meshes/0/extras".into()],
            added: vec![Added { array: "/accessors".into(), span: Span { from: 1, to: 2 }, check: 7 }],
            replaced: vec![Replaced { at: "/nodes/0/mesh".into(), was: Some(json!(4)), now: Some(9) }],
        };
        let sound = json!({"asset": {"version": "2.0", "extras": {"sinew": note.to_json()}}});
        for (place, value) in [
            ("recipe", json!("version = 1")),
            ("bytes/from", json!(4)),
            ("created", json!([])),
            ("added/0/from", json!(0)),
            ("added/0/in", json!("/meshes")),
            ("replaced/0/was", json!(5)),
            ("replaced/0/at", json!("/nodes/1/mesh")),
            ("generator", json!("another")),
            ("check", json!("0000000000000000")),
        ] {
            let mut damaged = sound.clone();
            *damaged.pointer_mut(&format!("{PLACE}/{place}")).expect("there") = value;
            assert!(matches!(Note::read(&damaged), Err(WriteError::Changed { .. })), "{place}");
        }
        // Notes of version 1 have no check.
        let mut old = sound.clone();
        let members = old.pointer_mut(PLACE).and_then(Value::as_object_mut).expect("a note");
        members.shift_remove(CHECK);
        assert!(Note::read(&json!({"asset": {"extras": {"sinew": members}}})).is_err());
        members.insert("version".into(), json!(1));
        assert_eq!(Note::read(&old).expect("sound"), Some(note));
    }
}
