//! Sets of characters: `[..]`, and single characters where case makes no difference.

use super::{Flags, write};

/// A set under construction.
#[derive(Debug, Default)]
pub(super) struct Set {
    ranges: Vec<(u32, u32)>,
    categories: String,
}

/// Letters that Python takes for the same when case makes no difference, and Unicode's rules do not.
const I: [u32; 4] = ['i' as u32, 'I' as u32, 'İ' as u32, 'ı' as u32];

impl Set {
    /// The set of one character.
    pub(super) fn of(code: u32) -> Self {
        Self { ranges: vec![(code, code)], ..Self::default() }
    }

    pub(super) fn add_range(&mut self, first: u32, last: u32) {
        self.ranges.push((first, last));
    }

    /// Adds what stands between the brackets of a class.
    pub(super) fn add_category(&mut self, written: &str) {
        self.categories += written;
    }

    /// The set as a class.
    pub(super) fn written(mut self, negated: bool, flags: Flags) -> String {
        if flags.ignore_case {
            self.add_cases(flags);
        }
        let ranges = self.ranges.iter().filter_map(|range| written_range(*range));
        let inside: String = ranges.chain([self.categories.clone()]).collect();
        let class = match (inside.is_empty(), negated) {
            (true, false) => return write::NEVER.to_owned(),
            (true, true) => return r"[\s\S]".to_owned(),
            (false, true) => format!("[^{inside}]"),
            (false, false) => format!("[{inside}]"),
        };
        if flags.ignore_case && !flags.ascii { format!("(?i:{class})") } else { class }
    }

    /// Adds the other cases, as far as they do not follow from Unicode's rules.
    fn add_cases(&mut self, flags: Flags) {
        let ranges = self.ranges.clone();
        if !flags.ascii {
            let has =
                |code: &u32| ranges.iter().any(|(first, last)| (first..=last).contains(&code));
            if I.iter().any(has) {
                self.ranges.extend(I.map(|code| (code, code)));
            }
            return;
        }
        // Of the letters of ASCII only.
        for (from, to) in
            [('a', 'A'), ('A', 'a')].map(|(from, to)| (u32::from(from), u32::from(to)))
        {
            for (first, last) in &ranges {
                let (first, last) = (*first.max(&from), *last.min(&(from + 25)));
                if first <= last {
                    self.ranges.push((first - from + to, last - from + to));
                }
            }
        }
    }
}

/// A range without its halves of characters, which no text here contains; `None` if there is nothing else.
fn written_range((first, last): (u32, u32)) -> Option<String> {
    let halves = 0xd800..=0xdfff;
    let first = if halves.contains(&first) { 0xe000 } else { first };
    let last = if halves.contains(&last) { 0xd7ff } else { last };
    if first > last {
        return None;
    }
    let (first, last) = (write::character(first)?, write::character(last)?);
    Some(if first == last { first } else { format!("{first}-{last}") })
}
