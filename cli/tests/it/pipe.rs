//! The filter form: a conversation on each line in, a record for each out.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    env,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use evaluator_test_support::{
    processes::{MARK_VARIABLE, Mark, signal, wait_for_line, wait_until},
    program::run_with_input,
};
use serde_json::{Value, json};

use crate::support::{Directory, Ran, finish, has};

/// Scores by what it is told: waits for the file `go` if that is in the document.
const SCORES: &str = r#"document=$(cat)
case $document in *"wait please"*)
    echo $$ >waiting; while [ ! -e go ]; do sleep 0.01; done;;
esac
echo '{"score": 0.25}'"#;

const CONFIG: &str = "evaluators:\n- {name: scores, type: code, path: ./scores}\n";

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("scores", SCORES);
    directory.file("c.yaml", CONFIG);
    directory
}

fn span(trace: u64, session: Option<&str>, user: &str) -> Value {
    let messages = |role: &str, text: &str| {
        json!([{"role": role, "parts": [{"type": "text", "content": text}]}]).to_string()
    };
    let attribute = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "invoke_agent"),
        attribute("gen_ai.input.messages", &messages("user", user)),
        attribute("gen_ai.output.messages", &messages("assistant", "Yes.")),
    ];
    attributes.extend(session.map(|session| attribute("session.id", session)));
    json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{trace:016x}"), "name": "invoke_agent a",
        "startTimeUnixNano": (trace * 1000).to_string(), "endTimeUnixNano": (trace * 1000 + 500).to_string(),
        "attributes": attributes,
    })
}

/// A line with one conversation.
fn line(trace: u64) -> String {
    format!("{}\n", json!([span(trace, None, "Hello")]))
}

fn pipe(directory: &Directory, args: &[&str], input: &str) -> Ran {
    run_with_input(&mut directory.command(&[&["pipe", "-c", "c.yaml"], args].concat()), input)
}

fn records(output: &str) -> Vec<Value> {
    output.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Kinds of the records, those of conversations with their trace ids, and those of errors with their lines and types.
fn kinds(output: &str) -> Vec<String> {
    let kind = |record: Value| {
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        match &*text("kind") {
            "conversation" => {
                let id = record["conversation"]["trace_id"].as_str().unwrap();
                id.trim_start_matches('0').to_owned()
            }
            "input_error" => {
                format!("{} {} {}", record["line"], record["offset"], text("error_type"))
            }
            kind => kind.to_owned(),
        }
    };
    records(output).into_iter().map(kind).collect()
}

#[test]
fn each_line_has_its_record_in_order_whatever_the_scores() {
    let directory = directory();
    // The first one waits for the others.
    let first = format!("{}\n", json!([span(1, None, "wait please")]));
    let document =
        json!({"resourceSpans": [{"scopeSpans": [{"spans": [span(2, None, "Hello")]}]}]});
    let input = [first, format!("{document}\n"), line(3), line(4).trim_end().to_owned()].concat();
    let mut command =
        directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace", "--jobs", "4"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    wait_for_line(&directory.join("waiting"));
    directory.file("go", "");
    let ran = finish(child).exits(0);
    assert_eq!(kinds(&ran.stdout), ["header", "1", "2", "3", "4", "end"]);
    let records = records(&ran.stdout);
    assert_eq!(records[0]["part"], json!({"pipe": true}));
    assert_eq!((&records[5]["read"], &records[5]["tally"]["failed"]), (&json!(4), &json!(4)));
    assert_eq!(records[1]["conversation"]["evaluations"][0]["status"], "FAILED");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("4 lines, 0 of them unusable"), "{}", ran.stderr);
}

#[test]
fn a_line_that_cannot_be_used_is_an_error_with_its_position_and_the_rest_goes_on() {
    let directory = directory();
    let cut = &line(9)[..40];
    let lines = [
        line(1),
        "{\"resourceSpans\": [\n".to_owned(),
        format!("{}\n", span(2, None, "Hello")),
        "\n".to_owned(),
        "[]\n".to_owned(),
        "{\"resourceSpans\": []}\n".to_owned(),
        format!("{}\n", json!([span(3, None, "a"), span(4, None, "b")])),
        format!("[{}]\n", "1".repeat(2000)),
        "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [{\"traceId\": \"1\", \"spanId\": \"2\"}, 5]}]}]}\n".to_owned(),
        "{\"other\": 1}\n".to_owned(),
        line(5),
        cut.to_owned(),
    ];
    let ran = pipe(&directory, &["--group-by", "trace", "--max-line", "1500B"], &lines.concat());
    let ran = ran.exits(0);
    let types = [
        "header",
        "1",
        "unreadable_line",
        "bare_span",
        "no_spans",
        "no_spans",
        "no_spans",
        "several_conversations",
        "line_too_long",
        "unreadable_line",
        "unreadable_line",
        "5",
        "unreadable_line",
        "end",
    ];
    let mut offset = 0;
    let mut expected = vec!["header".to_owned()];
    for (number, (text, kind)) in lines.iter().zip(&types[1..]).enumerate() {
        let is_error = kind.len() > 1;
        let error = format!("{} {offset} {kind}", number + 1);
        expected.push(if is_error { error } else { (*kind).to_owned() });
        offset += text.len();
    }
    expected.push("end".to_owned());
    assert_eq!(kinds(&ran.stdout), expected);
    let records = records(&ran.stdout);
    let message = |record: usize| records[record]["message"].as_str().unwrap();
    assert_eq!(message(5), "it is an array without spans");
    assert!(message(7).contains(&format!("{:032x}, {:032x}", 3, 4)), "{}", message(7));
    assert!(message(8).contains("at most 1500 are read (--max-line)"), "{}", message(8));
    assert!(message(9).contains("spans[1]: the span is an integer"), "{}", message(9));
    assert!(
        records.iter().filter(|it| it["kind"] == "input_error").all(|it| it["content"].is_string())
    );
    ran.says("12 lines, 10 of them unusable");
}

#[test]
fn invalid_text_is_an_error_of_its_line() {
    let directory = directory();
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let input = [&b"[\"\xff\"]\n"[..], line(1).as_bytes()].concat();
    let ran = run_with_input(&mut command, input).exits(0);
    assert_eq!(kinds(&ran.stdout), ["header", "1 0 unreadable_line", "1", "end"]);
    assert!(ran.stdout.contains("invalid byte 0xff at byte 2"), "{}", ran.stdout);
    for (start, program) in [(&b"\x1f\x8b"[..], "gunzip"), (b"\x28\xb5\x2f\xfd", "unzstd")] {
        let ran = run_with_input(&mut command, start).exits(0);
        assert!(ran.stdout.contains(&format!("decompress it (`{program}`)")), "{}", ran.stdout);
    }
}

#[test]
fn traces_of_one_session_are_one_conversation_by_conversation_only() {
    let directory = directory();
    let of = |spans: Vec<Value>| format!("{}\n", Value::Array(spans));
    let input = [
        of(vec![span(1, Some("s"), "a"), span(2, Some("s"), "b")]),
        of(vec![span(3, Some("s"), "a"), span(4, Some("t"), "b")]),
        of(vec![span(5, Some("s"), "a"), span(6, None, "b")]),
        of(vec![span(7, None, "a")]),
    ]
    .concat();
    let ran = pipe(&directory, &["--group-by", "conversation"], &input).exits(0);
    let found = kinds(&ran.stdout);
    assert_eq!((&*found[1], &*found[4]), ("1", "7"));
    let is_error = |kind: &&String| kind.ends_with("several_conversations");
    assert_eq!(found.iter().filter(is_error).count(), 2, "{found:?}");
    let records = records(&ran.stdout);
    assert_eq!(records[1]["conversation"]["session"], "s");
    assert_eq!(records[1]["conversation"]["turns"], 2);
    assert!(records[4]["conversation"].get("session").is_none());
    let message = records[2]["message"].as_str().unwrap();
    assert!(
        message.contains("of session \"s\"") && message.contains("of session \"t\""),
        "{message}"
    );
    // The key of the configuration counts, too.
    directory.file("c.yaml", format!("group_by: trace\n{CONFIG}"));
    let ran = pipe(&directory, &[], &input).exits(0);
    assert_eq!(kinds(&ran.stdout).iter().filter(is_error).count(), 3);
}

#[test]
fn conversations_of_a_stream_are_grouped_by_a_rule_that_is_given() {
    let directory = directory();
    for args in [&[][..], &["--group-by", "auto"]] {
        let ran = pipe(&directory, args, &line(1)).exits(2).says("`auto` asks whether any trace");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn options_about_reports_and_policies_are_refused() {
    let directory = directory();
    for option in [
        &["-o", "json"][..],
        &["--save-run", "x.evalrun"],
        &["--fail-fast"],
        &["--max-error-rate", "0.5"],
        &["--require-evaluated"],
        &["--resume"],
        &["--gate", "scores: mean >= 0.5"],
        &["traces.json"],
    ] {
        let ran = pipe(&directory, &[&["--group-by", "trace"], option].concat(), &line(1)).exits(2);
        assert_eq!(ran.stdout, "", "{option:?}");
    }
    assert!(!directory.join("x.evalrun").exists());
    // In a configuration, they are for the report.
    directory.file("c.yaml", format!("fail_fast: true\nmax_error_rate: 0.5\n{CONFIG}"));
    let ran = pipe(&directory, &["--group-by", "trace"], &[line(1), line(2)].concat()).exits(0);
    assert_eq!(kinds(&ran.stdout), ["header", "1", "2", "end"]);
    assert_eq!(records(&ran.stdout)[0]["settings"]["max_error_rate"], 0.5);
}

#[test]
fn a_further_trace_of_a_conversation_on_another_line_is_an_error() {
    let directory = directory();
    let joined = |other: u64| {
        let spans = [span(1, Some("s"), "Hello"), span(other, Some("s"), "Again")];
        format!("{}\n", json!(spans))
    };
    // A span that came late, without the name of its session.
    let report = |input: String| {
        let ran = pipe(&directory, &["--group-by", "conversation"], &input).exits(0);
        directory.file("part.evalrun", &ran.stdout);
        (
            ran.stdout,
            directory.evaluator(&["report", "-o", "json", "part.evalrun", "--expect", "2"]),
        )
    };
    let (part, ran) = report([joined(2), line(2)].concat());
    let ids = [1, 2].map(|it| format!("{it:032x}"));
    assert_eq!(records(&part)[1]["conversation"]["traces"], json!(ids));
    assert!(records(&part)[2]["conversation"].get("traces").is_none(), "{part}");
    let errors = ran.exits(3).json()["errors"].to_string();
    let reason = format!("trace {} is in the conversations of part.evalrun, line 2", ids[1]);
    assert!(errors.contains(&reason), "{errors}");
    let (_, ran) = report([joined(2), line(3)].concat());
    assert_eq!(ran.json()["errors"], json!([]));
}

#[test]
fn nothing_is_prepared_for_an_empty_stream() {
    let directory = directory();
    directory.file("c.yaml", "evaluators:\n- {name: broken, type: code, path: ./gone.rs}\n");
    let ran = pipe(&directory, &["--group-by", "trace"], "").exits(0);
    assert_eq!(kinds(&ran.stdout), ["header", "end"]);
    let records = records(&ran.stdout);
    assert_eq!((&records[0]["plan"], &records[1]["read"]), (&Value::Null, &json!(0)));
}

#[test]
fn a_stream_that_is_closed_or_has_the_wrong_direction_is_not_an_empty_one() {
    let directory = directory();
    let sh = |args: &str| directory.sh(&format!("{} {args}", env!("CARGO_BIN_EXE_evaluator")));
    let pipe = "pipe -c c.yaml --group-by trace";
    for stdin in ["<&-", "0>file"] {
        for command in [pipe, "run - -c c.yaml", "inspect -"] {
            let ran = sh(&format!("{command} {stdin}")).exits(2);
            assert_eq!(ran.says("cannot read stdin: it is closed or not").stdout, "");
        }
    }
    // An evaluation that does not read stdin needs none.
    sh("list -s builtin <&-").exits(0);
    for stdout in [">&-", "1<c.yaml"] {
        sh(&format!("{pipe} </dev/null {stdout}")).exits(3).says("cannot write to stdout");
    }
    sh(&format!("{pipe} </dev/null")).exits(0);
}

#[test]
fn nothing_is_written_if_an_evaluator_cannot_be_prepared() {
    let directory = directory();
    directory.file("broken.py", "");
    for (name, first) in [("no_interpreter", "#!/no/such\n"), ("windows", "#!/bin/sh\r\n")] {
        directory.script(name, "");
        fs::write(directory.join(name), first).unwrap();
    }
    let entry = |more: &str| format!("- {{name: broken, type: code, {more}}}\n");
    for (entry, problem) in [
        (entry("path: broken.py"), "`broken` cannot be prepared"),
        (entry("path: ./gone"), "gone, which does not exist"),
        (
            entry("path: ./no_interpreter"),
            "no_interpreter: the file is there, but the interpreter named in its first line is not: /no/such",
        ),
        (entry("path: ./windows"), "save the file with Unix line ends"),
        (
            entry("path: ./scores, executor: sandbox, sandbox: {read: [gone]}"),
            "gone, which does not exist",
        ),
        ("- {name: broken, type: builtin}\n".to_owned(), "there is no built-in metric `broken`"),
    ] {
        directory.file("c.yaml", format!("{CONFIG}{entry}"));
        let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
        command.env("EVALUATOR_PYTHON", "/nowhere/python");
        let ran = run_with_input(&mut command, line(1)).exits(2).says(problem);
        assert_eq!(ran.stdout, "");
    }
    directory.file("c.yaml", CONFIG);
    directory.file("golden.json", "{}");
    let args = ["--group-by", "trace", "-e", "golden.json"];
    assert_eq!(pipe(&directory, &args, &line(1)).exits(2).stdout, "");
}

#[test]
fn prompts_are_compared_even_if_there_is_only_one_case() {
    let directory = directory();
    let turn = json!({
        "invocation_id": "1", "user_content": {"role": "user", "parts": [{"text": "Another question"}]},
        "final_response": {"role": "model", "parts": [{"text": "No."}]}, "intermediate_data": {},
    });
    let set =
        json!({"eval_set_id": "g", "eval_cases": [{"eval_id": "other", "conversation": [turn]}]});
    directory.file("golden.json", set.to_string());
    let ran = pipe(&directory, &["--group-by", "trace", "-e", "golden.json"], &line(1)).exits(0);
    let records = records(&ran.stdout);
    assert!(records[1]["conversation"].get("eval_case_id").is_none(), "{}", ran.stdout);
    assert_eq!(records[0]["settings"]["strict_matching"], true);
    assert_eq!(records[0]["golden"]["id"], "g");
}

/// A filter with a process that waits, and the process id of that.
fn waiting(directory: &Directory) -> (Child, ChildStdin, String) {
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let second = format!("{}\n", json!([span(2, None, "wait please")]));
    stdin.write_all([line(1), second].concat().as_bytes()).unwrap();
    let pid = wait_for_line(&directory.join("waiting"));
    (child, stdin, pid)
}

#[test]
fn a_stop_signal_ends_it_at_once_without_an_end_line() {
    let directory = directory();
    for name in ["TERM", "INT"] {
        let (child, stdin, pid) = waiting(&directory);
        assert!(signal(name, &child.id().to_string()));
        let ran = finish(child).exits(3);
        drop(stdin);
        evaluator_test_support::processes::assert_gone(&pid);
        assert_eq!(kinds(&ran.stdout), ["header", "1"]);
        fs::remove_file(directory.join("waiting")).unwrap();
    }
}

#[test]
fn a_stop_signal_also_ends_forks_of_a_python_interpreter() {
    if !has("python3") {
        return;
    }
    let directory = directory();
    directory.file("c.yaml", "evaluators:\n- {name: waits, type: code, path: waits.py}\n");
    let waits =
        "import os, time\nopen('waiting', 'w').write('%d\\n' % os.getpid())\ntime.sleep(600)\n";
    directory.file("waits.py", waits);
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line(1).as_bytes()).unwrap();
    let pid = wait_for_line(&directory.join("waiting"));
    assert!(signal("TERM", &child.id().to_string()));
    finish(child).exits(3);
    drop(stdin);
    evaluator_test_support::processes::assert_gone(&pid);
}

#[test]
fn a_reader_that_is_gone_ends_it_while_it_waits() {
    let directory = directory();
    // For an evaluator, then for a line.
    let (mut child, stdin, pid) = waiting(&directory);
    drop(child.stdout.take());
    assert_eq!(finish(child).code, Some(3));
    evaluator_test_support::processes::assert_gone(&pid);
    drop(stdin);
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line(1).as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..2 {
        stdout.read_line(&mut String::new()).unwrap();
    }
    drop(stdout);
    assert_eq!(finish(child).code, Some(3));
    drop(stdin);
}

#[test]
fn a_stream_may_end_when_everything_is_written() {
    let directory = directory();
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line(1).as_bytes()).unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut output = String::new();
    for _ in 0..2 {
        stdout.read_line(&mut output).unwrap();
    }
    drop(stdin);
    stdout.read_to_string(&mut output).unwrap();
    finish(child).exits(0);
    assert_eq!(kinds(&output), ["header", "1", "end"]);
}

#[test]
fn records_that_cannot_be_written_are_an_error() {
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let directory = directory();
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let mut child = command.stdin(Stdio::piped()).stdout(full).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line(1).as_bytes()).unwrap();
    // The input need not end.
    finish(child).exits(3).says("cannot write the records");
    drop(stdin);
}

#[test]
fn it_works_in_an_empty_environment() {
    let directory = directory();
    let script = directory.join("scores");
    directory.file(
        "c.yaml",
        format!("evaluators:\n- {{name: scores, type: code, path: {}}}\n", script.display()),
    );
    let mut command = directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace"]);
    let ran = run_with_input(command.env_clear(), line(1)).exits(0);
    assert_eq!(kinds(&ran.stdout), ["header", "1", "end"]);
    assert_eq!(records(&ran.stdout)[2]["tally"]["failed"], 1, "{}", ran.stdout);
}

/// A model that notes each question, and answers the first two at once, others when there is a file `go`.
const MODEL: &str = r#"prompt=$(cat); echo asked >>asked
case $prompt in
    *"Is it 1?"* | *"Is it 2?"*) ;;
    *) while [ ! -e go ]; do sleep 0.01; done ;;
esac
cat <<'END'
{"text": "{\"reasoning\": \"r\", \"score\": 0.75}"}
END"#;

#[test]
fn what_was_paid_for_is_not_paid_for_again_by_tasks_of_one_machine() {
    let directory = Directory::new();
    directory.script("model", MODEL);
    let judge = "criteria: It is kind., judge: {model: 'command:model', samples: 1}";
    directory.file("c.yaml", format!("evaluators:\n- {{name: j, type: llm_judge, {judge}}}\n"));
    let lines = |numbers: std::ops::RangeInclusive<u64>| -> String {
        let line =
            |number| format!("{}\n", json!([span(number, None, &format!("Is it {number}?"))]));
        numbers.map(line).collect()
    };
    let text = |file: &str| fs::read_to_string(directory.join(file)).unwrap_or_default();
    let (asked, answered) = (|| text("asked").lines().count(), || text("c.jsonl").lines().count());
    let cassette = ["--judge-cassette", "c.jsonl", "--judge-mode", "auto"];
    let options = [&["--group-by", "trace"][..], &cassette].concat();
    let start = |input: &str| {
        let mut command = directory.command(&[&["pipe", "-c", "c.yaml"], &options[..]].concat());
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child
    };
    let child = start(&lines(1..=5));
    // All are asked: no program that has just been started asks after the KILL.
    wait_until("two answers and three questions", || answered() == 2 && asked() == 5);
    assert!(signal("KILL", &child.id().to_string()));
    finish(child);
    directory.file("go", "");
    // Only what was not answered is asked again.
    let first = pipe(&directory, &options, &lines(1..=5)).exits(0);
    assert_eq!(asked(), 5 + 3);
    let judges = records(&first.stdout).pop().unwrap()["report"]["judges"].clone();
    assert_eq!((&judges["calls"], &judges["replayed"]), (&json!(5), &json!(2)));
    // Two at a time.
    let [second, third] = [lines(6..=9), lines(10..=12)].map(|input| start(&input));
    let (second, third) = (finish(second).exits(0), finish(third).exits(0));
    assert_eq!((asked(), answered()), (5 + 3 + 7, 12));
    // A task that runs again has the same results, which it does not pay for.
    let again = pipe(&directory, &options, &lines(1..=5)).exits(0);
    let parts = [first, second, third, again];
    for (file, part) in ["1.evalrun", "2.evalrun", "3.evalrun", "again.evalrun"].iter().zip(parts) {
        directory.file(file, part.stdout);
    }
    let report =
        |args: &[&str]| directory.evaluator(&[&["report", "-o", "summary"], args].concat());
    report(&["1.evalrun", "2.evalrun", "3.evalrun", "--expect", "12"])
        .exits(0)
        .says("judges: 12 calls (16 % replayed)");
    report(&["1.evalrun", "again.evalrun", "--expect", "5"])
        .exits(0)
        .says("5 conversations were there several times with the same results");
    directory.file("all.jsonl", lines(1..=12));
    for shard in ["1/2", "2/2"] {
        let file = format!("shard-{}.evalrun", &shard[..1]);
        let own = ["all.jsonl", "-c", "c.yaml", "--shard", shard, "--save-run", &file];
        directory.run(&[&own[..], &options].concat()).exits(0);
    }
    assert_eq!(asked(), 5 + 3 + 7);
    report(&["shard-1.evalrun", "shard-2.evalrun"])
        .exits(0)
        .says("judges: 12 calls (100 % replayed)");
}

/// Numbers that look random, the same in each run of the tests.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Reads up to this number of bytes, as far as there are some.
fn read(stdout: &mut ChildStdout, bytes: u64) -> Vec<u8> {
    let mut read = Vec::new();
    stdout.take(bytes).read_to_end(&mut read).unwrap();
    read
}

/// `EVALUATOR_KILLS` is the number of filters that are killed.
#[test]
fn a_part_with_an_end_has_all_records_however_the_filter_is_killed() {
    let kills = env::var("EVALUATOR_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(12);
    let (directory, next) = (directory(), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let numbers =
                    || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|it| *it < kills);
                std::iter::from_fn(numbers).for_each(|number| kill_one(&directory, number));
            });
        }
    });
}

/// Starts a filter, kills it in one of four ways, and checks what it has written.
fn kill_one(directory: &Directory, number: u64) {
    let mut numbers = Numbers(number);
    let (lines, mark) = (1 + numbers.below(6), Mark::new());
    let input: String = (1..=lines).map(line).collect();
    // Half a line is as far as the engine came that wrote it.
    let cut =
        if number % 4 == 3 { numbers.below(input.len() as u64) as usize } else { input.len() };
    let mut command =
        directory.command(&["pipe", "-c", "c.yaml", "--group-by", "trace", "--jobs", "2"]);
    command.env(MARK_VARIABLE, mark.as_str()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut stdin, text) = (child.stdin.take().unwrap(), input[..cut].to_owned());
    // The filter need not live long enough to read it.
    let sending = thread::spawn(move || drop(stdin.write_all(text.as_bytes())));
    let mut stdout = child.stdout.take().unwrap();
    // All that it writes is some 2,000 bytes and 1,000 for each line.
    let mut output = read(&mut stdout, numbers.below(3000 + lines * 1000));
    match number % 4 {
        0 => {
            signal("TERM", &child.id().to_string());
        }
        1 => child.kill().unwrap(),
        2 => {}
        _ => output.extend(read(&mut stdout, u64::MAX)),
    }
    if number % 4 < 2 {
        output.extend(read(&mut stdout, u64::MAX));
    }
    drop(stdout);
    let code = finish(child).code;
    sending.join().unwrap();
    mark.assert_nothing_left();
    let output = String::from_utf8(output).unwrap();
    let whole = output.rfind('\n').map_or("", |end| &output[..=end]);
    let kinds = kinds(whole);
    let is_ended = kinds.last().is_some_and(|kind| kind == "end");
    let sent = input[..cut].lines().count();
    assert!(!is_ended || kinds.len() == sent + 2, "{number}: {kinds:?}");
    let all_was_read = kinds.len() == sent + 2 && is_ended;
    assert!(code != Some(0) || all_was_read || number % 4 == 2, "{number}: {code:?} {kinds:?}");
    assert!(number % 4 != 3 || (code, is_ended) == (Some(0), true), "{number}: {code:?} {kinds:?}");
}
