//! How much an actual call is like an expected one.

use std::borrow::Cow;

use super::settings::{AlignmentSettings, BadPattern, Comparator, Pattern};
use crate::{
    json::{NonFinite, Object, Value, python_eq, to_string},
    metric::call::Call,
};

/// An expected call with the comparator of each of its arguments.
#[derive(Debug)]
pub(super) struct Expectation<'a> {
    tool: &'a str,
    args: &'a Object,
    comparators: Vec<Cow<'a, Comparator>>,
    settings: &'a AlignmentSettings,
}

/// An expected text that should have been a pattern.
#[derive(Debug, thiserror::Error)]
#[error("the expected `{argument}` of `{tool}` is not a regular expression: {source}")]
pub(super) struct BadExpectation {
    tool: String,
    argument: String,
    source: BadPattern,
}

/// An argument that is not as expected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference<'a> {
    pub(super) argument: &'a str,
    pub(super) comparator: &'a Comparator,
    /// `None` when nothing was expected.
    pub(super) expected: Option<&'a Value>,
    /// `None` when the argument is missing.
    pub(super) actual: Option<&'a Value>,
}

/// Arguments, of which calls without any have none.
fn args<'a>(call: &'a Call<'_>) -> &'a Object {
    static NONE: std::sync::LazyLock<Object> = std::sync::LazyLock::new(Object::default);
    call.args.as_object().unwrap_or(&NONE)
}

impl<'a> Expectation<'a> {
    pub(super) fn new(
        call: &'a Call<'a>,
        settings: &'a AlignmentSettings,
    ) -> Result<Self, BadExpectation> {
        let args = args(call);
        let comparators = args.iter().map(|(argument, expected)| {
            let comparator = settings.comparator(call.name(), argument);
            match (comparator, expected) {
                (Comparator::Regex(None), Value::String(text)) => Pattern::new(text)
                    .map(|pattern| Cow::Owned(Comparator::Regex(Some(pattern))))
                    .map_err(|source| BadExpectation {
                        tool: call.name().to_owned(),
                        argument: argument.clone(),
                        source,
                    }),
                _ => Ok(Cow::Borrowed(comparator)),
            }
        });
        let comparators = comparators.collect::<Result<_, _>>()?;
        Ok(Self { tool: call.name(), args, comparators, settings })
    }

    /// `(1 + arguments as expected) / (1 + arguments compared)`, and 0 for another tool.
    ///
    /// Compared are the arguments of both calls, ignored ones left out.
    pub(super) fn similarity(&self, actual: &Call<'_>) -> f64 {
        if self.tool != actual.name() {
            return 0.0;
        }
        let (mut compared, mut same) = (1_u32, 1_u32);
        self.compare(actual, |difference| {
            compared += 1;
            same += u32::from(difference.is_none());
        });
        f64::from(same) / f64::from(compared)
    }

    /// The arguments that are not as expected, in the order of the expected call and then of the actual one.
    pub(super) fn differences<'s>(&'s self, actual: &'s Call<'_>) -> Vec<Difference<'s>> {
        let mut differences = Vec::new();
        self.compare(actual, |difference| differences.extend(difference));
        differences
    }

    /// Tells of each argument that counts whether it differs.
    fn compare<'s>(&'s self, actual: &'s Call<'_>, mut tell: impl FnMut(Option<Difference<'s>>)) {
        let actual = args(actual);
        for ((argument, expected), comparator) in self.args.iter().zip(&self.comparators) {
            let comparator: &Comparator = comparator;
            if *comparator == Comparator::Ignore {
                continue;
            }
            let actual = actual.get(argument);
            let same = actual.is_some_and(|actual| comparator.accepts(expected, actual));
            let expected = Some(expected);
            tell((!same).then_some(Difference { argument, comparator, expected, actual }));
        }
        for (argument, value) in actual {
            let comparator = self.settings.comparator(self.tool, argument);
            if !self.args.contains_key(argument) && *comparator != Comparator::Ignore {
                let (expected, actual) = (None, Some(value));
                tell(Some(Difference { argument, comparator, expected, actual }));
            }
        }
    }
}

impl Comparator {
    /// Whether the actual value is as expected.
    fn accepts(&self, expected: &Value, actual: &Value) -> bool {
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
                Value::String(text) => pattern.matches(text),
                other => pattern.matches(&to_string(other, NonFinite::Literal)),
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

/// A number, or text that is one. Truth values are none.
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
    use super::*;
    use crate::{json::parse_python, metric::alignment::Tolerance};

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
}
