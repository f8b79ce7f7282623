//! JavaScript and TypeScript evaluators, run by Node.js.

mod compile_cache;
mod runtime;

pub use runtime::Node;
