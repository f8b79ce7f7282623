//! Runs that are killed, and go on.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

mod support;

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use support::{Folder, Ran, eval_set, finish, processes::wait_for, trace};

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

fn folder() -> Folder {
    let folder = Folder::new();
    folder.script("one", SCORES);
    folder.script("two", SCORES);
    folder.script("breaks", BREAKS);
    folder.file("c.yaml", config(&EVALUATORS));
    folder
}

fn config(evaluators: &[&str]) -> String {
    let entry = |name: &&str| format!("  - {{name: {name}, type: code, path: ./{name}}}\n");
    let metric = "  - {name: tool_trajectory_avg_score, type: builtin}\n";
    format!("evaluators:\n{}{metric}", evaluators.iter().map(entry).collect::<String>())
}

/// `evaluator -v run` on the traces, as the `run`th of its folder.
fn command(folder: &Folder, run: &str, more: &[&str]) -> Command {
    let (one, five, goldens) =
        (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"), eval_set("library"));
    let mut args = vec!["-v", "run", &one, &five, "-c", "c.yaml", "-e", &goldens, "-o", "json"];
    args.extend(more);
    let mut command = folder.command(&args);
    command.env("RUN", run);
    command
}

fn run(folder: &Folder, number: &str, more: &[&str]) -> Ran {
    finish(command(folder, number, more).spawn().unwrap())
}

/// The report, without how long things took.
fn lasting(ran: &Ran) -> String {
    let lines = ran.stdout.lines().filter(|line| !line.contains("\"duration_ms\":"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Which evaluators were started in a run, sorted.
fn starts(folder: &Folder, run: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.path().join(format!("starts.{run}"))).unwrap_or_default();
    let name = |line: &str| Path::new(line).file_name().unwrap().to_str().unwrap().to_owned();
    let mut starts: Vec<String> = text.lines().map(name).collect();
    starts.sort();
    starts
}

/// Records of the journal `j.jsonl` that are whole.
fn records(folder: &Folder) -> usize {
    let text = fs::read_to_string(folder.path().join("j.jsonl")).unwrap_or_default();
    text.matches("}\n").count().saturating_sub(1)
}

/// Says how many evaluations were taken from a journal.
fn taken(count: usize) -> String {
    format!("{count} of {} evaluations were taken from the journal", 4 * CONVERSATIONS)
}

const JOURNAL: [&str; 2] = ["--journal", "j.jsonl"];
const RESUME: [&str; 3] = ["--journal", "j.jsonl", "--resume"];

#[test]
fn a_run_that_was_killed_goes_on_to_the_report_of_one_that_was_not() {
    let folder = folder();
    let whole = run(&folder, "whole", &[]).exits(3);
    assert_eq!(starts(&folder, "whole").len(), 3 * CONVERSATIONS);
    for (kill_at, jobs, jobs_after) in
        [(1, "1", "4"), (2, "2", "1"), (5, "1", "2"), (7, "3", "3"), (11, "2", "2"), (12, "4", "1")]
    {
        let (first, second) = (format!("{kill_at}a"), format!("{kill_at}b"));
        drop(fs::remove_file(folder.path().join("j.jsonl")));
        folder.file("kill-at", kill_at.to_string());
        let killed = run(&folder, &first, &[&JOURNAL[..], &["--jobs", jobs]].concat());
        assert!(killed.code.is_none(), "{}", killed.stderr);
        let killed = killed.reports_nothing();
        fs::remove_file(folder.path().join("kill-at")).unwrap();
        let kept = records(&folder);
        assert!(kept + 2 * jobs.parse::<usize>().unwrap() >= kill_at, "{}", killed.stderr);
        let resumed = run(&folder, &second, &[&RESUME[..], &["--jobs", jobs_after]].concat());
        assert_eq!(lasting(&resumed), lasting(&whole));
        let resumed = resumed.exits(3).says(&taken(kept));
        // Metrics are in the journal as well, and start nothing.
        let text = fs::read_to_string(folder.path().join("j.jsonl")).unwrap();
        let lines = text.lines().skip(1).take(kept);
        let of_metrics = lines.filter(|line| line.contains("\"tool_trajectory")).count();
        let started = starts(&folder, &second).len();
        assert_eq!(started, 3 * CONVERSATIONS - (kept - of_metrics), "{}", resumed.stderr);
        // Now everything is known, durations too.
        let again = run(&folder, "none", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
        assert_eq!(again.stdout, run(&folder, "none", &RESUME).stdout);
        assert_eq!(starts(&folder, "none"), [""; 0]);
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
    writeln!(file, "{}", env::args().len()).unwrap();
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
    let folder = Folder::new();
    folder.file("streams.rs", STREAMS);
    folder.file("c.yaml", "evaluators: [{name: streams, type: code, path: streams.rs}]");
    let run = |number: &str, more: &[&str]| {
        let (one, fifteen) = (trace("a01_otlp_basic_parts"), trace("i14_fifteen_traces"));
        let args =
            [&["-v", "run", &one, &fifteen, "-c", "c.yaml", "-o", "json"][..], more].concat();
        // Builds are shared with other tests, so that the SDK is compiled once.
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-files");
        let mut command = folder.command(&args);
        finish(command.env("RUN", number).env("EVALUATOR_CACHE_DIR", cache).spawn().unwrap())
    };
    let whole = run("whole", &[]);
    assert_eq!(starts(&folder, "whole"), ["2"; 16], "it streams: {}", whole.stderr);
    for (kill_at, jobs) in [("1", "1"), ("9", "1"), ("13", "3"), ("16", "2")] {
        drop(fs::remove_file(folder.path().join("j.jsonl")));
        folder.file("kill-at", kill_at);
        let killed = run(&format!("{kill_at}a"), &[&JOURNAL[..], &["--jobs", jobs]].concat());
        assert!(killed.code.is_none(), "{}", killed.stderr);
        fs::remove_file(folder.path().join("kill-at")).unwrap();
        let kept = records(&folder);
        let (second, taken) =
            (format!("{kill_at}b"), format!("{kept} of 16 evaluations were taken"));
        let resumed = run(&second, &RESUME).says(&taken);
        assert_eq!(lasting(&resumed), lasting(&whole));
        assert_eq!(starts(&folder, &second).len(), 16 - kept);
    }
}

#[test]
fn wherever_the_journal_was_cut_off_the_report_is_the_same() {
    let folder = folder();
    let whole = run(&folder, "whole", &JOURNAL).exits(3);
    let path = folder.path().join("j.jsonl");
    let text = fs::read(&path).unwrap();
    let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    let last = ends[ends.len() - 3]..text.len();
    let header = 0..ends[0] + 2;
    for at in last
        .step_by(23)
        .chain(ends[ends.len() - 2] - 1..ends[ends.len() - 2] + 4)
        .chain(header.step_by(17))
    {
        fs::write(&path, &text[..at]).unwrap();
        let kept = records(&folder);
        let resumed = run(&folder, "cut", &RESUME).exits(3).says(&taken(kept));
        assert_eq!(lasting(&resumed), lasting(&whole), "{at}");
        let is_torn = at > 0 && text[at - 1] != b'\n';
        assert_eq!(resumed.stderr.contains("was dropped"), is_torn, "{at}: {}", resumed.stderr);
        // What was taken away has been written anew.
        assert_eq!(records(&folder), 4 * CONVERSATIONS);
    }
}

#[test]
fn what_follows_a_damaged_record_is_evaluated_again_and_that_is_said() {
    let folder = folder();
    let whole = run(&folder, "whole", &[&JOURNAL[..], &["--jobs", "1"]].concat()).exits(3);
    let path = folder.path().join("j.jsonl");
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
        let behind = lines.len() - 5;
        let resumed = run(&folder, "again", &RESUME).exits(3).says(&taken(3));
        assert_eq!(lasting(&resumed), lasting(&whole));
        resumed
            .says("evaluator: journal j.jsonl, line 5: ")
            .says(&format!("and {behind} records behind it"));
    }
}

#[test]
fn what_was_edited_runs_again_and_nothing_else_does() {
    let folder = folder();
    run(&folder, "0", &RESUME).exits(3);
    let all = |name: &str| vec![name.to_owned(); CONVERSATIONS];
    folder.script("two", &format!("{SCORES} # edited"));
    run(&folder, "1", &RESUME).exits(3);
    assert_eq!(starts(&folder, "1"), all("two"));
    // Another order is nothing new, and neither are comments of the configuration.
    folder.file("c.yaml", format!("# other\n{}", config(&["breaks", "two", "one"])));
    let reordered = run(&folder, "2", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    assert_eq!(reordered.evaluations(0)[0], "breaks ERROR exited");
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let goldens = eval_set("library");
    let args = ["-v", "run", &five, &one, "-c", "c.yaml", "-e", &goldens, "-o", "json"];
    finish(folder.command(&[&args[..], &RESUME].concat()).env("RUN", "3").spawn().unwrap())
        .exits(3)
        .says(&taken(4 * CONVERSATIONS));
    assert_eq!((starts(&folder, "2"), starts(&folder, "3")), (vec![], vec![]));
    // Whatever its entry says may decide.
    for (run_number, more) in
        ["threshold: 0.9", "config: {a: 1}", "timeout: 7", "env: {A: b}", "env: [RUN, MY_TOKEN]"]
            .iter()
            .enumerate()
    {
        let config = config(&EVALUATORS).replace("./one}", &format!("./one, {more}}}"));
        folder.file("c.yaml", config);
        let number = format!("more-{run_number}");
        run(&folder, &number, &RESUME).exits(3);
        assert_eq!(starts(&folder, &number), all("one"), "{more}");
    }
    folder.file("c.yaml", config(&EVALUATORS));
    run(&folder, "back", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    // Without --resume nothing is taken from it.
    let anew = run(&folder, "anew", &JOURNAL).exits(3).says(&taken(0));
    assert_eq!(starts(&folder, "anew").len(), 3 * CONVERSATIONS);
    assert!(anew.json()["errors"].as_array().unwrap().is_empty());
}

#[test]
fn a_changed_trace_is_evaluated_again() {
    let folder = folder();
    let path = folder.file("t.json", fs::read(trace("i11_five_traces_plain")).unwrap());
    let args = ["-v", "run", "t.json", "-c", "c.yaml", "--resume"];
    let run =
        |number: &str| finish(folder.command(&args).env("RUN", number).spawn().unwrap()).exits(3);
    run("0");
    let text = fs::read_to_string(&path).unwrap();
    let said = text.match_indices("\\\"content\\\": \\\"").next();
    let (at, start) = said.unwrap_or_else(|| panic!("another spelling: {}", &text[..2000]));
    let at = at + start.len();
    fs::write(&path, format!("{}x{}", &text[..at], &text[at..])).unwrap();
    run("1");
    let again = starts(&folder, "1");
    assert!((1..=3).contains(&again.len()), "{again:?}");
}

#[test]
fn an_edited_module_is_an_edited_evaluator() {
    let folder = Folder::new();
    let evaluator = "import json, os, sys\nimport rules\n\
                     open('starts.' + os.environ['RUN'], 'a').write(sys.argv[0] + '\\n')\n\
                     json.load(sys.stdin)\nprint(json.dumps({'score': rules.SCORE}))\n";
    folder.file("one.py", evaluator);
    folder.file("two.py", evaluator.replace("rules", "other"));
    folder.file("rules.py", "SCORE = 0.5\n");
    folder.file("other.py", "SCORE = 0.5\n");
    folder.file(
        "c.yaml",
        config(&["one", "two"]).replace("./one", "./one.py").replace("./two", "./two.py"),
    );
    run(&folder, "0", &RESUME);
    let before = starts(&folder, "0").len();
    assert_eq!(before, 2 * CONVERSATIONS);
    run(&folder, "1", &RESUME);
    assert_eq!(starts(&folder, "1"), [""; 0]);
    folder.file("rules.py", "SCORE = 0.625\n");
    let ran = run(&folder, "2", &RESUME);
    assert_eq!(starts(&folder, "2"), vec!["one.py"; CONVERSATIONS]);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 0.625);
}

#[test]
fn what_may_have_been_the_fault_of_the_machine_is_done_again() {
    let folder = Folder::new();
    let mark = r#"cat >/dev/null; echo "$0" >>"starts.$RUN""#;
    folder.script("late", &format!("{mark}; [ $RUN = 0 ] && sleep 600; echo '{{\"score\": 1}}'"));
    folder
        .script("killed", &format!("{mark}; [ $RUN = 0 ] && kill -9 $$; echo '{{\"score\": 1}}'"));
    folder.script("wrong", &format!("{mark}; echo '{{\"score\": 2}}'"));
    folder.script("reports", &format!("{mark}; echo '{{\"error\": \"no key\"}}'"));
    let config =
        config(&["late", "killed", "wrong", "reports"]).replace("./late", "./late, timeout: 1");
    folder.file("c.yaml", config);
    let first = run(&folder, "0", &RESUME).exits(3);
    let kinds = [
        "late ERROR timed_out",
        "killed ERROR signalled",
        "wrong ERROR bad_answer",
        "reports ERROR reported",
    ];
    assert_eq!(first.evaluations(0)[..4], kinds);
    let second = run(&folder, "1", &RESUME).exits(3);
    let kinds =
        ["late PASSED", "killed PASSED", "wrong ERROR bad_answer", "reports ERROR reported"];
    assert_eq!(second.evaluations(0)[..4], kinds);
    let expected = [vec!["killed"; CONVERSATIONS], vec!["late"; CONVERSATIONS]].concat();
    assert_eq!(starts(&folder, "1"), expected);
    assert_eq!(first.error_of("reports"), second.error_of("reports"));
}

#[test]
fn an_evaluator_that_is_replaced_during_the_run_is_not_kept_for_what_it_was() {
    let folder = Folder::new();
    let replaces = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"
if [ $RUN = 0 ] && [ "$(wc -l <starts.0)" = 3 ]; then cp "$0" new; echo '# new' >>new; mv new "$0"; fi
echo '{"score": 1}'"#;
    folder.script("one", replaces);
    let before = fs::read(folder.path().join("one")).unwrap();
    folder.file("c.yaml", config(&["one"]));
    let first = run(&folder, "0", &[&JOURNAL[..], &["--jobs", "1"]].concat()).exits(3);
    // What another program says is not mixed with what this one said; of the one that was just running when the file was
    // replaced, nobody knows which of them it was.
    let summary = &first.json()["summary"];
    assert_eq!(
        summary["passed"].as_u64().unwrap() + summary["errored"].as_u64().unwrap(),
        CONVERSATIONS as u64 + 1
    );
    assert_eq!(summary["errored"], CONVERSATIONS - 2);
    first.says("one is not kept in the journal: ").says("has changed since the run began");
    folder.script("one", replaces);
    assert_eq!(fs::read(folder.path().join("one")).unwrap(), before);
    run(&folder, "3", &RESUME).exits(0);
    assert_eq!(starts(&folder, "3").len(), CONVERSATIONS - 2);
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let folder = Folder::new();
    let waits = r#"cat >/dev/null; echo "$0" >>"starts.$RUN"
if [ $RUN = 0 ] && [ "$(wc -l <"starts.$RUN")" = 4 ]; then echo $PPID >now; sleep 600; fi
echo '{"score": 1}'"#;
    folder.script("one", waits);
    folder.file("c.yaml", config(&["one"]));
    let child = command(&folder, "0", &[&RESUME[..], &["--jobs", "1"]].concat()).spawn().unwrap();
    let host = wait_for(&folder.path().join("now"));
    assert!(support::processes::signal("INT", &host));
    let interrupted = finish(child);
    assert!(interrupted.json()["traces"].as_array().unwrap().len() == CONVERSATIONS);
    run(&folder, "1", &RESUME).exits(0);
    assert_eq!(starts(&folder, "1").len(), CONVERSATIONS - 3);
}

#[test]
fn without_a_name_the_journal_is_that_of_the_call() {
    let folder = folder();
    let first = run(&folder, "0", &["--resume"]).exits(3);
    let second = run(&folder, "1", &["--resume", "--jobs", "1"]).exits(3);
    assert_eq!(first.stdout, second.stdout);
    assert_eq!(starts(&folder, "1"), [""; 0]);
    second.says("24 of 24 evaluations were taken from the journal .evaluator/journal-");
    assert_eq!(fs::read_to_string(folder.path().join(".evaluator/.gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_dir(folder.path().join(".evaluator")).unwrap().count(), 2);
    // Nobody who did not ask for it gets one.
    let other = self::folder();
    run(&other, "0", &[]).exits(3);
    assert!(!other.path().join(".evaluator").exists());
}

#[test]
fn a_journal_that_cannot_be_used_is_an_error_before_anything_runs() {
    let folder = folder();
    let refuses = |text: &[u8], expected: &str| {
        folder.file("j.jsonl", text);
        for args in [&JOURNAL[..], &RESUME] {
            run(&folder, "none", args).exits(2).says(expected).reports_nothing();
        }
        assert_eq!(fs::read(folder.path().join("j.jsonl")).unwrap(), text);
    };
    refuses(b"evaluators: []\n", "evaluator: j.jsonl is not a journal of evaluations");
    let newer = newer();
    refuses(
        newer.as_bytes(),
        "j.jsonl is a journal of format version 2, and this program knows version 1",
    );
    refuses(
        newer.replace("version\":2", "version\":1").as_bytes(),
        "the header of this journal is damaged; delete the file to begin anew",
    );
    run(&folder, "none", &["--journal", "no/such/j.jsonl"])
        .exits(2)
        .says("there is no folder no/such");
    run(&folder, "none", &["--journal", "."]).exits(2).says("this is a folder");
    assert_eq!(starts(&folder, "none"), [""; 0]);
}

/// The header of another version of the format.
fn newer() -> String {
    let rest = "\"format\":\"evaluator-journal\",\"version\":2}";
    let mut sum = u32::MAX;
    for byte in rest.bytes() {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    format!("{{\"crc32\":\"{:08x}\",{rest}\n", !sum)
}

#[test]
fn two_runs_do_not_write_the_same_journal() {
    let folder = Folder::new();
    folder.script("waits", "cat >/dev/null; echo $$ >waits.pid; sleep 600");
    folder.file("c.yaml", config(&["waits"]));
    let first = command(&folder, "0", &JOURNAL).spawn().unwrap();
    wait_for(&folder.path().join("waits.pid"));
    run(&folder, "1", &RESUME)
        .exits(2)
        .says("j.jsonl is the journal of another run that has not ended; wait for it, or name another file")
        .reports_nothing();
    let host = first.id().to_string();
    assert!(support::processes::signal("INT", &host));
    finish(first);
}

#[test]
fn a_journal_that_cannot_be_written_is_an_error_and_no_result_is_missing() {
    let folder = folder();
    folder.script("breaks", SCORES);
    let whole = run(&folder, "whole", &[]).exits(1).json();
    // The limit is met in the middle of a record, and leaves room for what evaluators write.
    for args in [&JOURNAL[..], &RESUME] {
        let ran = finish(limited(&command(&folder, "limit", args)).spawn().unwrap());
        assert_complete(&ran, "j.jsonl", &whole);
    }
    let cut = fs::read_to_string(folder.path().join("j.jsonl")).unwrap();
    assert!(cut.ends_with("}\n") && cut.len() <= 2048, "what was written in part is taken away");
    if cfg!(target_os = "linux") {
        // No share of errors that is tolerated makes it green.
        let tolerant = ["--journal", "/dev/full", "--max-error-rate", "1"];
        for args in [&tolerant[..], &["--journal", "/dev/full", "--resume"]] {
            assert_complete(&run(&folder, "full", args), "/dev/full", &whole);
        }
    }
}

/// The same command, where files may have 2 KiB.
#[expect(clippy::disallowed_methods, reason = "a shell can set limits")]
fn limited(command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -f 4; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(command.get_current_dir().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}

/// Checks that a run failed for its journal alone.
#[track_caller]
fn assert_complete(ran: &Ran, journal: &str, whole: &serde_json::Value) {
    let said = format!("Failed to write the journal {journal}: ");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains(&said), "{}", ran.stderr);
    let json = ran.json();
    assert!(json["errors"][0].as_str().unwrap().starts_with(&said), "{json}");
    assert_eq!(json["summary"], whole["summary"]);
}
