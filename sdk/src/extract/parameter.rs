//! Arguments that are told by their names.

use std::borrow::Borrow;

use serde_core::de::DeserializeOwned;

/// A type that an argument told by its name can have: any type that implements `serde::Deserialize` and borrows nothing,
/// and with a `&` before it also `str` and `[T]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the document",
    label = "does not implement `serde::Deserialize`, or borrows",
    note = "take the contract's own type, `serde_json::Value`, or a type of yours with `#[derive(serde::Deserialize)]` that \
            owns its texts"
)]
pub trait ParameterType: DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> ParameterType for T {}

/// What may be behind the `&` of an argument that is told by its name. It is read as `Owned`, and lent to the function.
pub trait Referred {
    /// The type that is read.
    type Owned: Borrow<Self>;
}

#[diagnostic::do_not_recommend]
impl<T> Referred for T {
    type Owned = T;
}

#[diagnostic::do_not_recommend]
impl Referred for str {
    type Owned = String;
}

#[diagnostic::do_not_recommend]
impl<T> Referred for [T] {
    type Owned = Vec<T>;
}
