//! Python's notation of structures, and its equality.

use crate::{
    text::{parse_float, parse_int},
    value::{Object, Value},
};

/// Maximum depth of structures.
const MAX_DEPTH: usize = 64;

/// Reads a dictionary, list or tuple in Python's notation. `None` when the text is anything else, has keys that are
/// not strings, or holds objects of classes.
pub fn parse_literal(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim(), objects: false };
    let value = match reader.peek()? {
        '{' | '[' | '(' => reader.value(0)?,
        _ => return None,
    };
    reader.rest.is_empty().then_some(value)
}

/// Reads the text that Python shows for an object: the call of a class with keyword arguments, `Answer(text='hi', n=1)`.
///
/// The object has the arguments as members, and so do objects inside it. `<Role.USER: 'user'>`, a member of an enumeration,
/// becomes its value, and other text in angle brackets becomes `null`. `None` when the text is anything else.
pub fn parse_repr(text: &str) -> Option<Value> {
    let text = text.trim();
    if !is_repr(text) {
        return None;
    }
    let mut reader = Reader { rest: text, objects: true };
    let value = reader.value(0)?;
    reader.rest.is_empty().then_some(value)
}

/// Returns true for text that starts as the call of a class with keyword arguments, whatever follows.
pub fn is_repr(text: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let text = text.trim_start();
    let Some((class, rest)) = text.split_once('(') else { return false };
    let argument = rest.split_once('=').map_or("", |(argument, _)| argument);
    class.starts_with(|c: char| c.is_uppercase() || c == '_')
        && class.chars().all(|c| is_name(c) || c == '.')
        && argument.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && argument.chars().all(is_name)
}

struct Reader<'a> {
    rest: &'a str,
    /// Whether the notation of objects is read.
    objects: bool,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let next = chars.next()?;
        self.rest = chars.as_str();
        Some(next)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes a character and the whitespace after it, if it is the next one.
    fn take(&mut self, expected: char) -> bool {
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        let value = match self.peek()? {
            '{' => self.mapping(depth)?,
            '[' => self.items('[', ']', depth)?,
            '(' => self.items('(', ')', depth)?,
            '\'' | '"' => Value::String(self.string()?),
            '<' if self.objects => self.bracketed(depth)?,
            c if self.objects && (c.is_alphabetic() || c == '_') => self.object(depth)?,
            _ => self.word()?,
        };
        self.skip_space();
        Some(value)
    }

    /// The call of a class, or a word.
    fn object(&mut self, depth: usize) -> Option<Value> {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        if !self.rest[end..].starts_with('(') {
            return self.word();
        }
        self.rest = &self.rest[end..];
        self.take('(');
        let mut object = Object::default();
        while !self.take(')') {
            let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_'))?;
            let is_keyword = end > 0 && self.rest[end..].starts_with('=');
            let key = match is_keyword {
                true => {
                    let (key, rest) = self.rest.split_at(end);
                    self.rest = rest.strip_prefix('=')?;
                    key.to_owned()
                }
                false => object.len().to_string(),
            };
            object.insert(key, self.value(depth + 1)?);
            if !self.take(',') && self.peek() != Some(')') {
                return None;
            }
        }
        Some(Value::Object(object))
    }

    /// The value of a member of an enumeration, `<Role.USER: 'user'>`; `null` for other text in angle brackets.
    fn bracketed(&mut self, depth: usize) -> Option<Value> {
        let whole = self.rest;
        let name = whole.find(|c: char| !(c.is_alphanumeric() || matches!(c, '<' | '_' | '.')))?;
        if let Some(rest) = whole[name..].strip_prefix(": ") {
            self.rest = rest;
            if let Some(value) = self.value(depth + 1)
                && self.take('>')
            {
                return Some(value);
            }
        }
        self.rest = &whole[whole.find('>')? + 1..];
        Some(Value::Null)
    }

    fn mapping(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut object = Object::default();
        while !self.take('}') {
            let key = self.string()?;
            self.skip_space();
            if !self.take(':') {
                return None;
            }
            object.insert(key, self.value(depth + 1)?);
            if !self.take(',') && self.peek() != Some('}') {
                return None;
            }
        }
        Some(Value::Object(object))
    }

    fn items(&mut self, open: char, close: char, depth: usize) -> Option<Value> {
        self.take(open);
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value(depth + 1)?);
            if !self.take(',') && self.peek() != Some(close) {
                return None;
            }
        }
        Some(Value::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let mut text = String::new();
        loop {
            match self.next()? {
                '\\' => text.push(self.escaped()?),
                end if end == quote => return Some(text),
                other => text.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            same @ ('\\' | '\'' | '"') => same,
            _ => return None,
        })
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let (code, rest) = self.rest.split_at_checked(digits)?;
        self.rest = rest;
        char::from_u32(u32::from_str_radix(code, 16).ok()?)
    }

    /// A name or a number.
    fn word(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(match word {
            "None" => Value::Null,
            "True" => Value::Bool(true),
            "False" => Value::Bool(false),
            number if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                parse_int(number).or_else(|| parse_float(number).map(Value::Float))?
            }
            _ => return None,
        })
    }
}

/// Compares as Python's `==` does: `1 == 1.0 == True`, objects in any order, `NaN` unequal to itself.
///
/// Integers of any size are compared exactly, also with floats.
pub fn python_eq(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::String(left), Value::String(right)) => left == right,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| python_eq(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| python_eq(left, right)))
        }
        _ => same_number(left, right),
    }
}

/// Compares numbers by their exact values; other values are not equal.
fn same_number(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Bool(flag), other) | (other, Value::Bool(flag)) => match other {
            Value::Bool(other) => flag == other,
            _ => same_number(&Value::Int(i64::from(*flag)), other),
        },
        (Value::Int(left), Value::Int(right)) => left == right,
        // Digits are canonical.
        (Value::BigInt(left), Value::BigInt(right)) => left == right,
        (Value::Float(left), Value::Float(right)) => left == right,
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            // The cast is exact or saturates; a float at which it saturates does not fit `i64`.
            float.fract() == 0.0 && *float as i128 == i128::from(*int)
        }
        (Value::BigInt(digits), Value::Float(float))
        | (Value::Float(float), Value::BigInt(digits)) => {
            // The format has all digits of a float of this size.
            float.fract() == 0.0 && format!("{float:.0}") == **digits
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_python;
    use crate::{ParseOptions, parse};

    #[test]
    fn objects_are_read_by_their_arguments() {
        for (text, expected) in [
            ("A(text='hi', n=1)", r#"{"n": 1, "text": "hi"}"#),
            ("A.B(w=(1, 2), x=C(y=[D(z=None)]))", r#"{"w": [1, 2], "x": {"y": [{"z": null}]}}"#),
            (
                "A(role=<Role.USER: 'user'>, f=<function f at 0x7f>)",
                r#"{"f": null, "role": "user"}"#,
            ),
            ("A(at=datetime.date(2025, 1, 2))", r#"{"at": {"0": 2025, "1": 1, "2": 2}}"#),
            ("  A(x=\"it's\", y={'k': True})  ", r#"{"x": "it's", "y": {"k": true}}"#),
        ] {
            let read = parse_repr(text).map(|value| to_python(&value));
            assert_eq!(read.as_deref(), Some(expected), "{text}");
        }
        for text in
            ["", "A()", "A(1)", "f(x) = 2", "A(x=1", "A(x=1) and more", "A(x=...)", "a(x=1)"]
        {
            assert!(parse_repr(text).is_none(), "{text}");
        }
        let deep = "A(x=".repeat(100) + "1" + &")".repeat(100);
        assert!(parse_repr(&deep).is_none());
        assert!(
            is_repr("StopEvent(result=Answer(te...") && !is_repr("Dear (x=y)") && !is_repr("f(x)")
        );
    }

    #[test]
    fn what_repr_writes_is_read() {
        for (text, expected) in [
            ("{}", "{}"),
            ("{'city': 'Paris', 'days': 3}", r#"{"city": "Paris", "days": 3}"#),
            (
                r#"{'a': [1, -2.5, True, None], "it's": ('x',), 'n': {'q': '\'\n\x41\u00e9'}}"#,
                r#"{"a": [1, -2.5, true, null], "it's": ["x"], "n": {"q": "'\nA\u00e9"}}"#,
            ),
        ] {
            assert_eq!(
                parse_literal(text).map(|value| to_python(&value)).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn everything_else_is_not() {
        let deep = "[".repeat(5000);
        for text in [
            "",
            "Paris",
            "3",
            "'x'",
            "{",
            "{'a'",
            "{'a': }",
            "{1: 2}",
            "{'a': f(x)}",
            "[1 2]",
            "[1]]",
            "{'a': Message(content='x')}",
            "{'a': '\\u12'}",
            "{'é': '\\xé'}",
            &deep,
        ] {
            assert_eq!(parse_literal(text).map(|value| to_python(&value)), None, "{text:.20}");
        }
    }

    fn equal(left: &str, right: &str) -> bool {
        let [left, right] =
            [left, right].map(|text| parse(text, &ParseOptions::default()).expect("valid").value);
        let equal = python_eq(&left, &right);
        assert_eq!(equal, python_eq(&right, &left), "not symmetric");
        equal
    }

    #[test]
    fn numbers_compare_by_value() {
        for (left, right) in [
            ("1", "1.0"),
            ("1", "true"),
            ("0.0", "false"),
            ("0", "-0.0"),
            ("9223372036854775808", "9.223372036854775808e18"),
            ("-1e25", "-10000000000000000905969664"),
            ("Infinity", "1e999"),
        ] {
            assert!(equal(left, right), "{left} {right}");
        }
        for (left, right) in [
            ("1", "1.5"),
            ("9007199254740993", "9007199254740992.0"),
            ("9223372036854775807", "9223372036854775808.0"),
            ("10000000000000000000000000", "1e25"),
            ("NaN", "NaN"),
            ("Infinity", "99999999999999999999999"),
            ("1", "\"1\""),
            ("0", "null"),
            ("false", "null"),
            ("0", "[]"),
        ] {
            assert!(!equal(left, right), "{left} {right}");
        }
    }

    #[test]
    fn containers_compare_deeply() {
        assert!(equal(
            r#"{"a": [1, {"b": true}], "c": null}"#,
            r#"{"c": null, "a": [1.0, {"b": 1}]}"#
        ));
        assert!(!equal(r#"{"a": 1}"#, r#"{"a": 1, "b": null}"#));
        assert!(!equal(r#"{"a": null}"#, r#"{"b": null}"#));
        assert!(!equal("[1, 2]", "[2, 1]"));
        assert!(!equal("[]", "{}"));
    }
}
