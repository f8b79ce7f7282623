//! Trace formats: the trait that each one implements, and the registry of those that are known.

use std::{fmt, sync::Arc};

use super::{
    decoded::Decoded, error::LoadErrorKind, index::Indexer, jaeger::JaegerJson, otlp::OtlpJson,
};
use crate::json::{ParseError, Parsed};

/// A format of trace files.
///
/// To add a format, implement this trait in a file of its own and add a row to [`TraceFormats::default`]; a program that
/// embeds this crate calls [`TraceFormats::register`] instead.
///
/// [`TraceFormat::decode`] is the reference for what a file means. Formats of this crate also have an indexer, a fast path
/// that finds the spans of a file without holding it in memory and has to agree with the reference. Files of a format
/// without an indexer are decoded whole.
pub trait TraceFormat: fmt::Debug + Send + Sync {
    /// Returns the name in options and configuration: lower case, words separated by `-`.
    fn name(&self) -> &'static str;

    /// Returns one line about the format for the help of the command.
    fn description(&self) -> &'static str;

    /// Returns true if a text is of this format. `json` is the result of reading it as one JSON value.
    ///
    /// Only the content decides, never the name of the file. The first registered format that returns true is used.
    fn detect(&self, text: &str, json: &Result<Parsed, ParseError>) -> bool;

    /// Decodes the text of a file. The arguments are those of [`TraceFormat::detect`], and spans, log records and problems
    /// are added to `out`.
    ///
    /// # Errors
    ///
    /// The file cannot be used at all. A part that cannot be used is added to `out` and does not fail.
    fn decode(
        &self,
        text: &str,
        json: Result<Parsed, ParseError>,
        out: &mut Decoded,
    ) -> Result<(), LoadErrorKind>;

    /// Returns the fast path of the format. Default: none.
    #[doc(hidden)]
    fn indexer(&self) -> Option<Indexer> {
        None
    }
}

/// The known trace formats, in the order in which content is matched against them.
///
/// With more than one format, the content of each file decides. With a single one, every file has to be of that format.
#[derive(Clone, Debug)]
pub struct TraceFormats(Vec<Arc<dyn TraceFormat>>);

impl Default for TraceFormats {
    fn default() -> Self {
        Self(vec![Arc::new(OtlpJson), Arc::new(JaegerJson)])
    }
}

impl TraceFormats {
    /// Adds a format. It replaces a known one of the same name.
    pub fn register(&mut self, format: impl TraceFormat + 'static) {
        self.0.retain(|known| known.name() != format.name());
        self.0.push(Arc::new(format));
    }

    /// Returns a registry with nothing but this format.
    #[must_use]
    pub fn only(format: Arc<dyn TraceFormat>) -> Self {
        Self(vec![format])
    }

    /// Returns a registry with nothing but the given format, or with all formats if none is given.
    #[must_use]
    pub fn given(&self, format: Option<&Arc<dyn TraceFormat>>) -> Self {
        format.map_or_else(|| self.clone(), |format| Self::only(Arc::clone(format)))
    }

    /// Returns the names of all formats in alphabetical order.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.iter().map(TraceFormat::name).collect();
        names.sort_unstable();
        names
    }

    /// Returns the format of that name.
    ///
    /// # Errors
    ///
    /// No known format has the name.
    pub fn find(&self, name: &str) -> Result<Arc<dyn TraceFormat>, UnknownFormat> {
        let found = self.0.iter().find(|format| format.name() == name);
        found
            .map(Arc::clone)
            .ok_or_else(|| UnknownFormat { name: name.to_owned(), known: self.names() })
    }

    /// Returns the format of a text, of which `json` is the result of reading it as one JSON value.
    pub(super) fn of(
        &self,
        text: &str,
        json: &Result<Parsed, ParseError>,
    ) -> Option<&dyn TraceFormat> {
        let detected = || self.iter().find(|format| format.detect(text, json));
        self.single().or_else(detected)
    }

    /// Returns the format that every file has to have, if there is only one.
    pub(super) fn single(&self) -> Option<&dyn TraceFormat> {
        if let [only] = &self.0[..] { Some(&**only) } else { None }
    }

    /// Returns the formats in the order in which content is matched against them.
    pub fn iter(&self) -> impl Iterator<Item = &dyn TraceFormat> {
        self.0.iter().map(|format| &**format)
    }
}

/// A name is not the name of a known trace format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown trace format '{name}'. Supported: {known:?}", known = Names(known))]
#[non_exhaustive]
pub struct UnknownFormat {
    /// The name.
    pub name: String,
    /// The names of the known formats.
    pub known: Vec<&'static str>,
}

/// Writes names as Python writes a list of strings.
struct Names<'a>(&'a [&'static str]);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "['{}']", self.0.join("', '"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{MARKED, parse};

    #[test]
    fn content_decides() {
        let formats = TraceFormats::default();
        for (text, expected) in [
            (r#"{"data": null}"#, Some("jaeger-json")),
            (r#"{"data": [], "resourceSpans": []}"#, Some("otlp-json")),
            (r#"{"data": [], "spanId": "x"}"#, Some("otlp-json")),
            (r#"{"resource_logs": []}"#, Some("otlp-json")),
            (r#"{"trace": {"batches": []}}"#, Some("otlp-json")),
            (r#"{"trace": {"spans": []}}"#, None),
            (r#"[{"spanId": "x"}, {"traceId": "y"}]"#, Some("otlp-json")),
            (r#"[{"spanId": "x"}, {"resourceSpans": []}]"#, None),
            ("[]", None),
            ("5", None),
            ("", None),
            ("\u{feff}{\"data\": []}", None),
            ("\n {\"spanId\": \"x\"}\u{a0}\nnot json", Some("otlp-json")),
            ("{\"resourceSpans\": []}\r\n{}", Some("otlp-json")),
            ("{\"data\": []}\n{\"data\": []}", None),
            ("{\"data\": [", None),
        ] {
            let found = formats.of(text, &parse(text, &MARKED)).map(TraceFormat::name);
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn names_are_found() {
        let formats = TraceFormats::default();
        for name in formats.names() {
            assert_eq!(formats.find(name).unwrap().name(), name);
        }
        let error = formats.find("zipkin").expect_err("unknown").to_string();
        assert_eq!(error, "Unknown trace format 'zipkin'. Supported: ['jaeger-json', 'otlp-json']");
    }
}
