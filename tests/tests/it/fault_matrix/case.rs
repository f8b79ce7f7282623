//! One fault in one form, through the command.

use std::{
    fmt, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use evaluator_test_support::{TestDirectory, finish, processes::linked_to, recording::with_victim};
use serde_json::Value;

use super::faults::Expected;

/// Enough for programs to be kept running.
const CONVERSATIONS: usize = 24;
/// The one that the fault is about.
const VICTIM: usize = 11;

/// A fault and its expected verdicts.
pub(crate) struct Fault {
    /// Name in the settings of the program.
    pub(crate) name: &'static str,
    pub(crate) one_shot: Expected,
    pub(crate) warm: Expected,
    /// Name and text of a file that is the evaluator instead of the program; every conversation is a victim then.
    pub(crate) source: Option<(&'static str, &'static str)>,
    /// Limits of the entry.
    pub(crate) limits: &'static str,
    /// True if later conversations may be errors, too. None may have another score.
    pub(crate) is_lasting: bool,
    /// True if the victim is a conversation of 2 MB.
    pub(crate) is_long: bool,
}

impl Fault {
    fn expected(&self, form: Form) -> Expected {
        if form == Form::Warm { self.warm } else { self.one_shot }
    }
}

/// How the program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    OneShot,
    Warm,
}

/// Outcome of a case.
pub(crate) struct Outcome {
    verdict: String,
    exit: Option<i32>,
    took: Duration,
    /// Differences from the expected outcome.
    pub(crate) complaints: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verdict, exit, took, complaints } = self;
        let exit = exit.map_or_else(|| "?".to_owned(), |code| code.to_string());
        let mark = if complaints.is_empty() { "" } else { " WRONG" };
        write!(f, "{verdict}, exit {exit}, {:.1} s{mark}", took.as_secs_f64())
    }
}

pub(crate) fn run(fault: &Fault, form: Form) -> Outcome {
    let directory = TestDirectory::new();
    let evaluator = match fault.source {
        None => {
            let name = if form == Form::Warm { "faulty-warm" } else { "faulty" };
            let path = directory.join(name);
            // A copy: some faults remove it.
            fs::copy(env!("CARGO_BIN_EXE_faulty"), &path).unwrap();
            path
        }
        Some(("", _)) => directory.join("nowhere.py"),
        Some((name, text)) => directory.executable(name, text),
    };
    let expected = fault.expected(form);
    let entry = format!(
        "{{name: faulty, type: code, path: {evaluator:?}, timeout: {}, config: {{fault: {:?}}}, limits: {{{}}}}}",
        // All that does not hang has to be done by then, on a busy machine, too.
        if expected == Expected::Error("timed_out") { 5 } else { 60 },
        fault.name.split(',').next().unwrap_or_default(),
        fault.limits,
    );
    let healthy = "{name: scripted, type: linked, config: {share: 1}}";
    let config = directory.file("config.yaml", format!("evaluators:\n- {entry}\n- {healthy}\n"));
    let answer = "Yes. ".repeat(if fault.is_long { 400 << 10 } else { 1 });
    let traces = directory.file("traces.json", with_victim(CONVERSATIONS, VICTIM, &answer));

    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_linked-command"));
    command.arg("run").arg(&traces).arg("-c").arg(config).args(["-o", "json", "--jobs", "2"]);
    let output_file = directory.join("report.json");
    command.arg("--output-file").arg(&output_file).current_dir(directory.path());
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let exit = finish(child).code;
    let took = start.elapsed();
    let report = fs::read(output_file).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let mut outcome = Outcome { verdict: "no report".to_owned(), exit, took, complaints: vec![] };
    match report {
        Some(report) => judge(fault, form, &report, &mut outcome),
        None => outcome.complaints.push("there is no report".to_owned()),
    }
    if fault.name != "daemon left behind" {
        let left = linked_to("exe", |program| program.starts_with(directory.path()));
        if !left.is_empty() {
            outcome.complaints.push(format!("processes are left: {left:?}"));
        }
    }
    outcome
}

/// Compares the report with the expected one.
fn judge(fault: &Fault, form: Form, report: &Value, outcome: &mut Outcome) {
    let expected = fault.expected(form);
    let complaints = &mut outcome.complaints;
    let mut complain = |what: String| complaints.push(what);
    let conversations = report["traces"].as_array().map_or(&[][..], Vec::as_slice);
    if conversations.len() != CONVERSATIONS {
        complain(format!("{} conversations are reported", conversations.len()));
    }
    let mut lasting = 0;
    for (number, conversation) in conversations.iter().enumerate() {
        let [faulty, scripted] = [0, 1].map(|metric| &conversation["metrics"][metric]);
        if scripted["score"] != 1.0 || scripted["eval_status"] != "PASSED" {
            complain(format!("another evaluator has {scripted} for conversation {number}"));
        }
        if fault.source.is_some() || number == VICTIM {
            outcome.verdict = match faulty["error_type"].as_str() {
                Some(error) => error.to_owned(),
                None => format!("score {}", faulty["score"]),
            };
            let has_warnings = faulty["warnings"].as_array().is_some_and(|it| !it.is_empty());
            let is_expected = match expected {
                Expected::Error(kind) => {
                    // An endless writer that gets no processor time for a while is one that stopped.
                    let pauses =
                        fault.name == "endless output" && faulty["error_type"] == "bad_answer";
                    (faulty["error_type"] == kind || pauses)
                        && faulty["score"].is_null()
                        && !faulty["error"].is_null()
                }
                Expected::Answer | Expected::Unreliable(_) => {
                    faulty["score"] == 0.0 && faulty["error"].is_null()
                }
                Expected::Warned => faulty["score"] == 0.0 && has_warnings,
            };
            if !is_expected {
                complain(format!("expected {expected:?} for conversation {number}, got {faulty}"));
            }
        // What is still running is checked when it exits, and a worker that is being started may be meant for an earlier
        // conversation: which ones that concerns depends on scheduling.
        } else if fault.is_lasting && !faulty["error"].is_null() {
            // The replaced program is never used.
            let is_known =
                matches!(faulty["error_type"].as_str(), Some("prepare_failed" | "spawn_failed"));
            if !is_known {
                complain(format!("conversation {number} has {faulty}"));
            }
            lasting += 1;
        } else if faulty["score"] != score(number) {
            complain(format!("conversation {number} should have {}, has {faulty}", score(number)));
        }
    }
    let errors = report["errors"].to_string();
    match expected {
        Expected::Unreliable(text) if errors.contains(text) => {}
        Expected::Error(_) | Expected::Answer | Expected::Warned if errors == "[]" => {}
        _ => complain(format!("the errors of the run are {errors}")),
    }
    let is_error = matches!(expected, Expected::Error(_) | Expected::Unreliable(_));
    let code = if lasting > 0 || is_error { 3 } else { 1 };
    if outcome.exit != Some(code) {
        complain(format!("the exit code is {:?} instead of {code}", outcome.exit));
    }
}

/// Score of a conversation without a fault.
fn score(number: usize) -> f64 {
    (number + 60) as f64 / 100.0
}
