//! Everything about single conversations, in blocks that are compressed: their evaluations and transcripts.
//!
//! The page unpacks a block when one of its conversations is opened. A file holds as many conversations as a browser can
//! take, the worst ones first.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use evaluator_results::{ConversationReport, EvaluationOutcome, EvaluationReport, Report};
use flate2::{Compression, write::GzEncoder};
use serde_json::json;

use super::rows::shortfall;

/// Conversations in a block.
const BLOCK: usize = 16;

/// Maximum number of bytes of conversations before they are compressed. A browser opens a file of 100 MB within seconds.
const MOST: usize = 100_000_000;

/// The conversations that are in the file.
#[derive(Debug)]
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
        let none =
            Self { left_out: HashSet::new(), left_out_failed: 0, block: 0, text: String::new() };
        let size = |row: usize| report.conversations.size(row);
        let all = 0..report.conversations.len();
        let own: usize = all.clone().map(size).sum();
        if own.saturating_add(earlier) <= MOST {
            return Ok(none);
        }
        // The conversations of the earlier run are left out with those of this one.
        let mut room = (MOST as f64 * own as f64 / own.saturating_add(earlier) as f64) as usize;
        let mut badness = Vec::new();
        for conversation in report.conversations.iter().outlines() {
            let conversation = conversation?;
            let is_error = |it: &&EvaluationReport| it.outcome() == EvaluationOutcome::Error;
            let errors = conversation.evaluations.iter().filter(is_error).count();
            badness.push(shortfall(&conversation) + errors as f64);
        }
        let mut worst: Vec<usize> = all.collect();
        worst.sort_by(|one, other| badness[*other].total_cmp(&badness[*one]));
        worst.retain(|row| match room.checked_sub(size(*row)) {
            Some(rest) => {
                room = rest;
                false
            }
            None => true,
        });
        let left_out_failed = worst.iter().filter(|row| badness[**row] > 0.0).count();
        Ok(Self { left_out: worst.into_iter().collect(), left_out_failed, ..none })
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
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
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
        let transcripts = report.conversations.transcripts();
        if transcripts < all {
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
    let ConversationReport { warnings, failed_turns, performance, content, .. } = conversation;
    let own = json!({
        "number": row,
        "warnings": warnings,
        "failed_turns": failed_turns,
        "performance": performance,
        "content": content,
    });
    let own = serde_json::to_string(&own)?;
    let own = own.strip_suffix('}').unwrap_or(&own);
    let transcript = transcript.unwrap_or("null");
    let earlier = earlier.map_or_else(String::new, |it| format!(",\"base\":{it}"));
    Ok(format!("{own},\"transcript\":{transcript},\"evaluations\":[{evaluations}]{earlier}}}"))
}

/// Returns an evaluation as JSON, with the command that repeats it.
fn evaluation(evaluation: &EvaluationReport, repro: Option<String>) -> io::Result<String> {
    let own = serde_json::to_string(evaluation)?;
    let own = own.strip_suffix('}').unwrap_or(&own);
    let mut more = json!({
        "outcome": evaluation.outcome().as_str(),
        "reason": evaluation.reason(),
        "difference": evaluation.difference(),
    });
    if let Some(repro) = repro {
        more["repro"] = json!([repro]);
    }
    let more = serde_json::to_string(&more)?;
    let more = more.strip_prefix('{').unwrap_or(&more);
    Ok(format!("{own},{more}"))
}
