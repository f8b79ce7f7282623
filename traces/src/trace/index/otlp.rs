//! The fast path for OTLP JSON.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Seek as _, SeekFrom},
    ops::Range,
    sync::Arc,
};

use super::{
    grammar::{Grammar, Stop},
    input::Input,
    reader::{Problem, Reader},
    records::{Field, FileRecords, RecordRange, Records, SpanDraft, Walk, once},
    scan::Scan,
    tracked::{Found, scan_attributes},
};
use crate::{
    json::{Object, ParseError, ScanError, Value, strip},
    trace::{
        decoded::Decoded,
        error::LoadErrorKind,
        otlp::{
            self, LOG_LIST, LOGS, Names, SPAN_LISTS, SPANS, no_list, read_line, scope, take,
            take_either,
        },
        unusable::{Part, Position, Side, scan_unread},
    },
};

/// Keys of an object at the top of a text: those of a span, then those of documents.
pub(super) const KEYS: [&str; 8] = [
    "traceId",
    "spanId",
    "resourceSpans",
    "resource_spans",
    "batches",
    "resourceLogs",
    "resource_logs",
    "trace",
];
/// Members of a span that are noted, in both spellings.
const SPAN_MEMBERS: [&str; 7] = [
    "traceId",
    "spanId",
    "startTimeUnixNano",
    "attributes",
    "trace_id",
    "span_id",
    "start_time_unix_nano",
];
/// Members of a list of spans or log records that are its scope, in both spellings of the older name.
const SCOPES: [&str; 3] = ["scope", "instrumentationLibrary", "instrumentation_library"];

/// The fast path of the format `otlp-json`.
#[derive(Debug)]
pub(super) struct Otlp;

impl Grammar for Otlp {
    fn keys(&self, is_list: bool) -> &'static [&'static str] {
        if is_list { &KEYS[..2] } else { &KEYS }
    }

    fn id_keys(&self) -> [&'static str; 2] {
        ["traceId", "spanId"]
    }

    fn time_unit(&self) -> i128 {
        1
    }

    fn attributes(&self, items: Value) -> Object {
        otlp::attributes(items, &mut Vec::new())
    }

    fn mismatch(&self) -> LoadErrorKind {
        LoadErrorKind::NotOtlp
    }
}

impl Scan for Otlp {
    fn document(&self, walk: &mut Walk<'_>) -> Result<Option<FileRecords>, Stop> {
        match walk.scanner.peek()? {
            Some(b'{') => Ok(match root(walk)? {
                Root::Document(records) => Some(records),
                Root::Span(spans) => Some(FileRecords { spans, ..FileRecords::default() }),
                Root::Other => None,
            }),
            Some(b'[') => {
                let (mut all, mut count) = (true, 0);
                let items = walk.each_item((0, ""), Side::Spans.part(), |walk| {
                    count += 1;
                    all &= span(walk)?;
                    walk.out.have_no_resource();
                    Ok(())
                })?;
                // A format that is given is not detected.
                let are_spans = items.is_some_and(|items| items > 0 && items == count) && all;
                let spans = std::mem::take(&mut walk.out);
                let records = FileRecords { spans, ..FileRecords::default() };
                Ok((are_spans || walk.is_given).then_some(records))
            }
            _ => {
                walk.scanner.skip_value()?;
                Ok(None)
            }
        }
    }

    /// Scans every line that is not blank. Without a given format, the first line has to be OTLP. Bare spans come after the
    /// spans of all documents.
    fn lines(
        &self,
        input: &Input<'_>,
        whole: ParseError,
        walk: &mut Walk<'_>,
    ) -> Result<FileRecords, Stop> {
        walk.scanner = input.scanner(input.open()?)?.by_line();
        let mut found =
            FileRecords { spans: Records::with_capacity(walk.capacity), ..FileRecords::default() };
        let mut bare = Records::default();
        let mut is_first = !input.is_given;
        let mut number = 1;
        loop {
            let start = walk.scanner.offset();
            walk.position = Position::in_line(number);
            match line(walk) {
                Ok(None) => {}
                Ok(Some(Root::Document(records))) => {
                    is_first = false;
                    found.spans.append(records.spans);
                    found.logs.append(records.logs);
                }
                Ok(Some(Root::Span(span))) => {
                    is_first = false;
                    bare.append(span);
                }
                Ok(Some(Root::Other)) | Err(Stop::Scan(ScanError::Json { .. })) if is_first => {
                    return Err(input.undetected(Some(whole)));
                }
                Ok(Some(Root::Other)) => {
                    return Err(LoadErrorKind::NotOtlpLine { line: number }.into());
                }
                Err(Stop::Scan(ScanError::Json { .. })) => {
                    return Err(broken_line(input.open()?, start, number, &whole));
                }
                Err(stop) => return Err(stop),
            }
            if !walk.scanner.next_line()? {
                break;
            }
            number += 1;
        }
        found.spans.append(bare);
        found.lone_surrogates = walk.scanner.lone_surrogates;
        Ok(found)
    }

    fn spans(
        &self,
        reader: &Reader<'_>,
        ranges: &[RecordRange],
        out: &mut Decoded,
    ) -> Result<(), Problem> {
        let resources = reader.resources(ranges, |value| {
            let Value::Object(mut resource) = value else { return Arc::default() };
            // Its problems have been reported by the scan.
            Arc::new(self.attributes(take(&mut resource, "attributes")))
        })?;
        let (no_scope, no_resource) = (Arc::default(), Arc::default());
        for range in ranges {
            let scope = reader.scope(range).unwrap_or(&no_scope);
            let resource = reader.resource(range).and_then(|offset| resources.get(&offset));
            for span in reader.objects(range, out)? {
                otlp::span(span, scope, resource.unwrap_or(&no_resource), out);
            }
        }
        Ok(())
    }
}

/// An object at the top of a text, or of a line.
enum Root {
    Document(FileRecords),
    /// A bare span.
    Span(Records),
    Other,
}

/// Scans the object that starts here, at the top of a text.
fn root(walk: &mut Walk<'_>) -> Result<Root, Stop> {
    // Members of a document, then those of a span.
    const MEMBERS: [&str; 13] = {
        let mut members = [""; 13];
        let mut at = 0;
        while at < members.len() {
            members[at] = if at < 6 { KEYS[at + 2] } else { SPAN_MEMBERS[at - 6] };
            at += 1;
        }
        members
    };
    let start = walk.scanner.offset();
    let mut draft = SpanDraft::default();
    let (mut spans, mut batches, mut logs) = (None, None, None);
    let (mut is_span, mut has_list, mut has_stray_spans) = (false, false, false);
    walk.each_member(&MEMBERS, |walk, member| {
        let Some(member) = member else {
            // The other members of a bare span are not searched.
            match is_span {
                true => walk.scanner.skip_value()?,
                false => has_stray_spans |= scan_unread(&mut walk.scanner)?,
            }
            return Ok(());
        };
        let (list, key, names) = match member {
            0 | 1 => (&mut spans, SPAN_LISTS[0], &SPANS),
            2 => (&mut batches, SPAN_LISTS[1], &SPANS),
            3 | 4 => (&mut logs, LOG_LIST, &LOGS),
            // Other members decide whether the document is inside it.
            5 if walk.scanner.peek()? == Some(b'{') => return Err(Stop::Fallback),
            5 => {
                has_stray_spans |= scan_unread(&mut walk.scanner)?;
                return Ok(());
            }
            _ => {
                is_span |= member < 8;
                return span_member(walk, &mut draft, member - 6);
            }
        };
        once(list)?;
        has_list |= walk.scanner.peek()? != Some(b'n');
        *list = Some(walk.apart(walk.capacity, |walk| resources(walk, key, names))?.0);
        Ok(())
    })?;
    let is_document = spans.is_some() || batches.is_some() || logs.is_some();
    if is_document {
        // The whole-file decoder reports unusable parts, and decodes both lists of spans in another order than they may have.
        if spans.is_some() && batches.is_some() || is_span || has_stray_spans || !has_list {
            return Err(Stop::Fallback);
        }
        let (spans, logs) = (spans.or(batches).unwrap_or_default(), logs.unwrap_or_default());
        return Ok(Root::Document(FileRecords { spans, logs, lone_surrogates: 0 }));
    }
    if !is_span {
        return Ok(Root::Other);
    }
    Ok(Root::Span(walk.apart(0, |walk| walk.add_span(draft, start))?.0))
}

/// Scans a line. Returns `None` if it is blank.
fn line(walk: &mut Walk<'_>) -> Result<Option<Root>, Stop> {
    walk.scanner.begin()?;
    let root = match walk.scanner.peek()? {
        None => return Ok(None),
        Some(b'{') => root(walk)?,
        Some(_) => {
            walk.scanner.skip_value()?;
            Root::Other
        }
    };
    walk.scanner.finish()?;
    Ok(Some(root))
}

/// Returns the error of the line that starts at `start`, as the parser reports it.
fn broken_line(mut file: File, start: usize, number: usize, whole: &ParseError) -> Stop {
    let mut line = Vec::new();
    let read = file
        .seek(SeekFrom::Start(start as u64))
        .and_then(|_| BufReader::new(file).read_until(b'\n', &mut line));
    if let Err(error) = read {
        return LoadErrorKind::Read(error).into();
    }
    let Ok(line) = String::from_utf8(line) else {
        return LoadErrorKind::Read(io::Error::other("the file changed while it was read")).into();
    };
    let line = line.strip_suffix('\n').unwrap_or(&line);
    // Whitespace that is not JSON's may surround a line, or be all of it.
    if strip(line).is_empty() {
        return Stop::Fallback;
    }
    read_line(line, start, number, whole).map_or_else(Stop::from, |_| Stop::Fallback)
}

/// Scans the list of resources that starts here.
fn resources(walk: &mut Walk<'_>, key: &'static str, names: &Names) -> Result<(), Stop> {
    let part = (Part::Resource, "the resource");
    walk.each_item((0, key), part, |walk| resource(walk, names)).map(drop)
}

fn resource(walk: &mut Walk<'_>, names: &Names) -> Result<(), Stop> {
    let [scopes, older] = names.scopes;
    let [snake, older_snake] = names.snake_scopes;
    let first = walk.out.ranges.len();
    let (mut seen, mut listed) = (None, None);
    let mut groups = Vec::new();
    walk.each_member(&["resource", scopes, older, snake, older_snake], |walk, member| {
        match member {
            Some(0) => {
                once(&seen)?;
                seen = Some(walk.located_value()?);
            }
            Some(member) => {
                // The whole-file decoder decodes two lists in another order than they may have.
                once(&listed)?;
                let list = (1, names.scopes[(member - 1) % names.scopes.len()]);
                let found = walk.each_item(list, (Part::Scope, "the scope"), |walk| {
                    groups.push(group(walk, names)?);
                    Ok(())
                })?;
                listed = Some(found);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    if listed.flatten().is_none() {
        walk.skip(Part::Resource, &no_list(names.scopes[0]));
    }
    let (mut location, mut tracked) = (None, Found::default());
    if let Some((at, Value::Object(mut resource))) = seen {
        let mut problems = Vec::new();
        let decoded = otlp::attributes(take(&mut resource, "attributes"), &mut problems);
        let warnings = problems.into_iter().map(|problem| format!("a resource: {problem}"));
        walk.out.warnings.extend(warnings);
        location = Some(at);
        tracked = Found::among(&decoded, walk.tracked.keys);
    }
    if names.side == Side::Spans {
        walk.add_origins(location, &groups)?;
        walk.track_resource(&tracked, first)?;
    }
    Ok(())
}

/// The ranges of a list, and the number of their scope.
type Group = (Range<usize>, Option<u32>);

/// Scans the list of spans or log records of one scope.
fn group(walk: &mut Walk<'_>, names: &Names) -> Result<Group, Stop> {
    let first = walk.out.ranges.len();
    let mut members = Object::default();
    let mut listed = None;
    let keys = [SCOPES[0], SCOPES[1], SCOPES[2], names.leaves, names.snake_leaves];
    walk.each_member(&keys, |walk, member| {
        match member {
            Some(member @ 0..3) => {
                let (_, value) = walk.located_value()?;
                once(&members.insert(SCOPES[member.min(1)].to_owned(), value))?;
            }
            Some(_) => {
                once(&listed)?;
                listed =
                    Some(walk.each_record(
                        (2, names.leaves),
                        names.side,
                        |walk| match names.side {
                            Side::Spans => span(walk).map(drop),
                            Side::Logs => log(walk),
                        },
                    )?);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    if listed.flatten().is_none() {
        walk.skip(Part::Scope, &no_list(names.leaves));
    }
    let ranges = first..walk.out.ranges.len();
    if ranges.is_empty() || names.side == Side::Logs {
        return Ok((ranges, None));
    }
    let scope = scope(take_either(&mut members, SCOPES[0], SCOPES[1]));
    Ok((ranges, Some(walk.scope(scope)?)))
}

/// Scans the span that starts here. Returns true if it has a key of a span.
fn span(walk: &mut Walk<'_>) -> Result<bool, Stop> {
    let start = walk.scanner.offset();
    let mut draft = SpanDraft::default();
    let mut is_span = false;
    walk.each_member(&SPAN_MEMBERS, |walk, member| match member {
        Some(member) => {
            is_span |= member < 2;
            span_member(walk, &mut draft, member)
        }
        None => Ok(walk.scanner.skip_value()?),
    })?;
    walk.add_span(draft, start)?;
    Ok(is_span)
}

/// Scans the value of a member of [`SPAN_MEMBERS`].
fn span_member(walk: &mut Walk<'_>, draft: &mut SpanDraft, member: usize) -> Result<(), Stop> {
    let field = match member {
        0 | 4 => Field::TraceId,
        1 | 5 => Field::SpanId,
        2 | 6 => Field::Start,
        _ => {
            draft.tracked = scan_attributes(&mut walk.scanner, walk.tracked, &Otlp)?;
            return Ok(());
        }
    };
    draft.set(field, member < 4, walk.scanner.value()?);
    Ok(())
}

/// Scans the log record that starts here.
fn log(walk: &mut Walk<'_>) -> Result<(), Stop> {
    let start = walk.scanner.offset();
    let mut draft = SpanDraft::default();
    walk.each_member(&["traceId", "trace_id"], |walk, member| {
        match member {
            Some(spelling) => draft.set(Field::TraceId, spelling == 0, walk.scanner.value()?),
            None => walk.scanner.skip_value()?,
        }
        Ok(())
    })?;
    let [trace_id, ..] = draft.fields;
    walk.add_log(&trace_id, start)
}
