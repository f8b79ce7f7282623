//! JSON Schema of configurations, for editors.

use std::path::Path;

use evaluator_document::{Fields, Problems, Syntax};
use serde_json::{Value, json};

use super::{
    paths::Paths,
    read,
    reader::Reader,
    shared::{Base, Origin},
};
use crate::registries::Registries;

/// Identifier of the schema, which is also where it is published: `docs/schema/eval_config.json` of the repository.
const ID: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/raw/main/docs/schema/eval_config.json");

/// Returns the first line of a configuration, by which editors find the schema.
pub fn schema_line() -> String {
    format!("# yaml-language-server: $schema={ID}\n")
}

/// Returns a JSON Schema (2020-12) of configurations that may name what is `known`. Editors use it for completion
/// and first checks.
///
/// The schema has the keys, their types and their possible values, as the reader of configurations takes them.
/// [`Runner::check`](crate::run::Runner::check) also checks what a schema cannot express, such as whether files exist and
/// names are unique.
pub fn schema(known: &Registries) -> Value {
    let (problems, paths) = (Problems::new("", Syntax::Yaml), Paths::default());
    let reader = Reader { problems, paths, known };
    let mut fields = Fields::describing(&reader.problems);
    let origin = Origin { file: Path::new(""), extended_by: None };
    read::take_keys(&mut fields, Base::default(), &reader, origin);
    fields.describe(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Configuration of an evaluator run",
        "anyOf": [{"required": ["evaluators"]}, {"required": ["extends"]}]
    }));
    fields.schema()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, path::Path};

    use super::*;
    use crate::{config::Config, json};

    #[test]
    fn the_schema_has_the_settings_that_metrics_take() {
        let mut fields = BTreeSet::new();
        for metric in crate::metric::built_in().iter() {
            let entry = format!(
                "evaluators: [{{type: builtin, name: {}, qqqqqqqqqqqq: 1}}]",
                metric.name()
            );
            let error = Config::parse(&entry, Path::new("c.yaml")).unwrap_err().to_string();
            let (_, keys) = error.split_once("(known keys: ").unwrap();
            fields.extend(keys.trim_end_matches(')').split(", ").map(str::to_owned));
        }
        let schema = schema(&Registries::default());
        let builtin = &schema["properties"]["evaluators"]["items"]["oneOf"][0]["properties"];
        let keys: BTreeSet<String> = builtin.as_object().unwrap().keys().cloned().collect();
        assert_eq!(keys, fields);
    }

    #[test]
    fn the_schema_accepts_what_the_reader_accepts_and_nothing_else() {
        let mut compiler = boon::Compiler::new();
        let mut schemas = boon::Schemas::new();
        compiler.add_resource("schema.json", schema(&Registries::default())).unwrap();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        let openai = |more: &str| format!("evaluators: [{{name: a, type: openai_eval, {more}}}]");
        let labels = |more: &str| {
            openai(&format!(
                "grader: {{type: label_model, model: m, input: [{{role: user, content: 'Is {{{{ item.actual_response }}}} kind?'}}], {more}}}"
            ))
        };
        let entry = |more: &str| format!("evaluators: [{{name: a, {more}}}]");
        let code = |more: &str| entry(&format!("type: code, path: a.py, {more}"));
        let llm_judge = |more: &str| entry(&format!("type: llm_judge, {more}"));
        let run = |more: &str| format!("evaluators: [{{name: safety_v1, type: builtin}}]\n{more}");
        let similarity = "grader: {type: text_similarity, evaluation_metric: rouge_l}";
        for (text, expected) in [
            (include_str!("../../../examples/eval_config.yaml").to_owned(), true),
            (openai(similarity), true),
            (openai(&format!("threshold: 0.8, timeout: 60, {similarity}")), true),
            (labels("labels: [good, bad], passing_labels: [good]"), true),
            (
                openai(
                    "execution: local, grader: {type: string_check, operation: ilike, reference: Rome}",
                ),
                true,
            ),
            (
                openai(
                    "execution: api, grader: {type: string_check, operation: ilike, reference: Rome}",
                ),
                false,
            ),
            (openai("grader: {type: string_check, operation: neq}"), false),
            (
                openai(
                    "grader: {type: multi, graders: {x: {type: string_check, operation: eq}}, calculate_output: x}",
                ),
                true,
            ),
            (run("require_evaluated: true"), true),
            (run("require_evaluated: 0.95"), true),
            (run("require_evaluated: 1.5"), false),
            (run("require_evaluated: often"), false),
            (
                "evaluators: [{name: safety_v1, type: builtin, missing_turns: ignore}]".to_owned(),
                true,
            ),
            (
                "evaluators: [{name: safety_v1, type: builtin, missing_turns: warn}]".to_owned(),
                false,
            ),
            (code("gate: {mean: 0.8, pass_rate: 0.9, pass^3: 0.5, confidence: 0.99}"), true),
            (code("gate: {mean: 1}"), false),
            (code("gate: {mean: 0}"), false),
            (code("gate: {median: 0.5}"), false),
            (code("gate: {pass^0: 0.5}"), false),
            (code("gate: 0.8"), false),
            (
                code(
                    "executor: sandbox, sandbox: {level: partial, network: true, read: [a, b], write: [], tmp: 64MiB, processes: 1, builds: false, sources: [lib, 'https://host/x']}",
                ),
                true,
            ),
            (
                code(
                    "executor: docker, docker: {image: 'a:3', engine: podman, pull: missing, network: false}",
                ),
                true,
            ),
            (code("executor: sandbox, sandbox: {level: most}"), false),
            (code("executor: sandbox, sandbox: {read: a}"), false),
            (code("executor: sandbox, sandbox: {read: [3]}"), false),
            (code("executor: sandbox, sandbox: {tmp: 0}"), false),
            (code("executor: sandbox, sandbox: {image: a}"), false),
            (code("executor: sandbox, sandbox: true"), false),
            (code("executor: docker, docker: {image: -v}"), false),
            (code("executor: docker, docker: {image: a, level: full}"), false),
            (code("executor: docker, docker: {image: a, engine: ./evil}"), false),
            (
                run("defaults: {executor: sandbox, sandbox: {network: true}, docker: {image: a}}"),
                true,
            ),
            (run("defaults: {timeout: 3}"), false),
            ("evaluators: [{name: safety_v1, type: builtin, executor: sandbox}]".to_owned(), false),
            (entry("type: linked, executor: sandbox"), false),
            (run("max_error_rate: 0.25\nfail_fast: true\nretries: 2"), true),
            (run("max_error_rate: 1.5"), false),
            (run("fail_fast: soon"), false),
            (run("retries: 101"), false),
            (run("retries: 1.5"), false),
            ("evaluators: [{name: safety_v1, type: builtin, retries: 1}]".to_owned(), false),
            (entry("type: linked, threshold: 1, config: {b: 1}"), true),
            (entry("type: linked, path: a.py"), false),
            (entry("type: linked, contract: adk"), true),
            (code("contract: agentv"), true),
            (code("contract: agenta, function: evaluate"), true),
            (code("contract: promptfoo"), false),
            (code("contract: null"), false),
            (code("contract: adk, function: 1"), false),
            (code("function: evaluate"), false),
            (code("contract: agentv, function: evaluate"), false),
            ("evaluators: [{name: safety_v1, type: builtin, contract: adk}]".to_owned(), false),
            (code("isolation: none"), false),
            (entry("type: linked, isolation: process"), false),
            (run("group_by:\neval_set: ~\njudge:"), true),
            (run("judge: {model: m, samples: , mode: off, prompts: {}}"), true),
            (run("judge: {credentials: {a: {kind: env, name: K}}}"), true),
            (run("judge: {credentials: {a: {kind: file, name: K}}}"), false),
            (run("judge: {params: {stop: 3}}"), false),
            ("evaluators: [{name: safety_v1, type: builtin, threshold: }]".to_owned(), true),
            (code("threshold: "), false),
            (llm_judge("criteria: c, judge: "), false),
            (
                llm_judge(
                    "rubrics: [a, {outcome: b, score_ranges: [{score_range: [0, 10], outcome: c}]}]",
                ),
                true,
            ),
            (llm_judge("rubrics: [{weight: 1}]"), false),
            (
                llm_judge("rubrics: [{text: a, score_ranges: [{score_range: [0], outcome: c}]}]"),
                false,
            ),
            (llm_judge("scope: turn"), false),
            (openai("threshold: 0.8"), false),
            (openai(&format!("path: a.py, {similarity}")), false),
            (openai("grader: {type: text_similarity}"), false),
            (openai("grader: {type: text_similarity, evaluation_metric: rouge_6}"), false),
            (openai("grader: {type: score_model}"), false),
            (labels("labels: [], passing_labels: [good]"), false),
            (labels("labels: [good, good], passing_labels: [good]"), false),
            (labels("labels: [good]"), false),
            (entry("type: code"), false),
            (
                code("limits: {memory: 512MiB, output: 64 kb, stderr: 0, cpu: 2, open_files: 64}"),
                true,
            ),
            (code("target: {}"), true),
            (code("target: true"), true),
            (code("target: false"), true),
            (code("target: {max_calls: 3, timeout: 2.5, budget: {calls: 2, money: 0.5}}"), true),
            (code("target: {judge: m}"), false),
            (
                code(
                    "models: {judge: openai/m, other: {model: m, base_url: 'http://127.0.0.1', params: {seed: 1}}}",
                ),
                true,
            ),
            (code("models: {judge: {model: m, drop_params: true}}"), true),
            (code("models: {judge: ''}"), false),
            (code("models: {judge: 3}"), false),
            (code("models: {judge: {base_url: x}}"), false),
            (code("models: {judge: {model: m, samples: 3}}"), false),
            (code("models: {judge: {model: m, params: {json_schema: true}}}"), false),
            (code("models: {judge: {model: null}}"), false),
            (code("models: {judge: m}, target: {}"), false),
            (entry("type: remote, ref: a.py, target: {max_calls: 3}"), true),
            (entry("type: linked, target: {}"), false),
            (code("limits: {memory: 512M}"), false),
            (code("limits: {memory: 512}"), false),
            (code("limits: {cpu: 0}"), false),
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
            let value = evaluator_document::read_yaml(&text).unwrap().unwrap().to_json().unwrap();
            let value = json::to_string(&value, json::NonFinite::Null);
            let value = serde_json::from_str(&value).unwrap();
            assert_eq!(schemas.validate(&value, index).is_ok(), expected, "{text}");
        }
    }
}
