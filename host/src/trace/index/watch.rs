//! Attributes that are looked at on the way.

use crate::{
    json::{Object, ScanError, Scanner, Source, Value},
    trace::{jaeger, otlp},
};

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

    /// Whether both are certainly the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |(left, right): (&(usize, Value), &(usize, Value))| {
            left.0 == right.0 && left.1.as_str().is_some() && left.1.as_str() == right.1.as_str()
        };
        self.unsure == other.unsure
            && self.values.len() == other.values.len()
            && self.values.iter().zip(&other.values).all(same)
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
