//! `evaluator repro`: one evaluation of a saved run again.
#![cfg(unix)]

use std::fs;

use evaluator_test_support::finish;
use serde_json::{Value, json};

use crate::{
    compare::recorded,
    run_file::sealed,
    support::{Directory, Ran, has, page::Page},
};

const RUN: &str = "r.evalrun";

/// A directory with two conversations, and an entry of a program with these keys.
fn directory(program: &str, text: &str, keys: &str) -> Directory {
    let directory = Directory::new();
    recorded(&directory, "trace-", &["yes", "no"]);
    directory.file(program, text);
    configure(&directory, &format!("{{name: check, type: code, path: {program}{keys}}}"));
    directory
}

fn configure(directory: &Directory, entry: &str) {
    directory.file("c.yaml", format!("eval_set: set.json\nevaluators:\n- {entry}\n"));
}

/// Saves a run.
#[track_caller]
fn saved(directory: &Directory, code: i32) -> Ran {
    directory.evaluator(&["run", "traces.jsonl", "-c", "c.yaml", "--save-run", RUN]).exits(code)
}

#[track_caller]
fn repro(directory: &Directory, options: &[&str]) -> Ran {
    directory.evaluator(&[&["repro", RUN, "case-0", "check"], options].concat())
}

#[test]
fn failures_are_repeated_in_each_language() {
    let rust = "fn main() {\n    println!(\"{{\\\"score\\\": 0.0}}\");\n}\n";
    for (program, text) in [
        ("check.py", "print('{\"score\": 0.0}')"),
        ("check.mjs", "console.log('{\"score\": 0.0}')"),
        ("check.rs", rust),
    ] {
        if program.ends_with("mjs") && !has("node") {
            continue;
        }
        let directory = directory(program, text, "");
        saved(&directory, 1);
        let again = repro(&directory, &[]).exits(0);
        assert_eq!(again.stdout, "reproduced: 0.000, FAILED, as recorded\n", "{program}");
    }
}

#[test]
fn errors_are_repeated_with_the_whole_stderr() {
    let long = "import sys\nfor number in range(999):\n    print(f'line {number}.', file=sys.stderr)\nsys.exit(3)\n";
    let broken = directory("check.py", long, "");
    saved(&broken, 3);
    let again = repro(&broken, &[]).exits(0);
    assert!(again.stdout.starts_with("reproduced: error (exit"), "{}", again.stdout);
    for number in 0..999 {
        assert!(again.stderr.contains(&format!("line {number}.\n")), "{number}: {}", again.stderr);
    }
    let slow = directory("check.py", "import time\ntime.sleep(600)\n", ", timeout: 1");
    saved(&slow, 3);
    let again = repro(&slow, &[]).exits(0);
    assert_eq!(again.stdout, "reproduced: error (timed_out), as recorded\n");
    if has("node") {
        let thrown = directory("check.mjs", "throw new Error('boom')", "");
        saved(&thrown, 3);
        let again = repro(&thrown, &[]).exits(0).stdout;
        assert!(again.starts_with("reproduced: error (exit"), "{again}");
    }
    let panics = directory("check.rs", "fn main() {\n    panic!(\"boom\");\n}\n", "");
    saved(&panics, 3);
    let again = repro(&panics, &[]).exits(0).stdout;
    assert!(again.starts_with("reproduced: error (exit"), "{again}");
}

#[test]
fn what_comes_out_otherwise_is_not_reproduced() {
    // The answer is in a file that is not part of the program.
    let text = "import pathlib, sys\nscore = pathlib.Path('answer').read_text()\nsys.exit(9) if score == 'break' else print('{\"score\": %s}' % score)\n";
    let directory = directory("check.py", text, "");
    directory.file("answer", "0.0");
    saved(&directory, 1);
    directory.file("answer", "1.0");
    let again = repro(&directory, &[]).exits(1);
    assert_eq!(again.stdout, "not reproduced: 0.000 then, 1.000 now\n");
    directory.file("answer", "0.0001");
    let again = repro(&directory, &[]).exits(1);
    assert_eq!(again.stdout, "not reproduced: 0 then, 0.0001 now\n");
    directory.file("answer", "break");
    let again = repro(&directory, &[]).exits(3);
    assert!(
        again.stdout.starts_with("not reproduced: 0.000 then, error (exit"),
        "{}",
        again.stdout
    );
}

#[test]
fn repeats_show_how_often_a_flaky_evaluation_is_the_same() {
    let directory = directory("unused", "", "");
    // Every third answer is another one. The run takes the first two.
    directory.script(
        "check",
        "cat >/dev/null; echo x >>calls; [ $(($(wc -l <calls) % 3)) = 0 ] && echo '{\"score\": 1}' || echo '{\"score\": 0}'",
    );
    configure(&directory, "{name: check, type: code, path: ./check}");
    saved(&directory, 1);
    let again = repro(&directory, &["--repeat", "4"]).exits(1);
    let expected = "reproduced: 2 of 4 times 0.000, FAILED, as recorded\n  2 of 4 times 1.000\n";
    assert_eq!(again.stdout, expected);
    let again = repro(&directory, &["--repeat", "1"]).exits(0);
    assert_eq!(again.stdout, "reproduced: 0.000, FAILED, as recorded\n");
}

#[test]
fn what_has_changed_is_named_and_nothing_runs() {
    let text = "open('ran', 'a').write('x')\nprint('{\"score\": 0.0}')\n";
    let directory = directory("check.py", text, ", config: {a: 1}");
    saved(&directory, 1);
    fs::remove_file(directory.join("ran")).unwrap();
    let goes_on = "--live evaluates all the same";
    for (file, from, to, named) in [
        (
            "traces.jsonl",
            "yes",
            "yes!",
            "content: the recording is not the one that was read from traces.jsonl",
        ),
        ("set.json", "\"yes\"", "\"no\"", "golden case `case-0`: "),
        ("check.py", "0.0", "1.0", "check: file `check.py`: "),
        ("c.yaml", "a: 1", "a: 2", "check: setting `config.a`: "),
    ] {
        let before = directory.read(file);
        directory.file(file, before.replace(from, to));
        repro(&directory, &[]).exits(2).says(named).says(goes_on).reports_nothing();
        assert!(!directory.join("ran").exists(), "{file}");
        let live = repro(&directory, &["--live"]).says(named);
        assert!(live.stdout.contains("reproduced: "), "{}", live.stdout);
        fs::remove_file(directory.join("ran")).unwrap();
        directory.file(file, before);
    }
    // The case that is not repeated may change.
    let set = directory.read("set.json");
    directory.file("set.json", set.replace("question 1", "question one"));
    repro(&directory, &[]).exits(0);
}

#[test]
fn a_changed_environment_is_said() {
    let directory = directory("check.py", "print('{\"score\": 0.0}')", ", env: [KIND]");
    let run = |args: &[&str], kind: &str| {
        finish(directory.command(args).env("KIND", kind).spawn().unwrap())
    };
    run(&["run", "traces.jsonl", "-c", "c.yaml", "--save-run", RUN], "one").exits(1);
    let again = run(&["repro", RUN, "case-0", "check"], "two").exits(0);
    let again = again.says("check: environment `env`: ");
    assert_eq!(again.stdout, "reproduced: 0.000, FAILED, as recorded\n");
}

#[test]
fn conversations_and_evaluators_have_to_be_found() {
    let directory = directory("check.py", "print('{\"score\": 0.0}')", "");
    saved(&directory, 1);
    let refuses = |words: &[&str], text: &str| {
        directory
            .evaluator(&[&["repro", RUN], words].concat())
            .exits(2)
            .says(text)
            .reports_nothing();
    };
    refuses(
        &["trace-", "check"],
        "`trace-` stands for 2 conversations of r.evalrun: trace-0, trace-1; name one by its trace id",
    );
    refuses(&["case-9", "check"], "r.evalrun has no conversation `case-9`");
    refuses(&["case-0", "chek"], "r.evalrun has no evaluator `chek`; did you mean `check`?");
    directory.evaluator(&["repro", RUN, "trace-0", "check"]).exits(0);
    directory.evaluator(&["repro", RUN, "case-1", "check"]).exits(0);
}

#[test]
fn runs_that_cannot_be_repeated_are_refused() {
    let directory = directory("check.py", "print('{\"score\": 0.0}')", "");
    let mut command = directory.command(&["run", "-", "-c", "c.yaml", "--save-run", RUN]);
    command.stdin(fs::File::open(directory.join("traces.jsonl")).unwrap());
    finish(command.spawn().unwrap()).exits(1);
    repro(&directory, &[]).exits(2).says("came from the standard input; --traces PATH names");
    repro(&directory, &["--traces", "traces.jsonl"]).exits(0);
    saved(&directory, 1);
    fs::rename(directory.join("traces.jsonl"), directory.join("moved.jsonl")).unwrap();
    repro(&directory, &[]).exits(2).says("traces.jsonl does not exist here");
    repro(&directory, &["--traces", "moved.jsonl"]).exits(0);
    // Older versions did not record the options of the run.
    let text = directory.read(RUN);
    let (header, rest) = text.split_once('\n').unwrap();
    let mut record: Value = serde_json::from_str(header).unwrap();
    let members = record.as_object_mut().unwrap();
    assert_eq!(members.remove("options"), Some(json!(["--config=c.yaml"])));
    members.remove("crc32");
    members.remove("kind");
    let older = format!("\"kind\":\"header\",{}", &record.to_string()[1..]);
    directory.file(RUN, sealed(&older) + rest);
    repro(&directory, &["--traces", "moved.jsonl"])
        .exits(2)
        .says("r.evalrun does not say how its evaluators were run")
        .reports_nothing();
}

#[test]
fn the_document_and_a_command_line_are_printed() {
    let directory = directory("unused", "", "");
    directory.script("check", "cat >seen; echo '{\"score\": 0.0}'");
    configure(&directory, "{name: check, type: code, path: ./check, config: {quote: \"it's\"}}");
    saved(&directory, 1);
    repro(&directory, &[]).exits(0);
    let seen = directory.read("seen");
    fs::remove_file(directory.join("seen")).unwrap();
    assert_eq!(repro(&directory, &["--print-input"]).exits(0).stdout, seen);
    let line = repro(&directory, &["--shell"]).exits(0).stdout;
    assert!(!directory.join("seen").exists(), "nothing runs");
    assert!(!line.contains("evaluator repro"), "{line}");
    assert_eq!(directory.sh(&line).stdout, "{\"score\": 0.0}\n");
    assert_eq!(directory.read("seen"), seen);
}

#[test]
fn metrics_have_no_document_and_no_command() {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "no"]);
    saved(&directory, 1);
    let repro = |options: &[&str]| {
        directory.evaluator(&[&["repro", RUN, "case-1", "response_match_score"], options].concat())
    };
    assert_eq!(repro(&[]).exits(0).stdout, "reproduced: 0.000, FAILED, as recorded\n");
    repro(&["--print-input"]).exits(2).says("there is no document that it reads");
    repro(&["--shell"]).exits(2).says("it is not a program with a process of its own");
}

#[test]
fn contained_programs_are_contained_again() {
    let directory = directory("unused", "", "");
    directory.script("check", "cat >/dev/null; echo x >left; echo '{\"score\": 0.0}'");
    configure(&directory, "{name: check, type: code, path: ./check, executor: sandbox}");
    if directory.evaluator(&["check", "c.yaml"]).code != Some(0) {
        // There is no sandbox on this machine.
        return;
    }
    saved(&directory, 1);
    repro(&directory, &[]).exits(0);
    assert!(!directory.join("left").exists());
    repro(&directory, &["--shell"]).exits(2).says("it is contained (`executor: sandbox`)");
}

#[test]
fn judges_answer_from_the_cassette() {
    let directory = Directory::new();
    recorded(&directory, "t", &["yes", "no"]);
    let reply = |it: &str| {
        let verdict = json!({"reasoning": "r", "is_the_agent_response_valid": it}).to_string();
        format!("{}\n", json!(verdict))
    };
    directory.file("replies.jsonl", [reply("invalid"), reply("invalid")].concat());
    directory.file(
        "c.yaml",
        "eval_set: set.json\njudge: {model: 'fake:replies.jsonl', samples: 1, cassette: c.jsonl, mode: record}\n\
         evaluators: [{name: final_response_match_v2, type: builtin}]",
    );
    saved(&directory, 1);
    let cassette = directory.read("c.jsonl");
    // Another reply would be another result.
    directory.file("replies.jsonl", reply("valid"));
    let again = directory.evaluator(&["repro", RUN, "case-1", "final_response_match_v2"]).exits(0);
    assert_eq!(again.stdout, "reproduced: 0.000, FAILED, as recorded\n");
    assert_eq!(directory.read("c.jsonl"), cassette);
}

#[test]
fn tests_with_recorded_outputs_are_repeated() {
    let directory = Directory::new();
    directory.file(
        "e.yaml",
        "name: capitals\ntests:\n\
         - {id: one, criteria: x, input: q, assertions: [{type: contains, value: Paris}]}\n\
         - {id: two, criteria: x, input: q, assertions: [{type: contains, value: Rome}]}\n",
    );
    directory.file("out/one.json", r#"{"text": "Paris"}"#);
    directory.file("out/two.txt", "Oslo");
    directory.run(&["e.yaml", "--outputs", "out", "--save-run", RUN]).exits(1);
    let repro = || directory.evaluator(&["repro", RUN, "two", "capitals"]);
    assert_eq!(repro().exits(0).stdout, "reproduced: 0.000, FAILED, as recorded\n");
    directory.file("out/one.json", r#"{"text": "Rom"}"#);
    repro().exits(0);
    directory.file("out/two.txt", "Rome");
    repro().exits(2).says("content: the recording is not the one that was read");
}

#[test]
fn pages_have_the_command() {
    let directory = directory("check.py", "print('{\"score\": 0.0}')", "");
    let entry = directory.read("c.yaml");
    for (name, words) in [
        ("trace", &["repro", RUN, "trace0", "check"][..]),
        // Producers choose trace ids.
        ("--live", &["repro", "--", RUN, "--live0", "check"]),
    ] {
        recorded(&directory, name, &["yes", "no"]);
        directory.file("c.yaml", &entry);
        saved(&directory, 1);
        directory.evaluator(&["report", RUN, "-o", "html=r.html"]).exits(1);
        let page = Page::read(&directory.read("r.html"));
        let evaluation = &page.cases[&0]["evaluations"][0];
        assert_eq!(evaluation["repro"], json!([format!("evaluator {}", words.join(" "))]));
        directory.evaluator(words).exits(0);
    }
}

#[test]
fn cases_are_named_by_their_attribute_and_conversations_may_be_in_several_files() {
    let directory = Directory::new();
    let span = |trace: &str, said: &str, start: u32| {
        let attribute =
            |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": said}]}]);
        let span = json!({
            "traceId": trace, "spanId": "s",
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": "3000001",
            "attributes": [
                attribute("gen_ai.operation.name", "chat"),
                attribute("gen_ai.conversation.id", "talk"),
                attribute("ticket", "T-1"),
                attribute("gen_ai.input.messages", &said.to_string()),
            ],
        });
        format!("{span}\n")
    };
    directory.file("one.jsonl", span("a1", "first", 1));
    directory.file("two.jsonl", span("b2", "second", 2));
    directory.file("check.py", "print('{\"score\": 0.0}')");
    directory.file("c.yaml", "evaluators:\n- {name: check, type: code, path: check.py}\n");
    let options = ["--group-by", "conversation", "--case-key", "ticket", "--save-run", RUN];
    directory.run(&[&["one.jsonl", "two.jsonl", "-c", "c.yaml"], &options[..]].concat()).exits(1);
    let repro =
        |more: &[&str]| directory.evaluator(&[&["repro", RUN, "T-1", "check"], more].concat());
    repro(&[]).exits(2).says("--traces names all of them");
    let both = repro(&["--traces", "one.jsonl", "--traces", "two.jsonl"]).exits(0);
    assert_eq!(both.stdout, "reproduced: 0.000, FAILED, as recorded\n");
}
