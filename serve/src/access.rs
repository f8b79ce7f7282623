//! Finished requests.

use std::{fmt, time::Duration};

/// A finished request.
#[derive(Clone, Debug)]
pub struct Access {
    /// Method.
    pub method: String,
    /// Path, without the query.
    pub path: String,
    /// Status of the response; `None` if the client disconnected before the response.
    pub status: Option<u16>,
    /// Time until the response was ready.
    pub took: Duration,
    /// Remarks about the evaluation.
    pub remarks: Remarks,
}

/// Result of a document, in addition to the response.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    /// Name of the evaluator.
    pub evaluator: Option<String>,
    /// Name of the document's contract.
    pub contract: Option<&'static str>,
    /// Reason why there is no answer; its first line names the cause.
    pub error: Option<String>,
    /// Paths of parts of the document that were not passed to the evaluator.
    pub dropped: Vec<String>,
    /// Warnings about the answer.
    pub warnings: Vec<String>,
    /// End of the evaluator's standard error.
    pub stderr: String,
}

impl fmt::Display for Access {
    /// One line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.method, self.path)?;
        match self.status {
            Some(status) => write!(f, "{status}")?,
            None => f.write_str("-")?,
        }
        write!(f, " {:.1}ms", self.took.as_secs_f64() * 1000.0)?;
        if let Some(contract) = self.remarks.contract {
            write!(f, " {contract}")?;
        }
        if self.status.is_none() {
            f.write_str(", the client disconnected")?;
        }
        if let Some(error) = &self.remarks.error {
            write!(f, ": {}", error.lines().next().unwrap_or_default())?;
        }
        if !self.remarks.dropped.is_empty() {
            write!(f, ", without {}", self.remarks.dropped.join(", "))?;
        }
        self.remarks.warnings.iter().try_for_each(|warning| write!(f, ", warning: {warning}"))
    }
}
