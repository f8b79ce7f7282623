//! The source `builtin`: the metrics of this program.

use super::{Entry, EvaluatorSource, Fetched, Freshness, Listing, Reference, SourceError};
use crate::{metric::Metrics, process::Cancellation};

/// Lists the built-in metrics. They are named with `type: builtin`; there is nothing to fetch.
#[derive(Clone, Debug, Default)]
pub struct Builtin {
    metrics: Metrics,
}

impl Builtin {
    /// Lists these.
    #[must_use]
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics }
    }
}

impl EvaluatorSource for Builtin {
    fn name(&self) -> &str {
        "builtin"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok("builtin".to_owned())
    }

    fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
        let entries = self.metrics.iter().map(|metric| {
            let description = match metric.unavailable() {
                None => metric.description().to_owned(),
                Some(reason) => format!("{} (not available: {reason})", metric.description()),
            };
            Entry { name: metric.name().to_owned(), description, ..Entry::default() }
        });
        Ok(Listing { entries: entries.collect(), warnings: Vec::new() })
    }

    fn fetch(&self, reference: &Reference, _: &Cancellation) -> Result<Fetched, SourceError> {
        Err(SourceError::NotFound {
            what: format!("file `{reference}`"),
            place: "the source `builtin`, whose metrics are named with `type: builtin`".to_owned(),
        })
    }
}
