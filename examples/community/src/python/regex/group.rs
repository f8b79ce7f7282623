//! What a parenthesis begins.

use super::{
    Flags, PatternError,
    parse::{Parser, Piece, Width},
    scan::Token,
    write,
};

/// Changes of flags: those that are turned on, and those that are turned off.
#[derive(Default)]
struct Changes {
    on: Vec<char>,
    off: Vec<char>,
}

impl Changes {
    fn apply(&self, mut flags: Flags) -> Flags {
        for (letters, value) in [(&self.on, true), (&self.off, false)] {
            for letter in letters {
                match letter {
                    'i' => flags.ignore_case = value,
                    'm' => flags.multi_line = value,
                    's' => flags.dot_all = value,
                    'x' => flags.verbose = value,
                    'a' => flags.ascii = value,
                    // `u`, the opposite of `a`.
                    _ => flags.ascii = !value,
                }
            }
        }
        flags
    }
}

const FLAGS: &str = "aimsuxL";

impl Parser {
    /// Reads a group whose opening parenthesis has been read. `None` for what matches nothing: comments, and flags for
    /// the whole pattern, which only its start may have.
    pub(super) fn group(
        &mut self,
        flags: Flags,
        may_set_flags: bool,
    ) -> Result<Option<Piece>, PatternError> {
        let start = self.scanner.at() - 1;
        if !self.scanner.eat('?')? {
            return self.captured(None, flags, start).map(Some);
        }
        let Some(token) = self.scanner.next()? else { return Err(self.cut_off()) };
        match token {
            Token::Plain('P') => self.named(flags, start).map(Some),
            Token::Plain(':') => self.enclosed("(?:", flags, start).map(Some),
            Token::Plain('>') => self.enclosed("(?>", flags, start).map(Some),
            Token::Plain('#') => {
                while self.scanner.peek().is_some() {
                    if self.scanner.next()? == Some(Token::Plain(')')) {
                        return Ok(None);
                    }
                }
                Err(self.scanner.error_at("missing ), unterminated comment", start))
            }
            Token::Plain(sign @ ('=' | '!')) => {
                let inside = self.enclosed(&format!("(?{sign}"), flags, start)?;
                Ok(Some(looking(inside)))
            }
            Token::Plain('<') => self.lookbehind(flags, start).map(Some),
            Token::Plain('(') => self.condition(flags, start).map(Some),
            Token::Plain(letter) if letter == '-' || FLAGS.contains(letter) => {
                match self.changes(letter)? {
                    (changes, true) if may_set_flags => {
                        self.flags = changes.apply(self.flags);
                        Ok(None)
                    }
                    (_, true) => {
                        let message = "global flags not at the start of the expression";
                        Err(self.scanner.error_at(message, start))
                    }
                    (changes, false) => self.enclosed("(?:", changes.apply(flags), start).map(Some),
                }
            }
            other => {
                let message = format!("unknown extension ?{}", other.text());
                Err(self.scanner.error(&message, other.len() + 1))
            }
        }
    }

    fn cut_off(&self) -> PatternError {
        self.scanner.error("unexpected end of pattern", 0)
    }

    fn close(&mut self, start: usize) -> Result<(), PatternError> {
        if self.scanner.eat(')')? {
            return Ok(());
        }
        Err(self.scanner.error_at("missing ), unterminated subpattern", start))
    }

    fn enclosed(&mut self, open: &str, flags: Flags, start: usize) -> Result<Piece, PatternError> {
        let inside = self.alternatives(flags, false)?;
        self.close(start)?;
        Ok(Piece::new(format!("{open}{})", inside.text), inside.width))
    }

    fn captured(
        &mut self,
        name: Option<String>,
        flags: Flags,
        start: usize,
    ) -> Result<Piece, PatternError> {
        self.groups.push(None);
        let group = self.groups.len();
        if let Some(name) = name {
            if let Some(other) = self.names.get(&name) {
                let shown = crate::python::repr_text(&name);
                let message = format!(
                    "redefinition of group name {shown} as group {group}; was group {other}"
                );
                return Err(self.scanner.error(&message, name.chars().count() + 1));
            }
            self.names.insert(name, group);
        }
        let piece = self.enclosed("(", flags, start)?;
        self.groups[group - 1] = Some(piece.width);
        Ok(piece)
    }

    /// What `(?P` begins.
    fn named(&mut self, flags: Flags, start: usize) -> Result<Piece, PatternError> {
        if self.scanner.eat('<')? {
            let name = self.scanner.name('>', "group name")?;
            self.check_name(&name)?;
            return self.captured(Some(name), flags, start);
        }
        if self.scanner.eat('=')? {
            let name = self.scanner.name(')', "group name")?;
            self.check_name(&name)?;
            let back = name.chars().count() + 1;
            let group = self.group_named(&name)?;
            return self.reference(group, back, flags);
        }
        let Some(token) = self.scanner.next()? else { return Err(self.cut_off()) };
        Err(self.scanner.error(&format!("unknown extension ?P{}", token.text()), token.len() + 2))
    }

    fn check_name(&self, name: &str) -> Result<(), PatternError> {
        if is_identifier(name) { Ok(()) } else { Err(self.bad_name(name)) }
    }

    fn bad_name(&self, name: &str) -> PatternError {
        let message = format!("bad character in group name {}", crate::python::repr_text(name));
        self.scanner.error(&message, name.chars().count() + 1)
    }

    fn group_named(&self, name: &str) -> Result<usize, PatternError> {
        self.names.get(name).copied().ok_or_else(|| {
            let message = format!("unknown group name {}", crate::python::repr_text(name));
            self.scanner.error(&message, name.chars().count() + 1)
        })
    }

    /// What `(?<` begins.
    fn lookbehind(&mut self, flags: Flags, start: usize) -> Result<Piece, PatternError> {
        let Some(token) = self.scanner.next()? else { return Err(self.cut_off()) };
        let Token::Plain(sign @ ('=' | '!')) = token else {
            let message = format!("unknown extension ?<{}", token.text());
            return Err(self.scanner.error(&message, token.len() + 2));
        };
        let outer = self.lookbehind;
        self.lookbehind = outer.or(Some(self.groups.len()));
        let inside = self.alternatives(flags, false)?;
        self.lookbehind = outer;
        self.close(start)?;
        self.has_open_lookbehind |= inside.width.least != inside.width.most;
        Ok(looking(Piece::new(format!("(?<{sign}{})", inside.text), inside.width)))
    }

    /// What `(?(` begins: one of two sequences, depending on whether a group has matched.
    fn condition(&mut self, flags: Flags, start: usize) -> Result<Piece, PatternError> {
        let name = self.scanner.name(')', "group name")?;
        let back = name.chars().count() + 1;
        let group = if is_identifier(&name) {
            self.group_named(&name)?
        } else {
            let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
            let group = if is_number { name.parse().ok() } else { None };
            let group = group.ok_or_else(|| self.bad_name(&name))?;
            if group == 0 {
                return Err(self.scanner.error("bad group number", back));
            }
            self.conditions.push((group, self.scanner.at() - back));
            group
        };
        self.check_lookbehind(group)?;
        // `fancy_regex` differs for groups that are still open, and for those that are empty texts.
        if self.groups.get(group - 1).is_some_and(|width| width.is_none_or(|width| width.most == 0))
        {
            let what =
                format!("a condition on group {group}, which is open or takes no characters");
            return Err(PatternError::Unsupported(what));
        }
        let yes = self.sequence(flags, false)?;
        let mut no = None;
        if self.scanner.eat('|')? {
            no = Some(self.sequence(flags, false)?);
            if self.scanner.next_is('|') {
                let message = "conditional backref with more than two branches";
                return Err(self.scanner.error(message, 0));
            }
        }
        self.close(start)?;
        let no = no.unwrap_or_else(|| Piece::new("", Width::default()));
        // Atomic groups of `fancy_regex` lose count in the second branch of a condition. This one fails there.
        let is_set = format!("(?({group})|{})", write::NEVER);
        let text = format!("(?:{is_set}{}|(?!{is_set}){})", yes.text, no.text);
        Ok(Piece::new(text, yes.width.or(no.width)))
    }

    /// Reads flags whose first letter has been read, and whether they are for the whole pattern.
    fn changes(&mut self, first: char) -> Result<(Changes, bool), PatternError> {
        let mut changes = Changes::default();
        let mut sign = first;
        if sign != '-' {
            sign = self.flag_letters(
                sign,
                &mut changes.on,
                "-:)",
                "missing -, : or )",
                |parser, on| {
                    if on.contains(&'L') {
                        let message = "bad inline flags: cannot use 'L' flag with a str pattern";
                        return Err(parser.scanner.error(message, 0));
                    }
                    if on.contains(&'a') && on.contains(&'u') {
                        let message = "bad inline flags: flags 'a', 'u' and 'L' are incompatible";
                        return Err(parser.scanner.error(message, 0));
                    }
                    Ok(())
                },
            )?;
        }
        if sign == ')' {
            return Ok((changes, true));
        }
        if sign == '-' {
            let letter = self.flag_letter("missing flag")?;
            self.flag_letters(letter, &mut changes.off, ":", "missing :", |parser, off| {
                if off.iter().any(|flag| "auL".contains(*flag)) {
                    let message = "bad inline flags: cannot turn off flags 'a', 'u' and 'L'";
                    return Err(parser.scanner.error(message, 0));
                }
                Ok(())
            })?;
        }
        if changes.on.iter().any(|flag| changes.off.contains(flag)) {
            return Err(self.scanner.error("bad inline flags: flag turned on and off", 1));
        }
        Ok((changes, false))
    }

    /// Reads letters of flags from a first one on, and the sign that ends them.
    fn flag_letters(
        &mut self,
        first: char,
        letters: &mut Vec<char>,
        ends: &str,
        missing: &str,
        check: impl Fn(&Self, &[char]) -> Result<(), PatternError>,
    ) -> Result<char, PatternError> {
        let mut letter = first;
        loop {
            letters.push(letter);
            check(self, letters)?;
            if let Some(Token::Plain(end)) = self.scanner.peek() {
                if ends.contains(end) {
                    self.scanner.next()?;
                    return Ok(end);
                }
            }
            letter = self.flag_letter(missing)?;
        }
    }

    fn flag_letter(&mut self, missing: &str) -> Result<char, PatternError> {
        match self.scanner.next()? {
            None => Err(self.scanner.error(missing, 0)),
            Some(Token::Plain(letter)) if FLAGS.contains(letter) => Ok(letter),
            Some(Token::Plain(letter)) if letter.is_alphabetic() => {
                Err(self.scanner.error("unknown flag", 1))
            }
            Some(token) => Err(self.scanner.error(missing, token.len())),
        }
    }
}

/// A look ahead or behind takes no characters. In a group of its own, so that it can be repeated.
fn looking(inside: Piece) -> Piece {
    Piece::new(format!("(?:{})", inside.text), Width::default())
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}
