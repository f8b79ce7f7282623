//! What the run file keeps of the conversations themselves.

use super::document::{Turns, redacted};
use crate::{
    conversation::{Conversation, Turn},
    eval_set::{EvalCase, ExpectedTurn},
    json::{self, NonFinite, Object, Value},
    models::{Redactor, Secret},
    report::{ConversationReport, EvaluationOutcome},
};

/// Maximum number of questions of a judge that are kept with a conversation.
const PROMPTS: usize = 50;

/// Maximum number of characters of a message of a question; a longer one lacks its middle.
const MESSAGE: usize = 20_000;

/// Conversations whose transcripts the run file keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transcripts {
    /// None.
    #[default]
    None,
    /// Those with an evaluation that failed or broke.
    Failed,
    /// All.
    All,
}

impl Transcripts {
    /// All values, by their names in configurations and on the command line.
    pub const ALL: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("failed", Self::Failed), ("all", Self::All)];
}

/// What was said and done in a case of a suite.
#[derive(Clone, Debug, Default)]
pub struct CaseTranscript {
    /// What the agent got, did and answered.
    pub turns: Vec<Turn>,
    /// What was expected; nothing if empty.
    pub expected: Vec<ExpectedTurn>,
}

impl CaseTranscript {
    /// Returns the conversation that stands for a case with these turns, and the golden case if something was expected.
    pub(crate) fn of_case(self, conversation: &Conversation) -> (Conversation, Option<EvalCase>) {
        let Self { turns, expected } = self;
        let case =
            (!expected.is_empty()).then(|| EvalCase { turns: expected, ..EvalCase::default() });
        (Conversation { turns, ..conversation.clone() }, case)
    }
}

/// Decides which transcripts the run file keeps, and writes them.
#[derive(Debug)]
pub struct TranscriptWriter {
    kept: Transcripts,
    redactor: Redactor,
}

impl TranscriptWriter {
    /// Creates a writer for the transcripts that are kept. Secrets are removed from them.
    pub fn new(kept: Transcripts, secrets: &[Secret]) -> Self {
        let secrets = match kept {
            Transcripts::None => Vec::new(),
            _ => secrets.to_vec(),
        };
        Self { kept, redactor: Redactor::new(secrets) }
    }

    /// Returns the transcript of a conversation, without the secrets of this machine; `None` if it is not kept.
    pub(crate) fn transcript(
        &self,
        report: &ConversationReport,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Option<String> {
        let mut outcomes = report.evaluations.iter().map(|evaluation| evaluation.outcome());
        let did_not_pass = |it| matches!(it, EvaluationOutcome::Failed | EvaluationOutcome::Error);
        let is_kept = match self.kept {
            Transcripts::None => false,
            Transcripts::Failed => outcomes.any(did_not_pass),
            Transcripts::All => true,
        };
        is_kept.then(|| {
            let turns = Turns::redacted(conversation, case, &self.redactor).to_object();
            match self.prompts(report) {
                Some(prompts) => {
                    format!("{},\"prompts\":{prompts}}}", turns.strip_suffix('}').unwrap_or(&turns))
                }
                None => turns,
            }
        })
    }

    /// Returns what judges were asked about a conversation as a JSON object, by their names; `None` if there is nothing.
    fn prompts(&self, report: &ConversationReport) -> Option<String> {
        let evaluations = report.evaluations.iter().filter(|it| !it.prompts.is_empty());
        let prompts: Object = evaluations
            .map(|it| {
                let prompts = it.prompts.iter().take(PROMPTS);
                let prompts = prompts.map(|prompt| shortened(redacted(prompt, &self.redactor)));
                (it.name.clone(), Value::Array(prompts.collect()))
            })
            .collect();
        let mut text = String::new();
        // Writing text to a string cannot fail.
        let _ = json::write(&Value::Object(prompts.clone()), &mut text, NonFinite::Null);
        (!prompts.is_empty()).then_some(text)
    }
}

/// Returns a value whose long texts lack their middle.
fn shortened(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(shortened).collect()),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(key, it)| (key, shortened(it))).collect())
        }
        other => other,
    }
}

/// Removes the middle of a long text.
fn cut(text: String) -> String {
    let length = text.chars().count();
    if length <= MESSAGE {
        return text;
    }
    let half = MESSAGE / 2;
    let (begin, end): (String, String) =
        (text.chars().take(half).collect(), text.chars().skip(length - half).collect());
    format!("{begin}\n[... {} characters are left out ...]\n{end}", length - MESSAGE)
}
