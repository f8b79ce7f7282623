//! Metrics of other libraries: `type: metric`.
//!
//! The libraries are made here. They have the names and the classes of real ones, for whose versions they pretend to be, so
//! nothing is installed.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use evaluator_test_support::recording;
use serde_json::{Value, json};

use crate::support::{Directory, Ran, finish, has, trace};

/// The module that metrics of autoevals are imported from. Each is a way to answer, or to break.
const AUTOEVALS: &str = r#"import os, sys, threading, time
from abc import ABC, abstractmethod
from typing import Literal, Optional

from .llm import OpenAIScorer
from .score import Score, Scorer

with open(os.environ.get("IMPORTS", os.devnull), "a") as file:
    file.write("autoevals\n")


class Works(Scorer):
    def _run_eval_sync(self, output, **kwargs):
        print("this is no answer")
        return Score(0.25)


class Exact(Scorer):
    def _run_eval_sync(self, output, **kwargs):
        from decimal import Decimal

        return Score(Decimal("0.125"))


class Compares(Scorer):
    def _run_eval_sync(self, output, expected=None, **kwargs):
        return Score(float(output == expected))


class Weighs(Scorer):
    def __init__(self, weight: float, mode: Literal["add", "multiply"] = "add", limit: Optional[int] = None):
        if weight > 1:
            raise ValueError("the weight is more than 1")
        self.weight = weight

    def _run_eval_sync(self, output, **kwargs):
        return Score(self.weight)


class Skips(Scorer):
    def _run_eval_sync(self, output, **kwargs):
        return Score(None)


class Careless(Scorer):
    used = 0

    def _run_eval_sync(self, output, **kwargs):
        self.used += 1
        found = sys.stdin.read() or os.getcwd() == "/" or self.used > 1
        os.fork()
        os.chdir("/")
        sys.stdout.close()
        return Score(0.0 if found else 1.0)


class Unfinished(Scorer, ABC):
    @abstractmethod
    def parse(self):
        ...


class Asks(OpenAIScorer):
    def _run_eval_sync(self, output, expected=None, **kwargs):
        import json, urllib.request

        request = urllib.request.Request(
            os.environ["OPENAI_BASE_URL"] + "/chat/completions",
            data=json.dumps({"model": "gpt", "messages": [{"role": "user", "content": output}]}).encode(),
            headers={"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
        )
        with urllib.request.urlopen(request) as response:
            return Score(float(json.load(response)["choices"][0]["message"]["content"] == "yes"))


def helper():
    return 1
"#;

const SCORE: &str = "class Score:
    def __init__(self, score):
        self.score, self.metadata = score, {}


class Scorer:
    def eval(self, output, expected=None, **kwargs):
        return self._run_eval_sync(output, expected, **kwargs) if expected is not None else self._run_eval_sync(output, **kwargs)
";

const LLM: &str = "from .score import Scorer\n\n\nclass OpenAIScorer(Scorer):\n    def __init__(self, model=None):\n        pass\n";

/// A metric of retrieved texts.
const RAGAS: &str = "from .score import Score, Scorer


class Recall(Scorer):
    def _run_eval_sync(self, output, context=None, **kwargs):
        return Score(float(context == ['{\"temp\": 21, \"sky\": \"sunny\"}']))


class Faithfulness(Scorer):
    def _run_eval_sync(self, output, expected=None, context=None, **kwargs):
        return Score(float(expected is None and len(context) == 1))


class ContextEntityRecall(Scorer):
    def _run_eval_sync(self, output, expected=None, context=None, **kwargs):
        return Score(1.0)


class Similarity(Scorer):
    def _run_eval_sync(self, output, expected=None, **kwargs):
        return Score(float(output == expected))
";

/// A library that starts a thread when it is imported.
const OPENEVALS: &str = r#"import os, threading, time

with open(os.environ.get("IMPORTS", os.devnull), "a") as file:
    file.write("openevals\n")
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


def exact_match(*, outputs, reference_outputs, **kwargs):
    if outputs == "hang":
        time.sleep(600)
    return {"key": "exact_match", "score": outputs == reference_outputs, "comment": "compared"}


KEPT = []


def create_llm_as_judge(*, prompt: str, model: str):
    import json, urllib.request

    # As clients of some libraries do, this keeps the address and the token for good.
    if os.environ["OPENAI_BASE_URL"] and not KEPT:
        KEPT.extend([os.environ["OPENAI_BASE_URL"] + "/chat/completions", os.environ["OPENAI_API_KEY"]])

    def judge(*, inputs, outputs, reference_outputs=None):
        question = prompt.format(inputs=inputs, outputs=outputs, reference_outputs=reference_outputs)
        url, token = KEPT
        body = {"model": model, "messages": [{"role": "user", "content": question}]}
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + token}
        request = urllib.request.Request(url, data=json.dumps(body).encode(), headers=headers)
        with urllib.request.urlopen(request) as response:
            reply = json.load(response)["choices"][0]["message"]["content"]
        return {"key": "judge", "score": reply == "yes", "comment": "%s %s" % (question, token)}

    return judge
"#;

/// A directory with an interpreter that has the libraries; `None` without Python.
pub(crate) fn with_libraries() -> Option<Directory> {
    with_packages(
        &[
            ("autoevals/__init__.py", AUTOEVALS),
            ("autoevals/score.py", SCORE),
            ("autoevals/llm.py", LLM),
            ("autoevals/ragas.py", RAGAS),
            ("autoevals/broken.py", "import a_module_that_nobody_has\n"),
            ("autoevals/loud.py", "print('welcome')\nfrom autoevals import *\n"),
            ("openevals/__init__.py", OPENEVALS),
        ],
        &[("autoevals", "0.4.1"), ("openai", "3.57.0"), ("openevals", "0.2.2")],
    )
}

/// A directory with an interpreter that has these files, and these versions of packages; `None` without Python.
pub(crate) fn with_packages(
    files: &[(&str, &str)],
    versions: &[(&str, &str)],
) -> Option<Directory> {
    if !has("python3") {
        return None;
    }
    let directory = Directory::new();
    bare_python(&directory);
    for (name, text) in files {
        library_file(&directory, name, text);
    }
    for (name, version) in versions {
        let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n");
        let package = name.replace('-', "_");
        library_file(&directory, &format!("{package}-{version}.dist-info/METADATA"), &metadata);
    }
    Some(directory)
}

/// Makes an interpreter without packages.
#[expect(clippy::disallowed_methods, reason = "Python makes it")]
fn bare_python(directory: &Directory) {
    let venv = directory.path().join("bare");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).status();
    assert!(made.unwrap().success());
}

/// Returns the directory for the packages of that interpreter.
fn packages(directory: &Directory) -> PathBuf {
    let mut versions = fs::read_dir(directory.path().join("bare/lib")).unwrap();
    versions.next().unwrap().unwrap().path().join("site-packages")
}

/// Writes a file of a library.
pub(crate) fn library_file(directory: &Directory, name: &str, text: &str) {
    let path = packages(directory).join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn entry(name: &str, more: &str) -> String {
    format!("  - {{name: {name}, type: metric, {more}}}\n")
}

/// Runs a command with the interpreter that has the libraries.
fn command(directory: &Directory, args: &[&str]) -> Command {
    let mut command = directory.command(args);
    command
        .env("EVALUATOR_PYTHON", directory.path().join("bare/bin/python"))
        .env("EVALUATOR_CACHE_DIR", directory.path().join("cache"))
        .env("IMPORTS", directory.path().join("imports"))
        .env("EVALUATOR_PYTHON_SDK", "none")
        .env("PIP_NO_INDEX", "1")
        .env("PIP_CONFIG_FILE", "/dev/null");
    command
}

pub(crate) fn run(directory: &Directory, args: &[&str]) -> Ran {
    finish(command(directory, args).spawn().unwrap())
}

/// Writes a configuration with these entries, next to a conversation of two turns and its golden case.
pub(crate) fn configure(directory: &Directory, entries: &str) {
    directory.file("c.yaml", format!("eval_set: set.json\nevaluators:\n{entries}"));
    let turns = recording::recording([("Where?", "Here."), ("And now?", "There.")]);
    // Both turns are in one trace.
    directory.file("trace.json", turns.replace(&format!("{:032x}", 2), &format!("{:032x}", 1)));
    directory.file("set.json", set(&[("Where?", "Here."), ("And now?", "Nowhere.")]));
}

/// Returns an eval set with a case of these prompts and answers.
pub(crate) fn set(turns: &[(&str, &str)]) -> String {
    let content = |text: &str| json!({"parts": [{"text": text}]});
    let turn = |(prompt, answer): &(&str, &str)| json!({"invocation_id": prompt, "user_content": content(prompt), "final_response": content(answer)});
    let conversation: Vec<_> = turns.iter().map(turn).collect();
    let cases = json!([{"eval_id": "one", "conversation": conversation}]);
    json!({"eval_set_id": "s", "eval_cases": cases}).to_string()
}

pub(crate) fn evaluate(directory: &Directory, entries: &str) -> Ran {
    configure(directory, entries);
    run(directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"])
}

fn metric(name: &str) -> String {
    entry(&name.to_lowercase(), &format!("metric: 'autoevals:{name}', timeout: 3"))
}

#[test]
fn a_metric_scores_every_turn() {
    let Some(directory) = with_libraries() else { return };
    let entries = metric("Works")
        + &metric("Compares")
        + &metric("Skips")
        + &entry(
            "weighs",
            "metric: 'autoevals:Weighs', args: {weight: 0.75, mode: multiply}, threshold: 0.8",
        )
        + &metric("Exact");
    let ran = evaluate(&directory, &entries).exits(1);
    assert_eq!(
        ran.evaluations(0),
        ["works FAILED", "compares PASSED", "skips NOT_EVALUATED", "weighs FAILED", "exact FAILED"]
    );
    let json = ran.json();
    let metrics = &json["traces"][0]["metrics"];
    let scores: Vec<_> = [0, 1, 3, 4].map(|index| metrics[index]["score"].as_f64()).into();
    assert_eq!(scores, [Some(0.25), Some(0.5), Some(0.75), Some(0.125)]);
    assert_eq!(metrics[1]["per_invocation_scores"], json!([1.0, 0.0]));
}

#[test]
fn conversations_without_a_golden_case_are_not_evaluated() {
    let Some(directory) = with_libraries() else { return };
    configure(&directory, &(metric("Works") + &metric("Compares")));
    directory.file("c.yaml", format!("evaluators:\n{}{}", metric("Works"), metric("Compares")));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(1);
    assert_eq!(ran.evaluations(0), ["works FAILED", "compares NOT_EVALUATED"]);
    assert!(ran.stderr.contains("there is no golden answer"), "{}", ran.stderr);
}

#[test]
fn a_turn_without_an_answer_is_measured_by_the_empty_one() {
    let Some(directory) = with_libraries() else { return };
    let ran = |unanswered: &[&str]| {
        configure(&directory, &metric("Compares"));
        let mut trace = directory.read("trace.json");
        for answer in unanswered {
            trace = without_answer(&trace, answer);
        }
        directory.file("trace.json", trace);
        run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"])
    };
    let of = |ran: Ran| ran.json()["traces"][0]["metrics"][0].clone();
    let metric = of(ran(&["There."]).exits(0));
    assert_eq!(metric["per_invocation_scores"], json!([1.0, 0.0]), "{metric}");
    let metric = of(ran(&["Here.", "There."]).exits(1));
    assert_eq!((&metric["score"], &metric["eval_status"]), (&json!(0.0), &json!("FAILED")));
}

/// Takes an answer out of a recording.
fn without_answer(trace: &str, answer: &str) -> String {
    let mut trace: Value = serde_json::from_str(trace).unwrap();
    let mut taken = 0;
    for resource in trace["resourceSpans"].as_array_mut().unwrap() {
        for scope in resource["scopeSpans"].as_array_mut().unwrap() {
            for span in scope["spans"].as_array_mut().unwrap() {
                let attributes = span["attributes"].as_array_mut().unwrap();
                let before = attributes.len();
                attributes.retain(|it| {
                    it["key"] != "gen_ai.output.messages" || !it.to_string().contains(answer)
                });
                taken += before - attributes.len();
            }
        }
    }
    assert!(taken > 0, "{answer}");
    trace.to_string()
}

#[test]
fn retrieved_texts_are_results_of_the_named_tools() {
    let Some(directory) = with_libraries() else { return };
    let trace = trace("a01_otlp_basic_parts");
    let evaluate = |more: &str| {
        let entry = entry("recall", &format!("metric: 'autoevals.ragas:Recall'{more}"));
        directory.file("c.yaml", format!("evaluators:\n{entry}"));
        run(&directory, &["run", &trace, "-c", "c.yaml", "-o", "json"])
    };
    let ran = evaluate(", retrieval: [get_weather]").exits(0);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 1.0);
    let ran = evaluate(", retrieval: [search]").exits(1);
    assert_eq!(ran.evaluations(0), ["recall NOT_EVALUATED"]);
    assert!(ran.stderr.contains("there are no retrieved texts"), "{}", ran.stderr);
    let ran = evaluate("").exits(2);
    let message =
        "needs retrieved texts: name the tools that give them, e.g. `retrieval: [search]`";
    assert!(ran.stderr.contains(message), "{}", ran.stderr);
}

#[test]
fn a_metric_of_retrieval_needs_only_the_parts_that_it_reads() {
    let Some(directory) = with_libraries() else { return };
    let similar = entry("similar", "metric: 'autoevals.ragas:Similarity', threshold: 0.5");
    assert_eq!(evaluate(&directory, &similar).exits(0).evaluations(0), ["similar PASSED"]);
    let faithful =
        entry("faithful", "metric: 'autoevals.ragas:Faithfulness', retrieval: [get_weather]");
    directory.file("c.yaml", format!("evaluators:\n{faithful}"));
    let trace = trace("a01_otlp_basic_parts");
    let ran = run(&directory, &["run", &trace, "-c", "c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.evaluations(0), ["faithful PASSED"]);
}

#[test]
fn a_metric_asks_the_models_of_its_entry() {
    let Some(directory) = with_libraries() else { return };
    configure(&directory, "");
    directory.file("replies", "\"yes\"\n\"no\"\n");
    let entry = entry("asks", "metric: 'autoevals:Asks', models: {gpt: 'fake:replies'}");
    directory.file("c.yaml", format!("eval_set: set.json\nevaluators:\n{entry}"));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(0);
    let metric = &ran.json()["traces"][0]["metrics"][0];
    assert_eq!(metric["per_invocation_scores"], json!([1.0, 0.0]), "{metric}");
    assert_eq!(metric["target_proxy"]["call_count"], 2);
}

/// Its library is imported once, its clients stay, and every conversation has calls of its own. A judge needs what its prompt names.
#[test]
fn a_judge_stays_warm_and_each_conversation_has_its_own_models() {
    let Some(directory) = with_libraries() else { return };
    directory.file("replies", "\"yes\"\n".repeat(20));
    let judge = |prompt: &str| {
        let keys =
            format!("args: {{prompt: '{prompt}', model: gpt}}, models: {{gpt: 'fake:replies'}}");
        let entry = entry("judge", &format!("metric: 'openevals:create_llm_as_judge', {keys}"));
        directory.file("c.yaml", format!("evaluators:\n{entry}"));
        let trace = trace("i11_five_traces_plain");
        run(&directory, &["run", &trace, "-c", "c.yaml", "-o", "json", "--jobs", "1"])
    };
    let _ = fs::remove_file(directory.path().join("imports"));
    let report = judge("Is {outputs} good?").exits(0).json();
    let metric = |at: usize| &report["traces"][at]["metrics"][0];
    for at in 0..5 {
        assert_eq!(metric(at)["target_proxy"]["call_count"], 1, "{}", metric(at));
    }
    let token = |at: usize| {
        let reason = metric(at)["details"]["reason"].as_str().unwrap();
        reason.split_whitespace().next_back().unwrap()
    };
    let mut tokens: Vec<&str> = (0..5).map(token).collect();
    tokens.dedup();
    assert_eq!(tokens.len(), 1, "the client of the first one asks for all: {tokens:?}");
    let imports = fs::read_to_string(directory.path().join("imports")).unwrap();
    assert_eq!(
        imports.lines().count(),
        2,
        "once by the question about the entry, and once by the worker"
    );
    let ran = judge("Is {outputs} as good as {reference_outputs}?").exits(1);
    assert_eq!(ran.evaluations(0), ["judge NOT_EVALUATED"]);
}

#[test]
fn a_library_that_cannot_be_imported_breaks_its_own_entries() {
    let Some(directory) = with_libraries() else { return };
    let entries = entry("broken", "metric: 'autoevals.broken:Works'")
        + &entry("loud", "metric: 'autoevals.loud:Works'")
        + &entry(
            "gone",
            "metric: 'agentevals.trajectory:X', requirements: [nothing-has-this-name==1]",
        )
        + &metric("Works");
    let ran = evaluate(&directory, &entries).exits(3);
    let error = ran.error_of("broken");
    let reason = "the library cannot be imported: ModuleNotFoundError: No module named 'a_module_that_nobody_has'";
    assert!(error.contains(reason), "{error}");
    let error = ran.error_of("loud");
    assert!(error.contains("prints on standard output while it is imported: welcome"), "{error}");
    assert!(ran.error_of("gone").contains("nothing-has-this-name"), "{}", ran.error_of("gone"));
    assert_eq!(ran.evaluations(0).last().unwrap(), "works FAILED");
}

#[test]
fn mistakes_in_entries_are_found_before_anything_runs() {
    let Some(directory) = with_libraries() else { return };
    let autoevals = |name: &str| format!("metric: 'autoevals:{name}'");
    let weighs = |args: &str| format!("metric: 'autoevals:Weighs', args: {args}");
    let mistakes = [
        (autoevals("Work"), "`autoevals` has no metric `Work`; did you mean `Works`?"),
        (autoevals("Unfinished"), "`autoevals:Unfinished` is abstract"),
        (autoevals("helper"), "`autoevals:helper` is not a metric that can be called here"),
        (
            autoevals("Asks"),
            "`autoevals:Asks` asks a model, and its entry offers none: add `models`",
        ),
        (
            "metric: 'autoevals.nothing:X'".to_owned(),
            "`autoevals` has no module `autoevals.nothing`",
        ),
        (
            "metric: 'openevals.strings:exact_match'".to_owned(),
            "`openevals` has no module `openevals.strings`; did you mean `openevals.string`?",
        ),
        (
            "metric: 'autoevals.ragas:ContextEntityRecall'".to_owned(),
            "needs a package that is not installed: add scipy to `requirements`",
        ),
        (weighs("{}"), "`autoevals:Weighs` needs the argument `weight`: write it below `args`"),
        (weighs("{weigth: 1}"), "has no argument `weigth`; did you mean `weight`?"),
        (
            weighs("{weight: heavy}"),
            "the argument `weight` is 'heavy', and has to be of the type float",
        ),
        (
            weighs("{weight: 1, mode: divide}"),
            "the argument `mode` is 'divide', and may be 'add', 'multiply'",
        ),
        (
            weighs("{weight: 1, limit: true}"),
            "the argument `limit` is True, and has to be of the type int",
        ),
        (
            weighs("{weight: 2}"),
            "`autoevals:Weighs` refuses its arguments: ValueError: the weight is more than 1",
        ),
    ];
    let numbered = mistakes.iter().enumerate();
    let entries: String =
        numbered.map(|(number, (keys, _))| entry(&format!("x{number}"), keys)).collect();
    let ran = evaluate(&directory, &(entries + &metric("Works"))).exits(2);
    let checked = run(&directory, &["check", "c.yaml"]).exits(2);
    for (keys, message) in mistakes {
        assert!(ran.stderr.contains(message), "{keys}: {}", ran.stderr);
        assert!(checked.stdout.contains(message), "{keys}: {}", checked.stdout);
    }
}

#[test]
fn wrong_keys_are_problems_of_the_configuration() {
    let directory = Directory::new();
    for (keys, message) in [
        ("metric: 'deepevals:X'", "did you mean `deepeval`?"),
        ("metric: 'pandas:X'", "libraries: agentevals, autoevals, deepeval"),
        (
            "metric: autoevals.Levenshtein",
            "`metric` must be MODULE:NAME, not `autoevals.Levenshtein`",
        ),
        ("args: {}", "the key `metric` is missing in this evaluator"),
        ("metric: 'autoevals:X', requirements: []", "`requirements` is empty"),
        (
            "metric: 'autoevals:X', requirements: autoevals",
            "`requirements` must be a list, not text",
        ),
        ("metric: 'autoevals:X', retrieval: [3]", "`retrieval` must be text"),
        (
            "metric: 'autoevals:X', requirements: [\"a\\nb\"]",
            "`requirements` has `a\\nb`, which is not a requirement, such as",
        ),
        (
            "metric: 'autoevals:X', requirements: [./autoevals-1-py3-none-any.whl]",
            "`requirements` has `./autoevals-1-py3-none-any.whl`, which is not a requirement, such as `rapidfuzz>=3` or \
             `name @ file:///FILE.whl`",
        ),
        ("metric: 'autoevals:X', requirements: ['--pre']", "has `--pre`, which is not"),
        ("metric: 'autoevals:X', requirements: [autoevals, ' ']", "has ``, which is not"),
        ("metric: 'autoevals:X', retrieval: [\"a\\tb\"]", "`retrieval` has `a\\tb`, which"),
        ("metric: 'autoevals:X', config: {}", "unknown key `config`"),
        ("metric: 'autoevals:X', contract: adk", "unknown key `contract`"),
    ] {
        directory.file("c.yaml", format!("evaluators:\n{}", entry("x", keys)));
        let ran = run(&directory, &["check", "c.yaml"]).exits(2);
        assert!(ran.stderr.contains(message), "{keys}: {}", ran.stderr);
    }
}

#[test]
fn the_check_shows_metrics_with_their_arguments() {
    let Some(directory) = with_libraries() else { return };
    configure(
        &directory,
        &entry("weighs", "metric: 'autoevals:Weighs', args: {weight: 0.5, mode: add}"),
    );
    let ran = run(&directory, &["check", "c.yaml"]).exits(0);
    let shown = r#"autoevals:Weighs(weight=0.5, mode="add") (Python: "#;
    assert!(ran.stdout.contains(shown), "{}", ran.stdout);
}

/// Before a library is installed, the check compares the names of its module and of the packages.
#[test]
fn the_check_knows_packages_that_are_not_named_after_their_module() {
    let Some(directory) = with_packages(&[], &[]) else { return };
    let metrics = ["phoenix.evals.metrics:exact_match", "strands_evals.evaluators:Equals"];
    let checked = |requirements: &str| {
        let entries = metrics.map(|metric| format!("metric: '{metric}'{requirements}"));
        let entries = entry("one", &entries[0]) + &entry("other", &entries[1]);
        directory.file("c.yaml", format!("evaluators:\n{entries}"));
        run(&directory, &["check", "c.yaml"]).exits(0).stdout
    };
    let text = checked("");
    assert!(text.contains("will be built") && !text.contains("no package is named"), "{text}");
    let text = checked(", requirements: [phoenix]");
    let other = "what it imports as `strands_evals` (of strands-agents-evals), so";
    let phoenix = "what it imports as `phoenix` (of arize-phoenix-evals), so";
    assert!(text.contains(other) && text.contains(phoenix), "{text}");
}

#[test]
fn the_metrics_of_a_library_are_listed() {
    let Some(directory) = with_libraries() else { return };
    let ran = run(&directory, &["list", "--library", "autoevals"]).exits(0);
    let row = |metric: &str| {
        let start = format!("{metric} ");
        let line = ran.stdout.lines().find(|line| line.starts_with(&start));
        line.map(|line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(row("autoevals:Weighs").as_deref(), Some("weight, mode, limit"), "{}", ran.stdout);
    assert_eq!(row("autoevals:Asks").as_deref(), Some("asks model"));
    assert_eq!((row("autoevals:Unfinished"), row("autoevals:helper")), (None, None));
    let ran = run(&directory, &["list", "--library", "pandas"]).exits(2);
    assert!(ran.stderr.contains("libraries: agentevals, autoevals"), "{}", ran.stderr);
}

#[test]
fn another_version_than_the_tried_ones_is_a_warning() {
    let Some(directory) = with_libraries() else { return };
    let entries =
        entry("works", "metric: 'autoevals:Works', requirements: [autoevals>=0.4], threshold: 0.2");
    let of = |ran: Ran| ran.json()["warnings"].to_string();
    assert_eq!(of(evaluate(&directory, &entries).exits(0)), "null");
    let metadata = "Metadata-Version: 2.1\nName: autoevals\nVersion: 0.5\n";
    library_file(&directory, "autoevals-0.4.1.dist-info/METADATA", metadata);
    let warnings = of(evaluate(&directory, &entries).exits(0));
    let expected = "works: autoevals 0.5 is installed, and its metrics were tried with 0.4.1";
    assert!(warnings.contains(expected), "{warnings}");
    let renamed = entry("renamed", "metric: 'autoevals:Renamed', requirements: [autoevals>=0.4]");
    let ran = evaluate(&directory, &renamed).exits(2);
    let expected = "has no metric `Renamed` (autoevals 0.5 is installed, and its metrics were";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
}

/// Runs a metric over five conversations, one after the other, and returns how often its library was imported.
fn imports(directory: &Directory, library: &str, metric: &str) -> usize {
    let _ = fs::remove_file(directory.path().join("imports"));
    directory
        .file("c.yaml", format!("evaluators:\n{}", entry("x", &format!("metric: '{metric}'"))));
    let trace = trace("i11_five_traces_plain");
    let ran = run(directory, &["run", &trace, "-c", "c.yaml", "-o", "json", "--jobs", "1", "-v"]);
    assert!(!ran.stderr.contains("a new process for every evaluation"), "{}", ran.stderr);
    let log = fs::read_to_string(directory.path().join("imports")).unwrap();
    log.lines().filter(|line| *line == library).count()
}

#[test]
fn a_library_is_imported_once_for_all_conversations() {
    let Some(directory) = with_libraries() else { return };
    // Once by the question about the entry, and once for all evaluations.
    assert_eq!(imports(&directory, "autoevals", "autoevals:Works"), 2);
    // This one starts a thread.
    assert_eq!(imports(&directory, "openevals", "openevals:exact_match"), 2);
}

#[test]
fn a_metric_finds_nothing_that_another_conversation_left() {
    let Some(directory) = with_libraries() else { return };
    directory.file("c.yaml", format!("evaluators:\n{}", metric("Careless")));
    let trace = trace("i11_five_traces_plain");
    let ran = run(&directory, &["run", &trace, "-c", "c.yaml", "-o", "json", "--jobs", "1"]);
    let all: Vec<String> = (0..5).flat_map(|index| ran.evaluations(index)).collect();
    assert_eq!(all, ["careless PASSED"; 5], "{}", ran.stderr);
    ran.exits(0);
}

#[test]
fn a_worker_has_a_deadline_for_each_conversation() {
    let Some(directory) = with_libraries() else { return };
    configure(&directory, &entry("match", "metric: 'openevals:exact_match', timeout: 2"));
    let answers = ["Here.", "hang", "There.", "Here."];
    let turns = answers.map(|answer| ("Where?", answer));
    directory.file("trace.json", recording::recording(turns));
    directory.file("set.json", set(&[("Where?", "Here.")]));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json", "--jobs", "1"]);
    let all: Vec<String> = (0..4).flat_map(|index| ran.evaluations(index)).collect();
    assert_eq!(all, ["match PASSED", "match ERROR timed_out", "match FAILED", "match PASSED"]);
}

#[test]
fn a_resumed_run_reuses_the_results_of_a_metric_with_the_same_arguments() {
    let Some(directory) = with_libraries() else { return };
    let run = |weight: &str, reused: &str| {
        let weighs = format!("metric: 'autoevals:Weighs', args: {{weight: {weight}}}");
        configure(&directory, &(entry("weighs", &weighs) + &metric("Works")));
        let args = ["run", "trace.json", "-c", "c.yaml", "--resume", "--save-run", "r.evalrun"];
        let ran = run(&directory, &args);
        assert!(!ran.stderr.contains("cannot be reused"), "{}", ran.stderr);
        assert!(ran.stderr.contains(reused), "{}", ran.stderr);
    };
    run("0.5", "0 of 2 results from an earlier run");
    run("0.5", "2 of 2 results from an earlier run");
    run("1.0", "1 of 2 results from an earlier run");
}

/// Sources of the tests are in UTF-8, and so is the program that calls a metric.
#[test]
fn texts_of_all_languages_arrive() {
    let Some(directory) = with_libraries() else { return };
    configure(&directory, &(metric("Compares")));
    let (trace, set) = (directory.read("trace.json"), directory.read("set.json"));
    directory.file("trace.json", trace.replace("There.", "Über dort ⛵."));
    directory.file("set.json", set.replace("Nowhere.", "Über dort ⛵."));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(0);
    assert_eq!(ran.json()["traces"][0]["metrics"][0]["score"], 1.0);
    assert!(Path::new(&directory.path().join("cache/metrics")).is_dir());
}
