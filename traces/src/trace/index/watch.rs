//! Attributes that are looked at on the way.

use std::cmp::Ordering;

use crate::{
    json::{Object, ScanError, Scanner, Source, Value},
    trace::{jaeger, otlp},
};

/// Which attributes are looked at on the way through a file, on spans and on resources.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Their keys; none by default, and at most 100.
    pub keys: &'static [&'static str],
    /// What is to be remembered of a value; `None` when it does not count.
    pub text: fn(&Value) -> Option<String>,
}

impl Default for Watch {
    fn default() -> Self {
        Self { keys: &[], text: |_| None }
    }
}

/// A watched attribute of some spans of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    /// When the earliest of them began, in nanoseconds since the epoch; times that do not fit are the nearest that does.
    start: i64,
    /// The number of the id of the trace, later that of the trace.
    pub(super) trace: u32,
    /// The number of its text, or [`Sighting::UNSURE`].
    pub(super) text: u32,
    pub(super) slot: Slot,
}

/// Which attribute it is, and whether of spans or of their resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u8);

impl Slot {
    pub(super) fn new(key: usize, on_resource: bool) -> Self {
        Self((key * 2 + usize::from(on_resource)) as u8)
    }
}

impl Sighting {
    /// Only reading the trace tells the text.
    pub(super) const UNSURE: u32 = u32::MAX;
    /// Of so many slots the last sighting is looked for, so that a trace mostly has one for each.
    const RECENT: usize = 8;

    pub(super) fn new(
        trace: u32,
        start: i64,
        (key, on_resource): (usize, bool),
        text: u32,
    ) -> Self {
        Self { start, trace, text, slot: Slot::new(key, on_resource) }
    }

    /// What makes everything about a trace unsure.
    pub(super) fn unsure(trace: u32) -> Self {
        Self { start: i64::MIN, trace, text: Self::UNSURE, slot: Slot(0) }
    }

    /// Adds it to others, unless they say as much.
    pub(super) fn note(self, others: &mut Vec<Self>) {
        let same_trace = others.iter_mut().rev().take(Self::RECENT);
        let mut same_trace = same_trace.take_while(|known| known.trace == self.trace);
        match same_trace.find(|known| known.slot == self.slot) {
            Some(known) => known.merge(self),
            None => others.push(self),
        }
    }

    /// Leaves one for each attribute of a trace, in the order of the traces.
    pub(super) fn settle(sightings: &mut Vec<Self>) {
        sightings.sort_unstable_by_key(|sighting| (sighting.trace, sighting.slot));
        sightings.dedup_by(|later, first| {
            let is_same = (later.trace, later.slot) == (first.trace, first.slot);
            if is_same {
                first.merge(*later);
            }
            is_same
        });
    }

    /// The text of the earliest span counts. When there are several of them, their ids decide, which are not known here.
    fn merge(&mut self, other: Self) {
        match other.start.cmp(&self.start) {
            Ordering::Less => *self = other,
            Ordering::Equal if other.text != self.text => self.text = Self::UNSURE,
            Ordering::Equal | Ordering::Greater => {}
        }
    }
}

/// The watched attributes of a span or a resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// The number of the key among those that are watched, and the value.
    pub(super) values: Vec<(usize, Value)>,
    /// Whether there may be others, in a form that only reading the span tells.
    pub(super) unsure: bool,
}

impl Watched {
    pub(super) fn is_nothing(&self) -> bool {
        self.values.is_empty() && !self.unsure
    }

    /// Those among decoded attributes.
    pub(super) fn among(attributes: &Object, keys: &[&str]) -> Self {
        let value = |(number, key): (usize, &&str)| Some((number, attributes.get(*key)?.clone()));
        Self { values: keys.iter().enumerate().filter_map(value).collect(), unsure: false }
    }

    fn set(&mut self, number: usize, value: Value) {
        self.values.retain(|(known, _)| *known != number);
        self.values.push((number, value));
    }
}

/// How a list of attributes becomes a map.
#[derive(Clone, Copy, Debug)]
pub(super) enum Dialect {
    Otlp,
    Jaeger,
}

impl Dialect {
    /// The keys of the ids of a span: of its trace, and its own.
    pub(super) fn id_keys(self) -> (&'static str, &'static str) {
        match self {
            Self::Otlp => ("traceId", "spanId"),
            Self::Jaeger => ("traceID", "spanID"),
        }
    }

    /// The unit of times in nanoseconds.
    pub(super) fn time_unit(self) -> i128 {
        match self {
            Self::Otlp => 1,
            Self::Jaeger => jaeger::MICROSECOND,
        }
    }

    /// What is odd about them is noted when the span is read.
    fn decode(self, item: Value) -> Object {
        let items = Value::Array(vec![item]);
        match self {
            Self::Otlp => otlp::attributes(items, &mut Vec::new()),
            Self::Jaeger => jaeger::tags(items, "", &mut Vec::new()),
        }
    }
}

/// Walks through the attributes that start here.
pub(super) fn watch<S: Source>(
    scanner: &mut Scanner<S>,
    keys: &[&str],
    dialect: Dialect,
) -> Result<Watched, ScanError> {
    let mut found = Watched::default();
    if keys.is_empty() || scanner.peek()? != Some(b'[') {
        // An object's keys may be made of several.
        found.unsure = !keys.is_empty() && scanner.peek()? == Some(b'{');
        scanner.skip_value()?;
        return Ok(found);
    }
    let mut more = scanner.open_array()?;
    while more {
        if scanner.peek()? == Some(b'{') {
            item(scanner, keys, dialect, &mut found)?;
        } else {
            scanner.skip_value()?;
        }
        more = scanner.next_item()?;
    }
    Ok(found)
}

/// What is known of the key of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Unseen,
    /// It is watched, and all of the attribute is held.
    Watched,
    /// It is another, or the value came first: the attribute is not held.
    Passed,
}

fn item<S: Source>(
    scanner: &mut Scanner<S>,
    keys: &[&str],
    dialect: Dialect,
    found: &mut Watched,
) -> Result<(), ScanError> {
    let start = scanner.offset();
    let held = scanner.hold();
    let mut key = Key::Unseen;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&["key", "value"])? {
            Some(0) => {
                let watched = scanner.value_among(keys)?.is_some();
                match key {
                    Key::Unseen if watched => key = Key::Watched,
                    Key::Unseen => {
                        key = Key::Passed;
                        scanner.release(held);
                    }
                    Key::Passed => found.unsure |= watched,
                    Key::Watched => {}
                }
            }
            Some(_) => {
                if key == Key::Unseen {
                    key = Key::Passed;
                    scanner.release(held);
                }
                scanner.skip_value()?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    if key == Key::Watched {
        for (key, value) in dialect.decode(scanner.value_since(start)?) {
            if let Some(number) = keys.iter().position(|watched| *watched == key) {
                found.set(number, value);
            }
        }
    }
    scanner.release(held);
    Ok(())
}
