//! Tracked attributes: those that name the conversation of a trace, noted on the way so that traces can be grouped without
//! reading them.

use std::cmp::Ordering;

use super::grammar::{Grammar, Stop};
use crate::json::{Object, Scanner, Value};

/// Attributes of spans and of resources whose values are noted when a file is scanned.
#[derive(Clone, Copy, Debug)]
pub struct TrackedAttributes {
    /// Their keys. Default: none. Maximum: 100.
    pub keys: &'static [&'static str],
    /// Returns the name in the value of a key, from its number and all tracked values of the span or resource; `None` for
    /// values that do not count.
    pub name: NameOf,
    /// Returns false for the text of an attribute that has no name whatever else the span has. Such an attribute is not
    /// decoded.
    pub may_have_name: fn(usize, &[u8]) -> bool,
}

/// See [`TrackedAttributes::name`].
type NameOf = fn(usize, &[(usize, Value)]) -> Option<String>;

impl Default for TrackedAttributes {
    fn default() -> Self {
        Self { keys: &[], name: |_, _| None, may_have_name: |_, _| true }
    }
}

/// The name that a tracked attribute gives a trace: that of the earliest span that has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackedName {
    pub(super) trace: u32,
    /// Number of the name, or [`Occurrence::UNKNOWN`].
    pub(super) name: u32,
    pub(super) slot: Slot,
}

/// The names that the tracked attributes of a trace have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrackedNames<'a>(pub(super) &'a [TrackedName]);

impl TrackedNames<'_> {
    /// Returns the number of the name under a key, on the spans themselves or on their resources.
    pub(crate) fn get(&self, key: usize, on_resource: bool) -> Option<u32> {
        let slot = Slot::new(key, on_resource);
        self.0.iter().find(|tracked| tracked.slot == slot).map(|tracked| tracked.name)
    }
}

/// The name that a tracked attribute gives some spans of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence {
    /// Start of the earliest of the spans, in nanoseconds since the epoch, clamped to 64 bits.
    start: i64,
    /// Number of the id of the trace, later of the trace.
    pub(super) trace: u32,
    /// Number of the name, or [`Occurrence::UNKNOWN`].
    pub(super) name: u32,
    pub(super) slot: Slot,
}

/// A tracked key, of spans or of their resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(u8);

impl Slot {
    pub(super) fn new(key: usize, on_resource: bool) -> Self {
        Self((key * 2 + usize::from(on_resource)) as u8)
    }
}

impl Occurrence {
    /// Only reading the trace tells the name.
    pub(super) const UNKNOWN: u32 = u32::MAX;
    /// Number of occurrences among which one of the same slot is searched, so that a trace mostly has one for each slot.
    const RECENT: usize = 8;

    pub(super) fn new(
        trace: u32,
        start: i64,
        (key, on_resource): (usize, bool),
        name: u32,
    ) -> Self {
        Self { start, trace, name, slot: Slot::new(key, on_resource) }
    }

    /// Returns an occurrence that makes all names of a trace unknown.
    pub(super) fn unknown(trace: u32) -> Self {
        Self { start: i64::MIN, trace, name: Self::UNKNOWN, slot: Slot(0) }
    }

    /// Adds it to others, or merges it with one of them.
    pub(super) fn add_to(self, others: &mut Vec<Self>) {
        let same_trace = others.iter_mut().rev().take(Self::RECENT);
        let mut same_trace = same_trace.take_while(|known| known.trace == self.trace);
        match same_trace.find(|known| known.slot == self.slot) {
            Some(known) => known.merge(self),
            None => others.push(self),
        }
    }

    /// Merges the occurrences of each slot of a trace, and sorts them by trace.
    pub(super) fn merge_all(occurrences: &mut Vec<Self>) {
        occurrences.sort_unstable_by_key(|occurrence| (occurrence.trace, occurrence.slot));
        occurrences.dedup_by(|later, first| {
            let is_same = (later.trace, later.slot) == (first.trace, first.slot);
            if is_same {
                first.merge(*later);
            }
            is_same
        });
    }

    /// Keeps the name of the earliest span. Of several earliest spans the ids decide, which are not known here.
    fn merge(&mut self, other: Self) {
        match other.start.cmp(&self.start) {
            Ordering::Less => *self = other,
            Ordering::Equal if other.name != self.name => self.name = Self::UNKNOWN,
            Ordering::Equal | Ordering::Greater => {}
        }
    }
}

/// The tracked attributes of a span or a resource.
#[derive(Clone, Debug, Default)]
pub(in crate::trace) struct Found {
    /// The number of the tracked key, and the value.
    pub(super) values: Vec<(usize, Value)>,
    /// Whether there may be others, in a form that only decoding the span tells.
    pub(in crate::trace) is_unknown: bool,
}

impl Found {
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && !self.is_unknown
    }

    /// Finds the tracked attributes among decoded ones.
    pub(in crate::trace) fn among(attributes: &Object, keys: &[&str]) -> Self {
        let value = |(number, key): (usize, &&str)| Some((number, attributes.get(*key)?.clone()));
        Self { values: keys.iter().enumerate().filter_map(value).collect(), is_unknown: false }
    }

    fn set(&mut self, number: usize, value: Value) {
        self.values.retain(|(known, _)| *known != number);
        self.values.push((number, value));
    }
}

/// Scans the attributes that start here.
pub(in crate::trace) fn scan_attributes(
    scanner: &mut Scanner<'_>,
    tracked: TrackedAttributes,
    grammar: Grammar,
) -> Result<Found, Stop> {
    let keys = tracked.keys;
    let mut found = Found::default();
    if keys.is_empty() || scanner.peek()? != Some(b'[') {
        // The keys of an object may be put together from several levels.
        found.is_unknown = !keys.is_empty() && scanner.peek()? == Some(b'{');
        scanner.skip_value()?;
        return Ok(found);
    }
    let mut more = scanner.open_array()?;
    while more {
        if scanner.peek()? == Some(b'{') {
            let start = scanner.offset();
            let held = scanner.hold();
            if let Some(number) = scan_attribute(scanner, keys, held, &mut found)?
                && (tracked.may_have_name)(number, scanner.text_since(start))
            {
                let item = scanner.value_since(start)?;
                for (key, value) in grammar.attributes(Value::Array(vec![item])) {
                    if let Some(number) = keys.iter().position(|known| *known == key) {
                        found.set(number, value);
                    }
                }
            }
            scanner.release(held);
        } else {
            scanner.skip_value()?;
        }
        more = scanner.next_item()?;
    }
    Ok(found)
}

/// Scans the attribute that starts here and is held. Returns the number of its key if it is tracked; if not, it is released early.
fn scan_attribute(
    scanner: &mut Scanner<'_>,
    keys: &[&str],
    held: Option<usize>,
    found: &mut Found,
) -> Result<Option<usize>, Stop> {
    // The number of the key, `Some(None)` if the attribute is not tracked; `None` before its key or value.
    let mut tracked = None;
    let mut more = scanner.open_object()?;
    while more {
        match scanner.key(&["key", "value"])? {
            Some(0) => {
                let known = scanner.value_among(keys)?;
                // A tracked key after another key or after the value.
                found.is_unknown |= known.is_some() && tracked == Some(None);
                tracked = tracked.or(Some(known));
            }
            Some(_) => {
                tracked = tracked.or(Some(None));
                if tracked == Some(None) {
                    scanner.release(held);
                }
                scanner.skip_value()?;
            }
            None => scanner.skip_value()?,
        }
        more = scanner.next_member()?;
    }
    Ok(tracked.flatten())
}
