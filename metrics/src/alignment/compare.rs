//! Comparison of an actual argument with an expected one.

use std::mem;

use evaluator_document::Field;
use evaluator_json::{NonFinite, Value, python_eq, to_string};
use indexmap::IndexMap;
use regex_lite::Regex;

/// Comparators by the name of the argument; `*` is every argument that is not named.
pub(super) type Comparators = IndexMap<String, Comparator>;

/// Rule by which an argument is as expected.
///
/// A missing or unexpected argument is a difference for every comparator except `Ignore`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Comparator {
    /// Both are equal in Python: `1`, `1.0` and `true` are; keys of objects have no order, items of lists have.
    #[default]
    Exact,
    /// The argument is not compared.
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

/// Maximum difference of numbers: `|actual - expected| <= max(absolute, relative * |expected|)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tolerance {
    /// Finite and at least 0; 0 by default.
    pub(super) absolute: f64,
    /// Finite and at least 0; 1e-9 by default, to allow for rounding errors.
    pub(super) relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { absolute: 0.0, relative: 1e-9 }
    }
}

impl Tolerance {
    fn allows(self, expected: f64, actual: f64) -> bool {
        // The first condition holds for infinities, whose difference is NaN.
        expected == actual
            || (expected.is_finite()
                && (actual - expected).abs() <= self.absolute.max(self.relative * expected.abs()))
    }
}

/// A regular expression that has to match the whole of a value.
///
/// The syntax is that of the `regex` crate without Unicode classes: `\d`, `\w`, `\s` and `(?i)` know ASCII only, `.` and
/// literal characters are any. Matching takes time proportional to the lengths of pattern and value.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub(super) source: String,
    regex: Regex,
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, regex_lite::Error> {
        // `a)|(b` is not a pattern, but would be one inside of the parentheses below.
        Regex::new(source)?;
        let regex = Regex::new(&format!(r"\A(?:{source})\z"))?;
        Ok(Self { source: source.to_owned(), regex })
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Comparator {
    /// Default comparators with their names in configurations.
    fn named() -> [(&'static str, Self); 6] {
        [
            ("exact", Self::Exact),
            ("ignore", Self::Ignore),
            ("subset", Self::Subset),
            ("set", Self::Set),
            ("numeric", Self::Numeric(Tolerance::default())),
            ("regex", Self::Regex(None)),
        ]
    }

    /// Returns the name in configurations.
    pub(super) fn name(&self) -> &'static str {
        let is_same = |other: &Self| mem::discriminant(other) == mem::discriminant(self);
        let named = Self::named().into_iter().find(|(_, other)| is_same(other));
        named.map_or("", |(name, _)| name)
    }
}

/// Reads comparators by argument:
///
/// ```yaml
/// request_id: ignore
/// tags: set
/// price: {compare: numeric, tolerance: 0.01}
/// date: {compare: regex, pattern: '\d{4}-\d{2}-\d{2}'}
/// '*': subset                                          # every argument that is not named
/// ```
pub(super) fn read(key: &str, field: Field<'_>) -> Comparators {
    let named = field.named().into_iter();
    named
        .filter_map(|(argument, node)| {
            let key = format!("{key}.{argument}");
            Some((argument.to_owned(), read_comparator(node.field(&key, field.problems))?))
        })
        .collect()
}

/// Reads a name, or a mapping with the name under `compare`.
fn read_comparator(field: Field<'_>) -> Option<Comparator> {
    let named = Comparator::named();
    if !field.is_mapping() {
        return field.choice(&named);
    }
    let mut fields = field.fields("this comparator")?;
    let Some(compare) = fields.take("compare") else {
        let names = named.map(|(name, _)| name);
        let report = field.add(format!("the key `compare` is missing in `{}`", field.key));
        return report.hint(format!("one of {}", names.join(", "))).none();
    };
    let comparator = match compare.choice(&named)? {
        Comparator::Numeric(default) => {
            let mut tolerance = |key: &'static str, default: f64| {
                fields.take(key).map_or(Some(default), |field| field.non_negative())
            };
            let absolute = tolerance("tolerance", default.absolute);
            let relative = tolerance("relative_tolerance", default.relative);
            absolute
                .zip(relative)
                .map(|(absolute, relative)| Comparator::Numeric(Tolerance { absolute, relative }))
        }
        Comparator::Regex(_) => match fields.take("pattern") {
            Some(field) => read_pattern(field).map(|pattern| Comparator::Regex(Some(pattern))),
            None => Some(Comparator::Regex(None)),
        },
        other => Some(other),
    };
    fields.finish();
    comparator
}

fn read_pattern(field: Field<'_>) -> Option<Pattern> {
    match Pattern::new(field.text()?) {
        Ok(pattern) => Some(pattern),
        Err(error) => field.add(format!("`pattern` is not a regular expression: {error}")).none(),
    }
}

impl Comparator {
    /// Returns true if the actual value is as expected.
    pub(super) fn accepts(&self, expected: &Value, actual: &Value) -> bool {
        match self {
            Self::Exact | Self::Regex(None) => python_eq(expected, actual),
            Self::Ignore => true,
            Self::Subset => is_part(expected, actual),
            Self::Set => same_items(expected, actual),
            Self::Numeric(tolerance) => match (number(expected), number(actual)) {
                (Some(expected), Some(actual)) => tolerance.allows(expected, actual),
                _ => python_eq(expected, actual),
            },
            Self::Regex(Some(pattern)) => match actual {
                Value::String(text) => pattern.regex.is_match(text),
                other => pattern.regex.is_match(&to_string(other, NonFinite::Literal)),
            },
        }
    }
}

fn is_part(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .all(|(key, expected)| actual.get(key).is_some_and(|actual| is_part(expected, actual))),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.iter().all(|expected| actual.iter().any(|actual| is_part(expected, actual)))
        }
        _ => python_eq(expected, actual),
    }
}

fn same_items(expected: &Value, actual: &Value) -> bool {
    let within = |part: &[Value], whole: &[Value]| {
        part.iter().all(|item| whole.iter().any(|other| python_eq(item, other)))
    };
    match (expected, actual) {
        (Value::Array(expected), Value::Array(actual)) => {
            within(expected, actual) && within(actual, expected)
        }
        _ => python_eq(expected, actual),
    }
}

/// Returns the number that a value is, or that its text represents. Booleans are not numbers.
fn number(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "compared with a tolerance")]
        Value::Int(int) => Some(*int as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(float) => Some(*float),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use evaluator_json::parse_python;

    use super::{super::ToolTrajectoryAlignment, *};

    fn accepts(comparator: &Comparator, expected: &str, actual: &str) -> bool {
        comparator.accepts(&parse_python(expected).unwrap(), &parse_python(actual).unwrap())
    }

    #[test]
    fn comparators_accept_what_they_say() {
        let tolerance = Tolerance { absolute: 0.5, ..Tolerance::default() };
        let numeric = Comparator::Numeric(tolerance);
        let digits = Comparator::Regex(Some(Pattern::new("[0-9]+").unwrap()));
        for (comparator, expected, actual, accepted) in [
            (Comparator::Exact, "[1, 2]", "[1.0, 2]", true),
            (Comparator::Exact, "[1, 2]", "[2, 1]", false),
            (Comparator::Subset, r#"{"a": {"b": 1}}"#, r#"{"a": {"b": 1, "c": 2}}"#, true),
            (Comparator::Subset, r#"{"a": 1, "b": null}"#, r#"{"a": 1}"#, false),
            (Comparator::Subset, r#"[{}, {"a": 1}]"#, r#"[{"a": 1, "b": 2}]"#, true),
            (Comparator::Subset, "[3]", "[1, 2]", false),
            (Comparator::Subset, r#""par""#, r#""part""#, false),
            (Comparator::Set, "[1, 2, 2]", "[2, 1]", true),
            (Comparator::Set, "[1, 2]", "[1]", false),
            (Comparator::Set, "[1]", "[1, 2]", false),
            (Comparator::Set, r#""a""#, r#""a""#, true),
            (Comparator::Set, "1", "[1]", false),
            (numeric.clone(), "10", r#"" 10.5 ""#, true),
            (numeric.clone(), "10", "9.4", false),
            (numeric.clone(), "100000000000000000000", "1e20", true),
            (numeric.clone(), "1", "true", true),
            (numeric.clone(), r#""a""#, r#""a""#, true),
            (numeric, "1", "[1]", false),
            (digits.clone(), "null", "42", true),
            (digits.clone(), "null", r#""42""#, true),
            (digits, "42", r#""x42""#, false),
        ] {
            let found = accepts(&comparator, expected, actual);
            assert_eq!(found, accepted, "{comparator:?} {expected} {actual}");
        }
    }

    #[test]
    fn what_is_said_of_a_tool_goes_first() {
        let comparators = |list: &[(&str, Comparator)]| -> Comparators {
            list.iter().map(|(name, comparator)| ((*name).to_owned(), comparator.clone())).collect()
        };
        let settings = ToolTrajectoryAlignment {
            args: comparators(&[("a", Comparator::Set), ("*", Comparator::Subset)]),
            tools: [
                ("f".to_owned(), comparators(&[("b", Comparator::Ignore)])),
                ("g".to_owned(), comparators(&[("*", Comparator::Ignore)])),
            ]
            .into(),
            ..ToolTrajectoryAlignment::default()
        };
        let name = |tool, argument| settings.comparator(tool, argument).name();
        assert_eq!([name("f", "a"), name("f", "b"), name("f", "c")], ["set", "ignore", "subset"]);
        assert_eq!([name("g", "a"), name("h", "a"), name("h", "b")], ["ignore", "set", "subset"]);
        assert_eq!(ToolTrajectoryAlignment::default().comparator("f", "a").name(), "exact");
    }

    #[test]
    fn a_pattern_matches_a_whole_value() {
        let matches = |pattern, text| Pattern::new(pattern).unwrap().regex.is_match(text);
        assert!(matches("a|ab", "ab") && matches(r"\d{4}-\d{2}", "2024-05") && matches("", ""));
        assert!(!matches("a|ab", "abc") && !matches("b", "ab") && !matches("a", "a\n"));
        for bad in ["(", "a)|(b", "[z-a]", "x{5,2}"] {
            assert!(!Pattern::new(bad).unwrap_err().to_string().is_empty(), "{bad}");
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
