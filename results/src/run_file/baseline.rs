//! A run as later ones are compared with it, small enough for version control.

use std::{
    io::{self, Write},
    path::Path,
};

use evaluator_traces::{conversation::Labels, trace::UnusableParts};
use serde::Serialize;

use super::{
    ConversationRecord, Header,
    format::{self, EndRecord, kind},
};
use crate::{
    ConversationReport, EvaluationReport, Report, Status, SuiteReport, Tally, TargetProxyReport,
    contradiction,
};

/// Stands for the text of an error, which may quote a conversation.
const ERROR: &str = "it broke; a baseline has no texts of errors";

/// Stands for the reason why an evaluation fails whatever its score is.
const REASON: &str = "it fails whatever its score is; a baseline has no reasons";

/// Writes the run file of a baseline: a whole run without `evaluation` lines, and without what no comparison needs, such as the
/// details of evaluations, durations, texts of errors and warnings, and text of conversations.
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
    let begun = compared_report(header.report.clone());
    let header = Header {
        part: None,
        conversations,
        gates,
        earlier: 0,
        options: None,
        report: begun,
        ..header
    };
    add(out, kind::HEADER, &header)?;
    let mut tally = Tally::default();
    for (number, conversation) in report.conversations.iter().outlines().enumerate() {
        let conversation = compared(conversation?);
        conversation.evaluations.iter().for_each(|it| it.count_in(&mut tally));
        add(out, kind::CONVERSATION, &ConversationRecord { number, conversation })?;
    }
    let report = compared_report(report.clone());
    add(out, kind::END, &EndRecord { conversations, tally, sum: None, read: None, report })
}

fn add(out: &mut dyn Write, kind: &str, record: &impl Serialize) -> io::Result<()> {
    let mut line = Vec::new();
    format::write_line(&mut line, kind, record)?;
    out.write_all(&line)
}

/// Returns a report without names of files, and without attributes to slice it by, which its conversations do not have.
fn compared_report(report: Report) -> Report {
    let file_name = |file: &str| {
        let name = Path::new(file).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    };
    let suite = report.suite.map(|suite| SuiteReport {
        file: file_name(&suite.file),
        warnings: Vec::new(),
        ..suite
    });
    Report {
        warnings: Vec::new(),
        left_out: UnusableParts::default(),
        by: Vec::new(),
        reused: None,
        judges: None,
        suite,
        ..report
    }
}

/// Returns what is compared of a conversation.
fn compared(conversation: ConversationReport) -> ConversationReport {
    ConversationReport {
        evaluations: conversation.evaluations.into_iter().map(compared_evaluation).collect(),
        trace_file: None,
        labels: Labels::new(),
        dropped_copies: 0,
        session: None,
        several_values: Vec::new(),
        prompt: None,
        warnings: Vec::new(),
        failed_turns: Vec::new(),
        performance: None,
        events: None,
        ..conversation
    }
}

/// Returns what is compared of an evaluation.
fn compared_evaluation(mut evaluation: EvaluationReport) -> EvaluationReport {
    let EvaluationReport { score, threshold, .. } = evaluation;
    // Without this one, a status that contradicts the score is taken for a forged line.
    let stated = threshold.and_then(|threshold| contradiction(Status::Passed, score, threshold));
    evaluation.warnings.retain(|it| Some(it) == stated.as_ref());
    EvaluationReport {
        error: evaluation.error.map(|_| ERROR.to_owned()),
        headline: None,
        failure_reason: evaluation.failure_reason.map(|_| REASON.to_owned()),
        per_invocation_scores: Vec::new(),
        duration: None,
        stderr: None,
        details: None,
        // Repeats of what asks models may differ.
        target_proxy: evaluation.target_proxy.map(|_| TargetProxyReport::default()),
        containment: None,
        repeats: evaluation.repeats.into_iter().map(compared_evaluation).collect(),
        ..evaluation
    }
}
