//! Reads patterns and writes them again.

use std::collections::HashMap;

use super::{
    Flags, PatternError,
    escape::{self, Escape, Where},
    scan::{Scanner, Token},
    set::Set,
    write,
};

/// Parentheses within each other that are read; `fancy_regex` has a bound of its own that is not higher.
const MAX_NESTING: usize = 60;

/// Python's bound for the numbers of a repeat.
const MAX_REPEAT: u64 = 4_294_967_295;

/// Writes a pattern of Python's for `fancy_regex`.
pub(super) fn translate(pattern: &str, flags: Flags) -> Result<String, PatternError> {
    let mut parser = Parser {
        scanner: Scanner::new(pattern)?,
        flags,
        groups: Vec::new(),
        names: HashMap::new(),
        lookbehind: None,
        conditions: Vec::new(),
        has_open_lookbehind: false,
        nesting: 0,
    };
    let whole = parser.alternatives(flags, true)?;
    if parser.scanner.peek().is_some() {
        return Err(parser.scanner.error("unbalanced parenthesis", 0));
    }
    for (group, at) in &parser.conditions {
        if *group > parser.groups.len() {
            let message = format!("invalid group reference {group}");
            return Err(parser.scanner.error_at(&message, *at));
        }
    }
    if parser.has_open_lookbehind {
        return Err(PatternError::Invalid("look-behind requires fixed-width pattern".to_owned()));
    }
    Ok(whole.text)
}

pub(super) struct Parser {
    pub(super) scanner: Scanner,
    /// Those of the whole pattern, which its start may change.
    pub(super) flags: Flags,
    /// What the groups match, from the first one; `None` for those that are still open.
    pub(super) groups: Vec<Option<Width>>,
    pub(super) names: HashMap<String, usize>,
    /// How many groups there were before the outermost lookbehind, within one.
    pub(super) lookbehind: Option<usize>,
    /// Groups that conditions ask for, which may come later, and where they do.
    pub(super) conditions: Vec<(usize, usize)>,
    /// Whether there is a lookbehind that matches texts of different lengths.
    pub(super) has_open_lookbehind: bool,
    nesting: usize,
}

/// Least and greatest number of characters that something matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Width {
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Width {
    const ONE: Self = Self { least: 1, most: 1 };

    pub(super) fn or(self, other: Self) -> Self {
        Self { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    fn then(self, other: Self) -> Self {
        let least = self.least.saturating_add(other.least);
        Self { least, most: self.most.saturating_add(other.most) }
    }

    fn times(self, least: u64, most: u64) -> Self {
        Self { least: self.least.saturating_mul(least), most: self.most.saturating_mul(most) }
    }
}

/// Something that was read: how it is written, and what has to be known of it.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) width: Width,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A place, which cannot be repeated.
    Place,
    /// A repeat, which cannot be repeated either.
    Repeat,
    Other,
}

impl Piece {
    pub(super) fn new(text: impl Into<String>, width: Width) -> Self {
        Self { text: text.into(), width, kind: Kind::Other }
    }

    fn character(text: impl Into<String>) -> Self {
        Self::new(text, Width::ONE)
    }

    fn place(text: String) -> Self {
        Self { text, width: Width::default(), kind: Kind::Place }
    }
}

impl Parser {
    /// Reads alternatives up to the end of the pattern or a closing parenthesis.
    pub(super) fn alternatives(
        &mut self,
        mut flags: Flags,
        outermost: bool,
    ) -> Result<Piece, PatternError> {
        let mut whole = self.sequence(flags, outermost)?;
        while self.scanner.eat('|')? {
            if outermost {
                flags = self.flags;
            }
            let next = self.sequence(flags, false)?;
            whole = Piece::new(format!("{}|{}", whole.text, next.text), whole.width.or(next.width));
        }
        Ok(whole)
    }

    /// Reads one alternative. Only the first one of the pattern, `first`, may start with flags for all of it.
    pub(super) fn sequence(
        &mut self,
        mut flags: Flags,
        first: bool,
    ) -> Result<Piece, PatternError> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return Err(PatternError::Unsupported(format!(
                "more than {MAX_NESTING} groups within each other"
            )));
        }
        let mut pieces: Vec<Piece> = Vec::new();
        while let Some(token) = self.scanner.peek() {
            if matches!(token, Token::Plain('|' | ')')) {
                break;
            }
            self.scanner.next()?;
            let piece = match token {
                Token::Plain(' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c') if flags.verbose => {
                    continue;
                }
                Token::Plain('#') if flags.verbose => {
                    while !matches!(self.scanner.next()?, None | Some(Token::Plain('\n'))) {}
                    continue;
                }
                Token::Escape(letter) => self.escape(letter, flags)?,
                Token::Plain(sign @ ('^' | '$')) => write::place(sign, flags)
                    .map_or_else(|| Piece::character(write::NEVER), Piece::place),
                Token::Plain('.') => Piece::character(write::any(flags)),
                Token::Plain('[') => Piece::character(self.class(flags)?),
                Token::Plain('(') => match self.group(flags, first && pieces.is_empty())? {
                    Some(piece) => piece,
                    None => {
                        // A comment, or flags for the whole pattern.
                        if first && pieces.is_empty() {
                            flags = self.flags;
                        }
                        continue;
                    }
                },
                Token::Plain(sign @ ('*' | '+' | '?' | '{')) => match self.repeat(sign)? {
                    Some((least, most, from)) => {
                        let piece = self.repeated(pieces.pop(), least, most, from)?;
                        pieces.push(piece);
                        continue;
                    }
                    None => literal('{'.into(), flags),
                },
                Token::Plain(c) => literal(c.into(), flags),
            };
            pieces.push(piece);
        }
        self.nesting -= 1;
        let width = pieces.iter().fold(Width::default(), |width, piece| width.then(piece.width));
        Ok(Piece::new(pieces.into_iter().map(|piece| piece.text).collect::<String>(), width))
    }

    fn escape(&mut self, letter: char, flags: Flags) -> Result<Piece, PatternError> {
        match escape::read(&mut self.scanner, letter, Where::Outside, flags)? {
            Escape::Character(code) => Ok(literal(code, flags)),
            Escape::Category(written) => Ok(Piece::character(format!("[{written}]"))),
            Escape::Place(written) => Ok(Piece::place(written)),
            Escape::Reference(group) => {
                let digits = group.to_string().len();
                if group > self.groups.len() {
                    let message = format!("invalid group reference {group}");
                    return Err(self.scanner.error(&message, digits));
                }
                self.reference(group, digits + 1, flags)
            }
        }
    }

    /// What a group has matched; a complaint is about the place `back` characters back.
    pub(super) fn reference(
        &mut self,
        group: usize,
        back: usize,
        flags: Flags,
    ) -> Result<Piece, PatternError> {
        let Some(width) = self.groups.get(group - 1).copied().flatten() else {
            return Err(self.scanner.error("cannot refer to an open group", back));
        };
        self.check_lookbehind(group)?;
        let mode = if flags.ignore_case { "i" } else { "" };
        Ok(Piece::new(format!("(?{mode}:\\{group})"), width))
    }

    /// A lookbehind may only ask for groups from before it.
    pub(super) fn check_lookbehind(&self, group: usize) -> Result<(), PatternError> {
        let Some(before) = self.lookbehind else { return Ok(()) };
        if self.groups.get(group - 1).copied().flatten().is_none() {
            return Err(self.scanner.error("cannot refer to an open group", 0));
        }
        if group > before {
            let message = "cannot refer to group defined in the same lookbehind subpattern";
            return Err(self.scanner.error(message, 0));
        }
        Ok(())
    }

    /// Reads a repeat whose first sign has been read: least and greatest number, and where it begins. `None` if it is
    /// none, but a brace.
    fn repeat(&mut self, sign: char) -> Result<Option<(u64, u64, usize)>, PatternError> {
        let after = self.scanner.at();
        let (least, most) = match sign {
            '?' => (0, 1),
            '*' => (0, u64::MAX),
            '+' => (1, u64::MAX),
            _ => {
                if self.scanner.next_is('}') {
                    return Ok(None);
                }
                let is_digit = |c: char| c.is_ascii_digit();
                let least = self.scanner.eat_while(usize::MAX, is_digit)?;
                let most = if self.scanner.eat(',')? {
                    self.scanner.eat_while(usize::MAX, is_digit)?
                } else {
                    least.clone()
                };
                if !self.scanner.eat('}')? {
                    self.scanner.back_to(after);
                    return Ok(None);
                }
                let least = if least.is_empty() { 0 } else { count(&least)? };
                let most = if most.is_empty() { u64::MAX } else { count(&most)? };
                if most < least {
                    let message = "min repeat greater than max repeat";
                    return Err(self.scanner.error_at(message, after));
                }
                (least, most)
            }
        };
        Ok(Some((least, most, after - 1)))
    }

    fn repeated(
        &mut self,
        piece: Option<Piece>,
        least: u64,
        most: u64,
        from: usize,
    ) -> Result<Piece, PatternError> {
        let Some(piece) = piece.filter(|piece| piece.kind != Kind::Place) else {
            return Err(self.scanner.error_at("nothing to repeat", from));
        };
        if piece.kind == Kind::Repeat {
            return Err(self.scanner.error_at("multiple repeat", from));
        }
        let is_lazy = self.scanner.eat('?')?;
        let is_possessive = !is_lazy && self.scanner.eat('+')?;
        let once = piece.text;
        let text = match (piece.width.most, least, most) {
            // What takes no characters does so any number of times, and `fancy_regex` refuses to repeat it.
            (0, 0, 0) => format!("(?:{}{once}|)", write::NEVER),
            (0, 0, _) if is_lazy => format!("(?:|{once})"),
            (0, 0, _) => format!("(?:{once}|)"),
            (0, ..) => once,
            _ => {
                let most = if most == u64::MAX { String::new() } else { most.to_string() };
                format!("{once}{{{least},{most}}}{}", if is_lazy { "?" } else { "" })
            }
        };
        let text = if is_possessive { format!("(?>{text})") } else { text };
        Ok(Piece { text, width: piece.width.times(least, most), kind: Kind::Repeat })
    }

    /// Reads a class whose opening bracket has been read.
    fn class(&mut self, flags: Flags) -> Result<String, PatternError> {
        let start = self.scanner.at() - 1;
        let unterminated =
            |parser: &Self| parser.scanner.error_at("unterminated character set", start);
        let negated = self.scanner.eat('^')?;
        let mut set = Set::default();
        let mut is_empty = true;
        loop {
            let Some(token) = self.scanner.next()? else { return Err(unterminated(self)) };
            if token == Token::Plain(']') && !is_empty {
                break;
            }
            is_empty = false;
            let first = self.member(token, flags)?;
            if !self.scanner.eat('-')? {
                first.add_to(&mut set);
                continue;
            }
            let Some(other) = self.scanner.next()? else { return Err(unterminated(self)) };
            if other == Token::Plain(']') {
                first.add_to(&mut set);
                set.add_range('-'.into(), '-'.into());
                break;
            }
            match (first, self.member(other, flags)?) {
                (Member::Character(first), Member::Character(last)) if first <= last => {
                    set.add_range(first, last);
                }
                _ => {
                    let message = format!("bad character range {}-{}", token.text(), other.text());
                    return Err(self.scanner.error(&message, token.len() + 1 + other.len()));
                }
            }
        }
        Ok(set.written(negated, flags))
    }

    fn member(&mut self, token: Token, flags: Flags) -> Result<Member, PatternError> {
        let letter = match token {
            Token::Plain(c) => return Ok(Member::Character(c.into())),
            Token::Escape(letter) => letter,
        };
        match escape::read(&mut self.scanner, letter, Where::Class, flags)? {
            Escape::Character(code) => Ok(Member::Character(code)),
            Escape::Category(written) => Ok(Member::Category(written)),
            Escape::Place(_) | Escape::Reference(_) => {
                Err(self.scanner.error(&format!("bad escape \\{letter}"), 2))
            }
        }
    }
}

/// What stands in a class.
enum Member {
    Character(u32),
    Category(&'static str),
}

impl Member {
    fn add_to(self, set: &mut Set) {
        match self {
            Self::Character(code) => set.add_range(code, code),
            Self::Category(written) => set.add_category(written),
        }
    }
}

fn literal(code: u32, flags: Flags) -> Piece {
    let has_case =
        |code: u32| code >= 0x80 || char::from_u32(code).is_some_and(|c| c.is_ascii_alphabetic());
    let plain = || write::character(code).unwrap_or_else(|| write::NEVER.to_owned());
    let text = if flags.ignore_case && has_case(code) {
        Set::of(code).written(false, flags)
    } else {
        plain()
    };
    Piece::character(text)
}

fn count(digits: &str) -> Result<u64, PatternError> {
    match digits.parse() {
        Ok(count) if count < MAX_REPEAT => Ok(count),
        _ => Err(PatternError::Unsupported("the repetition number is too large".to_owned())),
    }
}
