//! Python functions of graders, each conversation in a process of its own.

use std::{ffi::OsString, time::Duration};

use super::context::ExecutionContext;
use crate::{
    json::{NonFinite, ParseOptions, Value, parse, to_string},
    judging::grader::Calls,
    process::{self, Cancellation, CommandSpec},
    runtime::{Inputs, PrivateDirectory},
    verdict::{Verdict, answer_of},
};

/// The program that calls functions, for a file in [`PythonGrader::directory`].
pub const PROGRAM: &str = include_str!("grade.py");

/// A Python interpreter with the program that calls functions.
#[derive(Debug)]
pub struct PythonGrader {
    /// Command of the program.
    pub command: CommandSpec,
    /// Conditions under which it runs.
    pub context: ExecutionContext,
    /// The interpreter and its packages.
    pub inputs: Inputs,
    /// Directory of the program.
    pub directory: PrivateDirectory,
}

impl PythonGrader {
    /// Returns the search path of modules whose changes would not be noticed.
    pub(crate) fn search_path(&self) -> Option<OsString> {
        self.command.variable("PYTHONPATH").filter(|value| !value.is_empty())
    }

    /// Calls the function of a source. The results are in the order of the calls.
    ///
    /// # Errors
    ///
    /// The source cannot be loaded, or the process did not answer.
    pub(crate) async fn call(
        &self,
        name: &str,
        calls: &Calls,
        timeout: Duration,
        cancellation: &Cancellation,
    ) -> Result<Vec<Result<f64, String>>, String> {
        let members = [
            ("source".to_owned(), Value::from(calls.source.as_str())),
            ("calls".to_owned(), Value::Array(calls.arguments.clone())),
        ];
        let document = to_string(&Value::Object(members.into_iter().collect()), NonFinite::Literal);
        let limits = self.context.limits(timeout);
        let outcome = process::run(&self.command, document.as_bytes(), &limits, cancellation).await;
        let stderr = outcome.stderr.text();
        let answer = answer_of(&outcome).map_err(|verdict| match *verdict {
            Verdict::LeakedPipe | Verdict::BadAnswer(_) => {
                "the answer of the Python process is incomplete".to_owned()
            }
            verdict => {
                let reason = verdict.explain(name, &stderr);
                let hint = self.context.hint(&verdict, &[&stderr]);
                [reason, hint].into_iter().flatten().collect::<Vec<_>>().join("; ")
            }
        })?;
        let text = String::from_utf8_lossy(answer);
        let results = parse(&text, &ParseOptions::default()).ok().map(|parsed| parsed.value);
        let results = results.as_ref().and_then(Value::as_array);
        let results = results.ok_or("the Python process exited without an answer")?;
        if results.len() != calls.arguments.len() {
            return Err("the Python process did not answer every call".to_owned());
        }
        Ok(results.iter().map(result).collect())
    }
}

fn result(result: &Value) -> Result<f64, String> {
    match (result.get("value"), result.get("error").and_then(Value::as_str)) {
        (Some(Value::Float(value)), None) => Ok(*value),
        (_, Some(error)) => Err(error.to_owned()),
        _ => Err("the Python process gave no number".to_owned()),
    }
}
