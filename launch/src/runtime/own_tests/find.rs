//! Test files of a script.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Directories of things that were made or installed.
const NOT_SEARCHED: [&str; 3] = ["node_modules", "__pycache__", "target"];

/// How a language calls its test files.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Convention {
    /// Whether a file of this name is a test file.
    pub(in crate::runtime) is_test: fn(&str) -> bool,
    /// Directories beside the script where test files may be.
    pub(in crate::runtime) directories: &'static [&'static str],
    /// Signs of tests in the text of the script itself.
    pub(in crate::runtime) signs: &'static [&'static str],
}

/// The test files of a script: those beside it, or in a directory for tests there, that are named after it or mention its
/// name, and the script itself if it has tests.
pub(in crate::runtime) fn find(script: &Path, convention: Convention) -> Vec<PathBuf> {
    let stem = script.file_stem().unwrap_or_default().to_string_lossy();
    let folder = script.parent().unwrap_or(script);
    let mut candidates = files(folder, false);
    for directory in convention.directories {
        candidates.extend(files(&folder.join(directory), true));
    }
    let belongs = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        path != script
            && (convention.is_test)(&name)
            && (mentions(&name, &stem) || mentions(&text(path), &stem))
    };
    let mut found: Vec<PathBuf> = candidates.into_iter().filter(belongs).collect();
    let own = text(script);
    if convention.signs.iter().any(|sign| own.contains(sign)) {
        found.push(script.to_owned());
    }
    found.sort();
    found
}

/// Whether a text has a name as a word or a part of one that underscores or hyphens separate.
fn mentions(text: &str, name: &str) -> bool {
    let is_edge = |char: Option<char>| !char.is_some_and(char::is_alphanumeric);
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            is_edge(text[..at].chars().next_back())
                && is_edge(text[at + name.len()..].chars().next())
        })
}

fn text(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

/// The files of a directory, and with `deep` those of the directories in it. Links to directories are not followed.
fn files(directory: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let is_searched = !NOT_SEARCHED.iter().any(|it| name == *it) && !path.is_symlink();
        if path.is_file() {
            found.push(path);
        } else if deep && is_searched && path.is_dir() {
            found.extend(files(&path, true));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Folder;

    const PYTHON: Convention = Convention {
        is_test: |name| name.starts_with("test_") && name.ends_with(".py"),
        directories: &["tests"],
        signs: &["unittest"],
    };

    #[test]
    fn tests_are_those_that_mention_the_script() {
        let folder = Folder::new("own-tests");
        let script = folder.file("check.py", "");
        for (name, text) in [
            ("test_check.py", ""),
            ("test_checker.py", ""),
            ("test_other.py", "import other"),
            ("test_words.py", "import check"),
            ("tests/unit/test_deep.py", "from check import x"),
            ("tests/node_modules/test_check.py", ""),
            ("more/test_check.py", ""),
            ("check_test.txt", ""),
        ] {
            folder.file(name, text);
        }
        let names = |script: &Path| -> Vec<PathBuf> {
            let root = folder.path("");
            let relative = |path: PathBuf| path.strip_prefix(&root).unwrap().to_owned();
            find(script, PYTHON).into_iter().map(relative).collect()
        };
        let expected = ["test_check.py", "test_words.py", "tests/unit/test_deep.py"];
        assert_eq!(names(&script), expected.map(PathBuf::from));
        assert_eq!(names(&folder.file("alone.py", "x = 1")), [""; 0].map(PathBuf::from));
        let own = folder.file("inside.py", "import unittest");
        assert_eq!(names(&own), [PathBuf::from("inside.py")]);
    }
}
