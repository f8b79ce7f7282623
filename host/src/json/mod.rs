//! JSON as recorded traces and Python evaluators really contain it.
//!
//! `serde_json::Value` cannot hold what Python's `json` module reads and writes: integers of any size, `NaN` and
//! `Infinity`. This module has a value type that can, a parser that is bounded in depth, and the text form Python gives.
//!
//! | to | use |
//! |---|---|
//! | read a document | [`parse`] with [`ParseOptions`] |
//! | read text found inside a document | [`parse_python`] |
//! | write for the wire | [`write()`], [`to_string`] or `serde::Serialize` |
//! | write a report | [`to_pretty`] |
//! | get the text Python would give | [`to_python`], [`to_python_in_order`], [`output_text`] |
//! | compare as Python does | [`python_eq`] |

mod convert;
mod error;
mod keys;
mod opaque;
mod parse;
mod plain;
mod python_eq;
mod repeated;
mod scan;
mod source;
mod strings;
mod tokens;
mod value;
mod window;
mod write;

pub(crate) use keys::camel_case;
pub(crate) use opaque::{Paths, Step};
pub(crate) use parse::{REPEATED_KEY, parse_items, parse_leaving};
pub(crate) use repeated::{MARKED, take_repeated_among, take_repeated_key};
pub(crate) use scan::{ScanError, Scanner};
pub(crate) use source::{Ahead, Checked, Interrupted, Source};
pub(crate) use write::{to_pretty_inside, write_string};

pub use error::{ParseError, ParseErrorKind};
pub use parse::{MAX_DEPTH, ParseOptions, Parsed, RepeatedKeys, Surrogates, parse, parse_python};
pub use python_eq::python_eq;
pub use value::{Object, Value};
pub use write::{
    NonFinite, output_text, to_pretty, to_python, to_python_in_order, to_string, write,
};
