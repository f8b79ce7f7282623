//! Looking at a configuration without running it.
#![cfg(unix)]

use std::{env, fs, path::Path};

use crate::support::{self, Directory};

#[test]
fn a_program_in_place_of_a_configuration_is_recognized() {
    let directory = Directory::new();
    directory.file("my_check.py", "import json\njson.dump({}, None)\n");
    directory.file("my_check.js", "console.log({score: 1})\n");
    for (file, language) in [("my_check.py", "Python"), ("my_check.js", "JavaScript")] {
        let trace = support::trace("a01_otlp_basic_parts");
        for args in [&["check", file][..], &["run", &trace, "-c", file]] {
            let said = directory.evaluator(args).exits(2).reports_nothing().stderr;
            let expected =
                format!("{file} is a program in {language}, and a configuration is expected");
            assert!(said.contains(&expected), "{said}");
            assert!(said.contains("`evaluator validate DIR`"), "{said}");
        }
    }
    // Any name will do for a configuration.
    directory.file("odd.py", "evaluators:\n  - {name: bleu, type: builtin}\n");
    directory.evaluator(&["check", "odd.py"]).exits(0);
}

#[test]
fn types_of_eval_files_are_named_with_what_to_write_instead() {
    let directory = Directory::new();
    directory.script("good", "");
    for (kind, instead) in [
        ("code-grader", "write `type: code` with `path: FILE`, and `contract: agentv`"),
        ("code_judge", "write `type: code`"),
        ("llm-grader", "write `type: llm_judge`"),
        ("llm-judge", "write `type: llm_judge`"),
        ("tool_trajectory", "`name: tool_trajectory_alignment`"),
        ("contains", "`grader: {type: string_check, operation: like, reference: TEXT}`"),
        ("is-json", "give the eval file to `evaluator run`"),
    ] {
        directory
            .file("c.yaml", format!("evaluators:\n  - {{name: a, type: {kind}, path: good}}\n"));
        let said = directory.evaluator(&["check", "c.yaml"]).exits(2).stderr;
        let expected =
            format!("`{kind}` is a type of eval files of AgentV, not of a configuration");
        assert!(said.contains(&expected) && said.contains(instead), "{said}");
    }
}

#[test]
fn a_sound_configuration_is_shown_with_what_would_run() {
    let directory = Directory::new();
    directory.script("good", "echo it ran >>ran");
    directory.file("here/c.yaml", "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: sibling, type: code, path: sibling.rs}\n");
    directory.file("here/sibling.rs", "this is not rust, and must not be compiled");
    let ran = directory.evaluator(&["check", "here/c.yaml"]).exits(0);
    assert!(ran.stdout.contains("[PASS]  good"), "{}", ran.stdout);
    assert!(ran.stdout.contains("here/sibling.rs (Rust: "), "{}", ran.stdout);
    assert!(!directory.path().join("ran").exists(), "nothing is run");
}

#[test]
fn everything_that_is_missing_is_named_at_once() {
    let directory = Directory::new();
    directory.file(
        "c.yaml",
        "eval_set: no.json\nevaluators:\n  - {name: gone, type: code, path: gone.py}\n  \
         - {name: tool_trajectory_avg_score, type: builtin}\n",
    );
    let ran = directory.evaluator(&["check", "c.yaml"]).exits(2);
    for part in ["[FAIL]  eval set", "[FAIL]  gone", "gone.py", "[PASS]  tool_trajectory_avg_score"]
    {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    directory.file("bad.yaml", "evaluators: [{name: a, type: builtin, treshold: 1}]");
    directory.evaluator(&["check", "bad.yaml"]).exits(2).says("did you mean `threshold`?");
}

#[test]
fn a_setting_of_judges_without_an_effect_is_a_warning_that_names_the_metric() {
    let directory = Directory::new();
    directory.file("replies.jsonl", "\"<sentence>It is.</sentence>\"\n");
    let warning =
        "warning: `swap` has no effect on `hallucinations_v1`, which shows nothing in two orders";
    let entry = "  - {name: hallucinations_v1, type: builtin";
    let swap = "judge: {model: 'fake:replies.jsonl', samples: 2, swap: true}";
    let trace = support::trace("k01_traj_exact");
    for (config, hint) in [
        (format!("{swap}\nevaluators:\n{entry}}}\n"), Some("`judge: {swap: false}` in its entry")),
        (format!("evaluators:\n{entry}, {swap}}}\n"), Some("leave it out")),
        (format!("{swap}\nevaluators:\n{entry}, judge: {{swap: false}}}}\n"), None),
        (
            format!("{swap}\nevaluators:\n  - {{name: final_response_match_v2, type: builtin}}\n"),
            None,
        ),
    ] {
        directory.file("c.yaml", config.as_str());
        for args in [&["check", "c.yaml"][..], &["run", &trace, "-c", "c.yaml"]] {
            let ran = directory.evaluator(args);
            let shown = [ran.stdout, ran.stderr].concat();
            assert_eq!(
                shown.matches(warning).count(),
                usize::from(hint.is_some()),
                "{config}: {shown}"
            );
            assert!(hint.is_none_or(|hint| shown.contains(hint)), "{config}: {shown}");
        }
    }
}

#[test]
fn a_configuration_that_cannot_be_run_is_reported_with_its_position_first() {
    let directory = Directory::new();
    directory.script("first", "echo it ran >>ran; exit 1");
    let first = "  - {name: first, type: code, path: first}\n";
    let grader = "  - name: alike\n    type: openai_eval\n    grader: {type: text_similarity, evaluation_metric: cosine}\n";
    directory.file("c.yaml", format!("evaluators:\n{first}{grader}"));
    let place = "--> c.yaml:4:11\n  |\n4 |     type: openai_eval\n";
    let message = "`alike`: model";
    let trace = support::trace("k01_traj_exact");
    for args in [&["check", "c.yaml"][..], &["run", &trace, "-c", "c.yaml"]] {
        let ran = directory.evaluator(args).exits(2).says(message);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        ran.says("`alike` compares with expected answers, and there is no eval set");
    }
    assert!(!directory.path().join("ran").exists(), "nothing is run");
    // Something else of that name can be run.
    directory.file(
        "d.yaml",
        format!("evaluators:\n{}", grader.replace("alike", "response_match_score")),
    );
    directory
        .run(&[&trace, "-c", "d.yaml", "-m", "response_match_score"])
        .exits(1)
        .says("NOTHING EVALUATED");
    directory.file(
        "bad.yaml",
        "evaluators: [{name: a, type: openai_eval, grader: {type: label_model}}]",
    );
    directory
        .evaluator(&["check", "bad.yaml"])
        .exits(2)
        .says("the key `model` is missing in this grader");
}

#[test]
fn an_evaluator_of_the_command_group_of_agentevals_is_python_by_default() {
    let directory = Directory::new();
    directory.evaluator(&["evaluator", "init", "polite"]).exits(0);
    assert!(directory.path().join("polite/polite.py").is_file());
    directory.evaluator(&["evaluator", "init", "exact.js"]).exits(0);
    directory.evaluator(&["evaluator", "init", "typed", "--template", "typed-config"]).exits(0);
    assert!(directory.path().join("typed/Cargo.toml").is_file());
    directory.evaluator(&["init", "polite_rs"]).exits(0);
    assert!(directory.path().join("polite_rs/Cargo.toml").is_file());
}

#[test]
fn the_schema_is_published_where_configurations_refer_to() {
    let directory = Directory::new();
    let ran = directory.evaluator(&["schema"]).exits(0);
    let schema = ran.json();
    assert_eq!(schema["anyOf"][0]["required"][0], "evaluators");

    let id = schema["$id"].as_str().unwrap();
    let line = format!("# yaml-language-server: $schema={id}\n");
    let entry = directory.evaluator(&["config", "tool_trajectory_avg_score"]).exits(0);
    assert!(entry.stdout.starts_with(&line), "{}", entry.stdout);
    directory.evaluator(&["init", "a.py"]).exits(0);
    let created = fs::read_to_string(directory.path().join("eval_config.yaml")).unwrap();
    assert!(created.starts_with(&line), "{created}");

    let (_, path) = id.split_once("/raw/main/").unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if env::var_os("SCHEMA").is_some_and(|it| it == "overwrite") {
        fs::write(&file, &ran.stdout).unwrap();
    }
    let published = fs::read_to_string(&file).unwrap_or_default();
    let outdated = "is outdated; SCHEMA=overwrite writes it again";
    assert!(published == ran.stdout, "{path} {outdated}");
}
