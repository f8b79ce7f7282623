//! `requirements.txt`, and the files and directories of this machine that requirements name.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use sha2::{Digest, Sha256};

use super::requirements::{is_archive, parse, without_comment};
use crate::files;

/// Name of the file.
pub(super) const FILE_NAME: &str = "requirements.txt";

/// The requirements of one evaluator, as they were when they were read.
#[derive(Clone, Debug)]
pub(super) struct Requirements {
    /// The file.
    pub(super) path: PathBuf,
    content: Vec<u8>,
    /// The packages, if only packages of the index are named; otherwise the reason.
    plain: Result<Vec<String>, String>,
    /// Named files and directories, if anything else is named.
    references: References,
}

impl Requirements {
    /// Reads the file next to an evaluator; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Why it cannot be read; for a `fetched` evaluator also what it may not contain.
    pub(super) fn of(source: &Path, fetched: bool) -> Option<Result<Self, String>> {
        let path = source.with_file_name(FILE_NAME);
        // A dangling link is not a missing file.
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            _ => {}
        }
        Some(Self::read(path, fetched))
    }

    fn read(path: PathBuf, fetched: bool) -> Result<Self, String> {
        let content = files::read_regular(&path, files::MAX_SOURCE)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let plain = match str::from_utf8(&content) {
            Ok(text) => parse(text).map_err(|problem| problem.to_string()),
            Err(error) => Err(format!("byte {}: it is not UTF-8", error.valid_up_to())),
        };
        let references = match &plain {
            Ok(_) => References::default(),
            Err(problem) if fetched => {
                return Err(format!(
                    "{}, {problem}\nhint: an evaluator that was fetched or is contained may only name packages of the index, such as \
                     `rapidfuzz>=3`",
                    path.display()
                ));
            }
            Err(_) => {
                let here = env::current_dir().ok();
                References::of(&path, &String::from_utf8_lossy(&content), here.as_deref())
            }
        };
        Ok(Self { path, content, plain, references })
    }

    /// The packages, if only packages of the index are named.
    pub(super) fn packages(&self) -> Option<&[String]> {
        self.plain.as_deref().ok()
    }

    /// Directory of relative paths in the file; `None` if there are none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.references.base()
    }

    /// Adds everything that decides which packages are installed to a digest.
    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        digest.update((self.content.len() as u64).to_le_bytes());
        digest.update(&self.content);
        self.references.digest_into(digest);
    }

    /// Returns true if the file has changed since it was read, or is gone.
    pub(super) fn have_changed(&self) -> bool {
        files::read_regular(&self.path, files::MAX_SOURCE)
            .map_or(true, |content| content != self.content)
    }
}

/// Maximum depth of included requirements.
const DEEPEST: usize = 8;

/// Larger files are compared by size and time.
const READ_WHOLE: u64 = 1 << 20;

/// Entries of a directory that are not part of a package, or are written by its build.
const NOT_CONTENT: [&str; 5] = ["build", "dist", "__pycache__", "node_modules", "venv"];

/// Files and directories that requirements name.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    base: Option<PathBuf>,
    /// Other requirements and constraints, with their content.
    included: Vec<(PathBuf, Option<Vec<u8>>)>,
    local: Vec<Local>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Local {
    path: PathBuf,
    /// Installed as a link to the directory, whose content may change.
    editable: bool,
}

impl References {
    /// Finds what the text of `file` names. Relative paths start from `here`, the working directory, as with pip;
    /// unless one of them does not exist there, then from the directory of the file.
    pub(super) fn of(file: &Path, text: &str, here: Option<&Path>) -> Self {
        let mut references = Self::default();
        references.read(file, text, 0);
        let directory = file.parent().unwrap_or(file);
        let all_in =
            |base: &Path| references.local.iter().all(|local| base.join(&local.path).exists());
        if !references.local.is_empty() {
            let base = here.filter(|here| all_in(here)).unwrap_or(directory).to_owned();
            for local in &mut references.local {
                local.path = base.join(&local.path);
            }
            references.base = Some(base);
        }
        references
    }

    /// Directory of relative paths; `None` if there are none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Adds the content of everything that is named to a digest.
    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        for (_, content) in &self.included {
            bytes_into(content.as_deref().unwrap_or_default(), digest);
        }
        for local in &self.local {
            name_into(&local.path, digest);
            if !local.editable {
                content_into(&local.path, digest);
            }
        }
    }

    fn read(&mut self, file: &Path, text: &str, depth: usize) {
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
        for line in joined.lines() {
            match reference(without_comment(line).trim()) {
                Some(Named::Included(path)) => self.include(file.with_file_name(path), depth),
                Some(Named::Local(local)) => self.local.push(local),
                None => {}
            }
        }
    }

    fn include(&mut self, path: PathBuf, depth: usize) {
        if self.included.iter().any(|(known, _)| *known == path) || depth == DEEPEST {
            return;
        }
        let content = files::read_regular(&path, files::MAX_SOURCE).ok();
        self.included.push((path.clone(), content.clone()));
        if let Some(content) = content {
            self.read(&path, &String::from_utf8_lossy(&content), depth + 1);
        }
    }
}

enum Named {
    Included(PathBuf),
    Local(Local),
}

/// The file or directory that a line names, if any.
fn reference(line: &str) -> Option<Named> {
    if let Some(path) =
        option(line, &["-r", "--requirement"]).or_else(|| option(line, &["-c", "--constraint"]))
    {
        return (!path.contains("://")).then(|| Named::Included(path.into()));
    }
    let editable = option(line, &["-e", "--editable"]);
    let found = editable.or_else(|| option(line, &["-f", "--find-links"]));
    if found.is_none() && line.starts_with('-') {
        return None;
    }
    let path = local_path(found.unwrap_or(line), found.is_some())?;
    Some(Named::Local(Local { path, editable: editable.is_some() }))
}

/// The value of an option in any of its forms: `-r x`, `-rx`, `--requirement x`, `--requirement=x`.
fn option<'a>(line: &'a str, names: &[&str; 2]) -> Option<&'a str> {
    let value = match line.strip_prefix(names[1]) {
        Some(rest) => rest.strip_prefix('=').or_else(|| rest.strip_prefix([' ', '\t']))?,
        None => line.strip_prefix(names[0])?,
    };
    Some(value.trim().trim_matches(['"', '\''])).filter(|value| !value.is_empty())
}

/// The path in a requirement; `is_path` if only a path or an address can be there.
fn local_path(requirement: &str, is_path: bool) -> Option<PathBuf> {
    // A direct reference: `name @ file:///path`.
    let target = requirement.split_once('@').map_or(requirement, |(name, target)| {
        if name.contains(['/', '\\']) { requirement } else { target }
    });
    let target = target.split(" ;").next().unwrap_or(target).trim();
    let path = match target.strip_prefix("file:") {
        Some(path) => path.strip_prefix("//").unwrap_or(path),
        None if target.contains("://") || target.starts_with("git+") => return None,
        None => target.split(['[', ' ', ';']).next().unwrap_or(target),
    };
    let is_path = is_path
        || target.starts_with("file:")
        || path.starts_with(['.', '/', '~'])
        || path.contains(['/', '\\'])
        || is_archive(path);
    (is_path && !path.is_empty()).then(|| path.into())
}

fn name_into(path: &Path, digest: &mut Sha256) {
    bytes_into(path.as_os_str().as_encoded_bytes(), digest);
}

fn bytes_into(bytes: &[u8], digest: &mut Sha256) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Adds a file, or all files of a directory, to a digest. Unreadable files are skipped: the installer will report them.
pub(super) fn content_into(path: &Path, digest: &mut Sha256) {
    let Ok(meta) = path.metadata() else { return };
    if meta.is_dir() {
        let mut names: Vec<_> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .filter(|name| is_content(&name.to_string_lossy()))
            .collect();
        names.sort();
        for name in names {
            let path = path.join(name);
            name_into(&path, digest);
            // A link to a directory may form a cycle.
            if !(path.is_symlink() && path.is_dir()) {
                content_into(&path, digest);
            }
        }
    } else if meta.len() <= READ_WHOLE {
        bytes_into(&files::read_regular(path, READ_WHOLE).unwrap_or_default(), digest);
    } else {
        digest.update(meta.len().to_le_bytes());
        let time = meta.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        digest.update(time.unwrap_or_default().as_nanos().to_le_bytes());
    }
}

fn is_content(name: &str) -> bool {
    !name.starts_with('.') && !name.ends_with(".egg-info") && !NOT_CONTENT.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    #[test]
    fn the_file_next_to_the_evaluator_counts() {
        let directory = Directory::new("requirements-next");
        let source = directory.file("check.py", "");
        directory.file("deeper/requirements.txt", "a");
        assert!(Requirements::of(&source, false).is_none());
        directory.file("requirements.txt", "a>1 # why\n\nb");
        let requirements = Requirements::of(&source, true).unwrap().unwrap();
        assert_eq!(requirements.packages().unwrap(), ["a>1", "b"]);
        assert!(!requirements.have_changed());
        directory.file("requirements.txt", "a>2");
        assert!(requirements.have_changed());
    }

    #[test]
    fn what_a_fetched_evaluator_may_not_have_is_reported_with_its_position() {
        let directory = Directory::new("requirements-fetched");
        let source = directory.file("check.py", "");
        let path = directory.file("requirements.txt", "a\n--index-url https://elsewhere\n");
        assert!(Requirements::of(&source, false).unwrap().is_ok());
        let error = Requirements::of(&source, true).unwrap().unwrap_err();
        let expected = format!(
            "{}, line 2: installer options are not allowed: `--index-url https://elsewhere`",
            path.display()
        );
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        fs::write(&path, b"a\xff").unwrap();
        let error = Requirements::of(&source, true).unwrap().unwrap_err();
        assert!(error.contains("byte 1: it is not UTF-8"), "{error}");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_an_error() {
        let directory = Directory::new("requirements-unreadable");
        let source = directory.file("check.py", "");
        directory.file("requirements.txt/file", "");
        let error = Requirements::of(&source, false).unwrap().unwrap_err();
        assert!(error.starts_with("cannot read "), "{error}");
        #[cfg(unix)]
        {
            let source = directory.file("link/check.py", "");
            std::os::unix::fs::symlink("nowhere", directory.path("link/requirements.txt")).unwrap();
            assert!(Requirements::of(&source, false).unwrap().is_err());
        }
    }

    fn digest_of(directory: &Directory, text: &str) -> Vec<u8> {
        let mut digest = Sha256::new();
        References::of(&directory.path("requirements.txt"), text, None).digest_into(&mut digest);
        digest.finalize().to_vec()
    }

    #[test]
    fn files_and_directories_are_found_in_all_their_forms() {
        let local = |line: &str| match reference(line) {
            Some(Named::Local(local)) => Some(local.path.display().to_string()),
            _ => None,
        };
        for (line, path) in [
            ("./lib", "./lib"),
            ("./lib[extra]", "./lib"),
            ("lib/x", "lib/x"),
            ("-e ../lib", "../lib"),
            ("--editable=lib", "lib"),
            ("mine @ file:///opt/mine.whl", "/opt/mine.whl"),
            ("file:./mine", "./mine"),
            ("mine-1.0-py3-none-any.whl", "mine-1.0-py3-none-any.whl"),
            ("./lib ; python_version > '3'", "./lib"),
            ("--find-links wheels", "wheels"),
            ("/opt/@scope/lib", "/opt/@scope/lib"),
        ] {
            assert_eq!(local(line).as_deref(), Some(path), "{line}");
        }
        for line in [
            "a",
            "a>=1",
            "a @ https://x/y.whl",
            "git+https://x/y",
            "https://x/y.zip",
            "--index-url https://x/y",
            "--no-index",
            "",
        ] {
            assert_eq!(local(line), None, "{line}");
        }
        for line in ["-r base.txt", "-rbase.txt", "--requirement=base.txt", "-c 'base.txt'"] {
            assert!(
                matches!(reference(line), Some(Named::Included(path)) if path == Path::new("base.txt")),
                "{line}"
            );
        }
    }

    #[test]
    fn the_content_of_what_is_named_counts() {
        let directory = Directory::new("references-content");
        directory.file("base.txt", "a\n-c limits.txt\n");
        directory.file("limits.txt", "a<2");
        directory.file("lib/pyproject.toml", "");
        let first = digest_of(&directory, "-r base.txt\n./lib");
        assert_eq!(digest_of(&directory, "-r base.txt\n./lib"), first);
        directory.file("lib/build/written.py", "by building it");
        directory.file("lib/lib.egg-info/PKG-INFO", "by building it");
        assert_eq!(digest_of(&directory, "-r base.txt\n./lib"), first);
        directory.file("lib/new.py", "");
        let second = digest_of(&directory, "-r base.txt\n./lib");
        assert_ne!(second, first);
        directory.file("limits.txt", "a<3");
        assert_ne!(digest_of(&directory, "-r base.txt\n./lib"), second);
        let linked = digest_of(&directory, "-e ./lib");
        directory.file("lib/new.py", "x = 1");
        assert_eq!(digest_of(&directory, "-e ./lib"), linked, "it is seen as it is");
    }

    #[test]
    fn files_that_include_each_other_end() {
        let directory = Directory::new("references-circle");
        directory.file("a.txt", "-r b.txt");
        directory.file("b.txt", "-r a.txt");
        assert_eq!(digest_of(&directory, "-r a.txt"), digest_of(&directory, "-r a.txt"));
    }

    #[test]
    fn relative_paths_start_where_they_lead_somewhere() {
        let directory = Directory::new("references-base");
        directory.file("here/lib/x", "");
        directory.file("checks/lib/x", "");
        let file = directory.path("checks/requirements.txt");
        let base = |text: &str, here: &str| {
            References::of(&file, text, Some(&directory.path(here))).base().map(Path::to_owned)
        };
        assert_eq!(base("./lib", "here"), Some(directory.path("here")));
        assert_eq!(base("./lib", "elsewhere"), Some(directory.path("checks")));
        assert_eq!(base("--index-url https://x", "here"), None);
    }
}
