//! Names of new evaluators.

use evaluator_host::runtime::Language;

use super::Template;

const MAX_LENGTH: usize = 64;

/// Reason why no evaluator was created. No files are left.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScaffoldError(pub(super) String);

/// A name that is valid for a directory, a package, a file and a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    /// Checks a name for use in a language, or outside of programs.
    ///
    /// # Errors
    ///
    /// The error names the problem and suggests another name.
    pub(super) fn new(name: &str, language: Option<Language>) -> Result<Self, ScaffoldError> {
        match problem(name, language) {
            None => Ok(Self(name.to_owned())),
            Some(problem) => Err(ScaffoldError(format!(
                "`{name}` cannot be the name of an evaluator: {problem}; try `{}`",
                suggest(name, language)
            ))),
        }
    }

    /// Name of the directory and the package, as given.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the function, the module and the evaluator: `_` replaces `-`.
    pub(super) fn identifier(&self) -> String {
        self.0.replace('-', "_")
    }
}

/// Returns the rule that a name violates.
fn problem(name: &str, language: Option<Language>) -> Option<String> {
    let Some(first) = name.chars().next() else { return Some("it is empty".to_owned()) };
    // A capital letter at the start is an invalid character, not an invalid start.
    if !first.is_alphabetic() {
        return Some(format!("it begins with {first:?}, not with a letter"));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    match name.chars().find(|c| !fits(*c)) {
        Some(other) if other.is_ascii_uppercase() => {
            return Some(format!("it contains {other:?}, but names are written in lower case"));
        }
        Some(other) => {
            return Some(format!(
                "it contains {other:?}, but only a-z, 0-9, `_` and `-` can be used"
            ));
        }
        None => {}
    }
    if name.len() > MAX_LENGTH {
        return Some(format!("it is longer than {MAX_LENGTH} characters"));
    }
    reserved(&name.replace('-', "_"), language).map(|reason| format!("it {reason}"))
}

/// Returns the reason why an identifier cannot be used, e.g. `is a keyword of Rust`.
fn reserved(identifier: &str, language: Option<Language>) -> Option<&'static str> {
    let words: &[(&str, &str)] = match language {
        Some(Language::Rust) => &RUST,
        Some(Language::Python) => &PYTHON,
        _ => &[],
    };
    let is_listed =
        |(words, _): &&(&str, &str)| words.split_ascii_whitespace().any(|word| word == identifier);
    if let Some((_, reason)) = [DEVICES].iter().chain(words).find(is_listed) {
        return Some(reason);
    }
    match language {
        Some(Language::Rust) => is_function(identifier).then_some(USED_BY_TEMPLATE),
        Some(language) if language.is_for_node() => {
            let is_test = identifier == "test"
                || identifier.starts_with("test_")
                || identifier.ends_with("_test");
            is_test.then_some("is a name that Node.js takes for a test")
        }
        _ => None,
    }
}

/// Returns true if a Rust template has a function of that name.
fn is_function(identifier: &str) -> bool {
    let declaration = format!("fn {identifier}(");
    let rust = Template::all().filter(|template| template.language() == Some(Language::Rust));
    rust.flat_map(|template| template.files()).any(|file| file.text.contains(&declaration))
}

/// Words that cannot be names, and the reason.
type Reserved = (&'static str, &'static str);

const USED_BY_TEMPLATE: &str = "is a name that the template uses for something else";

const DEVICES: Reserved = (
    "aux con nul prn com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 \
     lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9",
    "is the name of a device on Windows",
);

const RUST: [Reserved; 6] = [
    (
        "abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if \
         impl in let loop macro match mod move mut override priv pub ref return self static struct super trait true try \
         type typeof unsafe unsized use virtual where while yield",
        "is a keyword of Rust",
    ),
    (
        "alloc core evaluator_protocol evaluator_sdk evaluator_sdk_macros proc_macro serde serde_json std test",
        "is the name of a crate that the evaluator uses",
    ),
    // The macro adds a type with the name of the function.
    (
        "bool char f16 f32 f64 f128 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize",
        "is the name of a type in Rust",
    ),
    ("build deps examples incremental", "is a name that cargo uses in its target directory"),
    ("main", "is the name of the function that a program starts with"),
    // Variables and modules of the templates, which a function of the same name would hide.
    ("input settings testing tests", USED_BY_TEMPLATE),
];

const PYTHON: [Reserved; 2] = [
    (
        "and as assert async await break case class continue def del elif else except finally for from global if import in \
         is lambda match nonlocal not or pass raise return try type while with yield",
        "is a keyword of Python",
    ),
    // Modules that Python itself, the evaluator and its tests are likely to import.
    (
        "abc argparse array ast asyncio base64 bisect calendar cmath code codecs collections copy csv dataclasses datetime \
         decimal difflib dis email enum errno fractions functools gc glob gzip hashlib heapq html http inspect io \
         itertools json keyword linecache locale logging math numbers operator os pathlib pickle platform pprint queue \
         random re runpy secrets select selectors shutil signal site socket ssl stat statistics string struct subprocess \
         sys sysconfig tempfile textwrap threading time timeit token tokenize tomllib traceback types typing unicodedata \
         unittest urllib uuid warnings weakref xml zipfile zlib",
        "is the name of a module of Python's library, which it would hide",
    ),
];

/// Returns a similar name that can be used.
fn suggest(name: &str, language: Option<Language>) -> String {
    let mut suggestion = String::new();
    let mut previous = ' ';
    for character in name.chars() {
        if character.is_ascii_uppercase() && previous.is_ascii_lowercase() {
            suggestion.push('_');
        }
        if character.is_ascii_alphanumeric() {
            suggestion.push(character.to_ascii_lowercase());
        } else if !suggestion.ends_with('_') {
            suggestion.push('_');
        }
        previous = character;
    }
    let words = suggestion.trim_matches('_');
    let mut suggestion = match words.chars().next() {
        None => "my_check".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("check_{words}"),
        Some(_) => words.to_owned(),
    };
    suggestion.truncate(MAX_LENGTH);
    for attempt in ["", "_check", "s_check"] {
        let candidate = format!("{suggestion}{attempt}");
        if problem(&candidate, language).is_none() {
            return candidate;
        }
    }
    "my_check".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_can_be_used() {
        for &language in Language::ALL {
            for name in ["my_check", "my-check", "a", "check2", "a__b", "x-", &"a".repeat(64)] {
                assert_eq!(Name::new(name, Some(language)).unwrap().as_str(), name);
            }
        }
        assert_eq!(Name::new("my-check", Some(Language::Rust)).unwrap().identifier(), "my_check");
    }

    #[test]
    fn the_error_names_the_problem_and_a_way_out() {
        let cases = [
            ("", Language::Rust, "it is empty; try `my_check`"),
            ("2fast", Language::Rust, "it begins with '2', not with a letter; try `check_2fast`"),
            ("_hidden", Language::Python, "it begins with '_', not with a letter; try `hidden`"),
            (
                "MyCheck",
                Language::Rust,
                "it contains 'M', but names are written in lower case; try `my_check`",
            ),
            (
                "naïve",
                Language::Rust,
                "it contains 'ï', but only a-z, 0-9, `_` and `-` can be used; try `na_ve`",
            ),
            (
                "a b",
                Language::JavaScript,
                "it contains ' ', but only a-z, 0-9, `_` and `-` can be used; try `a_b`",
            ),
            ("match", Language::Rust, "it is a keyword of Rust; try `match_check`"),
            (
                "test",
                Language::Rust,
                "it is the name of a crate that the evaluator uses; try `test_check`",
            ),
            (
                "std",
                Language::Rust,
                "it is the name of a crate that the evaluator uses; try `std_check`",
            ),
            (
                "evaluator-sdk",
                Language::Rust,
                "it is the name of a crate that the evaluator uses; try `evaluator_sdk_check`",
            ),
            (
                "tests",
                Language::Rust,
                "it is a name that the template uses for something else; try `tests_check`",
            ),
            (
                "turn",
                Language::Rust,
                "it is a name that the template uses for something else; try `turn_check`",
            ),
            (
                "main",
                Language::Rust,
                "it is the name of the function that a program starts with; try `main_check`",
            ),
            ("str", Language::Rust, "it is the name of a type in Rust; try `str_check`"),
            ("nul", Language::TypeScript, "it is the name of a device on Windows; try `nul_check`"),
            (
                "json",
                Language::Python,
                "it is the name of a module of Python's library, which it would hide; try `json_check`",
            ),
            (
                "my_test",
                Language::JavaScript,
                "it is a name that Node.js takes for a test; try `my_test_check`",
            ),
            (
                "test",
                Language::TypeScript,
                "it is a name that Node.js takes for a test; try `tests_check`",
            ),
            ("-", Language::Rust, "it begins with '-', not with a letter; try `my_check`"),
        ];
        for (name, language, expected) in cases {
            let error = Name::new(name, Some(language)).unwrap_err().to_string();
            assert_eq!(error, format!("`{name}` cannot be the name of an evaluator: {expected}"));
        }
    }

    #[test]
    fn what_is_suggested_can_be_used() {
        let long = "x".repeat(100);
        for &language in Language::ALL {
            for name in [
                "", "???", "9", "ÄÖ", "Fn", "FN", "--", "com1", "test_", "TEST-", &long, "a/b",
                "gen",
            ] {
                let suggestion = suggest(name, Some(language));
                assert!(Name::new(&suggestion, Some(language)).is_ok(), "{name:?}: {suggestion:?}");
            }
        }
    }
}
