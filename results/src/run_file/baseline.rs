//! A run as later ones are compared with it, small enough for version control.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    ConversationRecord, Header,
    format::{self, EndRecord, kind},
};
use crate::{ConversationReport, EvaluationReport, Report, Tally};

/// Writes the run file of a baseline: a whole run without `evaluation` lines, and without what no comparison needs, such as the
/// details of evaluations, durations, and text of conversations.
///
/// # Errors
///
/// The run is partial, a conversation cannot be read back, or writing fails.
pub fn write_baseline(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    if let Some(partial) = report.partial {
        return Err(io::Error::other(partial.to_string()));
    }
    let header = report.header.as_deref();
    let header = header.ok_or_else(|| io::Error::other("the run has no header"))?.clone();
    let (conversations, gates) = (report.conversations.len(), report.gates.clone());
    add(out, kind::HEADER, &Header { conversations, gates, earlier: 0, options: None, ..header })?;
    let mut tally = Tally::default();
    for (number, conversation) in report.conversations.iter().outlines().enumerate() {
        let conversation = compared(conversation?);
        conversation.evaluations.iter().for_each(|it| it.count_in(&mut tally));
        add(out, kind::CONVERSATION, &ConversationRecord { number, conversation })?;
    }
    let report = Report { reused: None, judges: None, ..report.clone() };
    add(out, kind::END, &EndRecord { conversations, tally, report })
}

fn add(out: &mut dyn Write, kind: &str, record: &impl Serialize) -> io::Result<()> {
    let mut line = Vec::new();
    format::write_line(&mut line, kind, record)?;
    out.write_all(&line)
}

/// Returns what is compared of a conversation.
fn compared(conversation: ConversationReport) -> ConversationReport {
    ConversationReport {
        evaluations: conversation.evaluations.into_iter().map(compared_evaluation).collect(),
        trace_file: None,
        prompt: None,
        warnings: Vec::new(),
        failed_turns: Vec::new(),
        performance: None,
        events: None,
        ..conversation
    }
}

/// Returns what is compared of an evaluation.
fn compared_evaluation(evaluation: EvaluationReport) -> EvaluationReport {
    EvaluationReport {
        per_invocation_scores: Vec::new(),
        duration: None,
        stderr: None,
        details: None,
        target_proxy: None,
        containment: None,
        repeats: evaluation.repeats.into_iter().map(compared_evaluation).collect(),
        ..evaluation
    }
}
