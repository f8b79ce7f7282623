//! Reads gates from text.

use std::str::FromStr;

use thiserror::Error;

use super::rule::{Gate, Measure};

/// Reason why a text is not a gate. It names the part that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct GateError(String);

impl Gate {
    /// Reads e.g. `booking: mean >= 0.8`. The name of the evaluator is what precedes the last `: `.
    ///
    /// # Errors
    ///
    /// The text has another form, the measure is unknown, or the limit is not between 0 and 1.
    pub fn parse(text: &str, confidence: f64) -> Result<Self, GateError> {
        let form = || GateError("a gate has the form `NAME: mean >= 0.8`".to_owned());
        let (evaluator, rule) = text.rsplit_once(": ").ok_or_else(form)?;
        let evaluator = evaluator.trim();
        if evaluator.is_empty() {
            return Err(form());
        }
        let rule = rule.trim();
        let end = rule.find(['<', '>', '=', '!', ' ']).ok_or_else(form)?;
        let (measure, rest) = rule.split_at(end);
        let measure: Measure = measure.parse()?;
        let rest = rest.trim_start();
        let digits = rest.trim_start_matches(['<', '>', '=', '!']);
        let comparison = &rest[..rest.len() - digits.len()];
        if comparison != ">=" {
            let found = if comparison.is_empty() { "nothing" } else { comparison };
            let message = format!("the comparison of a gate is `>=`, and here it is {found}");
            return Err(GateError(message));
        }
        let limit = digits.trim();
        let limit: f64 =
            limit.parse().map_err(|_| GateError(format!("the limit `{limit}` is not a number")))?;
        Self::new(evaluator, measure, limit, confidence)
    }

    /// Creates a gate.
    ///
    /// # Errors
    ///
    /// The limit or the confidence is not between 0 and 1.
    pub fn new(
        evaluator: &str,
        measure: Measure,
        limit: f64,
        confidence: f64,
    ) -> Result<Self, GateError> {
        let inside = |number: f64| number > 0.0 && number < 1.0;
        if limit >= 1.0 {
            let message = format!(
                "no number of cases can show that {measure} is at least {limit}; leave the gate out, and every evaluation has to pass"
            );
            return Err(GateError(message));
        }
        if !inside(limit) {
            let message = format!("the limit {limit} has to be between 0 and 1, both excluded");
            return Err(GateError(message));
        }
        if !inside(confidence) {
            let message =
                format!("the confidence {confidence} has to be between 0 and 1, both excluded");
            return Err(GateError(message));
        }
        Ok(Self { evaluator: evaluator.to_owned(), measure, limit, confidence, certified: false })
    }
}

impl FromStr for Measure {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_plain = |count: &&str| count.starts_with(|c: char| ('1'..='9').contains(&c));
        let count =
            text.strip_prefix("pass^").filter(is_plain).and_then(|count| count.parse().ok());
        match (text, count) {
            ("mean", _) => Ok(Self::Mean),
            ("pass_rate", _) => Ok(Self::PassRate),
            (_, Some(count @ 1..=999)) => Ok(Self::PassHat(count)),
            _ => Err(GateError(format!(
                "`{text}` is not a measure; `mean`, `pass_rate` and `pass^K`, e.g. `pass^3`, are"
            ))),
        }
    }
}

impl TryFrom<String> for Measure {
    type Error = GateError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Gate, String> {
        Gate::parse(text, 0.9).map_err(|error| error.to_string())
    }

    #[test]
    fn a_gate_is_read_as_it_is_written() {
        for (text, evaluator, measure, limit) in [
            ("booking: mean >= 0.8", "booking", Measure::Mean, 0.8),
            ("a: b: pass_rate >= 0.95", "a: b", Measure::PassRate, 0.95),
            ("my check: pass^3 >= 0.5", "my check", Measure::PassHat(3), 0.5),
        ] {
            let gate = parse(text).unwrap();
            assert_eq!((&*gate.evaluator, gate.measure, gate.limit), (evaluator, measure, limit));
            assert_eq!((gate.to_string(), gate.confidence), (text.to_owned(), 0.9));
            let json = serde_json::to_string(&gate).unwrap();
            assert_eq!(serde_json::from_str::<Gate>(&json).unwrap(), gate);
        }
        assert_eq!(parse("booking:  mean>=.8 "), parse("booking: mean >= 0.8"));
    }

    #[test]
    fn what_is_not_a_gate_is_refused_with_what_is_wrong() {
        let form = "a gate has the form `NAME: mean >= 0.8`";
        for (text, message) in [
            ("", form),
            ("mean >= 0.8", form),
            (": mean >= 0.8", form),
            ("booking: mean", form),
            ("booking: mean 0.8", "the comparison of a gate is `>=`, and here it is nothing"),
            ("booking: mean > 0.8", "the comparison of a gate is `>=`, and here it is >"),
            ("booking: mean <= 0.8", "the comparison of a gate is `>=`, and here it is <="),
            (
                "booking: median >= 0.8",
                "`median` is not a measure; `mean`, `pass_rate` and `pass^K`, e.g. `pass^3`, are",
            ),
            (
                "booking: pass^0 >= 0.8",
                "`pass^0` is not a measure; `mean`, `pass_rate` and `pass^K`, e.g. `pass^3`, are",
            ),
            (
                "booking: pass^03 >= 0.8",
                "`pass^03` is not a measure; `mean`, `pass_rate` and `pass^K`, e.g. `pass^3`, are",
            ),
            ("booking: mean >= 80%", "the limit `80%` is not a number"),
            ("booking: mean >= ", "the limit `` is not a number"),
            ("booking: mean >= 0", "the limit 0 has to be between 0 and 1, both excluded"),
            ("booking: mean >= -1", "the limit -1 has to be between 0 and 1, both excluded"),
            ("booking: mean >= nan", "the limit NaN has to be between 0 and 1, both excluded"),
            (
                "booking: pass_rate >= 1",
                "no number of cases can show that pass_rate is at least 1; leave the gate out, and every evaluation has to pass",
            ),
        ] {
            assert_eq!(parse(text), Err(message.to_owned()), "{text}");
        }
        assert!(Gate::new("a", Measure::Mean, 0.5, 1.0).is_err());
    }
}
