//! Tests of the library through its public functions.

mod dialect;
