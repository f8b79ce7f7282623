//! Dates and times, which JSON only has as text.

/// The ISO form of a YAML 1.1 timestamp, `None` when `text` is none.
///
/// A date stays a date; a time has microseconds only when it has a fraction, and its offset as written (`Z` for UTC).
pub(super) fn normalize(text: &str) -> Option<String> {
    let date_end = text.find(['T', 't', ' ', '\t']).unwrap_or(text.len());
    let (date, rest) = text.split_at(date_end);
    let mut parts = date.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || year.len() != 4 {
        return None;
    }
    if rest.is_empty() && (month.len() != 2 || day.len() != 2) {
        return None;
    }
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    if !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return None;
    }
    let date = format!("{year:04}-{month:02}-{day:02}");
    if rest.is_empty() {
        Some(date)
    } else {
        Some(format!("{date}T{}", time(rest[1..].trim_start_matches([' ', '\t']))?))
    }
}

fn number(text: &str, width: usize) -> Option<u32> {
    let fits =
        !text.is_empty() && text.len() <= width && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// `3:04:05.5 +1` as `03:04:05.500000+01:00`.
fn time(text: &str) -> Option<String> {
    let clock_end =
        text.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(text.len());
    let (clock, zone) = text.split_at(clock_end);
    let (clock, fraction) =
        clock.split_once('.').map_or((clock, ""), |(clock, fraction)| (clock, fraction));
    let mut parts = clock.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || minute.len() != 2 || second.len() != 2 {
        return None;
    }
    let (hour, minute, second) = (number(hour, 2)?, number(minute, 2)?, number(second, 2)?);
    if hour > 23
        || minute > 59
        || second > 59
        || !fraction.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    let micros = format!("{fraction:0<6}");
    let micros = if fraction.is_empty() { String::new() } else { format!(".{}", &micros[..6]) };
    Some(format!(
        "{hour:02}:{minute:02}:{second:02}{micros}{}",
        offset(zone.trim_start_matches([' ', '\t']))?
    ))
}

fn offset(zone: &str) -> Option<String> {
    if zone.is_empty() || zone == "Z" {
        return Some(zone.to_owned());
    }
    let sign = zone.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let (hours, minutes) = zone[1..].split_once(':').unwrap_or((&zone[1..], "00"));
    let (hours, minutes) =
        (number(hours, 2)?, Some(minutes).filter(|m| m.len() == 2).and_then(|m| number(m, 2))?);
    (hours < 24 && minutes < 60).then(|| {
        if hours == 0 && minutes == 0 {
            "Z".to_owned()
        } else {
            format!("{sign}{hours:02}:{minutes:02}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn timestamps_become_iso_text() {
        for (text, expected) in [
            ("2024-02-29", Some("2024-02-29")),
            ("2024-01-02T03:04:05Z", Some("2024-01-02T03:04:05Z")),
            ("2024-1-2 3:04:05", Some("2024-01-02T03:04:05")),
            ("2024-01-02t03:04:05.123456789+05:30", Some("2024-01-02T03:04:05.123456+05:30")),
            ("2024-01-02 03:04:05 -8", Some("2024-01-02T03:04:05-08:00")),
            ("2024-01-02 03:04:05 +00:00", Some("2024-01-02T03:04:05Z")),
            ("2023-02-29", None),
            ("2024-1-2", None),
            ("2024-13-01", None),
            ("2024-01-02T03:04", None),
            ("2024-01-02T25:04:05", None),
            ("2024-01-02-03", None),
        ] {
            assert_eq!(normalize(text).as_deref(), expected, "{text:?}");
        }
    }
}
