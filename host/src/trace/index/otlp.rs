//! The way through OTLP JSON to its spans and logs.

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
    builder: &mut Builder,
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
    root.bare.leaves.extend(builder.span(draft, place, 1)?);
    Ok(root)
}

/// Walks through the list of bare spans that starts here. Whether all its items look like spans.
pub(super) fn bare_spans<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder,
    leaves: &mut Leaves,
) -> Result<bool, Halt> {
    let (mut all, mut any) = (true, false);
    let mut more = scanner.open_array()?;
    while more {
        any = true;
        if scanner.peek()? == Some(b'{') {
            all &= span(scanner, builder, leaves)?;
        } else {
            all = false;
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
    builder: &mut Builder,
    names: &Names,
) -> Result<Leaves, Halt> {
    let mut out = Leaves::default();
    each_object(scanner, |scanner| resource(scanner, builder, names, &mut out))?;
    Ok(out)
}

fn resource<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder,
    names: &Names,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let first = out.leaves.len();
    let (mut seen, mut listed) = (None, None);
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
                each_object(scanner, |scanner| group(scanner, builder, names, out))?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    if let Some((place, Value::Object(mut resource))) = seen {
        let mut odd = Vec::new();
        let decoded = attributes(take(&mut resource, "attributes"), &mut odd);
        out.warnings.extend(odd.into_iter().map(|oddity| format!("a resource: {oddity}")));
        if out.leaves.len() > first && names.are_spans {
            let number = builder.resource()?;
            let noted = &mut builder.resources[number as usize];
            noted.place = Some(place);
            noted.watched = Watched::among(&decoded, builder.keys);
            for leaf in &mut out.leaves[first..] {
                leaf.resource = Some(number);
            }
        }
    }
    Ok(())
}

fn group<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder,
    names: &Names,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let first = out.leaves.len();
    let mut members = Object::default();
    let mut listed = None;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&names.leaves)? {
            Some(2) => {
                once(&listed)?;
                listed = Some(());
                each_object(scanner, |scanner| match names.are_spans {
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
    if out.leaves.len() > first && names.are_spans {
        let scope = scope(take_either(&mut members, names.leaves[0], names.leaves[1]));
        let number = builder.scope(scope)?;
        for leaf in &mut out.leaves[first..] {
            leaf.scope = Some(number);
        }
    }
    Ok(())
}

/// Notes the span that starts here. Whether it looks like one.
fn span<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder,
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
    out.leaves.extend(builder.span(draft, Place::between(start, scanner.offset())?, 1)?);
    Ok(is_span)
}

fn span_member<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &Builder,
    draft: &mut Draft,
    member: usize,
) -> Result<(), Halt> {
    match member {
        0 => draft.set_trace_id(&scanner.value()?),
        1 => draft.set_span_id(&scanner.value()?),
        2 => draft.start = scanner.value()?,
        _ => draft.watched = watch(scanner, builder.keys, Dialect::Otlp)?,
    }
    Ok(())
}

fn log<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder,
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
    out.leaves.extend(builder.log(&trace_id, Place::between(start, scanner.offset())?)?);
    Ok(())
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
