//! Gates: claims about all cases of one evaluator, and the values of cases that decide them.

mod cases;
mod decide;
mod parse;
mod rule;
mod running;
mod values;

pub use cases::{CaseCount, Cases};
pub(crate) use decide::{CertificateOf, estimate};
pub use decide::{GateResult, Undecided};
pub use parse::GateError;
pub(crate) use rule::counted;
pub use rule::{Gate, Measure};
pub use running::{RunningGate, case_order};
pub(crate) use values::score_of;
pub use values::{CaseValue, CaseValues};
