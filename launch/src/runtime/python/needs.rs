//! Packages that an evaluator needs: those of `requirements.txt`, of its script metadata (PEP 723), and the SDK.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use pep440_rs::{Version, VersionSpecifiers};
use sha2::{Digest, Sha256};
use toml_edit::{Document, Item};

use super::{
    installer::Sdk,
    interpreter::{Answers, Questions, SdkUse},
    references::{FILE_NAME, References, Requirements},
    requirements,
};
use crate::{
    files,
    runtime::{PrepareError, imports, paths::has_extension},
};

/// The module of the Python SDK, the only one whose package need not be named.
pub(super) const SDK_MODULE: &str = "agentevals_evaluator_sdk";

/// Packages that an evaluator needs: those of a `requirements.txt` next to it, those of its `# /// script` block, and
/// the SDK if one of its files mentions it.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    source: PathBuf,
    fetched: bool,
    pub(super) file: Option<Requirements>,
    block: Option<Metadata>,
    /// Paths in direct references of the block.
    references: References,
    /// Files that mention the SDK.
    sdk_files: Vec<PathBuf>,
}

/// Modules of libraries with metrics whose packages are not named after them.
const NAMED_OTHERWISE: [(&str, &str); 2] =
    [("phoenix", "arize-phoenix-evals"), ("strands_evals", "strands-agents-evals")];

/// Returns the package of such a module.
pub(super) fn package_of(module: &str) -> Option<&'static str> {
    let mut known = NAMED_OTHERWISE.into_iter();
    known.find_map(|(name, package)| (name == module).then_some(package))
}

impl Needs {
    /// Reads what an evaluator needs; `None` if it only needs an interpreter. Starts nothing.
    ///
    /// # Errors
    ///
    /// Why a file cannot be read, or what is wrong in it.
    pub(super) fn of(source: &Path, fetched: bool) -> Result<Option<Self>, PrepareError> {
        let file = Requirements::of(source, fetched)
            .transpose()
            .map_err(|reason| PrepareError::InstallFailed { reason })?;
        // The interpreter will report a file that cannot be read.
        let text = files::read_regular(source, files::MAX_SOURCE).unwrap_or_default();
        let block = Metadata::read(source, &String::from_utf8_lossy(&text), fetched)
            .map_err(|reason| PrepareError::Unusable { reason })?;
        let sdk_files = files_with_sdk(source);
        if file.is_none() && block.is_none() && sdk_files.is_empty() {
            return Ok(None);
        }
        let references = match &block {
            Some(block) if !block.is_plain => {
                References::of(source, &block.dependencies.join("\n"), None)
            }
            _ => References::default(),
        };
        let source = source.to_owned();
        Ok(Some(Self { source, fetched, file, block, references, sdk_files }))
    }

    /// Where the packages are named, for messages.
    pub(super) fn named_in(&self) -> String {
        let file = self.file.as_ref().map(|_| FILE_NAME);
        let block = self.block.as_ref().map(|_| "script metadata");
        let named: Vec<&str> = file.into_iter().chain(block).collect();
        if named.is_empty() { SDK_MODULE.to_owned() } else { named.join(" and ") }
    }

    /// Adds the questions whose answers decide what is missing.
    pub(super) fn ask(&self, sdk: &Sdk, questions: &mut Questions) {
        for requirement in self.plain().chain(sdk.plain()) {
            let parts = requirements::split(requirement);
            questions.version(parts.name);
            if let Some(marker) = parts.marker {
                questions.marker(marker);
            }
        }
        if !self.sdk_files.is_empty() {
            questions.sdk(&self.source, &self.sdk_files);
        }
    }

    /// Checks `requires-python`.
    ///
    /// # Errors
    ///
    /// Which versions the evaluator accepts.
    pub(super) fn accept(&self, interpreter: &Path, version: &str) -> Result<(), String> {
        let wanted = self.block.as_ref().and_then(|block| block.requires_python.as_ref());
        let Some((line, wanted)) = wanted.filter(|(_, wanted)| !accepts(wanted, version)) else {
            return Ok(());
        };
        Err(format!(
            "{}:{line}: it requires Python {wanted}, and {} is Python {version}",
            self.source.display(),
            interpreter.display()
        ))
    }

    /// Requirements that the interpreter does not meet, or may not meet, as command-line words. Empty if nothing has to
    /// be installed.
    pub(super) fn missing(&self, sdk: &Sdk, answers: &Answers) -> Vec<String> {
        let is_met = |requirement: &&str| is_met(requirement, answers);
        let mut missing: Vec<String> =
            self.plain().filter(|requirement| !is_met(requirement)).map(word).collect();
        if let Some(file) = self.file.as_ref().filter(|file| file.packages().is_none()) {
            missing.push(format!("-r {}", word(&file.path.display().to_string())));
        }
        if let Some(block) = self.block.as_ref().filter(|block| !block.is_plain) {
            missing.extend(block.dependencies.iter().map(|it| word(it)));
        }
        let sdk_use = if self.sdk_files.is_empty() {
            SdkUse::Unused
        } else {
            answers.sdk(&self.source, &self.sdk_files)
        };
        // A chosen SDK must be installed in that version.
        let is_there = match (sdk_use, sdk.plain()) {
            (SdkUse::Unused, _) => true,
            (_, _) if sdk.is_default() => sdk_use == SdkUse::Found,
            (_, Some(requirement)) => is_met(&requirement),
            (_, None) => false,
        };
        let is_named = sdk.plain().is_some_and(|sdk| self.names(requirements::split(sdk).name));
        if let (false, false, Some(sdk)) = (is_there, is_named, sdk.requirement()) {
            missing.insert(0, word(&sdk.to_string_lossy()));
        }
        missing
    }

    /// Returns true if a package of this name is required; also for the name of a module.
    pub(super) fn names(&self, name: &str) -> bool {
        let name = requirements::normalized(package_of(name).unwrap_or(name));
        self.plain().any(|requirement| {
            requirements::normalized(requirements::split(requirement).name) == name
        })
    }

    /// Returns true unless the file names anything but packages of the index.
    pub(super) fn is_plain_file(&self) -> bool {
        self.file.as_ref().is_none_or(|file| file.packages().is_some())
    }

    /// Packages to install in addition to those of the file.
    pub(super) fn dependencies(&self) -> &[String] {
        self.block.as_ref().map_or(&[], |block| &block.dependencies)
    }

    /// The file or files that name the packages, for messages.
    pub(super) fn place(&self) -> String {
        match (&self.file, self.dependencies()) {
            (Some(file), []) => file.path.display().to_string(),
            (Some(file), _) => {
                format!("{} and the dependencies of {}", file.path.display(), self.source.display())
            }
            (None, _) => format!("the dependencies of {}", self.source.display()),
        }
    }

    /// Returns true if a file of the evaluator mentions the SDK.
    pub(super) fn mentions_sdk(&self) -> bool {
        !self.sdk_files.is_empty()
    }

    /// Directory of relative paths; `None` if there are none.
    pub(super) fn base(&self) -> Option<&Path> {
        self.file.as_ref().and_then(Requirements::base)
    }

    /// Returns true if a file or directory of this machine is named.
    pub(super) fn names_files(&self) -> bool {
        self.base().is_some() || self.references.base().is_some()
    }

    /// Adds everything that decides which packages are installed to a digest.
    pub(super) fn digest_into(&self, digest: &mut Sha256) {
        match &self.file {
            Some(file) => file.digest_into(digest),
            // As an empty file.
            None => digest.update(0_u64.to_le_bytes()),
        }
        if !self.dependencies().is_empty() {
            digest.update(self.dependencies().join("\n"));
            self.references.digest_into(digest);
        }
    }

    /// Returns true if the files have changed since they were read.
    pub(super) fn have_changed(&self) -> bool {
        self.file.as_ref().is_some_and(Requirements::have_changed)
            || files::read_regular(&self.source, files::MAX_SOURCE).map_or(true, |text| {
                let text = String::from_utf8_lossy(&text);
                Metadata::read(&self.source, &text, self.fetched).as_ref() != Ok(&self.block)
            })
    }

    /// All requirements that name packages of the index.
    fn plain(&self) -> impl Iterator<Item = &str> {
        let file = self.file.iter().filter_map(Requirements::packages).flatten();
        let block = self.block.iter().filter(|block| block.is_plain);
        file.chain(block.flat_map(|block| &block.dependencies)).map(String::as_str)
    }
}

/// Quotes a command-line word.
fn word(text: &str) -> String {
    shell_words::quote(text).into_owned()
}

/// Returns true if an interpreter has what a plain requirement names; false if that is unknown.
fn is_met(requirement: &str, answers: &Answers) -> bool {
    let parts = requirements::split(requirement);
    match parts.marker.map(|marker| answers.marker(marker)) {
        Some(Some(false)) => return true,
        Some(None) => return false,
        Some(Some(true)) | None => {}
    }
    let installed = answers.version(parts.name).and_then(|version| version.parse().ok());
    let wanted: Result<VersionSpecifiers, _> = parts.versions.parse();
    match (installed, wanted) {
        (Some(installed), Ok(wanted)) => !parts.has_more && wanted.contains(&installed),
        _ => false,
    }
}

/// The source files of the evaluator that mention the module of the SDK.
fn files_with_sdk(source: &Path) -> Vec<PathBuf> {
    let mentions = |path: &PathBuf| {
        files::read_regular(path, files::MAX_SOURCE)
            .is_ok_and(|text| memchr::memmem::find(&text, SDK_MODULE.as_bytes()).is_some())
    };
    let files = imports::of_script(source).files;
    files.into_iter().filter(|path| has_extension(path, &[".py"]) && mentions(path)).collect()
}

/// Type of the block that names dependencies. Blocks of other types are for other tools.
const TYPE: &str = "script";

/// Content of the block of a file. A `[tool]` table in it is for other tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// Requirements, as they are written.
    pub(super) dependencies: Vec<String>,
    /// True if each dependency names packages of the index and nothing else.
    pub(super) is_plain: bool,
    requires_python: Option<(usize, VersionSpecifiers)>,
}

impl Metadata {
    /// Reads the block of `text`, the content of `file`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The file, the line, and what is wrong there. A `fetched` file may only name packages of the index.
    pub(super) fn read(file: &Path, text: &str, fetched: bool) -> Result<Option<Self>, String> {
        let found = find(text).and_then(|block| block.map(|it| it.parse(fetched)).transpose());
        found.map_err(|(line, reason)| format!("{}:{line}: {reason}", file.display()))
    }
}

/// Returns true if an interpreter of this version is accepted.
fn accepts(wanted: &VersionSpecifiers, version: &str) -> bool {
    // Builds from a checkout report versions such as `3.14.0a1+`.
    Version::from_str(version.trim_end_matches('+')).is_ok_and(|version| wanted.contains(&version))
}

/// A problem in a block: the line of the file, from 1, and the reason.
type Problem = (usize, String);

/// The TOML of a block.
#[derive(Debug)]
struct Block {
    /// Lines of the file before the first line of `toml`.
    lines_before: usize,
    toml: String,
}

/// Finds the block. It extends over consecutive comments, up to the last `# ///` among them.
fn find(text: &str) -> Result<Option<Block>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Option<Block> = None;
    let mut at = 0;
    while at < lines.len() {
        let Some(kind) = opening(lines[at]) else {
            at += 1;
            continue;
        };
        let comments = lines[at + 1..].iter().take_while(|line| content(line).is_some()).count();
        let body = &lines[at + 1..=at + comments];
        let Some(length) = body.iter().rposition(|line| *line == "# ///") else {
            if kind != TYPE {
                at += 1;
                continue;
            }
            let reason = "this block of metadata is not closed; end it with a line `# ///`";
            return Err((at + 1, reason.to_owned()));
        };
        if kind == TYPE {
            if found.is_some() {
                let reason = "there is a second `# /// script` block; keep one";
                return Err((at + 1, reason.to_owned()));
            }
            let toml = body[..length].iter().filter_map(|line| content(line));
            let toml = toml.collect::<Vec<_>>().join("\n");
            found = Some(Block { lines_before: at + 1, toml });
        }
        at += length + 2;
    }
    Ok(found)
}

/// The type of the block that starts with this line.
fn opening(line: &str) -> Option<&str> {
    let kind = line.strip_prefix("# /// ")?;
    let is_type = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (!kind.is_empty() && kind.chars().all(is_type)).then_some(kind)
}

/// The content of a line of a block, without its comment sign.
fn content(line: &str) -> Option<&str> {
    if line == "#" { Some("") } else { line.strip_prefix("# ") }
}

impl Block {
    fn parse(&self, fetched: bool) -> Result<Metadata, Problem> {
        let document = Document::parse(self.toml.as_str()).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.problem(at, error.message().trim_end().replace('\n', ", "))
        })?;
        let mut metadata =
            Metadata { dependencies: Vec::new(), is_plain: true, requires_python: None };
        for (key, item) in document.iter() {
            let at = item.span().map_or(0, |span| span.start);
            match key {
                "dependencies" => self.dependencies(item, fetched, &mut metadata)?,
                "requires-python" => {
                    let reason = match item.as_str().map(|text| (text, text.parse())) {
                        Some((_, Ok(wanted))) => {
                            metadata.requires_python = Some((self.line(at), wanted));
                            continue;
                        }
                        Some((text, Err(_))) => format!("`{text}` is not a range of versions"),
                        None => "this is not a string".to_owned(),
                    };
                    let reason = format!("requires-python: {reason}; write e.g. \">=3.10\"");
                    return Err(self.problem(at, reason));
                }
                "tool" => {}
                other => {
                    return Err(self.problem(
                        at,
                        format!("unknown key `{other}`; known are dependencies, requires-python and tool"),
                    ));
                }
            }
        }
        Ok(metadata)
    }

    fn dependencies(
        &self,
        item: &Item,
        fetched: bool,
        metadata: &mut Metadata,
    ) -> Result<(), Problem> {
        let at = |span: Option<std::ops::Range<usize>>| span.map_or(0, |span| span.start);
        let Some(array) = item.as_array() else {
            let reason = "dependencies: this is not a list of strings".to_owned();
            return Err(self.problem(at(item.span()), reason));
        };
        for value in array {
            let at = at(value.span());
            let Some(text) = value.as_str() else {
                return Err(self.problem(at, "dependencies: this is not a string".to_owned()));
            };
            let text = text.trim();
            let is_plain = requirements::is_plain(text);
            if !is_plain && (fetched || !requirements::is_requirement(text)) {
                let allowed = if fetched {
                    "an evaluator that was fetched or is contained may only name packages of the index, such as `rapidfuzz>=3`"
                } else {
                    "this is not a requirement, such as `rapidfuzz>=3` or `name @ https://..`"
                };
                let shown = text.escape_debug();
                return Err(self.problem(at, format!("dependencies: `{shown}`: {allowed}")));
            }
            metadata.is_plain &= is_plain;
            metadata.dependencies.push(text.to_owned());
        }
        Ok(())
    }

    fn problem(&self, at: usize, reason: String) -> Problem {
        (self.line(at), reason)
    }

    /// Line of the file that contains a byte of the block.
    fn line(&self, at: usize) -> usize {
        let before = self.toml.get(..at).unwrap_or(&self.toml);
        self.lines_before + before.matches('\n').count() + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, fetched: bool) -> Result<Option<Metadata>, String> {
        Metadata::read(Path::new("check.py"), text, fetched)
    }

    fn dependencies(text: &str) -> Vec<String> {
        read(text, false).unwrap().unwrap().dependencies
    }

    #[test]
    fn the_block_may_be_anywhere_and_is_read_as_the_specification_says() {
        let block = "#!/usr/bin/env python3\n\n# /// script\n# requires-python = \">=3.8\"\n# dependencies = [\n\
                     #   \"rapidfuzz>=3\",\n#\n#   \"rich [x]\", # why\n# ]\n# [tool.uv]\n# index-url = \"https://e\"\n# ///\nimport x\n";
        assert_eq!(dependencies(block), ["rapidfuzz>=3", "rich [x]"]);
        assert_eq!(dependencies(&block.replace('\n', "\r\n")), ["rapidfuzz>=3", "rich [x]"]);
        // A `# ///` that other comments follow belongs to the block if one more ends it.
        let with_end = "# /// script\n# dependencies = [\"a\"] # x\n# ///\n# more\n";
        assert_eq!(dependencies(with_end), ["a"]);
        let other = "# /// other\n# = nonsense\n# ///\n\n# /// script\n# ///\n\n# /// open\n";
        assert_eq!(dependencies(other), [""; 0]);
        for none in ["", "import x\n", "#/// script\n", "# /// script \n", " # /// script\n"] {
            assert_eq!(read(none, false), Ok(None), "{none:?}");
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, expected) in [
            (
                "\n# /// script\n# dependencies = []\nimport x\n",
                "check.py:2: this block of metadata is not closed",
            ),
            ("# /// script\n# ///\n\n# /// script\n# ///\n", "check.py:4: there is a second"),
            ("# /// script\n#\n# dependencies = [\n# ///\n", "check.py:"),
            (
                "# /// script\n#\n# dependancies = []\n# ///\n",
                "check.py:3: unknown key `dependancies`",
            ),
            (
                "# /// script\n# dependencies = \"a\"\n# ///\n",
                "check.py:2: dependencies: this is not a list",
            ),
            (
                "# /// script\n# dependencies = [1]\n# ///\n",
                "check.py:2: dependencies: this is not a string",
            ),
            (
                "# /// script\n# dependencies = [\n#   \"a\",\n#   \"-r x\"]\n# ///\n",
                "check.py:4: dependencies: `-r x`: ",
            ),
            (
                "# /// script\n# dependencies = [\"a\\n-i x\"]\n# ///\n",
                "check.py:2: dependencies: `a\\n-i x`: ",
            ),
            (
                "# /// script\n# dependencies = [\"./lib\"]\n# ///\n",
                "check.py:2: dependencies: `./lib`: ",
            ),
            ("# /// script\n# dependencies = [\"\"]\n# ///\n", "check.py:2: dependencies: ``: "),
            (
                "# /// script\n# requires-python = \"new\"\n# ///\n",
                "check.py:2: requires-python: `new` is not",
            ),
            (
                "# /// script\n# requires-python = 3\n# ///\n",
                "check.py:2: requires-python: this is not a string",
            ),
        ] {
            let error = read(text, false).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn only_ones_own_file_may_say_where_a_package_comes_from() {
        let text = "# /// script\n# dependencies = [\"a @ https://e/a.whl\"]\n# ///\n";
        assert!(!read(text, false).unwrap().unwrap().is_plain);
        let error = read(text, true).unwrap_err();
        assert!(
            error.starts_with(
                "check.py:2: dependencies: `a @ https://e/a.whl`: an evaluator that was fetched"
            ),
            "{error}"
        );
        assert!(
            read("# /// script\n# dependencies = [\"a>1\"]\n# ///\n", true)
                .unwrap()
                .unwrap()
                .is_plain
        );
    }

    #[test]
    fn the_interpreter_has_to_be_one_that_is_accepted() {
        let metadata = |wanted: &str| {
            read(&format!("# /// script\n# requires-python = \"{wanted}\"\n# ///\n"), false)
                .unwrap()
                .unwrap()
        };
        for (wanted, version, accepted) in [
            (">=3.10", "3.11.7", true),
            (">=3.10", "3.9.18", false),
            (">=3.10,<3.11", "3.11.0", false),
            ("==3.11.*", "3.11.7", true),
            ("~=3.11", "3.14.0a1+", true),
            (">=3.10", "nonsense", false),
        ] {
            let (line, wanted) = metadata(wanted).requires_python.unwrap();
            assert_eq!(accepts(&wanted, version), accepted, "{wanted} {version}");
            assert_eq!(line, 2);
        }
    }
}
