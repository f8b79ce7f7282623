//! Text as Python's built-in types read and write it.
//!
//! Recordings and eval sets are compared with what Python programs made of them, so whitespace, numbers in text,
//! the text of numbers, and matching without case follow Python's rules here.

mod fold;
mod literal;
mod number;
mod scalar;
mod space;

pub use fold::{casefold, normalize};
pub use literal::parse_literal;
pub use number::{float_repr, parse_float, parse_int};
pub use scalar::{is_printable, scalar_text, string_repr};
pub use space::{is_space, strip};
