//! What the run file keeps of the conversations themselves.

use super::{Runner, document::Turns};
use crate::{
    config::{Config, Transcripts},
    conversation::Conversation,
    eval_set::EvalCase,
    models::Redactor,
    report::{ConversationReport, EvaluationOutcome},
};

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
