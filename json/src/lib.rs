//! JSON and text as Python programs write and read them.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! `serde_json::Value` cannot hold what Python's `json` module reads and writes: integers of any size, `NaN` and
//! `Infinity`. This crate has a value type that can, a parser with bounded depth, a scanner for documents larger than
//! memory, and the text that Python gives for a value. Recorded traces and eval sets are compared with results of Python
//! programs, so whitespace, numbers in text and matching without case follow Python's rules, too.
//!
//! | to | use |
//! |---|---|
//! | read a document | [`parse`] with [`ParseOptions`] |
//! | read text found inside a document | [`parse_python`] |
//! | read parts of a document without holding it | [`Scanner`] over a [`Source`] |
//! | read a Python literal (`{'a': 1}`), object (`A(b=1)`) or number in text | [`parse_literal`], [`parse_repr`], [`parse_int`], [`parse_float`] |
//! | write for the wire | [`write()`], [`to_string`] or `serde::Serialize` |
//! | write a report | [`to_pretty`], [`to_indented`], [`to_line`] |
//! | get the text Python would give | [`to_python`], [`to_python_in_order`], [`output_text`], [`scalar_text`], [`string_repr`] |
//! | read a file from an untrusted source | [`read_file`] |
//! | compare as Python does | [`python_eq`], [`casefold`], [`normalize`], [`strip`] |
//!
//! ```
//! use evaluator_json::{ParseOptions, parse, to_python};
//!
//! let parsed = parse(r#"{"tokens": 123456789012345678901234567890, "score": NaN}"#, &ParseOptions::default())?;
//! assert_eq!(to_python(&parsed.value), r#"{"score": NaN, "tokens": 123456789012345678901234567890}"#);
//! # Ok::<(), evaluator_json::ParseError>(())
//! ```

mod error;
mod file;
mod parse;
mod plain;
mod python;
mod scan;
mod source;
mod text;
mod value;
mod values;
mod write;

pub use error::{ParseError, ParseErrorKind};
pub use file::{read_at_most, read_file};
pub use parse::{
    MARKED, ParseOptions, Parsed, Paths, REPEATED_KEY, RepeatedKeys, Step, Surrogates,
    mark_repeated, parse, parse_items, parse_leaving, parse_python, take_repeated_key,
};
pub use python::{is_repr, parse_literal, parse_repr, python_eq};
pub use scan::{ScanError, Scanner};
pub use source::{Ahead, Checked, Interrupted, Source};
pub use text::{
    camel_case, casefold, float_repr, is_printable, is_space, normalize, parse_float, parse_int,
    scalar_text, string_repr, strip,
};
pub use value::{MAX_DEPTH, Object, Value, count, object};
pub use write::{
    AsText, NonFinite, output_text, reindent_inside, to_indented, to_line, to_pretty,
    to_pretty_inside, to_python, to_python_in_order, to_string, write, write_pretty_inside,
    write_string,
};
