//! Contracts: which document an evaluator is written against.

use evaluator_protocol::EvalInput;

/// A contract: the document that an evaluator written against it sees.
///
/// `#[evaluator(contract = ..)]` chooses one; [`Agentevals`] is the default. The trait is sealed.
pub trait Contract: sealed::Sealed + Sized + 'static {
    /// Name, as in `#[evaluator(contract = ..)]`.
    const NAME: &'static str;

    /// The document.
    type Input;

    /// The document as this contract has it.
    #[doc(hidden)]
    fn adopt(document: EvalInput) -> Self::Input;
}

/// The contract of agentevals: [`EvalInput`] in, [`EvalResult`](crate::EvalResult) out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agentevals {}

impl Contract for Agentevals {
    const NAME: &'static str = "agentevals";
    type Input = EvalInput;

    fn adopt(document: EvalInput) -> EvalInput {
        document
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Agentevals {}
}
