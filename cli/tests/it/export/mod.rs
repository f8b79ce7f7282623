//! Files for other hosts: what they are, and what they do when those hosts are done with them.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

mod guard;
mod shims;

use std::fs;

use crate::support::{self, Directory, TWO_EVALUATORS, has, trace};

const TARGETS: [(&str, &[&str]); 5] = [
    ("agentevals", &["polite.py", "polite.agentevals.yaml"]),
    ("agentv", &["polite.agentv-2.yaml", "polite.agentv-4.yaml", "polite.agentv-5.yaml"]),
    ("adk", &["polite_adk_metric.py", "polite.adk.json"]),
    (
        "agenta",
        &[
            "polite_agenta_v1.py",
            "polite_agenta_v2.py",
            "polite_agenta_v3.py",
            "polite.agenta-webhook.yaml",
        ],
    ),
    ("promptfoo", &["polite_promptfoo.py", "polite.promptfoo.yaml"]),
];

#[test]
fn a_program_is_exported_for_every_host() {
    let directory = Directory::new();
    let program = directory.script("bin/polite", "cat >/dev/null; echo '{\"score\": 1}'");
    let mut python = Vec::new();
    for (target, files) in TARGETS {
        let ran = directory.evaluator(&["export", "--for", target, "bin/polite", "-o", "out"]);
        let ran = ran.exits(0).says("bin/polite does not name the contract of its documents");
        for file in files {
            assert!(ran.stdout.contains(&format!("wrote out/{file}\n")), "{}", ran.stdout);
            let path = directory.path().join("out").join(file);
            let text = fs::read_to_string(&path).unwrap();
            let origin = format!("`evaluator export --for {target} bin/polite -o out`");
            assert!(text.replace("\n# ", " ").contains(&origin), "{text}");
            if file.ends_with(".py") {
                assert!(
                    text.contains(&format!("= [\n    \"{}\",\n]", program.display())),
                    "{text}"
                );
                python.push(path);
            }
        }
        // The same again: they are our own.
        directory.evaluator(&["export", "--for", target, "bin/polite", "-o", "out"]).exits(0);
    }
    assert_eq!(
        fs::read_dir(directory.path().join("out")).unwrap().count(),
        TARGETS.iter().map(|(_, files)| files.len()).sum::<usize>()
    );
    if has("python3") {
        for path in python {
            shims::python(
                &directory,
                &["-W", "error", "-m", "py_compile", path.to_str().unwrap()],
                "",
            )
            .exits(0);
        }
    }
}

#[test]
fn what_adk_is_given_can_be_run_here_too() {
    let directory = Directory::new();
    directory.script("polite", "cat >/dev/null; echo '{\"score\": 0.75}'");
    directory.evaluator(&["export", "--for", "adk", "polite"]).exits(0);
    let ran =
        directory.run(&[&trace("a01_otlp_basic_parts"), "-c", "polite.adk.json", "-o", "json"]);
    assert_eq!(ran.exits(0).evaluations(0), ["polite PASSED"]);
}

#[test]
fn what_agentevals_is_given_can_be_run_here_too() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.script("polite", "cat >/dev/null; echo '{\"score\": 0.75}'");
    directory.evaluator(&["export", "--for", "agentevals", "polite", "-o", "out"]).exits(0);
    let ran = directory.run(&[
        &trace("a01_otlp_basic_parts"),
        "-c",
        "out/polite.agentevals.yaml",
        "-o",
        "json",
    ]);
    assert_eq!(ran.exits(0).evaluations(0), ["polite PASSED"]);
}

#[test]
fn files_of_people_are_in_the_way() {
    let directory = Directory::new();
    directory.script("polite", "exit 1");
    let mine = directory.file("polite.adk.json", "{}");
    let ran = directory.evaluator(&["export", "--for", "adk", "polite"]).exits(2);
    ran.reports_nothing().says("polite.adk.json exists and was not written by this command");
    assert!(!directory.path().join("polite_adk_metric.py").exists(), "nothing was written");
    directory.evaluator(&["export", "--for", "adk", "polite", "--force"]).exits(0);
    assert_ne!(fs::read_to_string(mine).unwrap(), "{}");
    // The evaluator itself is not replaced by what starts it.
    let script = directory.script("mine.py", "exit 1");
    let ran = directory.evaluator(&["export", "--for", "agentevals", "mine.py"]).exits(0);
    assert_eq!(ran.stdout.lines().next(), Some("wrote mine.agentevals.yaml"));
    assert!(fs::read_to_string(script).unwrap().contains("exit 1"));
}

#[test]
fn functions_that_a_host_calls_itself_are_not_programs() {
    let directory = Directory::new();
    directory.file(
        "correct.py",
        "def evaluate(app_params, inputs, output, correct_answer):\n    return 1.0\n",
    );
    for more in [&[][..], &["--contract", "agenta", "--copy"]] {
        let args = [&["export", "--for", "agenta", "correct.py"], more].concat();
        let ran = directory.evaluator(&args).exits(2).reports_nothing();
        ran.says("correct.py only defines the function `evaluate`, which Agenta calls itself");
    }
}

#[test]
fn a_directory_is_made_and_named_and_a_file_is_none() {
    let directory = Directory::new();
    directory.script("so so", "exit 1");
    let ran =
        directory.evaluator(&["export", "--for", "agentevals", "so so", "-o", "a b/ü"]).exits(0);
    assert!(
        ran.stdout
            .ends_with("next, in a b/ü: agentevals run TRACE_FILE -c 'so so.agentevals.yaml'\n"),
        "{}",
        ran.stdout
    );
    let ran = directory.evaluator(&["export", "--for", "adk", "so so", "-o", "so so"]).exits(2);
    ran.reports_nothing().says("so so is not a directory");
}

#[test]
fn scripts_are_for_agentevals_unless_a_contract_is_named() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    let script = directory.file("polite.py", "print('{\"score\": 1}')\n");
    for target in ["agentv", "adk", "agenta", "promptfoo"] {
        let ran = directory.evaluator(&["export", "--for", target, "polite.py"]).exits(2);
        ran.reports_nothing().says("`polite` reads documents of agentevals, and ");
    }
    directory.evaluator(&["export", "--for", "adk", "polite.py", "--contract", "adk"]).exits(0);
    let text = fs::read_to_string(directory.path().join("polite_adk_metric.py")).unwrap();
    assert!(text.contains(&format!(",\n    \"{}\",\n]\n", script.display())), "{text}");
    let ran = directory.evaluator(&["export", "--for", "adk", "polite.py", "--contract", "mine"]);
    ran.exits(2).says("there is no contract `mine`; there are agentevals, agentv, adk, agenta");
}

#[test]
fn an_evaluator_that_cannot_be_exported_is_a_usage_error() {
    let directory = Directory::new();
    directory.file("notes.txt", "");
    let ran = directory.evaluator(&["export", "--for", "adk", "gone"]).exits(2);
    ran.reports_nothing().says("no such file");
    let ran = directory.evaluator(&["export", "--for", "adk", "notes.txt"]).exits(2);
    ran.reports_nothing().says("no runtime for notes.txt");
    let ran = directory.evaluator(&["export", "--for", "unknown", "notes.txt"]).exits(2);
    ran.reports_nothing().says("agentevals, agentv, adk, agenta, promptfoo");
    directory.file("broken.rs", "fn main() {\n    let score: f64 = \"high\";\n}\n");
    let ran = directory.evaluator(&["export", "--for", "adk", "broken.rs"]).exits(3);
    ran.reports_nothing().says("broken.rs does not compile: 1 error");
}

#[test]
fn a_source_is_built_and_each_evaluator_in_it_has_its_own_files() {
    if !has("python3") {
        return;
    }
    let directory = Directory::new();
    directory.file("two.rs", TWO_EVALUATORS);
    let args = ["export", "--for", "agentevals", "two.rs", "-o", "out"];
    let ran = directory.evaluator(&args).exits(0);
    assert!(!ran.stderr.contains("does not name the contract"), "{}", ran.stderr);
    for (name, score) in [("always", "1.0"), ("never", "0.0")] {
        assert!(ran.stdout.contains(&format!("wrote out/{name}.py\n")), "{}", ran.stdout);
        // A program of several finds the one that is meant, whatever the host calls it.
        let document = r#"{"protocol_version": "1.1", "metric_name": "other", "threshold": 0.5, "config": {}, "invocations": []}"#;
        let shim = directory.path().join("out").join(format!("{name}.py"));
        let answer = shims::python(&directory, &[shim.to_str().unwrap()], document).exits(0);
        let answer: serde_json::Value = answer.json();
        assert_eq!(answer["score"].to_string(), score);
    }
}

#[test]
fn a_copy_stays_when_the_build_is_gone() {
    let directory = Directory::new();
    let built = directory.script("build/polite", "cat >/dev/null; echo '{\"score\": 1}'");
    for (target, files) in TARGETS {
        let args = ["export", "--for", target, "build/polite", "-o", "out", "--copy"];
        let ran = directory.evaluator(&args).exits(0);
        assert!(ran.stdout.contains("wrote out/polite.evaluator\n"), "{}", ran.stdout);
        let place = directory.path().join("out/polite.evaluator");
        assert_eq!(fs::read(&place).unwrap(), fs::read(&built).unwrap());
        let named = files.iter().any(|file| {
            let text = fs::read_to_string(directory.path().join("out").join(file)).unwrap();
            assert!(!text.contains(&*built.to_string_lossy()), "{target}: {text}");
            text.contains(&*place.to_string_lossy())
        });
        assert!(named, "{target}: no file names the copy");
    }
    // Exported again after a change, also where the copy is in use.
    directory.script("build/polite", "echo changed");
    let args = ["export", "--for", "agentv", "build/polite", "-o", "out", "--copy"];
    directory.evaluator(&args).exits(0);
    let copied = fs::read_to_string(directory.path().join("out/polite.evaluator")).unwrap();
    assert!(copied.contains("echo changed"), "{copied}");
    directory.file("polite.py", "print(1)");
    let args = ["export", "--for", "agentevals", "polite.py", "-o", "out", "--copy"];
    directory.evaluator(&args).exits(0).says("polite.py is not an executable");
}

#[test]
fn a_release_build_is_what_is_exported() {
    let directory = Directory::new();
    directory.file("always.rs", TWO_EVALUATORS);
    // What cargo is asked is enough to know: a release build takes its time.
    let asked = directory.path().join("asked");
    directory.script(
        "bin/cargo",
        &format!(
            "case \"$1\" in metadata) exec '{}' \"$@\";; esac; echo \"$@\" >> '{}'; exit 1",
            env!("CARGO"),
            asked.display()
        ),
    );
    for (flags, profile) in [(&["--release"][..], "--profile release"), (&[], "--profile dev")] {
        let args = [&["export", "--for", "agentv", "always.rs", "-o", "out"][..], flags].concat();
        let mut command = directory.command(&args);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", directory.path().join("bin").display());
        command.env("EVALUATOR_CACHE_DIR", directory.path().join("cache")).env("PATH", path);
        command.env_remove("EVALUATOR_CARGO_PROFILE");
        support::finish(command.spawn().unwrap()).exits(3);
        let asked = fs::read_to_string(&asked).unwrap();
        assert!(asked.lines().last().unwrap().contains(profile), "{asked}");
    }
}
