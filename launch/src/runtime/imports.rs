//! The files that a script runs: its imports from the directories of its sources.
//!
//! They are found by reading the text, not by running it, so imports in other forms are not found. A false match (a
//! word in a comment) only costs an evaluation that could have been reused.
//!
//! | in the text | file |
//! |---|---|
//! | a word of a Python `import` | the module or package of that name next to the file, or next to the script |
//! | a relative path in quotes, in a line with an import | that file, with the extensions that Node.js tries |
//! | the name of a source file, with its extension | that file next to it |

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use super::{Inputs, Language, dynamic, paths::has_extension};
use crate::files;

/// Extensions of source files, apart from those of languages with a runtime.
const CODE: [&str; 13] = [
    ".pyi", ".pyd", ".so", ".jsx", ".tsx", ".node", ".sh", ".bash", ".rb", ".pl", ".lua", ".php",
    ".r",
];

/// Extensions of files that Python imports by name.
const PYTHON: [&str; 3] = [".py", ".so", ".pyd"];

/// Extensions that may be left out in JavaScript and Ruby.
const IMPLIED: [&str; 10] = ["js", "mjs", "cjs", "ts", "mts", "cts", "json", "node", "tsx", "rb"];

/// Maximum size of a script in bytes.
const MAX_TEXT: u64 = 4 << 20;

/// Directories of installed or generated files.
const PASSED_OVER: [&str; 3] = ["node_modules", "__pycache__", "target"];

/// Finds the source files that a script runs: the script, the files next to it that it imports or names, and theirs in
/// turn; and the first piece of code that cannot be found.
pub(super) fn of_script(script: &Path) -> Inputs {
    let mut search = Search { script, directories: BTreeMap::new(), found: Inputs::default() };
    let mut unread = vec![script.to_owned()];
    while let Some(file) = unread.pop() {
        if search.found.files.insert(file.clone())
            && let Some(text) = text(&file)
        {
            search.named_by(&file, &text, &mut unread);
        }
    }
    search.found
}

/// The first module that one of these files imports from one of these directories.
pub fn imported_from(files: &BTreeSet<PathBuf>, directories: &[PathBuf]) -> Option<PathBuf> {
    let there: Vec<(PathBuf, Vec<Entry>)> =
        directories.iter().map(|directory| (directory.clone(), entries(directory))).collect();
    let python = files.iter().filter(|file| has_extension(file, &PYTHON));
    python.filter_map(|file| text(file)).find_map(|text| {
        let (imported, _) = imports(&text);
        there.iter().find_map(|(directory, entries)| {
            let is_imported = |entry: &&Entry| {
                let stem = entry.name.split('.').next().unwrap_or_default();
                imported.contains(stem)
                    && (entry.is_directory || has_extension(Path::new(&entry.name), &PYTHON))
            };
            Some(directory.join(&entries.iter().find(is_imported)?.name))
        })
    })
}

struct Search<'a> {
    script: &'a Path,
    /// Entries of the directories that were read.
    directories: BTreeMap<PathBuf, Vec<Entry>>,
    found: Inputs,
}

#[derive(Clone)]
struct Entry {
    name: String,
    is_directory: bool,
}

impl Search<'_> {
    /// Adds the files that `text`, the content of `file`, names.
    fn named_by(&mut self, file: &Path, text: &str, named: &mut Vec<PathBuf>) {
        let (mut imported, relative) = imports(text);
        let traced = dynamic::trace(file, text);
        imported.extend(traced.modules.iter().flat_map(|name| name.split('.')));
        if let Some(what) = traced.dynamic_code {
            self.found.dynamic_code.get_or_insert_with(|| format!("{what} in {}", file.display()));
        }
        named.extend(traced.files.iter().filter_map(|path| imported_file(path)));
        let names: BTreeSet<&str> = words(text, |c| c.is_alphanumeric() || "_-.".contains(c))
            .map(|word| word.trim_matches('.'))
            .collect();
        let directories: BTreeSet<&Path> =
            [file, self.script].into_iter().filter_map(Path::parent).collect();
        for directory in directories {
            for Entry { name, is_directory } in self.entries(directory) {
                let path = directory.join(&name);
                if is_directory && imported.contains(name.as_str()) {
                    code_below(&path, named);
                } else if !is_directory && is_code(&path) {
                    let stem = name.split('.').next().unwrap_or_default();
                    if names.contains(name.as_str())
                        || imported.contains(stem) && has_extension(&path, &PYTHON)
                    {
                        named.push(path);
                    }
                }
            }
        }
        let directory = file.parent().unwrap_or(Path::new(""));
        named.extend(relative.iter().filter_map(|path| imported_file(&directory.join(path))));
    }

    fn entries(&mut self, directory: &Path) -> Vec<Entry> {
        self.directories.entry(directory.to_owned()).or_insert_with(|| entries(directory)).clone()
    }
}

/// Returns true for a source file. Other files are data, which a script may write.
fn is_code(path: &Path) -> bool {
    has_extension(path, &CODE)
        || Language::of(path).is_some_and(|language| language.rules().is_some())
}

fn entries(directory: &Path) -> Vec<Entry> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entry = |entry: fs::DirEntry| {
        // Following a link costs a system call.
        let kind = entry.file_type().ok()?;
        let is_directory = kind.is_dir() || kind.is_symlink() && entry.path().is_dir();
        Some(Entry { name: entry.file_name().into_string().ok()?, is_directory })
    };
    entries.filter_map(entry).collect()
}

/// The text of a file that may be a script: it is short, and not a compiled program.
fn text(file: &Path) -> Option<String> {
    let bytes = files::read_regular(file, MAX_TEXT).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Words of import statements, and relative paths in quotes.
fn imports(text: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let (mut imported, mut relative) = (BTreeSet::new(), BTreeSet::new());
    let mut goes_on = false;
    for line in text.lines() {
        let begins = line.contains("import") || line.trim_start().starts_with("from ");
        if begins || goes_on {
            imported.extend(words(line, |c| c.is_alphanumeric() || c == '_'));
            let open = line.contains('(') || goes_on && !begins;
            goes_on = line.trim_end().ends_with('\\') || open && !line.contains(')');
        }
        if begins || line.contains("require") || line.contains("from") {
            let in_quotes = line.split(['"', '\'', '`']).skip(1).step_by(2);
            let by_directory = line.contains("require_relative");
            let is_relative =
                |path: &&str| by_directory || path.starts_with("./") || path.starts_with("../");
            relative.extend(in_quotes.filter(is_relative));
        }
    }
    (imported, relative)
}

fn words(text: &str, is_part: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(move |c| !is_part(c)).filter(|word| !word.is_empty())
}

/// The file that an imported path refers to.
fn imported_file(path: &Path) -> Option<PathBuf> {
    let mut candidates = vec![path.to_owned()];
    let with = |extension: &&str| {
        let mut name = path.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    };
    candidates.extend(IMPLIED.iter().map(with));
    candidates.extend(IMPLIED.iter().map(|extension| path.join("index").with_extension(extension)));
    // TypeScript imports use the names of the compiled files.
    candidates.extend(["ts", "tsx", "mts", "cts"].map(|extension| path.with_extension(extension)));
    candidates.into_iter().find(|path| path.is_file())?.canonicalize().ok()
}

/// Adds all source files below a directory. Links to directories are not followed.
pub(super) fn code_below(directory: &Path, found: &mut Vec<PathBuf>) {
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for Entry { name, is_directory } in entries(&directory) {
            let path = directory.join(&name);
            if !is_directory && is_code(&path) {
                found.push(path);
            } else if is_directory
                && !path.is_symlink()
                && !name.starts_with('.')
                && !PASSED_OVER.contains(&name.as_str())
            {
                directories.push(path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::testing::Directory;

    /// The files of a directory that count for the script in it.
    #[track_caller]
    fn counts(directory: &Directory, script: &str, expected: &[&str]) {
        let root = directory.path("");
        let found = of_script(&directory.path(script));
        let found: Vec<String> = found
            .files
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/"))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn python_imports_modules_and_packages() {
        let directory = Directory::new("imports-python");
        directory.file(
            "check.py",
            "import json\nfrom helpers import (\n  a,\n  b,\n)\nfrom rules.strict import x\n\
             late = importlib.import_module('plugin')\nscore = 1\nname = \"data.py\"\n",
        );
        directory.file("helpers.py", "from . import \\\n  deep\n");
        for other in ["deep.py", "plugin.py", "data.py", "score.py", "other.py", "x.txt"] {
            directory.file(other, "import check");
        }
        directory.file("rules/__init__.py", "");
        directory.file("rules/strict.py", "import score_of\n");
        directory.file("rules/__pycache__/strict.pyc", "");
        directory.file("rules/table.json", "");
        directory.file("score_of.py", "");
        directory.file("tests/test.py", "");
        counts(
            &directory,
            "check.py",
            &[
                "check.py",
                "data.py",
                "deep.py",
                "helpers.py",
                "plugin.py",
                "rules/__init__.py",
                "rules/strict.py",
                "score_of.py",
            ],
        );
        counts(&directory, "score_of.py", &["score_of.py"]);
    }

    #[test]
    fn javascript_imports_relative_paths() {
        let directory = Directory::new("imports-js");
        directory.file(
            "src/check.ts",
            "import {\n  a\n} from './lib.js';\nconst t = require(\"../table\");\nimport('./directory');\n\
             import fs from 'fs'; fs.appendFileSync('./log.txt', 'x');\nconst d = './unused.js_';\n",
        );
        directory.file("src/lib.ts", "export * from './more.mjs'");
        directory.file("src/more.mjs", "");
        directory.file("src/directory/index.js", "");
        directory.file("src/unused.js", "");
        directory.file("table.json", "{}");
        counts(
            &directory,
            "src/check.ts",
            &["src/check.ts", "src/directory/index.js", "src/lib.ts", "src/more.mjs", "table.json"],
        );
    }

    #[test]
    fn what_a_script_writes_next_to_it_is_not_a_part_of_it() {
        let directory = Directory::new("imports-sh");
        directory.file(
            "check",
            "#!/bin/sh\n. \"$(dirname \"$0\")/common.sh\"\necho x >>starts; echo >>starts.log\n",
        );
        directory.file("common.sh", "exit 0");
        for other in ["starts", "starts.log", "exit", "other.sh"] {
            directory.file(other, "1");
        }
        counts(&directory, "check", &["check", "common.sh"]);
        counts(&directory, "gone", &["gone"]);
    }
}
