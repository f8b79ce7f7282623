//! What is told of each request.

use std::{fmt, time::Duration};

/// A request that was dealt with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Access {
    /// Method.
    pub method: String,
    /// Path, without the query.
    pub path: String,
    /// Status of the response; `None` when whoever asked went away before there was one.
    pub status: Option<u16>,
    /// How long it took until the response was there.
    pub took: Duration,
    /// What is to be known of it beside.
    pub remarks: Remarks,
}

/// What came of a document, beside the response.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Remarks {
    /// Name of the evaluator that was asked.
    pub evaluator: Option<String>,
    /// Name of the document's contract.
    pub contract: Option<&'static str>,
    /// Why there was no answer.
    pub error: Option<String>,
    /// Paths of what the document had and the evaluator did not get to see.
    pub dropped: Vec<String>,
    /// What is odd about the answer.
    pub warnings: Vec<String>,
    /// The end of what the evaluator wrote to standard error.
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
            f.write_str(", whoever asked went away")?;
        }
        if let Some(error) = &self.remarks.error {
            write!(f, ": {}", error.lines().next().unwrap_or_default())?;
        }
        if !self.remarks.dropped.is_empty() {
            write!(f, ", without {}", self.remarks.dropped.join(", "))?;
        }
        self.remarks.warnings.iter().try_for_each(|warning| write!(f, ", odd: {warning}"))
    }
}
