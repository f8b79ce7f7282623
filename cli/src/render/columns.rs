//! Columns of text under a header, two blanks apart.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

/// Minimum width of a cell, even in narrower terminals.
const NARROWEST: usize = 8;

/// Minimum width of a column whose lines are broken between words.
const READABLE: usize = 24;

/// A table with a header. Cells may have several lines.
pub(crate) struct Columns<const N: usize> {
    header: [String; N],
    rows: Vec<[String; N]>,
    right: [bool; N],
}

impl<const N: usize> Columns<N> {
    pub(crate) fn new(header: [&str; N]) -> Self {
        Self { header: header.map(str::to_owned), rows: Vec::new(), right: [false; N] }
    }

    pub(crate) fn row(&mut self, row: [String; N]) {
        self.rows.push(row);
    }

    /// Shortens and right-aligns the cells of columns whose non-empty cells are all numbers. Scripts that read tables expect
    /// this form of scores.
    pub(crate) fn shorten_numbers(&mut self) {
        let number = |cell: &str| cell.parse().ok().filter(|number: &f64| number.is_finite());
        for column in 0..N {
            let cells = self.rows.iter_mut().map(|row| &mut row[column]);
            let cells: Vec<&mut String> = cells.filter(|cell| !cell.is_empty()).collect();
            if cells.is_empty() || cells.iter().any(|cell| number(cell).is_none()) {
                continue;
            }
            self.right[column] = true;
            for cell in cells {
                // More than four decimals are significant.
                let is_exact = cell.split_once('.').is_some_and(|(_, decimals)| decimals.len() > 4);
                if let Some(number) = number(cell).filter(|_| !is_exact) {
                    *cell = shortest(number);
                }
            }
        }
    }

    /// Returns the width of the widest line of each column.
    fn widths(&self) -> [usize; N] {
        std::array::from_fn(|column| {
            let cells = self.rows.iter().flat_map(|row| row[column].lines());
            cells.chain([&*self.header[column]]).map(UnicodeWidthStr::width).max().unwrap_or(0)
        })
    }

    /// Leaves out columns without any text in their cells.
    fn leave_out_empty(&mut self) {
        for column in 0..N {
            if self.rows.iter().all(|row| row[column].is_empty()) {
                self.header[column].clear();
            }
        }
    }

    /// Leaves out empty columns of a table of more than `width` columns, and cuts the widest cells until they fit; a cut cell
    /// ends with an ellipsis. Returns for each row whether its last cell was cut.
    pub(crate) fn fit(&mut self, width: Option<usize>) -> Vec<bool> {
        let mut cut = vec![false; self.rows.len()];
        let Some(width) = width else { return cut };
        let mut widths = self.widths();
        let needed = |widths: &[usize; N]| {
            let shown = widths.iter().filter(|width| **width > 0).count();
            widths.iter().sum::<usize>() + 2 * shown.saturating_sub(1)
        };
        if needed(&widths) > width {
            self.leave_out_empty();
            widths = self.widths();
        }
        while needed(&widths) > width {
            let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > NARROWEST) else {
                break;
            };
            *widest -= 1;
        }
        for (title, width) in self.header.iter_mut().zip(widths) {
            *title = shortened(title, width);
        }
        for (row, was_cut) in self.rows.iter_mut().zip(&mut cut) {
            for (column, (cell, width)) in row.iter_mut().zip(widths).enumerate() {
                if cell.lines().any(|line| line.width() > width) {
                    let lines: Vec<String> =
                        cell.lines().map(|line| shortened(line, width)).collect();
                    *cell = lines.join("\n");
                    *was_cut |= column == N - 1;
                }
            }
        }
        cut
    }

    /// Breaks the lines of one column between words until the table has at most `width` columns, and leaves out columns without
    /// any text. If there is no room for words, cells are cut as by [`fit`](Self::fit).
    pub(crate) fn wrap(&mut self, column: usize, width: Option<usize>) {
        let Some(width) = width else { return };
        self.leave_out_empty();
        let widths = self.widths();
        let shown = widths.iter().filter(|width| **width > 0).count();
        let others = widths.iter().sum::<usize>() - widths[column] + 2 * shown.saturating_sub(1);
        let room = width.saturating_sub(others);
        if room < READABLE.min(widths[column]) {
            self.fit(Some(width));
            return;
        }
        for row in &mut self.rows {
            let lines: Vec<String> =
                row[column].lines().flat_map(|line| wrapped(line, room)).collect();
            row[column] = lines.join("\n");
        }
    }

    /// Formats the table without trailing blanks.
    pub(crate) fn to_text(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        self.line(&mut text, &widths, |column| self.header[column].as_str());
        let rules = widths.map(|width| "-".repeat(width));
        self.line(&mut text, &widths, |column| rules[column].as_str());
        for row in &self.rows {
            let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or_default();
            for index in 0..height {
                self.line(&mut text, &widths, |column| {
                    row[column].lines().nth(index).unwrap_or_default()
                });
            }
        }
        text
    }

    fn line<'a>(&self, text: &mut String, widths: &[usize; N], cell: impl Fn(usize) -> &'a str) {
        let start = text.len();
        for (column, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
            let cell = cell(column);
            let padding = " ".repeat(width.saturating_sub(cell.width()));
            if text.len() > start {
                text.push_str("  ");
            }
            if self.right[column] {
                text.push_str(&padding);
                text.push_str(cell);
            } else {
                text.push_str(cell);
                text.push_str(&padding);
            }
        }
        let end = start + text[start..].trim_end_matches(' ').len();
        text.truncate(end);
        text.push('\n');
    }
}

/// Cuts a line to a width; an ellipsis marks the cut.
fn shortened(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut used = 0;
    let kept = line.chars().take_while(|character| {
        used += character.width().unwrap_or_default();
        used < width
    });
    kept.collect::<String>() + "…"
}

/// Breaks a line between words, and words that are wider than a line anywhere.
fn wrapped(line: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in line.split(' ') {
        let gap = usize::from(used > 0);
        if used > 0 && used + gap + word.width() > width {
            lines.push(String::new());
            used = 0;
        } else if gap > 0 {
            lines.last_mut().unwrap_or(&mut String::new()).push(' ');
            used += gap;
        }
        for character in word.chars() {
            let columns = character.width().unwrap_or_default();
            if used + columns > width {
                lines.push(String::new());
                used = 0;
            }
            lines.last_mut().unwrap_or(&mut String::new()).push(character);
            used += columns;
        }
    }
    lines
}

/// Formats a number with at most six significant digits and no trailing zeros, like `%g` of C without exponents.
fn shortest(number: f64) -> String {
    let scientific = format!("{number:.5e}");
    let exponent = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok());
    let decimals = usize::try_from(5_i32.saturating_sub(exponent.unwrap_or(0))).unwrap_or_default();
    let text = format!("{number:.decimals$}");
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_short_and_right_aligned() {
        let mut table = Columns::new(["Name", "Score"]);
        table.row(["a".to_owned(), "1.0000".to_owned()]);
        table.row(["é☃".to_owned(), "0.9412".to_owned()]);
        table.row(["c".to_owned(), String::new()]);
        table.shorten_numbers();
        assert_eq!(table.to_text(), "Name   Score\n----  ------\na          1\né☃    0.9412\nc\n");
    }

    #[test]
    fn text_stays_as_it_is_and_cells_may_have_lines() {
        let mut table = Columns::new(["A", "B"]);
        table.row(["1.0000".to_owned(), "x\nyy".to_owned()]);
        table.row(["N/A".to_owned(), String::new()]);
        table.shorten_numbers();
        assert_eq!(table.to_text(), "A       B\n------  --\n1.0000  x\n        yy\nN/A\n");
    }

    #[test]
    fn a_table_that_is_too_wide_is_cut_with_an_ellipsis() {
        let mut table = Columns::new(["Name", "Error"]);
        table.row(["short".to_owned(), "日本".repeat(20)]);
        table.row(["x".repeat(12), "ok".to_owned()]);
        assert_eq!(table.fit(None), [false, false]);
        assert_eq!(table.fit(Some(30)), [true, false]);
        let text = table.to_text();
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.contains("short         日本日本日本日…\n"), "{text}");
        assert!(text.contains("xxxxxxxxxxxx  ok\n"), "{text}");
        // Narrow terminals show at least the minimum width.
        table.fit(Some(1));
        assert!(table.to_text().contains("xxxxxxx…  ok\n"), "{}", table.to_text());
    }

    #[test]
    fn a_table_that_is_too_wide_has_no_empty_columns() {
        let table = |width| {
            let mut table = Columns::new(["Name", "Unused", "Text"]);
            table.row(["a_name".to_owned(), String::new(), "eleven char".to_owned()]);
            table.fit(Some(width));
            table.to_text()
        };
        assert_eq!(table(27).lines().next(), Some("Name    Unused  Text"));
        assert_eq!(table(19), "Name    Text\n------  -----------\na_name  eleven char\n");
    }

    #[test]
    fn lines_are_broken_between_words_and_nothing_is_lost() {
        let table = || {
            let mut table = Columns::new(["Name", "Unused", "Text"]);
            let text = "one two, three four five six seven_and_a_word_that_is_too_long 日本 日本";
            table.row(["a_name".to_owned(), String::new(), text.to_owned()]);
            table
        };
        let mut wrapped = table();
        wrapped.wrap(2, Some(32));
        let expected = "\
Name    Text
------  ------------------------
a_name  one two, three four five
        six
        seven_and_a_word_that_is
        _too_long 日本 日本
";
        assert_eq!(wrapped.to_text(), expected);
        let mut narrow = table();
        narrow.wrap(2, Some(20));
        assert!(narrow.to_text().contains("a_name  one two, th…\n"), "{}", narrow.to_text());
        // Without a terminal, scripts may read the table.
        let mut whole = table();
        whole.wrap(2, None);
        assert_eq!(whole.to_text(), table().to_text());
        assert!(whole.to_text().starts_with("Name    Unused  Text\n"), "{}", whole.to_text());
    }

    #[test]
    fn numbers_have_six_digits_at_most() {
        for (number, text) in [
            (1.0, "1"),
            (0.0, "0"),
            (0.5, "0.5"),
            (0.1235, "0.1235"),
            (-3.0, "-3"),
            (1234.5, "1234.5"),
        ] {
            assert_eq!(shortest(number), text);
        }
    }
}
