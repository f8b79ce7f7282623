//! `requirements.txt`: which packages it names, and whether it names anything but packages of the index.
//!
//! What installers accept besides packages (options, addresses, paths, references to variables) chooses where packages come
//! from. Only the user may choose that, never a fetched evaluator. So its requirements are checked against a list of known
//! harmless forms: a name, extras, versions, a marker, hashes. Everything else is refused.
//!
//! Requirements of fetched evaluators are parsed and written again for the installer instead of being filtered:
//! nothing that the installer reads differently (encodings, line ends) can select another index.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use pep440_rs::VersionSpecifiers;
use sha2::{Digest, Sha256};

/// Name of the file.
pub(super) const FILE_NAME: &str = "requirements.txt";

/// A line of requirements that a fetched evaluator may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}: `{text}`")]
#[non_exhaustive]
pub struct NotPlain {
    /// Line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: &'static str,
    /// The line, or the beginning of a long one.
    pub text: String,
}

impl NotPlain {
    pub(super) fn new(line: usize, reason: &'static str, text: &str) -> Self {
        const LONGEST: usize = 80;
        let text = text.trim();
        let mut shown: String = text.escape_debug().take(LONGEST).collect();
        if text.chars().nth(LONGEST).is_some() {
            shown.push_str("..");
        }
        Self { line, reason, text: shown }
    }
}

/// Checks that requirements only name packages of the index: names with extras, versions, markers and hashes, and
/// comments. Options, addresses, paths and references to variables are refused, because they can choose where packages
/// come from.
///
/// # Errors
///
/// The first line that contains anything else.
pub fn check_plain(text: &str) -> Result<(), NotPlain> {
    parse(text).map(drop)
}

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
    pub(super) fn beside(source: &Path, fetched: bool) -> Option<Result<Self, String>> {
        let path = source.with_file_name(FILE_NAME);
        // A dangling link is not a missing file.
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            _ => {}
        }
        Some(Self::read(path, fetched))
    }

    fn read(path: PathBuf, fetched: bool) -> Result<Self, String> {
        let content =
            fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let plain = match str::from_utf8(&content) {
            Ok(text) => parse(text).map_err(|problem| problem.to_string()),
            Err(error) => Err(format!("byte {}: it is not UTF-8", error.valid_up_to())),
        };
        let references = match &plain {
            Ok(_) => References::default(),
            Err(problem) if fetched => {
                return Err(format!(
                    "{}, {problem}\nhint: an evaluator that was fetched may only name packages of the index, such as \
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
        fs::read(&self.path).map_or(true, |content| content != self.content)
    }
}

/// Extensions by which installers recognize files.
const ARCHIVES: [&str; 7] = [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar"];

/// Returns the requirements of a text, one for each line, without comments and blank lines.
pub(super) fn parse(text: &str) -> Result<Vec<String>, NotPlain> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut requirements = Vec::new();
    for (index, line) in lines(text).enumerate() {
        let refused = |reason| NotPlain::new(index + 1, reason, line);
        // Installers may treat other characters as line ends, which could hide a requirement in a comment.
        if line.chars().any(|char| char != '\t' && (char.is_control() || is_separator(char))) {
            return Err(refused("control characters and unusual line ends are not allowed"));
        }
        if line.trim_end().ends_with('\\') {
            return Err(refused("lines that go on in the next line are not allowed"));
        }
        let requirement = without_comment(line).trim();
        if requirement.is_empty() {
            continue;
        }
        if let Some(reason) = problem(requirement) {
            return Err(refused(reason));
        }
        requirements.push(requirement.to_owned());
    }
    Ok(requirements)
}

/// Lines as Python separates them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

fn is_separator(char: char) -> bool {
    matches!(char, '\u{2028}' | '\u{2029}')
}

/// Removes a comment, which starts at the start of a line or after a blank.
pub(super) fn without_comment(line: &str) -> &str {
    let begins = |(at, _): &(usize, &str)| {
        line[..*at].chars().next_back().is_none_or(|before| before.is_ascii_whitespace())
    };
    line.match_indices('#').find(begins).map_or(line, |(at, _)| &line[..at])
}

/// Returns true if installers treat this name as a file.
pub(super) fn is_archive(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ARCHIVES.iter().any(|ending| name.ends_with(ending))
}

fn problem(requirement: &str) -> Option<&'static str> {
    if requirement.starts_with('-') {
        return Some("installer options are not allowed");
    }
    // Installers look for options after any blank.
    let options = requirement.match_indices([' ', '\t']).map(|(at, _)| at);
    let (named, hashes) = options
        .clone()
        .find(|at| requirement[at + 1..].starts_with('-'))
        .map_or((requirement, ""), |at| requirement.split_at(at));
    if !hashes.split_ascii_whitespace().all(is_hash) {
        return Some("only --hash options are allowed after a requirement");
    }
    let named = named.trim_end();
    let marker_at = named.find(';').unwrap_or(named.len());
    let (package, marker) = named.split_at(marker_at);
    if package.contains('@') || package.contains("://") || package.contains("+:") {
        return Some("addresses, repositories and direct references are not allowed");
    }
    if package.starts_with(['.', '/', '~']) || package.contains(['/', '\\']) {
        return Some("paths are not allowed");
    }
    if named.contains("${") {
        return Some("references to environment variables are not allowed");
    }
    let mut rest = Rest(package);
    let name = rest.take_while(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    if is_archive(name) {
        return Some("files are not allowed");
    }
    let is_name = name.starts_with(|char: char| char.is_ascii_alphanumeric())
        && name.ends_with(|char: char| char.is_ascii_alphanumeric());
    if !is_name || !rest.extras() || !rest.versions() || !rest.0.trim().is_empty() {
        return Some("this is not `NAME`, `NAME[EXTRA]` or `NAME>=VERSION`");
    }
    if marker_at < named.len() && !is_marker(&marker[1..]) {
        return Some("this is not a marker such as `python_version < \"3.12\"`");
    }
    None
}

/// Returns true for `NAME @ URL`, a direct reference of PEP 508.
pub(super) fn is_direct_reference(requirement: &str) -> bool {
    let mut rest = Rest(requirement);
    let name = rest.take_while(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    let is_name = name.starts_with(|char: char| char.is_ascii_alphanumeric());
    let Some((scheme, place)) = (is_name && rest.extras() && rest.eat("@"))
        .then(|| rest.0.trim_start().split_once(':'))
        .flatten()
    else {
        return false;
    };
    let is_scheme = |char: char| char.is_ascii_alphanumeric() || "+.-".contains(char);
    !scheme.is_empty()
        && scheme.chars().all(is_scheme)
        && !place.is_empty()
        && !requirement.chars().any(char::is_control)
}

/// The parts of a requirement that [`parse`] has accepted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    /// True if it names extras or hashes: its version alone then does not show that it is installed.
    pub(super) has_more: bool,
    /// Accepted versions, empty for all.
    pub(super) versions: &'a str,
    pub(super) marker: Option<&'a str>,
}

/// The name of a package as indexes compare it (PEP 503).
pub(super) fn normalized(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

/// Splits a requirement that [`parse`] has accepted.
pub(super) fn split(requirement: &str) -> Parts<'_> {
    let (requirement, has_hashes) = match requirement.split_once(" --") {
        Some((requirement, _)) => (requirement, true),
        None => (requirement, requirement.contains("\t--")),
    };
    let (package, marker) = match requirement.split_once(';') {
        Some((package, marker)) => (package, Some(marker.trim())),
        None => (requirement, None),
    };
    let mut rest = Rest(package.trim());
    let name = rest.take_while(|char| char.is_ascii_alphanumeric() || "-_.".contains(char));
    let has_extras = rest.0.trim_start().starts_with('[');
    rest.extras();
    let versions = rest.0.trim().trim_start_matches('(').trim_end_matches(')').trim();
    Parts { name, has_more: has_hashes || has_extras, versions, marker }
}

fn is_hash(word: &str) -> bool {
    word.strip_prefix("--hash=").and_then(|hash| hash.split_once(':')).is_some_and(
        |(algorithm, digest)| {
            let all = |text: &str| {
                !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
            };
            all(algorithm) && all(digest)
        },
    )
}

/// The rest of a requirement that is being parsed.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.0.find(|char| !keep(char)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn eat(&mut self, text: &str) -> bool {
        self.0 = self.0.trim_start();
        self.0.strip_prefix(text).map(|rest| self.0 = rest).is_some()
    }

    /// `[a, b]`, or nothing.
    fn extras(&mut self) -> bool {
        if !self.eat("[") {
            return true;
        }
        let inside = |char: char| char.is_ascii_alphanumeric() || "-_., \t".contains(char);
        self.take_while(inside);
        self.eat("]")
    }

    /// `>=1, <2`, in parentheses or not, or nothing.
    fn versions(&mut self) -> bool {
        let all = std::mem::take(&mut self.0).trim();
        let inner = all.strip_prefix('(').map(|rest| rest.strip_suffix(')'));
        let versions = inner.unwrap_or(Some(all));
        all.is_empty()
            || versions.is_some_and(|versions| {
                versions.is_ascii()
                    && !versions.trim().is_empty()
                    && versions.parse::<VersionSpecifiers>().is_ok()
            })
    }
}

/// Returns true if a text consists of tokens of markers. The installer checks their meaning.
fn is_marker(text: &str) -> bool {
    let mut rest = Rest(text.trim());
    if rest.0.is_empty() {
        return false;
    }
    while !rest.0.is_empty() {
        let word =
            rest.take_while(|char| char.is_ascii_alphanumeric() || "_.()<>=!~ \t".contains(char));
        if let Some(quote) = rest.0.chars().next().filter(|char| matches!(char, '"' | '\'')) {
            rest.0 = &rest.0[1..];
            rest.take_while(|char| char.is_ascii() && char != quote && char != '\\');
            if !rest.0.starts_with(quote) {
                return false;
            }
            rest.0 = &rest.0[1..];
        } else if word.is_empty() {
            return false;
        }
    }
    true
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

    #[test]
    fn the_file_beside_the_evaluator_counts() {
        let directory = Folder::new("requirements-beside");
        let source = directory.file("check.py", "");
        directory.file("deeper/requirements.txt", "a");
        assert!(Requirements::beside(&source, false).is_none());
        directory.file("requirements.txt", "a>1 # why\n\nb");
        let requirements = Requirements::beside(&source, true).unwrap().unwrap();
        assert_eq!(requirements.packages().unwrap(), ["a>1", "b"]);
        assert!(!requirements.have_changed());
        directory.file("requirements.txt", "a>2");
        assert!(requirements.have_changed());
    }

    #[test]
    fn what_a_fetched_evaluator_may_not_have_is_told_with_its_place() {
        let directory = Folder::new("requirements-fetched");
        let source = directory.file("check.py", "");
        let path = directory.file("requirements.txt", "a\n--index-url https://elsewhere\n");
        assert!(Requirements::beside(&source, false).unwrap().is_ok());
        let error = Requirements::beside(&source, true).unwrap().unwrap_err();
        let expected = format!(
            "{}, line 2: installer options are not allowed: `--index-url https://elsewhere`",
            path.display()
        );
        assert_eq!(error.lines().next(), Some(expected.as_str()));
        fs::write(&path, b"a\xff").unwrap();
        let error = Requirements::beside(&source, true).unwrap().unwrap_err();
        assert!(error.contains("byte 1: it is not UTF-8"), "{error}");
    }

    #[test]
    fn what_is_there_and_cannot_be_read_is_an_error() {
        let directory = Folder::new("requirements-unreadable");
        let source = directory.file("check.py", "");
        directory.file("requirements.txt/file", "");
        let error = Requirements::beside(&source, false).unwrap().unwrap_err();
        assert!(error.starts_with("cannot read "), "{error}");
        #[cfg(unix)]
        {
            let source = directory.file("link/check.py", "");
            std::os::unix::fs::symlink("nowhere", directory.path("link/requirements.txt")).unwrap();
            assert!(Requirements::beside(&source, false).unwrap().is_err());
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let error = check_plain(&format!("{}/", "x".repeat(200))).unwrap_err();
        assert_eq!(error.text, format!("{}..", "x".repeat(80)));
    }
}

#[cfg(test)]
mod plain_tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packages_of_the_index_are_accepted() {
        for line in [
            "rapidfuzz",
            "rapidfuzz>=3.0",
            "rapidfuzz >= 3.0, < 4  # a comment",
            "a-b_c.d[x,y-z] == 1.*",
            "a[]",
            "a (>=1, !=1.5)",
            "a~=1.4.2",
            "a===1.0+local-1",
            "a==1!2.0.post1",
            "a; python_version < \"3.12\" and (sys_platform == 'win32' or extra in 'x y')",
            "a ; platform_release != 'a@b://c/d'",
            "a==1 --hash=sha256:0123abcd --hash=sha512:ff",
            "2to3",
            "# only a comment with anything: -r http://x @ $",
            "",
            "   ",
        ] {
            assert!(parse(line).is_ok(), "{line}: {:?}", parse(line));
        }
        assert_eq!(
            parse("\u{feff}# packages\r\na # why\r\n\r\n  b>1\t# x\n").unwrap(),
            ["a", "b>1"]
        );
    }

    #[test]
    fn a_requirement_has_parts() {
        let parts = |name, has_more, versions, marker| Parts { name, has_more, versions, marker };
        assert_eq!(split("a-b.c"), parts("a-b.c", false, "", None));
        assert_eq!(split("a >= 1, < 4"), parts("a", false, ">= 1, < 4", None));
        assert_eq!(split("a (>=1)"), parts("a", false, ">=1", None));
        assert_eq!(split("a[x, y]==1.*"), parts("a", true, "==1.*", None));
        assert_eq!(split("a==1 --hash=sha256:0"), parts("a", true, "==1", None));
        assert!(split("a==1\t--hash=sha256:0").has_more);
        assert_eq!(split("a>1 ; os_name == 'x'"), parts("a", false, ">1", Some("os_name == 'x'")));
    }

    #[test]
    fn a_direct_reference_is_a_name_and_a_url() {
        for yes in
            ["a @ https://e/a.whl", "a[x]@file:///a", "a @ git+ssh://git@e/r ; os_name == 'x'"]
        {
            assert!(is_direct_reference(yes), "{yes}");
        }
        for no in [
            "-r @ https://e",
            "@ https://e",
            "a @ ./lib",
            "a",
            "https://e",
            "a @ https:",
            "a @ https://e\n-r x",
        ] {
            assert!(!is_direct_reference(no), "{no}");
        }
    }

    #[test]
    fn whatever_chooses_where_packages_come_from_is_refused() {
        for (line, reason) in [
            ("-r other.txt", "installer options"),
            ("--index-url https://evil", "installer options"),
            ("-e .", "installer options"),
            ("a --index-url https://evil", "only --hash options"),
            ("a\t-i https://evil", "only --hash options"),
            ("a ; extra == ' -i x'", "only --hash options"),
            ("a --hash=sha256:0 -i x", "only --hash options"),
            ("a --hash", "only --hash options"),
            ("a @ https://evil/a.whl", "addresses"),
            ("a@file:///a", "addresses"),
            ("https://evil/a.whl", "addresses"),
            ("git+https://evil/a", "addresses"),
            ("git+ssh://git@evil/a", "addresses"),
            ("./a", "paths"),
            ("/a", "paths"),
            ("~/a", "paths"),
            ("..", "paths"),
            ("a/b", "paths"),
            ("a\\b", "paths"),
            ("a.whl", "files"),
            ("A.TAR.GZ", "files"),
            ("${HOME}", "references to environment variables"),
            ("a==${VERSION}", "references to environment variables"),
            ("a; extra == '${SECRET}'", "references to environment variables"),
            ("a b", "this is not `NAME`"),
            ("a==", "this is not `NAME`"),
            ("a==1,", "this is not `NAME`"),
            ("a=1", "this is not `NAME`"),
            ("a[x", "this is not `NAME`"),
            ("a(>1", "this is not `NAME`"),
            ("ä", "this is not `NAME`"),
            ("a-", "this is not `NAME`"),
            ("a;", "this is not a marker"),
            ("a; x == 'open", "this is not a marker"),
            ("a; x == 1 & y", "this is not a marker"),
            ("a \\", "lines that go on"),
            ("# a\u{2028}--index-url https://evil", "control characters"),
            ("# a\u{b}--index-url https://evil", "control characters"),
            ("# a\u{85}--index-url https://evil", "control characters"),
            ("a\0", "control characters"),
        ] {
            let error = parse(line).expect_err(line);
            assert!(error.reason.starts_with(reason), "{line}: {error}");
            assert_eq!(error.line, 1);
        }
    }

    #[test]
    fn the_line_is_told() {
        let error = parse("a\n\r\n# x\nb\r-r c\n").unwrap_err();
        assert_eq!(error.to_string(), "line 5: installer options are not allowed: `-r c`");
    }

    proptest! {
        /// Nothing an installer would read as an option, an address or a path comes out, whatever goes in.
        #[test]
        fn what_is_accepted_names_packages(text in r"[-a@:/.\[\]\\ \t\n\r#;'${}=>1\u{2028}\u{c}]{0,24}") {
            if let Ok(requirements) = parse(&text) {
                for requirement in requirements {
                    prop_assert!(requirement.is_ascii());
                    prop_assert!(requirement.starts_with(|char: char| char.is_ascii_alphanumeric()));
                    let package = requirement.split(';').next().unwrap_or_default();
                    prop_assert!(!package.contains(['@', '/', '\\', '$']));
                    prop_assert!(!requirement.contains(['\n', '\r', '\\']));
                    prop_assert!(requirement.split([' ', '\t']).skip(1).all(|word| !word.starts_with('-') || is_hash(word)));
                }
            }
        }
    }
}

#[cfg(test)]
mod references_tests {
    use super::*;
    use crate::runtime::testing::Folder;

    fn digest_of(directory: &Folder, text: &str) -> Vec<u8> {
        let mut digest = Sha256::new();
        References::of(&directory.path("requirements.txt"), text, None).digest_into(&mut digest);
        digest.finalize().to_vec()
    }

    #[test]
    fn files_and_folders_are_found_in_all_their_forms() {
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
        let directory = Folder::new("references-content");
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
        let directory = Folder::new("references-circle");
        directory.file("a.txt", "-r b.txt");
        directory.file("b.txt", "-r a.txt");
        assert_eq!(digest_of(&directory, "-r a.txt"), digest_of(&directory, "-r a.txt"));
    }

    #[test]
    fn relative_paths_start_where_they_lead_somewhere() {
        let directory = Folder::new("references-base");
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
