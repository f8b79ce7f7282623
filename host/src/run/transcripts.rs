//! What the run file keeps of the conversations themselves.

use super::{Runner, document::Turns};
use crate::{
    config::{Config, Transcripts},
    conversation::{Conversation, Turn},
    eval_set::{EvalCase, ExpectedTurn},
    models::Redactor,
    report::{ConversationReport, EvaluationOutcome},
};

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
    pub(super) fn of_case(self, conversation: &Conversation) -> (Conversation, Option<EvalCase>) {
        let Self { turns, expected } = self;
        let case =
            (!expected.is_empty()).then(|| EvalCase { turns: expected, ..EvalCase::default() });
        (Conversation { turns, ..conversation.clone() }, case)
    }
}

/// Decides which transcripts the run file keeps, and writes them.
#[derive(Debug)]
pub(super) struct TranscriptWriter {
    kept: Transcripts,
    redactor: Redactor,
}

impl TranscriptWriter {
    pub(super) fn new(config: &Config, runner: &Runner) -> Self {
        let kept = config.transcripts.unwrap_or_default();
        let secrets = match kept {
            Transcripts::None => Vec::new(),
            _ => runner.environment().secrets,
        };
        Self { kept, redactor: Redactor::new(secrets) }
    }

    /// Returns the transcript of a conversation, without the secrets of this machine; `None` if it is not kept.
    pub(super) fn transcript(
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
        is_kept.then(|| Turns::redacted(conversation, case, &self.redactor).to_object())
    }
}
