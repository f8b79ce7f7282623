//! The way through OTLP JSON to its spans and logs.

use std::ops::Range;

use super::{
    Halt,
    builder::{Builder, Draft, Field, Leaves, Place},
    jaeger,
    watch::{Dialect, Watched, watch},
};
use crate::{
    json::{Object, Scanner, Source, Value, take_repeated_key},
    trace::{
        left_out::{Part, wrong_kind},
        otlp::{
            LOG_LIST, LOGS, Names, SPAN_LISTS, SPANS, attributes, no_list, scope, take, take_either,
        },
        pool::Side,
        stray,
    },
};

/// What an object at the top of a text, or of a line of it, may be.
#[derive(Debug, Default)]
pub(super) struct Root {
    /// `resourceSpans`.
    pub(super) spans: Option<Leaves>,
    pub(super) batches: Option<Leaves>,
    /// `resourceLogs`.
    pub(super) logs: Option<Leaves>,
    /// Jaeger's `data`.
    pub(super) data: Option<jaeger::Data>,
    /// What Jaeger reports beside it.
    pub(super) errors: Option<Value>,
    /// The object as a span.
    pub(super) bare: Leaves,
    /// Whether it has an id of a trace or a span, be it one or not.
    pub(super) is_span: bool,
    /// Whether one of the lists is not `null`.
    has_list: bool,
    /// Whether another member holds spans.
    has_stray_spans: bool,
}

impl Root {
    /// Whether this is an OTLP export document.
    pub(super) fn is_document(&self) -> bool {
        self.spans.is_some() || self.batches.is_some() || self.logs.is_some()
    }

    /// Returns true for what has parts that are left out, which the decoder of whole files notes.
    fn has_unread(&self) -> bool {
        match self.is_document() {
            true => {
                let is_other = self.is_span || self.data.is_some() || self.errors.is_some();
                is_other || self.has_stray_spans || !self.has_list
            }
            false => self.data.is_some() && self.has_stray_spans,
        }
    }

    /// The spans and the logs of the document.
    pub(super) fn into_document(self) -> (Leaves, Leaves) {
        // Never both: see `root`.
        let spans = self.spans.or(self.batches).unwrap_or_default();
        (spans, self.logs.unwrap_or_default())
    }
}

/// Members of a span that are looked at, in both spellings.
const SPAN_MEMBERS: [&str; 7] = [
    "traceId",
    "spanId",
    "startTimeUnixNano",
    "attributes",
    "trace_id",
    "span_id",
    "start_time_unix_nano",
];
/// Members of the object at the top of a text: those of a span in the spelling by which it is known, then those of
/// documents.
const MEMBERS: [&str; 15] = [
    "traceId",
    "spanId",
    "startTimeUnixNano",
    "attributes",
    "trace_id",
    "span_id",
    "start_time_unix_nano",
    "resourceSpans",
    "resource_spans",
    "batches",
    "resourceLogs",
    "resource_logs",
    "data",
    "errors",
    "trace",
];

/// Walks through the object that starts here, at the top of a text.
pub(super) fn root<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
) -> Result<Root, Halt> {
    let mut root = Root::default();
    let start = scanner.offset();
    let mut draft = Draft::default();
    let mut more = scanner.open_object()?;
    while more {
        let Some(member) = scanner.key(&MEMBERS)? else {
            // Of a span that stands alone, members are not looked into.
            match root.is_span {
                true => scanner.skip_value()?,
                false => root.has_stray_spans |= stray::skip(scanner)?,
            }
            more = scanner.next_member()?;
            continue;
        };
        match MEMBERS[member] {
            "resourceSpans" | "resource_spans" => {
                once(&root.spans)?;
                root.has_list |= scanner.peek()? != Some(b'n');
                root.spans = Some(resources(scanner, builder, SPAN_LISTS[0], &SPANS)?);
            }
            "batches" => {
                once(&root.batches)?;
                root.has_list |= scanner.peek()? != Some(b'n');
                root.batches = Some(resources(scanner, builder, SPAN_LISTS[1], &SPANS)?);
            }
            "resourceLogs" | "resource_logs" => {
                once(&root.logs)?;
                root.has_list |= scanner.peek()? != Some(b'n');
                root.logs = Some(resources(scanner, builder, LOG_LIST, &LOGS)?);
            }
            "data" => {
                once(&root.data)?;
                root.data = Some(jaeger::data(scanner, builder)?);
            }
            "errors" => {
                once(&root.errors)?;
                root.errors = Some(scanner.value()?);
            }
            // The document may be in there, or not, which depends on what else is there.
            "trace" if scanner.peek()? == Some(b'{') => return Err(Halt::Odd),
            "trace" => root.has_stray_spans |= stray::skip(scanner)?,
            _ => {
                root.is_span |= member < 2;
                span_member(scanner, builder, &mut draft, member)?;
            }
        }
        more = scanner.next_member()?;
    }
    // The spans of both lists are decoded in another order than they may stand here.
    if root.spans.is_some() && root.batches.is_some() || root.has_unread() {
        return Err(Halt::Odd);
    }
    let place = Place::between(start, scanner.offset())?;
    builder.span(draft, place, Dialect::Otlp, &mut root.bare)?;
    Ok(root)
}

/// Walks through the list of bare spans that starts here. Whether all its items look like spans.
pub(super) fn bare_spans<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    leaves: &mut Leaves,
) -> Result<bool, Halt> {
    let (mut all, mut any) = (true, false);
    let mut more = scanner.open_array()?;
    let mut index = 0;
    while more {
        any = true;
        builder.position.move_to(0, "", index);
        index += 1;
        if scanner.peek()? == Some(b'{') {
            all &= span(scanner, builder, leaves)?;
            leaves.have_no_resource();
        } else {
            all = false;
            not_an_object(scanner, builder, Side::Spans.part(), leaves)?;
        }
        more = scanner.next_item()?;
    }
    builder.position.leave(0);
    Ok(any && all)
}

/// Passes over a value that should be an object, and notes that it is left out.
pub(super) fn not_an_object<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &Builder<'_>,
    (part, name): (Part, &str),
    out: &mut Leaves,
) -> Result<(), Halt> {
    out.cut();
    let reason = wrong_kind(name, scanner.value()?.kind(), "an object");
    builder.leave_out(part, &reason, out);
    Ok(())
}

/// Walks through the list of resources that starts here.
fn resources<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    key: &'static str,
    names: &Names,
) -> Result<Leaves, Halt> {
    let mut out = Leaves::with_room(builder.room);
    each_item(scanner, |scanner, index, is_object| {
        builder.position.move_to(0, key, index);
        match is_object {
            true => resource(scanner, builder, names, &mut out),
            false => not_an_object(scanner, builder, (Part::Resource, "the resource"), &mut out),
        }
    })?;
    builder.position.leave(0);
    Ok(out)
}

/// Members of a resource, in both spellings.
fn scope_members(names: &Names) -> [&'static str; 5] {
    let [scopes, older] = names.scopes;
    let (snake, older_snake) = match names.side {
        Side::Spans => ("scope_spans", "instrumentation_library_spans"),
        Side::Logs => ("scope_logs", "instrumentation_library_logs"),
    };
    ["resource", scopes, older, snake, older_snake]
}

/// Members of a scope, in both spellings.
fn leaf_members(names: &Names) -> [&'static str; 5] {
    let snake = match names.side {
        // In one word, there is one spelling.
        Side::Spans => "spans",
        Side::Logs => "log_records",
    };
    ["scope", "instrumentationLibrary", "instrumentation_library", names.leaves, snake]
}

fn resource<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    names: &Names,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let first = out.runs.len();
    let (mut seen, mut listed) = (None, None);
    let mut scopes = Vec::new();
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&scope_members(names))? {
            Some(0) => {
                once(&seen)?;
                let start = scanner.offset();
                let value = scanner.value()?;
                seen = Some((Place::between(start, scanner.offset())?, value));
            }
            Some(member) => {
                // Two lists are decoded in another order than they may stand here.
                once(&listed)?;
                let key = names.scopes[(member - 1) % names.scopes.len()];
                let found = each_item(scanner, |scanner, index, is_object| {
                    builder.position.move_to(1, key, index);
                    if is_object {
                        scopes.push(group(scanner, builder, names, out)?);
                        return Ok(());
                    }
                    not_an_object(scanner, builder, (Part::Scope, "the scope"), out)
                })?;
                builder.position.leave(1);
                listed = Some(found);
            }
            None => skip_unread(scanner)?,
        }
        more = scanner.next_member()?;
    }
    if listed.flatten().is_none() {
        builder.leave_out(Part::Resource, &no_list(names.scopes[0]), out);
    }
    let (mut place, mut watched) = (None, Watched::default());
    if let Some((at, Value::Object(mut resource))) = seen {
        refuse_repeated(&mut resource)?;
        let mut odd = Vec::new();
        let decoded = attributes(take(&mut resource, "attributes"), &mut odd);
        out.warnings.extend(odd.into_iter().map(|oddity| format!("a resource: {oddity}")));
        place = Some(at);
        watched = Watched::among(&decoded, builder.watch.keys);
    }
    if names.side == Side::Spans {
        builder.come_from(place, &scopes, out)?;
        builder.sight_resource(&watched, first, out)?;
    }
    Ok(())
}

/// Members of a group of spans that name its scope; the second is the older name.
const SCOPES: [&str; 2] = ["scope", "instrumentationLibrary"];

/// The runs of a list, and the number of their scope.
type OfScope = (Range<usize>, Option<u32>);

fn group<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    names: &Names,
    out: &mut Leaves,
) -> Result<OfScope, Halt> {
    let first = out.runs.len();
    let mut members = Object::default();
    let mut listed = None;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&leaf_members(names))? {
            Some(member @ 0..3) => {
                let mut value = scanner.value()?;
                if let Value::Object(scope) = &mut value {
                    refuse_repeated(scope)?;
                }
                once(&members.insert(SCOPES[member.min(1)].to_owned(), value))?;
            }
            Some(_) => {
                once(&listed)?;
                listed = Some(each_leaf(scanner, builder, names, out)?);
            }
            None => skip_unread(scanner)?,
        }
        more = scanner.next_member()?;
    }
    if listed.flatten().is_none() {
        builder.leave_out(Part::Scope, &no_list(names.leaves), out);
    }
    let runs = first..out.runs.len();
    if runs.is_empty() || names.side == Side::Logs {
        return Ok((runs, None));
    }
    let scope = scope(take_either(&mut members, SCOPES[0], SCOPES[1]));
    Ok((runs, Some(builder.scope(scope)?)))
}

/// Notes the span that starts here. Whether it looks like one.
fn span<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    out: &mut Leaves,
) -> Result<bool, Halt> {
    let start = scanner.offset();
    let mut draft = Draft::default();
    let mut is_span = false;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&SPAN_MEMBERS)? {
            Some(member) => {
                is_span |= member < 2;
                span_member(scanner, builder, &mut draft, member)?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    builder.span(draft, Place::between(start, scanner.offset())?, Dialect::Otlp, out)?;
    Ok(is_span)
}

fn span_member<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &Builder<'_>,
    draft: &mut Draft,
    member: usize,
) -> Result<(), Halt> {
    let name = SPAN_MEMBERS[member];
    match name {
        "traceId" | "trace_id" => {
            let value = scanner.value()?;
            if draft.counts(Field::TraceId, name) {
                draft.set_trace_id(&value);
            }
        }
        "spanId" | "span_id" => {
            let value = scanner.value()?;
            if draft.counts(Field::SpanId, name) {
                draft.set_span_id(&value);
            }
        }
        "startTimeUnixNano" | "start_time_unix_nano" => {
            let value = scanner.value()?;
            if draft.counts(Field::Start, name) {
                draft.start = value;
            }
        }
        _ => draft.watched = watch(scanner, builder.watch.keys, Dialect::Otlp)?,
    }
    Ok(())
}

fn log<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let start = scanner.offset();
    let (mut trace_id, mut is_camel) = (Value::Null, false);
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&["traceId", "trace_id"])? {
            Some(spelling) => {
                let value = scanner.value()?;
                // The one in camel case counts, wherever the other one stands.
                if spelling == 0 || !is_camel {
                    trace_id = value;
                }
                is_camel |= spelling == 0;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    builder.log(&trace_id, Place::between(start, scanner.offset())?, out)
}

/// Goes through the items of the list that starts here; `visit` passes over each, with its number and whether it is an
/// object. Returns the number of items; `None` for `null`.
pub(super) fn each_item<S: Source>(
    scanner: &mut Scanner<S>,
    mut visit: impl FnMut(&mut Scanner<S>, usize, bool) -> Result<(), Halt>,
) -> Result<Option<usize>, Halt> {
    let Some(mut more) = open_list(scanner)? else { return Ok(None) };
    let mut index = 0;
    while more {
        let is_object = scanner.peek()? == Some(b'{');
        visit(scanner, index, is_object)?;
        index += 1;
        more = scanner.next_item()?;
    }
    Ok(Some(index))
}

/// Goes through the spans or logs of the list that starts here. Returns their number; `None` for `null`.
fn each_leaf<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    names: &Names,
    out: &mut Leaves,
) -> Result<Option<usize>, Halt> {
    out.cut();
    let found = each_item(scanner, |scanner, index, is_object| {
        builder.position.move_to(2, names.leaves, index);
        match (is_object, names.side) {
            (true, Side::Spans) => span(scanner, builder, out).map(drop),
            (true, Side::Logs) => log(scanner, builder, out),
            (false, side) => not_an_object(scanner, builder, side.part(), out),
        }
    })?;
    builder.position.leave(2);
    Ok(found)
}

/// Enters the list that starts here. Returns whether it has items, or `None` for `null`; the meaning of other values
/// is known only to the decoder of whole files.
fn open_list<S: Source>(scanner: &mut Scanner<S>) -> Result<Option<bool>, Halt> {
    match scanner.peek()? {
        Some(b'[') => Ok(Some(scanner.open_array()?)),
        Some(b'n') => {
            scanner.skip_value()?;
            Ok(None)
        }
        _ => {
            // If it is not even JSON, that is the error.
            scanner.skip_value()?;
            Err(Halt::Odd)
        }
    }
}

/// Passes the value of a member that is not read; the decoder of whole files notes the spans in it.
pub(super) fn skip_unread<S: Source>(scanner: &mut Scanner<S>) -> Result<(), Halt> {
    if stray::skip(scanner)? { Err(Halt::Odd) } else { Ok(()) }
}

/// The decoder of whole files refuses an object with repeated keys.
pub(super) fn refuse_repeated(object: &mut Object) -> Result<(), Halt> {
    if take_repeated_key(object).is_some() { Err(Halt::Odd) } else { Ok(()) }
}

/// The decoder of whole files refuses a repeated member.
pub(super) fn once<T>(seen: &Option<T>) -> Result<(), Halt> {
    if seen.is_some() { Err(Halt::Odd) } else { Ok(()) }
}
