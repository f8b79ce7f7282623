//! The way through OTLP JSON to its spans and logs.

use std::ops::Range;

use super::{
    Halt,
    builder::{Builder, Draft, Leaves, Place},
    jaeger,
    watch::{Dialect, Watched, watch},
};
use crate::{
    json::{Object, Scanner, Source, Value},
    trace::otlp::{attributes, scope, take, take_either},
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
    /// The object as a span.
    pub(super) bare: Leaves,
    /// Whether it has an id of a trace or a span, be it one or not.
    pub(super) is_span: bool,
}

impl Root {
    /// Whether this is an OTLP export document.
    pub(super) fn is_document(&self) -> bool {
        self.spans.is_some() || self.batches.is_some() || self.logs.is_some()
    }

    /// The spans and the logs of the document.
    pub(super) fn into_document(self) -> (Leaves, Leaves) {
        // Never both: see `root`.
        let spans = self.spans.or(self.batches).unwrap_or_default();
        (spans, self.logs.unwrap_or_default())
    }
}

const MEMBERS: [&str; 11] = [
    "traceId",
    "spanId",
    "startTimeUnixNano",
    "attributes",
    "resourceSpans",
    "batches",
    "resourceLogs",
    "data",
    "trace",
    "resource_spans",
    "resource_logs",
];
/// Those of [`MEMBERS`] that spans have.
const OF_SPANS: usize = 4;

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
        let key = scanner.key(&MEMBERS)?;
        match key {
            Some(member) if member < OF_SPANS => {
                root.is_span |= member < 2;
                span_member(scanner, builder, &mut draft, member)?;
            }
            Some(4) => {
                once(&root.spans)?;
                root.spans = Some(resources(scanner, builder, &SPANS)?);
            }
            Some(5) => {
                once(&root.batches)?;
                root.batches = Some(resources(scanner, builder, &SPANS)?);
            }
            Some(6) => {
                once(&root.logs)?;
                root.logs = Some(resources(scanner, builder, &LOGS)?);
            }
            Some(7) => {
                once(&root.data)?;
                root.data = Some(jaeger::data(scanner, builder)?);
            }
            // The document may be in there, or not, which depends on what else is there.
            Some(8) if scanner.peek()? == Some(b'{') => return Err(Halt::Odd),
            // Keys of all members are to be changed.
            Some(9 | 10) => return Err(Halt::Odd),
            _ => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    // Which of them counts depends on whether the first has items.
    if root.spans.is_some() && root.batches.is_some() {
        return Err(Halt::Odd);
    }
    let place = Place::between(start, scanner.offset())?;
    builder.span(draft, place, 1, &mut root.bare)?;
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
    while more {
        any = true;
        if scanner.peek()? == Some(b'{') {
            all &= span(scanner, builder, leaves)?;
            leaves.have_no_resource();
        } else {
            all = false;
            leaves.cut();
            scanner.skip_value()?;
        }
        more = scanner.next_item()?;
    }
    Ok(any && all)
}

/// The names by which a list of resources goes down to its leaves.
struct Names {
    /// Members of a resource; the second is the older name.
    scopes: [&'static str; 3],
    /// Members of a scope.
    leaves: [&'static str; 3],
    are_spans: bool,
}

const SPANS: Names = Names {
    scopes: ["resource", "scopeSpans", "instrumentationLibrarySpans"],
    leaves: ["scope", "instrumentationLibrary", "spans"],
    are_spans: true,
};
const LOGS: Names = Names {
    scopes: ["resource", "scopeLogs", "instrumentationLibraryLogs"],
    leaves: ["scope", "instrumentationLibrary", "logRecords"],
    are_spans: false,
};

/// Walks through the list of resources that starts here.
fn resources<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    names: &Names,
) -> Result<Leaves, Halt> {
    let mut out = Leaves::default();
    each_object(scanner, |scanner| resource(scanner, builder, names, &mut out))?;
    Ok(out)
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
        match scanner.key(&names.scopes)? {
            Some(0) => {
                once(&seen)?;
                let start = scanner.offset();
                let value = scanner.value()?;
                seen = Some((Place::between(start, scanner.offset())?, value));
            }
            Some(_) => {
                // Of two lists the first that is not empty would count.
                once(&listed)?;
                listed = Some(());
                each_object(scanner, |scanner| {
                    scopes.push(group(scanner, builder, names, out)?);
                    Ok(())
                })?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    let (mut place, mut watched) = (None, Watched::default());
    if let Some((at, Value::Object(mut resource))) = seen {
        let mut odd = Vec::new();
        let decoded = attributes(take(&mut resource, "attributes"), &mut odd);
        out.warnings.extend(odd.into_iter().map(|oddity| format!("a resource: {oddity}")));
        place = Some(at);
        watched = Watched::among(&decoded, builder.watch.keys);
    }
    if names.are_spans {
        builder.come_from(place, &scopes, out)?;
        builder.sight_resource(&watched, first, out)?;
    }
    Ok(())
}

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
        match scanner.key(&names.leaves)? {
            Some(2) => {
                once(&listed)?;
                listed = Some(());
                each_leaf(scanner, out, |scanner, out| match names.are_spans {
                    true => span(scanner, builder, out).map(drop),
                    false => log(scanner, builder, out),
                })?;
            }
            Some(name) => {
                members.insert(names.leaves[name].to_owned(), scanner.value()?);
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    let runs = first..out.runs.len();
    if runs.is_empty() || !names.are_spans {
        return Ok((runs, None));
    }
    let scope = scope(take_either(&mut members, names.leaves[0], names.leaves[1]));
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
        match scanner.key(&MEMBERS[..OF_SPANS])? {
            Some(member) => {
                is_span |= member < 2;
                span_member(scanner, builder, &mut draft, member)?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    builder.span(draft, Place::between(start, scanner.offset())?, 1, out)?;
    Ok(is_span)
}

fn span_member<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &Builder<'_>,
    draft: &mut Draft,
    member: usize,
) -> Result<(), Halt> {
    match member {
        0 => draft.set_trace_id(&scanner.value()?),
        1 => draft.set_span_id(&scanner.value()?),
        2 => draft.start = scanner.value()?,
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
    let mut trace_id = Value::Null;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&MEMBERS[..1])? {
            Some(_) => trace_id = scanner.value()?,
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    builder.log(&trace_id, Place::between(start, scanner.offset())?, out)
}

/// Goes through the objects of the list that starts here, and passes over everything else in it.
pub(super) fn each_object<S: Source>(
    scanner: &mut Scanner<S>,
    mut visit: impl FnMut(&mut Scanner<S>) -> Result<(), Halt>,
) -> Result<(), Halt> {
    let mut more = open_list(scanner)?;
    while more {
        if scanner.peek()? == Some(b'{') {
            visit(scanner)?;
        } else {
            scanner.skip_value()?;
        }
        more = scanner.next_item()?;
    }
    Ok(())
}

/// Goes through the spans or logs of the list that starts here, and passes over everything else in it.
pub(super) fn each_leaf<S: Source>(
    scanner: &mut Scanner<S>,
    out: &mut Leaves,
    mut visit: impl FnMut(&mut Scanner<S>, &mut Leaves) -> Result<(), Halt>,
) -> Result<(), Halt> {
    out.cut();
    let mut more = open_list(scanner)?;
    while more {
        if scanner.peek()? == Some(b'{') {
            visit(scanner, out)?;
        } else {
            out.cut();
            scanner.skip_value()?;
        }
        more = scanner.next_item()?;
    }
    Ok(())
}

/// Enters the list that starts here. `null` is an empty one; of everything else it depends what it means.
fn open_list<S: Source>(scanner: &mut Scanner<S>) -> Result<bool, Halt> {
    match scanner.peek()? {
        Some(b'[') => Ok(scanner.open_array()?),
        Some(b'n') => {
            scanner.skip_value()?;
            Ok(false)
        }
        _ => {
            // If it is not even JSON, that is the error.
            scanner.skip_value()?;
            Err(Halt::Odd)
        }
    }
}

/// Of a repeated member the last counts, but the first has been noted already.
pub(super) fn once<T>(seen: &Option<T>) -> Result<(), Halt> {
    if seen.is_some() { Err(Halt::Odd) } else { Ok(()) }
}
