//! Everything about single conversations, in blocks that are compressed: their evaluations and transcripts.
//!
//! The page unpacks a block when one of its conversations is opened. A file holds as many conversations as a browser can
//! take, the worst ones first.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashSet},
    io::{self, Write},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evaluator_results::{
    ConversationReport, EvaluationOutcome, EvaluationReport, Partial, Report, run_file::Digest,
};
use flate2::{Compression, write::GzEncoder};
use serde::Serialize;

use super::{rows::shortfall, words};

/// Half of the time of the default, and a sixth larger.
const LEVEL: Compression = Compression::new(3);

/// Conversations in a block.
const BLOCK: usize = 16;

/// Maximum number of bytes of conversations before they are compressed, if there are few; a browser opens such a file within
/// seconds. A row of the tables takes the room of so many bytes of them, but some room is left for the worst ones.
const MOST: usize = 100_000_000;
const ROW: usize = 700;
const LEAST: usize = 10_000_000;

/// The conversations that are in the file.
#[derive(Debug, Default)]
pub(crate) struct Cases {
    /// Numbers of the conversations that are left out.
    left_out: HashSet<usize>,
    /// How many of those did not pass.
    left_out_failed: usize,
    /// Number of the block that is being filled, and the elements of its array.
    block: usize,
    text: String,
}

impl Cases {
    /// Chooses the worst conversations, as many as the file may hold next to so many bytes of an earlier run.
    pub(crate) fn choose(report: &Report, earlier: usize) -> io::Result<Self> {
        let rows = report.conversations.len();
        let most = MOST.saturating_sub(rows.saturating_mul(ROW)).max(LEAST);
        let own: usize = (0..rows).map(|row| report.conversations.size(row)).sum();
        if own.saturating_add(earlier) <= most {
            return Ok(Self::default());
        }
        // The conversations of the earlier run are left out with those of this one.
        let share = own as f64 / own.saturating_add(earlier) as f64;
        Self::within(report, (most as f64 * share) as usize)
    }

    /// Chooses the worst conversations, as many as fit into this number of bytes.
    fn within(report: &Report, mut room: usize) -> io::Result<Self> {
        let mut badness = Vec::new();
        for conversation in report.conversations.iter().outlines() {
            let conversation = conversation?;
            let is_error = |it: &&EvaluationReport| it.outcome() == EvaluationOutcome::Error;
            let errors = conversation.evaluations.iter().filter(is_error).count();
            badness.push(shortfall(&conversation) + errors as f64);
        }
        let mut worst: Vec<usize> = (0..badness.len()).collect();
        worst.sort_by(|one, other| badness[*other].total_cmp(&badness[*one]));
        worst.retain(|row| match room.checked_sub(report.conversations.size(*row)) {
            Some(rest) => {
                room = rest;
                false
            }
            None => true,
        });
        let left_out_failed = worst.iter().filter(|row| badness[**row] > 0.0).count();
        Ok(Self { left_out: worst.into_iter().collect(), left_out_failed, ..Self::default() })
    }

    /// Adds the next conversation with that of an earlier run, unless it is left out.
    pub(crate) fn add(
        &mut self,
        report: &Report,
        row: usize,
        conversation: &ConversationReport,
        earlier: Option<&str>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if row / BLOCK != self.block {
            self.finish(out)?;
            self.block = row / BLOCK;
        }
        if self.left_out.contains(&row) {
            return Ok(());
        }
        let transcript = report.conversations.transcript(row).transpose()?;
        self.text.push(if self.text.is_empty() { '[' } else { ',' });
        self.text.push_str(&case(report, row, conversation, transcript.as_deref(), earlier)?);
        Ok(())
    }

    /// Writes the block that is being filled, if there is anything in it.
    pub(crate) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        self.text.push(']');
        let mut packed = GzEncoder::new(Vec::new(), LEVEL);
        packed.write_all(self.text.as_bytes())?;
        self.text.clear();
        let (block, packed) = (self.block, BASE64_STANDARD.encode(packed.finish()?));
        writeln!(
            out,
            "<script type=\"application/json\" id=\"block-{block}\">\"{packed}\"</script>"
        )
    }

    /// Returns what the file leaves out, in sentences.
    pub(crate) fn notes(&self, report: &Report) -> Vec<String> {
        let (mut notes, all) = (Vec::new(), report.conversations.len());
        if !self.left_out.is_empty() {
            let failed = match self.left_out_failed {
                0 => "all of which passed or were not evaluated".to_owned(),
                failed => format!("{failed} of which did not pass"),
            };
            notes.push(format!(
                "This file would be too large with everything: what evaluators say about {} of {all} conversations, and their \
                 transcripts, are left out, {failed}. The run file has them; `-o json=FILE` writes all of the former.",
                self.left_out.len(),
            ));
        }
        if report.partial == Some(Partial::Decided) {
            notes.push(format!("Not everything was evaluated: {}.", Partial::Decided));
        }
        let transcripts = report.conversations.transcripts();
        if let Some(tool) = words::foreign_tool(report) {
            notes.push(format!("Results of {tool} have no transcripts."));
        } else if transcripts < all {
            notes.push(format!(
                "The run kept the transcripts of {transcripts} of {all} conversations; `--transcripts all` keeps those of all."
            ));
        }
        notes
    }
}

/// Returns a conversation as JSON, with the one of an earlier run. Evaluations have the form of run files, which keeps all digits
/// of their details.
pub(crate) fn case(
    report: &Report,
    row: usize,
    conversation: &ConversationReport,
    transcript: Option<&str>,
    earlier: Option<&str>,
) -> io::Result<String> {
    let evaluations = conversation.evaluations.iter();
    let evaluations = evaluations.map(|it| evaluation(it, report.repro(conversation, it)));
    let evaluations = evaluations.collect::<io::Result<Vec<String>>>()?.join(",");
    let ConversationReport { labels, warnings, failed_turns, .. } = conversation;
    let performance = conversation.performance.as_ref().map(|it| Performance {
        llm_calls: it.counts.llm_calls,
        input_tokens: it.tokens.total_prompt,
        output_tokens: it.tokens.total_output,
    });
    let own = serde_json::to_string(&Own {
        labels,
        cluster: conversation.cluster.as_deref(),
        number: row,
        warnings,
        failed_turns,
        performance,
        content: conversation.content.as_ref(),
    })?;
    let own = own.strip_suffix('}').unwrap_or(&own);
    let transcript = transcript.unwrap_or("null");
    let earlier = earlier.map_or_else(String::new, |it| format!(",\"base\":{it}"));
    Ok(format!("{own},\"transcript\":{transcript},\"evaluations\":[{evaluations}]{earlier}}}"))
}

/// What is known about a conversation, without its evaluations.
#[derive(Serialize)]
struct Own<'c> {
    labels: &'c BTreeMap<String, Vec<String>>,
    cluster: Option<&'c str>,
    number: usize,
    warnings: &'c [String],
    failed_turns: &'c [String],
    performance: Option<Performance>,
    content: Option<&'c Digest>,
}

/// What the columns of all conversations do not have.
#[derive(Serialize)]
struct Performance {
    llm_calls: usize,
    input_tokens: i64,
    output_tokens: i64,
}

/// What an evaluation does not have itself.
#[derive(Serialize)]
struct More<'e> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Cow<'e, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
    /// The command that repeats it.
    #[serde(skip_serializing_if = "Option::is_none")]
    repro: Option<[String; 1]>,
}

/// Returns an evaluation as JSON, with the command that repeats it.
fn evaluation(evaluation: &EvaluationReport, repro: Option<String>) -> io::Result<String> {
    let mut own = serde_json::to_string(evaluation)?;
    let more = serde_json::to_string(&More {
        outcome: evaluation.outcome().as_str(),
        reason: evaluation.reason(),
        difference: evaluation.difference(),
        repro: repro.map(|it| [it]),
    })?;
    own.truncate(own.len().saturating_sub(1));
    own.push(',');
    own.push_str(more.get(1..).unwrap_or_default());
    Ok(own)
}

#[cfg(test)]
mod tests {
    use evaluator_results::Status;

    use super::*;

    fn conversation(id: &str, score: f64, error: Option<&str>) -> ConversationReport {
        let mut evaluation = EvaluationReport::new("check");
        (evaluation.score, evaluation.threshold) = (Some(score), Some(0.5));
        evaluation.status = if score < 0.5 { Status::Failed } else { Status::Passed };
        evaluation.error = error.map(str::to_owned);
        let mut conversation = ConversationReport::new(id.into());
        conversation.evaluations = vec![evaluation];
        conversation
    }

    #[test]
    fn what_does_not_fit_is_the_least_bad_and_is_counted() {
        let all = [("a", 0.9, None), ("b", 0.4, None), ("c", 0.9, Some("x")), ("d", 0.1, None)];
        let all = all.map(|(id, score, error)| conversation(id, score, error)).to_vec();
        let mut report = Report::default();
        report.conversations = all.into();
        let size = |rows: &[usize]| rows.iter().map(|row| report.conversations.size(*row)).sum();
        let left_out = |room| {
            let cases = Cases::within(&report, room).unwrap();
            let mut rows: Vec<usize> = cases.left_out.iter().copied().collect();
            rows.sort_unstable();
            (rows, cases.left_out_failed, cases.notes(&report))
        };
        let (rows, failed, notes) = left_out(size(&[1, 2, 3]));
        assert_eq!((rows, failed), (vec![0], 0));
        assert!(notes[0].contains("about 1 of 4 conversations"), "{notes:?}");
        assert!(notes[0].contains("all of which passed or were not evaluated"), "{notes:?}");
        let (rows, failed, notes) = left_out(size(&[2]));
        assert_eq!((rows, failed), (vec![0, 1, 3], 2));
        assert!(notes[0].contains("2 of which did not pass"), "{notes:?}");
    }
}
