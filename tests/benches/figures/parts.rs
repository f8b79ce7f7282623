//! A million conversations: in parts that are reported together, and in one run.

use std::{
    env,
    fs::{self, File},
    path::Path,
    process::Command,
};

use evaluator_host::report::{
    ConversationReport, EvaluationReport, Report, Status,
    run_file::{Digester, EvaluatorEntry, Header, RunWriter},
};
use evaluator_tests::bench::{measure::Usage, recording};

use crate::{
    bench::{Bench, in_rust},
    table::{self, Aim, Table, verdict},
};

/// Numbers of parts.
const PARTS: [usize; 2] = [10, 10_000];
/// Files that the report may have open at a time.
const OPEN: usize = 1_024;
/// What the report of all parts may take.
const REPORT: Aim = Aim { wall: Some(20.0), peak: Some(150.0) };

/// What a conversation of the run may take longer than one of a tenth of them, and the MB that all may take.
const LONGER: f64 = 1.10;
const PEAK: f64 = 170.0;

pub(crate) fn measure(bench: &Bench, table: &mut Table) {
    let number = env::var("BENCH_TRACES").map_or(1_000_000, |number| number.parse().unwrap());
    for parts in PARTS {
        let directory = bench.directory.file(&format!("{parts}-parts"));
        write_parts(&directory, parts, number);
        let usage = bench.measure("parts.md", 1, &report(bench, &directory, number));
        let work = format!("report of {number} conversations in {parts} parts, {OPEN} open files");
        table.add(&work, None, REPORT, usage);
        fs::remove_dir_all(&directory).unwrap();
    }
    run(bench, table, number);
}

/// Measures runs of small conversations, and compares what each takes.
fn run(bench: &Bench, table: &mut Table, number: usize) {
    let head = "  - {name: tool_call_count_v1, type: builtin, max: 100}\n";
    let config = bench.configuration("small.yaml", head, &[], in_rust);
    let traces = bench.directory.file("small.jsonl");
    let [tenth, all] = [number / 10, number].map(|number| -> Usage {
        recording::write_small_traces(&traces, number);
        let arguments = [Path::new("run"), &traces, Path::new("-c"), &config];
        let mut command = bench.saved(arguments);
        command.args(["-o", "summary"]);
        bench.measure("small.txt", 1, &command)
    });
    fs::remove_file(&traces).unwrap();
    let ratio = |all: f64, tenth: f64| all / tenth / 10.0;
    let (wall, cpu) = (ratio(all.wall, tenth.wall), ratio(all.cpu(), tenth.cpu()));
    table.add_text([
        &format!("run of {number} small conversations, each next to one of {}", number / 10),
        "-",
        &format!("{LONGER:.2} x, {PEAK:.0} MB"),
        &table::usage(all),
        &format!("{wall:.2} x, CPU {cpu:.2} x"),
        &verdict(wall <= LONGER && cpu <= LONGER && all.peak <= PEAK),
    ]);
}

/// Returns the command that reports the parts in a directory, under a limit of open files.
fn report(bench: &Bench, directory: &Path, number: usize) -> Command {
    let evaluator = bench.saved(["report"]);
    let mut command = Command::new("sh");
    let script = r#"ulimit -n "$1" && exec "$2" report -o markdown --expect "$3" "$4"/*.evalrun"#;
    command.args(["-c", script, "sh", &OPEN.to_string()]).arg(evaluator.get_program());
    command.arg(number.to_string()).arg(directory);
    command
}

/// Writes parts as filters do. An evaluation of 100 fails.
fn write_parts(directory: &Path, parts: usize, number: usize) {
    fs::create_dir(directory).unwrap();
    let evaluators = ["answered", "no_repeats"].map(|name| EvaluatorEntry {
        name: name.to_owned(),
        kind: "code".to_owned(),
        threshold: 0.5,
        ..EvaluatorEntry::default()
    });
    let plan = Some(Digester::new("plan").finish());
    let header = Header { evaluators: evaluators.into(), plan, ..Header::new() };
    for part in 0..parts {
        let file = File::create(directory.join(format!("{part}.evalrun"))).unwrap();
        let mut writer = RunWriter::stream(Box::new(file));
        writer.start(header.clone());
        for (line, conversation) in (part..number).step_by(parts).enumerate() {
            writer.conversation(line, &judged(conversation, &header.evaluators));
            assert!(writer.flush().is_none());
        }
        let mut report = Report::default();
        assert!(writer.finish(&mut report).is_none() && !report.unsaved);
    }
}

fn judged(number: usize, evaluators: &[EvaluatorEntry]) -> ConversationReport {
    let mut conversation = ConversationReport::new(format!("{:032x}", number + 1).into());
    conversation.content = Some(Digester::new("bench").json("number", &number).finish());
    conversation.turns = 1;
    let evaluations = evaluators.iter().map(|evaluator| {
        let mut evaluation = EvaluationReport::new(&evaluator.name);
        let has_failed = number.is_multiple_of(100);
        evaluation.threshold = Some(evaluator.threshold);
        evaluation.score = Some(if has_failed { 0.25 } else { 0.75 });
        evaluation.status = if has_failed { Status::Failed } else { Status::Passed };
        evaluation
    });
    conversation.evaluations = evaluations.collect();
    conversation
}
