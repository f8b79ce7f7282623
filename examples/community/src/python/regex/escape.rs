//! What a backslash begins.

use super::{Flags, PatternError, scan::Scanner, write};

/// What an escape means.
pub(super) enum Escape {
    /// A character, by its code.
    Character(u32),
    /// Characters of a category, as they are written within a class.
    Category(&'static str),
    /// A place, as it is written.
    Place(String),
    /// What a group has matched.
    Reference(usize),
}

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    Class,
    Outside,
}

/// Reads an escape whose first letter has been read.
pub(super) fn read(
    scanner: &mut Scanner,
    letter: char,
    place: Where,
    flags: Flags,
) -> Result<Escape, PatternError> {
    if let Some(written) = write::category(letter, flags) {
        return Ok(Escape::Category(written));
    }
    if place == Where::Outside && matches!(letter, 'A' | 'b' | 'B' | 'Z') {
        return Ok(write::place(letter, flags).map_or(Escape::Character(0), Escape::Place));
    }
    let code = match letter {
        'a' => 0x07,
        'b' => 0x08,
        't' => 0x09,
        'n' => 0x0a,
        'v' => 0x0b,
        'f' => 0x0c,
        'r' => 0x0d,
        'x' => hexadecimal(scanner, letter, 2)?,
        'u' => hexadecimal(scanner, letter, 4)?,
        'U' => hexadecimal(scanner, letter, 8)?,
        'N' => return Err(by_name(scanner)),
        '0'..='9' => return number(scanner, letter, place),
        'A'..='Z' | 'a'..='z' => return Err(bad(scanner, &letter.to_string())),
        other => u32::from(other),
    };
    Ok(Escape::Character(code))
}

fn bad(scanner: &Scanner, escape: &str) -> PatternError {
    scanner.error(&format!("bad escape \\{escape}"), 1 + escape.chars().count())
}

fn hexadecimal(scanner: &mut Scanner, letter: char, digits: usize) -> Result<u32, PatternError> {
    let found = scanner.eat_while(digits, |c| c.is_ascii_hexdigit())?;
    if found.len() < digits {
        return Err(scanner.error(&format!("incomplete escape \\{letter}{found}"), 2 + found.len()));
    }
    match u32::from_str_radix(&found, 16) {
        Ok(code) if code <= 0x10_ffff => Ok(code),
        _ => Err(bad(scanner, &format!("{letter}{found}"))),
    }
}

/// The table of names is large, and patterns hardly ever use names.
fn by_name(scanner: &mut Scanner) -> PatternError {
    let name = match scanner.eat('{') {
        Ok(true) => scanner.name('}', "character name"),
        Ok(false) => Err(scanner.error("missing {", 0)),
        Err(error) => Err(error),
    };
    match name {
        Ok(name) => PatternError::Unsupported(format!("write `\\N{{{name}}}` as that character")),
        Err(error) => error,
    }
}

/// The digits of an escape are a character in octal, or outside of classes the number of a group.
fn number(scanner: &mut Scanner, first: char, place: Where) -> Result<Escape, PatternError> {
    let is_octal = |c: char| c.is_digit(8);
    let mut digits = first.to_string();
    if place == Where::Class || first == '0' {
        if !is_octal(first) {
            return Err(bad(scanner, &digits));
        }
        digits += &scanner.eat_while(2, is_octal)?;
        return octal(scanner, &digits);
    }
    digits += &scanner.eat_while(1, |c| c.is_ascii_digit())?;
    if digits.len() == 2 && digits.chars().all(is_octal) {
        digits += &scanner.eat_while(1, is_octal)?;
        if digits.len() == 3 {
            return octal(scanner, &digits);
        }
    }
    Ok(Escape::Reference(digits.parse().unwrap_or(usize::MAX)))
}

fn octal(scanner: &Scanner, digits: &str) -> Result<Escape, PatternError> {
    match u32::from_str_radix(digits, 8) {
        Ok(code) if code <= 0o377 => Ok(Escape::Character(code)),
        _ => {
            let message = format!("octal escape value \\{digits} outside of range 0-0o377");
            Err(scanner.error(&message, 1 + digits.len()))
        }
    }
}
