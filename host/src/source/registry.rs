//! The sources that are known.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{
    Entry, EvaluatorSource, Fetched, File, Freshness, GitHub, Listing, Local, Reference,
    SourceError, reference::is_plain,
};
use crate::{metric::Metrics, process::Cancellation, runtime::Environment};

/// Registry of the sources that a run may use, by name. Starts with `builtin`, `file`, `github` and `local`.
#[derive(Clone, Debug)]
pub struct Sources {
    by_name: BTreeMap<String, Arc<dyn EvaluatorSource>>,
}

impl Default for Sources {
    fn default() -> Self {
        Self::in_environment(&Environment::inherited())
    }
}

impl Sources {
    /// Returns the sources of this crate with their settings in `environment`:
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `AGENTEVALS_EVALUATOR_REPO` | repository of `github`, as `OWNER/NAME` | `agentevals-dev/evaluators` |
    /// | `AGENTEVALS_EVALUATOR_BRANCH` | its branch, tag or commit | `main` |
    /// | `AGENTEVALS_EVALUATOR_BASE_URL` | base URL of its files | `https://raw.githubusercontent.com` |
    /// | `AGENTEVALS_EVALUATOR_API_URL` | API for listing its directories | `https://api.github.com` |
    /// | `AGENTEVALS_GITHUB_TOKEN`, else `GITHUB_TOKEN` | credential for both | none |
    /// | `AGENTEVALS_EVALUATOR_TIMEOUT` | time limit for one file in seconds | 30 |
    /// | `AGENTEVALS_EVALUATOR_INDEX` | index of `file` | none |
    /// | `AGENTEVALS_EVALUATOR_DIR` | directory of `local` | none |
    /// | `SSL_CERT_FILE` | certificates to trust, in PEM | those of Mozilla |
    pub fn in_environment(environment: &Environment) -> Self {
        let mut sources = Self { by_name: BTreeMap::new() };
        sources.register_source(Builtin::new(crate::metric::built_in()));
        sources.register_source(GitHub::new(environment.clone()));
        sources.register_source(File::in_environment(environment));
        sources.register_source(Local::in_environment(environment));
        sources
    }

    /// Adds a source; one of the same name is replaced.
    pub fn register_source(&mut self, source: impl EvaluatorSource + 'static) {
        self.by_name.insert(source.name().to_owned(), Arc::new(source));
    }

    /// Returns these sources with other locations of `file` and `local`, if given.
    pub fn located(&self, index: Option<&Path>, directory: Option<&Path>) -> Self {
        let mut sources = self.clone();
        if let Some(index) = index {
            sources.register_source(File::new(index));
        }
        if let Some(directory) = directory {
            sources.register_source(Local::new(directory));
        }
        sources
    }

    /// Names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    /// The sources in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn EvaluatorSource>> {
        self.by_name.values()
    }

    /// The source of that name.
    ///
    /// # Errors
    ///
    /// [`SourceError::Unknown`] with the names that are known.
    pub fn get(&self, name: &str) -> Result<Arc<dyn EvaluatorSource>, SourceError> {
        // A name becomes a directory of the cache.
        self.by_name.get(name).filter(|_| is_plain(name)).map(Arc::clone).ok_or_else(|| {
            SourceError::Unknown {
                name: name.to_owned(),
                available: self.names().map(str::to_owned).collect(),
            }
        })
    }
}

/// The source `builtin`, which lists metrics. They are used with `type: builtin`; there is nothing to fetch.
#[derive(Clone, Debug, Default)]
pub struct Builtin {
    metrics: Metrics,
}

impl Builtin {
    /// Lists these.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Named(&'static str);

    impl EvaluatorSource for Named {
        fn name(&self) -> &str {
            self.0
        }
        fn origin(&self) -> Result<String, SourceError> {
            Ok(String::new())
        }
        fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
            Ok(Listing::default())
        }
        fn fetch(&self, _: &Reference, _: &Cancellation) -> Result<Fetched, SourceError> {
            Err(SourceError::Cancelled)
        }
    }

    #[test]
    fn unknown_names_list_the_known_ones() {
        let mut sources = Sources::in_environment(&Environment::default());
        assert_eq!(
            sources.get("nowhere").unwrap_err().to_string(),
            "Unknown evaluator source 'nowhere'. Available: ['builtin', 'file', 'github', 'local']"
        );
        sources.register_source(Named("company"));
        assert!(sources.get("company").is_ok());
    }

    #[test]
    fn a_name_that_is_no_plain_directory_is_never_used() {
        let mut sources = Sources::in_environment(&Environment::default());
        for name in ["..", "a/b", ".locks", ""] {
            sources.register_source(Named(name));
            assert!(sources.get(name).is_err(), "{name}");
        }
    }
}
