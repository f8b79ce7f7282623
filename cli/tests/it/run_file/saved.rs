//! `evaluator report`: saved runs in all forms, runs that were killed, and parts of runs.

use super::*;
use crate::support;

/// A directory with everything that a report may contain: failures, errors, retries, contradictions, trace files of which a
/// part cannot be used, and golden cases without a recording.
fn all_kinds() -> Directory {
    let directory = Directory::new();
    directory.script("fails", r#"cat >/dev/null; echo '{"score": 0.25, "details": {"why": "é", "big": 123456789012345678901234567890}}'"#);
    directory.script("contradicts", r#"cat >/dev/null; echo '{"score": 1, "status": "FAILED"}'"#);
    directory.script("breaks", BREAKS);
    directory.file("c.yaml", config(&["fails", "contradicts", "breaks"]));
    let text = fs::read_to_string(trace("i11_five_traces_plain")).unwrap();
    directory.file("five.json", text);
    directory.file("broken.json", "{\"resourceSpans\": [{\"scopeSpans\": 1}]}");
    directory
}

/// The arguments that write each form to a file with this prefix.
fn forms(prefix: &str) -> Vec<String> {
    support::all_output_formats()
        .flat_map(|form| ["-o".to_owned(), format!("{form}={prefix}.{form}")])
        .collect()
}

/// Runs `evaluator` in the directory.
fn evaluator(directory: &Directory, args: &[&str], more: &[String]) -> Ran {
    let more = more.iter().map(String::as_str);
    let args: Vec<&str> = args.iter().copied().chain(more).collect();
    finish(directory.command(&args).env("RUN", "0").spawn().unwrap())
}

fn form(directory: &Directory, prefix: &str, form: &str) -> String {
    fs::read_to_string(directory.path().join(format!("{prefix}.{form}"))).unwrap()
}

/// A report without durations: numbers with a unit, columns of them, and the lines and attributes that hold one.
fn without_durations(text: &str) -> String {
    let is_duration = |line: &&str| !line.contains("\"duration_ms\"");
    let lines = text.lines().filter(is_duration).map(|line| {
        let words = line.split_whitespace().map(|word| {
            let bare = word.replace(|c: char| c.is_ascii_digit() || ".-".contains(c), "");
            let is_time = word.starts_with("time=") || bare.ends_with("ms") || bare == "s";
            if is_time || bare.ends_with("s]") { "_" } else { word }
        });
        words.filter(|word| !word.starts_with("---")).collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_saved_run_is_reported_as_it_was_in_every_form() {
    let directory = all_kinds();
    let goldens = eval_set("library");
    let run = ["run", "five.json", "broken.json", "-c", "c.yaml", "-e", &goldens];
    let unsaved = evaluator(&directory, &run, &forms("unsaved")).exits(3);
    let live = evaluator(&directory, &[&run[..], &SAVE].concat(), &forms("live")).exits(3);
    let resumed = evaluator(&directory, &[&run[..], &RESUME].concat(), &forms("resumed")).exits(3);
    let saved = evaluator(&directory, &["report", FILE], &forms("saved")).exits(3);
    for name in support::all_output_formats() {
        let form =
            |directory: &Directory, prefix: &str, name: &str| match form(directory, prefix, name) {
                // Durations are the last column.
                text if name == "csv" => text
                    .lines()
                    .map(|line| {
                        line.rsplit_once(',').map_or(line, |(rest, _)| rest).to_owned() + "\n"
                    })
                    .collect(),
                text => text,
            };
        let text = form(&directory, "saved", name);
        // Nothing is evaluated again, so this is the same with all durations, but for the number of results that were reused.
        let resumed = form(&directory, "resumed", name);
        assert_eq!(text, resumed, "{name}");
        // It has the identity and the start of the run, and compressed durations.
        if name == "html" {
            continue;
        }
        for prefix in ["unsaved", "live"] {
            let text = without_durations(&form(&directory, prefix, name));
            let expected = without_durations(&resumed);
            let reused = "; 20 of 20 results from an earlier run";
            let lines = |text: &str| {
                // There is nothing to run again without a file.
                let is_hint = |line: &&str| line.contains("Run the worst one again: ");
                let lines = text.lines().filter(|line| !line.is_empty() && !is_hint(line));
                lines.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(lines(&text), lines(&expected.replace(reused, "")), "{name} {prefix}");
        }
    }
    // What is on stderr after the report is the same, too.
    let last = |ran: &Ran| ran.stderr.lines().last().unwrap().to_owned();
    assert_eq!(last(&saved), last(&resumed));
    assert_eq!(last(&unsaved), last(&live));
    for text in ["broken.json", "golden cases without a recording"] {
        assert!(
            saved.stderr.contains(text) || form(&directory, "saved", "json").contains(text),
            "{text}"
        );
    }
}

#[test]
fn the_exit_code_is_that_of_the_policy_of_the_run() {
    let directory = Directory::new();
    directory
        .script("breaks-once", r#"case "$(cat)" in *'five'*) exit 7;; esac; echo '{"score": 1}'"#);
    directory.script("low", r#"cat >/dev/null; echo '{"score": 0.1}'"#);
    directory.script("good", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.script("breaks", BREAKS);
    let five = trace("i11_five_traces_plain");
    for (evaluators, more, code) in [
        (&["good"][..], &[][..], 0),
        (&["low"], &[], 1),
        (&["good", "breaks"], &[], 3),
        (&["good"], &["--require-evaluated"], 0),
        (&["low"], &["--fail-fast", "--jobs", "1"], 1),
    ] {
        let entries: Vec<String> = evaluators
            .iter()
            .map(|name| format!("  - {{name: {name}, type: code, path: ./{name}}}\n"))
            .collect();
        directory.file("c.yaml", format!("evaluators:\n{}", entries.concat()));
        let args = [&["run", &five, "-c", "c.yaml"][..], more, &SAVE].concat();
        let live = evaluator(&directory, &args, &[]).exits(code);
        let saved = evaluator(&directory, &["report", FILE], &[]).exits(code);
        assert_eq!(live.stdout, saved.stdout, "{evaluators:?} {more:?}");
        assert_eq!(live.stderr.lines().last(), saved.stderr.lines().last());
    }
}

#[test]
fn a_run_that_did_not_end_is_reported_as_partial() {
    let directory = directory();
    directory.file("kill-at", "7");
    let killed = run(&directory, "0", &[&SAVE[..], &["--jobs", "1"]].concat());
    assert!(killed.code.is_none(), "{}", killed.stderr);
    let report = evaluator(&directory, &["report", FILE, "-o", "json"], &[]).exits(3);
    let json = report.json();
    let outcomes: Vec<String> = json["traces"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|trace| trace["metrics"].as_array().unwrap())
        .map(|metric| metric["outcome"].as_str().unwrap().to_owned())
        .collect();
    let finished = outcomes.iter().filter(|outcome| *outcome != "not_run").count();
    assert_eq!((finished, outcomes.len() % 4), (records(&directory), 0), "{json}");
    assert_eq!(json["partial"], true);
    report
        .says("partial: the run file ends before everything was evaluated")
        .says("1 error outside of any conversation");
    let text = json["errors"][0].as_str().unwrap();
    assert!(
        text.starts_with("r.evalrun has no end line: the run was killed or still goes on"),
        "{text}"
    );
}

#[test]
fn parts_of_a_run_are_one_report() {
    let directory = directory();
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let part = |traces: &str, file: &str, config: &str| {
        let args = ["run", traces, "-c", config, "-o", "json", "--save-run", file];
        evaluator(&directory, &args, &[]).json()["traces"].clone()
    };
    let (first, second) = (part(&five, "1.evalrun", "c.yaml"), part(&one, "2.evalrun", "c.yaml"));
    // They may as well be runs of two versions of an agent.
    evaluator(&directory, &["report", "1.evalrun", "2.evalrun"], &[])
        .exits(2)
        .says("1.evalrun and 2.evalrun are runs over different traces, which are not one run")
        .says("report each by itself, or `compare` them")
        .reports_nothing();
    let parts = ["report", "1.evalrun", "2.evalrun", "--parts", "-o", "json"];
    let both = evaluator(&directory, &parts, &[]);
    let expected = [first, second].map(|it| it.as_array().unwrap().clone()).concat();
    assert_eq!(both.exits(3).json()["traces"], serde_json::Value::Array(expected));
    let refused = |second: &str, difference: &str| {
        evaluator(&directory, &["report", "1.evalrun", second], &[])
            .exits(2)
            .says(&format!("1.evalrun and {second} are not parts of one run: {difference}"))
            .reports_nothing();
    };
    refused("1.evalrun", "the conversation of trace ");
    directory.file("d.yaml", config(&["one", "two"]));
    part(&one, "3.evalrun", "d.yaml");
    refused("3.evalrun", "`evaluators.breaks` is only in the first");
    directory.script("two", &format!("{SCORES} # edited"));
    part(&one, "4.evalrun", "c.yaml");
    refused("4.evalrun", "`evaluators.two.code.two` is another one");
}

#[test]
fn parts_are_sliced_by_what_all_of_them_recorded() {
    let directory = directory();
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let part = |traces: &str, file: &str, by: &[&str]| {
        let args = ["run", traces, "-c", "c.yaml", "-o", "json", "--save-run", file];
        let by = by.iter().flat_map(|it| ["--by", it]);
        evaluator(&directory, &args.into_iter().chain(by).collect::<Vec<_>>(), &[]);
    };
    let (model, operation) = ("gen_ai.request.model", "gen_ai.operation.name");
    part(&five, "1.evalrun", &[operation, model]);
    part(&one, "2.evalrun", &[]);
    part(&one, "3.evalrun", &[operation]);
    let sliced = |first: &str, second: &str, by: &[&str]| {
        let args = [&["report", first, second, "--parts", "-o", "json"], by].concat();
        let json = evaluator(&directory, &args, &[]).json();
        let by = json["slices"].as_array().into_iter().flatten();
        let by: Vec<String> = by.map(|it| it["by"].as_str().unwrap().to_owned()).collect();
        (by, json["warnings"].to_string())
    };
    let report = |first: &str, second: &str| sliced(first, second, &[]);
    for (first, second) in [("1.evalrun", "2.evalrun"), ("2.evalrun", "1.evalrun")] {
        let (by, warnings) = report(first, second);
        assert_eq!(by, [model], "{first}");
        let says = format!("the parts are not sliced by `{operation}`, because 2.evalrun did not");
        assert!(warnings.contains(&says), "{warnings}");
    }
    // So are they by an option.
    let (by, warnings) = sliced("1.evalrun", "2.evalrun", &["--by", operation, "--by", model]);
    assert_eq!(by, [model]);
    let says = format!("the parts are not sliced by `{operation}`, because 2.evalrun did not");
    assert!(warnings.contains(&says), "{warnings}");
    // Every file has the names of agents: conversations without one have none.
    part(&trace("k01_traj_exact"), "4.evalrun", &[]);
    let agent = "gen_ai.agent.name";
    let (by, warnings) = sliced("4.evalrun", "1.evalrun", &["--by", agent]);
    assert_eq!(by, [agent], "{warnings}");
    let (mut by, warnings) = report("3.evalrun", "1.evalrun");
    by.sort();
    assert_eq!(by, [operation, model]);
    assert!(!warnings.contains("not sliced"), "{warnings}");
}

#[test]
fn calls_of_judges_are_those_of_all_parts() {
    let directory = Directory::new();
    let reply = r#"cat >/dev/null; echo '{"text": "{\"reasoning\": \"r\", \"score\": 1}"}'"#;
    directory.script("model", reply);
    let entry = "{name: good, type: llm_judge, prompt: 'Good? {{ response }}', judge: {model: 'command:model', samples: 1}}";
    directory.file("c.yaml", format!("evaluators: [{entry}]\n"));
    for (name, file) in
        [("i11_five_traces_plain", "1.evalrun"), ("a01_otlp_basic_parts", "2.evalrun")]
    {
        let traces = trace(name);
        evaluator(&directory, &["run", &traces, "-c", "c.yaml", "--save-run", file], &[]);
    }
    let calls = |files: &[&str]| {
        let ran = evaluator(&directory, &[&["report", "--parts"], files].concat(), &[]);
        let line = ran.stderr.lines().find(|line| line.contains("judges: ")).unwrap_or("none");
        line.split(", ").next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        ["1.evalrun", "2.evalrun"].map(|it| calls(&[it])),
        ["judges: 5 calls", "judges: 1 call"]
    );
    assert_eq!(calls(&["2.evalrun", "1.evalrun"]), "judges: 6 calls");
}

#[test]
fn parts_of_a_run_have_the_same_gates() {
    let directory = directory();
    let (one, five) = (trace("a01_otlp_basic_parts"), trace("i11_five_traces_plain"));
    let part = |traces: &str, file: &str, more: &[&str]| {
        let args = ["run", traces, "-c", "c.yaml", "-o", "json", "--save-run", file];
        evaluator(&directory, &[&args[..], more].concat(), &[]);
    };
    let gate = ["--gate", "one: mean >= 0.9"];
    part(&five, "1.evalrun", &gate);
    part(&one, "2.evalrun", &[]);
    part(&one, "3.evalrun", &[&gate[..], &["--inconclusive", "pass"]].concat());
    for (second, difference) in
        [("2.evalrun", "their gates differ"), ("3.evalrun", "`inconclusive` is ")]
    {
        for [first, second] in [["1.evalrun", second], [second, "1.evalrun"]] {
            evaluator(&directory, &["report", first, second, "--parts"], &[])
                .exits(2)
                .says(&format!("{first} and {second} are not parts of one run: {difference}"))
                .reports_nothing();
        }
    }
}

#[test]
fn no_secret_and_no_environment_is_in_the_file() {
    let directory = Directory::new();
    directory.script("one", r#"cat >/dev/null; echo '{"score": 1}'"#);
    let entry = "evaluators: [{name: one, type: code, path: ./one, env: [MY_API_KEY, MODEL], config: {a: 1}}]";
    directory.file("c.yaml", entry);
    let five = trace("i11_five_traces_plain");
    let mut command = directory.command(&["run", &five, "-c", "c.yaml", "--save-run", FILE]);
    command.env("MY_API_KEY", "secret-1234").env("MODEL", "model-5678");
    finish(command.spawn().unwrap()).exits(0);
    let path = directory.path().join(FILE);
    let text = fs::read_to_string(&path).unwrap();
    for absent in ["secret-1234", "model-5678", "MY_API_KEY", directory.path().to_str().unwrap()] {
        assert!(!text.contains(absent), "{absent}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn another_directory_with_the_same_evaluators_can_resume_a_run() {
    let (here, there) = (directory(), directory());
    run(&here, "0", &SAVE).exits(3);
    fs::copy(here.path().join(FILE), there.path().join(FILE)).unwrap();
    run(&there, "1", &RESUME).exits(3).says(&taken(4 * CONVERSATIONS));
    assert_eq!(starts(&there, "1"), [""; 0]);
}

#[test]
fn programs_of_one_name_outside_of_the_directory_of_the_configuration_are_different_ones() {
    let directory = Directory::new();
    for (place, score) in [("a", "1"), ("b", "0")] {
        let path = format!("{place}/check");
        directory.file(&format!("{place}/score"), score);
        directory.script(&path, r#"cat >/dev/null; echo "{\"score\": $(cat "${0%/*}/score")}""#);
    }
    let run = |place: &str, more: &[&str]| {
        let entry = format!("evaluators: [{{name: one, type: code, path: ../{place}/check}}]");
        directory.file("evals/c.yaml", entry);
        let one = trace("a01_otlp_basic_parts");
        let args = ["run", &one, "-c", "evals/c.yaml", "--save-run", FILE];
        evaluator(&directory, &[&args[..], more].concat(), &[])
    };
    run("a", &[]).exits(0);
    run("a", &["--resume"]).exits(0).says("1 of 1 result from an earlier run");
    run("b", &["--resume"]).exits(1);
}

/// Rounds of the next test; `EVALUATOR_TEST_KILLS` sets another number.
const KILLS: usize = 12;

#[test]
fn whenever_the_host_is_killed_what_it_reported_is_in_the_file() {
    let directory = directory();
    // A little work, so that the host is killed at different stages.
    let waits = |script: &str| script.replacen("length=", "sleep 0.02; length=", 1);
    for name in ["one", "two"] {
        directory.script(name, &waits(SCORES));
    }
    let whole = run(&directory, "whole", &[]).exits(3);
    let rounds = std::env::var("EVALUATOR_TEST_KILLS").map_or(KILLS, |it| it.parse().unwrap());
    let (mut killed, mut seed) = (0, 1_u64);
    for round in 0..rounds {
        drop(fs::remove_file(directory.path().join(FILE)));
        // SplitMix64: the same points in every run of the test.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let random = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33;
        let pause = std::time::Duration::from_millis(random % 700);
        let child = command(&directory, "kill", &[&SAVE[..], &["-vv", "--jobs", "2"]].concat());
        let child = { child }.spawn().unwrap();
        std::thread::sleep(pause);
        support::processes::signal("KILL", &child.id().to_string());
        let ran = finish(child);
        killed += usize::from(ran.code.is_none());
        // Each finished evaluation of a script has its standard error shown, and `breaks` says why.
        let reported = ran.stderr.matches(", stderr:\n").count();
        let kept = records(&directory);
        assert!(kept >= reported, "round {round}: {kept} of {reported}: {}", ran.stderr);
        let resumed = run(&directory, "resumed", &RESUME).exits(3).says(&taken(kept));
        assert_eq!(lasting(&resumed), lasting(&whole), "round {round}");
    }
    assert!(killed > 0 || rounds == 0, "no run was killed");
}
