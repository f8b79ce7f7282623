//! Numbers out of whatever recorders write for them.

use crate::{
    json::Value,
    json::{parse_float, parse_int},
};

/// Largest time that is taken for one, in nanoseconds. Differences and thousandfolds of such times still fit.
const MAX_TIME: i128 = 1 << 96;

/// A number cannot be used; the text says why and what is used instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unusable {
    #[error("is infinite; 0 is used")]
    Infinite,
    #[error("is out of range; 0 is used")]
    OutOfRange,
    #[error("is not an integer; its whole part or 0 is used")]
    NotAnInteger,
}

/// An integer of any size: floats lose their fraction, text is read, everything else is 0.
pub(super) fn integer(value: &Value) -> Result<Value, Unusable> {
    match value {
        Value::Int(_) | Value::BigInt(_) => Ok(value.clone()),
        Value::Float(float) => truncate(*float),
        Value::String(text) => match parse_int(text) {
            Some(int) => Ok(int),
            None => truncate(parse_float(text).unwrap_or_default()),
        },
        // `true` too: a flag is no count.
        _ => Ok(Value::Int(0)),
    }
}

/// A time or a duration; `scale` is 1 for nanoseconds, 1000 for microseconds. Absent is 0.
pub(super) fn time(value: &Value, scale: i128) -> Result<i128, Unusable> {
    let time = integer(value)?.as_i128().filter(|time| (-MAX_TIME..=MAX_TIME).contains(time));
    time.and_then(|time| time.checked_mul(scale)).ok_or(Unusable::OutOfRange)
}

/// A float: numbers and booleans as they are, text is read; `None` for everything else.
pub(super) fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        #[expect(clippy::cast_precision_loss, reason = "a recorded double is no more precise")]
        Value::Int(int) => Some(*int as f64),
        Value::BigInt(digits) => digits.parse().ok(),
        Value::Float(float) => Some(*float),
        Value::String(text) => parse_float(text),
        _ => None,
    }
}

fn truncate(float: f64) -> Result<Value, Unusable> {
    if float.is_nan() {
        return Ok(Value::Int(0));
    }
    if float.is_infinite() {
        return Err(Unusable::Infinite);
    }
    // All digits, exactly.
    Ok(Value::from_digits(&format!("{:.0}", float.trunc())).unwrap_or(Value::Int(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{ParseOptions, parse, to_python};

    #[test]
    fn recorded_cases() {
        let mut cases = 0;
        for line in include_str!("../../../json/tests/data/text_rules.jsonl").lines() {
            let case = parse(line, &ParseOptions::default()).expect("valid").value;
            if case.get("fn").and_then(Value::as_str) != Some("int") {
                continue;
            }
            let result = integer(case.get("in").expect("an input")).expect("finite");
            assert_eq!(
                to_python(&result),
                to_python(case.get("out").expect("an output")),
                "{line}"
            );
            cases += 1;
        }
        assert!(cases > 20, "only {cases} cases");
    }

    #[test]
    fn times_are_bounded() {
        assert_eq!(time(&Value::from("1.5e3"), 1), Ok(1500));
        assert_eq!(time(&Value::Int(-5), 1000), Ok(-5000));
        assert_eq!(time(&Value::Null, 1), Ok(0));
        assert_eq!(time(&Value::from("inf"), 1), Err(Unusable::Infinite));
        assert_eq!(time(&Value::Float(f64::NEG_INFINITY), 1), Err(Unusable::Infinite));
        assert_eq!(time(&Value::Float(1e30), 1), Err(Unusable::OutOfRange));
        assert_eq!(time(&Value::from("9".repeat(99)), 1), Err(Unusable::OutOfRange));
        assert_eq!(time(&Value::from(i128::MIN), 1), Err(Unusable::OutOfRange));
    }
}
