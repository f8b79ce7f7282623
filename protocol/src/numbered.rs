//! Numbers that tie the lines of a stream to each other, for hosts that send documents before earlier ones are answered.
//!
//! A program with [`Capability::Numbered`](crate::Capability::Numbered) answers the line `7 {"metric_name": ..}` by the
//! line `7 {"score": ..}`. Before it looks at that document it writes the [mark](Number::mark) of the number to standard
//! error, so that its host knows whose messages follow, and which document a program that dies was busy with. For the same
//! reason each answer leaves the program before the next document is begun.
//!
//! Lines without a number are answered by lines without one, and marked by nothing.

use std::fmt;

/// The character that begins a mark: ASCII's "record separator", which no text has by accident.
pub const MARK: u8 = 0x1e;

/// The number of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(pub u64);

impl Number {
    /// Splits a line into its number and what follows; `None` when the line has no number.
    ///
    /// ```
    /// use evaluator_protocol::Number;
    ///
    /// assert_eq!(Number::split(b"7 {}"), Some((Number(7), &b"{}"[..])));
    /// assert_eq!(Number::split(b"{}"), None);
    /// ```
    #[must_use]
    pub fn split(line: &[u8]) -> Option<(Self, &[u8])> {
        let digits = line.iter().position(|byte| !byte.is_ascii_digit())?;
        let (number, rest) = (Self::read(&line[..digits])?, &line[digits..]);
        rest.strip_prefix(b" ").map(|rest| (number, rest))
    }

    /// Reads decimal digits, without zeros in front.
    #[must_use]
    pub fn read(digits: &[u8]) -> Option<Self> {
        if digits.first() == Some(&b'0') && digits.len() > 1 {
            return None;
        }
        digits
            .iter()
            .try_fold(0_u64, |number, digit| {
                let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
                number.checked_mul(10)?.checked_add(digit)
            })
            .filter(|_| !digits.is_empty())
            .map(Self)
    }

    /// What stands on standard error before everything that is written because of this line's document.
    #[must_use]
    pub fn mark(self) -> String {
        format!("{}{self}\n", char::from(MARK))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_number() {
        for number in [0, 7, 10, u64::MAX] {
            let line = format!("{} rest of it", Number(number));
            assert_eq!(Number::split(line.as_bytes()), Some((Number(number), &b"rest of it"[..])));
        }
        for line in
            ["", "7", "7\t{}", "07 {}", "-1 {}", " 7 {}", "18446744073709551616 {}", "{}", "7a {}"]
        {
            assert_eq!(Number::split(line.as_bytes()), None, "{line:?}");
        }
        assert_eq!(Number::split(b"0  {}"), Some((Number(0), &b" {}"[..])));
        assert_eq!(Number::read(b""), None);
        assert_eq!(Number(12).mark(), "\u{1e}12\n");
    }
}
