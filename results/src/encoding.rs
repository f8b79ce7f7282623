//! Encoding of values without a JSON form of their own in run files.

use std::cell::Cell;

use evaluator_traces::conversation::PerformanceMetrics;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;

use super::error_type::ERROR_TYPES;

thread_local! {
    /// Parts of the conversation that this thread is reading.
    static PARTS: Cell<Parts> = const { Cell::new(Parts::ALL) };
    /// Text of the performance of the last conversation, if it is kept.
    static TEXT: Cell<Option<String>> = const { Cell::new(None) };
}

/// Parts of a conversation that are read: they take most of the time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) performance: bool,
    /// Those of its evaluations.
    pub(super) details: bool,
    /// Whether the text of a performance that is not read is kept.
    pub(super) keeps_text: bool,
}

impl Parts {
    pub(super) const ALL: Self = Self { performance: true, details: true, keeps_text: false };
    pub(super) const NONE: Self = Self { performance: false, details: false, ..Self::ALL };

    /// Reads the line of a conversation. Derived code passes no arguments to its fields, so they are set for the thread.
    pub(super) fn read<R: DeserializeOwned>(self, line: &str) -> Result<R, serde_json::Error> {
        let before = PARTS.replace(self);
        let record = serde_json::from_str(line);
        PARTS.set(before);
        record
    }

    /// Reads the line of a conversation, and the text of its performance.
    pub(super) fn read_with_text<R: DeserializeOwned>(
        line: &str,
    ) -> Result<(R, Option<String>), serde_json::Error> {
        TEXT.set(None);
        let record = Self { performance: false, keeps_text: true, ..Self::ALL }.read(line)?;
        Ok((record, TEXT.take()))
    }
}

/// Reads the performance of a conversation.
pub(super) fn performance<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<PerformanceMetrics>, D::Error> {
    let parts = PARTS.get();
    if parts.performance {
        return Option::deserialize(deserializer);
    }
    if parts.keeps_text {
        let text = Option::<&RawValue>::deserialize(deserializer)?;
        TEXT.set(text.map(|text| text.get().to_owned()));
        return Ok(None);
    }
    IgnoredAny::deserialize(deserializer).map(|_| None)
}

/// Durations as nanoseconds.
pub(super) mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        // Five centuries fit.
        let nanoseconds = |it: Duration| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX);
        duration.map(nanoseconds).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map(Duration::from_nanos))
    }
}

/// Reads a kind of error by its name. Kinds of later versions are read as `_OTHER`, as in evaluation events.
pub(super) fn error_type<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'static str>, D::Error> {
    let known = |name: String| ERROR_TYPES.into_iter().find(|known| *known == name);
    Ok(Option::<String>::deserialize(deserializer)?.map(|it| known(it).unwrap_or("_OTHER")))
}

/// Details of an evaluator as an object with all digits of its integers. Numbers that JSON does not have are strings, as in
/// reports: `NaN`, infinities, and integers beyond the largest double.
pub(super) mod details {
    use evaluator_json::{self as json, AsText, Object, ParseOptions, Value};
    use serde::{Deserialize, Deserializer, Serializer, de};
    use serde_json::value::RawValue;

    pub(crate) fn serialize<S: Serializer>(
        details: &Option<Object>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(details.iter().flatten().map(|(key, value)| (key, AsText(value))))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Object>, D::Error> {
        if !super::PARTS.get().details {
            return de::IgnoredAny::deserialize(deserializer).map(|_| None);
        }
        let text = <&RawValue>::deserialize(deserializer)?;
        match json::parse(text.get(), &ParseOptions::default()).map(|parsed| parsed.value) {
            Ok(Value::Object(details)) => Ok(Some(details)),
            Ok(_) => Err(de::Error::custom("`details` is not an object")),
            Err(error) => Err(de::Error::custom(error)),
        }
    }
}
