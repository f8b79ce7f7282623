//! Faults that make all answers of a program unreliable.

use crate::verdict::Verdict;

/// A fault of a worker that does not belong to a single document.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WorkerFault {
    /// A program without numbered lines has printed more answers than it was sent documents, so answers may have been
    /// assigned to the wrong documents.
    Desynchronized,
    /// A worker failed on exit after it had answered every document, or when no document can be identified as the
    /// cause. A process started for a single document would have failed in the same way.
    BadExit {
        /// Kind of exit: with a code, by a signal, not in time, or with its standard output still open.
        verdict: Verdict,
        /// Its standard error that belongs to no document.
        stderr: String,
    },
}

impl WorkerFault {
    /// Describes the fault and what to do about it, as a sentence about the evaluator `name`.
    pub fn explain(&self, name: &str) -> String {
        let (verdict, stderr) = match self {
            Self::Desynchronized => {
                return format!(
                    "{name}: it printed more answers than it was given documents, so its answers may stand with other \
                     conversations than they are about. It has to print one line for each document; until then give it \
                     `isolation: process`."
                );
            }
            Self::BadExit { verdict, stderr } => (verdict, stderr.trim()),
        };
        let what = match verdict {
            Verdict::Exited { code } => format!("exited with code {code}"),
            Verdict::Signalled { signal } => format!("was ended by signal {signal}"),
            Verdict::TimedOut { limit } => {
                format!("was still running {} s after the end of its input", limit.as_secs_f64())
            }
            Verdict::LeakedPipe => {
                "exited, but a process it started still has its stdout open".to_owned()
            }
            Verdict::Cancelled => {
                "was killed before it exited, because the run was cancelled".to_owned()
            }
            other => other.explain(name, "").unwrap_or_default(),
        };
        let stderr = match stderr {
            "" => String::new(),
            _ => format!("\nEvaluator stderr:\n{stderr}"),
        };
        format!(
            "{name}: a worker {what}, outside of any evaluation, so the results of this evaluator cannot be relied on{stderr}"
        )
    }
}
