//! Evaluators in a folder of this machine.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Reference, SourceError, SourceFile,
    collect::{Budget, CARGO_MANIFEST, MAX_FILES, Package, Tree},
    disk,
};

/// Folders that are no part of an evaluator: what version control keeps, and at the top of a package what cargo builds.
const VERSION_CONTROL: &str = ".git";
const BUILDS: &str = "target";

/// A folder whose files are those of a source.
#[derive(Clone, Debug)]
pub(super) struct FolderTree {
    root: PathBuf,
}

impl FolderTree {
    /// The folder itself may be reached through links; what is in it may not.
    pub(super) fn new(root: &Path) -> Result<Self, SourceError> {
        let root = root.canonicalize().map_err(|_| SourceError::NotFound {
            what: "folder".to_owned(),
            place: root.display().to_string(),
        })?;
        Ok(Self { root })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

impl Tree for FolderTree {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, SourceError> {
        disk::refuse_links(&self.root, path)?;
        let path = self.root.join(path);
        disk::read(&path, most)?.ok_or_else(|| SourceError::NotFound {
            what: "file".to_owned(),
            place: path.display().to_string(),
        })
    }

    fn package(&self, reference: &Reference) -> Result<Option<Package>, SourceError> {
        for folder in reference.folders().chain([""]) {
            let path = self.root.join(folder);
            if path.join(CARGO_MANIFEST).is_file() {
                disk::refuse_links(&self.root, folder)?;
                return Ok(Some(Package { folder: folder.to_owned(), files: paths(&path)? }));
            }
        }
        Ok(None)
    }
}

/// The files of a package with their content, in the order of their paths.
pub(super) fn read_package(folder: &Path) -> Result<Vec<SourceFile>, SourceError> {
    let what = folder.display().to_string();
    let mut budget = Budget::new(&what);
    let mut files = Vec::new();
    for path in paths(folder)? {
        // It may have gone since it was listed.
        let Some(bytes) = disk::read(&folder.join(&path), budget.most())? else { continue };
        budget.take(bytes.len())?;
        files.push(SourceFile { path, bytes });
    }
    Ok(files)
}

/// The paths of all files below a folder, with forward slashes, sorted.
fn paths(folder: &Path) -> Result<Vec<String>, SourceError> {
    let mut found = Vec::new();
    walk(folder, "", &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(folder: &Path, inside: &str, found: &mut Vec<String>) -> Result<(), SourceError> {
    let failed = |error: std::io::Error| SourceError::disk("list", folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let name = entry.file_name();
        let path = entry.path();
        let Some(name) = name.to_str() else {
            let reason = format!("the name of {} is not UTF-8", path.display());
            return Err(SourceError::Unsafe { reason });
        };
        if kind.is_symlink() {
            return Err(disk::linked(&path));
        }
        let below = format!("{inside}{name}");
        if kind.is_dir() {
            let skipped = name == VERSION_CONTROL || (inside.is_empty() && name == BUILDS);
            if !skipped {
                walk(&path, &format!("{below}/"), found)?;
            }
        } else if kind.is_file() {
            found.push(below);
        } else {
            let reason = format!("{} is not a file", path.display());
            return Err(SourceError::Unsafe { reason });
        }
        if found.len() > MAX_FILES {
            let what = folder.display().to_string();
            return Err(SourceError::TooLarge { what, limit: format!("{MAX_FILES} files") });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    fn package(folder: &Folder, reference: &str) -> Option<Package> {
        let tree = FolderTree::new(&folder.path("")).unwrap();
        tree.package(&Reference::parse(reference).unwrap()).unwrap()
    }

    #[test]
    fn a_package_is_all_files_but_builds_and_history() {
        let folder = Folder::new("source");
        for path in [
            "e/a/Cargo.toml",
            "e/a/src/main.rs",
            "e/a/src/target/mod.rs",
            "e/a/target/debug/a",
            "e/a/.git/HEAD",
            "e/b.rs",
        ] {
            folder.file(path, "");
        }
        let files = ["Cargo.toml", "src/main.rs", "src/target/mod.rs"].map(str::to_owned).into();
        assert_eq!(
            package(&folder, "e/a/src/main.rs"),
            Some(Package { folder: "e/a".to_owned(), files })
        );
        assert_eq!(package(&folder, "e/b.rs"), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_out() {
        let folder = Folder::new("source");
        folder.file("secret.py", "s");
        folder.file("s/a/Cargo.toml", "");
        std::os::unix::fs::symlink(folder.path("secret.py"), folder.path("s/a/x.py")).unwrap();
        let tree = FolderTree::new(&folder.path("s")).unwrap();
        assert!(matches!(tree.read("a/x.py", 9), Err(SourceError::Unsafe { .. })));
        assert!(tree.package(&Reference::parse("a/main.rs").unwrap()).is_err());
    }
}
