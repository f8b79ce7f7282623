//! One program, every host: documents of each in, answers in its terms out.

use std::{fs, path::Path};

use super::support::{run, run_with, start};
use serde_json::{Value, json};

/// A document as its host has sent it.
fn sample(path: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/data");
    let text = fs::read_to_string(data.join(path)).unwrap();
    text.split_once("\r\n\r\n").map_or(text.clone(), |(_, body)| body.to_owned())
}

/// A host, its samples, and what an answer to it looks like that says a score of 0.75.
type Host = (&'static str, Vec<&'static str>, fn(&Value) -> bool);

fn samples() -> Vec<Host> {
    vec![
        (
            "agentevals",
            vec!["agentevals/two_turns.json", "agentevals/golden_turns.json"],
            |answer| {
                *answer
                    == json!({"score": 0.75, "status": null, "per_invocation_scores": [], "details": null})
            },
        ),
        (
            "agentv",
            vec![
                "agentv/v2.5.1-stdin.json",
                "agentv/constructed-v2.9-stdin.json",
                "agentv/constructed-v3.6-stdin.json",
                "agentv/constructed-v4.25-stdin.json",
                "agentv/v4.42.4-stdin.json",
                "agentv/v4.42.4-stdin-eval-assert.json",
                "agentv/v4.42.4-stdin-pipeline-grade.json",
                "agentv/v4.42.4-stdin-workspace-multimodal.json",
                "agentv/v5-head-stdin.json",
            ],
            |answer| answer["score"] == 0.75 && answer.get("success").is_none(),
        ),
        (
            "adk",
            vec![
                "adk/envelope_static.json",
                "adk/envelope_static.nulls.snake.json",
                "adk/envelope_static.nulls.camel.json",
                "adk/envelope_image_silent.json",
                "adk/envelope_scenario.json",
            ],
            |answer| answer["overall_score"] == 0.75 && answer.get("score").is_none(),
        ),
        (
            "agenta",
            vec![
                "agenta/code-arguments.v1.json",
                "agenta/code-arguments.v2-v3.json",
                "agenta/webhook-request.txt",
                "agenta/webhook-request.dict-output.txt",
                "agenta/remote-request.txt",
            ],
            |answer| *answer == json!({"score": 0.75, "success": true}),
        ),
    ]
}

#[test]
fn a_program_of_the_default_contract_answers_in_the_terms_of_each() {
    for (host, paths, right) in samples() {
        for path in paths {
            for arguments in [vec![], vec!["--contract", host]] {
                let answer = run("steady", &arguments, &sample(path)).answer();
                assert!(right(&answer), "{path} {arguments:?}: {answer}");
            }
        }
    }
}

/// A function that asks something of every turn would be content with none.
#[test]
fn what_says_nothing_of_the_agent_is_not_evaluated_whatever_the_function_returns() {
    let agentv =
        json!({"criteria": "c", "output": null, "input": [{"role": "user", "content": "q"}]});
    run("steady", &[], &agentv.to_string()).failed(
        1,
        "error: steady: not evaluated: the document has neither an answer nor messages of the agent\n",
    );
    let agenta = json!({"inputs": {}, "parameters": {}}).to_string();
    run("steady", &[], &agenta)
        .failed(1, "error: steady: not evaluated: the document has no `outputs`\n");
    let adk = json!({"eval_metric": {"metric_name": "m"}, "actual_invocations": []}).to_string();
    let answer = run("steady", &[], &adk).answer();
    assert_eq!(
        (&answer["overall_score"], &answer["overall_eval_status"]),
        (&Value::Null, &json!(3))
    );
    // In its own terms, the evaluator decides.
    let own = json!({"metric_name": "steady", "invocations": []}).to_string();
    assert_eq!(run("steady", &[], &own).answer()["score"], 0.75);
}

#[test]
fn a_stream_may_hold_documents_of_all_of_them() {
    let mut lines = Vec::new();
    let mut checks = Vec::new();
    // Host by host in turn, not one after the other.
    for round in 0..9 {
        for (_, paths, right) in samples() {
            if let Some(path) = paths.get(round) {
                let document: Value = serde_json::from_str(&sample(path)).unwrap();
                lines.push(document.to_string());
                checks.push((*path, right));
            }
        }
    }
    let outcome = run("steady", &["--stream"], &lines.join("\n"));
    let answers: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((outcome.code, answers.len()), (Some(0), checks.len()), "{outcome:?}");
    for (answer, (path, right)) in answers.iter().zip(checks) {
        assert!(right(answer), "{path}: {answer}");
    }
}

mod agenta {
    use super::*;

    const SCORED: [(&str, f64); 5] = [
        ("agenta/code-arguments.v1.json", 1.0),
        ("agenta/code-arguments.v2-v3.json", 0.0),
        ("agenta/webhook-request.txt", 1.0),
        ("agenta/webhook-request.dict-output.txt", 0.0),
        ("agenta/remote-request.txt", 1.0),
    ];

    #[test]
    fn the_default_contract_sees_output_and_correct_answer() {
        for (path, score) in SCORED {
            let answer = run("same_answer", &[], &sample(path)).answer();
            assert_eq!(answer, json!({"score": score, "success": score == 1.0}), "{path}");
        }
    }

    #[test]
    fn what_agenta_has_no_word_for_is_an_error() {
        let document = json!({"inputs": {"country": "France"}, "output": "Paris"}).to_string();
        run("same_answer", &[], &document)
            .failed(1, "error: same_answer: not evaluated: nothing to compare with\n");
        let stream = run("same_answer", &["--stream"], &document);
        let answer: Value = serde_json::from_str(&stream.stdout).unwrap();
        assert_eq!(answer["error"]["kind"], "not_evaluated");
    }

    #[test]
    fn functions_of_the_guide_are_called_in_every_form() {
        for (path, score) in SCORED {
            let outcome = run("for_agenta", &[], &sample(path));
            if path.contains("v2-v3") {
                // The output is an object there.
                outcome.failed(
                    3,
                    "error: for_agenta: output: invalid type: object, expected a string\n",
                );
                continue;
            }
            let expected = json!({"score": score, "success": score == 1.0});
            assert_eq!(outcome.answer(), expected, "{path}");
        }
    }

    #[test]
    fn rich_results_are_answered_as_they_are() {
        let code = run("rich", &[], &sample("agenta/code-arguments.v2-v3.json")).answer();
        let expected = json!({
            "score": 0.5, "success": true, "inputs": 2, "outputs": {"answer": "Paris"}, "spans": [],
        });
        assert_eq!(code, expected);
        let v1 = run("rich", &[], &sample("agenta/code-arguments.v1.json")).answer();
        assert_eq!((&v1["outputs"], &v1["spans"]), (&json!("Paris"), &json!(null)));
    }

    #[test]
    fn a_missing_argument_is_named() {
        let document = json!({"inputs": {"country": "France"}, "output": "Paris"});
        run("for_agenta", &[], &document.to_string())
            .failed(3, "error: for_agenta: correct_answer: the document has none (an evaluator that can do without it takes an `Option`)\n");
    }

    #[test]
    fn the_threshold_of_the_document_decides_what_a_success_is() {
        let document = |threshold: f64| {
            json!({"inputs": {}, "outputs": "a", "parameters": {"threshold": threshold}})
                .to_string()
        };
        for fixture in ["steady", "rich"] {
            assert_eq!(run(fixture, &[], &document(0.9)).answer()["success"], json!(false));
            assert_eq!(run(fixture, &[], &document(0.3)).answer()["success"], json!(true));
        }
        run("steady", &[], &document(1.5))
            .failed(3, "error: steady: parameters.threshold: 1.5 is not a threshold");
    }
}

#[test]
fn a_contract_is_forced() {
    let ambiguous =
        json!({"metric_name": "m", "inputs": {}, "output": "a", "candidate_answer": "a"})
            .to_string();
    run("steady", &[], &ambiguous).failed(
        3,
        "error: steady: the document may be of several contracts: agentevals, agentv, agenta; choose with --contract (it \
         has `metric_name`, and `candidate_answer`, and `inputs` with `output`)\n",
    );
    let forced = |contract: &str| run("steady", &["--contract", contract], &ambiguous).answer();
    assert_eq!(forced("agenta"), json!({"score": 0.75, "success": true}));
    assert_eq!(forced("agentevals")["per_invocation_scores"], json!([]));
    let stream = run("steady", &["--stream", "--contract=agenta"], &ambiguous);
    assert_eq!(stream.stdout, "{\"score\":0.75,\"success\":true}\n");
    // A document that cannot be of that contract is not taken for one.
    run("steady", &["--contract", "agenta"], &sample("agentevals/two_turns.json"))
        .failed(3, "error: steady: missing field `output`");
    run("steady", &["--contract", "agentevals"], &sample("agenta/webhook-request.txt"))
        .failed(3, "error: steady: missing field `metric_name`");
}

#[test]
fn an_evaluator_of_another_contract_refuses_what_is_not_its_own() {
    for (host, paths, _) in samples() {
        for contract in ["agentv", "adk", "agenta"] {
            let fixture = format!("for_{contract}");
            if contract == host {
                if host != "agenta" {
                    run(&fixture, &[], &sample(paths[0])).answer();
                }
                continue;
            }
            let message = format!(
                "error: {fixture}: this evaluator is written against the contract `{contract}`, and the document is one \
                 of `{host}`"
            );
            run(&fixture, &[], &sample(paths[0])).failed(3, &message);
        }
    }
}

#[test]
fn an_empty_input_says_what_is_expected() {
    let message = "standard input is empty; expected a JSON document of agenta (see --help)\n";
    run("for_agenta", &[], "").failed(3, message);
    let message = "expected a JSON document with at least a `metric_name` (see --help)\n";
    run("steady", &[], "\n").failed(3, message);
}

#[test]
fn an_unknown_document_says_what_it_lacks() {
    let document = json!({"eval_metric": {"metric_name": "m"}}).to_string();
    let message = "error: steady: the document matches no known contract: for adk it lacks `actual_invocations`\n";
    run("steady", &[], &document).failed(3, message);
}

#[test]
fn hosts_that_name_no_evaluator_need_a_program_of_one_or_a_choice() {
    let webhook = sample("agenta/webhook-request.txt");
    run("steady and same_answer", &[], &webhook).failed(
        3,
        "error: documents of agenta do not say which evaluator they are for; this program has `steady`, `same_answer` \
         (choose with --evaluator)\n",
    );
    let chosen = run("steady and same_answer", &["--evaluator", "same_answer"], &webhook);
    assert_eq!(chosen.answer(), json!({"score": 1.0, "success": true}));
}

#[test]
fn dropped_values_are_logged_at_level_debug() {
    let logged = |level| {
        let level = [("EVALUATOR_LOG", level)];
        run_with("steady", &[], &level, &sample("agenta/remote-request.txt")).stderr
    };
    assert_eq!(logged("debug"), "debug: dropped from the document of agenta: trace, testcase\n");
    assert_eq!(logged("warn"), "");
}

#[test]
fn contracts_are_described() {
    let mut child = start("for_agenta", &["--describe"], &[]);
    let mut text = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let description: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(description["evaluators"][0]["contract"], "agenta");
}
