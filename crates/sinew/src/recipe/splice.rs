//! Where in a TOML text a key stands, and how to cut it out or put it in without touching the rest.
//!
//! Keys come on lines under a header, dotted, or between braces, and lists as `[[sections]]` or between brackets; each
//! is spliced in its own way, by the spans `toml_edit` reports for a text it has not changed.

use std::ops::Range;
use toml_edit::{Document, InlineTable, Item, Key, Table, TableLike, Value};

/// A step down the document.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a> Step<'a> {
    fn key(self) -> Option<&'a str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }
}

pub(super) fn dotted(keys: &[&str]) -> String {
    let keys: Vec<String> = keys.iter().map(|&key| Key::new(key).display_repr().into_owned()).collect();
    keys.join(".")
}

/// A piece of the document.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    Item(&'a Item),
    /// The document, or an element of `[[effect]]`.
    Table(&'a Table),
    /// An element of a list.
    Value(&'a Value),
}

/// How a piece is written.
enum Written<'a> {
    /// Under a header of its own, or at the top of the file: keys stand on lines.
    Lines(&'a Table),
    /// Nowhere itself: only tables inside it have headers.
    Implied(&'a Table),
    /// By dotted keys in whatever holds it.
    Dotted(&'a dyn TableLike),
    /// Between braces.
    Braces(&'a InlineTable),
    /// A plain value or a list.
    Plain(&'a Value),
    /// `[[effect]]`
    Sections,
}

impl<'a> Node<'a> {
    fn child(self, step: Step<'_>) -> Option<Self> {
        match step {
            Step::Key(key) => {
                let table = match self {
                    Self::Item(item) => item.as_table_like()?,
                    Self::Table(table) => table,
                    Self::Value(value) => value.as_inline_table()?,
                };
                table.get(key).map(Self::Item)
            }
            Step::Index(index) => match self {
                Self::Item(Item::ArrayOfTables(tables)) => tables.get(index).map(Self::Table),
                Self::Item(Item::Value(Value::Array(list))) => list.get(index).map(Self::Value),
                _ => None,
            },
        }
    }

    fn written(self) -> Written<'a> {
        match self {
            Self::Table(table) | Self::Item(Item::Table(table)) => {
                if table.is_dotted() {
                    Written::Dotted(table)
                } else if table.is_implicit() {
                    Written::Implied(table)
                } else {
                    Written::Lines(table)
                }
            }
            Self::Value(Value::InlineTable(table)) | Self::Item(Item::Value(Value::InlineTable(table))) => {
                if table.is_dotted() { Written::Dotted(table) } else { Written::Braces(table) }
            }
            Self::Value(value) | Self::Item(Item::Value(value)) => Written::Plain(value),
            Self::Item(Item::ArrayOfTables(_) | Item::None) => Written::Sections,
        }
    }

    /// Where it stands, if it is written as one value.
    pub(super) fn value_span(self) -> Option<Range<usize>> {
        match self.written() {
            Written::Plain(value) => value.span(),
            Written::Braces(table) => table.span(),
            _ => None,
        }
    }

    /// A list and its elements.
    pub(super) fn elements(self) -> Option<(Range<usize>, Vec<Range<usize>>)> {
        let Written::Plain(Value::Array(list)) = self.written() else { return None };
        Some((list.span()?, list.iter().filter_map(Value::span).collect()))
    }
}

/// Spans of the values that stand in a table's own text, in file order.
fn values(table: &dyn TableLike) -> Vec<Range<usize>> {
    fn gather(table: &dyn TableLike, spans: &mut Vec<Range<usize>>) {
        for (_, item) in table.iter() {
            match Node::Item(item).written() {
                Written::Dotted(inner) => gather(inner, spans),
                Written::Braces(inner) => spans.extend(inner.span()),
                Written::Plain(value) => spans.extend(value.span()),
                Written::Lines(_) | Written::Implied(_) | Written::Sections => {}
            }
        }
    }
    let mut spans = Vec::new();
    gather(table, &mut spans);
    spans.sort_by_key(|span| span.start);
    spans
}

/// What `ask` tells of the piece at `steps`.
pub(super) fn find<T>(text: &str, steps: &[Step<'_>], ask: impl FnOnce(Node<'_>) -> Option<T>) -> Option<T> {
    let document = Document::parse(text).ok()?;
    let root = Some(Node::Table(document.as_table()));
    ask(steps.iter().fold(root, |node, &step| node?.child(step))?)
}

/// Adds a key that is not there.
pub(super) fn insert(text: &mut String, steps: &[Step<'_>], value: &str) {
    let insertion =
        Document::parse(text.as_str()).ok().and_then(|document| insertion(document.as_table(), steps, value));
    match insertion {
        Some(Insertion::Line { after, entry }) => {
            let line = &text[line_start(text, after.start)..];
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let line = format!("{}{indent}{entry}", line_break(text));
            text.insert_str(line_end(text, after.end), &line);
        }
        Some(Insertion::Element { braces, last, entry }) => insert_element(text, braces, last.as_ref(), &entry),
        Some(Insertion::Section { header, entry }) => append_section(text, &header, &[entry]),
        None => {}
    }
}

/// How a key is added.
enum Insertion {
    Line { after: Range<usize>, entry: String },
    Element { braces: Range<usize>, last: Option<Range<usize>>, entry: String },
    Section { header: String, entry: String },
}

fn insertion(root: &Table, steps: &[Step<'_>], value: &str) -> Option<Insertion> {
    // As deep as the file goes: the last piece that is there, and the last that has lines or braces of its own.
    let (mut holder, mut names) = (Node::Table(root), Vec::new());
    let (mut deepest, mut known) = (holder, 0);
    for &step in steps {
        let Some(child) = deepest.child(step) else { break };
        deepest = child;
        known += 1;
        match child.written() {
            Written::Lines(_) | Written::Braces(_) => {
                holder = child;
                names.clear();
            }
            _ => names.extend(step.key()),
        }
    }
    names.extend(steps[known..].iter().filter_map(|step| step.key()));

    let entry = format!("{} = {value}", dotted(&names));
    let near = match deepest.written() {
        Written::Dotted(table) => values(table).pop(),
        _ => None,
    };
    match holder.written() {
        Written::Braces(table) => {
            Some(Insertion::Element { braces: table.span()?, last: near.or_else(|| values(table).pop()), entry })
        }
        Written::Lines(table) => match names.as_slice() {
            [section @ .., key] if near.is_none() && !section.is_empty() && std::ptr::eq(table, root) => {
                let header = format!("[{}]", dotted(section));
                Some(Insertion::Section { header, entry: format!("{} = {value}", dotted(&[key])) })
            }
            _ => Some(Insertion::Line { after: near.or_else(|| values(table).pop()).or(table.span())?, entry }),
        },
        _ => None,
    }
}

/// Adds an element at the end of a list or between braces.
pub(super) fn insert_element(text: &mut String, outer: Range<usize>, last: Option<&Range<usize>>, entry: &str) {
    match last {
        Some(last) => text.insert_str(last.end, &format!(", {entry}")),
        None => {
            let padding = if text[outer.clone()].starts_with('{') { " " } else { "" };
            let inside = outer.start + 1..outer.end - 1;
            let blank = text[inside.clone()].trim().is_empty();
            text.replace_range(
                if blank { inside } else { inside.start..inside.start },
                &format!("{padding}{entry}{padding}"),
            );
        }
    }
}

/// Adds a section at the end of the file.
pub(super) fn append_section(text: &mut String, header: &str, entries: &[String]) {
    let end = line_break(text);
    if !text.ends_with('\n') {
        text.push_str(end);
    }
    text.push_str(end);
    for line in std::iter::once(header).chain(entries.iter().map(String::as_str)) {
        text.push_str(line);
        text.push_str(end);
    }
}

/// Removes whatever stands at `steps`.
pub(super) fn remove(text: &mut String, steps: &[Step<'_>]) {
    loop {
        let Ok(document) = Document::parse(text.as_str()) else { return };
        let Cuts { mut spans, again } = cuts(text, document.as_table(), steps);
        if spans.is_empty() {
            return;
        }
        spans.sort_by_key(|span| span.start);
        for span in spans.into_iter().rev() {
            text.replace_range(span, "");
        }
        if !again {
            return;
        }
    }
}

struct Cuts {
    spans: Vec<Range<usize>>,
    /// A dotted table goes value by value.
    again: bool,
}

fn cuts(text: &str, root: &Table, steps: &[Step<'_>]) -> Cuts {
    let (mut holder, mut node) = (Node::Table(root), Node::Table(root));
    for &step in steps {
        if !matches!(node.written(), Written::Dotted(_) | Written::Implied(_)) {
            holder = node;
        }
        let Some(child) = node.child(step) else { return Cuts { spans: Vec::new(), again: false } };
        node = child;
    }
    let mut spans = Vec::new();
    let value = match node.written() {
        Written::Lines(table) | Written::Implied(table) => {
            sections(text, table, &mut spans);
            return Cuts { spans, again: false };
        }
        Written::Dotted(table) => values(table).into_iter().next(),
        Written::Braces(table) => table.span(),
        Written::Plain(value) => value.span(),
        Written::Sections => None,
    };
    if let Some(value) = value {
        spans.extend(match (holder.written(), holder.elements()) {
            (_, Some((list, elements))) => element(text, list, &elements, &value),
            (Written::Braces(table), _) => table.span().and_then(|span| element(text, span, &values(table), &value)),
            _ => Some(line_start(text, value.start)..next_line(text, value.end)),
        });
    }
    Cuts { spans, again: matches!(node.written(), Written::Dotted(_)) }
}

/// The text of one element of a list or between braces, with the comma it makes needless.
fn element(text: &str, outer: Range<usize>, all: &[Range<usize>], one: &Range<usize>) -> Option<Range<usize>> {
    match all.iter().position(|span| span == one)? {
        0 if all.len() == 1 => Some(outer.start + 1..outer.end - 1),
        0 => {
            let mut comma = one.end;
            while let Some(next) = text.get(comma..)?.chars().next() {
                match next {
                    ',' => return Some(outer.start + 1..comma + 1),
                    '#' => comma = line_end(text, comma),
                    _ => comma += next.len_utf8(),
                }
            }
            None
        }
        index => Some(all[index - 1].end..one.end),
    }
}

/// The lines of a table and of all tables inside it, each with the comment right above and the empty line before.
fn sections(text: &str, table: &Table, spans: &mut Vec<Range<usize>>) {
    if let (Written::Lines(_), Some(header)) = (Node::Table(table).written(), table.span()) {
        let mut start = line_start(text, header.start);
        let above = table.decor().prefix().and_then(|prefix| prefix.span()).map_or(start, |span| span.start);
        for line in text[above.min(start)..start].split_inclusive('\n').rev() {
            let comment = line.trim_start().starts_with('#');
            if comment || line.trim().is_empty() {
                start -= line.len();
            }
            if !comment {
                break;
            }
        }
        let end = values(table).last().map_or(header.end, |last| last.end.max(header.end));
        spans.push(start..next_line(text, end));
    }
    for (_, item) in table.iter() {
        match item {
            Item::Table(inner) => sections(text, inner, spans),
            Item::ArrayOfTables(tables) => tables.iter().for_each(|inner| sections(text, inner, spans)),
            Item::Value(_) | Item::None => {}
        }
    }
}

fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The end of the line without its break.
fn line_end(text: &str, at: usize) -> usize {
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    if text[at..end].ends_with('\r') { end - 1 } else { end }
}

fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}
