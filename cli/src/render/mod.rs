//! Output for people: reports, tables and messages. Only this module writes to stderr.

mod access;
mod agreement;
mod changes;
mod checks;
mod columns;
mod comparison;
mod config_error;
mod csv;
mod errors;
mod github;
mod html;
mod inspection;
mod junit;
mod markdown;
mod mutation;
mod openmetrics;
mod overview;
mod plain;
mod progress;
mod sheet;
mod slices;
mod stderr;
mod sums;
mod tables;
mod verdict;
mod words;

pub(crate) use access::access;
pub(crate) use agreement::{agreement, agreement_html, agreement_markdown, agreement_verdict};
pub(crate) use checks::{conformance_json, conformance_text, validation_json, validation_text};
pub(crate) use columns::Columns;
pub(crate) use comparison::{
    comparison, comparison_html, comparison_markdown, comparison_verdict, differences,
};
pub(crate) use config_error::{config_error, config_remarks};
pub(crate) use inspection::{inspection_json, inspection_text};
pub(crate) use markdown::markdown;
pub(crate) use mutation::{mutation, mutation_html, mutation_markdown, mutation_verdict};
pub(crate) use plain::{Painted, for_stdout as painted, one_line, printable};
pub(crate) use progress::{Progress, uncontained};
pub(crate) use sheet::{sheet, sheet_verdict};
pub(crate) use stderr::{LogFormat, LogSettings, configure as configure_log};
pub(crate) use tables::errors_of_summary;
pub(crate) use verdict::{no_verdict, part_verdict, sentence, verdict};
pub(crate) use words::counted;

use std::{
    borrow::Cow,
    io::{self, Write},
};

use evaluator_host::{config::OutputFormat, report::Report};

use stderr::{Level, line};

/// Writes a report in a format. A table has at most `width` columns.
pub(crate) fn report(
    report: &Report,
    format: OutputFormat,
    width: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        OutputFormat::Table => tables::table(report, width, out),
        OutputFormat::Overview => overview::overview(report, width, out),
        OutputFormat::Summary => tables::summary(report, out),
        OutputFormat::Csv => csv::csv(report, out),
        OutputFormat::OpenMetrics => openmetrics::openmetrics(report, out),
        OutputFormat::Markdown => markdown(report, out),
        OutputFormat::Github => github::github(report, out),
        OutputFormat::Junit => junit::junit(report, out),
        OutputFormat::Html => html::html(report, out),
        OutputFormat::Json => {
            match report.suite {
                Some(_) => evaluator_agentv::report::write_json(report, out)?,
                None => report.write_json(out)?,
            }
            out.write_all(b"\n")
        }
    }
}

/// Writes an error of this program to stderr.
pub(crate) fn message(text: &str) {
    write_message(Level::Error, text);
}

/// Writes an error on the command line to stderr, with the colours of the parser if its text is safe to print.
pub(crate) fn usage_error(error: &clap::Error) {
    match printable(&error.to_string()) {
        Cow::Owned(safe) => line(Level::Error, &safe),
        Cow::Borrowed(_) => {
            // A closed stderr cannot be reported.
            let _ = error.print();
        }
    }
}

/// Writes a warning to stderr.
pub(crate) fn warning(text: &str) {
    write_message(Level::Warning, text);
}

/// Writes a note to stderr.
pub(crate) fn note(text: &str) {
    write_message(Level::Info, text);
}

/// Writes a message after the name of the program. Further lines are indented, so that none looks like a separate message.
fn write_message(level: Level, text: &str) {
    line(level, &indented(&format!("evaluator: {text}")));
}

/// Indents all lines of a text but the first.
fn indented(text: &str) -> String {
    let mut lines = text.lines();
    let mut shown = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        shown.extend(["\n", indent, line]);
    }
    shown
}

/// Writes text without the name of the program to stderr.
pub(crate) fn remark(text: &str) {
    line(Level::Info, &indented(text));
}
