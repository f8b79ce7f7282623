//! The first steps of a new user: a program without a configuration, `evaluator init`, judges among what can be named.
#![cfg(unix)]

use serde_json::json;

use crate::support::{Directory, Ran, eval_set, has, trace};

const TRACE: &str = "k01_traj_exact";

fn directory() -> Directory {
    let directory = Directory::new();
    directory.script("pass", r#"cat >/dev/null; echo '{"score": 1}'"#);
    directory.script("half", r#"cat >/dev/null; echo '{"score": 0.5}'"#);
    directory
}

fn run(directory: &Directory, args: &[&str]) -> Ran {
    directory.run(&[&[&*trace(TRACE), "-o", "json"], args].concat())
}

#[test]
fn programs_are_run_without_a_configuration() {
    let directory = directory();
    let ran = run(&directory, &["--evaluator", "pass", "--evaluator", "./half"]).exits(0);
    assert_eq!(ran.evaluations(0), ["pass PASSED", "half PASSED"]);
    // The threshold of the command line is not ignored.
    let ran = run(&directory, &["--evaluator", "half", "-t", "0.75"]).exits(1);
    assert_eq!(ran.evaluations(0), ["half FAILED"]);
    let goldens = eval_set("library");
    let metric = ["-m", "tool_trajectory_avg_score", "-e", &goldens, "--evaluator", "pass"];
    let ran = run(&directory, &metric).exits(0);
    assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score PASSED", "pass PASSED"]);
}

#[test]
fn programs_of_the_command_line_are_added_to_a_named_configuration() {
    let directory = directory();
    directory.file(
        "eval_config.yaml",
        "evaluators:\n  - {name: pass, type: code, path: pass, threshold: 0.9}\n",
    );
    let ran = run(&directory, &["--evaluator", "half"]).exits(0);
    assert_eq!(ran.evaluations(0), ["half PASSED"]);
    ran.says(
        "eval_config.yaml of this directory is not used, because --evaluator names what to run",
    );
    let ran = run(&directory, &["-c", "eval_config.yaml", "--evaluator", "half"]).exits(0);
    assert_eq!(ran.evaluations(0), ["pass PASSED", "half PASSED"]);
    // Its own threshold would be lost.
    run(&directory, &["-c", "eval_config.yaml", "--evaluator", "pass"])
        .exits(2)
        .reports_nothing()
        .says("two evaluators are called `pass`, one of them is pass");
    run(&directory, &["--evaluator", "pass", "--evaluator", "pass"]).exits(2).reports_nothing();
}

#[test]
fn a_program_of_the_command_line_may_be_a_directory_or_of_another_contract() {
    if !has("python3") {
        return;
    }
    let directory = directory();
    directory.evaluator(&["init", "answered.py", "--no-config"]).exits(0);
    let agenta = "def evaluate(app_params, inputs, output, correct_answer):\n    return 1.0\n";
    directory.file("agenta.py", agenta);
    let ran = run(&directory, &["--evaluator", "answered", "--evaluator", "agenta.py"]);
    assert_eq!(ran.evaluations(0)[0], "answered PASSED");
    assert!(ran.evaluations(0)[1].starts_with("agenta "), "{:?}", ran.evaluations(0));
    // `config` writes the same entry.
    let entry = directory.evaluator(&["config", "agenta.py"]).exits(0).stdout;
    directory.file("c.yaml", entry);
    let configured = run(&directory, &["-c", "c.yaml"]);
    assert_eq!(configured.evaluations(0)[0], ran.evaluations(0)[1]);
}

#[test]
fn a_program_in_a_wrong_place_gets_the_hint() {
    let directory = directory();
    directory.file("lone.py", "print('{\"score\": 1}')\n");
    directory
        .run(&[&trace(TRACE), "lone.py"])
        .exits(2)
        .reports_nothing()
        .says("lone.py is a program, and trace files are expected: `--evaluator lone.py`");
    run(&directory, &["-m", "lone.py"])
        .exits(2)
        .says("there is no metric `lone.py`; `--evaluator lone.py` runs");
    run(&directory, &["-m", "llm_judge"]).exits(2).says("`evaluator config llm_judge` prints");
    run(&directory, &["--evaluator", "gone.py"]).exits(2).says("no such file");
    directory.file("notes.txt", "");
    run(&directory, &["--evaluator", "notes.txt"]).exits(2).reports_nothing();
    // An entry for each of several programs.
    let entries = directory.evaluator(&["config", "pass", "half", "lone.py"]).exits(0).stdout;
    directory.file("c.yaml", &entries);
    let checked = directory.evaluator(&["check", "c.yaml"]).exits(0).stdout;
    assert!(["pass", "half", "lone"].iter().all(|name| checked.contains(name)), "{entries}");
}

#[test]
fn init_writes_the_configuration_and_extends_it() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let read = || std::fs::read_to_string(directory.path().join("eval_config.yaml")).unwrap();
    let created = directory.evaluator(&["init", "first.py"]).exits(0).stdout;
    assert!(created.contains("Added to eval_config.yaml. Run it"), "{created}");
    let first = read();
    assert!(first.starts_with("# yaml-language-server: "), "{first}");
    // Comments and layout stay, wherever the new entry has its place.
    let marked = format!("{}    # of the first\n\n# the end\nretries: 1   # odd\n", first);
    directory.file("eval_config.yaml", &marked);
    directory.evaluator(&["init", "second", "--runtime", "py"]).exits(0);
    let second = read();
    let (before, after) = marked.split_once("\n\n# the end").unwrap();
    assert!(
        second.starts_with(before) && second.ends_with(&format!("# the end{}", after)),
        "{second}"
    );
    let ran = run(&directory, &[]).exits(0);
    assert_eq!(ran.evaluations(0), ["first PASSED", "second PASSED"]);
    // The thresholds of `init` and `config` are the default.
    assert_eq!(second.matches("threshold: 0.5\n").count(), 2, "{second}");

    for (text, reason) in [
        ("evaluators: &all\n  -\n    {name: a, type: builtin}\n", "it has problems"),
        (
            "evaluators:\n  - {name: third, type: code, path: first/first.py}\n",
            "it has an evaluator `third` already",
        ),
    ] {
        directory.file("eval_config.yaml", text);
        let created = directory.evaluator(&["init", "third.py"]).exits(0).stdout;
        assert!(created.contains(&format!("eval_config.yaml: {reason}")), "{created}");
        assert!(created.contains("path: third/third.py"), "{created}");
        assert_eq!(read(), text);
        std::fs::remove_dir_all(directory.path().join("third")).unwrap();
    }
    let before = read();
    let created = directory.evaluator(&["init", "third.py", "--no-config"]).exits(0).stdout;
    assert!(created.contains("add this to a configuration"), "{created}");
    assert_eq!(read(), before);
}

#[test]
fn judges_are_among_what_can_be_named() {
    let directory = directory();
    let listed = directory.evaluator(&["list", "-s", "builtin"]).exits(0).stdout;
    for name in ["llm_judge", "openai_eval"] {
        assert!(listed.lines().any(|line| line.starts_with(&format!("{name} "))), "{listed}");
        let entry = directory.evaluator(&["config", name]).exits(0).stdout;
        assert!(entry.contains(&format!("type: {name}\n")), "{entry}");
        directory.file("c.yaml", entry);
        let key = ("OPENAI_API_KEY", "GOOGLE_API_KEY");
        let mut command = directory.command(&["check", "c.yaml"]);
        command.env(key.0, "k").env(key.1, "k");
        let checked = evaluator_test_support::finish(command.spawn().unwrap());
        assert!(!checked.stderr.contains("warning"), "{}", checked.stderr);
    }
}

#[test]
fn the_template_of_a_judge_is_a_prompt_that_a_model_is_asked() {
    let directory = Directory::new();
    let created = directory.evaluator(&["init", "helpful", "--template", "judge"]).exits(0);
    assert!(created.stdout.contains("    prompt.md\n    README.md\n"), "{}", created.stdout);
    assert!(!created.stdout.contains("evaluator test"), "{}", created.stdout);
    let reply = |choice: &str| json!({"reasoning": "because", "choice": choice}).to_string();
    for (choice, code, evaluation) in [("yes", 0, "helpful PASSED"), ("no", 1, "helpful FAILED")] {
        directory.file("replies.jsonl", json!(reply(choice)).to_string());
        let judge = ["--judge-model", "fake:replies.jsonl", "--judge-samples", "1"];
        let ran = run(&directory, &judge).exits(code);
        assert_eq!(ran.evaluations(0), [evaluation]);
    }
    directory.evaluator(&["init", "other.py", "--template", "judge"]).exits(2).reports_nothing();
}
