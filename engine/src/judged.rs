//! Evaluators that ask models.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::time::sleep;

use super::recording::Recording;
use crate::{
    json::{Object, Value, count, object},
    judging::{
        Connection, Judged, SentPrompt, Subject,
        judge::{Case, Criterion, Judge, JudgedTurn, Scenario},
    },
    metric::Outcome,
    models::first_sample,
    process::Cancellation,
    verdict::{Evaluation, Verdict},
};

/// Time for calls in flight after the run was cancelled.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);

/// An evaluator that asks a model.
#[derive(Debug)]
pub struct JudgedEvaluator {
    /// Plans the questions and reads the replies.
    pub judge: Arc<dyn Judge>,
    /// What passes.
    pub criterion: Criterion,
    /// Models.
    pub connection: Arc<Connection>,
    /// Whether a conversation without a golden case is not evaluated.
    pub needs_golden: bool,
    /// Text that changes whenever the judge would ask or score something differently; `None` if results are not reused.
    pub revision: Option<String>,
    /// Settings of the entry that decide about results, apart from those of the judge.
    pub settings: Object,
    /// Limit of the time in calls of an evaluation.
    pub timeout: Option<Duration>,
}

impl JudgedEvaluator {
    /// Evaluates a conversation. Each repeat has samples of its own.
    pub(crate) async fn evaluate(
        &self,
        recording: &Recording,
        repeat: u32,
        cancellation: &Cancellation,
    ) -> Evaluation {
        let started = Instant::now();
        if let Some(verdict) = self.known(recording, cancellation) {
            return Evaluation::without_process(verdict, started.elapsed());
        }
        tokio::select! {
            biased;
            judged = self.judged(recording, repeat) => evaluation(judged, started, cancellation),
            () = given_up(cancellation) => {
                Evaluation::without_process(Verdict::Cancelled, started.elapsed())
            }
        }
    }

    /// Returns the verdict of a conversation that no model is asked about.
    fn known(&self, recording: &Recording, cancellation: &Cancellation) -> Option<Verdict> {
        if cancellation.is_cancelled() {
            return Some(Verdict::Cancelled);
        }
        let reason = match &recording.golden {
            Err(unmatched) if self.needs_golden => unmatched.to_string(),
            _ => {
                let parts = self.judge.parts();
                let mut turns = recording.conversation.turns.iter();
                let unrecorded =
                    turns.find_map(|turn| parts.iter().find_map(|it| turn.unrecorded(*it)));
                unrecorded?.to_string()
            }
        };
        Some(Verdict::from(Outcome::not_evaluated(reason)))
    }

    async fn judged(&self, recording: &Recording, repeat: u32) -> Result<Judged, String> {
        let mut actual = JudgedTurn::of_recording(&recording.conversation.turns);
        let case = recording.golden.as_ref().ok();
        if let Some(case) = case {
            JudgedTurn::add_rubrics(&mut actual, case)?;
        }
        let golden = case.map(JudgedTurn::of_golden_case);
        let scenario = recording.scenario.as_ref().and_then(|case| case.scenario.as_ref());
        let scenario = scenario.map(Scenario::from_adk).transpose()?;
        let mut judged = Case::new(&actual, &self.criterion);
        if let Some(golden) = &golden {
            judged = judged.expecting(golden);
        }
        if let Some(scenario) = &scenario {
            judged = judged.with_scenario(scenario);
        }
        let location = format!("conversation {}", recording.conversation.trace_id);
        let mut subject = Subject::new(self.judge.name(), location);
        subject.time_limit = self.timeout;
        subject.first_sample = first_sample(repeat);
        Ok(self.connection.judge(&*self.judge, &judged, &subject).await)
    }
}

/// Waits until the run is cancelled and calls in flight have had time to end.
pub(crate) async fn given_up(cancellation: &Cancellation) {
    cancellation.cancelled().await;
    sleep(SHUTDOWN_LIMIT).await;
}

fn evaluation(
    judged: Result<Judged, String>,
    started: Instant,
    cancellation: &Cancellation,
) -> Evaluation {
    let judged = match judged {
        Ok(judged) => judged,
        Err(reason) => {
            let verdict = Verdict::MetricFailed { reason };
            return Evaluation::without_process(verdict, started.elapsed());
        }
    };
    let mut verdict = Verdict::from(judged.outcome);
    if let Verdict::Answer(answer) = &mut verdict
        && judged.unscored_turns > 0
    {
        answer.per_invocation_scores = vec![None; judged.unscored_turns];
    }
    let verdict = match verdict {
        Verdict::MetricFailed { .. } if cancellation.is_cancelled() => Verdict::Cancelled,
        verdict => verdict,
    };
    let mut evaluation = Evaluation::without_process(verdict, started.elapsed());
    evaluation.details = Some(judged.details).filter(|details| !details.is_empty());
    evaluation.warnings = judged.warnings;
    evaluation.prompts = judged.prompts.iter().map(prompt).collect();
    evaluation.failure_reason = judged.failure_reason;
    evaluation
}

/// Returns a question as transcripts have it. What is not text, e.g. an image, is only counted.
fn prompt(sent: &SentPrompt) -> Value {
    let messages = sent.messages.iter().map(|message| {
        let role = serde_json::to_value(message.role).unwrap_or_default();
        let mut members = vec![
            ("role", role.as_str().unwrap_or_default().into()),
            ("text", message.content.as_str().into()),
        ];
        if !message.parts.is_empty() {
            members.push(("parts", count(message.parts.len())));
        }
        object(members)
    });
    object([
        ("turn", count(sent.turn)),
        ("name", sent.name.as_ref().into()),
        ("messages", Value::Array(messages.collect())),
    ])
}
