//! Results of other tools, read as saved runs: the JSON output of promptfoo, and JSON logs of Inspect.
//!
//! | file | contents |
//! |---|---|
//! | `promptfoo` | results of `promptfoo eval -o FILE.json` |
//! | `inspect` | logs of `inspect eval --log-format json` |
//! | `parts` | what both are made of |
//!
//! A file is recognized by its content. What the tool says about its evaluators becomes the header, so that two files of one tool
//! are compared by the rules of run files; what no file of the tool says is named by [`unknown`].

mod inspect;
mod parts;
mod promptfoo;

use std::{path::Path, sync::Arc};

use evaluator_json::{self as json, ParseOptions};

use super::{FileProblem, Unusable};
use crate::{Collector, REPORT_MEMORY, Report, digest::ENCODING};

/// Maximum size of a file, which is read into memory.
const LIMIT: u64 = 1 << 30;

/// Recordings of what was said, which no result is read from.
const BULKY: json::Paths = &[
    &[json::Step::Member("samples"), json::Step::Items, json::Step::Member("messages")],
    &[json::Step::Member("samples"), json::Step::Items, json::Step::Member("events")],
    &[json::Step::Member("samples"), json::Step::Items, json::Step::Member("attachments")],
    &[json::Step::Member("samples"), json::Step::Items, json::Step::Member("store")],
];

/// Reads the report of a file of another tool. Its header is what the file says about the run.
///
/// # Errors
///
/// The file cannot be read, is of no known tool, or has results that cannot be used.
pub(super) fn read(path: &Path) -> Result<Report, Unusable> {
    let bytes = json::read_file(path, LIMIT)?;
    let other = |reason: String| FileProblem::OtherContent(reason).of(path);
    if bytes.starts_with(b"PK\x03\x04") {
        let reason = "it is an archive, such as a log of Inspect with the ending `.eval`, which `inspect log convert --to json` \
                      turns into JSON";
        return Err(other(reason.to_owned()).into());
    }
    let text = str::from_utf8(&bytes).map_err(|_| other("it is not text".to_owned()))?;
    let root = json::parse_leaving(text, &ParseOptions::default(), BULKY)
        .map_err(|error| other(format!("it is not JSON: {error}")))?
        .value;
    let (format, tool, run) = if promptfoo::is_result(&root) {
        (promptfoo::NAME, "promptfoo", promptfoo::read(&root))
    } else if inspect::is_log(&root) {
        (inspect::NAME, "Inspect", inspect::read(&root))
    } else {
        let reason =
            "it has neither `evalId` and `results` (promptfoo) nor `eval` and `status` (Inspect)";
        return Err(other(reason.to_owned()).into());
    };
    let mut run = run.map_err(|reason| FileProblem::OtherTool(tool, reason).of(path))?;
    let mut collector = Collector::new(REPORT_MEMORY, run.conversations.len());
    for (number, conversation) in run.conversations.iter().enumerate() {
        collector.put(number, conversation)?;
    }
    run.header.format = format.to_owned();
    run.header.encoding = ENCODING;
    run.header.conversations = run.conversations.len();
    run.report.conversations = collector.finish();
    run.report.header = Some(Arc::new(run.header));
    Ok(run.report)
}

/// Returns what no file of this format says about its evaluators; `None` for run files.
pub(super) fn unknown(format: &str) -> Option<&'static str> {
    match format {
        promptfoo::NAME => Some(
            "results of promptfoo do not have the files, the code and the models that assertions use, so changes of them are not \
             noticed",
        ),
        inspect::NAME => Some(
            "logs of Inspect do not have the code of scorers, so changes of it are not noticed",
        ),
        _ => None,
    }
}
