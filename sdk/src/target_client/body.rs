//! Reading the JSON in answers.

use evaluator_protocol::JsonObject;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::error::{TargetError, excerpt};

/// The words of an error.
pub(super) fn message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Body {
        error: String,
    }
    match serde_json::from_slice(body) {
        Ok(Body { error }) => error,
        Err(_) => excerpt(&String::from_utf8_lossy(body)),
    }
}

pub(super) fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, TargetError> {
    serde_json::from_slice(body).and_then(object).map_err(|error| {
        let sent = excerpt(&String::from_utf8_lossy(body));
        TargetError::protocol(format!("{error}, in `{sent}`"))
    })
}

/// A type from an object, where serde would take an array, too, field by field.
pub(super) fn object<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    T::deserialize(Value::Object(JsonObject::deserialize(value)?))
}
