//! The formats of this crate, for the registry.

use std::path::Path;

use super::{
    decoded::Decoded,
    error::LoadErrorKind,
    format::TraceFormat,
    index::{Expected, Grammar, decode},
};
use crate::json::{ParseError, Parsed};

impl TraceFormat for Grammar {
    fn name(&self) -> &'static str {
        match self {
            Self::Otlp => "otlp-json",
            Self::Jaeger => "jaeger-json",
        }
    }

    fn description(&self) -> &'static str {
        match self {
            Self::Otlp => "OTLP JSON, one document or one per line",
            Self::Jaeger => "Jaeger's JSON",
        }
    }

    fn detect(&self, text: &str, _json: &Result<Parsed, ParseError>) -> bool {
        let decoded = decode(text, Path::new(""), expected(*self, false), &mut Decoded::default());
        !matches!(decoded, Err(LoadErrorKind::Undetected { .. }))
    }

    fn decode(
        &self,
        text: &str,
        _json: Result<Parsed, ParseError>,
        out: &mut Decoded,
    ) -> Result<(), LoadErrorKind> {
        let path = out.file.clone();
        decode(text, &path, expected(*self, true), out)
    }

    fn grammar(&self) -> Option<Grammar> {
        Some(*self)
    }
}

fn expected(grammar: Grammar, is_given: bool) -> Expected {
    let [otlp, jaeger] = [Grammar::Otlp, Grammar::Jaeger].map(|known| known == grammar);
    Expected { otlp, jaeger, is_given }
}
