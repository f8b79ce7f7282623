//! The table of known sources.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use super::{Builtin, EvaluatorSource, File, GitHub, Local, SourceError, reference::is_plain};
use crate::{metric::Metrics, runtime::Environment};

/// The sources a run may use, by name. Starts with `builtin`, `file`, `github` and `local`.
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
    /// The sources this crate knows, with the settings that `environment` has for them:
    ///
    /// | variable | meaning | default |
    /// |---|---|---|
    /// | `AGENTEVALS_EVALUATOR_REPO` | repository of `github`, as `OWNER/NAME` | `agentevals-dev/evaluators` |
    /// | `AGENTEVALS_EVALUATOR_BRANCH` | its branch, tag or commit | `main` |
    /// | `AGENTEVALS_EVALUATOR_BASE_URL` | where its files are | `https://raw.githubusercontent.com` |
    /// | `AGENTEVALS_EVALUATOR_API_URL` | where its folders can be listed | `https://api.github.com` |
    /// | `AGENTEVALS_GITHUB_TOKEN`, else `GITHUB_TOKEN` | credential for both | none |
    /// | `AGENTEVALS_EVALUATOR_TIMEOUT` | seconds one file may take | 30 |
    /// | `AGENTEVALS_EVALUATOR_INDEX` | index of `file` | none |
    /// | `AGENTEVALS_EVALUATOR_DIR` | folder of `local` | none |
    /// | `SSL_CERT_FILE` | certificates to trust, in PEM | those of Mozilla |
    #[must_use]
    pub fn in_environment(environment: &Environment) -> Self {
        let mut sources = Self { by_name: BTreeMap::new() };
        sources.register_source(Builtin::new(Metrics::default()));
        sources.register_source(GitHub::new(environment.clone()));
        sources.register_source(File::in_environment(environment));
        sources.register_source(Local::in_environment(environment));
        sources
    }

    /// Adds a source; one of the same name is replaced.
    pub fn register_source(&mut self, source: impl EvaluatorSource + 'static) {
        self.by_name.insert(source.name().to_owned(), Arc::new(source));
    }

    /// These sources, with `file` and `local` at other places where some are given.
    #[must_use]
    pub fn located(&self, index: Option<&Path>, folder: Option<&Path>) -> Self {
        let mut sources = self.clone();
        if let Some(index) = index {
            sources.register_source(File::new(index));
        }
        if let Some(folder) = folder {
            sources.register_source(Local::new(folder));
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
        // A name becomes a folder of the cache.
        self.by_name.get(name).filter(|_| is_plain(name)).map(Arc::clone).ok_or_else(|| {
            SourceError::Unknown {
                name: name.to_owned(),
                available: self.names().map(str::to_owned).collect(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        process::Cancellation,
        source::{Fetched, Freshness, Listing, Reference},
    };

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
    fn a_name_that_is_no_plain_folder_is_never_used() {
        let mut sources = Sources::in_environment(&Environment::default());
        for name in ["..", "a/b", ".locks", ""] {
            sources.register_source(Named(name));
            assert!(sources.get(name).is_err(), "{name}");
        }
    }
}
