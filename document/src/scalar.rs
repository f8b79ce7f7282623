//! Plain scalars: of YAML 1.1, resolved as PyYAML does, and of the core schema of YAML 1.2. Dates and times stay text.

use evaluator_json::Value;

/// Resolves a plain scalar.
pub(crate) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Value::Bool(true);
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Value::Bool(false);
        }
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return Value::String(text.to_owned());
    }
    int(text)
        .or_else(|| float(text).map(Value::Float))
        .unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Resolves a plain scalar by the core schema of YAML 1.2.
pub(crate) fn resolve_core(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Value::Float(f64::NAN),
        _ => {}
    }
    let radix = |digits: &str, radix| i128::from_str_radix(digits, radix).ok().map(Value::from);
    let number = if let Some(octal) = text.strip_prefix("0o") {
        all(octal, |b| matches!(b, b'0'..=b'7')).then(|| radix(octal, 8)).flatten()
    } else if let Some(hex) = text.strip_prefix("0x") {
        all(hex, |b| b.is_ascii_hexdigit()).then(|| radix(hex, 16)).flatten()
    } else {
        core_number(text)
    };
    number.unwrap_or_else(|| Value::String(text.to_owned()))
}

/// Reads a decimal number, or an infinity.
fn core_number(text: &str) -> Option<Value> {
    let (sign, digits) = split_sign(text);
    if matches!(digits, ".inf" | ".Inf" | ".INF") {
        let infinity = if sign.is_empty() { f64::INFINITY } else { f64::NEG_INFINITY };
        return Some(Value::Float(infinity));
    }
    if all(digits, |b| b.is_ascii_digit()) {
        return Value::from_digits(&format!("{sign}{digits}"));
    }
    let (mantissa, exponent) = match digits.find(['e', 'E']) {
        Some(at) => (digits.get(..at)?, digits.get(at + 1..)?),
        None => (digits, "0"),
    };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let has_digits = !whole.is_empty() || (mantissa.starts_with('.') && !fraction.is_empty());
    let is_number = has_digits
        && is_digits(whole)
        && is_digits(fraction)
        && all(unsigned, |b| b.is_ascii_digit());
    if !is_number {
        return None;
    }
    format!("{sign}0{whole}.{fraction}0e{exponent}").parse().ok().map(Value::Float)
}

/// Splits off the sign, and drops it if it is `+`.
fn split_sign(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    }
}

fn all(text: &str, accept: impl Fn(u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(accept)
}

fn int(text: &str) -> Option<Value> {
    let (sign, digits) = split_sign(text);
    let signed = |digits: &str| format!("{sign}{}", digits.replace('_', ""));
    let radix =
        |digits: &str, radix| i128::from_str_radix(&signed(digits), radix).ok().map(Value::from);
    if let Some(bits) = digits.strip_prefix("0b") {
        return all(bits, |b| matches!(b, b'0' | b'1' | b'_')).then(|| radix(bits, 2))?;
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        return all(hex, |b| b.is_ascii_hexdigit() || b == b'_').then(|| radix(hex, 16))?;
    }
    if digits == "0" {
        return Some(Value::Int(0));
    }
    if let Some(octal) = digits.strip_prefix('0') {
        return all(octal, |b| matches!(b, b'0'..=b'7' | b'_')).then(|| radix(octal, 8))?;
    }
    if let Some((first, rest)) = digits.split_once(':') {
        let whole = sexagesimal(first, rest)?;
        return Some(Value::from(if sign.is_empty() { whole } else { whole.checked_neg()? }));
    }
    let is_decimal = digits.starts_with(|c: char| c.is_ascii_digit());
    Value::from_digits(&signed(digits)).filter(|_| is_decimal)
}

/// `1:30` is 90: digits of base 60 after the first.
fn sexagesimal(first: &str, rest: &str) -> Option<i128> {
    if !(first.starts_with(|c: char| matches!(c, '1'..='9'))
        && all(first, |b| b.is_ascii_digit() || b == b'_'))
    {
        return None;
    }
    let mut value: i128 = first.replace('_', "").parse().ok()?;
    for part in rest.split(':') {
        if !all(part, |b| b.is_ascii_digit()) || part.len() > 2 {
            return None;
        }
        let digit: i128 = part.parse().ok().filter(|digit| *digit < 60)?;
        value = value.checked_mul(60)?.checked_add(digit)?;
    }
    Some(value)
}

fn float(text: &str) -> Option<f64> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(f64::NAN);
    }
    let (sign, rest) = split_sign(text);
    let sign = if sign.is_empty() { 1.0 } else { -1.0 };
    if matches!(rest, ".inf" | ".Inf" | ".INF") {
        return Some(sign * f64::INFINITY);
    }
    let (whole, fraction) = rest.split_once('.')?;
    if let Some((first, others)) = whole.split_once(':') {
        // The fraction belongs to the last digit of base 60.
        let fraction = decimal("0", fraction)
            .filter(|_| fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_'))?;
        return Some(sign * (sexagesimal(first, others)? as f64 + fraction));
    }
    // A sign before a leading point is text, and an exponent needs a point and a sign of its own.
    let whole_is_number = whole.starts_with(|c: char| c.is_ascii_digit())
        && all(whole, |b| b.is_ascii_digit() || b == b'_');
    let starts_with_point = whole.is_empty()
        && text.starts_with('.')
        && fraction.starts_with(|c: char| c.is_ascii_digit());
    (whole_is_number || starts_with_point)
        .then(|| decimal(whole, fraction))
        .flatten()
        .map(|value| sign * value)
}

fn decimal(whole: &str, fraction: &str) -> Option<f64> {
    let (digits, exponent) = match fraction.find(['e', 'E']) {
        Some(at) => {
            let exponent = &fraction[at + 1..];
            let unsigned = exponent.strip_prefix(['+', '-'])?;
            (&fraction[..at], Some(exponent).filter(|_| all(unsigned, |b| b.is_ascii_digit()))?)
        }
        None => (fraction, "0"),
    };
    if !digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
        return None;
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    format!("{whole}.{digits}0e{exponent}").replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(value: Value) -> String {
        match value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => format!("bool {value}"),
            Value::Int(value) => format!("int {value}"),
            Value::BigInt(digits) => format!("big {digits}"),
            Value::Float(value) => format!("float {value}"),
            Value::String(text) => format!("text {text}"),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn scalars_mean_what_python_makes_of_them() {
        for (text, expected) in [
            ("", "null"),
            ("~", "null"),
            ("yes", "bool true"),
            ("Off", "bool false"),
            ("y", "text y"),
            ("yEs", "text yEs"),
            ("0", "int 0"),
            ("-0", "int 0"),
            ("0755", "int 493"),
            ("0o17", "text 0o17"),
            ("08", "text 08"),
            ("0x1F", "int 31"),
            ("0b101", "int 5"),
            ("1_000", "int 1000"),
            ("+5", "int 5"),
            ("-17", "int -17"),
            ("1:30", "int 90"),
            ("-1:30", "int -90"),
            ("1:60", "text 1:60"),
            ("0:30", "text 0:30"),
            ("1:30.5", "float 90.5"),
            (
                "123456789012345678901234567890123456789012345678",
                "big 123456789012345678901234567890123456789012345678",
            ),
            ("1e3", "text 1e3"),
            ("1.0e3", "text 1.0e3"),
            ("1.0e+3", "float 1000"),
            ("1.", "float 1"),
            (".5", "float 0.5"),
            ("-.5", "text -.5"),
            ("-1.5", "float -1.5"),
            (".inf", "float inf"),
            ("-.INF", "float -inf"),
            (".nan", "float NaN"),
            ("inf", "text inf"),
            ("1.2.3", "text 1.2.3"),
            ("-", "text -"),
            (".", "text ."),
            ("+", "text +"),
            ("2024-01-02", "text 2024-01-02"),
            ("2024-1-2 3:04:05.5 +1", "text 2024-1-2 3:04:05.5 +1"),
        ] {
            assert_eq!(shown(resolve(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn the_core_schema_has_fewer_forms() {
        for (text, expected) in [
            ("", "null"),
            ("Null", "null"),
            ("yes", "text yes"),
            ("off", "text off"),
            ("True", "bool true"),
            ("0755", "int 755"),
            ("0o17", "int 15"),
            ("0x1F", "int 31"),
            ("-0x1F", "text -0x1F"),
            ("0b101", "text 0b101"),
            ("1_000", "text 1_000"),
            ("+5", "int 5"),
            ("-17", "int -17"),
            ("1:30", "text 1:30"),
            ("1e3", "float 1000"),
            ("1.5E-1", "float 0.15"),
            ("1.", "float 1"),
            (".5", "float 0.5"),
            ("-.5", "float -0.5"),
            (".", "text ."),
            ("-", "text -"),
            ("e3", "text e3"),
            ("1e", "text 1e"),
            ("-.inf", "float -inf"),
            (".NaN", "float NaN"),
            ("1.2.3", "text 1.2.3"),
            ("2024-01-02", "text 2024-01-02"),
        ] {
            assert_eq!(shown(resolve_core(text)), expected, "{text:?}");
        }
    }
}
