//! evaluator-sdk
