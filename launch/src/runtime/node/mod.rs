//! JavaScript and TypeScript evaluators, run by Node.js.

mod runtime;

pub use runtime::Node;
