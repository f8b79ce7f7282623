//! What is in a program, for people.

use std::fmt::Write as _;

use evaluator_protocol::ProtocolVersion;

use super::Choice;
use crate::{exit, log};

/// The text of `--help`.
pub(super) fn text(choice: Choice<'_>) -> String {
    let mut text = String::new();
    for evaluator in choice.all() {
        text.push_str(evaluator.name());
        text.push('\n');
        for line in evaluator.description().lines() {
            text.push_str(format!("    {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    let choose = if choice.only().is_some() { "" } else { CHOOSE };
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "Reads a JSON document from standard input and writes its answer to standard output.\n\
         \n\
         Usage: <program> [OPTIONS] < document.json\n\
         \n\
         Options:\n    \
         --stream            Read one document per line, write one answer per line\n    \
         --evaluator NAME    Let this evaluator answer{choose}\n    \
         --contract NAME     Take documents for ones of this contract: agentevals, agentv, adk, agenta [told by their keys]\n    \
         --describe          Say what is in this program, as JSON\n    \
         --help, -h          Say it like this\n    \
         --version, -V       Print the versions\n\
         \n\
         Environment:\n    \
         {variable}       Level of messages on standard error: off, error, warn, info, debug, trace [warn]\n\
         \n\
         Exit codes:\n    \
         {answered:<5} The document was answered; with --stream, all were (errors are answers there)\n    \
         {failed:<5} The evaluator failed: an error, a panic, or an answer that cannot be written\n    \
         {usage:<5} Wrong arguments\n    \
         {input:<5} The document or its config cannot be read, or is refused\n    \
         {crashed:<5} The evaluator crashed\n",
        variable = log::VARIABLE,
        answered = exit::ANSWERED,
        failed = exit::FAILED,
        usage = exit::USAGE,
        input = exit::INPUT,
        crashed = exit::CRASHED,
    );
    text
}

const CHOOSE: &str = " [the one named by `metric_name`]";

/// The text of `--version`.
pub(super) fn version(choice: Choice<'_>) -> String {
    let names: Vec<&str> = choice.all().iter().map(|evaluator| evaluator.name()).collect();
    format!(
        "{} ({} {}, protocol {})\n",
        names.join(", "),
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        ProtocolVersion::CURRENT
    )
}
