//! Renders every template and follows its README.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Duration,
};

use evaluator_cli::scaffold::{Created, Language, Request, SdkSource, Template, render};
use evaluator_host::{
    config::{Config, EvaluatorKind},
    runtime::{Environment, Runtimes},
};
use evaluator_protocol::{EvalResult, Manifest, Score, decode};
use evaluator_publish::validate::{Standing, Validator};
use evaluator_test_support::{has, has_typescript};
use saphyr_parser::{Event, Parser};
use serde_json::{Map, Value};

/// A rendered template that goes away with the test.
struct Scaffold {
    created: Created,
    directory: PathBuf,
}

impl Scaffold {
    fn new(prefix: &str, template: Template) -> Self {
        // A name with a hyphen: package, function and files have to use the same replacement.
        let name = format!("{prefix}-{}", template.name());
        let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scaffolds");
        let directory = evaluator_test_support::unshared(&base).join(&name);
        if directory.exists() {
            fs::remove_dir_all(&directory).unwrap();
        }
        let request = Request::new(&directory, None, Some(template), Language::Rust).unwrap();
        let created = render(&request, &SdkSource::of_this_build()).unwrap();
        if template.language() == Some(Language::Rust) {
            // The versions this workspace was built with are on this machine; others may not be.
            let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
            fs::copy(lock, directory.join("Cargo.lock")).unwrap();
        }
        Self { created, directory }
    }

    /// Moves the directory into another one.
    fn moved(mut self) -> Self {
        let parent = self.directory.with_extension("moved");
        if parent.exists() {
            fs::remove_dir_all(&parent).unwrap();
        }
        fs::create_dir(&parent).unwrap();
        let directory = parent.join(self.directory.file_name().unwrap());
        fs::rename(&self.directory, &directory).unwrap();
        self.directory = directory;
        self
    }

    /// Builds it and runs it as the host does.
    fn is_valid(&self) {
        let environment = Environment::inherited().with("CARGO_NET_OFFLINE", "true").with(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators/target"),
        );
        let validator = Validator {
            runtimes: Runtimes::in_environment(&environment),
            timeout: Duration::from_secs(120),
            ..Validator::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let directories = [self.directory.clone()];

        let validations = runtime.block_on(validator.validate(&directories, &mut |_| ()));

        let [validation] = validations.as_slice() else { panic!("one expected") };
        match validation.standing() {
            Standing::Valid => {}
            Standing::Incomplete => eprintln!("SKIPPED: {:?}", validation.checks),
            Standing::Invalid => panic!("{validation:#?}"),
        }
    }

    /// Runs a line of shell in the directory.
    fn sh(&self, line: &str) -> Output {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.directory)
            .env(
                "CARGO_TARGET_DIR",
                Path::new(env!("CARGO_TARGET_TMPDIR")).join("evaluators/target"),
            )
            .env("CARGO_NET_OFFLINE", "true")
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{line}\n{stdout}\n{stderr}");
        assert!(!stderr.contains("warning"), "{line}\n{stderr}");
        output
    }

    /// Runs the first commands of the README: they test the evaluator and run it on a document.
    fn follow_the_readme(&self) {
        let readme = fs::read_to_string(self.directory.join("README.md")).unwrap();
        let block = readme.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
        let lines: Vec<&str> = block.lines().collect();
        let [test, run] = lines.as_slice() else { panic!("two commands expected: {block}") };
        self.sh(test);
        let answer: EvalResult = decode(&self.sh(run).stdout).unwrap();
        assert_eq!(answer.score, Score::ONE);
    }
}

impl Drop for Scaffold {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Everything is done where the package has been moved to: it depends on nothing that was next to it.
fn rust(template: Template) {
    let scaffold = Scaffold::new("readme", template).moved();
    scaffold.sh("cargo fmt --check");
    scaffold.follow_the_readme();
    scaffold.is_valid();
}

#[test]
fn basic() {
    rust(Template::Basic);
}

#[test]
fn typed_config() {
    rust(Template::TypedConfig);
}

#[test]
fn typed_config_describes_ranges_and_defaults() {
    let scaffold = Scaffold::new("describe", Template::TypedConfig);
    let description: Value =
        serde_json::from_slice(&scaffold.sh("cargo run --quiet -- --describe").stdout).unwrap();
    let schema = &description["evaluators"][0]["config_schema"];
    let length = &schema["properties"]["min_length"];
    assert_eq!(length["default"], 20, "{schema}");
    let definition = length["$ref"].as_str().unwrap().trim_start_matches('#');
    let definition = schema.pointer(definition).unwrap();
    assert_eq!(definition["type"], "integer", "{schema}");
    assert_eq!(definition["minimum"], 1, "{schema}");
}

#[test]
fn tool_trajectory() {
    rust(Template::ToolTrajectory);
}

#[test]
fn python() {
    if has("python3") {
        Scaffold::new("readme", Template::Python).follow_the_readme();
    }
}

#[test]
fn javascript() {
    if has("node") {
        Scaffold::new("readme", Template::Javascript).follow_the_readme();
    }
}

#[test]
fn typescript() {
    if has_typescript() {
        Scaffold::new("readme", Template::Typescript).follow_the_readme();
    }
}

#[test]
fn the_printed_configuration_is_one() {
    for template in Template::all() {
        let scaffold = Scaffold::new("config", template);
        let file = scaffold.directory.join("eval_config.yaml");
        fs::write(&file, scaffold.created.config()).unwrap();

        let config = Config::load(&file).unwrap();

        let [entry] = config.evaluators.as_slice() else { panic!("one entry expected") };
        assert_eq!(entry.name, format!("config_{}", template.name().replace('-', "_")));
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        let path = match &entry.kind {
            EvaluatorKind::Code(code) => code.path.clone(),
            // Its prompt was read.
            EvaluatorKind::LlmJudge(_) => scaffold.created.entrypoint(),
            other => panic!("{other:?}"),
        };
        assert_eq!(path, scaffold.created.entrypoint());
        assert!(path.is_file());
    }
}

#[test]
fn the_manifest_describes_the_evaluator() {
    for (template, language) in Template::all().filter_map(|it| Some((it, it.language()?))) {
        let scaffold = Scaffold::new("manifest", template);
        let text = fs::read_to_string(scaffold.directory.join("evaluator.yaml")).unwrap();

        let manifest: Manifest = serde_json::from_value(flat_yaml(&text)).unwrap();

        assert_eq!(manifest.name, format!("manifest-{}", template.name()));
        assert_eq!(manifest.language, language.name().to_lowercase());
        assert_eq!(scaffold.directory.join(manifest.entrypoint), scaffold.created.entrypoint());
        assert!(!manifest.description.is_empty() && !manifest.tags.is_empty());
    }
}

#[test]
fn what_is_created_is_valid() {
    let has_no_build = |it: &Template| it.language().is_some_and(|it| it != Language::Rust);
    for template in Template::all().filter(has_no_build) {
        Scaffold::new("valid", template).is_valid();
    }
}

/// Reads a mapping whose values are texts and lists of texts.
fn flat_yaml(text: &str) -> Value {
    let mut map = Map::new();
    let mut key: Option<String> = None;
    let mut list: Option<Vec<Value>> = None;
    for event in Parser::new_from_str(text) {
        match event.unwrap().0 {
            Event::SequenceStart(..) => list = Some(Vec::new()),
            Event::SequenceEnd => {
                map.insert(key.take().unwrap(), list.take().into());
            }
            Event::Scalar(value, ..) => match (&mut list, key.take()) {
                (Some(list), name) => {
                    list.push(value.into_owned().into());
                    key = name;
                }
                (None, Some(name)) => {
                    map.insert(name, value.into_owned().into());
                }
                (None, None) => key = Some(value.into_owned()),
            },
            _ => {}
        }
    }
    map.into()
}
