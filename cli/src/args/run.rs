//! Arguments of `evaluator run`, and forms and destinations of its report.

use std::{
    ffi::OsStr,
    io,
    num::NonZeroUsize,
    path::{self, Path, PathBuf},
};

use clap::{
    Arg, Args, Command,
    builder::{PossibleValue, TypedValueParser},
};
use evaluator_host::{
    config::{OutputFormat, Transcripts},
    conversation::GroupBy,
    files::is_stdout,
    metric::MatchType,
    report::run_file::Shard,
};

use super::{
    BaselineArgs, GateFlags, eval_file::EvalFileFlags, existing, file, given::Given, jobs,
    judge::JudgeFlags, name, one_of, trace_input, whole, writable,
};

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) given: Given,
    /// Trace files (Jaeger JSON, OTLP JSON or OTLP JSON lines, perhaps compressed with gzip or zstd), directories of such
    /// files, or - for stdin; or one AgentV eval file (.yaml, .jsonl, .json)
    #[arg(required = true, value_name = "TRACE_FILE", value_parser = trace_input)]
    pub(crate) traces: Vec<PathBuf>,
    /// Configuration with the evaluators to run (default without -m and --evaluator: eval_config.yaml, .yml or .json of the
    /// working directory)
    #[arg(short, long, value_name = "FILE", value_parser = file)]
    pub(crate) config: Option<PathBuf>,
    /// Do not look for a configuration in the working directory
    #[arg(long, conflicts_with = "config")]
    pub(crate) no_config: bool,
    /// Eval set with golden conversations (overrides the configuration's)
    #[arg(short, long, value_name = "FILE", value_parser = existing)]
    pub(crate) eval_set: Option<PathBuf>,
    /// Built-in metric to run; repeatable (default with an eval set alone: tool_trajectory_avg_score)
    #[arg(id = "metric", short, long = "metric", value_name = "NAME")]
    pub(crate) metrics: Vec<String>,
    /// Program to run as an evaluator with default settings: a source file, a package, a directory with an evaluator.yaml, or
    /// an executable; repeatable
    #[arg(id = "evaluator", long = "evaluator", value_name = "PATH", value_parser = existing)]
    pub(crate) evaluators: Vec<PathBuf>,
    /// Format of the trace files (default: detected from their content)
    #[arg(short, long, ignore_case = true)]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) judge: JudgeFlags,
    #[command(flatten)]
    pub(crate) eval_file: EvalFileFlags,
    /// Threshold of built-in metrics and of programs named by --evaluator, in 0..=1 (default: 0.5); of tests of an eval file
    /// without one (default: that of the file, else 0.8)
    #[arg(short, long, value_name = "X", value_parser = fraction)]
    pub(crate) threshold: Option<f64>,
    /// How tool calls are compared with the expected ones (default: EXACT)
    #[arg(long, value_parser = one_of(MATCH_TYPES), ignore_case = true)]
    pub(crate) trajectory_match_type: Option<MatchType>,
    /// Form of the report, and with =FILE the file that it is written to instead of stdout; repeatable (default: table)
    #[arg(short, long, value_name = "FORM[=FILE]", value_parser = ReportOutputParser)]
    pub(crate) output: Vec<ReportOutput>,
    /// Write the report to this file instead of stdout; for a single form. A regular file is written completely or not at
    /// all
    #[arg(long, value_name = "FILE", value_parser = writable)]
    pub(crate) output_file: Option<PathBuf>,
    /// How traces are grouped into conversations (default: auto)
    #[arg(long, value_parser = one_of(GROUPINGS))]
    pub(crate) group_by: Option<GroupBy>,
    /// Attribute of spans or resources that identifies a case, where a conversation has no golden case, e.g. the id of a dataset's
    /// item. Recordings with the same value are of one case
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) case_key: Option<String>,
    /// Attribute of spans or resources, e.g. a customer; of an eval file, a key of `metadata`. Cases with the same value are not
    /// independent, and count as one unit in intervals
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) cluster: Option<String>,
    /// Report the sums for each value of this attribute of spans or resources, e.g. gen_ai.request.model; of an eval file, a key of
    /// `metadata`; repeatable
    #[arg(long, value_name = "ATTRIBUTE", value_parser = name)]
    pub(crate) by: Vec<String>,
    /// Send the results as OpenTelemetry log records to $OTEL_EXPORTER_OTLP_ENDPOINT (default: http://localhost:4318); also
    /// AGENTEVALS_EVALUATION_EVENTS=true
    #[arg(long)]
    pub(crate) emit_otel: bool,
    /// Fail (exit code 1) unless every evaluator has scored at least one conversation, or this share of its conversations in
    /// 0..=1, and every golden case has a recording
    #[arg(long, value_name = "SHARE", value_parser = fraction, num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) require_evaluated: Option<f64>,
    /// Fail (exit code 1) unless every golden case has a recording
    #[arg(long)]
    pub(crate) require_all_cases: bool,
    /// Pass (exit code 0) if nothing was scored
    #[arg(long, conflicts_with = "require_evaluated")]
    pub(crate) allow_unevaluated: bool,
    /// Compare prompts even if there is only one conversation and one golden case, and do not match them if the prompts
    /// differ
    #[arg(long)]
    pub(crate) strict_matching: bool,
    /// Tolerate errors up to this share of all evaluations, in 0..=1 (default: 0). They stay in the report. Never tolerated:
    /// failures, evaluators that broke and scored nothing, and trace files that cannot be read
    #[arg(long, value_name = "R", value_parser = fraction)]
    pub(crate) max_error_rate: Option<f64>,
    #[command(flatten)]
    pub(crate) gates: GateFlags,
    #[command(flatten)]
    pub(crate) baseline: BaselineArgs,
    /// Start no more evaluations after the first failure or error
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Repeat evaluations that timed out, were killed by another process or could not be started for lack of resources, up to
    /// N times (default: 0)
    #[arg(long, value_name = "N", value_parser = whole::<u32>(0..=100))]
    pub(crate) retries: Option<u32>,
    /// Evaluate each conversation K times, which shows how much the evaluators themselves vary (default: 1). An evaluation passes
    /// if more than half of its repeats do
    #[arg(long, value_name = "K", value_parser = whole::<u32>(1..=100))]
    pub(crate) repeat: Option<u32>,
    /// End the run as soon as all gates are decided: cases are evaluated in random order, and gates bet on them as they come. Every
    /// evaluator needs a gate of its mean or pass rate. What was not evaluated then fails nothing
    #[arg(long, conflicts_with = "fail_fast")]
    pub(crate) until_decided: bool,
    /// Seed of the order of the cases with --until-decided (default: 0)
    #[arg(long, value_name = "N", requires = "until_decided")]
    pub(crate) seed: Option<u64>,
    /// Reject remote evaluators that are not pinned in evaluators.lock, instead of pinning them; for CI
    #[arg(long)]
    pub(crate) locked: bool,
    /// Refuse to run (exit code 2) unless every program of the configuration is contained by its executor (sandbox or docker),
    /// and run and build those of --evaluator in a sandbox; for evaluators of others, e.g. in CI
    #[arg(long)]
    pub(crate) contain: bool,
    /// Save the run in this file (.evalrun), each evaluation as soon as it is finished; `evaluator report` renders it
    #[arg(long, alias = "journal", value_name = "FILE", value_parser = writable)]
    pub(crate) save_run: Option<PathBuf>,
    /// Evaluate only the I-th of N shares of the conversations, and save them for `evaluator report`, which is given all shares.
    /// Nothing is reported or decided before. Each share reads all traces
    #[arg(long, value_name = "I/N", requires = "save_run", conflicts_with_all = ["output", "output_file", "emit_otel", "fail_fast", "until_decided", "baseline", "update_baseline"])]
    pub(crate) shard: Option<Shard>,
    /// Keep the transcripts of these conversations in the run file: of all, of those with an evaluation that failed or broke, or
    /// of none; known secrets are replaced, and of attachments only images of at most 250 KB are kept (default: failed with -o html, else none)
    #[arg(long, value_name = "WHICH", value_parser = one_of(TRANSCRIPTS))]
    pub(crate) transcripts: Option<Transcripts>,
    /// Reuse the results in the file of --save-run (default: one for this configuration, or for these metrics, in
    /// .evaluator); edited evaluators and new traces are evaluated
    #[arg(long)]
    pub(crate) resume: bool,
    /// Number of parallel evaluations (default: one per processor)
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
}

/// Parses a share from 0 to 1.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err("must be in 0..=1".to_owned()) }
}

/// Names of match types, with help.
const MATCH_TYPES: [(&str, MatchType, &str); 3] = [
    ("EXACT", MatchType::Exact, "The same calls in the same order, and no others"),
    ("IN_ORDER", MatchType::InOrder, "The expected calls in their order, others between them"),
    ("ANY_ORDER", MatchType::AnyOrder, "The expected calls in any order, others between them"),
];

/// Names of kept transcripts, with help.
const TRANSCRIPTS: [(&str, Transcripts, &str); 3] = [
    ("none", Transcripts::None, "No conversations"),
    ("failed", Transcripts::Failed, "Those with an evaluation that failed or broke"),
    ("all", Transcripts::All, "All conversations"),
];

/// Names of groupings, with help.
pub(super) const GROUPINGS: [(&str, GroupBy, &str); 3] = [
    (
        "auto",
        GroupBy::Auto,
        "By conversation if a resource has agentevals.session_name or an eval case has several turns, else by trace",
    ),
    ("trace", GroupBy::Trace, "Each trace id is a conversation"),
    (
        "conversation",
        GroupBy::Conversation,
        "Traces with the same agentevals.session_name, gen_ai.conversation.id or session.id are a conversation",
    ),
];

/// File name that stands for stdout.
const STDOUT: &str = "-";

/// Form and destination of a report: `FORM`, or `FORM=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportOutput {
    /// `None` if none was chosen.
    pub(crate) form: Option<OutputFormat>,
    /// `None` for stdout.
    pub(crate) file: Option<PathBuf>,
}

impl ReportOutput {
    /// Returns the form, or else the default one.
    pub(crate) fn form(&self) -> OutputFormat {
        self.form.unwrap_or_default()
    }
}

/// Parses a [`ReportOutput`], and names the forms for help texts and completions.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReportOutputParser;

impl TypedValueParser for ReportOutputParser {
    type Value = ReportOutput;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ReportOutput, clap::Error> {
        report_output.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue>>> {
        let value = |form: &OutputFormat| PossibleValue::new(form.name()).help(form.description());
        Some(Box::new(OutputFormat::ALL.iter().map(value)))
    }
}

/// Parses `FORM` or `FORM=FILE`.
fn report_output(text: &str) -> Result<ReportOutput, String> {
    let (form, file) = match text.split_once('=') {
        Some((form, file)) => (form, Some(file)),
        None => (text, None),
    };
    let Some(&known) = OutputFormat::ALL.iter().find(|known| known.name() == form) else {
        let forms: Vec<_> = OutputFormat::ALL.iter().map(|known| known.name()).collect();
        return Err(format!("there is no form `{form}`; the forms are {}", forms.join(", ")));
    };
    let file = match file {
        Some("") => return Err("the file after `=` is missing".to_owned()),
        Some(STDOUT) | None => None,
        Some(file) => Some(writable(file)?).filter(|file| !is_stdout(file)),
    };
    Ok(ReportOutput { form: Some(known), file })
}

/// Returns the outputs of a run: those of `-o`, with the file of `--output-file`; without `-o`, the form of the configuration.
///
/// # Errors
///
/// Returns a message if two forms share a destination, or `--output-file` is ambiguous.
pub(crate) fn outputs(
    given: Vec<ReportOutput>,
    output_file: Option<PathBuf>,
    configured: Option<OutputFormat>,
) -> Result<Vec<ReportOutput>, String> {
    let mut outputs = given;
    if outputs.is_empty() {
        outputs.push(ReportOutput { form: configured, file: None });
    }
    if let Some(file) = output_file {
        let file = Some(file).filter(|file| !is_stdout(file));
        match &mut *outputs {
            [ReportOutput { file: missing @ None, .. }] => *missing = file,
            _ => {
                return Err(
                    "`--output-file` needs a single form without its own file; write `-o FORM=FILE` for each".to_owned()
                );
            }
        }
    }
    for (at, output) in outputs.iter().enumerate() {
        let same = |other: &ReportOutput| match (&other.file, &output.file) {
            (Some(other), Some(this)) => is_same_file(other, this),
            (other, this) => other == this,
        };
        if outputs[..at].iter().any(same) {
            let place = output.file.as_deref().map(Path::display);
            let place = place.map_or_else(|| "stdout".to_owned(), |place| place.to_string());
            return Err(format!(
                "two forms of the report would go to {place}; write `-o FORM=FILE` with a file for each"
            ));
        }
    }
    Ok(outputs)
}

/// Returns which transcripts the run file keeps, if nothing else says so: an HTML file shows those of what did not pass.
pub(crate) fn default_transcripts(outputs: &[ReportOutput]) -> Transcripts {
    let is_html = outputs.iter().any(|output| output.form == Some(OutputFormat::Html));
    if is_html { Transcripts::Failed } else { Transcripts::None }
}

/// Returns true if two paths lead to the same file, which need not exist.
pub(crate) fn is_same_file(one: &Path, other: &Path) -> bool {
    match (destination(one), destination(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => one == other,
    }
}

/// Resolves links in the path of a file, which need not exist.
fn destination(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|_| {
        let path = path::absolute(path)?;
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(path);
        };
        Ok(directory.canonicalize()?.join(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(form: OutputFormat, file: Option<&str>) -> ReportOutput {
        ReportOutput { form: Some(form), file: file.map(PathBuf::from) }
    }

    #[test]
    fn a_form_may_have_a_file() {
        assert_eq!(report_output("json"), Ok(output(OutputFormat::Json, None)));
        assert_eq!(report_output("junit=-"), Ok(output(OutputFormat::Junit, None)));
        assert_eq!(report_output("junit=a=b"), Ok(output(OutputFormat::Junit, Some("a=b"))));
        for (text, message) in [
            ("json=", "the file after `=` is missing"),
            ("json=.", ". is a directory"),
            ("json=no/such/file", "no/such does not exist"),
        ] {
            assert_eq!(report_output(text), Err(message.to_owned()));
        }
    }

    #[test]
    fn each_output_has_its_own_destination() {
        use OutputFormat::{Github, Json, Junit, Table};
        let file = |name: &str| Some(PathBuf::from(name));
        let both = vec![output(Github, None), output(Junit, Some("a"))];
        assert_eq!(outputs(both.clone(), None, Some(Json)), Ok(both.clone()));
        let default = ReportOutput { form: None, file: None };
        assert_eq!(outputs(vec![], None, None), Ok(vec![default]));
        assert_eq!(outputs(vec![], file("a"), Some(Json)), Ok(vec![output(Json, Some("a"))]));
        for (given, output_file) in [
            (both, file("b")),
            (vec![output(Json, Some("a"))], file("b")),
            (vec![output(Json, None), output(Table, None)], None),
            (vec![output(Json, Some("a")), output(Junit, Some("./a"))], None),
        ] {
            assert!(outputs(given.clone(), output_file, None).is_err(), "{given:?}");
        }
    }
}
