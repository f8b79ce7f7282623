//! Reading through a journal: which records are whole, and where the good part ends.

use std::io::{self, BufRead, BufReader, Read};

use super::{
    Key,
    header::{self, Header},
    line, record,
};

/// What is in a file that may be a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// Nothing, or nothing but the start of a header or zeroes, as a machine leaves it that died at the wrong moment.
    Nothing {
        /// Its length in bytes.
        length: u64,
    },
    /// A journal.
    Journal(Contents),
    /// Anything else.
    Unusable(Header),
}

/// What is in a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// The records of the good part, in order.
    pub(super) records: Vec<(Key, Span)>,
    /// Where the good part ends.
    pub(super) end: u64,
    /// What is behind it.
    pub(super) damage: Option<Damage>,
}

/// Where a line stands, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) length: u64,
}

/// What was wrong with a journal from some place on. Everything from there on was dropped, and is evaluated again.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The first line that is not whole, from 1 on.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
    /// How many bytes were dropped.
    pub bytes: u64,
    /// How many whole records were dropped because they came after it. None when only the end of the file was lost, as
    /// happens when a machine dies.
    pub records: usize,
}

/// Reads through a file from its beginning.
///
/// # Errors
///
/// Those of reading.
pub(super) fn scan(file: impl Read) -> io::Result<Scanned> {
    let mut lines = Lines { reader: BufReader::with_capacity(1 << 16, file), at: 0 };
    let mut buffer = Vec::new();
    match lines.next(&mut buffer)? {
        None => return Ok(Scanned::Nothing { length: 0 }),
        // There is no line in it, so there never was a record.
        Some(first) if !first.ended && (first.blank || !first.skipped) => {
            return Ok(Scanned::Nothing { length: lines.at });
        }
        Some(_) => match header::read(&buffer) {
            Header::Ours => {}
            other => return Ok(Scanned::Unusable(other)),
        },
    }
    let mut contents = Contents { end: lines.at, ..Contents::default() };
    let mut number = 1;
    while let Some(line) = lines.next(&mut buffer)? {
        number += 1;
        let whole = whole(&line, &buffer);
        match (&mut contents.damage, whole) {
            (None, Ok(key)) => {
                let length = buffer.len() as u64;
                contents.records.extend(key.map(|key| (key, Span { start: line.start, length })));
                contents.end = lines.at;
            }
            (damage @ None, Err(reason)) => {
                let reason = reason.to_owned();
                *damage = Some(Damage { line: number, reason, bytes: 0, records: 0 });
            }
            (Some(damage), Ok(key)) => damage.records += usize::from(key.is_some()),
            (Some(_), Err(_)) => {}
        }
    }
    if let Some(damage) = &mut contents.damage {
        damage.bytes = lines.at - contents.end;
    }
    Ok(Scanned::Journal(contents))
}

/// Whether a line is whole: then its key, if it is a record.
fn whole(line: &Line, text: &[u8]) -> Result<Option<Key>, &'static str> {
    if line.skipped {
        return Err("it is not a line of a journal");
    }
    let rest = line::opened(text)?;
    // Without its end, the next record would be written behind it on the same line.
    if line.ended { Ok(record::key(rest)) } else { Err("its line end is missing") }
}

/// A line that was read.
struct Line {
    start: u64,
    /// Whether it has a line end.
    ended: bool,
    /// Whether it can be no line of a journal, and was not kept: whatever stands there may be long.
    skipped: bool,
    /// Whether it consists of zeroes.
    blank: bool,
}

struct Lines<R> {
    reader: BufReader<R>,
    at: u64,
}

impl<R: Read> Lines<R> {
    /// Puts the next line into the buffer, without its line end.
    fn next(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<Line>> {
        let start = self.at;
        buffer.clear();
        // Enough to see whether it may be a line.
        (&mut self.reader).take(line::PREFIX as u64).read_until(b'\n', buffer)?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let skipped = !line::may_start(buffer);
        let mut blank = buffer.iter().all(|byte| *byte == 0);
        let mut ended = buffer.ends_with(b"\n");
        if !ended && !skipped {
            self.reader.read_until(b'\n', buffer)?;
            ended = buffer.ends_with(b"\n");
        }
        self.at += buffer.len() as u64;
        if ended {
            buffer.pop();
        } else if skipped {
            while !ended {
                let available = self.reader.fill_buf()?;
                if available.is_empty() {
                    break;
                }
                let end = available.iter().position(|byte| *byte == b'\n');
                let used = end.map_or(available.len(), |end| end + 1);
                blank &= available[..used].iter().all(|byte| *byte == 0);
                self.reader.consume(used);
                self.at += used as u64;
                ended = end.is_some();
            }
        }
        Ok(Some(Line { start, ended, skipped, blank }))
    }
}
