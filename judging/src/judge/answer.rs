//! Answers of a model, and what a judge reads in them.

use super::{Order, Question, Refusal, Rules, Votes, reply::Label};

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
    pub fn text(text: &str) -> Self {
        Self::Reply(Reply { text: Some(text.to_owned()), ..Reply::default() })
    }
}

/// Verdict of a reply about one thing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vote {
    /// What it is about: the id of a rubric, a sentence, or the label of one; empty if the order of the votes says it.
    pub about: String,
    /// Score; `None` abstains.
    pub score: Option<f64>,
    /// Reason; may be empty.
    pub reason: String,
}

impl Vote {
    /// Creates the only vote of a reply that is a label.
    pub(super) fn of_label(label: Label) -> Vec<Self> {
        let score = f64::from(u8::from(label == Label::Valid));
        vec![Self { score: Some(score), ..Self::default() }]
    }
}

/// An answer as a judge reads it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Votes of a readable reply.
    Votes(Vec<Vote>),
    /// The reply cannot be read. With the reason.
    Unreadable(String),
    /// The call failed, or the model ended its answer without a reply. With the reason.
    Failed(String),
}

impl Reading {
    /// Returns true if there is a readable reply.
    pub fn is_readable(&self) -> bool {
        matches!(self, Self::Votes(_))
    }

    /// Reads an answer, the text of a reply with `read`.
    pub(super) fn new(
        answer: &Answer,
        rules: &Rules,
        read: impl FnOnce(&str) -> Result<Vec<Vote>, String>,
    ) -> Self {
        let reply = match answer {
            Answer::Failed(reason) => return Self::Failed(reason.clone()),
            Answer::Nothing => return Self::Failed("the judge did not reply".to_owned()),
            Answer::Reply(reply) => reply,
        };
        let votes = text(reply, rules)
            .and_then(|text| read(&text).map_err(|reason| format!("{reason}: {}", excerpt(&text))));
        votes.map_or_else(Self::Unreadable, Self::Votes)
    }
}

/// A question with its answers.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The question.
    pub question: Question,
    /// The answer to each sample, in the order of the samples.
    pub readings: Vec<Reading>,
}

impl Asked {
    /// Creates a question with its answers.
    pub fn new(question: Question, readings: Vec<Reading>) -> Self {
        Self { question, readings }
    }
}

/// Answers to one question, or to questions that differ in their order only.
#[derive(Debug)]
pub(super) struct Readings<'a> {
    /// Index of the turn.
    pub(super) turn: usize,
    /// Number of answers.
    pub(super) samples: usize,
    /// Votes of each readable reply, and the order in which it saw the things.
    pub(super) votes: Vec<(Order, &'a [Vote])>,
    /// What is wrong with each unreadable reply.
    pub(super) unreadable: Vec<&'a str>,
    /// Failed calls: index of the sample and reason.
    pub(super) failed: Vec<(usize, &'a str)>,
}

impl<'a> Readings<'a> {
    /// Sorts the answers.
    pub(super) fn new(asked: &'a [Asked]) -> Self {
        let mut readings = Self {
            turn: asked.first().map_or(0, |asked| asked.question.turn),
            samples: 0,
            votes: Vec::new(),
            unreadable: Vec::new(),
            failed: Vec::new(),
        };
        let answers = asked
            .iter()
            .flat_map(|asked| asked.readings.iter().map(|reading| (asked.question.order, reading)));
        for (sample, (order, reading)) in answers.enumerate() {
            readings.samples += 1;
            match reading {
                Reading::Votes(votes) => readings.votes.push((order, votes)),
                Reading::Unreadable(reason) => readings.unreadable.push(reason),
                Reading::Failed(reason) => readings.failed.push((sample, reason)),
            }
        }
        readings
    }

    /// Counts the votes that `find` takes from each readable reply.
    pub(super) fn count(
        &self,
        mut votes: Votes,
        find: impl Fn(&'a [Vote]) -> Option<&'a Vote>,
    ) -> Votes {
        votes.unreadable = self.unreadable.len();
        votes.failed = self.failed.len();
        for (order, reply) in &self.votes {
            let found = find(reply);
            found.into_iter().for_each(|vote| votes.add(vote.score, *order, &vote.reason));
        }
        votes
    }

    /// Sorts the answers about each turn.
    pub(super) fn by_turn(asked: &'a [Asked]) -> impl Iterator<Item = Self> {
        let groups = asked.chunk_by(|a, b| a.question.turn == b.question.turn);
        groups.map(Self::new)
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
    let incomplete = |asked: &&Asked| asked.readings.len() != asked.question.samples;
    let Some(Asked { question, readings }) = asked.iter().find(incomplete) else { return Ok(()) };
    Err(Refusal::Failed(format!(
        "turn {}: {} has {} answers instead of {}",
        question.turn + 1,
        question.prompt,
        readings.len(),
        question.samples
    )))
}
