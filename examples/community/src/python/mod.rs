//! Python's view of things, as far as evaluators that were written in Python show it.

pub mod json;
pub mod regex;
mod text;
mod value;

pub use text::{repr_text, strip};
pub use value::{Number, is_true, repr, str, text, truth};
