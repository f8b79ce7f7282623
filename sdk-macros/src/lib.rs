//! The `#[evaluator]` attribute macro.
