//! Conversations for people to label, chosen by what evaluators say about them and shown without it.

use std::{collections::HashSet, io};

use evaluator_json::{self as json, ParseOptions, Value};
use evaluator_statistics::Random;

use super::{build::known, model::AgreementError, talks::Talks};
use crate::Report;

/// Number of parts of the scale of scores from which equally many conversations are taken.
const BINS: usize = 10;

/// Which conversations are to be labelled.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetSettings {
    /// Evaluators whose scores are balanced; empty for all.
    pub evaluators: Vec<String>,
    /// Maximum number of conversations.
    pub sample: usize,
    /// Whether conversations are drawn whatever their scores are.
    pub at_random: bool,
    /// Seed of the draw, and of the order of rows.
    pub seed: u64,
}

impl Default for SheetSettings {
    fn default() -> Self {
        Self { evaluators: Vec::new(), sample: 100, at_random: false, seed: 0 }
    }
}

/// Conversations to label, in an order that says nothing about them.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    /// The conversations.
    pub rows: Vec<SheetRow>,
    /// Number of them that all evaluators pass.
    pub passed: u64,
    /// Number of conversations of the run from which they were chosen.
    pub of: u64,
    /// Number of conversations without a verdict of each evaluator. None of them is chosen.
    pub without_verdict: u64,
}

/// A conversation to label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SheetRow {
    /// Id of the case; `None` if the conversation is a case of its own.
    pub case: Option<String>,
    /// Trace id.
    pub trace_id: String,
    /// What the user said, each turn in a paragraph.
    pub prompt: String,
    /// What the agent answered, each turn in a paragraph.
    pub answer: String,
}

/// A conversation that may be chosen.
struct Candidate {
    number: usize,
    passes: bool,
    /// Part of the scale with its mean score.
    bin: usize,
}

impl Sheet {
    /// Chooses conversations of a run: as many that pass as that fail, and of each equally many from each tenth of the scale of
    /// scores, as far as there are. With several evaluators, a conversation passes if each of them passes it, and its score is
    /// their mean.
    ///
    /// # Errors
    ///
    /// An evaluator is not in the run, no conversation has a verdict, or a chosen one has no transcript.
    pub fn new(report: &Report, settings: &SheetSettings) -> Result<Self, AgreementError> {
        let talks = Talks::read(report, Some(&HashSet::new()))?;
        let chosen = known(&talks, &settings.evaluators)?;
        let evaluators = match chosen.is_empty() {
            true => (0..talks.evaluators.len()).collect(),
            false => chosen,
        };
        let candidates = candidates(&talks, &evaluators);
        if candidates.is_empty() {
            let nothing =
                "no conversation has a verdict of each evaluator, so there is nothing to label";
            return Err(AgreementError::Refused(nothing.to_owned()));
        }
        let of = candidates.len() as u64;
        let mut random = Random::new(settings.seed);
        let mut drawn = match settings.at_random {
            true => {
                let mut all = candidates;
                random.shuffle(&mut all);
                all.truncate(settings.sample);
                all
            }
            false => balanced(candidates, settings.sample, &mut random),
        };
        random.shuffle(&mut drawn);
        let mut sheet =
            Self { of, without_verdict: talks.all.len() as u64 - of, ..Self::default() };
        let mut missing = 0;
        for Candidate { number, passes, .. } in drawn {
            let talk = &talks.all[number];
            let Some(transcript) = report.conversations.transcript(number) else {
                missing += 1;
                continue;
            };
            let [prompt, answer] = texts(&transcript?)?;
            let case = (talk.case != talk.trace_id).then(|| talk.case.to_string());
            let trace_id = talk.trace_id.to_string();
            sheet.rows.push(SheetRow { case, trace_id, prompt, answer });
            sheet.passed += u64::from(passes);
        }
        if missing > 0 {
            return Err(AgreementError::Refused(format!(
                "the run has no transcripts of {missing} of the conversations to label; evaluate again with `run --transcripts all`"
            )));
        }
        Ok(sheet)
    }
}

fn candidates(talks: &Talks, evaluators: &[usize]) -> Vec<Candidate> {
    let candidate = |number: usize| {
        let opinions = evaluators.iter().map(|it| talks.all[number].opinion(*it));
        let both: Option<Vec<(bool, f64)>> =
            opinions.map(|it| Some((it.passed()?, it.score?))).collect();
        let both = both.filter(|both| !both.is_empty())?;
        let mean = both.iter().map(|(_, score)| score).sum::<f64>() / both.len() as f64;
        let bin = ((mean * BINS as f64) as usize).min(BINS - 1);
        Some(Candidate { number, passes: both.iter().all(|(passes, _)| *passes), bin })
    };
    (0..talks.all.len()).filter_map(candidate).collect()
}

/// Draws conversations: half of them pass, as far as there are, and each tenth of the scale gives one in turn.
fn balanced(candidates: Vec<Candidate>, sample: usize, random: &mut Random) -> Vec<Candidate> {
    let (passes, fails): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|it| it.passes);
    let half = sample / 2;
    let of_fails = fails.len().min(half.max(sample.saturating_sub(passes.len())));
    let mut drawn = spread(fails, of_fails, random);
    drawn.extend(spread(passes, sample - of_fails, random));
    drawn
}

/// Draws up to this number of conversations, one from each bin in turn.
fn spread(mut candidates: Vec<Candidate>, count: usize, random: &mut Random) -> Vec<Candidate> {
    random.shuffle(&mut candidates);
    let mut bins: Vec<Vec<Candidate>> = (0..BINS).map(|_| Vec::new()).collect();
    candidates.into_iter().for_each(|it| bins[it.bin].push(it));
    let mut drawn = Vec::new();
    while drawn.len() < count && bins.iter().any(|bin| !bin.is_empty()) {
        let room = count - drawn.len();
        drawn.extend(bins.iter_mut().filter_map(Vec::pop).take(room));
    }
    drawn
}

/// Returns what the user and the agent said in a transcript.
fn texts(transcript: &str) -> io::Result<[String; 2]> {
    let document = json::parse(transcript, &ParseOptions::default()).map_err(io::Error::other)?;
    let turns = document.value.get("invocations").and_then(Value::as_array).unwrap_or_default();
    let said = |key: &str| {
        let texts = turns.iter().enumerate().map(|(number, turn)| {
            let text = turn.get(key).and_then(Value::as_str).unwrap_or_default();
            if turns.len() > 1 { format!("[{}] {text}", number + 1) } else { text.to_owned() }
        });
        texts.collect::<Vec<_>>().join("\n\n")
    };
    Ok([said("user_content"), said("final_response")])
}
