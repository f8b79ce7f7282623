//! Checks evaluators before they are published: the manifest, the files, the source, and what they answer.
//!
//! Whatever the checks of the agentevals community's repository demand of an evaluator is demanded here too, but that a
//! Python evaluator uses their SDK (a program that speaks the protocol itself is as good), which is told as a note. Beyond
//! them, the manifest has no unknown keys, every source is read and not only the entrypoint, evaluators with
//! requirements are run like all others, they are run on more than one document, and their answers must be right to the
//! letter, as a host may be less forgiving than the one at hand. What hosts do not fetch with an evaluator, it must not need.

mod alone;
mod examine;
mod findings;
mod inputs;
mod judge;
mod package;
mod python;
mod smoke;
mod targets;
mod validator;

pub use findings::{Check, CheckKind, Finding, Standing, Validation};
pub use targets::{TargetError, Targets, targets};
pub use validator::Validator;
