//! Formulas over the scores of graders, such as `0.7 * exact + 0.3 * similar`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = unary { ("*" | "/") unary }
//! unary   = "-" unary | power
//! power   = atom [ "^" unary ]
//! atom    = number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```

use evaluator_document::did_you_mean;

/// Most levels of parentheses, signs and powers.
const MAX_DEPTH: usize = 64;

/// Functions and the least and greatest number of their arguments.
const FUNCTIONS: [(&str, usize, usize); 8] = [
    ("min", 1, usize::MAX),
    ("max", 1, usize::MAX),
    ("abs", 1, 1),
    ("floor", 1, 1),
    ("ceil", 1, 1),
    ("exp", 1, 1),
    ("sqrt", 1, 1),
    ("log", 1, 1),
];

/// A formula over named scores.
///
/// ```
/// use evaluator_judging::grader::Formula;
///
/// let formula = Formula::parse("max(a, b) / 2", &["a", "b"]).unwrap();
/// assert_eq!(formula.value(&[0.5, 1.0]), Ok(0.5));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    text: String,
    root: Expression,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Number(f64),
    /// Position among the names.
    Score(usize),
    Negated(Box<Self>),
    Operation(char, Box<Self>, Box<Self>),
    Function(&'static str, Vec<Self>),
}

/// Reason why a text is not a formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({hint})")]
pub struct FormulaError {
    /// Reason, to be read after the name of the text.
    pub message: String,
    /// Correct form.
    pub hint: String,
}

impl Formula {
    /// Reads a formula over these names.
    ///
    /// # Errors
    ///
    /// The text is not a formula, or it refers to another name.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, FormulaError> {
        let mut parser = Parser { text, rest: text, names, depth: 0 };
        let root = parser.sum()?;
        if !parser.rest.trim_start().is_empty() {
            return Err(parser.unexpected("an operator"));
        }
        Ok(Self { text: text.to_owned(), root })
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns true if the value depends on the score at this index.
    pub fn uses(&self, index: usize) -> bool {
        self.root.uses(index)
    }

    /// Calculates the value for scores in the order of the names.
    ///
    /// # Errors
    ///
    /// Message about a division by zero, a logarithm of what is not positive, or another value that is not finite.
    pub fn value(&self, scores: &[f64]) -> Result<f64, String> {
        self.root.value(scores)
    }
}

impl Expression {
    fn uses(&self, index: usize) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Score(other) => *other == index,
            Self::Negated(operand) => operand.uses(index),
            Self::Operation(_, left, right) => left.uses(index) || right.uses(index),
            Self::Function(_, arguments) => arguments.iter().any(|argument| argument.uses(index)),
        }
    }

    fn value(&self, scores: &[f64]) -> Result<f64, String> {
        let value = match self {
            Self::Number(number) => *number,
            Self::Score(index) => scores.get(*index).copied().unwrap_or(f64::NAN),
            Self::Negated(operand) => -operand.value(scores)?,
            Self::Operation(sign, left, right) => {
                operate(*sign, left.value(scores)?, right.value(scores)?)?
            }
            Self::Function(name, arguments) => {
                let arguments: Result<Vec<f64>, String> =
                    arguments.iter().map(|argument| argument.value(scores)).collect();
                call(name, &arguments?)?
            }
        };
        if value.is_finite() {
            Ok(value)
        } else {
            Err("it has a value that is not finite".to_owned())
        }
    }
}

fn operate(sign: char, left: f64, right: f64) -> Result<f64, String> {
    Ok(match sign {
        '+' => left + right,
        '-' => left - right,
        '*' => left * right,
        '/' if right == 0.0 => return Err("it divides by zero".to_owned()),
        '/' => left / right,
        _ => libm::pow(left, right),
    })
}

fn call(name: &str, arguments: &[f64]) -> Result<f64, String> {
    let first = arguments.first().copied().unwrap_or(f64::NAN);
    Ok(match name {
        "min" => arguments.iter().copied().fold(first, f64::min),
        "max" => arguments.iter().copied().fold(first, f64::max),
        "abs" => first.abs(),
        "floor" => first.floor(),
        "ceil" => first.ceil(),
        "exp" => libm::exp(first),
        "sqrt" if first < 0.0 => return Err(format!("it has the square root of {first}")),
        "sqrt" => first.sqrt(),
        _ if first <= 0.0 => return Err(format!("it has the logarithm of {first}")),
        _ => libm::log(first),
    })
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    names: &'a [&'a str],
    depth: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Expression, FormulaError> {
        let mut left = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            left = Expression::Operation(sign, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, FormulaError> {
        let mut left = self.unary()?;
        while let Some(sign) = self.take(&['*', '/']) {
            left = Expression::Operation(sign, Box::new(left), Box::new(self.unary()?));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expression, FormulaError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("has more than {MAX_DEPTH} levels");
            return Err(FormulaError { message, hint: "divide it".to_owned() });
        }
        let unary = match self.take(&['-']) {
            Some(_) => Expression::Negated(Box::new(self.unary()?)),
            None => self.power()?,
        };
        self.depth -= 1;
        Ok(unary)
    }

    fn power(&mut self) -> Result<Expression, FormulaError> {
        let base = self.atom()?;
        match self.take(&['^']) {
            Some(sign) => Ok(Expression::Operation(sign, Box::new(base), Box::new(self.unary()?))),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Expression, FormulaError> {
        if self.take(&['(']).is_some() {
            let inside = self.sum()?;
            return self.take(&[')']).map(|_| inside).ok_or_else(|| self.unexpected("`)`"));
        }
        self.rest = self.rest.trim_start();
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let number = self.word(is_number);
        if !number.is_empty() {
            return match number.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Expression::Number(value)),
                _ => Err(self.unknown(format!("has `{number}`, which is not a number"), "")),
            };
        }
        let name = self.word(|c: char| c.is_alphanumeric() || c == '_');
        if name.is_empty() {
            return Err(self.unexpected("a number, a name or `(`"));
        }
        if self.take(&['(']).is_some() {
            return self.function(name);
        }
        match self.names.iter().position(|known| *known == name) {
            Some(index) => Ok(Expression::Score(index)),
            None => Err(self.unknown(format!("refers to `{name}`, which is not a grader"), name)),
        }
    }

    fn function(&mut self, name: &str) -> Result<Expression, FormulaError> {
        let Some((name, least, most)) = FUNCTIONS.into_iter().find(|(known, ..)| *known == name)
        else {
            let names = FUNCTIONS.map(|(name, ..)| name);
            let hint = did_you_mean(name, names).unwrap_or_else(|| names.join(", "));
            return Err(FormulaError { message: format!("has no function `{name}`"), hint });
        };
        let mut arguments = vec![self.sum()?];
        while self.take(&[',']).is_some() {
            arguments.push(self.sum()?);
        }
        if self.take(&[')']).is_none() {
            return Err(self.unexpected("`,` or `)`"));
        }
        if !(least..=most).contains(&arguments.len()) {
            let message = format!("gives `{name}` {} arguments", arguments.len());
            return Err(FormulaError { message, hint: format!("it takes {least}") });
        }
        Ok(Expression::Function(name, arguments))
    }

    /// Takes one of these signs, after white space.
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|next| signs.contains(next))?;
        self.rest = &rest[sign.len_utf8()..];
        Some(sign)
    }

    /// Takes characters up to the first that is not part of a word.
    fn word(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn unknown(&self, message: String, word: &str) -> FormulaError {
        let hint = did_you_mean(word, self.names.iter().copied())
            .unwrap_or_else(|| format!("it is over {}", self.names.join(", ")));
        FormulaError { message, hint }
    }

    fn unexpected(&self, wanted: &str) -> FormulaError {
        let rest = self.rest.trim_start();
        let column = self.text[..self.text.len() - rest.len()].chars().count() + 1;
        let found = rest.chars().next().map_or("ends".to_owned(), |c| format!("has `{c}`"));
        let message = format!("{found} at character {column}, where {wanted} is expected");
        FormulaError { message, hint: "for example 0.5 * a + 0.5 * b".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let formula = Formula::parse(text, &["a", "b_2"]).map_err(|error| error.to_string())?;
        formula.value(&[0.5, 2.0])
    }

    #[test]
    fn formulas_are_calculated() {
        for (text, expected) in [
            ("a", 0.5),
            ("1 + 2 * 3", 7.0),
            ("(1+2)*3", 9.0),
            ("2 - 1 - 1", 0.0),
            ("8 / 2 / 2", 2.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("--a", 0.5),
            ("min(a, b_2, 3) + max(a, b_2)", 2.5),
            ("abs(-a) + floor(a) + ceil(a)", 1.5),
            ("exp(0) + sqrt(4) + log(1)", 3.0),
            ("0.7 * a + .3 * b_2", 0.95),
        ] {
            let value = value(text).unwrap();
            assert!((value - expected).abs() < 1e-12, "{text}: {value}");
        }
    }

    #[test]
    fn what_is_not_a_formula_or_has_no_value_is_an_error() {
        let deep = "(".repeat(100_000);
        for (text, part) in [
            ("", "ends at character 1"),
            ("a +", "ends at character 4"),
            ("a b_2", "has `b` at character 3, where an operator is expected"),
            ("(a", "where `)` is expected"),
            ("b2", "(did you mean `b_2`?)"),
            ("zebra", "(it is over a, b_2)"),
            ("sqr(a)", "(did you mean `sqrt`?)"),
            ("abs(a, a)", "gives `abs` 2 arguments"),
            ("1.2.3", "not a number"),
            ("a / (a - 0.5)", "divides by zero"),
            ("log(a - 0.5)", "logarithm of 0"),
            ("sqrt(-a)", "square root"),
            ("exp(1000)", "not finite"),
            ("(-a) ^ 0.5", "not finite"),
            (&deep, "more than 64 levels"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(part), "{}: {error}", &text[..text.len().min(20)]);
        }
    }
}
