//! The `evaluator` command.
fn main() {}
