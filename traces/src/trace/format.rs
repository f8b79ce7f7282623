//! The trait that each trace format implements.

use std::fmt;

use super::{decoded::Decoded, error::LoadErrorKind, index::Grammar};
use crate::json::{ParseError, Parsed};

/// A format of trace files.
///
/// To add a format, implement this trait in a file of its own and add a row to [`TraceFormats::default`](super::TraceFormats::default); a program that
/// embeds this crate calls [`TraceFormats::register`](super::TraceFormats::register) instead.
///
/// The files of the formats of this crate are scanned without holding them in memory. Files of other formats are decoded whole,
/// if none of this crate knows them.
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

    /// Returns the grammar of a format of this crate. Default: none.
    #[doc(hidden)]
    fn grammar(&self) -> Option<Grammar> {
        None
    }
}
