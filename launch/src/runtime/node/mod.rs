//! JavaScript and TypeScript files, run by Node.js.

mod compile_cache;
mod own_tests;
mod runtime;
mod version;

pub use runtime::Node;
