//! JSON Schema of configurations, for editors.

use evaluator_protocol::Contract;
use serde_json::{Value, json};

use super::{
    OutputFormat,
    containment::{ENGINES, LEVELS, PULLS, SANDBOX_ONLY},
    evaluator::{DEFAULT_SOURCE, contracts},
    gates,
    read::GROUPINGS,
};
use crate::{hosts::function_contracts, registries::Registries};

/// The schema without values that registries determine, and without evaluators that share the keys of `type: code`.
const TEMPLATE: &str = include_str!("schema.json");

/// The schema of entries with `type: llm_judge`.
const LLM_JUDGE: &str = include_str!("llm_judge/schema.json");

/// The schema of `sandbox`.
const SANDBOX: &str = include_str!("sandbox.json");

/// Keys that evaluators of `type: linked` share with programs.
const LINKED: [&str; 6] = ["name", "threshold", "missing_turns", "timeout", "config", "contract"];

/// Identifier of the schema, which is also where it is published: `docs/schema/eval_config.json` of the repository.
const ID: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/raw/main/docs/schema/eval_config.json");

/// Pattern of a `ref`. The reader also checks the number of segments and the extension.
const REFERENCE: &str = r"^[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*(/[A-Za-z0-9_][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*)*$";

/// Returns the first line of a configuration, by which editors find the schema.
#[must_use]
pub fn schema_line() -> String {
    format!("# yaml-language-server: $schema={ID}\n")
}

/// Returns a JSON Schema (2020-12) of configurations that may name what is `known`. Editors use it for completion
/// and first checks.
///
/// The schema has the keys, their types and their possible values. [`Runner::check`](crate::run::Runner::check) also checks
/// what a schema cannot express, such as whether files exist and names are unique.
#[must_use]
pub fn schema(known: &Registries) -> Value {
    let Registries { metrics, trace_formats, .. } = known;
    let mut schema: Value = serde_json::from_str(TEMPLATE).unwrap_or_default();
    schema["$id"] = json!(ID);
    let top = &mut schema["properties"];
    top["trace_format"]["enum"] = json!(trace_formats.names());
    top["group_by"]["enum"] = names(&GROUPINGS);
    top["output_format"]["enum"] = OutputFormat::ALL.iter().map(|format| format.name()).collect();
    let judge: Value = serde_json::from_str(evaluator_judging::SCHEMA).unwrap_or_default();
    top["judge"] = judge.clone();
    let entries = &mut top["evaluators"]["items"]["oneOf"];
    for setting in metrics.iter().flat_map(|metric| metric.settings()) {
        let schema = serde_json::from_str(setting.schema).unwrap_or_default();
        entries[0]["properties"][setting.key] = schema;
    }
    entries[0]["properties"]["name"]["enum"] = metrics.iter().map(|metric| metric.name()).collect();
    entries[0]["properties"]["judge"] = judge.clone();
    entries[2]["properties"]["judge"] = judge;
    let mut code = entries[1].take();
    let mut programs = programs(&entries[0]["properties"]["judge"]);
    for key in ["models", "target"] {
        code["properties"][key] = programs[key].take();
    }
    let mut sandbox: Value = serde_json::from_str(SANDBOX).unwrap_or_default();
    sandbox["properties"]["level"]["enum"] = names(&LEVELS);
    code["properties"]["docker"] = docker(sandbox.clone());
    code["properties"]["sandbox"] = sandbox;
    let contained =
        ["executor", "sandbox", "docker"].map(|key| (key, code["properties"][key].clone()));
    // One of them is enough.
    code["not"] = json!({"required": ["models", "target"]});
    code["properties"]["contract"]["enum"] = names(&contracts());
    let callers: Vec<&str> = function_contracts().map(Contract::name).collect();
    code["dependentSchemas"]["function"]["properties"]["contract"]["enum"] = json!(callers);
    let openai_eval = entries[2].take();
    let remote = remote(code.clone());
    let linked = linked(code.clone());
    let mut llm_judge: Value = serde_json::from_str(LLM_JUDGE).unwrap_or_default();
    llm_judge["properties"]["judge"] = entries[0]["properties"]["judge"].clone();
    *entries = json!([entries[0].take(), code, remote, openai_eval, linked, llm_judge]);
    for entry in entries.as_array_mut().into_iter().flatten() {
        entry["properties"]["gate"] = gates::schema();
    }
    top["defaults"]["properties"] = contained.into_iter().collect();
    schema
}

/// Returns the schemas of `models` and `target` of a program. The settings of a model are those of a judge that decide how a
/// request is sent.
fn programs(judge: &Value) -> Value {
    const SETTINGS: &str = "model base_url api_key_env credential_ref credentials allow_http params drop_params timeout retries \
        concurrency rate";
    let mut schema: Value =
        serde_json::from_str(evaluator_judging::PROGRAM_SCHEMA).unwrap_or_default();
    let settings: Vec<&str> = SETTINGS.split(' ').collect();
    let mut model = judge.clone();
    if let Some(keys) = model["properties"].as_object_mut() {
        keys.retain(|key, _| settings.contains(&key.as_str()));
    }
    if let Some(params) = model["properties"]["params"]["properties"].as_object_mut() {
        params.remove("json_schema");
    }
    model["type"] = json!("object");
    model["properties"]["model"]["type"] = json!("string");
    model["required"] = json!(["model"]);
    model["description"] = json!("Settings of the model.");
    schema["models"]["additionalProperties"] =
        json!({"oneOf": [{"type": "string", "minLength": 1, "pattern": "\\S"}, model]});
    for key in ["models", "target"] {
        schema[key]["properties"]["budget"] = judge["properties"]["budget"].clone();
    }
    schema
}

/// Returns the schema of `docker`, which shares keys with `sandbox`.
fn docker(mut sandbox: Value) -> Value {
    sandbox["description"] = json!("What the program may use with `executor: docker`.");
    let keys = &mut sandbox["properties"];
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, _| !SANDBOX_ONLY.contains(&key.as_str()));
    }
    keys["image"] = json!({
        "description": "Name, digest or id of the image.",
        "type": "string", "pattern": r"^[^-\s]\S*$"
    });
    keys["engine"] = json!({
        "description": "Command of the container engine; default: docker if it is on PATH, else podman.",
        "enum": names(&ENGINES)
    });
    keys["pull"] = json!({
        "description": "missing: an image that does not exist is downloaded before the run.",
        "enum": names(&PULLS), "default": "never"
    });
    sandbox
}

fn remote(mut code: Value) -> Value {
    code["title"] = json!("A program from a source");
    code["required"] = json!(["name", "type", "ref"]);
    let keys = &mut code["properties"];
    keys["type"]["const"] = json!("remote");
    keys["source"] = json!({
        "description": "Source: github, file, local, or one that a host has registered.",
        "type": "string", "minLength": 1, "not": {"const": "builtin"}, "default": DEFAULT_SOURCE
    });
    keys["ref"] = json!({
        "description": "Path of the file inside of the source.",
        "type": "string", "minLength": 1, "maxLength": 512, "pattern": REFERENCE
    });
    keys.as_object_mut().map(|keys| keys.remove("path"));
    code
}

fn linked(mut code: Value) -> Value {
    code["title"] = json!("An evaluator that is linked into the program that reads this file");
    code["required"] = json!(["name", "type"]);
    let keys = &mut code["properties"];
    if let Some(keys) = keys.as_object_mut() {
        keys.retain(|key, _| LINKED.contains(&key.as_str()));
    }
    keys["type"] = json!({"const": "linked"});
    code
}

fn names<T>(choices: &[(&'static str, T)]) -> Value {
    choices.iter().map(|(name, _)| *name).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::{config::Config, json};

    /// Returns the keys that the reader names as known when it finds an unknown one.
    fn known_keys(text: &str) -> BTreeSet<String> {
        let found = match Config::parse(text, Path::new("c.yaml")) {
            Err(error) => error.to_string(),
            // Graders ignore unknown keys.
            Ok(config) => format!("({})", config.warnings[0].hint.clone().unwrap_or_default()),
        };
        let (_, keys) = found.split_once("(known keys: ").unwrap();
        keys.trim_end_matches(')').split(", ").map(str::to_owned).collect()
    }

    fn properties(schema: &Value) -> BTreeSet<String> {
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    #[test]
    fn the_schema_has_the_keys_that_the_reader_knows() {
        let schema = schema(&Registries::default());
        let entries = &schema["properties"]["evaluators"]["items"]["oneOf"];
        let entry = |more: &str| format!("evaluators: [{{{more}, qqqqqqqqqqqq: 1}}]");
        // Some settings belong to single metrics.
        let builtin: BTreeSet<String> = crate::metric::built_in()
            .iter()
            .flat_map(|it| known_keys(&entry(&format!("type: builtin, name: {}", it.name()))))
            .collect();
        assert_eq!(properties(&entries[0]), builtin);
        assert_eq!(properties(&entries[1]), known_keys(&entry("name: a, type: code, path: a.py")));
        assert_eq!(properties(&entries[2]), known_keys(&entry("name: a, type: remote, ref: a.py")));
        assert_eq!(
            properties(&schema["properties"]["sources"]),
            known_keys(
                "sources: {qqqqqqqqqqqq: 1}\nevaluators: [{name: safety_v1, type: builtin}]"
            )
        );
        for entry in [&entries[1], &entries[2]] {
            assert_eq!(
                properties(&entry["properties"]["limits"]),
                known_keys(
                    "evaluators: [{name: a, type: code, path: a.py, limits: {qqqqqqqqqqqq: 1}}]"
                )
            );
        }
        let keys = |key: &str| format!("{key}: {{qqqqqqqqqqqq: 1}}");
        for key in ["sandbox", "docker"] {
            let program = format!(
                "evaluators: [{{name: a, type: code, path: a.py, executor: {key}, {}}}]",
                keys(key)
            );
            assert_eq!(properties(&entries[1]["properties"][key]), known_keys(&program), "{key}");
        }
        assert_eq!(
            properties(&schema["properties"]["defaults"]),
            known_keys(&format!(
                "{}\nevaluators: [{{name: safety_v1, type: builtin}}]",
                keys("defaults")
            ))
        );
        assert_eq!(properties(&entries[4]), known_keys(&entry("name: a, type: linked")));
        let llm_judge = known_keys(&entry("name: a, type: llm_judge, criteria: c"));
        assert_eq!(properties(&entries[5]), llm_judge);
        let rubric =
            "evaluators: [{name: a, type: llm_judge, rubrics: [{text: t, qqqqqqqqqqqq: 1}]}]";
        let rubrics = &entries[5]["properties"]["rubrics"]["items"]["oneOf"][1];
        let mut known = known_keys(rubric);
        // The other spelling of `text`.
        known.insert("outcome".to_owned());
        assert_eq!(properties(rubrics), known);
        let grader = "grader: {type: text_similarity, evaluation_metric: bleu}";
        let openai = entry(&format!("name: a, type: openai_eval, {grader}"));
        assert_eq!(properties(&entries[3]), known_keys(&openai));
        let graders = &entries[3]["properties"]["grader"]["oneOf"];
        let grader = |more: &str| {
            let grader = format!("grader: {{{more}, qqqqqqqqqqqq: 1}}");
            format!("evaluators: [{{name: a, type: openai_eval, {grader}}}]")
        };
        let input = "model: m, input: [{role: user, content: '{{ item.actual_response }}'}]";
        for (schema, keys) in graders.as_array().unwrap().iter().zip([
            "type: text_similarity, evaluation_metric: bleu".to_owned(),
            "type: string_check, operation: eq".to_owned(),
            "type: multi, graders: {x: {type: string_check, operation: eq}}, calculate_output: x"
                .to_owned(),
            format!("type: label_model, {input}, labels: [a, b], passing_labels: [a]"),
            format!("type: score_model, {input}"),
            "type: python, source: grade = 1".to_owned(),
        ]) {
            assert_eq!(properties(schema), known_keys(&grader(&keys)), "{keys}");
        }
        let top = known_keys("qqqqqqqqqqqq: 1\nevaluators: [{name: safety_v1, type: builtin}]");
        assert_eq!(properties(&schema), top);
    }

    /// Returns true if the schema accepts a text.
    fn accepts(text: &str) -> bool {
        let mut compiler = boon::Compiler::new();
        let mut schemas = boon::Schemas::new();
        compiler.add_resource("schema.json", schema(&Registries::default())).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        let value = evaluator_document::read_yaml(text).unwrap().unwrap().to_json().unwrap();
        let value = serde_json::from_str(&json::to_string(&value, json::NonFinite::Null)).unwrap();
        schemas.validate(&value, index).is_ok()
    }

    #[test]
    fn the_schema_accepts_what_the_reader_accepts_and_nothing_else() {
        let openai = |more: &str| format!("evaluators: [{{name: a, type: openai_eval, {more}}}]");
        let labels = |more: &str| {
            openai(&format!(
                "grader: {{type: label_model, model: m, input: [{{role: user, content: 'Is {{{{ item.actual_response }}}} kind?'}}], {more}}}"
            ))
        };
        let code =
            |more: &str| format!("evaluators: [{{name: a, type: code, path: a.py, {more}}}]");
        let similarity = "grader: {type: text_similarity, evaluation_metric: rouge_l}";
        for (text, expected) in [
            (include_str!("../../../examples/eval_config.yaml").to_owned(), true),
            (openai(similarity), true),
            (openai(&format!("threshold: 0.8, timeout: 60, {similarity}")), true),
            (labels("labels: [good, bad], passing_labels: [good]"), true),
            (openai("execution: local, grader: {type: string_check, operation: ilike, reference: Rome}"), true),
            (openai("execution: api, grader: {type: string_check, operation: ilike, reference: Rome}"), false),
            (openai("grader: {type: string_check, operation: neq}"), false),
            (
                openai("grader: {type: multi, graders: {x: {type: string_check, operation: eq}}, calculate_output: x}"),
                true,
            ),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_evaluated: true".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_evaluated: 0.95".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_evaluated: 1.5".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_evaluated: often".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_all_cases: true\nstrict_matching: true\nallow_unevaluated: true".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\nrequire_all_cases: 7".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nstrict_matching: very".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nallow_unevaluated: often".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin, missing_turns: warn}]".to_owned(), false),
            (code("executor: sandbox, sandbox: {level: partial, network: true, read: [a, b], write: [], tmp: 64MiB, processes: 1, builds: false, sources: [lib, 'https://host/x']}"), true),
            (code("executor: docker, docker: {image: 'a:3', engine: podman, pull: missing, network: false}"), true),
            (code("executor: sandbox, sandbox: {level: most}"), false),
            (code("executor: sandbox, sandbox: {read: a}"), false),
            (code("executor: sandbox, sandbox: {read: [3]}"), false),
            (code("executor: sandbox, sandbox: {sources: lib}"), false),
            (code("executor: sandbox, sandbox: {tmp: 0}"), false),
            (code("executor: sandbox, sandbox: {processes: 0}"), false),
            (code("executor: sandbox, sandbox: {image: a}"), false),
            (code("executor: sandbox, sandbox: true"), false),
            (code("executor: docker, docker: {image: -v}"), false),
            (code("executor: docker, docker: {image: a, level: full}"), false),
            (code("executor: docker, docker: {image: a, pull: always}"), false),
            (code("executor: docker, docker: {image: a, engine: ./evil}"), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\ndefaults: {executor: sandbox, sandbox: {network: true}, docker: {image: a}}".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\ndefaults: {timeout: 3}".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin, executor: sandbox}]".to_owned(), false),
            ("evaluators: [{name: a, type: linked, executor: sandbox}]".to_owned(), false),
            (code("missing_turns: fail"), true),
            (code("gate: {mean: 0.8, pass_rate: 0.9, pass^3: 0.5, confidence: 0.99}"), true),
            (code("gate: {mean: 1}"), false),
            (code("gate: {mean: 0}"), false),
            (code("gate: {median: 0.5}"), false),
            (code("gate: {pass^0: 0.5}"), false),
            (code("gate: 0.8"), false),
            (code("missing_turns: true"), false),
            ("evaluators: [{name: a, type: remote, ref: a.py, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: a, type: linked, missing_turns: ignore}]".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\nmax_error_rate: 0.25\nfail_fast: true\nretries: 2".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\nmax_error_rate: 1.5".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nfail_fast: soon".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\ncontain: true".to_owned(), true),
            ("evaluators: [{name: safety_v1, type: builtin}]\ncontain: sandbox".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nretries: 101".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin}]\nretries: 1.5".to_owned(), false),
            ("evaluators: [{name: a, type: code, path: a.py, retries: 100}]".to_owned(), true),
            ("evaluators: [{name: a, type: code, path: a.py, retries: -1}]".to_owned(), false),
            ("evaluators: [{name: safety_v1, type: builtin, retries: 1}]".to_owned(), false),
            (
                "evaluators: [{name: a, type: linked, threshold: 1, config: {b: 1}}]".to_owned(),
                true,
            ),
            ("evaluators: [{name: a, type: linked, path: a.py}]".to_owned(), false),
            ("evaluators: [{name: a, type: linked, contract: adk}]".to_owned(), true),
            (code("contract: agentv"), true),
            (code("contract: agenta, function: evaluate"), true),
            (code("contract: promptfoo"), false),
            (code("contract: null"), false),
            (code("contract: adk, function: 1"), false),
            (code("function: evaluate"), false),
            (code("contract: agentv, function: evaluate"), false),
            ("evaluators: [{name: safety_v1, type: builtin, contract: adk}]".to_owned(), false),
            (
                "evaluators: [{name: a, type: code, path: a.py, isolation: process}]".to_owned(),
                true,
            ),
            ("evaluators: [{name: a, type: remote, ref: a.py, isolation: auto}]".to_owned(), true),
            ("evaluators: [{name: a, type: code, path: a.py, isolation: none}]".to_owned(), false),
            ("evaluators: [{name: a, type: linked, isolation: process}]".to_owned(), false),
            (openai("threshold: 0.8"), false),
            (openai(&format!("threshold: 1.8, {similarity}")), false),
            (openai(&format!("timeout: 0, {similarity}")), false),
            (openai(&format!("path: a.py, {similarity}")), false),
            (openai("grader: {type: text_similarity}"), false),
            (openai("grader: {type: text_similarity, evaluation_metric: rouge_6}"), false),
            (openai("grader: {type: score_model}"), false),
            (labels("labels: [], passing_labels: [good]"), false),
            (labels("labels: [good, good], passing_labels: [good]"), false),
            (labels("labels: [good]"), false),
            ("evaluators: [{name: a, type: code}]".to_owned(), false),
            (
                code("limits: {memory: 512MiB, output: 64 kb, stderr: 0, cpu: 2, open_files: 64}"),
                true,
            ),
            (code("target: {}"), true),
            (code("target: true"), true),
            (code("target: false"), true),
            (code("target: {max_calls: 3, timeout: 2.5, budget: {calls: 2, money: 0.5}}"), true),
            (code("target: {max_calls: -1}"), false),
            (code("target: {judge: m}"), false),
            (code("target: 3"), false),
            (code("models: {judge: openai/m, other: {model: m, base_url: 'http://127.0.0.1', params: {seed: 1}}}"), true),
            (code("models: {judge: {model: m, drop_params: true}}"), true),
            (code("models: {max_calls: 2}"), true),
            (code("models: {judge: ''}"), false),
            (code("models: {judge: 3}"), false),
            (code("models: {judge: {base_url: x}}"), false),
            (code("models: {judge: {model: m, samples: 3}}"), false),
            (code("models: {judge: {model: m, params: {json_schema: true}}}"), false),
            (code("models: {judge: {model: null}}"), false),
            (code("models: {judge: m}, target: {}"), false),
            ("evaluators: [{name: a, type: remote, ref: a.py, target: {max_calls: 3}}]".to_owned(), true),
            ("evaluators: [{name: a, type: linked, target: {}}]".to_owned(), false),
            (code("limits: {memory: 512M}"), false),
            (code("limits: {memory: 512}"), false),
            (code("limits: {cpu: 0}"), false),
            (code("limits: {open_files: 2}"), false),
            (code("limits: [cpu]"), false),
            (code("env: [A, B_C], inherit_env: false, cwd: data"), true),
            (code("env: {A: x, B: null}"), true),
            (code("env: {A: 1}"), false),
            (code("env: [A=1]"), false),
            (code("env: [A, A]"), false),
            (code("inherit_env: often"), false),
            (code("cwd: ''"), false),
            ("evaluators: []".to_owned(), false),
        ] {
            let read = Config::parse(&text, Path::new("c.yaml"));
            assert_eq!(read.is_ok(), expected, "{text}: {read:?}");
            assert_eq!(accepts(&text), expected, "{text}");
        }
    }
}
