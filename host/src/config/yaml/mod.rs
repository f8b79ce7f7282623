//! YAML with positions.
//!
//! The parser gives events with positions; this module builds a tree of them and gives plain scalars the meaning that
//! YAML 1.1 as Python reads it gives them (`yes` and `on` are booleans, `0755` is octal, `1:30` is ninety), because the
//! files are shared with tools written in Python.

mod node;
mod read;
mod scalar;
mod timestamp;

pub(crate) use node::{Node, NodeKind, Span, object};
pub(crate) use read::read;
