//! What the `evaluator` command consists of, as a library: no stable interface, and no use but the command's own.

pub mod scaffold;
