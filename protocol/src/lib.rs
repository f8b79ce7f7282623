//! evaluator-protocol
