//! Damage of answers.

use evaluator_traces::conversation::Conversation;

use crate::{
    subject::{Site, Subject, turns},
    values::{MOST_VARIANTS, numbers, with_next_number},
};

/// What an agent says that does not help.
pub(crate) const REFUSAL: &str = "I cannot help with that.";

/// A sentence in Finnish about something else.
pub(crate) const OTHER_LANGUAGE: &str = "Huomenna sataa todennäköisesti koko päivän.";

/// Text before an answer that is given away.
pub(crate) const LEAKED: &str = "[expected] ";

/// Words of English sentences, and what they are in the negated sentence. Of those that begin first in an answer, the first one
/// here is replaced. Only whole words count, in any case. A noun with `'s` is not among them: it may be a possessive.
const NEGATIONS: &[(&str, &str)] = &[
    ("is not", "is"),
    ("are not", "are"),
    ("was not", "was"),
    ("were not", "were"),
    ("has not been", "has been"),
    ("have not been", "have been"),
    ("will not", "will"),
    ("cannot", "can"),
    ("can not", "can"),
    ("can't", "can"),
    ("won't", "will"),
    ("isn't", "is"),
    ("aren't", "are"),
    ("wasn't", "was"),
    ("weren't", "were"),
    ("don't", "do"),
    ("doesn't", "does"),
    ("didn't", "did"),
    ("hasn't", "has"),
    ("haven't", "have"),
    ("couldn't", "could"),
    ("wouldn't", "would"),
    ("shouldn't", "should"),
    ("is", "is not"),
    ("are", "are not"),
    ("was", "was not"),
    ("were", "were not"),
    ("has been", "has not been"),
    ("have been", "have not been"),
    ("will", "will not"),
    ("can", "cannot"),
    ("it's", "it is not"),
    ("that's", "that is not"),
    ("there's", "there is not"),
    ("here's", "here is not"),
    ("he's", "he is not"),
    ("she's", "she is not"),
    ("i'm", "i am not"),
    ("you're", "you are not"),
    ("we're", "we are not"),
    ("they're", "they are not"),
    ("i'll", "i will not"),
    ("you'll", "you will not"),
    ("we'll", "we will not"),
    ("they'll", "they will not"),
    ("i've", "i have not"),
    ("you've", "you have not"),
    ("we've", "we have not"),
    ("they've", "they have not"),
    ("have", "do not have"),
    ("has", "does not have"),
    ("yes", "no"),
    ("confirmed", "not confirmed"),
];

/// Returns the turns whose answer has text.
pub(crate) fn with_text(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |_, text| !text.is_empty())
}

/// Returns the turns with an answer.
pub(crate) fn recorded(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |_, _| true)
}

/// Makes an answer empty.
pub(crate) fn empty_answer(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    answer(conversation, site, |_| Some(String::new()))
}

/// Removes an answer.
pub(crate) fn null_answer(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    site.turn_in(conversation).is_some_and(|turn| turn.final_text.take().is_some())
}

/// Returns the turns whose answer is long enough to be cut.
pub(crate) fn long(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |_, text| cut(text).is_some())
}

/// Cuts an answer after its first third.
pub(crate) fn truncate_answer(
    conversation: &mut Conversation,
    _: &Subject<'_>,
    site: Site,
) -> bool {
    answer(conversation, site, |text| cut(text).map(str::to_owned))
}

/// Returns the first third of a text, up to the next place inside of a word.
fn cut(text: &str) -> Option<&str> {
    let third = text.chars().count() / 3;
    let is_inside = |end: usize| {
        let (before, after) = text.split_at(end);
        let last = before.chars().next_back().is_some_and(char::is_alphanumeric);
        last && after.starts_with(char::is_alphanumeric)
    };
    let mut ends = text.char_indices().map(|(end, _)| end).skip(third.max(1));
    ends.find(|end| is_inside(*end)).map(|end| &text[..end])
}

/// Returns the turns whose answer can be negated.
pub(crate) fn negatable(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |_, text| negated(text).is_some())
}

/// Says the opposite.
pub(crate) fn negate_answer(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    answer(conversation, site, negated)
}

/// Returns an English text with a negated sentence.
fn negated(text: &str) -> Option<String> {
    // Its characters are where those of the text are.
    let lower = text.to_ascii_lowercase();
    let is_meant = |start: &usize| !is_name(text, *start);
    let found =
        NEGATIONS.iter().filter_map(|words| Some((word(&lower, words.0).find(is_meant)?, words)));
    let (start, (from, to)) = found.min_by_key(|(start, _)| *start)?;
    let (before, rest) = text.split_at(start);
    let (given, after) = rest.split_at(from.len());
    let mut to = (*to).to_owned();
    if given.starts_with(|first: char| first.is_ascii_uppercase()) {
        to[..1].make_ascii_uppercase();
    }
    Some(format!("{before}{to}{after}"))
}

/// Words behind a `Will` at the start of a sentence that is not a name.
const BEHIND_WILL: &str = " i you he she it we they this that these those there the a an my your his her its our their not \
    any anyone someone everyone everything all each one ";

/// Returns true if the word at this place is `Will` and a name: within a sentence, or not before a pronoun or a determiner.
fn is_name(text: &str, start: usize) -> bool {
    let Some(after) = text[start..].strip_prefix("Will") else { return false };
    let before = text[..start].trim_end_matches([' ', '"', '“', '*', '-', '•']);
    let is_start = before.is_empty() || before.ends_with(['.', '!', '?', ':', '\n']);
    let next = after.strip_prefix(' ').unwrap_or_default();
    let next = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let next = format!(" {} ", next.to_lowercase());
    !is_start || !BEHIND_WILL.contains(&next)
}

/// Returns the places of words that are not parts of longer ones.
fn word<'t>(text: &'t str, words: &'t str) -> impl Iterator<Item = usize> {
    let is_part = |next: char| next.is_alphanumeric() || matches!(next, '\'' | '’' | '_' | '-');
    let is_whole = move |start: &usize| {
        !text[..*start].ends_with(is_part) && !text[*start + words.len()..].starts_with(is_part)
    };
    text.match_indices(words).map(|(start, _)| start).filter(is_whole)
}

/// Returns the numbers of all answers.
pub(crate) fn numbered(subject: &Subject<'_>) -> Vec<Site> {
    let mut sites = Vec::new();
    for site in recorded(subject) {
        let text = site.turn_of(subject.conversation).and_then(|turn| turn.final_text.as_deref());
        let number = numbers(text.unwrap_or_default()).len().min(MOST_VARIANTS);
        sites.extend((0..number).map(|variant| site.variant(variant)));
    }
    sites
}

/// Replaces a number or date by the next one.
pub(crate) fn change_number(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    answer(conversation, site, |text| {
        numbers(text).get(site.edit()).map(|position| with_next_number(text, position))
    })
}

/// Returns the last turn with an answer, if another conversation has another one.
pub(crate) fn exchangeable(subject: &Subject<'_>) -> Vec<Site> {
    let Some(other) = subject.other_answer else { return Vec::new() };
    let last = recorded(subject).pop().into_iter();
    let differs = |site: &Site| {
        let turn = site.turn_of(subject.conversation);
        turn.is_some_and(|turn| turn.final_text.as_deref() != Some(other))
    };
    last.filter(differs).collect()
}

/// Takes the answer of another conversation.
pub(crate) fn swap_answers(
    conversation: &mut Conversation,
    subject: &Subject<'_>,
    site: Site,
) -> bool {
    answer(conversation, site, |_| subject.other_answer.map(str::to_owned))
}

/// Returns the turns whose question is not the answer already.
pub(crate) fn asked(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |site, text| {
        let turn = site.turn_of(subject.conversation);
        let question = turn.and_then(|turn| turn.user_text.as_deref()).unwrap_or_default();
        !question.is_empty() && question != text
    })
}

/// Answers with the question.
pub(crate) fn echo_question(
    conversation: &mut Conversation,
    subject: &Subject<'_>,
    site: Site,
) -> bool {
    let turn = site.turn_of(subject.conversation);
    answer(conversation, site, |_| turn.and_then(|turn| turn.user_text.clone()))
}

/// Returns the turns that say something else than a refusal.
pub(crate) fn helpful(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |_, text| text != REFUSAL)
}

/// Refuses to help.
pub(crate) fn refuse(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    answer(conversation, site, |_| Some(REFUSAL.to_owned()))
}

/// Answers in another language.
pub(crate) fn wrong_language(conversation: &mut Conversation, _: &Subject<'_>, site: Site) -> bool {
    answer(conversation, site, |_| Some(OTHER_LANGUAGE.to_owned()))
}

/// Returns the turns with a golden answer.
pub(crate) fn golden(subject: &Subject<'_>) -> Vec<Site> {
    answered(subject, |site, _| site.golden(subject).and_then(|turn| turn.final_text("")).is_some())
}

/// Answers with the golden answer, and says that it is the expected one.
pub(crate) fn leak_golden(
    conversation: &mut Conversation,
    subject: &Subject<'_>,
    site: Site,
) -> bool {
    let golden = site.golden(subject).and_then(|turn| turn.final_text(""));
    answer(conversation, site, |_| golden.map(|golden| format!("{LEAKED}{golden}")))
}

/// Returns the turns whose answer fulfils a condition.
fn answered(subject: &Subject<'_>, is_one: impl Fn(Site, &str) -> bool) -> Vec<Site> {
    turns(subject, |index, turn| {
        turn.final_text.as_deref().is_some_and(|text| is_one(Site::turn(index), text))
    })
}

/// Replaces an answer. Returns false if there is none, or nothing to replace it with.
pub(crate) fn answer(
    conversation: &mut Conversation,
    site: Site,
    change: impl FnOnce(&str) -> Option<String>,
) -> bool {
    let Some(turn) = site.turn_in(conversation) else { return false };
    let Some(changed) = turn.final_text.as_deref().and_then(change) else { return false };
    let before = turn.final_text.replace(changed);
    before != turn.final_text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_negated_and_numbers_kept() {
        for (text, expected) in [
            ("Your table is booked for 7.", Some("Your table is not booked for 7.")),
            ("It is not booked.", Some("It is booked.")),
            ("You can't enter.", Some("You can enter.")),
            ("It's ready.", Some("It is not ready.")),
            ("Yes", Some("No")),
            ("yes, it's booked", Some("no, it's booked")),
            (
                "Yesterday the guest's table WAS booked.",
                Some("Yesterday the guest's table Was not booked."),
            ),
            ("The decision lists this 'is-a' and unconfirmed.", None),
            ("That is how it is.", Some("That is not how it is.")),
            ("ÄÖ is, as I've said, free", Some("ÄÖ is not, as I've said, free")),
            ("42", None),
            ("Will Smith will meet you.", Some("Will Smith will not meet you.")),
            ("I asked Will. Will they come?", Some("I asked Will. Will not they come?")),
            ("Ask Will, the waiter.", None),
            ("Will and I booked it.", None),
            ("Will, the waiter, booked it.", None),
            ("\"Will not work today.\"", Some("\"Will work today.\"")),
            ("IT WILL RAIN", Some("IT Will not RAIN")),
        ] {
            assert_eq!(negated(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn answers_are_cut_inside_of_a_word() {
        assert_eq!(cut("The table is booked for seven."), Some("The table i"));
        assert_eq!(cut("abc"), Some("a"));
        assert_eq!(cut("a"), None);
        assert_eq!(cut("? ! ."), None);
        assert_eq!(cut("日本語の答え"), Some("日本"));
    }
}
