//! JavaScript and TypeScript files, run by Node.js.

mod compile_cache;
mod runtime;
mod version;

pub use runtime::Node;
