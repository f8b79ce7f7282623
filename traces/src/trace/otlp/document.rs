//! Export documents, lists of spans, and the spans and log records in them.

use std::{mem, ops::Range};

use super::{
    attributes::{attributes, take, take_either},
    record::scope,
};
use crate::{
    json::{Object, Value},
    trace::{
        index::{
            grammar::{Grammar, Stop},
            records::{Field, Listed, Records, SpanDraft, Walk},
            tracked::{Found, scan_attributes},
        },
        unusable::{Part, Side, SpanKeys},
    },
};

/// Members of a document that hold resources with spans.
pub(in crate::trace) const SPAN_LISTS: [&str; 2] = ["resourceSpans", "batches"];
/// The member of a document that holds resources with log records.
const LOG_LIST: &str = "resourceLogs";
/// Members of a span that are noted, in both spellings.
pub(in crate::trace) const SPAN_MEMBERS: [&str; 7] = [
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

/// Names of the members between a list of resources and its spans or log records.
#[derive(Debug)]
struct Names {
    /// Members of a resource; the second is the older name.
    scopes: [&'static str; 2],
    /// The member of a scope.
    leaves: &'static str,
    /// Both in `snake_case`.
    snake_scopes: [&'static str; 2],
    snake_leaves: &'static str,
    side: Side,
}

/// Names in a list of resources with spans.
const SPANS: Names = Names {
    scopes: ["scopeSpans", "instrumentationLibrarySpans"],
    leaves: "spans",
    snake_scopes: ["scope_spans", "instrumentation_library_spans"],
    snake_leaves: "spans",
    side: Side::Spans,
};
/// Names in a list of resources with log records.
const LOGS: Names = Names {
    scopes: ["scopeLogs", "instrumentationLibraryLogs"],
    leaves: "logRecords",
    snake_scopes: ["scope_logs", "instrumentation_library_logs"],
    snake_leaves: "log_records",
    side: Side::Logs,
};

/// Returns the reason for skipping a resource or a scope without this list.
pub(in crate::trace) fn no_list(key: &str) -> String {
    format!("no `{key}`")
}

/// Returns the number of a list of resources among those of a document, and its names.
fn list_of(key: &str) -> Option<(usize, &'static str, &'static Names)> {
    match key {
        "resourceSpans" | "resource_spans" => Some((0, SPAN_LISTS[0], &SPANS)),
        "batches" => Some((1, SPAN_LISTS[1], &SPANS)),
        "resourceLogs" | "resource_logs" => Some((2, LOG_LIST, &LOGS)),
        _ => None,
    }
}

/// The lists of resources of a document, and what else is in it.
#[derive(Default)]
pub(in crate::trace) struct Lists {
    /// Both lists with spans, and the one with log records.
    records: [Option<Records>; 3],
    /// Whether one of them is not `null`.
    pub(in crate::trace) has_list: bool,
    /// The keys of a span.
    pub(in crate::trace) keys: SpanKeys,
    /// Keys of members that hold spans and are not read.
    pub(in crate::trace) unread: Vec<String>,
}

impl Lists {
    /// Scans the value of a member; the key is `None` if it is not one of those searched for.
    pub(in crate::trace) fn member(
        &mut self,
        walk: &mut Walk<'_>,
        key: Option<&'static str>,
    ) -> Result<(), Stop> {
        let Some((number, key, names)) = key.and_then(list_of) else {
            self.keys.add(key.unwrap_or_default());
            self.unread.extend(walk.search_unread()?);
            return Ok(());
        };
        let list = &mut self.records[number];
        if list.is_some() {
            return walk.skip_repeated(key);
        }
        self.has_list |= walk.scanner.peek()? != Some(b'n');
        *list = Some(walk.apart(walk.capacity, |walk| resources(walk, key, names))?.0);
        Ok(())
    }

    /// Returns true if there is a list of resources.
    pub(in crate::trace) fn are_present(&self) -> bool {
        self.records.iter().any(Option::is_some)
    }

    /// Adds the notes on the lists to those of the file.
    pub(in crate::trace) fn finish(self, walk: &mut Walk<'_>, logs: &mut Records) {
        if self.keys.are_of_span() {
            walk.skip(Part::Span, "the object is an export document as well as a span");
        }
        let [spans, batches, log_list] = self.records;
        [spans, batches].into_iter().flatten().for_each(|records| walk.out.append(records));
        logs.append(log_list.unwrap_or_default());
        self.unread.iter().for_each(|key| walk.add_unread(key));
    }
}

/// Scans the list of spans that starts here. Returns `None` if it is not one; a format that is given is not detected.
pub(in crate::trace) fn span_list(walk: &mut Walk<'_>) -> Result<Option<Records>, Stop> {
    let (mut all, mut count) = (true, 0);
    let listed = walk.each_item((0, "", Part::List), Side::Spans.part(), |walk| {
        count += 1;
        all &= span(walk)?;
        walk.out.have_no_resource();
        Ok(())
    })?;
    let are_spans = all && count > 0 && listed == Listed::Items(count);
    Ok((are_spans || walk.expected.is_given).then(|| mem::take(&mut walk.out)))
}

/// Scans the list of resources that starts here.
fn resources(walk: &mut Walk<'_>, key: &'static str, names: &Names) -> Result<(), Stop> {
    let part = (Part::Resource, "the resource");
    walk.each_item((0, key, Part::List), part, |walk| resource(walk, names)).map(drop)
}

fn resource(walk: &mut Walk<'_>, names: &Names) -> Result<(), Stop> {
    let [scopes, older] = names.scopes;
    let [snake, older_snake] = names.snake_scopes;
    let first = walk.out.ranges.len();
    let (mut seen, mut listed) = (None, [None; 2]);
    let mut groups = Vec::new();
    walk.each_member(&["resource", scopes, older, snake, older_snake], |walk, member| {
        match member {
            Some(0) if seen.is_some() => walk.skip_repeated("resource")?,
            Some(0) => seen = Some(walk.located_value()?),
            Some(member) => {
                let number = (member - 1) % names.scopes.len();
                let (key, listed) = (names.scopes[number], &mut listed[number]);
                if listed.is_some() {
                    return walk.skip_repeated(key);
                }
                let list = (1, key, Part::Resource);
                *listed = Some(walk.each_item(list, (Part::Scope, "the scope"), |walk| {
                    groups.push(group(walk, names)?);
                    Ok(())
                })?);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    if listed.iter().all(|listed| matches!(listed, None | Some(Listed::Absent))) {
        walk.skip(Part::Resource, &no_list(names.scopes[0]));
    }
    let (mut location, mut tracked) = (None, Found::default());
    if let Some((at, Value::Object(mut resource))) = seen {
        let mut problems = Vec::new();
        let decoded = attributes(take(&mut resource, "attributes"), &mut problems);
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
                let key = SCOPES[member.min(1)];
                if members.contains_key(key) {
                    return walk.skip_repeated(key);
                }
                members.insert(key.to_owned(), walk.located_value()?.1);
            }
            Some(_) if listed.is_some() => walk.skip_repeated(names.leaves)?,
            Some(_) => {
                let list = (2, names.leaves, Part::Scope);
                listed = Some(walk.each_record(list, names.side, |walk| match names.side {
                    Side::Spans => span(walk).map(drop),
                    Side::Logs => log(walk),
                })?);
            }
            None => walk.skip_unread()?,
        }
        Ok(())
    })?;
    if matches!(listed, None | Some(Listed::Absent)) {
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
            span_member(walk, &mut draft, member).map(drop)
        }
        None => Ok(walk.scanner.skip_value()?),
    })?;
    walk.add_span(Grammar::Otlp, draft, start)?;
    Ok(is_span)
}

/// Scans the value of a member of [`SPAN_MEMBERS`]. Returns its key if it holds spans; attributes are not searched.
pub(in crate::trace) fn span_member(
    walk: &mut Walk<'_>,
    draft: &mut SpanDraft,
    member: usize,
) -> Result<Option<String>, Stop> {
    let field = match member {
        0 | 4 => Field::TraceId,
        1 | 5 => Field::SpanId,
        2 | 6 => Field::Start,
        _ => {
            draft.tracked = scan_attributes(&mut walk.scanner, walk.tracked, Grammar::Otlp)?;
            return Ok(None);
        }
    };
    let (unread, value) = walk.searched_value()?;
    draft.set(field, member < 4, value);
    Ok(unread)
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
    Ok(walk.add_log(&trace_id, start)?)
}
