//! References: the path of an evaluator inside a source.

/// Characters a reference may have.
const MAX_LENGTH: usize = 512;

/// Parts between slashes a reference may have.
const MAX_SEGMENTS: usize = 16;

/// The path of an evaluator's file inside a source, e.g. `evaluators/polite/polite.py`.
///
/// A reference becomes a part of a path in the cache and of a URL, so it is plain: relative, without `.` and `..`, and without
/// special characters of file systems and URLs. It cannot leave the directory to which it is joined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
pub struct Reference(String);

/// Error of an invalid reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must {0}")]
pub struct ReferenceError(String);

impl Reference {
    /// Reads a reference.
    ///
    /// # Errors
    ///
    /// [`ReferenceError`], whose message continues after the name of the key.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let wrong = |problem: String| Err(ReferenceError(problem));
        let (length, count) = (text.chars().count(), text.split('/').count());
        if !(1..=MAX_LENGTH).contains(&length) {
            return wrong(format!("have 1 to {MAX_LENGTH} characters, not {length}"));
        }
        if let Some(found) = text.chars().find(|c| matches!(c, '\\' | '%')) {
            return wrong(format!("not contain `{found}`"));
        }
        if count > MAX_SEGMENTS {
            return wrong(format!(
                "have at most {MAX_SEGMENTS} parts between slashes, not {count}"
            ));
        }
        if let Some(segment) = text.split('/').find(|segment| !is_plain(segment)) {
            return wrong(format!(
                "be a relative path of plain names (letters, digits, `_`, `-`, single dots between them), and `{segment}` is not one"
            ));
        }
        Ok(Self(text.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the directory; empty for the root of the source.
    pub fn directory(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(directory, _)| directory)
    }

    /// Returns the file name.
    pub fn file_name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns the extension with its dot, in lower case; empty if the name has no extension.
    pub fn extension(&self) -> String {
        let name = self.file_name();
        name.rfind('.').map_or_else(String::new, |dot| name[dot..].to_ascii_lowercase())
    }

    /// Returns true for a Rust source, whose evaluator is the package that contains it.
    pub fn is_rust(&self) -> bool {
        self.extension() == ".rs"
    }

    /// Returns the directories above the file, nearest first, without the root of the source.
    pub(super) fn directories(&self) -> impl Iterator<Item = &str> {
        let parent = |path: &str| path.rfind('/').unwrap_or_default();
        std::iter::successors(Some(self.directory()), move |directory| {
            Some(&directory[..parent(directory)])
        })
        .take_while(|directory| !directory.is_empty())
    }
}

/// Returns true if sources accept a name in a path: letters, digits, `_` and `-`, with single dots between them, and no `-` at
/// the start.
pub fn is_plain(segment: &str) -> bool {
    !segment.starts_with('-')
        && segment.split('.').all(|part| {
            !part.is_empty()
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        })
}

/// Returns true if a file of an evaluator may have this path: as a reference, but names may start with a dot.
pub fn is_file_path(path: &str) -> bool {
    let plain = |segment: &str| is_plain(segment.strip_prefix('.').unwrap_or(segment));
    path.len() <= MAX_LENGTH
        && path.split('/').count() <= MAX_SEGMENTS
        && path.split('/').all(plain)
}

/// Joins two paths inside a source.
pub(super) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

/// An evaluator of a source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{source} {reference}")]
pub struct Wanted {
    /// Name of the source.
    pub source: String,
    /// Path of the evaluator in the source.
    pub reference: Reference,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_paths_are_references() {
        for text in ["a.py", "evaluators/a-b/_c.d.py", "0/x.TS", "a/b.c-d.js", "noext"] {
            assert!(Reference::parse(text).is_ok(), "{text}");
        }
        let reference = Reference::parse("a/b/c.d.PY").unwrap();
        assert_eq!(
            (reference.directory(), reference.file_name(), reference.extension().as_str()),
            ("a/b", "c.d.PY", ".py")
        );
        assert_eq!(reference.directories().collect::<Vec<_>>(), ["a/b", "a"]);
        assert_eq!(Reference::parse("a.py").unwrap().directories().count(), 0);
    }

    #[test]
    fn whatever_could_lead_elsewhere_is_none() {
        for text in [
            "",
            "/etc/passwd.py",
            "../x.py",
            "a/../x.py",
            "a/./x.py",
            "a//x.py",
            "a/",
            ".x.py",
            "a/.git/x.py",
            "a..py",
            "x.",
            "-x.py",
            "a\\b.py",
            "a%2fb.py",
            "a b.py",
            "a:b.py",
            "ü.py",
            "a\n.py",
            "a.py\n",
            "c:x.py",
            "a?b.py",
            "a#b.py",
            "~/x.py",
        ] {
            assert!(Reference::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn limits_are_inclusive() {
        assert!(Reference::parse(&"a".repeat(512)).is_ok());
        assert_eq!(
            Reference::parse(&"a".repeat(513)),
            Err(ReferenceError("have 1 to 512 characters, not 513".to_owned()))
        );
        assert!(Reference::parse(&vec!["a"; 16].join("/")).is_ok());
        assert_eq!(
            Reference::parse(&vec!["a"; 17].join("/")),
            Err(ReferenceError("have at most 16 parts between slashes, not 17".to_owned()))
        );
    }

    #[test]
    fn names_that_sources_take() {
        for name in ["a.py", "a", "_a-b.tar.gz", "5", "Cargo.toml", "a.-b"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", ".", "..", ".a", "a.", "a..b", "-a", "a b", "é.py", "a/b", "a%2e", "a:b"]
        {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn paths_of_files_stay_inside() {
        for path in ["Cargo.toml", "src/main.rs", ".cargo/config.toml", ".gitignore"] {
            assert!(is_file_path(path), "{path}");
        }
        for path in ["", "/a", "a/", "..", "../a", "a/../b", "a/./b", "a\\b", "c:a", "..a"] {
            assert!(!is_file_path(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn a_reference_stays_below_what_it_is_joined_to(text in "[a./\\\\%_-]{0,12}") {
            if let Ok(reference) = Reference::parse(&text) {
                let components: Vec<_> = std::path::Path::new(reference.as_str()).components().collect();
                prop_assert_eq!(components.len(), text.split('/').count());
                prop_assert!(components.iter().all(|c| matches!(c, std::path::Component::Normal(_))));
            }
        }
    }
}
