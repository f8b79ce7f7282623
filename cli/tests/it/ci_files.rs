//! The files for CI systems at the root of the repository: their shell steps are run as the systems would run them.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use evaluator_host::document::read_yaml;
use serde_json::Value;

use crate::support::{self, Directory, Ran, trace};

/// An installer in place of cargo: it notes its arguments and puts the command under test where `--root` says.
const CARGO: &str = r#"echo "cargo $*" >>"$CARGO_LOG"
while [ $# -gt 0 ]; do
  if [ "$1" = --root ]; then root=$2; fi
  shift
done
mkdir -p "$root/bin" && ln -s "$TESTED" "$root/bin/evaluator"
"#;

/// A configuration with an evaluator that passes and one that fails.
const CONFIG: &str = "evaluators:\n  - {name: good, type: code, path: good}\n  - {name: low, type: code, path: low}\n";

fn yaml(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let root = read_yaml(&fs::read_to_string(path).unwrap()).unwrap().unwrap();
    Value::from(&root.to_json().unwrap())
}

fn project() -> Directory {
    let directory = Directory::new();
    directory.script("bin/cargo", CARGO);
    let caches = r#"echo "$CARGO_TARGET_DIR $CARGO_BUILD_BUILD_DIR $XDG_CACHE_HOME" >caches"#;
    directory.script("good", &format!("{caches}; cat >/dev/null; echo '{{\"score\": 1}}'"));
    directory.script("low", r#"cat >/dev/null; echo '{"score": 0.25}'"#);
    directory.file("eval_config.yaml", CONFIG);
    fs::create_dir(directory.path().join("my traces")).unwrap();
    for name in ["k01_traj_exact", "a01_otlp_basic_parts"] {
        fs::copy(trace(name), directory.path().join(format!("my traces/{name}.json"))).unwrap();
    }
    directory
}

/// Runs a block of shell in the directory, with the installer first on `PATH`.
#[expect(clippy::disallowed_methods, reason = "the shells of CI systems")]
fn shell(
    directory: &Directory,
    shell: &[&str],
    block: &str,
    variables: &BTreeMap<String, String>,
) -> Ran {
    let path = format!("{}/bin:{}", directory.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell[0]);
    command
        .args(&shell[1..])
        .arg(block)
        .current_dir(directory.path())
        .env("PATH", path)
        .env("CARGO_LOG", directory.path().join("cargo.log"))
        .env("TESTED", env!("CARGO_BIN_EXE_evaluator"))
        .env_remove("GITHUB_STEP_SUMMARY")
        .envs(variables)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    support::finish(command.spawn().unwrap())
}

/// The steps of the action with these inputs.
struct Action<'d> {
    directory: &'d Directory,
    /// Values of expressions, e.g. `inputs.traces`.
    values: BTreeMap<String, String>,
}

impl<'d> Action<'d> {
    fn new(directory: &'d Directory, inputs: &[(&str, &str)]) -> Self {
        let action = yaml("action.yml");
        let mut values = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().unwrap() {
            let given = inputs.iter().find(|(given, _)| given == name).map(|(_, value)| *value);
            let value = given.or_else(|| input["default"].as_str());
            values.insert(format!("inputs.{name}"), value.expect("a required input").to_owned());
        }
        let temporary = directory.path().join("runner").display().to_string();
        values.insert("runner.temp".to_owned(), temporary);
        values.insert("runner.os".to_owned(), "Linux".to_owned());
        values.insert("runner.arch".to_owned(), "X64".to_owned());
        Self { directory, values }
    }

    /// Replaces expressions. One that the action does not define fails the test.
    fn fill(&self, text: &str) -> String {
        let mut parts = text.split("${{ ");
        let mut filled = parts.next().unwrap().to_owned();
        for part in parts {
            let (expression, rest) = part.split_once(" }}").unwrap();
            filled += match expression.strip_prefix("hashFiles(") {
                Some(_) => "hash",
                None => self
                    .values
                    .get(expression)
                    .unwrap_or_else(|| panic!("{expression}: {:?}", self.values)),
            };
            filled += rest;
        }
        filled
    }

    /// Runs all steps up to one that fails, and returns the last one that ran.
    fn run(&mut self) -> Ran {
        let path = |name: &str| self.directory.path().join(name).display().to_string();
        let runner = [
            ("GITHUB_ACTION_PATH", path("action")),
            ("GITHUB_OUTPUT", path("output")),
            ("GITHUB_STEP_SUMMARY", path("summary.md")),
            ("RUNNER_ARCH", self.values["runner.arch"].clone()),
            ("RUNNER_OS", self.values["runner.os"].clone()),
            ("RUNNER_TEMP", self.values["runner.temp"].clone()),
        ];
        let runner = runner.map(|(name, value)| (name.to_owned(), value));
        let action = yaml("action.yml");
        let mut last = None;
        for step in action["runs"]["steps"].as_array().unwrap() {
            if let Some(condition) = step["if"].as_str() {
                assert_eq!(condition, "inputs.command == ''");
                if !self.values["inputs.command"].is_empty() {
                    continue;
                }
            }
            let Some(block) = step["run"].as_str() else {
                assert_eq!(step["uses"], "actions/cache@v4");
                let kept = self.fill(step["with"]["path"].as_str().unwrap());
                let key = self.fill(step["with"]["key"].as_str().unwrap());
                let name = match key.as_str() {
                    "evaluators-Linux-X64-hash" => "evaluator-cache",
                    key if key.starts_with("evaluator-Linux-X64-") => "evaluator",
                    key => panic!("{key}"),
                };
                assert_eq!(kept, format!("{}/{name}", self.values["runner.temp"]));
                continue;
            };
            assert!(!block.contains("${{"), "inputs are passed in variables only: {block}");
            let mut variables = BTreeMap::from(runner.clone());
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                variables.insert(name.clone(), self.fill(value.as_str().unwrap()));
            }
            self.directory.file("output", "");
            self.directory.file("step.sh", block);
            let ran = shell(
                self.directory,
                &["bash", "--noprofile", "--norc", "-eo", "pipefail"],
                "step.sh",
                &variables,
            );
            let output = fs::read_to_string(path("output")).unwrap();
            for (name, value) in output.lines().filter_map(|line| line.split_once('=')) {
                let id = step["id"].as_str().unwrap();
                self.values.insert(format!("steps.{id}.outputs.{name}"), value.to_owned());
            }
            let failed = ran.code != Some(0);
            last = Some(ran);
            if failed {
                break;
            }
        }
        for output in action["outputs"].as_object().unwrap().values() {
            self.fill(output["value"].as_str().unwrap());
        }
        last.unwrap()
    }
}

#[test]
fn the_action_installs_runs_and_reports() {
    let directory = project();
    directory.file("action/Cargo.lock", "");
    directory.file("action/cli/Cargo.toml", "");
    let mut action = Action::new(&directory, &[("traces", "my traces/*.json\n")]);

    let ran = action.run().exits(1);

    assert!(ran.stdout.contains("::error"), "{}", ran.stdout);
    let summary = fs::read_to_string(directory.path().join("summary.md")).unwrap();
    assert!(summary.contains("2 passed, 2 failed"), "{summary}");
    let junit = directory.path().join(&action.values["steps.run.outputs.junit"]);
    assert!(fs::read_to_string(junit).unwrap().contains("failures=\"2\""));
    let json = fs::read_to_string(directory.path().join("evaluator-results/results.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
    assert_eq!(action.values["steps.run.outputs.exit-code"], "1");
    let installed = fs::read_to_string(directory.path().join("cargo.log")).unwrap();
    let root = directory.path().display();
    assert_eq!(
        installed,
        format!("cargo install --locked --path {root}/action/cli --root {root}/runner/evaluator\n")
    );

    let cache = directory.path().join("runner/evaluator-cache");
    let caches = fs::read_to_string(directory.path().join("caches")).unwrap();
    assert_eq!(caches, format!("{0}/target {0}/target {0}\n", cache.display()));

    // The cached command is not installed again.
    action.run().exits(1);
    assert_eq!(fs::read_to_string(directory.path().join("cargo.log")).unwrap(), installed);
}

#[test]
fn the_action_uses_an_installed_command_and_passes_arguments_on() {
    let directory = project();
    directory.file("other.yaml", "evaluators:\n  - {name: good, type: code, path: good}\n");
    let inputs = [
        ("traces", "my traces/k01_traj_exact.json\nmy traces/a01*.json\n"),
        ("config", "other.yaml"),
        ("args", "--jobs\n1\n"),
        ("results", "out put"),
        ("command", env!("CARGO_BIN_EXE_evaluator")),
    ];
    let mut action = Action::new(&directory, &inputs);
    action.run().exits(0);
    let junit = fs::read_to_string(directory.path().join("out put/junit.xml")).unwrap();
    assert!(junit.contains("tests=\"2\""), "{junit}");
    assert!(!directory.path().join("cargo.log").exists());

    let mut action = Action::new(&directory, &[inputs[4], ("traces", "gone/*.json")]);
    let ran = action.run();
    assert_ne!(ran.code, Some(0));
    assert!(format!("{}{}", ran.stdout, ran.stderr).contains("gone/*.json"), "{ran:?}");
}

#[test]
fn the_recipe_of_the_page_about_ci_is_one_of_the_action() {
    let page = include_str!("../../../docs/guides/ci.md");
    let blocks = page.split("```yaml\n").skip(1).map(|it| it.split_once("```").unwrap().0);
    let workflow = blocks.filter(|it| it.contains(".github/workflows")).collect::<Vec<_>>();
    assert_eq!(workflow.len(), 1, "one recipe for GitHub");
    // Older versions of YAML read the key `on` as a boolean.
    let workflow = workflow[0].replace("\non: ", "\n'on': ");
    let workflow = read_yaml(&workflow).unwrap().unwrap().to_json().unwrap();
    let workflow = Value::from(&workflow);
    let steps = workflow["jobs"]["evaluate"]["steps"].as_array().unwrap();
    let action = env!("CARGO_PKG_REPOSITORY").trim_start_matches("https://github.com/");
    let uses = |step: &&Value| step["uses"].as_str().is_some_and(|it| it.starts_with(action));
    let inputs = steps.iter().find(uses).unwrap()["with"].as_object().unwrap();
    let known = yaml("action.yml");
    assert!(inputs.keys().all(|name| known["inputs"].get(name).is_some()), "{inputs:?}");
    let inputs = inputs.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));

    let directory = project();
    directory.file("action/Cargo.lock", "");
    directory.file("action/cli/Cargo.toml", "");
    fs::rename(directory.path().join("my traces"), directory.path().join("traces")).unwrap();
    let ran = Action::new(&directory, &inputs.collect::<Vec<_>>()).run().exits(1);

    assert!(ran.stdout.contains("::error"), "{}", ran.stdout);
    let kept = steps.iter().find(|step| step["uses"] == "actions/upload-artifact@v4").unwrap();
    let results = directory.path().join(kept["with"]["path"].as_str().unwrap());
    assert!(results.join("junit.xml").is_file());
}

#[test]
fn the_job_for_gitlab_installs_runs_and_reports() {
    let directory = project();
    let job = &yaml("ci/gitlab.yml")[".evaluator"];
    let mut variables: BTreeMap<String, String> = job["variables"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect();
    fs::rename(directory.path().join("my traces"), directory.path().join("traces")).unwrap();
    let lines = ["before_script", "script"].map(|key| job[key].as_array().unwrap());
    let script: Vec<&str> =
        lines.into_iter().flatten().map(|line| line.as_str().unwrap()).collect();
    let run = |variables: &BTreeMap<String, String>| {
        shell(&directory, &["sh", "-ec"], &script.join("\n"), variables)
    };

    let ran = run(&variables).exits(1);

    assert!(ran.stdout.contains("low"), "{}", ran.stdout);
    let junit = job["artifacts"]["reports"]["junit"].as_str().unwrap();
    assert!(fs::read_to_string(directory.path().join(junit)).unwrap().contains("failures=\"2\""));
    let cache = directory.path().join(job["cache"]["paths"][1].as_str().unwrap());
    let caches = fs::read_to_string(directory.path().join("caches")).unwrap();
    assert_eq!(caches, format!("{0}/target {0}/target {0}\n", cache.display()));
    let log = directory.path().join("cargo.log");
    let repository = env!("CARGO_PKG_REPOSITORY");
    let installed =
        format!("cargo install --locked --git {repository} --root .evaluator-bin evaluator-cli\n");
    assert_eq!(fs::read_to_string(&log).unwrap(), installed);

    fs::remove_dir_all(directory.path().join(job["cache"]["paths"][0].as_str().unwrap())).unwrap();
    directory.file("other.yaml", "evaluators:\n  - {name: good, type: code, path: good}\n");
    variables.insert("EVALUATE_CONFIG".to_owned(), "other.yaml".to_owned());
    variables.insert("EVALUATE_VERSION".to_owned(), "v1.0.0".to_owned());
    run(&variables).exits(0);
    assert!(fs::read_to_string(&log).unwrap().contains("--tag v1.0.0 --root"));
}

#[test]
fn the_hook_checks_every_file_that_is_committed() {
    let directory = project();
    directory.file("sub/eval_config.yml", "evaluators:\n  - {name: a, type: biultin}\n");
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    let files = regex_lite::Regex::new(hook["files"].as_str().unwrap()).unwrap();
    let (good, bad) = ("eval_config.yaml", "sub/eval_config.yml");
    for (file, expected) in [(good, true), (bad, true), ("my_eval_config.yaml", false)] {
        assert_eq!(files.is_match(file), expected, "{file}");
    }
    let page = include_str!("../../../docs/guides/ci-and-editors.md");
    for key in ["entry", "language", "files"] {
        let line = format!("{key}: {}\n", hook[key].as_str().unwrap());
        assert!(page.contains(&line), "the page has another hook: {line}");
    }
    // The hook starts the program without a shell: `sh` is one of its own, so quoting is that of a shell.
    directory.script("bin/evaluator", r#"exec "$TESTED" "$@""#);
    let entry = hook["entry"].as_str().unwrap();
    let run = |files: &[&str]| {
        let line = format!("{entry} {}", files.join(" "));
        shell(&directory, &["sh", "-c"], &line, &BTreeMap::new())
    };
    run(&[good]).exits(0);
    run(&[bad, good]).exits(2).says("did you mean `builtin`?");
    run(&[good, bad]).exits(2).says("did you mean `builtin`?");
}

/// The jobs of a workflow, by their names.
fn jobs(workflow: &Value) -> impl Iterator<Item = (&String, &Value)> {
    workflow["jobs"].as_object().unwrap().iter()
}

/// The shell blocks of a job.
fn blocks(job: &Value) -> Vec<&str> {
    job["steps"].as_array().unwrap().iter().filter_map(|step| step["run"].as_str()).collect()
}

#[test]
fn every_change_passes_the_gate_and_every_night_all_of_its_steps() {
    for (file, script) in [("ci.yml", "bash .ci/run"), ("full.yml", "bash .ci/full")] {
        let workflow = yaml(&format!(".github/workflows/{file}"));
        assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}));
        let all: Vec<_> = jobs(&workflow).flat_map(|(_, job)| blocks(job)).collect();
        assert_eq!(all, [script]);
    }
}

#[test]
fn a_tag_publishes_every_package_after_all_were_tried_and_without_stored_tokens() {
    let workflow = yaml(".github/workflows/release.yml");
    assert_eq!(workflow["permissions"], serde_json::json!({"contents": "read"}));
    let build = blocks(&workflow["jobs"]["build"]).join("\n");
    for part in ["packaging/build", "packaging/try", "packaging/release --dry-run"] {
        assert!(build.contains(part), "{part}");
    }
    let mut published = Vec::new();
    for (name, job) in jobs(&workflow).filter(|(name, _)| *name != "build") {
        assert_eq!(job["environment"], "release", "{name}");
        assert!(job["needs"].to_string().contains("build") || name == "github", "{name}");
        let uploads = blocks(job);
        let uploads: Vec<_> =
            uploads.iter().filter_map(|it| it.strip_prefix("packaging/release ")).collect();
        assert_eq!(uploads, [name.as_str()]);
        published.push(name.as_str());
    }
    let text = workflow.to_string();
    assert!(!text.contains("secrets."), "a stored token");
    // What a dry run checks is what the workflow publishes.
    let directory = Directory::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/release");
    let unknown = format!("{script} --dry-run no-such-target");
    let ran = shell(&directory, &["bash", "-c"], &unknown, &BTreeMap::new()).exits(2);
    let (_, targets) = ran.stderr.trim().split_once("there are ").unwrap();
    let mut targets: Vec<_> =
        targets.split([',', ' ']).filter(|it| !["", "and"].contains(it)).collect();
    targets.sort_unstable();
    published.sort_unstable();
    assert_eq!(published, targets);
}

#[test]
fn the_values_of_the_publisher_are_replaced_everywhere_and_compared() {
    let directory = Directory::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let values = fs::read_to_string(root.join("packaging/project.toml")).unwrap();
    let repository = env!("CARGO_PKG_REPOSITORY");
    directory.file("packaging/project.toml", &values);
    let script = fs::read_to_string(root.join("packaging/project")).unwrap();
    directory.script("packaging/project", script.split_once('\n').unwrap().1);
    directory.file("packaging/project", script);
    directory.file("Cargo.toml", format!("repository = \"{repository}\"\n"));
    let short = repository.trim_start_matches("https://github.com/");
    directory.file("page.md", format!("uses: {short}@main and {repository}/raw/main\n"));
    let run = |line: &str| shell(&directory, &["bash", "-ec"], line, &BTreeMap::new());
    run("git init -q . && git add -A && packaging/project check").exits(0);
    run("packaging/project set repository https://github.com/acme/checks").exits(0);
    run("packaging/project check").exits(0);
    let page = fs::read_to_string(directory.path().join("page.md")).unwrap();
    assert_eq!(page, "uses: acme/checks@main and https://github.com/acme/checks/raw/main\n");
    directory.file("page.md", format!("see {repository}\n"));
    run("packaging/project check")
        .exits(1)
        .says("page.md:1: names evaluator-rs/evaluator, not acme/checks");
    run("packaging/project set repository acme").exits(1).says("a repository is");
    run("packaging/project set owner acme").exits(1).says("there is no key `owner`");
}

#[test]
fn every_address_of_the_repository_is_that_of_its_publisher() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let directory = Directory::new();
    let line = format!("{} check", root.join("packaging/project").display());
    shell(&directory, &["bash", "-c"], &line, &BTreeMap::new()).exits(0);
}
