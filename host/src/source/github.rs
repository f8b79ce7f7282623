//! The source `github`: a repository with an index, and the cached index.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
    time::{Duration, SystemTime},
};

use serde::Deserialize;

use super::{
    EvaluatorSource, Fetched, Freshness, Listing, Reference, SourceError,
    collect::{CARGO_MANIFEST, MAX_FILE_BYTES, MAX_FILES, Package, Tree, collect},
    disk,
    http::{BaseUrl, Client},
    index::{self, Index},
    model::sha256,
    reference::join,
};
use crate::{process::Cancellation, runtime::Environment};

const REPO: (&str, &str) = ("AGENTEVALS_EVALUATOR_REPO", "agentevals-dev/evaluators");
const BRANCH: (&str, &str) = ("AGENTEVALS_EVALUATOR_BRANCH", "main");
const BASE: (&str, &str) = ("AGENTEVALS_EVALUATOR_BASE_URL", "https://raw.githubusercontent.com");
const API: (&str, &str) = ("AGENTEVALS_EVALUATOR_API_URL", "https://api.github.com");

/// Maximum size of the list of a repository's files in bytes.
const MAX_LIST_BYTES: u64 = 32 << 20;

/// Evaluators in a repository on GitHub, or a mirror of it.
#[derive(Clone, Debug)]
pub struct GitHub {
    environment: Environment,
    client: Arc<OnceLock<Result<Client, SourceError>>>,
    /// Index at the first fetch of this program.
    index: Arc<Mutex<Option<Arc<Index>>>>,
}

/// Location of the repository.
struct Place {
    repo: String,
    branch: String,
    base: BaseUrl,
}

impl Place {
    fn path(&self, path: &str) -> String {
        format!("{}/{}/{path}", self.repo, self.branch)
    }

    fn origin(&self) -> String {
        self.base.join(&format!("{}/{}", self.repo, self.branch))
    }
}

impl GitHub {
    /// Creates the source with the settings of an environment, see
    /// [`Sources::in_environment`](super::Sources::in_environment).
    pub fn new(environment: Environment) -> Self {
        Self { environment, client: Arc::default(), index: Arc::default() }
    }

    fn setting(&self, (variable, default): (&'static str, &str)) -> Result<String, SourceError> {
        let Some(text) = self.environment.get(variable) else { return Ok(default.to_owned()) };
        text.to_str()
            .map(|text| text.trim().to_owned())
            .ok_or_else(|| SourceError::Setting { variable, reason: "is not UTF-8".to_owned() })
    }

    fn place(&self) -> Result<Place, SourceError> {
        let (repo, branch) = (self.setting(REPO)?, self.setting(BRANCH)?);
        let wrong = |variable: &'static str, text: &str, what: &str| SourceError::Setting {
            variable,
            reason: format!("must be {what}, not `{text}`"),
        };
        if repo.split('/').count() != 2 || !repo.split('/').all(is_name) {
            return Err(wrong(REPO.0, &repo, "OWNER/NAME"));
        }
        if !branch.split('/').all(is_name) {
            return Err(wrong(BRANCH.0, &branch, "a branch, a tag or a commit"));
        }
        Ok(Place { repo, branch, base: BaseUrl::parse(BASE.0, &self.setting(BASE)?)? })
    }

    fn client(&self) -> Result<&Client, SourceError> {
        self.client.get_or_init(|| Client::new(&self.environment)).as_ref().map_err(Clone::clone)
    }

    fn fetch_index(&self, place: &Place) -> Result<Vec<u8>, SourceError> {
        self.client()?.get(&place.base, &place.path(index::FILE), index::MAX_BYTES)
    }

    /// Returns the current index, never the cached one, because it has the hashes of files. A repository may have none.
    fn current_index(&self, place: &Place) -> Result<Arc<Index>, SourceError> {
        let mut known = self.index.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(index) = &*known {
            return Ok(Arc::clone(index));
        }
        let index = match self.fetch_index(place) {
            Ok(bytes) => Index::parse(&bytes, &place.base.join(&place.path(index::FILE)))?,
            Err(error) if error.is_not_found() => Index::default(),
            Err(error) => return Err(error),
        };
        Ok(Arc::clone(known.insert(Arc::new(index))))
    }
}

/// Returns true for a part of the name of a repository or branch that needs no quoting in a URL.
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !text.is_empty() && text != "." && text != ".." && text.chars().all(plain)
}

impl EvaluatorSource for GitHub {
    fn name(&self) -> &str {
        "github"
    }

    fn origin(&self) -> Result<String, SourceError> {
        Ok(self.place()?.origin())
    }

    fn list(&self, freshness: Freshness) -> Result<Listing, SourceError> {
        let place = self.place()?;
        let url = place.base.join(&place.path(index::FILE));
        let cache = IndexCache::new(&self.environment, &place.origin());
        let kept =
            cache.as_ref().and_then(IndexCache::read).filter(|_| freshness == Freshness::Cached);
        // An invalid file was not written by this program.
        let kept = kept.and_then(|(bytes, young)| Some((Index::parse(&bytes, &url).ok()?, young)));
        if let Some((index, true)) = &kept {
            return Ok(index.listing());
        }
        let fetched = self.fetch_index(&place).and_then(|bytes| {
            let index = Index::parse(&bytes, &url)?;
            if let Some(cache) = &cache {
                cache.keep(&bytes);
            }
            Ok(index.listing())
        });
        match (fetched, kept) {
            (Err(error), Some((index, _))) => {
                let mut listing = index.listing();
                listing.warnings.push(format!("{error}; an older cached index is used"));
                Ok(listing)
            }
            (fetched, _) => fetched,
        }
    }

    fn fetch(
        &self,
        reference: &Reference,
        cancellation: &Cancellation,
    ) -> Result<Fetched, SourceError> {
        let place = self.place()?;
        let index = self.current_index(&place)?;
        collect(&Repository { source: self, place }, &index, reference, cancellation)
    }
}

/// The files of the repository.
struct Repository<'a> {
    source: &'a GitHub,
    place: Place,
}

impl Tree for Repository<'_> {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, SourceError> {
        self.source.client()?.get(&self.place.base, &self.place.path(path), most)
    }

    fn package(&self, reference: &Reference) -> Result<Option<Package>, SourceError> {
        let api = self.source.setting(API)?;
        if self.place.base.as_str() != BASE.1 && self.source.environment.get(API.0).is_none() {
            // The files on GitHub need not be those of the mirror.
            return Err(SourceError::NotSetUp {
                name: self.source.name().to_owned(),
                hint: format!(
                    "its index does not list the files of {reference}; list them there, or name the API of the mirror in {}",
                    API.0
                ),
            });
        }
        let api = BaseUrl::parse(API.0, &api)?;
        let branch = self.place.branch.replace('/', "%2F");
        let path = format!("repos/{}/git/trees/{branch}?recursive=1", self.place.repo);
        let bytes = self.source.client()?.get(&api, &path, MAX_LIST_BYTES)?;
        let place = api.join(&path);
        let list: List =
            serde_json::from_slice(&bytes).map_err(|error| SourceError::Malformed {
                place: format!("{place}:{}:{}", error.line(), error.column()),
                reason: "this is not the list of the files of a repository".to_owned(),
            })?;
        list.package(reference, &place)
    }
}

/// Response of the API: all files of a repository.
#[derive(Debug, Deserialize)]
struct List {
    tree: Vec<Item>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Debug, Deserialize)]
struct Item {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    size: u64,
}

impl List {
    fn package(&self, reference: &Reference, place: &str) -> Result<Option<Package>, SourceError> {
        let is_file =
            |path: &str| self.tree.iter().any(|item| item.kind == "blob" && item.path == path);
        let manifest = |directory: &&str| is_file(&join(directory, CARGO_MANIFEST));
        let too_large = |limit: String| SourceError::TooLarge { what: place.to_owned(), limit };
        if self.truncated {
            return Err(too_large("the API lists only a part of it".to_owned()));
        }
        let Some(directory) = reference.directories().chain([""]).find(manifest) else {
            return Ok(None);
        };
        let prefix = join(directory, "");
        let mut files = Vec::new();
        for item in &self.tree {
            let Some(path) = item.path.strip_prefix(&prefix) else { continue };
            if path.starts_with("target/") || item.kind == "tree" {
                continue;
            }
            if item.kind != "blob" || item.mode == "120000" {
                return Err(SourceError::Unsafe {
                    reason: format!("`{}` in the repository is not a file but a link", item.path),
                });
            }
            if item.size > MAX_FILE_BYTES {
                return Err(too_large(format!(
                    "`{}` has more than {MAX_FILE_BYTES} bytes",
                    item.path
                )));
            }
            files.push(path.to_owned());
        }
        if files.len() > MAX_FILES {
            return Err(too_large(format!("{directory} has more than {MAX_FILES} files")));
        }
        files.sort();
        Ok(Some(Package { directory: directory.to_owned(), files }))
    }
}

/// Lifetime of a cached index, as in agentevals.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Cached index of one origin.
#[derive(Clone, Debug)]
struct IndexCache {
    path: PathBuf,
}

impl IndexCache {
    /// Returns `None` if there is no home directory.
    fn new(environment: &Environment, origin: &str) -> Option<Self> {
        let name = format!("{}.yaml", &sha256(origin.as_bytes())[..16]);
        Some(Self { path: disk::cache_home(environment)?.join("index").join(name) })
    }

    /// Returns the text, and whether it is younger than its lifetime; a file from the future is not. `None` if it cannot be
    /// read; the index is then fetched.
    fn read(&self) -> Option<(Vec<u8>, bool)> {
        let bytes = disk::read(&self.path, index::MAX_BYTES).ok().flatten()?;
        let written = fs::metadata(&self.path).and_then(|meta| meta.modified()).ok()?;
        let young = SystemTime::now().duration_since(written).is_ok_and(|age| age < LIFETIME);
        Some((bytes, young))
    }

    /// Writes the index. If that fails, the index is fetched again next time.
    fn keep(&self, bytes: &[u8]) {
        if let Some(directory) = self.path.parent() {
            let _ = disk::make_private(directory).and_then(|()| disk::write(&self.path, bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> List {
        serde_json::from_str(text).unwrap()
    }

    fn package(list: &List, reference: &str) -> Result<Option<Package>, SourceError> {
        list.package(&Reference::parse(reference).unwrap(), "api")
    }

    #[test]
    fn the_nearest_package_is_taken_with_all_its_files() {
        let list = list(
            r#"{"sha": "x", "truncated": false, "tree": [
                {"path": "e/a", "mode": "040000", "type": "tree", "sha": "1"},
                {"path": "e/a/Cargo.toml", "mode": "100644", "type": "blob", "size": 3},
                {"path": "e/a/src/main.rs", "mode": "100644", "type": "blob", "size": 3},
                {"path": "e/a/target/x", "mode": "100644", "type": "blob", "size": 3},
                {"path": "e/ab/Cargo.toml", "mode": "100644", "type": "blob", "size": 3},
                {"path": "e/linked/Cargo.toml", "mode": "100644", "type": "blob", "size": 3},
                {"path": "e/linked/src", "mode": "120000", "type": "blob", "size": 3},
                {"path": "e/big/Cargo.toml", "mode": "100644", "type": "blob", "size": 99999999}]}"#,
        );
        let files = ["Cargo.toml", "src/main.rs"].map(str::to_owned).into();
        assert_eq!(
            package(&list, "e/a/src/main.rs").unwrap(),
            Some(Package { directory: "e/a".to_owned(), files })
        );
        assert_eq!(package(&list, "e/lone.rs").unwrap(), None);
        assert!(matches!(package(&list, "e/linked/src/main.rs"), Err(SourceError::Unsafe { .. })));
        assert!(matches!(package(&list, "e/big/src/main.rs"), Err(SourceError::TooLarge { .. })));
    }

    #[test]
    fn half_a_list_is_no_list() {
        let list = list(r#"{"truncated": true, "tree": []}"#);
        assert!(matches!(package(&list, "a.rs"), Err(SourceError::TooLarge { .. })));
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        for (variable, value) in [
            ("AGENTEVALS_EVALUATOR_REPO", "just-a-name"),
            ("AGENTEVALS_EVALUATOR_REPO", "a/../b"),
            ("AGENTEVALS_EVALUATOR_REPO", "a/b?x"),
            ("AGENTEVALS_EVALUATOR_BRANCH", "../other"),
            ("AGENTEVALS_EVALUATOR_BASE_URL", "http://mirror.example"),
        ] {
            let source = GitHub::new(Environment::new([(variable, value)]));
            let error = source.origin().unwrap_err().to_string();
            assert!(error.starts_with(variable), "{error}");
        }
        let source =
            GitHub::new(Environment::new([("AGENTEVALS_EVALUATOR_BRANCH", "feature/x.1")]));
        assert_eq!(
            source.origin().unwrap(),
            "https://raw.githubusercontent.com/agentevals-dev/evaluators/feature/x.1"
        );
    }
}
