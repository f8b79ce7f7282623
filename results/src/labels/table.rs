//! Labels in CSV.

use std::{collections::HashSet, path::Path, sync::Arc};

use super::{
    LabelError, LabelPlace, Labels, Meanings,
    label::At,
    record::{self, Record},
};

/// Reads CSV with a header.
///
/// # Errors
///
/// It is not CSV, a quote is not closed, it has no column with labels, or a row cannot be used.
pub(super) fn read(
    file: &Arc<Path>,
    text: &str,
    meanings: &Meanings,
    labels: &mut Labels,
) -> Result<(), LabelError> {
    let place = |line: usize| LabelPlace { file: Arc::clone(file), at: At::Line(line) };
    let separator = separator(text);
    if let Some(quote) = open_quote(text.as_bytes(), separator) {
        let line = Lines { text: text.as_bytes(), byte: 0, line: 1 }.of_record_from(quote);
        return Err(place(line).error("a quote opens here and is not closed"));
    }
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).delimiter(separator);
    let mut reader = reader.from_reader(text.as_bytes());
    let mut lines = Lines { text: text.as_bytes(), byte: 0, line: 1 };
    let mut row = csv::StringRecord::new();
    let mut header: Option<Vec<String>> = None;
    let mut is_score = false;
    loop {
        let start = reader.position().byte();
        let line = lines.of_record_from(usize::try_from(start).unwrap_or(usize::MAX));
        match reader.read_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => return Err(place(line).error(message(&error))),
        }
        let Some(names) = &header else {
            let names: Vec<String> = row.iter().map(|name| name.trim().to_owned()).collect();
            is_score = record::is_score(names.iter().map(String::as_str));
            check(&names, is_score).map_err(|message| place(line).error(message))?;
            header = Some(names);
            continue;
        };
        let cells = names.iter().cloned().zip(row.iter().map(unmarked)).collect();
        Record { place: place(line), fields: cells }.add(is_score, meanings, labels)?;
    }
    Ok(())
}

/// Returns what separates columns: a comma, or as spreadsheets of some countries write it, a semicolon or tab. It is the first of
/// them in the header.
fn separator(text: &str) -> u8 {
    let header = text.trim_start().lines().next().unwrap_or_default();
    header.bytes().find(|byte| matches!(byte, b',' | b';' | b'\t')).unwrap_or(b',')
}

/// Checks the names of columns.
///
/// # Errors
///
/// A message without the position.
fn check(names: &[String], is_score: bool) -> Result<(), String> {
    let mut seen = HashSet::new();
    if let Some(twice) = names.iter().find(|name| !name.is_empty() && !seen.insert(*name)) {
        return Err(format!("there are two columns `{twice}`"));
    }
    if is_score {
        return Ok(());
    }
    let has = |name: &str| names.iter().any(|it| it == name);
    if !has("label") {
        let found = names.join(", ");
        return Err(format!(
            "there is no column `label`; the first line names the columns, and these are {found}"
        ));
    }
    if !["case", "eval_case_id", "trace_id", "traceId"].iter().any(|name| has(name)) {
        return Err(
            "there is no column `case` or `trace_id`, which says what is labelled".to_owned()
        );
    }
    Ok(())
}

/// Returns a cell without the mark that keeps spreadsheets from taking it for a formula.
fn unmarked(cell: &str) -> String {
    let rest = cell.strip_prefix('\'').filter(|rest| rest.starts_with(['=', '+', '-', '@']));
    rest.unwrap_or(cell).to_owned()
}

fn message(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!(
            "the row has {len} cells, and the first line names {expected_len}; text with separators or quotes has to be quoted"
        ),
        _ => error.to_string(),
    }
}

/// Returns the position of a quote that is not closed: the rest of the file would be one cell without an error.
fn open_quote(text: &[u8], separator: u8) -> Option<usize> {
    let (mut open, mut is_start) = (None, true);
    let mut bytes = text.iter().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match (open, byte) {
            (Some(_), b'"') => {
                // Two quotes in a quoted cell are one quote of the text.
                if bytes.next_if(|(_, next)| **next == b'"').is_none() {
                    open = None;
                }
            }
            (Some(_), _) => {}
            (None, b'"') if is_start => open = Some(at),
            (None, _) => {}
        }
        is_start = open.is_none() && (*byte == separator || matches!(byte, b'\n' | b'\r'));
    }
    open
}

/// Counts lines up to the start of records.
struct Lines<'t> {
    text: &'t [u8],
    byte: usize,
    line: usize,
}

impl Lines<'_> {
    /// Returns the line of the first record that starts at this byte or behind empty lines there.
    fn of_record_from(&mut self, byte: usize) -> usize {
        while let Some(next) = self.text.get(self.byte) {
            let is_end = matches!(next, b'\n' | b'\r');
            if self.byte >= byte && !is_end {
                break;
            }
            let is_pair = *next == b'\r' && self.text.get(self.byte + 1) == Some(&b'\n');
            self.line += usize::from(is_end && !is_pair);
            self.byte += 1;
        }
        self.line
    }
}
