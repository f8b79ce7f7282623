//! The source `file`: an index on this machine.

use std::path::{Path, PathBuf};

use super::{
    EvaluatorSource, Fetched, Freshness, Listing, Reference, SourceError,
    collect::collect,
    disk,
    folder::FolderTree,
    index::{self, Index},
};
use crate::{process::Cancellation, runtime::Environment};

/// Variable with the path of the index.
const VARIABLE: &str = "AGENTEVALS_EVALUATOR_INDEX";

/// Evaluators that an `index.yaml` on this machine lists. References are relative to its folder.
#[derive(Clone, Debug)]
pub struct File {
    index: Option<PathBuf>,
}

impl File {
    /// The source of this index, or of the `index.yaml` in this folder.
    #[must_use]
    pub fn new(index: impl Into<PathBuf>) -> Self {
        Self { index: Some(index.into()) }
    }

    /// The source of the index that `AGENTEVALS_EVALUATOR_INDEX` names.
    #[must_use]
    pub fn in_environment(environment: &Environment) -> Self {
        Self { index: environment.get(VARIABLE).map(PathBuf::from) }
    }

    fn index(&self) -> Result<PathBuf, SourceError> {
        let path = self.index.as_deref().ok_or_else(|| SourceError::NotSetUp {
            name: self.name().to_owned(),
            hint: format!(
                "name its index in {VARIABLE} or as `sources: {{file: PATH}}` in the configuration"
            ),
        })?;
        let path = if path.is_dir() { path.join(index::FILE) } else { path.to_owned() };
        // The index may be reached through links.
        path.canonicalize().map_err(|_| not_there(&path))
    }

    fn read(&self) -> Result<(Index, FolderTree), SourceError> {
        let path = self.index()?;
        let bytes = disk::read(&path, index::MAX_BYTES)?.ok_or_else(|| not_there(&path))?;
        let index = Index::parse(&bytes, &path.display().to_string())?;
        Ok((index, FolderTree::new(path.parent().unwrap_or(Path::new("/")))?))
    }
}

fn not_there(path: &Path) -> SourceError {
    SourceError::NotFound { what: "index".to_owned(), place: path.display().to_string() }
}

impl EvaluatorSource for File {
    fn name(&self) -> &str {
        "file"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok(self.index()?.display().to_string())
    }

    fn is_near(&self) -> bool {
        true
    }

    fn list(&self, _: Freshness) -> Result<Listing, SourceError> {
        Ok(self.read()?.0.listing())
    }

    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError> {
        let (index, tree) = self.read()?;
        collect(&tree, &index, reference, cancellation)
    }
}
