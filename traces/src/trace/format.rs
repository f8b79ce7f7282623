//! The trait that each trace format implements.

use std::fmt;

use super::{decoded::Decoded, error::LoadErrorKind, index::Indexer};
use crate::json::{ParseError, Parsed};

/// A format of trace files.
///
/// To add a format, implement this trait in a file of its own and add a row to [`TraceFormats::default`](super::TraceFormats::default); a program that
/// embeds this crate calls [`TraceFormats::register`](super::TraceFormats::register) instead.
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
