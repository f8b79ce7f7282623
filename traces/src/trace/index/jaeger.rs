//! The way through Jaeger JSON to its spans.

use super::{
    Halt,
    builder::{Builder, Draft, Leaves, Place},
    otlp::{each_item, not_an_object, once, refuse_repeated, skip_unread},
    watch::{Dialect, Watched, watch},
};
use crate::{
    json::{Scanner, Source, Value},
    trace::{
        jaeger,
        left_out::Part,
        otlp::no_list,
        pool::{Pool, Side},
    },
};

/// The `data` of a document.
#[derive(Debug, Default)]
pub(super) struct Data {
    pub(super) spans: Leaves,
    pub(super) is_list: bool,
}

/// Walks through the value of `data` that starts here.
pub(super) fn data<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
) -> Result<Data, Halt> {
    let mut data = Data::default();
    if scanner.peek()? != Some(b'[') {
        scanner.skip_value()?;
        return Ok(data);
    }
    data.is_list = true;
    each_item(scanner, |scanner, index, is_object| {
        builder.position.move_to(0, "data", index);
        match is_object {
            true => item(scanner, builder, &mut data.spans),
            false => not_an_object(scanner, builder, (Part::Trace, "the trace"), &mut data.spans),
        }
    })?;
    builder.position.leave(0);
    Ok(data)
}

/// Spans and the processes they name, which may come before them or after.
fn item<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let first = out.runs.len();
    let (mut processes, mut listed) = (None, None);
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&["processes", "spans"])? {
            Some(0) => {
                once(&processes)?;
                let start = scanner.offset();
                let value = scanner.value()?;
                processes = Some((Place::between(start, scanner.offset())?, value));
            }
            Some(_) => {
                once(&listed)?;
                listed = Some(spans(scanner, builder, out)?);
            }
            None => skip_unread(scanner)?,
        }
        more = scanner.next_member()?;
    }
    match listed.flatten() {
        None => builder.leave_out(Part::Trace, &no_list("spans"), out),
        Some(0) => builder.leave_out(Part::Trace, jaeger::NO_SPANS, out),
        Some(_) => {}
    }
    let mut watched = Watched::default();
    if let Some((place, mut value)) = processes {
        if let Value::Object(processes) = &mut value {
            refuse_repeated(processes)?;
        }
        let mut pool = Pool::default();
        let decoded = jaeger::processes(value, &mut pool);
        out.warnings.append(&mut pool.file_warnings);
        // Which of the processes a span names is known when it is read.
        let mut processes = decoded.values();
        watched.unsure = processes
            .any(|process| builder.watch.keys.iter().any(|key| process.contains_key(*key)));
        builder.come_from(Some(place), &[(first..out.runs.len(), None)], out)?;
    }
    builder.sight_resource(&watched, first, out)
}

/// Walks through the list of spans that starts here. Returns their number; `None` for `null`.
fn spans<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    out: &mut Leaves,
) -> Result<Option<usize>, Halt> {
    out.cut();
    let found = each_item(scanner, |scanner, index, is_object| {
        builder.position.move_to(1, "spans", index);
        match is_object {
            true => span(scanner, builder, out),
            false => not_an_object(scanner, builder, Side::Spans.part(), out),
        }
    })?;
    builder.position.leave(1);
    Ok(found)
}

fn span<S: Source>(
    scanner: &mut Scanner<S>,
    builder: &mut Builder<'_>,
    out: &mut Leaves,
) -> Result<(), Halt> {
    let start = scanner.offset();
    let mut draft = Draft::default();
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&["traceID", "spanID", "startTime", "tags"])? {
            Some(0) => draft.set_trace_id(&scanner.value()?),
            Some(1) => draft.set_span_id(&scanner.value()?),
            Some(2) => draft.start = scanner.value()?,
            Some(_) => draft.watched = watch(scanner, builder.watch.keys, Dialect::Jaeger)?,
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    let place = Place::between(start, scanner.offset())?;
    builder.span(draft, place, Dialect::Jaeger, out)
}
