//! Metrics that a model judges, with scripted replies and recordings.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::fs;

use serde_json::{Value, json};

use crate::support::{Directory, Ran, eval_set, finish, processes::wait_for_line, trace};

const VALID: &str = r#"{"reasoning": "same", "is_the_agent_response_valid": "valid"}"#;
const INVALID: &str = r#"{"reasoning": "other", "is_the_agent_response_valid": "invalid"}"#;

/// Lines of a script of replies.
fn script(directory: &Directory, replies: &[&str]) {
    let lines: Vec<String> = replies.iter().map(|it| json!(it).to_string()).collect();
    directory.file("replies.jsonl", lines.join("\n"));
}

/// Runs metrics with the scripted model over a conversation of one turn that has a golden case.
fn run(directory: &Directory, metric: &str, more: &[&str]) -> Ran {
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
    let args = ["run", &trace, "-e", &goldens, "-m", metric, "-o", "json", "--no-config"];
    evaluator(directory, &[&args[..], more].concat())
}

/// Runs `evaluator` without keys of models.
fn evaluator(directory: &Directory, args: &[&str]) -> Ran {
    let mut command = directory.command(args);
    for name in ["OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"] {
        command.env_remove(name);
    }
    finish(command.spawn().unwrap())
}

fn metric(ran: &Ran) -> Value {
    ran.json()["traces"][0]["metrics"][0].clone()
}

const MATCH: &str = "final_response_match_v2";

#[test]
fn the_votes_of_a_judge_are_the_score_and_are_all_shown() {
    let directory = Directory::new();
    script(&directory, &[VALID, VALID, INVALID, VALID, INVALID]);
    let model = ["-j", "fake:replies.jsonl"];
    let ran = run(&directory, MATCH, &model).exits(0).says("judges: 5 calls");
    let metric = metric(&ran);
    assert_eq!((&metric["score"], &metric["eval_status"]), (&json!(1.0), &json!("PASSED")));
    let judge = &metric["details"]["judge"];
    assert_eq!(judge["model"], "fake/replies.jsonl");
    assert_eq!((&judge["samples"], &judge["readable"]), (&json!(5), &json!(5)));
    assert_eq!((&judge["agreement"], &judge["close"]), (&json!(0.6), &json!(true)));
    assert_eq!(
        (&judge["votes"][0]["positive"], &judge["votes"][0]["negative"]),
        (&json!(3), &json!(2))
    );
    assert_eq!((&judge["calls"], &judge["replayed"]), (&json!(5), &json!(0)));
    let texts: Vec<&str> = judge["replies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, [VALID, VALID, INVALID, VALID, INVALID]);
    // The script has no sixth reply, and a failure is an error, never a score.
    let ran =
        run(&directory, MATCH, &["-j", "fake:replies.jsonl", "--judge-samples", "6"]).exits(3);
    let error = ran.error_of(MATCH);
    assert!(error.contains("turn 1: sample 6: config: model `fake/replies.jsonl`"), "{error}");
    assert_eq!(self::metric(&ran)["details"]["judge"]["votes"][0]["positive"], 3);
}

#[test]
fn every_format_names_the_failure_of_a_judge() {
    let directory = Directory::new();
    script(&directory, &[VALID, "I cannot say.", "I cannot say.", "I cannot say.", VALID]);
    for format in ["table", "json", "junit", "markdown", "github", "summary"] {
        let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
        let args =
            ["run", &trace, "-e", &goldens, "-m", MATCH, "-j", "fake:replies.jsonl", "-o", format];
        let ran = evaluator(&directory, &args).exits(3);
        let text = format!("{}{}", ran.stdout, ran.stderr);
        assert!(text.contains("too few readable replies (2 of 5)"), "{format}: {text}");
    }
}

#[test]
fn what_is_missing_is_a_problem_of_the_configuration() {
    let directory = Directory::new();
    let config = |judge: &str| {
        directory.file(
            "c.yaml",
            format!("judge: {judge}\nevaluators:\n- {{name: {MATCH}, type: builtin}}\n"),
        );
        let trace = trace("k01_traj_exact");
        evaluator(&directory, &["run", &trace, "-c", "c.yaml"]).exits(2).reports_nothing()
    };
    directory.file("prompt.md", "Is {{respnse}} right?");
    directory.file("prices.yaml", "other: {input: 1, output: 2}");
    for (judge, expected) in [
        ("{}", "needs a key: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("{}", "this is the default model; name another one as `judge: {model: ..}`"),
        ("{model: openai/gpt-4o-mini}", "needs a key: set OPENAI_API_KEY"),
        ("{model: hosted_vllm/q}", "needs a base URL"),
        ("{model: bedrock/x}", "Bedrock is not supported yet"),
        ("{model: unknown/x}", "of no known provider; known are openai/MODEL"),
        ("{model: openai/x, api_key_env: MY_KEY}", "the variable MY_KEY"),
        ("{model: openai/x, credential_ref: team}", "the credential `team` is not known"),
        ("{model: 'fake:gone.jsonl'}", "fake:gone.jsonl"),
        ("{model: openai/x, mode: replay}", "`mode: replay` needs a cassette"),
        (
            "{model: openai/x, mode: replay, cassette: gone.jsonl}",
            "gone.jsonl: the file does not exist; record it first",
        ),
        ("{model: openai/x, cassette: gone/c.jsonl, api_key_env: PATH}", "is not a directory"),
        ("{prompts: {final_response_match_v2: gone.md}}", "gone.md, which does not exist"),
        ("{prompts: {final_response_match_v2: prompt.md}}", "did you mean `response`?"),
        ("{model: 'fake:prompt.md', swap: true}", "`swap` needs an even number of samples"),
        (
            "{model: openai/x, api_key_env: PATH, budget: {money: 5}, prices: prices.yaml}",
            "these models have no price: openai/x",
        ),
        ("{model: openai/x, base_url: 'http://example.com', api_key_env: HOME}", "http"),
    ] {
        let ran = config(judge);
        assert!(ran.stderr.contains(expected), "{judge}: {}", ran.stderr);
    }
    // The position is that of the settings: of the entry or of all.
    assert!(config("{model: unknown/x}").stderr.contains("c.yaml:1:8"));
    directory.file(
        "own.yaml",
        format!("evaluators:\n- {{name: {MATCH}, type: builtin, judge: {{model: unknown/x}}}}\n"),
    );
    evaluator(&directory, &["check", "own.yaml"]).exits(2).says("own.yaml:2:57");
    // `check` finds the same.
    let ran = evaluator(&directory, &["check", "c.yaml"]).exits(2).says("of no known provider");
    assert!(ran.stdout.contains("[FAIL]") && !ran.stdout.contains("[PASS]"), "{}", ran.stdout);
}

#[test]
fn a_recording_is_replayed_without_a_key_and_with_the_same_report() {
    let directory = Directory::new();
    script(&directory, &[VALID, VALID, INVALID, VALID, INVALID]);
    let model = ["-j", "fake:replies.jsonl", "--judge-cassette", "c.jsonl"];
    let recorded = run(&directory, MATCH, &model).exits(0);
    let bytes = directory.read("c.jsonl");
    assert_eq!(bytes.lines().count(), 5);
    fs::remove_file(directory.join("replies.jsonl")).unwrap();
    let replayed = run(&directory, MATCH, &[&model[..], &["--judge-mode", "replay"]].concat());
    let replayed = replayed.exits(0).says("5 calls (100 % replayed)");
    let comparable = |ran: &Ran| {
        let mut report = ran.json();
        let metric = &mut report["traces"][0]["metrics"][0];
        metric["duration_ms"].take();
        metric["details"]["judge"]["duration_ms"].take();
        metric["details"]["judge"]["replayed"].take();
        report.to_string()
    };
    assert_eq!(comparable(&replayed), comparable(&recorded));
    assert_eq!(directory.read("c.jsonl"), bytes);
    directory.file("c.yaml", format!("evaluators: [{{name: {MATCH}, type: builtin}}]"));
    let check = ["check", "c.yaml", "--judge-model", model[1], model[2], model[3]];
    evaluator(&directory, &check).exits(2).says("replies.jsonl");
    evaluator(&directory, &[&check[..], &["--judge-mode", "replay"]].concat()).exits(0);
    // Any model's replies, by their messages alone.
    let any = ["-j", "replay", "--judge-cassette", "c.jsonl"];
    let ran = run(&directory, MATCH, &any).exits(0);
    assert_eq!(metric(&ran)["score"], 1.0);
}

#[test]
fn a_changed_rubric_is_a_miss_that_names_it() {
    let directory = Directory::new();
    let metric = "rubric_based_final_response_quality_v1";
    let config = |rubric: &str| {
        directory.file(
            "c.yaml",
            format!(
                "judge: {{model: 'fake:replies.jsonl', samples: 1, cassette: c.jsonl}}\nevaluators:\n\
                 - {{name: {metric}, type: builtin, rubrics: [{rubric}]}}\n"
            ),
        );
    };
    let trace = trace("k01_traj_exact");
    let run = |more: &[&str]| {
        let args = ["run", &trace, "-c", "c.yaml", "-o", "json"];
        evaluator(&directory, &[&args[..], more].concat())
    };
    script(&directory, &["ID: rubric_0\nProperty: Is polite.\nRationale: yes\nVerdict: yes"]);
    config("Is polite.");
    run(&[]).exits(0);
    config("Is polite!");
    let ran = run(&["--judge-mode", "replay"]).exits(3);
    let error = ran.error_of(metric);
    assert!(error.contains("not_in_cassette"), "{error}");
    assert!(error.contains("differs at") && error.contains("polite!"), "{error}");
    assert!(error.contains("run once with `--judge-mode auto` to record it"), "{error}");
}

#[test]
fn a_broken_line_of_a_cassette_is_named() {
    let directory = Directory::new();
    directory.file("c.jsonl", "{}\n");
    let model = ["-j", "openai/x", "--judge-mode", "replay", "--judge-cassette", "c.jsonl"];
    run(&directory, MATCH, &model).exits(2).says("line 1: is not a record");
    // Nor is a record believed that shows other messages than those of its key.
    script(&directory, &[VALID; 2]);
    let fake = ["-j", "fake:replies.jsonl", "--judge-cassette", "d.jsonl", "--judge-samples", "2"];
    run(&directory, MATCH, &fake).exits(0);
    let text = directory.read("d.jsonl");
    let shown = r#""messages":[{"content":""#;
    let (before, last) = text.trim_end().rsplit_once('\n').unwrap();
    directory
        .file("d.jsonl", format!("{before}\n{}\n", last.replacen(shown, &format!("{shown}x"), 1)));
    run(&directory, MATCH, &fake).exits(2).says("line 2: `prompt_sha` is not the digest of");
}

#[test]
fn a_record_that_cannot_be_written_leaves_no_half_line() {
    let directory = Directory::new();
    script(&directory, &[VALID]);
    let line = |limit: &str| {
        format!(
            "{limit} '{}' run '{}' -e '{}' -m {MATCH} --no-config -j fake:replies.jsonl \
             --judge-samples 1 --judge-cassette c.jsonl --save-run r.evalrun -o json",
            env!("CARGO_BIN_EXE_evaluator"),
            trace("k01_traj_exact"),
            eval_set("library"),
        )
    };
    // Files of at most 512 bytes: less than a record.
    let full = directory.sh(&line("ulimit -f 1;")).exits(3);
    assert!(full.stdout.contains("cassette c.jsonl: "), "{}", full.stdout);
    assert_eq!(directory.read("c.jsonl"), "");
    directory.sh(&line("")).exits(0);
    // That of a run that was killed while it wrote is left out.
    let whole = directory.read("c.jsonl");
    directory.file("c.jsonl", &whole[..whole.len() - 9]);
    let cut = directory.sh(&line("")).exits(0);
    assert!(cut.stderr.contains("c.jsonl: line 1 is cut off"), "{}", cut.stderr);
    assert_eq!(directory.read("c.jsonl"), whole);
}

#[cfg(unix)]
#[test]
fn a_wait_for_a_process_that_writes_the_same_cassette_is_reported() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = Directory::new();
    directory.file("c.jsonl", "");
    let tidy = || {
        let mut command = directory.command(&["judge", "tidy", "c.jsonl"]);
        command.env("XDG_CACHE_HOME", directory.join("cache"));
        command
    };
    finish(tidy().spawn().unwrap()).exits(0);
    let locks: Vec<_> = fs::read_dir(directory.join("cache/evaluator/locks")).unwrap().collect();
    let lock = locks[0].as_ref().unwrap().path();
    assert_eq!(fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o600);
    let held = fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    let said = directory.join("said");
    let mut waiting = tidy().stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    let line = wait_for_line(&said);
    assert!(
        line.contains("waiting for another process that writes the cassette c.jsonl"),
        "{line}"
    );
    drop(held);
    assert!(waiting.wait().unwrap().success());
}

#[test]
fn a_spent_budget_is_an_error_of_the_run() {
    let directory = Directory::new();
    script(&directory, &[VALID; 5]);
    let ran = run(&directory, MATCH, &["-j", "fake:replies.jsonl", "--judge-budget", "calls=4"]);
    let error = ran.exits(3).error_of(MATCH);
    assert!(error.contains("budget_exceeded") && error.contains("spent (4 calls)"), "{error}");
    run(&directory, MATCH, &["-j", "fake:replies.jsonl", "--judge-budget", "money=1"])
        .exits(2)
        .says("have no price");
    run(&directory, MATCH, &["-j", "fake:replies.jsonl", "--judge-budget", "call=4"]).exits(2);
}

#[test]
fn a_resumed_run_asks_again_after_a_change_of_the_judge() {
    let directory = Directory::new();
    let ask = |replies: &[&str], more: &[&str]| {
        script(&directory, replies);
        let model = ["-j", "fake:replies.jsonl", "--save-run", "run.evalrun", "--resume"];
        run(&directory, MATCH, &[&model[..], more].concat())
    };
    ask(&[VALID; 5], &[]).exits(0).says("judges: 5 calls");
    let reused = ask(&[VALID; 5], &[]).exits(0);
    assert!(!reused.stderr.contains("judges:"), "{}", reused.stderr);
    let again = ask(&[INVALID; 3], &["--judge-samples", "3"]).exits(1);
    assert!(again.stderr.contains("judges: 3 calls"), "{}", again.stderr);
    // A failure is asked for again.
    let saved = directory.evaluator(&["report", "run.evalrun", "-o", "json"]).exits(1);
    assert_eq!(metric(&saved)["details"]["judge"]["samples"], 3);
}

#[test]
fn a_resumed_run_takes_no_verdict_of_what_answered_otherwise() {
    let directory = Directory::new();
    directory.file("in.jsonl", json!(VALID).to_string());
    let fake = |text: &str| drop(directory.file("in.jsonl", json!(text).to_string()));
    let program = |text: &str| {
        let answer = json!({"text": text}).to_string();
        directory.script("model", &format!("cat >/dev/null; cat <<'END'\n{answer}\nEND"));
    };
    let cassette = |text: &str| {
        let valid = json!(VALID).to_string();
        let recorded = directory.read("c.jsonl").replace(&json!(INVALID).to_string(), &valid);
        directory.file("c.jsonl", recorded.replace(&valid, &json!(text).to_string()));
    };
    let record = ["-j", "fake:in.jsonl", "--judge-cassette", "c.jsonl", "--judge-samples", "1"];
    run(&directory, MATCH, &record).exits(0);
    let replay = ["-j", "fake:in.jsonl", "--judge-cassette", "c.jsonl", "--judge-mode", "replay"];
    let auto = ["-j", "fake:in.jsonl", "--judge-cassette", "c.jsonl"];
    let by_file = ["-j", "fake:in.jsonl"];
    let by_program = ["-j", "command:model"];
    let models = [&by_file[..], &by_program, &replay, &auto];
    let answers: [&dyn Fn(&str); 4] = [&fake, &program, &cassette, &cassette];
    for (model, answers) in models.into_iter().zip(answers) {
        let saved = ["--judge-samples", "1", "--save-run", "r.evalrun", "--resume"];
        let more = [model, &saved].concat();
        answers(VALID);
        run(&directory, MATCH, &more).exits(0).says("judges: 1 call");
        let reused = run(&directory, MATCH, &more).exits(0);
        assert!(!reused.stderr.contains("judges:"), "{model:?}: {}", reused.stderr);
        answers(INVALID);
        run(&directory, MATCH, &more).exits(1).says("judges: 1 call");
        directory.file("r.evalrun", "");
    }
    // Everything is asked, and replaced.
    fake(VALID);
    let replaces = [&auto[..], &["--judge-samples", "1", "--judge-mode", "record"]].concat();
    let more = [&replaces[..], &["--save-run", "r.evalrun", "--resume"]].concat();
    for _ in 0..2 {
        run(&directory, MATCH, &more)
            .exits(0)
            .says("cannot be reused: `mode: record` asks every question again")
            .says("judges: 1 call");
    }
}

#[test]
fn prompts_are_shown_and_replaced() {
    let directory = Directory::new();
    let listed = evaluator(&directory, &["judge", "show"]).exits(0).stdout;
    assert!(listed.contains("hallucinations_v1.validate"), "{listed}");
    let own = evaluator(&directory, &["judge", "show", MATCH]).exits(0).stdout;
    assert!(own.contains("{{golden_response}}"), "{own}");
    let both = evaluator(&directory, &["judge", "show", "hallucinations_v1"]).exits(0).stdout;
    assert!(both.contains("hallucinations_v1.segment") && both.contains("{{sentences}}"), "{both}");
    evaluator(&directory, &["judge", "show", "nothing"])
        .exits(2)
        .says("there is no prompt `nothing`");

    directory
        .file("own.md", "Own instructions.\n=====\nOne: {{response}}\nTwo: {{golden_response}}");
    directory.file(
        "c.yaml",
        format!(
            "judge:\n  model: fake:replies.jsonl\n  samples: 1\n  cassette: c.jsonl\n  prompts: {{{MATCH}: own.md}}\n\
             evaluators:\n- {{name: {MATCH}, type: builtin}}\n"
        ),
    );
    script(&directory, &[VALID]);
    let (trace, goldens) = (trace("k01_traj_exact"), eval_set("library"));
    evaluator(&directory, &["run", &trace, "-e", &goldens, "-c", "c.yaml"]).exits(0);
    let record: Value = serde_json::from_str(&directory.read("c.jsonl")).unwrap();
    assert_eq!(record["messages"][0]["content"], "Own instructions.");
    assert!(record["messages"][1]["content"].as_str().unwrap().starts_with("One: "), "{record}");
}

#[test]
fn a_cassette_is_tidied() {
    let directory = Directory::new();
    script(&directory, &[VALID; 5]);
    let model = ["-j", "fake:replies.jsonl", "--judge-cassette", "c.jsonl"];
    run(&directory, MATCH, &model).exits(0);
    let bytes = directory.read("c.jsonl");
    // As two branches that were merged.
    directory.file("c.jsonl", format!("{bytes}\n{bytes}"));
    evaluator(&directory, &["judge", "tidy", "c.jsonl"]).exits(0).reports("5 records (5 repeated");
    assert_eq!(directory.read("c.jsonl"), bytes);
    script(&directory, &[VALID; 3]);
    let three = ["--judge-samples", "3", "--save-run", "run.evalrun"];
    run(&directory, MATCH, &[&model[..], &three].concat()).exits(0);
    let tidy = ["judge", "tidy", "c.jsonl", "--unused-since-run", "run.evalrun"];
    evaluator(&directory, &tidy).exits(0).reports("3 records (0 repeated and 2 unused removed)");
    assert_eq!(directory.read("c.jsonl").lines().count(), 3);
    directory.file("broken.jsonl", "nonsense\n");
    evaluator(&directory, &["judge", "tidy", "broken.jsonl"])
        .exits(2)
        .says("line 1: is not a record");
}

/// Checks of the standard output.
trait Reports {
    fn reports(self, text: &str) -> Self;
}

impl Reports for Ran {
    #[track_caller]
    fn reports(self, text: &str) -> Self {
        assert!(self.stdout.contains(text), "{}", self.stdout);
        self
    }
}

#[test]
fn what_was_not_recorded_is_not_judged() {
    let directory = Directory::new();
    script(&directory, &[]);
    // Without an eval set there is nothing to compare with.
    let trace = trace("k01_traj_exact");
    let args = ["run", &trace, "-m", MATCH, "-j", "fake:replies.jsonl", "-o", "json"];
    let ran = evaluator(&directory, &args).exits(1);
    assert_eq!(ran.evaluations(0), [format!("{MATCH} NOT_EVALUATED")]);
    assert_eq!(metric(&ran)["details"]["reason"], "no eval set provided");
}
