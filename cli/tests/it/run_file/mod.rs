//! Runs that are saved, killed, resumed and reported.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

mod edits;
mod parts;
mod saved;
mod unusable;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::support::{self, Directory, Ran, eval_set, finish, processes::wait_for_line, trace};
#[cfg(unix)]
pub(crate) use unusable::sealed;

/// Scores by what it is given, and says something on stderr. Writes a line for each start into `starts.$RUN`, and kills the
/// program that started it when there were as many as the file `kill-at` says.
const SCORES: &str = r#"length=$(wc -c)
echo "$0" >>"starts.$RUN"
echo "read $length bytes" >&2
if [ -e kill-at ] && [ "$(wc -l <"starts.$RUN")" -ge "$(cat kill-at)" ]; then kill -9 $PPID; fi
echo "{\"score\": 0.$((length % 7)), \"details\": {\"length\": $length, \"big\": 123456789012345678901234567890}}""#;

/// Breaks in ways that last.
const BREAKS: &str = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"; echo because >&2; exit 7"#;

const EVALUATORS: [&str; 3] = ["one", "two", "breaks"];

/// Conversations in the traces of these tests.
const CONVERSATIONS: usize = 6;

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("one", SCORES);
    directory.script("two", SCORES);
    directory.script("breaks", BREAKS);
    directory.file("c.yaml", config(&EVALUATORS));
    directory
}

fn config(evaluators: &[&str]) -> String {
    let entry = |name: &&str| format!("  - {{name: {name}, type: code, path: ./{name}}}\n");
    let metric = "  - {name: tool_trajectory_avg_score, type: builtin}\n";
    format!("evaluators:\n{}{metric}", evaluators.iter().map(entry).collect::<String>())
}

/// `evaluator -v run` on the traces, as the `run`th of its directory.
fn command(directory: &Directory, run: &str, more: &[&str]) -> Command {
    let (one, five, goldens) =
        (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"), eval_set("library"));
    let mut args = vec!["-v", "run", &one, &five, "-c", "c.yaml", "-e", &goldens, "-o", "json"];
    args.extend(more);
    let mut command = directory.command(&args);
    command.env("RUN", run);
    command
}

fn run(directory: &Directory, number: &str, more: &[&str]) -> Ran {
    finish(command(directory, number, more).spawn().unwrap())
}

/// The report, without how long things took.
fn lasting(ran: &Ran) -> String {
    let lines = ran.stdout.lines().filter(|line| !line.contains("\"duration_ms\":"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Which evaluators were started in a run, sorted.
fn starts(directory: &Directory, run: &str) -> Vec<String> {
    let text =
        fs::read_to_string(directory.path().join(format!("starts.{run}"))).unwrap_or_default();
    let name = |line: &str| Path::new(line).file_name().unwrap().to_str().unwrap().to_owned();
    let mut starts: Vec<String> = text.lines().map(name).collect();
    starts.sort();
    starts
}

/// Whole lines of the run file with records of this kind.
fn lines(directory: &Directory, kind: &str) -> Vec<String> {
    let text = fs::read(directory.path().join(FILE)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with("}\n"));
    lines.filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).map(str::to_owned).collect()
}

/// Number of evaluations in the run file that may be reused. In that of a resumed run some are there twice.
fn records(directory: &Directory) -> usize {
    let lines = lines(directory, "evaluation");
    lines.iter().filter(|line| line.contains("\"reusable\":true")).count()
}

/// The message about evaluations of an earlier run.
fn taken(count: usize) -> String {
    format!("; {count} of {} evaluations are from an earlier run", 4 * CONVERSATIONS)
}

const FILE: &str = "r.evalrun";
const SAVE: [&str; 2] = ["--save-run", FILE];
const RESUME: [&str; 3] = ["--save-run", FILE, "--resume"];

#[test]
fn a_run_that_was_killed_goes_on_to_the_report_of_one_that_was_not() {
    let directory = directory();
    let whole = run(&directory, "whole", &[]).exits(3);
    assert_eq!(starts(&directory, "whole").len(), 3 * CONVERSATIONS);
    for (kill_at, jobs, jobs_after) in
        [(1, "1", "4"), (2, "2", "1"), (5, "1", "2"), (7, "3", "3"), (11, "2", "2"), (12, "4", "1")]
    {
        let (first, second) = (format!("{kill_at}a"), format!("{kill_at}b"));
        drop(fs::remove_file(directory.path().join(FILE)));
        directory.file("kill-at", kill_at.to_string());
        let killed = run(&directory, &first, &[&SAVE[..], &["--jobs", jobs]].concat());
        assert!(killed.code.is_none(), "{}", killed.stderr);
        let killed = killed.reports_nothing();
        fs::remove_file(directory.path().join("kill-at")).unwrap();
        let kept = records(&directory);
        assert!(kept + 2 * jobs.parse::<usize>().unwrap() >= kill_at, "{}", killed.stderr);
        let resumed = run(&directory, &second, &[&RESUME[..], &["--jobs", jobs_after]].concat());
        assert_eq!(lasting(&resumed), lasting(&whole));
        let resumed = resumed.exits(3).says(&taken(kept));
        // Metrics are in the file as well, and start nothing.
        let known = &lines(&directory, "evaluation")[..kept];
        let of_metrics = known.iter().filter(|line| line.contains("\"tool_trajectory")).count();
        let started = starts(&directory, &second).len();
        assert_eq!(started, 3 * CONVERSATIONS - (kept - of_metrics), "{}", resumed.stderr);
        // Now everything is known, durations too.
        let again = run(&directory, "none", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
        assert_eq!(again.stdout, run(&directory, "none", &RESUME).stdout);
        assert_eq!(starts(&directory, "none"), [""; 0]);
    }
}

/// As `one`, in Rust, with the streaming form.
const STREAMS: &str = r#"
use std::{env, fs, io::Write, os::unix::process::parent_id, process::Command};

use evaluator_sdk::{EvalInput, evaluator};

#[evaluator]
fn streams(input: &EvalInput) -> f64 {
    let starts = format!("starts.{}", env::var("RUN").unwrap());
    let mut file = fs::File::options().create(true).append(true).open(&starts).unwrap();
    // In one write: other workers append to the same file.
    file.write_all(format!("{}\n", env::args().len()).as_bytes()).unwrap();
    let count = fs::read_to_string(&starts).unwrap().lines().count();
    if fs::read_to_string("kill-at").is_ok_and(|at| count >= at.parse().unwrap()) {
        Command::new("kill").args(["-9", &parent_id().to_string()]).status().unwrap();
    }
    (input.invocations[0].invocation_id.bytes().map(u32::from).sum::<u32>() % 97) as f64 / 97.0
}

fn main() -> std::process::ExitCode {
    streams::run()
}
"#;

#[test]
fn warm_workers_are_resumed_like_any_other_evaluator() {
    let directory = Directory::new();
    directory.file("streams.rs", STREAMS);
    directory.file("c.yaml", "evaluators: [{name: streams, type: code, path: streams.rs}]");
    let run = |number: &str, more: &[&str]| {
        let (one, fifteen) = (trace("a01_otlp_basic_parts"), trace("i14_fifteen_traces"));
        let args =
            [&["-v", "run", &one, &fifteen, "-c", "c.yaml", "-o", "json"][..], more].concat();
        finish(directory.command(&args).env("RUN", number).spawn().unwrap())
    };
    let whole = run("whole", &[]);
    assert_eq!(starts(&directory, "whole"), ["2"; 16], "it streams: {}", whole.stderr);
    for (kill_at, jobs) in [("1", "1"), ("9", "1"), ("13", "3"), ("16", "2")] {
        drop(fs::remove_file(directory.path().join(FILE)));
        directory.file("kill-at", kill_at);
        let killed = run(&format!("{kill_at}a"), &[&SAVE[..], &["--jobs", jobs]].concat());
        assert!(killed.code.is_none(), "{}", killed.stderr);
        fs::remove_file(directory.path().join("kill-at")).unwrap();
        let kept = records(&directory);
        let (second, taken) =
            (format!("{kill_at}b"), format!("; {kept} of 16 evaluations are from"));
        let resumed = run(&second, &RESUME).says(&taken);
        assert_eq!(lasting(&resumed), lasting(&whole));
        assert_eq!(starts(&directory, &second).len(), 16 - kept);
    }
}

#[test]
fn wherever_the_file_was_cut_off_the_report_is_the_same() {
    let directory = directory();
    let whole = run(&directory, "whole", &SAVE).exits(3);
    let path = directory.path().join(FILE);
    let text = fs::read(&path).unwrap();
    let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    let end_of_header = ends[0];
    let around = [ends[1], ends[4], ends[ends.len() - 2]].into_iter();
    let inside = (0..text.len()).step_by(text.len() / 12);
    for at in inside.chain(around.flat_map(|end| end - 1..end + 3)).chain([1, end_of_header / 2]) {
        fs::write(&path, &text[..at]).unwrap();
        let kept = records(&directory);
        let resumed = run(&directory, "cut", &RESUME).exits(3).says(&taken(kept));
        assert_eq!(lasting(&resumed), lasting(&whole), "{at}");
        let is_torn = at > 0 && text[at - 1] != b'\n';
        let is_reported = resumed.stderr.contains("its results are evaluated again");
        assert_eq!(is_reported, is_torn, "{at}: {}", resumed.stderr);
        // What was cut off is evaluated again, and the file is whole.
        assert_eq!(lines(&directory, "evaluation").len(), kept + 4 * CONVERSATIONS);
        assert_eq!(lines(&directory, "end").len(), 1);
    }
}

#[test]
fn a_damaged_record_is_evaluated_again_and_no_other() {
    let directory = directory();
    let whole = run(&directory, "whole", &[&SAVE[..], &["--jobs", "1"]].concat()).exits(3);
    let path = directory.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for damaged in [
        lines[4].replacen("\"attempts\":", "\"attempts\": ", 1),
        "\0\0\0\0".to_owned(),
        String::new(),
    ] {
        let mut lines = lines.clone();
        lines[4] = &damaged;
        fs::write(&path, lines.join("\n") + "\n").unwrap();
        let offset: usize = lines[..4].iter().map(|line| line.len() + 1).sum();
        let resumed =
            run(&directory, "again", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS - 1));
        assert_eq!(lasting(&resumed), lasting(&whole));
        resumed.says(&format!("evaluator: {FILE}, line 5 (byte {offset}): "));
    }
}

#[test]
fn what_may_have_been_the_fault_of_the_machine_is_done_again() {
    let directory = Directory::new();
    let mark = r#"cat >/dev/null; echo "$0" >>"starts.$RUN""#;
    directory
        .script("late", &format!("{mark}; [ $RUN = 0 ] && sleep 600; echo '{{\"score\": 1}}'"));
    directory
        .script("killed", &format!("{mark}; [ $RUN = 0 ] && kill -9 $$; echo '{{\"score\": 1}}'"));
    directory.script("wrong", &format!("{mark}; echo '{{\"score\": 2}}'"));
    directory.script("reports", &format!("{mark}; echo '{{\"error\": \"no key\"}}'"));
    let config =
        config(&["late", "killed", "wrong", "reports"]).replace("./late", "./late, timeout: 4");
    directory.file("c.yaml", config);
    let first = run(&directory, "0", &RESUME).exits(3);
    let kinds = [
        "late ERROR timed_out",
        "killed ERROR signalled",
        "wrong ERROR bad_answer",
        "reports ERROR reported",
    ];
    assert_eq!(first.evaluations(0)[..4], kinds);
    let second = run(&directory, "1", &RESUME).exits(3);
    let kinds =
        ["late PASSED", "killed PASSED", "wrong ERROR bad_answer", "reports ERROR reported"];
    assert_eq!(second.evaluations(0)[..4], kinds);
    let expected = [vec!["killed"; CONVERSATIONS], vec!["late"; CONVERSATIONS]].concat();
    assert_eq!(starts(&directory, "1"), expected);
    assert_eq!(first.error_of("reports"), second.error_of("reports"));
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let directory = Directory::new();
    let waits = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"
if [ $RUN = 0 ] && [ "$(wc -l <"starts.$RUN")" = 4 ]; then echo $PPID >now; sleep 600; fi
echo '{"score": 1}'"#;
    directory.script("one", waits);
    directory.file("c.yaml", config(&["one"]));
    let child =
        command(&directory, "0", &[&RESUME[..], &["--jobs", "1"]].concat()).spawn().unwrap();
    let host = wait_for_line(&directory.path().join("now"));
    assert!(support::processes::signal("INT", &host));
    let interrupted = finish(child);
    assert!(interrupted.json()["traces"].as_array().unwrap().len() == CONVERSATIONS);
    run(&directory, "1", &RESUME).exits(0);
    assert_eq!(starts(&directory, "1").len(), CONVERSATIONS - 3);
}

#[test]
fn without_a_name_the_file_is_that_of_the_configuration() {
    let directory = directory();
    let first = run(&directory, "0", &["--resume"]).exits(3);
    let second = run(&directory, "1", &["--resume", "--jobs", "1"]).exits(3);
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(starts(&directory, "1"), [""; 0]);
    second.says("the run is saved in .evaluator/run-");
    assert_eq!(fs::read_to_string(directory.path().join(".evaluator/.gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_dir(directory.path().join(".evaluator")).unwrap().count(), 2);
    // A run that is not to be saved has none.
    let other = self::directory();
    run(&other, "0", &[]).exits(3);
    assert!(!other.path().join(".evaluator").exists());
}

#[test]
fn a_trace_that_is_added_is_all_that_is_evaluated() {
    let directory = directory();
    let run = |number: &str, traces: &[&str], evaluators: &[&str]| {
        let traces: Vec<String> = traces.iter().map(|name| trace(name)).collect();
        let mut args = vec!["run", "--resume", "-o", "json"];
        args.extend(traces.iter().map(String::as_str));
        args.extend(evaluators);
        finish(directory.command(&args).env("RUN", number).spawn().unwrap())
    };
    let (one, five) = ("a01_otlp_basic_parts", "i11_five_traces_plain");
    let config = ["-c", "c.yaml"];
    run("0", &[five], &config).exits(3).says("; 0 of 20 results from an earlier run");
    run("1", &[one, five], &config).exits(3).says("; 20 of 24 results from an earlier run");
    assert_eq!(starts(&directory, "1"), ["breaks", "one", "two"]);
    run("2", &[one], &config).exits(3).says("; 4 of 4 results from an earlier run");
    // Without a configuration it is that of the metrics, in any order.
    let metrics = ["-m", "tool_trajectory_avg_score", "-m", "response_match_score"];
    run("3", &[five], &metrics).says("; 0 of 10 results from an earlier run");
    let reordered = ["-m", "response_match_score", "-m", "tool_trajectory_avg_score"];
    run("4", &[one, five], &reordered).says("; 10 of 12 results from an earlier run");
}
