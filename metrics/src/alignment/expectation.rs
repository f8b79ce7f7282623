//! Comparison of an actual call with an expected one.

use std::borrow::Cow;

use evaluator_json::{Object, Value};

use super::{
    compare::{Comparator, Pattern},
    settings::ToolTrajectoryAlignment,
};
use crate::turns::Call;

/// An expected call with a comparator for each of its arguments.
#[derive(Debug)]
pub(super) struct Expectation<'a> {
    tool: &'a str,
    args: &'a Object,
    comparators: Vec<Cow<'a, Comparator>>,
    metric: &'a ToolTrajectoryAlignment,
}

/// An expected text that is not a pattern.
#[derive(Debug, thiserror::Error)]
#[error("the expected `{argument}` of `{tool}` is not a regular expression: {source}")]
pub(super) struct BadExpectation {
    tool: String,
    argument: String,
    source: regex_lite::Error,
}

/// An argument that differs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Difference<'a> {
    pub(super) argument: &'a str,
    pub(super) comparator: &'a Comparator,
    /// `None` if the argument was not expected.
    pub(super) expected: Option<&'a Value>,
    /// `None` if the argument is missing.
    pub(super) actual: Option<&'a Value>,
}

/// Returns the arguments of a call, empty if it has none.
fn args<'a>(call: &'a Call<'_>) -> &'a Object {
    static NONE: std::sync::LazyLock<Object> = std::sync::LazyLock::new(Object::default);
    call.args.as_object().unwrap_or(&NONE)
}

impl<'a> Expectation<'a> {
    pub(super) fn new(
        call: &'a Call<'a>,
        metric: &'a ToolTrajectoryAlignment,
    ) -> Result<Self, BadExpectation> {
        let args = args(call);
        let comparators = args.iter().map(|(argument, expected)| {
            let comparator = metric.comparator(call.name(), argument);
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
        Ok(Self { tool: call.name(), args, comparators, metric })
    }

    /// Returns `(1 + equal arguments) / (1 + compared arguments)`, or 0 for another tool. The arguments of both calls are
    /// compared, except ignored ones.
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

    /// Returns the arguments that differ: those of the expected call, then those of the actual one only.
    pub(super) fn differences<'s>(&'s self, actual: &'s Call<'_>) -> Vec<Difference<'s>> {
        let mut differences = Vec::new();
        self.compare(actual, |difference| differences.extend(difference));
        differences
    }

    /// Calls `report` for each compared argument, with the difference if there is one.
    fn compare<'s>(&'s self, actual: &'s Call<'_>, mut report: impl FnMut(Option<Difference<'s>>)) {
        let actual = args(actual);
        for ((argument, expected), comparator) in self.args.iter().zip(&self.comparators) {
            let comparator: &Comparator = comparator;
            if *comparator == Comparator::Ignore {
                continue;
            }
            let actual = actual.get(argument);
            let same = actual.is_some_and(|actual| comparator.accepts(expected, actual));
            let expected = Some(expected);
            report((!same).then_some(Difference { argument, comparator, expected, actual }));
        }
        for (argument, value) in actual {
            let comparator = self.metric.comparator(self.tool, argument);
            if !self.args.contains_key(argument) && *comparator != Comparator::Ignore {
                let (expected, actual) = (None, Some(value));
                report(Some(Difference { argument, comparator, expected, actual }));
            }
        }
    }
}
