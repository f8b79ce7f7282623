//! The trace formats that are known.

use std::{fmt, sync::Arc};

use super::{
    format::TraceFormat,
    index::{Expected, Grammar},
};
use crate::json::{ParseError, Parsed};

/// The known trace formats, in the order in which content is matched against them.
///
/// With more than one format, the content of each file decides. With a single one, every file has to be of that format.
#[derive(Clone, Debug)]
pub struct TraceFormats(Vec<Arc<dyn TraceFormat>>);

impl Default for TraceFormats {
    fn default() -> Self {
        Self(vec![Arc::new(Grammar::Otlp), Arc::new(Grammar::Jaeger)])
    }
}

impl TraceFormats {
    /// Adds a format. It replaces a known one of the same name.
    pub fn register(&mut self, format: impl TraceFormat + 'static) {
        self.0.retain(|known| known.name() != format.name());
        self.0.push(Arc::new(format));
    }

    /// Returns a registry with nothing but this format.
    pub fn only(format: Arc<dyn TraceFormat>) -> Self {
        Self(vec![format])
    }

    /// Returns a registry with nothing but the given format, or with all formats if none is given.
    pub fn given(&self, format: Option<&Arc<dyn TraceFormat>>) -> Self {
        format.map_or_else(|| self.clone(), |format| Self::only(Arc::clone(format)))
    }

    /// Returns the names of all formats in alphabetical order.
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
    fn single(&self) -> Option<&dyn TraceFormat> {
        if let [only] = &self.0[..] { Some(&**only) } else { None }
    }

    /// Returns the grammars that a text may have.
    pub(super) fn expected(&self) -> Expected {
        let has = |grammar| self.iter().any(|format| format.grammar() == Some(grammar));
        Expected {
            otlp: has(Grammar::Otlp),
            jaeger: has(Grammar::Jaeger),
            is_given: self.single().is_some(),
        }
    }

    /// Returns true if there are formats of other crates.
    pub(super) fn have_others(&self) -> bool {
        self.iter().any(|format| format.grammar().is_none())
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
