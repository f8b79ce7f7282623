//! Answers of a model.

use super::{Question, Refusal, Rules};

/// Answer to one call.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The model replied.
    Reply(Reply),
    /// The model ended its answer without a reply.
    Nothing,
    /// The call failed, the model refused, or the reply was blocked. With the reason.
    Failed(String),
}

/// Reply of a model.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    /// Text; `None` if there is none, e.g. because the model called a tool.
    pub text: Option<String>,
    /// Thinking of the model. It is not part of the reply.
    pub thinking: Option<String>,
    /// Why the reply is incomplete, e.g. `cut off at 4096 tokens`.
    pub cut_off: Option<String>,
}

impl Answer {
    /// Creates a reply that is just a text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Reply(Reply { text: Some(text.to_owned()), ..Reply::default() })
    }
}

/// A question with its answers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// One answer per sample, in the order of the samples.
    pub answers: Vec<Answer>,
}

impl Asked {
    /// Creates a question with its answers.
    #[must_use]
    pub fn new(question: Question, answers: Vec<Answer>) -> Self {
        Self { question, answers }
    }
}

/// Reads of the answers to one question, or to questions that differ in their order only.
#[derive(Debug)]
pub(super) struct Readings<T> {
    /// Number of answers.
    pub(super) samples: usize,
    /// Readable replies: index of the sample and what was read.
    pub(super) read: Vec<(usize, T)>,
    /// Unreadable replies: index of the sample and what is wrong with it.
    pub(super) unreadable: Vec<(usize, String)>,
    /// Failed calls: index of the sample and reason.
    pub(super) failed: Vec<(usize, String)>,
}

impl<T> Readings<T> {
    /// Reads the answers to questions with `read`, which says why it cannot read one. If `nothing_fails`, a missing reply counts
    /// as a failed call, else as an unreadable reply.
    pub(super) fn new(
        asked: &[Asked],
        rules: &Rules,
        nothing_fails: bool,
        read: impl Fn(&Question, &str) -> Result<T, String>,
    ) -> Self {
        let answers = asked
            .iter()
            .flat_map(|asked| asked.answers.iter().map(|answer| (&asked.question, answer)));
        let mut readings =
            Self { samples: 0, read: Vec::new(), unreadable: Vec::new(), failed: Vec::new() };
        for (sample, (question, answer)) in answers.enumerate() {
            readings.samples += 1;
            match answer {
                Answer::Failed(reason) => readings.failed.push((sample, reason.clone())),
                Answer::Nothing if nothing_fails => {
                    readings.failed.push((sample, "the judge did not reply".to_owned()));
                }
                Answer::Nothing => readings.unreadable.push((sample, "no reply".to_owned())),
                Answer::Reply(reply) => match text(reply, rules) {
                    Err(reason) => readings.unreadable.push((sample, reason)),
                    Ok(text) => match read(question, &text) {
                        Ok(value) => readings.read.push((sample, value)),
                        Err(reason) => {
                            let reason = format!("{reason}: {}", excerpt(&text));
                            readings.unreadable.push((sample, reason));
                        }
                    },
                },
            }
        }
        readings
    }
}

/// Returns the text that is read.
///
/// # Errors
///
/// There is none; with the reason.
fn text(reply: &Reply, rules: &Rules) -> Result<String, String> {
    if let (Some(cause), false) = (&reply.cut_off, rules.read_cut_off) {
        return Err(cause.clone());
    }
    let thinking = reply.thinking.as_ref().filter(|_| rules.read_thinking);
    let texts: Vec<&str> = thinking.into_iter().chain(&reply.text).map(String::as_str).collect();
    if texts.is_empty() { Err("the reply has no text".to_owned()) } else { Ok(texts.join("\n")) }
}

/// Returns the start of a reply that cannot be read, on one line.
fn excerpt(text: &str) -> String {
    const LENGTH: usize = 80;
    let start: String = text.chars().take(LENGTH).collect();
    let more = if text.chars().nth(LENGTH).is_some() { " .." } else { "" };
    format!("{start:?}{more}")
}

/// Checks that the planned questions were asked, in order.
///
/// # Errors
///
/// A question is missing, was added, or has too few or too many answers.
pub(super) fn check_all(planned: &[Question], asked: &[Asked]) -> Result<(), Refusal> {
    let key = |question: &Question| {
        (question.turn, question.part, question.prompt.clone(), question.order)
    };
    let same = planned.len() == asked.len()
        && planned.iter().zip(asked).all(|(plan, asked)| key(plan) == key(&asked.question));
    if !same {
        return Err(Refusal::Failed(format!(
            "{} of {} questions were asked",
            asked.len(),
            planned.len()
        )));
    }
    let incomplete = |asked: &&Asked| asked.answers.len() != asked.question.samples;
    let Some(Asked { question, answers }) = asked.iter().find(incomplete) else { return Ok(()) };
    Err(Refusal::Failed(format!(
        "turn {}: {} has {} answers instead of {}",
        question.turn + 1,
        question.prompt,
        answers.len(),
        question.samples
    )))
}
