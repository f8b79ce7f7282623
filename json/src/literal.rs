//! Structures as Python's `repr` writes them: `{'city': 'Paris', 'days': 3}`.

use crate::{Object, Value};

use crate::number::{parse_float, parse_int};

/// Deeper structures are not read.
const MAX_DEPTH: usize = 64;

/// Reads a dictionary, list or tuple in Python's notation. `None` when the text is anything else, has keys that are
/// not strings, or holds objects of classes.
pub fn parse_literal(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text.trim() };
    let value = match reader.peek()? {
        '{' | '[' | '(' => reader.value(0)?,
        _ => return None,
    };
    reader.rest.is_empty().then_some(value)
}

struct Reader<'a> {
    rest: &'a str,
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
            _ => self.word()?,
        };
        self.skip_space();
        Some(value)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_python;

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
}
