//! Notes on spans, log records, resources and scopes, taken while a text is scanned.

use std::{hash::BuildHasher as _, io, mem, ops::Range, sync::Arc};

use foldhash::quality::RandomState;
use indexmap::IndexSet;

use super::{
    grammar::{Expected, Grammar, Stop},
    interner::Interner,
    tracked::{Found, Occurrence, TrackedAttributes},
};
use crate::{
    json::{Scanner, Value, take_repeated_key},
    trace::{
        error::LoadErrorKind,
        model::Scope,
        otlp::{items_or_kind, odd_trace_id},
        unusable::{
            Part, Position, Side, UnusableParts, missing_id, read_searched, scan_unread, wrong_kind,
        },
        values::{self, SPAN_ID, TRACE_ID, normalize},
    },
};

/// Maximum length in bytes of a note on consecutive items: few enough to be decoded at once.
const RANGE_BYTES: u64 = 64 << 10;

/// Bytes of a file for each note for which space is reserved. Reserved memory that is not used is never touched, but a list
/// that grows is copied again and again, and the copies take as much memory as the list.
const BYTES_PER_NOTE: u64 = 512;
/// Minimum length in bytes of a file for which space is reserved.
const LONG_FILE: u64 = 4 << 20;
/// Maximum number of notes for which space is reserved.
const MAX_RESERVED: u64 = 1 << 22;

/// The position of a value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) struct Location {
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Location {
    fn between(start: usize, end: usize) -> Result<Self, LoadErrorKind> {
        let long = "a span, log record or resource of it is longer than 4 GB";
        let length = u32::try_from(end - start).map_err(|_| too_large(long))?;
        Ok(Self { offset: start as u64, length })
    }

    pub(super) fn end(self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// Consecutive spans or log records of one trace in a list.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) struct RecordRange {
    offset: u64,
    length: u32,
    /// Number of spans or log records.
    pub(super) count: u32,
    /// Number of the id of their trace, later of their trace.
    pub(super) trace: u32,
    /// Number of their origin, or one of the constants.
    origin: u32,
}

impl RecordRange {
    const NO_ORIGIN: u32 = u32::MAX;
    const LOGS: u32 = u32::MAX - 1;

    /// Returns the location from the first to the last, separators included.
    pub(super) fn location(&self) -> Location {
        Location { offset: self.offset, length: self.length }
    }

    pub(super) fn are_logs(&self) -> bool {
        self.origin == Self::LOGS
    }

    /// Returns the origin, of those of all files.
    pub(super) fn origin_in<'o>(&self, origins: &'o [Origin]) -> Option<&'o Origin> {
        (self.origin < Self::LOGS).then(|| &origins[self.origin as usize])
    }

    /// Adds the number of origins of earlier files to the number of the origin.
    pub(super) fn shift_origin(&mut self, before: u32) {
        if self.origin < Self::LOGS {
            self.origin += before;
        }
    }
}

/// The resource and scope that spans have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// Offset and length of the resource; in the format of Jaeger, of all processes of a trace. Length 0 if it is absent.
    offset: u64,
    length: u32,
    /// Number of the scope, or the constant.
    scope: u32,
}

impl Origin {
    const NO_SCOPE: u32 = u32::MAX;

    pub(super) fn resource(&self) -> Option<Location> {
        let Self { offset, length, .. } = *self;
        (length > 0).then_some(Location { offset, length })
    }

    pub(super) fn scope(&self) -> Option<u32> {
        (self.scope != Self::NO_SCOPE).then_some(self.scope)
    }
}

/// Notes on spans or log records, which count only if the rest of the file confirms them.
#[derive(Debug, Default)]
pub(in crate::trace) struct Records {
    pub(in crate::trace) ranges: Vec<RecordRange>,
    /// Hash of the id of each span, if attributes are tracked.
    pub(super) span_ids: Vec<u32>,
    /// Starts of the spans whose resource is not known yet.
    starts: Vec<i64>,
    pub(super) occurrences: Vec<Occurrence>,
    /// Warnings of all traces of the file.
    pub(in crate::trace) warnings: Vec<String>,
    /// Parts that cannot be used.
    pub(in crate::trace) unusable: UnusableParts,
    /// Whether a value of the wrong type holds spans.
    pub(in crate::trace) hide_spans: bool,
    /// First reason for which the file cannot be used.
    error: Option<LoadErrorKind>,
    /// Whether the next item may extend the last range.
    is_open: bool,
}

impl Records {
    /// Returns empty notes with space for `count` ranges.
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { ranges: Vec::with_capacity(count), ..Self::default() }
    }

    /// Ends the last range.
    pub(in crate::trace) fn cut(&mut self) {
        self.is_open = false;
    }

    /// Notes a reason for which the file cannot be used. The scan goes on, because a text that is not JSON is the first thing to
    /// report.
    pub(in crate::trace) fn fail(&mut self, kind: LoadErrorKind) {
        self.error.get_or_insert(kind);
    }

    /// Declares that the spans so far have no resource.
    pub(in crate::trace) fn have_no_resource(&mut self) {
        self.starts.clear();
    }

    fn push(&mut self, trace: u32, location: Location, origin: u32) {
        let open = if self.is_open { self.ranges.last_mut() } else { None };
        let open = open.filter(|range| {
            range.trace == trace
                && range.origin == origin
                && location.end() - range.offset <= RANGE_BYTES
        });
        match open {
            Some(range) => {
                // At most `RANGE_BYTES`.
                range.length = (location.end() - range.offset) as u32;
                range.count += 1;
            }
            None => {
                let Location { offset, length } = location;
                self.ranges.push(RecordRange { offset, length, count: 1, trace, origin });
            }
        }
        self.is_open = true;
    }

    /// Adds others after these.
    pub(in crate::trace) fn append(&mut self, mut others: Self) {
        move_behind(&mut self.ranges, &mut others.ranges);
        move_behind(&mut self.span_ids, &mut others.span_ids);
        move_behind(&mut self.occurrences, &mut others.occurrences);
        move_behind(&mut self.warnings, &mut others.warnings);
        self.unusable.append(&others.unusable);
        self.hide_spans |= others.hide_spans;
        self.error = self.error.take().or(others.error);
        self.is_open = false;
    }
}

/// Appends a list, without a copy if there is nothing to append to: these lists may be long.
pub(super) fn move_behind<T>(list: &mut Vec<T>, others: &mut Vec<T>) {
    if list.is_empty() && list.capacity() < others.capacity() {
        mem::swap(list, others);
    } else {
        list.append(others);
    }
}

/// Spans and log records of a file in the order in which they are decoded.
#[derive(Debug, Default)]
pub(in crate::trace) struct FileRecords {
    pub(super) spans: Records,
    pub(super) logs: Records,
}

impl FileRecords {
    /// Returns these notes, or the first reason for which the file cannot be used.
    pub(super) fn checked(mut self) -> Result<Self, LoadErrorKind> {
        match self.spans.error.take().or(self.logs.error.take()) {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// Takes the unusable parts: first spans, then log records.
    pub(super) fn take_unusable(&mut self) -> UnusableParts {
        let mut parts = mem::take(&mut self.spans.unusable);
        parts.append(&mem::take(&mut self.logs.unusable));
        parts
    }
}

/// A member of a span that is noted and has two spellings.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace) enum Field {
    TraceId,
    SpanId,
    Start,
}

/// The noted members of a span.
#[derive(Debug, Default)]
pub(in crate::trace) struct SpanDraft {
    /// Values by [`Field`].
    pub(in crate::trace) fields: [Value; 3],
    /// Whether the name in camel case was present, by [`Field`].
    camel: [bool; 3],
    pub(in crate::trace) tracked: Found,
}

impl SpanDraft {
    /// Sets a field. A name in `snake_case` does not count where the name in camel case is present.
    pub(in crate::trace) fn set(&mut self, field: Field, is_camel: bool, value: Value) {
        let was_camel = &mut self.camel[field as usize];
        if is_camel || !*was_camel {
            self.fields[field as usize] = value;
        }
        *was_camel |= is_camel;
    }
}

/// The list of a part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::trace) enum Listed {
    /// It is absent or `null`.
    Absent,
    /// It is not a list, which has been noted.
    Unusable,
    /// It has this number of items.
    Items(usize),
}

/// A scan of one text: the scanner, and the notes so far.
pub(in crate::trace) struct Walk<'w> {
    pub(in crate::trace) scanner: Scanner<'w>,
    pub(in crate::trace) expected: Expected,
    pub(in crate::trace) tracked: TrackedAttributes,
    pub(in crate::trace) position: Position,
    /// Notes on the list that is being scanned.
    pub(in crate::trace) out: Records,
    pub(super) origins: Vec<Origin>,
    /// Number of notes for which a list that may become long reserves space.
    pub(in crate::trace) capacity: usize,
    /// The text of the last key, and what is between it and its value.
    key: Vec<u8>,
    /// Names of all files.
    names: &'w mut Interner,
    /// Scopes of all files.
    scopes: &'w mut IndexSet<Arc<Scope>>,
    hasher: RandomState,
}

impl<'w> Walk<'w> {
    /// Returns a scan of a text of `length` bytes that is at its start.
    pub(super) fn new(
        scanner: Scanner<'w>,
        (expected, length): (Expected, u64),
        tracked: TrackedAttributes,
        names: &'w mut Interner,
        scopes: &'w mut IndexSet<Arc<Scope>>,
    ) -> Self {
        let capacity = match length {
            ..LONG_FILE => 0,
            _ => (length / BYTES_PER_NOTE).min(MAX_RESERVED) as usize,
        };
        names.reserve(capacity);
        Self {
            scanner,
            expected,
            tracked,
            position: Position::default(),
            out: Records::default(),
            origins: Vec::with_capacity(capacity),
            capacity,
            key: Vec::new(),
            names,
            scopes,
            hasher: RandomState::default(),
        }
    }

    /// Visits the members of the object that starts here. `visit` skips each value and gets the index of its key in `keys`.
    pub(in crate::trace) fn each_member(
        &mut self,
        keys: &[&str],
        mut visit: impl FnMut(&mut Self, Option<usize>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut more = self.scanner.open_object()?;
        while more {
            let start = self.scanner.offset();
            let held = self.scanner.hold();
            let key = self.scanner.key(keys)?;
            self.key.clear();
            self.key.extend_from_slice(self.scanner.text_since(start));
            self.scanner.release(held);
            visit(self, key)?;
            more = self.scanner.next_member()?;
        }
        Ok(())
    }

    /// Visits the items of the list that starts here; a list of the wrong type makes its `owner` unusable, or the file. `visit`
    /// skips each item that is an object.
    pub(in crate::trace) fn each_item(
        &mut self,
        (depth, key, owner): (usize, &'static str, Part),
        (part, name): (Part, &str),
        mut visit: impl FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<Listed, Stop> {
        if self.scanner.peek()? != Some(b'[') {
            let value = self.odd_value()?;
            let kind = value.kind();
            if value.is_null() {
                return Ok(Listed::Absent);
            }
            match items_or_kind(value) {
                Ok(_) => self.skip(owner, &wrong_kind(&format!("`{key}`"), kind, "an array")),
                Err(found) => {
                    let path = self.position.member(key);
                    self.out.fail(LoadErrorKind::NotAnArray { path, found });
                }
            }
            return Ok(Listed::Unusable);
        }
        let mut more = self.scanner.open_array()?;
        let mut index = 0;
        while more {
            self.position.move_to(depth, key, index);
            if self.scanner.peek()? == Some(b'{') {
                visit(self)?;
            } else {
                self.out.cut();
                let reason = wrong_kind(name, self.odd_value()?.kind(), "an object");
                self.skip(part, &reason);
            }
            index += 1;
            more = self.scanner.next_item()?;
        }
        self.position.leave(depth);
        Ok(Listed::Items(index))
    }

    /// Visits the spans or log records of the list that starts here, as [`Walk::each_item`].
    pub(in crate::trace) fn each_record(
        &mut self,
        list: (usize, &'static str, Part),
        side: Side,
        visit: impl FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<Listed, Stop> {
        self.out.cut();
        self.each_item(list, side.part(), visit)
    }

    /// Reads a value of the wrong type, and notes whether it holds spans.
    fn odd_value(&mut self) -> Result<Value, Stop> {
        let (holds_spans, value) = read_searched(&mut self.scanner)?;
        self.out.hide_spans |= holds_spans;
        Ok(value)
    }

    /// Runs a scan whose notes are kept apart. Returns them.
    pub(in crate::trace) fn apart<T>(
        &mut self,
        capacity: usize,
        scan: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<(Records, T), Stop> {
        let outer = mem::replace(&mut self.out, Records::with_capacity(capacity));
        let result = scan(self)?;
        Ok((mem::replace(&mut self.out, outer), result))
    }

    /// Reads the value of the last key, with its location. A repeated key in it is an error of the file, and spans in it are
    /// unusable.
    pub(in crate::trace) fn located_value(&mut self) -> Result<(Location, Value), Stop> {
        let start = self.scanner.offset();
        let (unread, mut value) = self.searched_value()?;
        unread.iter().for_each(|key| self.add_unread(key));
        if let Value::Object(object) = &mut value
            && let Some(key) = take_repeated_key(object)
        {
            self.fail_repeated(&key);
        }
        Ok((Location::between(start, self.scanner.offset())?, value))
    }

    /// Skips the value of a key that the object at the current position has more than once, which is an error of the file: only
    /// one of the values would be read.
    pub(in crate::trace) fn skip_repeated(&mut self, key: &str) -> Result<(), Stop> {
        self.fail_repeated(key);
        Ok(self.scanner.skip_value()?)
    }

    pub(in crate::trace) fn fail_repeated(&mut self, key: &str) {
        let position = self.position.to_string();
        self.out.fail(LoadErrorKind::RepeatedKey { position, key: key.to_owned() });
    }

    /// Skips the value of the last key, which is not read. Returns the key if the value holds spans.
    ///
    /// Such a member is misspelt (`ResourceSpans`), or belongs to another format than the rest of the file, and its spans would
    /// be missing from the run without a message. Members without spans may be anything.
    pub(in crate::trace) fn search_unread(&mut self) -> Result<Option<String>, Stop> {
        let holds_spans = scan_unread(&mut self.scanner)?;
        self.key_if(holds_spans)
    }

    /// Reads the value of the last key. Returns the key, too, if the value holds spans, as [`Walk::search_unread`].
    pub(in crate::trace) fn searched_value(&mut self) -> Result<(Option<String>, Value), Stop> {
        let (holds_spans, value) = read_searched(&mut self.scanner)?;
        Ok((self.key_if(holds_spans)?, value))
    }

    /// Returns the last key if its value holds spans.
    fn key_if(&self, holds_spans: bool) -> Result<Option<String>, Stop> {
        if !holds_spans {
            return Ok(None);
        }
        let key = String::from_utf8_lossy(&self.key);
        let key = Scanner::of_text(&key).value()?;
        Ok(key.as_str().map(str::to_owned))
    }

    /// Skips the value of the last key, which is not read. It is unusable if it holds spans.
    pub(in crate::trace) fn skip_unread(&mut self) -> Result<(), Stop> {
        if let Some(key) = self.search_unread()? {
            self.add_unread(&key);
        }
        Ok(())
    }

    /// Adds a member of the object at the current position that holds spans to the unusable parts.
    pub(in crate::trace) fn add_unread(&mut self, key: &str) {
        self.skip(Part::List, &format!("`{key}` holds spans and is not read"));
    }

    /// Adds the part at the current position to the unusable ones.
    pub(in crate::trace) fn skip(&mut self, part: Part, reason: &str) {
        self.out.unusable.add(part, &self.position, reason);
    }

    /// Returns the number of a scope.
    pub(in crate::trace) fn scope(&mut self, scope: Scope) -> Result<u32, LoadErrorKind> {
        let known = self.scopes.get_index_of(&scope);
        number(known.unwrap_or_else(|| self.scopes.insert_full(Arc::new(scope)).0))
    }

    /// Notes the span that started at `start` and was just scanned. Without ids, it is unusable.
    pub(in crate::trace) fn add_span(
        &mut self,
        grammar: Grammar,
        draft: SpanDraft,
        start: usize,
    ) -> Result<(), LoadErrorKind> {
        let SpanDraft { fields: [trace_id, span_id, start_time], tracked, .. } = draft;
        let location = Location::between(start, self.scanner.offset())?;
        let trace_id = normalize(&trace_id, TRACE_ID);
        let span_id = normalize(&span_id, SPAN_ID);
        let usable = [trace_id.is_some(), span_id.is_some()];
        let (Some(trace_id), Some(span_id)) = (trace_id, span_id) else {
            if let Some(reason) = missing_id(grammar.id_keys(), usable) {
                self.skip(Part::Span, &reason);
            }
            self.out.cut();
            return Ok(());
        };
        let trace = self.name(&trace_id)?;
        self.out.push(trace, location, RecordRange::NO_ORIGIN);
        if self.tracked.keys.is_empty() {
            return Ok(());
        }
        // Different ids with the same hash are distinguished when the trace is read.
        self.out.span_ids.push(self.hasher.hash_one(span_id) as u32);
        let start = values::time(&start_time, grammar.time_unit()).unwrap_or_default();
        let start = i64::try_from(start).unwrap_or(if start < 0 { i64::MIN } else { i64::MAX });
        self.out.starts.push(start);
        self.add_occurrences(&tracked, false, (trace, start))
    }

    /// Notes the log record that started at `start` and was just scanned, unless it belongs to no trace.
    pub(in crate::trace) fn add_log(
        &mut self,
        trace_id: &Value,
        start: usize,
    ) -> Result<(), LoadErrorKind> {
        if let Some(id) = normalize(trace_id, TRACE_ID) {
            let location = Location::between(start, self.scanner.offset())?;
            let trace = self.name(&id)?;
            self.out.push(trace, location, RecordRange::LOGS);
            return Ok(());
        }
        if let Some(reason) = odd_trace_id(trace_id) {
            self.skip(Part::LogRecord, &reason);
        }
        self.out.cut();
        Ok(())
    }

    /// Notes the resource and the scopes of ranges, which are the last ones.
    pub(in crate::trace) fn add_origins(
        &mut self,
        resource: Option<Location>,
        scopes: &[(Range<usize>, Option<u32>)],
    ) -> Result<(), LoadErrorKind> {
        let Location { offset, length } = resource.unwrap_or(Location { offset: 0, length: 0 });
        for (ranges, scope) in scopes {
            let origin = Origin { offset, length, scope: scope.unwrap_or(Origin::NO_SCOPE) };
            if ranges.is_empty() || (length == 0 && scope.is_none()) {
                continue;
            }
            if self.origins.last() != Some(&origin) {
                self.origins.push(origin);
            }
            let origin = number(self.origins.len() - 1)?;
            for range in &mut self.out.ranges[ranges.clone()] {
                range.origin = origin;
            }
        }
        Ok(())
    }

    /// Notes the tracked attributes of the resource of the ranges from `first` on.
    pub(in crate::trace) fn track_resource(
        &mut self,
        tracked: &Found,
        first: usize,
    ) -> Result<(), LoadErrorKind> {
        let starts = mem::take(&mut self.out.starts);
        if tracked.is_empty() {
            return Ok(());
        }
        let counts: Vec<(u32, u32)> =
            self.out.ranges[first..].iter().map(|range| (range.trace, range.count)).collect();
        let traces = counts.iter().flat_map(|(trace, count)| (0..*count).map(|_| *trace));
        for span in traces.zip(starts) {
            self.add_occurrences(tracked, true, span)?;
        }
        Ok(())
    }

    fn add_occurrences(
        &mut self,
        tracked: &Found,
        on_resource: bool,
        (trace, start): (u32, i64),
    ) -> Result<(), LoadErrorKind> {
        if tracked.is_unknown {
            Occurrence::unknown(trace).add_to(&mut self.out.occurrences);
        }
        for (key, _) in &tracked.values {
            if let Some(name) = (self.tracked.name)(*key, &tracked.values) {
                let name = self.name(&name)?;
                Occurrence::new(trace, start, (*key, on_resource), name)
                    .add_to(&mut self.out.occurrences);
            }
        }
        Ok(())
    }

    fn name(&mut self, name: &str) -> Result<u32, LoadErrorKind> {
        self.names.add(name).ok_or_else(too_many_names)
    }
}

/// Returns the error of files with more names than can be numbered.
pub(super) fn too_many_names() -> LoadErrorKind {
    too_large("the files hold more than 4 GB of trace ids; evaluate them in several runs")
}

/// Returns an index as a number of 32 bits, if it fits.
pub(super) fn number(index: usize) -> Result<u32, LoadErrorKind> {
    let number = u32::try_from(index).ok().filter(|number| *number < RecordRange::LOGS);
    number.ok_or_else(|| too_large("the files hold too many spans; evaluate them in several runs"))
}

fn too_large(text: &str) -> LoadErrorKind {
    LoadErrorKind::Read(io::Error::new(io::ErrorKind::OutOfMemory, text))
}
