//! Every change, to be undone and done again: to the bit, and in any number.
//!
//! A change holds the text of the recipe before and after it, and of painted maps the values that differ. Changes of one
//! gesture (a slider that is dragged, a brush that has not been lifted) are one.

use crate::drawn::Drawn;
use std::sync::Arc;

/// A value of a map that has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dab {
    /// Slot of the control point.
    pub slot: u32,
    /// Value before.
    pub before: f32,
    /// Value after.
    pub after: f32,
}

/// What happened to a painted map.
#[derive(Clone, Debug, PartialEq)]
pub enum MapChange {
    /// It came to be, with these values; undone, it is gone.
    Made(String, Arc<[f32]>),
    /// It was deleted, and had these values.
    Deleted(String, Arc<[f32]>),
    /// Some of its values have changed.
    Painted(String, Vec<Dab>),
}

/// One step back.
#[derive(Clone, Debug)]
pub struct Change {
    /// What people did, in their words.
    pub label: String,
    /// Recipe before and after.
    pub recipe: Option<[Arc<str>; 2]>,
    /// What was drawn, before and after.
    pub drawn: Option<[Arc<Drawn>; 2]>,
    /// Maps, in the order that they changed.
    pub maps: Vec<MapChange>,
    gesture: Option<u64>,
    /// Number of the state after it, unlike that of any other.
    revision: u64,
}

/// All changes since the document was opened.
#[derive(Clone, Debug, Default)]
pub struct History {
    changes: Vec<Change>,
    /// How many of them are done.
    done: usize,
    revisions: u64,
    gestures: u64,
}

impl History {
    /// A gesture begins: changes made with its number are one step.
    pub fn gesture(&mut self) -> u64 {
        self.gestures += 1;
        self.gestures
    }

    /// Remembers a change that was made. What was undone before can no longer be done again.
    pub fn push(
        &mut self,
        label: &str,
        gesture: Option<u64>,
        recipe: Option<[Arc<str>; 2]>,
        drawn: Option<[Arc<Drawn>; 2]>,
        maps: Vec<MapChange>,
    ) {
        self.changes.truncate(self.done);
        self.revisions += 1;
        let revision = self.revisions;
        if let Some(last) = self.changes.last_mut().filter(|last| gesture.is_some() && last.gesture == gesture) {
            last.recipe = joined(last.recipe.take(), recipe);
            last.drawn = joined(last.drawn.take(), drawn);
            maps.into_iter().for_each(|change| merge(&mut last.maps, change));
            last.revision = revision;
            return;
        }
        self.changes.push(Change { label: label.to_owned(), recipe, drawn, maps, gesture, revision });
        self.done = self.changes.len();
    }

    /// The change to be undone next, which then is.
    pub fn undo(&mut self) -> Option<&Change> {
        self.done = self.done.checked_sub(1)?;
        // A gesture that was undone in the middle goes on as a new one.
        self.changes[self.done].gesture = None;
        self.changes.get(self.done)
    }

    /// The change to be done again next, which then is.
    pub fn redo(&mut self) -> Option<&Change> {
        let change = self.changes.get(self.done)?;
        self.done += 1;
        Some(change)
    }

    /// What would be undone next.
    pub fn undoable(&self) -> Option<&str> {
        self.done.checked_sub(1).map(|last| self.changes[last].label.as_str())
    }

    /// What would be done again next.
    pub fn redoable(&self) -> Option<&str> {
        self.changes.get(self.done).map(|change| change.label.as_str())
    }

    /// A number that only this state has; 0 is the first.
    pub fn revision(&self) -> u64 {
        self.done.checked_sub(1).map_or(0, |last| self.changes[last].revision)
    }
}

/// Two changes as one, each from something to something else.
fn joined<T>(held: Option<[T; 2]>, new: Option<[T; 2]>) -> Option<[T; 2]> {
    match (held, new) {
        (Some([before, _]), Some([_, after])) => Some([before, after]),
        (held, new) => new.or(held),
    }
}

/// Two changes of a map as one.
fn merge(held: &mut Vec<MapChange>, new: MapChange) {
    let MapChange::Painted(name, dabs) = &new else { return held.push(new) };
    let known = held.iter_mut().rev().find_map(|change| match change {
        MapChange::Painted(other, dabs) if other == name => Some(dabs),
        _ => None,
    });
    let Some(known) = known else { return held.push(new) };
    // Sorted by slot, both.
    let mut merged = Vec::with_capacity(known.len() + dabs.len());
    let (mut a, mut b) = (known.iter().peekable(), dabs.iter().peekable());
    loop {
        merged.push(match (a.peek(), b.peek()) {
            (Some(first), Some(second)) if first.slot == second.slot => {
                let both = Dab { slot: first.slot, before: first.before, after: second.after };
                a.next();
                b.next();
                both
            }
            (Some(first), Some(second)) if second.slot < first.slot => {
                let one = **second;
                b.next();
                one
            }
            (Some(first), _) => {
                let one = **first;
                a.next();
                one
            }
            (None, Some(second)) => {
                let one = **second;
                b.next();
                one
            }
            (None, None) => break,
        });
    }
    *known = merged;
}
