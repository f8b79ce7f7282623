//! Python evaluators, run by an interpreter of this machine, or in a virtual environment if they name packages that it lacks.

mod build;
mod bundled;
mod contained;
mod image;
mod install;
mod installer;
mod interpreter;
mod needs;
mod plan;
mod references;
pub mod requirements;
mod runtime;
mod venv;
mod wheels;

pub use bundled::Interpreter;
pub use runtime::Python;
