//! The client as an argument of evaluators.

use super::{client::TargetClient, settings::NOT_CONFIGURED};
use crate::{context::Context, contract::Contract, extract::FromInput, failure::Rejection};

/// From the environment, whatever the document.
#[diagnostic::do_not_recommend]
impl<C: Contract> FromInput<'_, C> for TargetClient {
    fn from_input(context: &Context<C>) -> Result<Self, Rejection> {
        Self::from_input_if_present(context)?.ok_or_else(|| Rejection::new("", NOT_CONFIGURED))
    }

    fn from_input_if_present(_: &Context<C>) -> Result<Option<Self>, Rejection> {
        Self::from_env().map_err(|error| Rejection::new("", error.to_string()))
    }
}
