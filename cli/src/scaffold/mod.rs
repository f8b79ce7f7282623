//! New evaluators from templates: the work of `evaluator init` and `cargo evaluator new`.
//!
//! [`Request`] is what a user asked for, [`render`] writes it and returns a [`Created`] whose text says what to do next.
//! Either the whole folder is there afterwards or nothing is.

mod created;
mod error;
mod name;
mod render;
mod request;
mod sdk_source;
mod template;
mod workspace;

pub use created::Created;
pub use error::{NameProblem, ScaffoldError};
pub use name::Name;
pub use render::render;
pub use request::Request;
pub use sdk_source::SdkSource;
pub use template::{Language, Template};
