//! Bytes that nobody reads any more are taken out of their buffers, and buffers that are left empty go.
//!
//! All else keeps its order and its alignment; what lies before the first cut stays where it is.

use super::Place;
use crate::document::Document;
use crate::write::ALIGNMENT;
use serde_json::Value;
use std::ops::Range;

type Ranges = Vec<Range<usize>>;

/// Takes `spent` out of the buffers of `document`, but for what a buffer view still names.
pub(super) fn cut(document: &mut Document, spent: &[Place]) {
    let count = document.buffers.len();
    let spent = by_buffer(count, spent.iter().cloned());
    let named = by_buffer(count, views(&document.json).iter().filter_map(named));
    let mut cuts = Vec::with_capacity(count);
    for ((bytes, spent), named) in document.buffers.iter_mut().zip(&spent).zip(&named) {
        let gone = aligned(&without(spent, named), named, bytes.len());
        let mut kept = Vec::with_capacity(bytes.len());
        let mut from = 0;
        for cut in &gone {
            kept.extend_from_slice(&bytes[from..cut.start]);
            from = cut.end;
        }
        kept.extend_from_slice(&bytes[from..]);
        *bytes = kept;
        cuts.push(gone);
    }
    move_views(document, &cuts);
}

fn views(json: &Value) -> &[Value] {
    json.get("bufferViews").and_then(Value::as_array).map_or(&[][..], |views| views)
}

fn whole(object: &Value, key: &str) -> Option<usize> {
    object.get(key).and_then(Value::as_f64).map(|x| x as usize)
}

/// What a buffer view names, as far as it can be told.
fn named(view: &Value) -> Option<Place> {
    let (buffer, length) = (whole(view, "buffer")?, whole(view, "byteLength")?);
    let start = whole(view, "byteOffset").unwrap_or(0);
    Some((buffer, start..start.saturating_add(length)))
}

/// `places` of each buffer in ascending order, those that meet as one.
fn by_buffer(count: usize, places: impl Iterator<Item = Place>) -> Vec<Ranges> {
    let mut ranges: Vec<Ranges> = vec![Vec::new(); count];
    for (buffer, place) in places.filter(|(_, place)| !place.is_empty()) {
        if let Some(ranges) = ranges.get_mut(buffer) {
            ranges.push(place);
        }
    }
    for ranges in &mut ranges {
        ranges.sort_by_key(|range| range.start);
        ranges.dedup_by(|next, last| {
            let meets = next.start <= last.end;
            last.end = if meets { last.end.max(next.end) } else { last.end };
            meets
        });
    }
    ranges
}

/// The parts of `spent` that are in none of `named`.
fn without(spent: &[Range<usize>], named: &[Range<usize>]) -> Ranges {
    let mut left = Vec::new();
    let mut next = 0;
    for range in spent {
        let mut from = range.start;
        while let Some(named) = named.get(next).filter(|named| named.start < range.end) {
            if named.start > from {
                left.push(from..named.start);
            }
            from = from.max(named.end);
            if named.end > range.end {
                break;
            }
            next += 1;
        }
        if from < range.end {
            left.push(from..range.end);
        }
    }
    left
}

/// `spent` as cuts that shift what follows by whole words; the padding behind a stream goes with it.
fn aligned(spent: &[Range<usize>], named: &[Range<usize>], length: usize) -> Ranges {
    let mut cuts: Ranges = Vec::with_capacity(spent.len());
    let mut next = 0;
    for range in spent {
        while named.get(next).is_some_and(|named| named.start < range.end) {
            next += 1;
        }
        let limit = named.get(next).map_or(length, |named| named.start.min(length));
        let start = range.start.next_multiple_of(ALIGNMENT).max(cuts.last().map_or(0, |cut| cut.end));
        let end = match range.end.next_multiple_of(ALIGNMENT) {
            end if end <= limit => end,
            _ if limit == length => length,
            end => end - ALIGNMENT,
        };
        if start < end {
            cuts.push(start..end);
        }
    }
    cuts
}

/// Views follow their bytes.
fn move_views(document: &mut Document, cuts: &[Ranges]) {
    let keeps: Vec<bool> =
        document.buffers.iter().zip(cuts).map(|(b, cuts)| !b.is_empty() || cuts.is_empty()).collect();
    let kept = sums(keeps.iter().map(|keeps| usize::from(*keeps)));
    let taken: Vec<Vec<usize>> = cuts.iter().map(|cuts| sums(cuts.iter().map(ExactSizeIterator::len))).collect();
    for view in document.json.get_mut("bufferViews").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(buffer) = whole(view, "buffer").filter(|&buffer| buffer < cuts.len()) else { continue };
        let start = whole(view, "byteOffset").unwrap_or(0);
        let before = cuts[buffer].partition_point(|cut| cut.end <= start);
        if before > 0 {
            view["byteOffset"] = (start - taken[buffer][before]).into();
        }
        if kept[buffer] != buffer {
            view["buffer"] = kept[buffer].into();
        }
    }
    let Some(entries) = document.json.get_mut("buffers").and_then(Value::as_array_mut) else { return };
    let mut keep = keeps.iter();
    entries.retain(|_| keep.next().copied().unwrap_or(true));
    let mut keep = keeps.iter();
    document.buffers.retain(|_| keep.next().copied().unwrap_or(true));
    for (entry, bytes) in entries.iter_mut().zip(&document.buffers).filter(|(_, bytes)| !bytes.is_empty()) {
        if whole(entry, "byteLength") != Some(bytes.len()) {
            entry["byteLength"] = bytes.len().into();
        }
    }
}

/// The sum of all that lie before each, and of all.
fn sums(counts: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sum = 0;
    let mut sums = vec![0];
    sums.extend(counts.map(|count| {
        sum += count;
        sum
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_stays_and_the_rest_keeps_its_alignment() {
        let spent = by_buffer(1, [(0, 5..21), (0, 30..50), (0, 18..24)].into_iter());
        let named = by_buffer(1, [(0, 0..3), (0, 36..40)].into_iter());
        assert_eq!(spent[0], [5..24, 30..50]);
        let left = without(&spent[0], &named[0]);
        assert_eq!(left, [5..24, 30..36, 40..50]);
        assert_eq!(aligned(&left, &named[0], 51), [8..24, 32..36, 40..51]);
    }
}
