//! Whatever cannot be used is named, with its place, and does not take anything else with it.

use std::fs;

use crate::support::{self, Directory, eval_set, trace};

#[test]
fn a_command_line_that_cannot_be_used_runs_nothing() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    for (args, message) in [
        (&["run"][..], "the following required arguments were not provided:\n  <TRACE_FILE>..."),
        (
            &["run", "nowhere.json"],
            "invalid value 'nowhere.json' for '<TRACE_FILE>...': no such file",
        ),
        (
            &["run", &trace, "-c", "gone.yaml"],
            "invalid value 'gone.yaml' for '--config <FILE>': no such file",
        ),
        (
            &["run", &trace, "-e", "gone.json"],
            "invalid value 'gone.json' for '--eval-set <FILE>': no such file",
        ),
        (
            &["run", &trace, "-t", "1.5"],
            "invalid value '1.5' for '--threshold <X>': must be in 0..=1",
        ),
        (
            &["run", &trace, "-t", "NaN"],
            "invalid value 'NaN' for '--threshold <X>': must be in 0..=1",
        ),
        (
            &["run", &trace, "-t", "high"],
            "invalid value 'high' for '--threshold <X>': not a number",
        ),
        (&["run", &trace, "--jobs", "0"], "invalid value '0' for '--jobs <N>'"),
        (&["run", &trace, "-o", "xml"], "invalid value 'xml' for '--output <FORM[=FILE]>'"),
        (&["run", &trace, "-f", "zipkin"], "invalid value 'zipkin' for '--format <FORMAT>'"),
        (&["run", &trace, "--treshold", "1"], "unexpected argument '--treshold' found"),
        (&["run", &trace, "--group-by", "day"], "invalid value 'day' for '--group-by <GROUP_BY>'"),
        (&["rnu", &trace], "unrecognized subcommand 'rnu'"),
        (&["config", "no/such.py"], "no such file: no/such.py"),
        (&["config", "tool_trajectory_score"], "Did you mean tool_trajectory_avg_score?"),
    ] {
        directory.evaluator(args).exits(2).reports_nothing().says(message);
    }
}

#[test]
fn a_configuration_that_cannot_be_used_runs_nothing_and_shows_every_mistake() {
    let directory = Directory::new();
    let trace = trace("a01_otlp_basic_parts");
    for (text, messages) in [
        (
            "",
            &["error: c.yaml: a configuration is a mapping with the key `evaluators`, not nothing"]
                [..],
        ),
        ("evaluators: []", &["`evaluators` is empty", "--> c.yaml:1:13"]),
        ("evaluators: [", &["--> c.yaml:1:"]),
        (
            "evaluators:\n  - {name: a, type: code, path: a.py, config: [1], treshold: 0.5}\n",
            &[
                "`config` must be a mapping, not a list",
                "--> c.yaml:2:47",
                "unknown key `treshold` in this evaluator",
                "--> c.yaml:2:52",
                "did you mean `threshold`?",
            ],
        ),
        (
            "evaluators:\n  - {type: builtin}\n  - {name: rubric_based_tool_use_quality_v1, type: builtin, rubrics: ['  ']}\n",
            &[
                "the key `name` is missing in this evaluator",
                "--> c.yaml:2:5",
                "is blank",
                "--> c.yaml:3:",
            ],
        ),
        (
            "evaluators: [{name: per_turn_user_simulator_quality_v1, type: builtin}]\n",
            &["`per_turn_user_simulator_quality_v1` judges a simulated user"],
        ),
        (
            "evaluators: [{name: x, type: remote, ref: a.rb}]\n",
            &["no runtime runs `.rb` files", "did you mean `.rs`?"],
        ),
        (
            "output: yaml\nevaluators: [{name: x, type: builtin}]\n",
            &["`output_format` must be one of table, overview, json, summary"],
        ),
    ] {
        directory.file("c.yaml", text);
        let ran = directory.run(&[&trace, "-c", "c.yaml"]).exits(2).reports_nothing();
        messages.iter().fold(ran, |ran, message| ran.says(message));
    }
    directory.file("c.yaml", b"evaluators: [\xff]");
    directory
        .run(&[&trace, "-c", "c.yaml"])
        .exits(2)
        .reports_nothing()
        .says("c.yaml: the configuration is not UTF-8 (byte 13)");
    directory
        .run(&[&trace, "-c", "."])
        .exits(2)
        .reports_nothing()
        .says("is a directory; name a file in it");
}

#[test]
fn a_broken_trace_file_does_not_take_the_others_with_it() {
    let directory = Directory::new();
    directory.file("notes.txt", "not a trace");
    directory.file("empty.json", "");
    directory.file("other.json", r#"{"hello": [1, 2]}"#);
    directory.file(
        "bom.json",
        [b"\xef\xbb\xbf", &*fs::read(trace("a01_otlp_basic_parts")).unwrap()].concat(),
    );
    directory.file("latin.json", b"{\"data\": \"caf\xe9\"}");
    let (good, cut) = (trace("a01_otlp_basic_parts"), trace("c13_truncated"));
    fs::create_dir(directory.path().join("none")).unwrap();
    let files =
        ["notes.txt", "empty.json", "other.json", "bom.json", "latin.json", &cut, &good, "none"];
    let ran = directory.run(&[&files[..], &["--no-config", "-o", "json"]].concat()).exits(3);
    assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score NOT_EVALUATED"]);
    let errors = ran.json()["errors"].clone();
    let errors: Vec<&str> =
        errors.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(errors.len(), 7, "{errors:#?}");
    // Directories are looked through before files are read.
    assert!(errors[0].starts_with("Failed to load trace file 'none': the directory has no trace"));
    let errors = &errors[1..];
    for (file, error) in files.iter().zip(errors) {
        assert!(error.starts_with(&format!("Failed to load trace file '{file}': ")), "{error}");
    }
    assert!(errors[4].contains("not UTF-8: invalid byte 0xe9 at offset 13"), "{}", errors[4]);
    // The text that hosts compare does not contain the position in the JSON; the cause does.
    ran.says("cause: unterminated string at line 1 column 3593")
        .says("cause: unexpected byte order mark (save the text as UTF-8 without BOM)")
        .says("7 errors outside of any conversation");
}

/// Two spans as OpenTelemetry's exporter for the console prints them, and a line of the program.
const CONSOLE: &str = r#"{
    "name": "chat",
    "context": {
        "trace_id": "0x4e11374ec9b781c345e5432b042a60f0",
        "span_id": "0x33a25249e7b6a80a",
        "trace_state": "[]"
    },
    "kind": "SpanKind.INTERNAL",
    "parent_id": "0xec0825edb295dd27",
    "attributes": {"gen_ai.operation.name": "chat"}
}
It is 4 degrees.
{
    "name": "agent",
    "context": {
        "trace_id": "0x4e11374ec9b781c345e5432b042a60f0",
        "span_id": "0xec0825edb295dd27",
        "trace_state": "[]"
    },
    "kind": "SpanKind.INTERNAL",
    "parent_id": null
}
"#;

#[test]
fn a_file_of_another_kind_is_named_as_that() {
    let directory = Directory::new();
    let good = fs::read_to_string(trace("a01_otlp_basic_parts")).unwrap();
    let utf16: Vec<u8> = good.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let half = &good[..good.len() / 2];
    let damaged = good.replacen(":", "\0:", 1);
    fs::create_dir(directory.path().join("directory")).unwrap();
    for (name, content, hints) in [
        ("cut.json", half.as_bytes(), &["the file ends too early", "cause: un"][..]),
        ("other.json", b"{\"hello\": 1}", &["the file holds an object with the keys `hello`"]),
        ("list.json", b"[1, 2]", &["the file holds an array"]),
        (
            "bom.json",
            b"\xef\xbb\xbf{}",
            &["cause: unexpected byte order mark", "save it as UTF-8 without one"],
        ),
        (
            "nul.json",
            damaged.as_bytes(),
            &[" is NUL; the file seems to be damaged", "cause: expected ':'"],
        ),
        ("utf16.json", &utf16, &["the file is UTF-16; save it as UTF-8"]),
        (
            "packed.json",
            b"PK\x03\x04\0\0",
            &["the file is packed with zip; unpack it first, e.g. with unzip"],
        ),
        ("empty.json", b"", &["the file is empty"]),
        (
            "page.json",
            b"<!DOCTYPE html><p>404",
            &["this is an HTML page", "cause: expected a value at line 1 column 1"],
        ),
        (
            "set.json",
            b"{\"eval_set_id\": \"x\", \"eval_cases\": []}",
            &["this is an eval set; give it with --eval-set"],
        ),
        ("run.json", b"{\"evaluators\": []}", &["this is a configuration; give it with --config"]),
        ("object.json", b"{}", &["the file holds an object without keys"]),
        ("console.json", CONSOLE.as_bytes(), &["this is the output of ConsoleSpanExporter"]),
    ] {
        directory.file(name, content);
        let ran = directory.evaluator(&["inspect", name]).exits(3);
        for hint in hints {
            assert!(ran.stderr.contains(hint), "{name} {hint}: {}", ran.stderr);
        }
        for format in ["table", "junit", "markdown", "github"] {
            let ran = directory.run(&[name, "--no-config", "-o", format]).exits(3);
            let is_complete = !matches!(format, "table");
            for hint in hints {
                assert!(ran.stderr.contains(hint), "{name} {hint}: {}", ran.stderr);
                let bare = hint.trim_start_matches("cause: ").replace('\'', "&apos;");
                // Markdown and XML escape some characters.
                let bare = bare.split(['`', '&', ':']).next().unwrap();
                assert!(!is_complete || ran.stdout.contains(bare), "{name} {bare}: {}", ran.stdout);
            }
        }
    }
    // The same for eval sets, which are not unpacked.
    let args = [&*trace("k01_traj_exact"), "-e", "directory"];
    directory.run(&args).exits(3).says("hint: this is a directory; name the file in it");
    directory.file("packed.json", b"\x1f\x8b\x08\0\0\0");
    let args = [&*trace("k01_traj_exact"), "-e", "packed.json"];
    directory.run(&args).exits(3).says("hint: the file is packed with gzip");
    let args = [&*trace("k01_traj_exact"), "-e", &trace("k01_traj_exact")];
    directory.run(&args).exits(3).says("hint: this is a trace file");
    directory.file(
        "c.yaml",
        "eval_set: utf16.json\nevaluators: [{name: tool_trajectory_avg_score, type: builtin}]",
    );
    let checked = directory.evaluator(&["check", "c.yaml"]).exits(2);
    assert!(
        checked.stdout.contains("(the file is UTF-16; save it as UTF-8)"),
        "{}",
        checked.stdout
    );
}

#[test]
fn without_any_trace_nothing_is_run_and_the_report_says_so() {
    let directory = Directory::new();
    directory.file("a.json", "[");
    directory.file("b.json", "{}");
    for (format, expected) in [
        ("table", "Errors:\n  - Failed"),
        ("summary", "Errors:\n  - Failed"),
        ("json", "{\n  \"traces\": [],"),
    ] {
        let ran = directory.run(&["a.json", "b.json", "--no-config", "-o", format]).exits(3);
        assert!(ran.stdout.starts_with(expected), "{}", ran.stdout);
        assert!(ran.stdout.contains("No traces loaded."), "{}", ran.stdout);
    }
}

#[test]
fn a_broken_eval_set_is_an_error_with_its_place_and_the_rest_runs() {
    let directory = Directory::new();
    let trace = trace("k01_traj_exact");
    let ran = directory.run(&[&trace, "-e", &eval_set("malformed"), "-o", "json"]).exits(3);
    assert_eq!(ran.evaluations(0), ["tool_trajectory_avg_score NOT_EVALUATED"]);
    ran.says("malformed.json': invalid JSON: unexpected end of text at line 1 column 22");

    directory.file(
        "typed.json",
        r#"{"eval_set_id": "x", "eval_cases": [{"eval_id": "a", "conversation": [{"user_content": 5}]}]}"#,
    );
    directory
        .run(&[&trace, "-e", "typed.json"])
        .exits(3)
        .says("Failed to load eval set 'typed.json': eval_cases[0].conversation[0].user_content: expected ");
}

#[test]
fn a_metric_that_does_not_exist_is_a_configuration_error() {
    let directory = Directory::new();
    let goldens = eval_set("library");
    let args = ["run", &trace("k01_traj_exact"), "-e", &goldens, "-c", "c.yaml"];
    directory.file(
        "c.yaml",
        "evaluators:\n  - {name: tool_trajectory_score, type: builtin, args: {}}\n  - {name: Safety, type: builtin}\n",
    );
    for args in [&args[..], &["check", "c.yaml"]] {
        directory
            .evaluator(args)
            .exits(2)
            .says("error: there is no built-in metric `tool_trajectory_score`\n --> c.yaml:2:12\n")
            .says("did you mean `tool_trajectory_avg_score`?")
            .says("error: there is no built-in metric `Safety`\n --> c.yaml:3:12\n")
            .reports_nothing();
    }
}

#[test]
fn a_metric_of_the_command_line_that_does_not_exist_is_a_usage_error() {
    let directory = Directory::new();
    // No trace is read before that.
    let args =
        ["run", "-m", "tool_trajectory_avg_score", "-m", "tool_trajectory_score", "none.json"];
    directory.file("none.json", "");
    directory
        .evaluator(&args)
        .exits(2)
        .says(
            "there is no metric `tool_trajectory_score`; did you mean `tool_trajectory_avg_score`?",
        )
        .reports_nothing();
    directory
        .evaluator(&["run", "-m", "x\n::error::y", "none.json"])
        .exits(2)
        .says(r"there is no metric `x\n::error::y` (`evaluator list -s builtin` lists them)");
}

#[test]
fn evaluators_that_cannot_be_started_are_errors_and_the_others_run() {
    let directory = Directory::new();
    for name in ["notes.txt", "check.py", "check.js", "check.ts", "check.rs", "directory/readme"] {
        directory.file(name, "");
    }
    let entries: String = [
        ("unknown", "notes.txt"),
        ("directory", "directory"),
        ("python", "check.py"),
        ("javascript", "check.js"),
        ("typescript", "check.ts"),
        ("rust", "check.rs"),
    ]
    .iter()
    .map(|(name, path)| format!("  - {{name: {name}, type: code, path: {path}}}\n"))
    .collect();
    let builtin = "  - {name: tool_trajectory_avg_score, type: builtin}\n";
    let boxed = "  - {name: boxed, type: code, path: check.py, executor: moon}\n";
    directory.file("c.yaml", format!("evaluators:\n{entries}{boxed}{builtin}"));
    let args =
        ["run", &trace("k01_traj_exact"), "-e", &eval_set("library"), "-c", "c.yaml", "-o", "json"];
    // No interpreter and no compiler is to be found.
    let mut command = directory.command(&args);
    command.env("PATH", "").env_remove("VIRTUAL_ENV");
    let ran = support::finish(command.spawn().unwrap()).exits(3);
    let evaluations = ran.evaluations(0);
    let (broken, good) = evaluations.split_at(7);
    assert!(broken.iter().all(|it| it.ends_with(" ERROR prepare_failed")), "{broken:?}");
    assert_eq!(good, ["tool_trajectory_avg_score PASSED"]);
    for (name, expected) in [
        ("unknown", "no runtime for notes.txt (known extensions: .py, .js,".to_owned()),
        ("directory", "directory is a directory without a Cargo.toml".to_owned()),
        ("python", "runtime not available: python3 was not found on PATH".to_owned()),
        ("javascript", "runtime not available: node was not found on PATH".to_owned()),
        ("typescript", "runtime not available: node was not found on PATH".to_owned()),
        ("rust", "runtime not available: cargo was not found on PATH".to_owned()),
        ("boxed", "unknown executor `moon` (available: ".to_owned()),
    ] {
        let error = ran.error_of(name);
        assert!(error.starts_with(&expected), "{error}");
    }
    // The same as `evaluator runtimes` says.
    let mut command = directory.command(&["runtimes"]);
    command.env("PATH", "").env_remove("VIRTUAL_ENV");
    let runtimes = support::finish(command.spawn().unwrap()).exits(0);
    for missing in ["python3", "node", "cargo"] {
        assert!(
            runtimes.stdout.contains(&format!("no         {missing} was not found on PATH")),
            "{}",
            runtimes.stdout
        );
    }
}
