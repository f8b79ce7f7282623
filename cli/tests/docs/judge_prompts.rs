//! What of damaged conversations reaches the model through each prompt of a judge. The model is a stand-in.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "this is what is tested")]

use std::{
    collections::HashSet,
    fs,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use evaluator_test_support::{
    TestDirectory,
    injection::{Form, prompt, send, targets},
    run,
    server::Server,
};
use serde_json::{Value, json};

use crate::{
    injection::{Prompt, SIMULATOR, assertions, prompts},
    root,
};

/// Reason of what prompts need not notice that show no results of tools.
const NO_RESULTS: &str = "The prompt does not show results of tools.";

/// A model with one rule: a question that it learned gets the best verdict, any other one the worst.
struct StandIn {
    server: Server,
    /// Whether questions are learned.
    learns: Arc<AtomicBool>,
}

impl StandIn {
    fn new(form: &str) -> Self {
        let (form, learns) = (Form::find(form), Arc::new(AtomicBool::new(true)));
        let (known, is_learning) = (Mutex::new(HashSet::new()), Arc::clone(&learns));
        let server = Server::start(move |request, stream| {
            let asked = prompt(request);
            let mut known = known.lock().unwrap();
            if is_learning.load(Ordering::SeqCst) {
                known.insert(asked.clone());
            }
            let is_known = known.contains(&asked);
            drop(known);
            send(request, stream, &form.verdict_on(&asked, is_known))
        });
        Self { server, learns }
    }

    /// Runs a command twice: with the first arguments, to learn, and with the others. Returns the result of the only evaluator.
    fn tried(&self, directory: &TestDirectory, learn: &[&str], mutate: &[&str]) -> Value {
        let evaluator = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_evaluator"));
            command.args(args).args(["-o", "json"]).current_dir(directory.path());
            command.envs([("JUDGE_KEY", "decoy"), ("JUDGE_MODEL", "m")]);
            run(command.env("JUDGE_URL", format!("{}/v1", self.server.url())))
        };
        let learned = evaluator(learn);
        assert_eq!(learned.code, Some(0), "{}{}", learned.stdout, learned.stderr);
        self.learns.store(false, Ordering::SeqCst);
        let options = ["--sample", "60", "--no-relations"];
        let ran = evaluator(&[mutate, &options].concat());
        let report: Value =
            serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        report["evaluators"][0].clone()
    }
}

/// Prompts of examples and of the template, whose replies are choices.
fn of_files() -> Vec<Prompt> {
    let files = [
        ("template judge", "templates/judge/prompt.md"),
        ("example judge_v1", "examples/labelled/judge_v1.md"),
        ("example judge_v2", "examples/labelled/judge_v2.md"),
    ];
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let entry = |(name, file): (&'static str, &str)| Prompt {
        name,
        form: "choice",
        entry: json!({"name": "j", "type": "llm_judge", "prompt": read(file), "choices": {"right": 1, "wrong": 0}}),
    };
    let mut prompts: Vec<Prompt> = files.into_iter().map(entry).collect();
    let config = read("examples/eval_config.yaml");
    let (_, honest) = config.split_once("prompt: |\n").unwrap();
    let (honest, _) = honest.split_once("    rubrics:\n").unwrap();
    let rubrics = json!([{"id": "right", "text": "The answer is right."}]);
    prompts.push(Prompt {
        name: "example honest_answers",
        form: "checks",
        entry: json!({"name": "j", "type": "llm_judge", "prompt": honest, "rubrics": rubrics}),
    });
    prompts
}

/// Returns true if a prompt shows what tools returned.
fn shows_results(prompt: &Prompt) -> bool {
    let entry = &prompt.entry;
    match entry["type"].as_str() {
        Some("builtin") => true,
        Some("llm_judge") => {
            entry["scope"] == "conversation"
                || entry["prompt"].as_str().is_some_and(|text| text.contains("tool_steps"))
        }
        _ => false,
    }
}

/// Tries the prompts of entries on the conversations of a directory. Returns the results, with names and reasons.
fn of_entries(directory: &TestDirectory) -> Vec<(Value, &'static str)> {
    let left_out = [SIMULATOR, "hallucinations_v1"];
    let all = prompts().into_iter().chain(of_files());
    let all = all.filter(|prompt| !left_out.contains(&prompt.name));
    let tried = all.map(|prompt| {
        let model = StandIn::new(prompt.form);
        let url = model.server.url();
        let mut entry = prompt.entry.clone();
        // Another answer is another question, also one that holds the golden one.
        let skip = json!(["leak_golden"]);
        let (mutate, reason) = match shows_results(&prompt) {
            true => (json!({"skip": skip}), ""),
            false => (json!({"skip": skip, "expect": {"error_result": "any"}}), NO_RESULTS),
        };
        entry["mutate"] = mutate;
        if entry["type"] == "openai_eval" {
            entry["base_url"] = url.clone().into();
            entry["api_key_env"] = "".into();
        }
        let judge = json!({"model": "openai_like/m", "base_url": url, "samples": 1});
        let config = json!({"eval_set": "eval_set.json", "judge": judge, "evaluators": [entry]});
        let config = directory.file("tests/mutation/judge.yaml", config.to_string());
        let args = ["tests/mutation/traces.jsonl", "-c", config.to_str().unwrap()];
        let [learn, mutate] = ["run", "mutate"].map(|command| [&[command], &args[..]].concat());
        let mut result = model.tried(directory, &learn, &mutate);
        result["evaluator"] = prompt.name.into();
        (result, reason)
    });
    tried.collect()
}

/// Tries the prompts of eval files on the golden answers. Returns the results, with names and reasons.
fn of_eval_files() -> Vec<(Value, &'static str)> {
    let set = fs::read_to_string(root().join("tests/mutation/eval_set.json")).unwrap();
    let set: Value = serde_json::from_str(&set).unwrap();
    let cases = set["eval_cases"].as_array().unwrap();
    let text = |turn: &Value, key: &str| turn[key]["parts"][0]["text"].as_str().unwrap().to_owned();
    let output = |case: &Value| {
        let turn = &case["conversation"][0];
        let calls = turn["intermediate_data"]["tool_uses"].as_array().cloned().unwrap_or_default();
        let call = |call: &Value| json!({"tool": call["name"], "input": call["args"], "output": {"ok": true}});
        let calls: Vec<Value> = calls.iter().map(call).collect();
        let messages = json!([
            {"role": "assistant", "content": "One moment.", "tool_calls": calls},
            {"role": "assistant", "content": text(turn, "final_response")},
        ]);
        format!("{}\n", json!({"test_id": case["eval_id"], "output": messages}))
    };
    let tried = assertions().into_iter().map(|(name, form, mut assertion)| {
        let (directory, model) = (TestDirectory::new(), StandIn::new(form));
        assertion["name"] = "g".into();
        let test = |case: &Value| {
            let turn = &case["conversation"][0];
            json!({"id": case["eval_id"], "criteria": "The answer is right.", "input": text(turn, "user_content"),
                "expected_output": text(turn, "final_response"), "assertions": [assertion]})
        };
        let tests: Vec<Value> = cases.iter().map(test).collect();
        let suite = json!({"execution": {"target": "agent"}, "tests": tests});
        directory.file("e.eval.yaml", suite.to_string());
        directory.file(".agentv/targets.yaml", targets());
        directory.file("outputs.jsonl", cases.iter().map(output).collect::<String>());
        let recorded = ["e.eval.yaml", "--outputs", "outputs.jsonl"];
        let [learn, mutate] = ["run", "mutate"].map(|command| [&[command], &recorded[..]].concat());
        let operators = "empty_answer,truncate_answer,negate_answer,change_number,swap_answers,echo_question,refuse,\
                         wrong_language,inject_judge,quote_verdict,error_result,claim_success";
        let mutate = [&mutate[..], &["--evaluator", "g", "--operators", operators]].concat();
        let mut result = model.tried(&directory, &learn, &mutate);
        result["evaluator"] = name.into();
        (result, NO_RESULTS)
    });
    tried.collect()
}

/// Tries every prompt of a judge. `directory` has the conversations. Returns the results, with names, and the reasons why a
/// prompt need not notice some damage.
pub(crate) fn tried(directory: &TestDirectory) -> Vec<(Value, &'static str)> {
    let mut all = of_entries(directory);
    all.extend(of_eval_files());
    all
}
