//! ADK's `EvalConfig`: the JSON file that `adk eval` is given.
//!
//! ```json
//! {
//!   "criteria": {
//!     "response_match_score": 0.5,
//!     "answer_length": {"threshold": 0.8, "min_length": 10}
//!   },
//!   "custom_metrics": {
//!     "answer_length": {"code_config": {"name": "checks/answer_length.rs"}}
//!   }
//! }
//! ```
//!
//! It says the same as a configuration in YAML and is read into the same [`Config`](super::Config): a criterion is an entry,
//! a name with an entry in `custom_metrics` is a program, any other the built-in metric of that name. In ADK `code_config`
//! names a Python function. Here it names a file or a command, and what else the program needs stands in the criterion,
//! which ADK lets have any keys. What the program may use and see (`limits`, `env`, `inherit_env`, `cwd`) stands beside
//! `code_config`, where no key is the program's own.
//!
//! ADK ignores keys that it does not know, on most levels. Here they are problems, as in YAML: a misspelt key would
//! silently change a verdict. Keys that are known and that nothing is done with are told with `-v`.

mod criterion;
mod custom;
mod detect;
mod info;
mod judge;
mod numbers;
mod program;
mod read;

#[cfg(test)]
mod tests;

pub(super) use detect::recognize;
pub(super) use read::read;
