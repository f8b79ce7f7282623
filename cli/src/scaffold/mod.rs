//! Creates evaluators from templates, for `evaluator init` and `cargo evaluator new`.
//!
//! [`Request`] holds the arguments, [`render`] writes the files and returns a [`Created`] that displays the next steps. The
//! directory is created completely or not at all.

mod create;
mod entry;
mod name;
mod request;
mod share;
mod template;

use self::name::Name;
pub use self::{
    create::{Created, render},
    entry::Entry,
    name::ScaffoldError,
    request::{Request, SdkSource},
    template::Template,
};
pub(crate) use self::{entry::scalar, share::share_builds, template::language_parser};
pub use evaluator_host::runtime::Language;
