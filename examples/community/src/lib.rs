//! Code that the evaluators of this directory share: Python's view of settings and texts ([`python`]), and the form of their
//! results ([`result`]).
//!
//! They are rewritten from Python and are held to the answers of their originals, so what is shared is mostly what
//! Python does differently. An evaluator that is new needs none of it.

pub mod python;
pub mod result;
