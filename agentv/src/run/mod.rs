//! Runs the tests of an eval file, as a suite of the engine that runs configurations.
//!
//! | file | contents |
//! |---|---|
//! | `plan` | what each test needs, checked before anything runs |
//! | `programs` | the programs of a plan, as entries of a configuration |
//! | `test` | a test: its output, its evaluators, its score |
//! | `edits` | tests with edited outputs |
//! | `evaluate` | an evaluator by its type |
//! | `subject` | what an evaluator evaluates, and what it returns |
//! | `judge` | asking models |
//! | `program` | programs that judge |
//! | `composite` | combining results |
//! | `payload` | the document of programs |
//! | `wording` | questions, answers and tool calls as text |

mod composite;
mod edits;
mod evaluate;
mod judge;
mod payload;
mod plan;
mod program;
mod programs;
mod subject;
mod test;
mod wording;

use evaluator_host::run::{ProgramOutput, Programs};
use evaluator_models::first_sample;

pub use plan::{Options, Plan, PlanError, plan};

use crate::model::Program;

/// The plan of a run, and its programs during a test.
#[derive(Clone, Copy, Debug)]
struct Context<'r> {
    plan: &'r Plan,
    programs: Programs<'r>,
}

impl Context<'_> {
    /// Returns the first sample of every request of this grading.
    fn first_sample(self) -> u32 {
        first_sample(self.programs.repeat())
    }

    /// Gives a document to a program.
    async fn run(self, program: &Program, document: &str) -> ProgramOutput {
        let mut output = self.programs.run(program.index, document.as_bytes()).await;
        output.printed = output.printed.map_err(|error| format!("the program {error}"));
        output
    }
}
