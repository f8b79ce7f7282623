//! Checks evaluators before they are published: manifest, files, sources, and answers.
//!
//! All requirements of the agentevals community's repository are checked, except that a Python evaluator uses their SDK,
//! which is a remark: a program that implements the protocol itself is as good. In addition, the manifest has no unknown
//! keys, every source is read and not only the entrypoint, evaluators with requirements are run like all others, each is run
//! with several documents, and answers must be strictly valid, because other hosts are stricter than this one. An evaluator
//! must not need files that hosts do not fetch.
//!
//! Publishing checks require more than hosts do (a score that is a number, a score for each turn or none), because
//! published evaluators meet stricter hosts. An evaluator with other files in its directory is run once more without
//! them, as hosts fetch it. A check that cannot be made is never green.

mod copy;
mod findings;
mod smoke;
mod structure;
mod targets;
mod validator;

pub use findings::{Check, CheckKind, Finding, Standing, Validation};
pub use targets::{Targets, targets};
pub use validator::Validator;
