//! The source `local`: a folder of evaluators.

use std::{fs, path::PathBuf};

use super::{
    EvaluatorSource, Fetched, Freshness, Listing, Reference, SourceError,
    collect::{Tree, collect},
    folder::FolderTree,
    index::Index,
    manifest,
};
use crate::{process::Cancellation, runtime::Environment};

/// Variable with the path of the folder.
const VARIABLE: &str = "AGENTEVALS_EVALUATOR_DIR";

/// Evaluators in the folders of one folder, each described by its `evaluator.yaml`. References are relative to that one folder.
#[derive(Clone, Debug)]
pub struct Local {
    folder: Option<PathBuf>,
}

impl Local {
    /// The evaluators in this folder.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// The evaluators in the folder that `AGENTEVALS_EVALUATOR_DIR` names.
    #[must_use]
    pub fn in_environment(environment: &Environment) -> Self {
        Self { folder: environment.get(VARIABLE).map(PathBuf::from) }
    }

    fn tree(&self) -> Result<FolderTree, SourceError> {
        let folder = self.folder.as_deref().ok_or_else(|| SourceError::NotSetUp {
            name: self.name().to_owned(),
            hint: format!("name its folder in {VARIABLE} or as `sources: {{local: PATH}}` in the configuration"),
        })?;
        FolderTree::new(folder)
    }
}

impl EvaluatorSource for Local {
    fn name(&self) -> &str {
        "local"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok(self.tree()?.root().display().to_string())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
        let tree = self.tree()?;
        let failed = |error: std::io::Error| SourceError::disk("list", tree.root(), &error);
        let mut folders = Vec::new();
        for entry in fs::read_dir(tree.root()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.path().join(manifest::FILE).is_file() {
                folders.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        folders.sort();
        let mut listing = Listing::default();
        for folder in folders {
            let path = format!("{folder}/{}", manifest::FILE);
            let place = tree.root().join(&path).display().to_string();
            let entry = tree
                .read(&path, manifest::MAX_BYTES)
                .and_then(|bytes| manifest::entry(&bytes, &place, &folder));
            match entry {
                Ok(entry) => listing.entries.push(entry),
                Err(error) => listing.warnings.push(error.to_string()),
            }
        }
        Ok(listing)
    }

    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError> {
        collect(&self.tree()?, &Index::default(), reference, cancellation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    #[test]
    fn folders_with_a_manifest_are_listed_and_a_broken_one_is_a_warning() {
        let folder = Folder::new("source");
        folder.file("b/evaluator.yaml", "name: bee\nentrypoint: b.py\n");
        folder.file("a/evaluator.yaml", "name: ay\nentrypoint: src/main.rs\n");
        folder.file("broken/evaluator.yaml", "name: [x]\n");
        folder.file("other/readme.md", "");
        let listing = Local::new(folder.path("")).list(Freshness::Fresh).unwrap();
        let found: Vec<_> = listing
            .entries
            .iter()
            .map(|entry| (entry.name.as_str(), entry.reference.as_deref().unwrap()))
            .collect();
        assert_eq!(found, [("ay", "a/src/main.rs"), ("bee", "b/b.py")]);
        assert_eq!(listing.warnings.len(), 1);
        assert!(
            listing.warnings[0]
                .ends_with("broken/evaluator.yaml:1:7: `name` must be text, not a list")
        );
    }

    #[test]
    fn without_a_folder_it_says_what_to_set() {
        let error = Local::in_environment(&Environment::default()).origin().unwrap_err();
        assert!(error.to_string().contains(VARIABLE), "{error}");
    }
}
