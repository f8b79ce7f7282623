//! The way through JSON lines.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
};

use super::{
    Halt,
    builder::{Builder, Leaves},
    catalog::Found,
    file::Walk,
    otlp,
};
use crate::{
    json::strip,
    json::{ParseError, ScanError, Scanner, Source},
    trace::{error::LoadErrorKind, left_out::Position, otlp::read_line},
};

/// Walks through every line that is not blank. `whole` is why the text is not one JSON value. Without a given format
/// the first line has to be OTLP, or else the format is unknown.
///
/// Bare spans come after the spans of all documents.
pub(super) fn walk(
    walk: &Walk<'_>,
    whole: &ParseError,
    builder: &mut Builder<'_>,
    found: &mut Found,
) -> Result<(), Halt> {
    let mut scanner = Scanner::new(walk.text(walk.open()?)?).by_line();
    let mut bare = Leaves::default();
    let mut is_first = walk.format.is_none();
    let mut number = 1;
    loop {
        let start = scanner.offset();
        builder.position = Position::in_line(number);
        let read = line(&mut scanner, builder, found, &mut bare);
        let is_otlp = match read {
            Ok(is_otlp) => is_otlp,
            Err(Halt::Scan(ScanError::Json { .. })) if is_first => {
                return Err(walk.undetected(Some(whole.clone())));
            }
            Err(Halt::Scan(ScanError::Json { .. })) => {
                return Err(broken(walk.open()?, start, number, whole));
            }
            Err(halt) => return Err(halt),
        };
        match is_otlp {
            Some(false) if is_first => return Err(walk.undetected(Some(whole.clone()))),
            Some(false) => return Err(LoadErrorKind::NotOtlpLine { line: number }.into()),
            Some(true) => is_first = false,
            None => {}
        }
        if !scanner.next_line()? {
            break;
        }
        number += 1;
    }
    found.spans.append(bare);
    found.lone_surrogates = scanner.lone_surrogates;
    Ok(())
}

/// Walks through a line. Whether it is OTLP, `None` if it is blank.
fn line(
    scanner: &mut Scanner<Box<dyn Source>>,
    builder: &mut Builder<'_>,
    found: &mut Found,
    bare: &mut Leaves,
) -> Result<Option<bool>, Halt> {
    scanner.begin()?;
    match scanner.peek()? {
        None => return Ok(None),
        Some(b'{') => {}
        Some(_) => {
            scanner.skip_value()?;
            scanner.finish()?;
            return Ok(Some(false));
        }
    }
    let root = otlp::root(scanner, builder)?;
    scanner.finish()?;
    let is_span = root.is_span;
    if root.is_document() {
        let (spans, logs) = root.into_document();
        found.spans.append(spans);
        found.logs.append(logs);
        return Ok(Some(true));
    }
    if is_span {
        bare.append(root.bare);
    }
    Ok(Some(is_span))
}

/// What is wrong with the line that starts at `start`, in the words of the parser.
fn broken(mut file: File, start: usize, number: usize, whole: &ParseError) -> Halt {
    let mut line = Vec::new();
    let read = file
        .seek(SeekFrom::Start(start as u64))
        .and_then(|_| BufReader::new(file).read_until(b'\n', &mut line));
    if let Err(error) = read {
        return LoadErrorKind::Read(error).into();
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    let Ok(line) = String::from_utf8(line) else {
        return LoadErrorKind::Read(io::Error::other("the file changed while it was read")).into();
    };
    // Blanks that JSON does not know may stand around a line, or be all of it.
    if strip(&line).is_empty() {
        return Halt::Odd;
    }
    match read_line(&line, start, number, whole) {
        Err(kind) => kind.into(),
        Ok(_) => Halt::Odd,
    }
}
