//! Text for terminals: numbers at a readable length, names without control characters, tables, wrapped lines.

/// Columns that human-readable output keeps to where names allow.
pub const WIDTH: usize = 96;

/// `text` on one line without control characters: names come from files, and a terminal obeys what it is sent.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// A name in quotes, fit for a terminal.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", printable(name))
}

/// Four significant digits, at any scale.
pub fn short(x: f64) -> String {
    // The exponent after rounding: 0.09999999 is 0.1000.
    let scientific = format!("{x:.3e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    match exponent {
        Some(_) if x == 0.0 => "0".to_owned(),
        Some(exponent) if (-6..9).contains(&exponent) => {
            format!("{x:.*}", usize::try_from(3 - exponent).unwrap_or(0))
        }
        _ => scientific,
    }
}

/// `1 mesh`, `3 meshes`.
pub fn count(n: usize, one: &str, many: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {many}") }
}

/// How a column of a table is set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// Lines of a table: columns as wide as their widest cell, two spaces apart, indented by two.
pub fn table(columns: &[(&str, Align)], rows: &[Vec<String>]) -> Vec<String> {
    let head: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::new();
        for ((cell, (_, align)), &width) in row.iter().zip(columns).zip(&widths) {
            line.push_str("  ");
            match align {
                Align::Left => line.push_str(&format!("{cell:<width$}")),
                Align::Right => line.push_str(&format!("{cell:>width$}")),
            }
        }
        line.truncate(line.trim_end().len());
        line
    };
    let has_head = columns.iter().any(|(name, _)| !name.is_empty());
    has_head.then_some(&head).into_iter().chain(rows).map(line).collect()
}

/// Breaks `text` at spaces into lines of at most [`WIDTH`], each after `indent` spaces.
pub fn wrap(text: &str, indent: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length > 0 && indent + length + 1 + word_length > WIDTH {
            lines.push(std::mem::take(&mut line));
            length = 0;
        }
        if length == 0 {
            line.push_str(&" ".repeat(indent));
        } else {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word_length;
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_four_digits_at_any_scale() {
        for (x, expected) in [
            (175.6473, "175.6"),
            (0.021_347, "0.02135"),
            (-1.5, "-1.500"),
            (0.099_999_999, "0.1000"),
            (0.0, "0"),
            (12_345.6, "12346"),
            (3e-9, "3.000e-9"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(short(x), expected);
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[31mb\nc"), "a\\u{1b}[31mb c");
    }

    #[test]
    fn wrapped_lines_keep_every_word_and_the_width() {
        let text = "word ".repeat(100);
        let lines = wrap(&text, 4);
        assert!(lines.iter().all(|line| line.len() <= WIDTH && line.starts_with("    w")));
        assert_eq!(lines.join(" ").split_whitespace().count(), 100);
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "10".into()], vec!["long".into(), "7".into()]];
        assert_eq!(
            table(&[("name", Align::Left), ("n", Align::Right)], &rows),
            ["  name   n", "  a     10", "  long   7"]
        );
    }
}
