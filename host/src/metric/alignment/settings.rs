//! How calls are compared, as a config says it.

use std::fmt;

use indexmap::IndexMap;
use regex_lite::Regex;

/// Settings of `tool_trajectory_alignment`.
///
/// By default calls are aligned in order, and all arguments are compared exactly.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct AlignmentSettings {
    /// Whether the order of calls counts.
    pub order: Order,
    /// Comparators for the arguments of all tools.
    pub args: Comparators,
    /// Comparators for the arguments of single tools. What is said here, by name or by `*`, goes before [`args`](Self::args).
    pub tools: IndexMap<String, Comparators>,
}

/// Comparators by the name of the argument; `*` stands for every argument that is not named.
pub type Comparators = IndexMap<String, Comparator>;

impl AlignmentSettings {
    /// The comparator of an argument: the first that is given among the tool's for that name, the tool's `*`, the general one
    /// for that name, the general `*`.
    #[must_use]
    pub fn comparator(&self, tool: &str, argument: &str) -> &Comparator {
        self.tools
            .get(tool)
            .into_iter()
            .chain([&self.args])
            .find_map(|comparators| comparators.get(argument).or_else(|| comparators.get("*")))
            .unwrap_or(&Comparator::Exact)
    }
}

/// Whether the order of calls counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
pub enum Order {
    /// Calls that are paired come in the same order on both sides.
    #[default]
    Ordered,
    /// Any call may be paired with any other.
    Unordered,
}

impl Order {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Ordered, Self::Unordered];

    /// Name as in configs: `ordered`, `unordered`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Unordered => "unordered",
        }
    }
}

/// When an argument is as expected.
///
/// Every comparator wants the argument on both sides: one that is missing or unexpected is a difference, except where it is
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub enum Comparator {
    /// Both are equal, as Python sees it: `1`, `1.0` and `true` are, keys of objects have no order, items of lists have.
    #[default]
    Exact,
    /// Always: the argument does not count at all.
    Ignore,
    /// The expected value is part of the actual one. Of an object each member is, under the same key; of a list each item
    /// is part of some actual item; anything else is equal.
    Subset,
    /// Both are lists with the same items, whatever their order and however often each is there; anything else is equal.
    Set,
    /// Both are numbers, or text that is one, and close enough; anything else is equal.
    Numeric(Tolerance),
    /// The whole actual value matches the pattern; without a pattern, the expected text is one. A value that is not text is
    /// matched by its JSON.
    Regex(Option<Pattern>),
}

impl Comparator {
    /// Names as in configs.
    pub const NAMES: [&'static str; 6] = ["exact", "ignore", "subset", "set", "numeric", "regex"];

    /// Name as in configs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Ignore => "ignore",
            Self::Subset => "subset",
            Self::Set => "set",
            Self::Numeric(_) => "numeric",
            Self::Regex(_) => "regex",
        }
    }
}

/// How far numbers may be apart: `|actual - expected| <= max(absolute, relative * |expected|)`.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Tolerance {
    /// Finite and at least 0; 0 by default.
    pub absolute: f64,
    /// Finite and at least 0; 1e-9 by default, which is what calculations with floats may be off by.
    pub relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { absolute: 0.0, relative: 1e-9 }
    }
}

impl Tolerance {
    pub(super) fn allows(self, expected: f64, actual: f64) -> bool {
        // The first holds for infinities, whose difference is no number.
        expected == actual
            || (expected.is_finite()
                && (actual - expected).abs() <= self.absolute.max(self.relative * expected.abs()))
    }
}

/// A regular expression that has to match the whole of a value.
///
/// The syntax is that of the `regex` crate without Unicode classes: `\d`, `\w`, `\s` and `(?i)` know ASCII only, `.` and
/// literal characters are any. No pattern takes more than time proportional to its length and that of the value.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

impl serde::Serialize for Pattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.source)
    }
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// It is not a regular expression, or too large for one.
    pub fn new(source: &str) -> Result<Self, BadPattern> {
        let bad = |error: regex_lite::Error| BadPattern { reason: error.to_string() };
        // First by itself: `a)|(b` would be one between the parentheses that make it match everything.
        Regex::new(source).map_err(bad)?;
        let regex = Regex::new(&format!(r"\A(?:{source})\z")).map_err(bad)?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether the whole of `text` matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)
    }
}

/// A text that is not a regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct BadPattern {
    /// What is wrong with it.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_a_tool_goes_first() {
        let comparators = |list: &[(&str, Comparator)]| -> Comparators {
            list.iter().map(|(name, comparator)| ((*name).to_owned(), comparator.clone())).collect()
        };
        let settings = AlignmentSettings {
            args: comparators(&[("a", Comparator::Set), ("*", Comparator::Subset)]),
            tools: [
                ("f".to_owned(), comparators(&[("b", Comparator::Ignore)])),
                ("g".to_owned(), comparators(&[("*", Comparator::Ignore)])),
            ]
            .into(),
            ..AlignmentSettings::default()
        };
        let name = |tool, argument| settings.comparator(tool, argument).name();
        assert_eq!([name("f", "a"), name("f", "b"), name("f", "c")], ["set", "ignore", "subset"]);
        assert_eq!([name("g", "a"), name("h", "a"), name("h", "b")], ["ignore", "set", "subset"]);
        assert_eq!(AlignmentSettings::default().comparator("f", "a").name(), "exact");
    }

    #[test]
    fn a_pattern_matches_a_whole_value() {
        let matches = |pattern, text| Pattern::new(pattern).unwrap().matches(text);
        assert!(matches("a|ab", "ab") && matches(r"\d{4}-\d{2}", "2024-05") && matches("", ""));
        assert!(!matches("a|ab", "abc") && !matches("b", "ab") && !matches("a", "a\n"));
        for bad in ["(", "a)|(b", "[z-a]", "x{5,2}"] {
            assert!(!Pattern::new(bad).unwrap_err().reason.is_empty(), "{bad}");
        }
    }

    #[test]
    fn tolerances_are_absolute_or_relative_to_what_is_expected() {
        let tolerance = Tolerance { absolute: 0.5, relative: 0.1 };
        assert!(tolerance.allows(1.0, 1.5) && tolerance.allows(100.0, 110.0));
        assert!(!tolerance.allows(1.0, 1.6) && !tolerance.allows(100.0, 111.0));
        assert!(Tolerance::default().allows(0.3, 0.1 + 0.2));
        let infinite = f64::INFINITY;
        assert!(tolerance.allows(infinite, infinite));
        assert!(!tolerance.allows(infinite, 1.0) && !tolerance.allows(1.0, infinite));
        assert!(!tolerance.allows(f64::NAN, f64::NAN) && !tolerance.allows(1.0, f64::NAN));
    }
}
