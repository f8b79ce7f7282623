//! The signature of a function, read as far as an evaluator's is looked at.
//!
//! syn reads signatures with its feature `full`, the grammar of all of Rust, which takes every author's fresh build a
//! second longer than the grammar of derive macros. That one has types. Patterns, bounds and the few types it does not
//! have are taken as they come: the compiler has read them before us.

mod argument;
mod parse;
mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use argument::{Input, Typed};
pub(crate) use parse::{GenericParameter, Signature};
