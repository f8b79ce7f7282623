//! Encoding of values without a JSON form of their own in run files.

use serde::{Deserialize, Deserializer};

use super::error_type::ERROR_TYPES;

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
        let text = <&RawValue>::deserialize(deserializer)?;
        match json::parse(text.get(), &ParseOptions::default()).map(|parsed| parsed.value) {
            Ok(Value::Object(details)) => Ok(Some(details)),
            Ok(_) => Err(de::Error::custom("`details` is not an object")),
            Err(error) => Err(de::Error::custom(error)),
        }
    }
}
