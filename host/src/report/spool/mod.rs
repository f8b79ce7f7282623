//! Reports of conversations that are written down when they are finished, and read again as often as somebody asks.
//!
//! However many conversations a run has, a bounded part of what came of them is in memory; the rest is in a temporary file.
//!
//! | file | what |
//! |---|---|
//! | `packed` | the form in which values are written down |
//! | `records` | that form of everything a report is made of |
//! | `store` | bytes, in memory and in the file |

mod packed;
mod records;
mod store;

#[cfg(test)]
mod tests;

pub(super) use packed::Names;
pub(super) use store::{Reader, Store};
