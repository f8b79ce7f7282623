//! Contains a program on Linux, without privileges, a daemon or another program.
//!
//! This crate makes no promise of stability; `evaluator-host` has what programs that embed it need.
//!
//! The executable that uses this crate is also the helper that prepares the sandbox: it is started again under a hidden
//! first argument, gives up everything the program must not have, and executes the program. A host therefore calls
//! [`run_if_helper`] first in `main`:
//!
//! ```no_run
//! use evaluator_sandbox::{Level, Policy, run_if_helper, support, wrap};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     run_if_helper();
//!     let policy = Policy { read: vec!["/srv/lexicon".into()], ..Policy::default() };
//!     support(policy.level)?;
//!     let wrapped = wrap(&policy, "/srv/check".as_ref(), &[], None)?;
//!     println!("{} {:?}", wrapped.program.display(), wrapped.args);
//!     Ok(())
//! }
//! ```

#![cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the helper is for Linux"))]

mod command;
pub mod filter;
mod helper;
mod order;
#[cfg(target_os = "linux")]
mod os;
mod path_text;
pub mod plan;
mod policy;
mod refusal;
mod support;

pub use command::{Wrapped, wrap};
pub use helper::run_if_helper;
pub use order::{HELPER_ERROR, HELPER_FAILED};
pub use policy::{Level, Limits, Listener, Policy};
pub use refusal::{Refusal, RefusalKind};
pub use support::{Support, support};
