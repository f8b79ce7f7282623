//! Which format a text is in, judged by its content and never by a file's name.

use std::{fmt, str::FromStr};

use crate::{
    json::strip,
    json::{Object, ParseError, Parsed, Value, parse_python},
};

/// A format of trace files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `{"data": [...]}`, as Jaeger's UI and API export it.
    JaegerJson,
    /// OTLP JSON: an export document, a bare span, a list of those, or one of these per line.
    OtlpJson,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::JaegerJson, Self::OtlpJson];

    /// The name of the format in options and configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JaegerJson => "jaeger-json",
            Self::OtlpJson => "otlp-json",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name stands for no trace format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown trace format '{0}'. Supported: ['jaeger-json', 'otlp-json']")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    /// Reads the lower-case name.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// The format of `text`, of which `whole` is the result of reading it as one JSON value.
pub(super) fn detect(text: &str, whole: &Result<Parsed, ParseError>) -> Option<Format> {
    match whole.as_ref().map(|parsed| &parsed.value) {
        Ok(Value::Object(object)) if is_otlp(object) => Some(Format::OtlpJson),
        Ok(Value::Object(object)) => object.contains_key("data").then_some(Format::JaegerJson),
        Ok(Value::Array(items)) => {
            let spans = items.iter().all(|item| item.as_object().is_some_and(is_span));
            (spans && !items.is_empty()).then_some(Format::OtlpJson)
        }
        Ok(_) => None,
        // Perhaps JSON lines: the first line decides.
        Err(_) => {
            let first = strip(text).split('\n').next().unwrap_or_default();
            let first = parse_python(strip(first))?;
            is_otlp(first.as_object()?).then_some(Format::OtlpJson)
        }
    }
}

/// Whether this is an OTLP export document or a bare span.
pub(super) fn is_otlp(object: &Object) -> bool {
    is_document(object) || is_span(object)
}

/// Whether this is an OTLP export document, perhaps in a `trace` wrapper.
pub(super) fn is_document(object: &Object) -> bool {
    const ROOTS: [&str; 5] =
        ["resourceSpans", "resourceLogs", "batches", "resource_spans", "resource_logs"];
    ROOTS.iter().any(|root| object.contains_key(*root)) || is_wrapper(object)
}

/// Whether this is the answer of a trace API that puts the document into a `trace` member.
pub(super) fn is_wrapper(object: &Object) -> bool {
    const LISTS: [&str; 3] = ["resourceSpans", "batches", "resource_spans"];
    object
        .get("trace")
        .and_then(Value::as_object)
        .is_some_and(|trace| LISTS.iter().any(|list| trace.contains_key(*list)))
}

/// Whether this looks like a bare OTLP span.
fn is_span(object: &Object) -> bool {
    object.contains_key("spanId") || object.contains_key("traceId")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseOptions, parse};

    #[test]
    fn content_decides() {
        use Format::{JaegerJson, OtlpJson};
        for (text, expected) in [
            (r#"{"data": null}"#, Some(JaegerJson)),
            (r#"{"data": [], "resourceSpans": []}"#, Some(OtlpJson)),
            (r#"{"data": [], "spanId": "x"}"#, Some(OtlpJson)),
            (r#"{"resource_logs": []}"#, Some(OtlpJson)),
            (r#"{"trace": {"batches": []}}"#, Some(OtlpJson)),
            (r#"{"trace": {"spans": []}}"#, None),
            (r#"[{"spanId": "x"}, {"traceId": "y"}]"#, Some(OtlpJson)),
            (r#"[{"spanId": "x"}, {"resourceSpans": []}]"#, None),
            ("[]", None),
            ("5", None),
            ("", None),
            ("\u{feff}{\"data\": []}", None),
            ("\n {\"spanId\": \"x\"}\u{a0}\nnot json", Some(OtlpJson)),
            ("{\"resourceSpans\": []}\r\n{}", Some(OtlpJson)),
            ("{\"data\": []}\n{\"data\": []}", None),
            ("{\"data\": [", None),
        ] {
            assert_eq!(detect(text, &parse(text, &ParseOptions::default())), expected, "{text:?}");
        }
    }

    #[test]
    fn names() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "zipkin".parse::<Format>().expect_err("unknown").to_string();
        assert_eq!(error, "Unknown trace format 'zipkin'. Supported: ['jaeger-json', 'otlp-json']");
    }
}
