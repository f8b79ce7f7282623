//! Python evaluators, run by an interpreter of this machine, or in a virtual environment when they bring requirements.
//!
//! | file | what |
//! |---|---|
//! | `runtime` | the runtime: from files to commands |
//! | `interpreter` | which interpreter, and what it is |
//! | `probe` | questions to an interpreter: what it is, which packages it finds |
//! | `distributions` | which packages it finds installed |
//! | `requirements` | `requirements.txt` beside an evaluator, and which of them may be fetched |
//! | `metadata` | the `# /// script` block in an evaluator |
//! | `needs` | what an evaluator needs of all that, and what of it an interpreter lacks |
//! | `plain` | the grammar of requirements that name packages of the index only |
//! | `plan` | which interpreter or environment runs an evaluator |
//! | `references` | files and folders that requirements name, whose content counts as theirs |
//! | `venv` | one cached virtual environment: its name, its lock, its state |
//! | `installer` | uv, or `venv` and pip, and what they say when they fail |
//! | `variables` | the environment variables installers see |
//! | `forks` | a server that forks evaluations from an interpreter that has done the imports |
//! | `own_tests` | the tests that an evaluator brings |
//! | `schedule` | several environments at a time, told as one piece of work |

mod distributions;
mod forks;
mod installer;
mod interpreter;
mod metadata;
mod needs;
mod own_tests;
mod plain;
mod plan;
mod probe;
mod references;
pub mod requirements;
mod runtime;
mod schedule;
mod variables;
mod venv;

pub use runtime::Python;
