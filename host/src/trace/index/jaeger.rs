//! The way through Jaeger JSON to its spans.

use super::{
    Halt,
    builder::{Builder, Draft, Leaves, Place},
    otlp::{each_leaf, each_object, once},
    watch::{Dialect, Watched, watch},
};
use crate::{
    json::{Scanner, Source},
    trace::{jaeger, pool::Pool},
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
    each_object(scanner, |scanner| item(scanner, builder, &mut data.spans))?;
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
                listed = Some(());
                each_leaf(scanner, out, |scanner, out| span(scanner, builder, out))?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    let mut watched = Watched::default();
    if let Some((place, value)) = processes {
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
    builder.span(draft, place, jaeger::MICROSECOND, out)
}
