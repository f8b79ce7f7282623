//! Calendar days in texts.
//!
//! A text is read as the `Date` of V8 reads it: first the ISO format, then a permissive form in which `03/05/2026` is March 5.
//! Texts that are no dates there may be `D-Mon-YYYY`, or numbers of which the first is the day.

use std::sync::LazyLock;

use jiff::{Timestamp, civil, tz::TimeZone};
use regress::Regex;

/// Returns the day of a text in the time zone of the system. `formats` like `DD/MM/YYYY` say which number is the day where
/// JavaScript reads no date.
pub(super) fn day(text: &str, formats: &[String]) -> Option<civil::Date> {
    let text = crate::json_text::trim(text);
    let moment = iso(text).or_else(|| permissive(text));
    match moment {
        Some(moment) => moment.day(),
        None => numbers(text, formats),
    }
}

/// A date and time, as numbers that may be beyond their range: the 31st of February is in March.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// Seconds of the day.
    seconds: i64,
    /// Offset from UTC in minutes; `None` for local time.
    offset: Option<i64>,
}

impl Moment {
    fn day(self) -> Option<civil::Date> {
        let year = i16::try_from(self.year).ok()?;
        let month = i8::try_from(self.month).ok().filter(|month| (1..=12).contains(month))?;
        let first = civil::Date::new(year, month, 1).ok()?;
        let days = jiff::Span::new().try_days(self.day.checked_sub(1)?).ok()?;
        let date = first.checked_add(days).ok()?;
        let time = jiff::Span::new().try_seconds(self.seconds).ok()?;
        let local = date.at(0, 0, 0, 0).checked_add(time).ok()?;
        let Some(offset) = self.offset else { return Some(local.date()) };
        let utc = local.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
        let second = utc.checked_sub(offset.checked_mul(60)?)?;
        Some(Timestamp::from_second(second).ok()?.to_zoned(TimeZone::system()).date())
    }
}

/// Reads the ISO format: a date without a time is in UTC, one with a time and without a zone is local.
fn iso(text: &str) -> Option<Moment> {
    static ISO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = r"^([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?(T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?)?$";
        Regex::new(pattern).ok()
    });
    let found = ISO.as_ref()?.find(text)?;
    let part = |group: usize| text.get(found.group(group)?);
    let number = |group: usize| part(group).and_then(|digits| digits.parse::<i64>().ok());
    let (month, day) = (number(2).unwrap_or(1), number(3).unwrap_or(1));
    let [hours, minutes, seconds] = [5, 6, 7].map(|group| number(group).unwrap_or_default());
    let is_end_of_day = (hours, minutes, seconds) == (24, 0, 0);
    let is_time = (hours < 24 && minutes < 60 && seconds < 60) || is_end_of_day;
    if !is_time || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let offset = match (part(4), part(8), part(9)) {
        (None, ..) | (_, Some(_), _) => Some(0),
        (_, _, None) => None,
        (_, _, Some(sign)) => {
            let minutes = number(10)?.checked_mul(60)?.checked_add(number(11)?)?;
            Some(if sign == "-" { minutes.checked_neg()? } else { minutes })
        }
    };
    let seconds = of_day(hours, minutes, seconds)?;
    Some(Moment { year: number(1)?, month, day, seconds, offset })
}

fn of_day(hours: i64, minutes: i64, seconds: i64) -> Option<i64> {
    hours.checked_mul(3600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)
}

/// A part of a text that may be a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// Number, and how many digits it has.
    Number(i64, usize),
    Month(i64),
    /// Hours that are added in the afternoon.
    Noon(i64),
    /// Offset from UTC in hours.
    Zone(i64),
    Word,
    Space,
    Symbol(char),
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run =
            |is_part: fn(char) -> bool| rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let length = if first.is_ascii_digit() {
            let length = run(|c| c.is_ascii_digit());
            tokens.push(Token::Number(rest.get(..length)?.parse().ok()?, length));
            length
        } else if first.is_ascii_alphabetic() {
            let length = run(|c| c.is_ascii_alphabetic());
            tokens.push(word(&rest.get(..length)?.to_ascii_lowercase()));
            length
        } else if first.is_whitespace() {
            tokens.push(Token::Space);
            run(char::is_whitespace)
        } else if first == '(' {
            // A comment. Nested ones end with it.
            rest.find(')').map_or(rest.len(), |end| end + 1)
        } else {
            tokens.push(Token::Symbol(first));
            first.len_utf8()
        };
        rest = rest.get(length..)?;
    }
    Some(tokens)
}

fn word(word: &str) -> Token {
    // Three letters are enough for a month.
    let month = (1..).zip(MONTHS).find(|(_, name)| word.starts_with(name));
    if let Some((month, _)) = month {
        return Token::Month(month);
    }
    match word {
        "am" => Token::Noon(0),
        "pm" => Token::Noon(12),
        "ut" | "utc" | "z" | "gmt" => Token::Zone(0),
        "edt" => Token::Zone(-4),
        "est" | "cdt" => Token::Zone(-5),
        "cst" | "mdt" => Token::Zone(-6),
        "mst" | "pdt" => Token::Zone(-7),
        "pst" => Token::Zone(-8),
        _ => Token::Word,
    }
}

/// State of reading a date in the permissive form.
#[derive(Debug, Default)]
struct Draft {
    days: Vec<i64>,
    month: Option<i64>,
    times: Vec<i64>,
    is_time_complete: bool,
    noon: Option<i64>,
    sign: i64,
    zone_hours: Option<i64>,
    zone_minutes: Option<i64>,
    has_number: bool,
}

/// Reads the permissive form of V8.
fn permissive(text: &str) -> Option<Moment> {
    let tokens = tokens(text)?;
    let mut draft = Draft { sign: 1, ..Draft::default() };
    let mut next = 0;
    while let Some(token) = tokens.get(next) {
        next += 1;
        match *token {
            Token::Number(number, _) => next = draft.number(number, &tokens, next)?,
            Token::Noon(hours) if !draft.times.is_empty() => draft.noon = Some(hours),
            Token::Month(month) => {
                draft.month = Some(month);
                next += usize::from(tokens.get(next) == Some(&Token::Symbol('-')));
            }
            Token::Zone(hours) if draft.has_number => {
                draft.zone_hours = Some(hours);
                draft.zone_minutes = Some(0);
            }
            // Other words are allowed in front of the first number, if they do not touch it.
            Token::Noon(_) | Token::Zone(_) | Token::Word => {
                if draft.has_number || matches!(tokens.get(next), Some(Token::Number(..))) {
                    return None;
                }
            }
            Token::Symbol(sign @ ('+' | '-')) if draft.takes_offset() => {
                draft.sign = if sign == '-' { -1 } else { 1 };
                next = draft.offset(&tokens, next)?;
            }
            Token::Symbol('+' | '-' | ')') if draft.has_number => return None,
            Token::Symbol(_) | Token::Space => {}
        }
    }
    draft.moment()
}

impl Draft {
    /// Takes a number; `next` is the index of the token behind it. Returns the index of the next token.
    fn number(&mut self, number: i64, tokens: &[Token], next: usize) -> Option<usize> {
        self.has_number = true;
        if tokens.get(next) == Some(&Token::Symbol(':')) {
            if self.is_time_complete || self.times.len() >= 3 {
                // Minutes of an offset such as +01:00 have no colon behind them.
                return None;
            }
            self.times.push(number);
            return Some(next + 1);
        }
        let expects_time = !self.times.is_empty() && !self.is_time_complete;
        if expects_time && tokens.get(next) == Some(&Token::Symbol('.')) {
            let Some(Token::Number(..)) = tokens.get(next + 1) else { return None };
            self.times.push(number);
            self.is_time_complete = true;
            return Some(next + 2);
        }
        if self.zone_hours.is_some() && self.zone_minutes.is_none() {
            self.zone_minutes = Some(number);
            return Some(next);
        }
        if expects_time {
            self.times.push(number);
            self.is_time_complete = true;
            let ends = matches!(
                tokens.get(next),
                None | Some(
                    Token::Space | Token::Zone(_) | Token::Symbol('+' | '-') | Token::Noon(_)
                )
            );
            return ends.then_some(next);
        }
        if self.days.len() >= 3 {
            return None;
        }
        self.days.push(number);
        Some(next + usize::from(tokens.get(next) == Some(&Token::Symbol('-'))))
    }

    fn takes_offset(&self) -> bool {
        (self.zone_hours == Some(0) && self.zone_minutes == Some(0)) || !self.times.is_empty()
    }

    /// Takes the number of an offset such as `+0100`, `+01` or `+01:00`.
    fn offset(&mut self, tokens: &[Token], next: usize) -> Option<usize> {
        self.has_number = true;
        self.is_time_complete = true;
        let Some(Token::Number(number, digits)) = tokens.get(next) else { return None };
        if tokens.get(next + 1) == Some(&Token::Symbol(':')) {
            self.zone_hours = Some(*number);
            self.zone_minutes = None;
            return Some(next + 2);
        }
        let (hours, minutes) = match digits {
            1 | 2 => (*number, 0),
            3 | 4 => (number.checked_div(100)?, number.checked_rem(100)?),
            _ => return None,
        };
        (self.zone_hours, self.zone_minutes) = (Some(hours), Some(minutes));
        Some(next + 1)
    }

    fn moment(&self) -> Option<Moment> {
        let is_day = |number: &i64| (1..=31).contains(number);
        let first = self.days.first()?;
        let part = |index: usize| self.days.get(index).copied().unwrap_or(1);
        let (year, month, day) = match self.month {
            None if !is_day(first) => (part(0), part(1), part(2)),
            None => (part(2), part(0), part(1)),
            Some(month) if !is_day(first) => (part(0), month, part(1)),
            Some(month) => (part(1), month, part(0)),
        };
        let year = match year {
            0..=49 => year.checked_add(2000)?,
            50..=99 => year.checked_add(1900)?,
            _ => year,
        };
        if !(1..=12).contains(&month) || !is_day(&day) {
            return None;
        }
        let time = |index: usize| self.times.get(index).copied().unwrap_or_default();
        let hours = match self.noon {
            None => time(0),
            Some(added) if (1..=12).contains(&time(0)) => {
                time(0).checked_rem(12)?.checked_add(added)?
            }
            Some(_) => return None,
        };
        if hours > 24 || time(1) > 59 || time(2) > 59 {
            return None;
        }
        let offset = match (self.zone_hours, self.zone_minutes) {
            (None, _) => None,
            (Some(hours), minutes) => {
                let size = hours.checked_mul(60)?.checked_add(minutes.unwrap_or_default())?;
                Some(size.checked_mul(self.sign)?)
            }
        };
        let seconds = of_day(hours, time(1), time(2))?;
        Some(Moment { year, month, day, seconds, offset })
    }
}

/// Reads `n/n/yyyy` and `n-n-yyyy`: the formats say which number is the day, else the one that is greater than 12, else it is
/// the second.
fn numbers(text: &str, formats: &[String]) -> Option<civil::Date> {
    static NUMBERS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new("^([0-9]{1,2})[/-]([0-9]{1,2})[/-]([0-9]{4})$").ok());
    let found = NUMBERS.as_ref()?.find(text)?;
    let part = |group: usize| text.get(found.group(group)?)?.parse::<i16>().ok();
    let (first, second, year) = (part(1)?, part(2)?, part(3)?);
    let order = formats.iter().find_map(|format| {
        let format = format.to_ascii_uppercase();
        let (day, month) = (format.find('D')?, format.find('M')?);
        Some(day < month)
    });
    let day_first = order.unwrap_or(first > 12);
    let (day, month) = if day_first { (first, second) } else { (second, first) };
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    civil::Date::new(year, month, day).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_javascript() {
        for (text, expected) in [
            ("2026-03-05T10:00:00", Some("2026-03-05")),
            ("2026-03-05T24:00", Some("2026-03-06")),
            ("03/05/2026", Some("2026-03-05")),
            ("3/5/26", Some("2026-03-05")),
            ("2026/3/5", Some("2026-03-05")),
            ("05-Mar-2026", Some("2026-03-05")),
            ("5 March 2026", Some("2026-03-05")),
            ("March 5, 2026", Some("2026-03-05")),
            ("Thu, 5 Mar 2026 11:30 pm", Some("2026-03-05")),
            ("2026-03-05 10:00", Some("2026-03-05")),
            ("Feb 31 2026", Some("2026-03-03")),
            ("March 2026", Some("2026-03-01")),
            ("13/03/2026", Some("2026-03-13")),
            ("13-03-2026", Some("2026-03-13")),
            ("13/13/2026", None),
            ("soon", None),
            ("5 apples", None),
            ("", None),
        ] {
            let found = day(text, &[]).map(|day| day.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn formats_count_where_javascript_reads_no_date() {
        let formats = ["DD/MM/YYYY".to_owned()];
        assert_eq!(day("05/03/2026", &formats).unwrap().to_string(), "2026-05-03");
        assert_eq!(day("13/03/2026", &formats).unwrap().to_string(), "2026-03-13");
        assert_eq!(day("13/03/2026", &["MM/DD/YYYY".to_owned()]), None);
    }

    #[test]
    fn zones_lead_to_the_same_moment() {
        let moment = |text: &str| permissive(text).or_else(|| iso(text)).unwrap();
        let seconds = |moment: Moment| moment.seconds - moment.offset.unwrap() * 60;
        for text in [
            "5 Mar 2026 10:00 GMT",
            "5 Mar 2026 11:00 +0100",
            "5 Mar 2026 11:00 GMT+01:00",
            "2026-03-05T10:00Z",
            "2026-03-05T11:00:00.5+01:00",
            "5 Mar 2026 05:00 EST (New York)",
        ] {
            assert_eq!(seconds(moment(text)), 36_000, "{text}");
        }
    }
}
