//! Files and folders that requirements name.
//!
//! The same text means another thing in another folder, or after one of these files was changed, so their content counts
//! as content of the requirements. Options that lead nowhere on this machine are the installer's business.

use std::{
    fs,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use sha2::{Digest, Sha256};

use super::plain;

/// Other requirements that include further ones are followed this deep.
const DEEPEST: usize = 8;

/// Larger files count by their size and time alone.
const READ_WHOLE: u64 = 1 << 20;

/// Names in a folder that building a package writes, or that are no part of it.
const NOT_CONTENT: [&str; 5] = ["build", "dist", "__pycache__", "node_modules", "venv"];

/// What requirements name on this machine.
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
    /// Installed as a link to the folder, so that what is in it may change.
    editable: bool,
}

impl References {
    /// What the text of `file` names. Relative paths start from `here`, the working directory, as they always do with
    /// pip; unless not all of them are there, then from the folder of the file.
    pub(super) fn of(file: &Path, text: &str, here: Option<&Path>) -> Self {
        let mut references = Self::default();
        references.read(file, text, 0);
        let folder = file.parent().unwrap_or(file);
        let all_in =
            |base: &Path| references.local.iter().all(|local| base.join(&local.path).exists());
        if !references.local.is_empty() {
            let base = here.filter(|here| all_in(here)).unwrap_or(folder).to_owned();
            for local in &mut references.local {
                local.path = base.join(&local.path);
            }
            references.base = Some(base);
        }
        references
    }

    /// Where relative paths start; `None` if there are none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.base.as_deref()
    }

    /// Adds what is named to a digest.
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
            match parse(plain::without_comment(line).trim()) {
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
        let content = fs::read(&path).ok();
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

/// The file or folder that a line names, if it names one.
fn parse(line: &str) -> Option<Named> {
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

/// The path in a requirement; `is_path` if nothing else can stand there but an address.
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
        || plain::is_archive(path);
    (is_path && !path.is_empty()).then(|| path.into())
}

fn name_into(path: &Path, digest: &mut Sha256) {
    bytes_into(path.as_os_str().as_encoded_bytes(), digest);
}

fn bytes_into(bytes: &[u8], digest: &mut Sha256) {
    digest.update((bytes.len() as u64).to_le_bytes());
    digest.update(bytes);
}

/// Adds a file, or all files of a folder, to a digest. What cannot be read counts as nothing: the installer will say so.
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
            // A link to a folder may lead in circles.
            if !(path.is_symlink() && path.is_dir()) {
                content_into(&path, digest);
            }
        }
    } else if meta.len() <= READ_WHOLE {
        bytes_into(&fs::read(path).unwrap_or_default(), digest);
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
    use crate::runtime::testing::Folder;

    fn digest_of(folder: &Folder, text: &str) -> Vec<u8> {
        let mut digest = Sha256::new();
        References::of(&folder.path("requirements.txt"), text, None).digest_into(&mut digest);
        digest.finalize().to_vec()
    }

    #[test]
    fn files_and_folders_are_found_in_all_their_forms() {
        let local = |line: &str| match parse(line) {
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
                matches!(parse(line), Some(Named::Included(path)) if path == Path::new("base.txt")),
                "{line}"
            );
        }
    }

    #[test]
    fn the_content_of_what_is_named_counts() {
        let folder = Folder::new("references-content");
        folder.file("base.txt", "a\n-c limits.txt\n");
        folder.file("limits.txt", "a<2");
        folder.file("lib/pyproject.toml", "");
        let first = digest_of(&folder, "-r base.txt\n./lib");
        assert_eq!(digest_of(&folder, "-r base.txt\n./lib"), first);
        folder.file("lib/build/written.py", "by building it");
        folder.file("lib/lib.egg-info/PKG-INFO", "by building it");
        assert_eq!(digest_of(&folder, "-r base.txt\n./lib"), first);
        folder.file("lib/new.py", "");
        let second = digest_of(&folder, "-r base.txt\n./lib");
        assert_ne!(second, first);
        folder.file("limits.txt", "a<3");
        assert_ne!(digest_of(&folder, "-r base.txt\n./lib"), second);
        let linked = digest_of(&folder, "-e ./lib");
        folder.file("lib/new.py", "x = 1");
        assert_eq!(digest_of(&folder, "-e ./lib"), linked, "it is seen as it is");
    }

    #[test]
    fn files_that_include_each_other_end() {
        let folder = Folder::new("references-circle");
        folder.file("a.txt", "-r b.txt");
        folder.file("b.txt", "-r a.txt");
        assert_eq!(digest_of(&folder, "-r a.txt"), digest_of(&folder, "-r a.txt"));
    }

    #[test]
    fn relative_paths_start_where_they_lead_somewhere() {
        let folder = Folder::new("references-base");
        folder.file("here/lib/x", "");
        folder.file("checks/lib/x", "");
        let file = folder.path("checks/requirements.txt");
        let base = |text: &str, here: &str| {
            References::of(&file, text, Some(&folder.path(here))).base().map(Path::to_owned)
        };
        assert_eq!(base("./lib", "here"), Some(folder.path("here")));
        assert_eq!(base("./lib", "elsewhere"), Some(folder.path("checks")));
        assert_eq!(base("--index-url https://x", "here"), None);
    }
}
