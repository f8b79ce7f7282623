//! Calendar days in texts.
//!
//! A text is a date of ISO 8601, or numbers and names of months in a usual order. As in AgentV, `03/05/2026` is March 5 also
//! where the formats of a field say otherwise: they count only for what cannot be month, day and year.

use jiff::{Timestamp, civil, tz::TimeZone};

/// Forms other than ISO 8601, in the notation of `strptime`.
const FORMS: [&str; 9] = [
    "%m/%d/%y",
    "%m/%d/%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
];

/// Returns the day of a text in the time zone of the system. `formats` such as `MM/DD/YYYY` say whether the day may be first.
pub(super) fn day(text: &str, formats: &[String]) -> Option<civil::Date> {
    let text = crate::json_text::trim(text);
    let parse = |form: &&str| civil::Date::strptime(form, text).ok();
    iso(text).or_else(|| FORMS.iter().find_map(parse)).or_else(|| {
        let may_day_be_first = formats.iter().find_map(|format| {
            let format = format.to_ascii_uppercase();
            Some(format.find('D')? < format.find('M')?)
        });
        ["%d/%m/%Y", "%d-%m-%Y"].iter().filter(|_| may_day_be_first.unwrap_or(true)).find_map(parse)
    })
}

/// Reads ISO 8601: a date without a time is in UTC, one with a time and without a zone is local, as in JavaScript.
fn iso(text: &str) -> Option<civil::Date> {
    let in_utc = |date: civil::Date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let moment = text.parse::<Timestamp>().ok();
    let moment = moment.or_else(|| in_utc(civil::Date::strptime("%Y-%m-%d", text).ok()?));
    match moment {
        Some(moment) => Some(moment.to_zoned(TimeZone::system()).date()),
        None => Some(text.parse::<civil::DateTime>().ok()?.date()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_in_usual_forms() {
        for (text, expected) in [
            ("2026-03-05T10:00:00", Some("2026-03-05")),
            ("2026-03-05 10:00", Some("2026-03-05")),
            ("03/05/2026", Some("2026-03-05")),
            ("3/5/26", Some("2026-03-05")),
            ("2026/3/5", Some("2026-03-05")),
            ("05-Mar-2026", Some("2026-03-05")),
            ("5 March 2026", Some("2026-03-05")),
            ("March 5, 2026", Some("2026-03-05")),
            ("13/03/2026", Some("2026-03-13")),
            ("13-03-2026", Some("2026-03-13")),
            ("13/13/2026", None),
            ("2026-02-31", None),
            ("soon", None),
            ("5 apples", None),
            ("", None),
        ] {
            let found = day(text, &[]).map(|day| day.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn formats_count_where_the_month_cannot_be_first() {
        let formats = ["DD/MM/YYYY".to_owned()];
        assert_eq!(day("05/03/2026", &formats).unwrap().to_string(), "2026-05-03");
        assert_eq!(day("13/03/2026", &formats).unwrap().to_string(), "2026-03-13");
        assert_eq!(day("13/03/2026", &["MM/DD/YYYY".to_owned()]), None);
    }

    #[test]
    fn dates_without_a_time_are_in_utc() {
        assert_eq!(day("2026-03-05", &[]), day("2026-03-05T01:00:00.5+01:00", &[]));
    }
}
