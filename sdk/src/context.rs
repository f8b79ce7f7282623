//! The input of extractors.

use crate::contract::{Agentevals, Contract};

/// The document at hand, from which [`FromInput`](crate::FromInput) takes the arguments of an evaluator.
pub struct Context<C: Contract = Agentevals> {
    input: C::Input,
}

impl<C: Contract> Context<C> {
    pub(crate) fn new(input: C::Input) -> Self {
        Self { input }
    }

    /// Returns the whole document.
    pub fn input(&self) -> &C::Input {
        &self.input
    }

    pub(crate) fn input_mut(&mut self) -> &mut C::Input {
        &mut self.input
    }
}

impl<C: Contract> std::fmt::Debug for Context<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("contract", &C::NAME.name()).finish_non_exhaustive()
    }
}
