//! Attacks on the judges of other tools, with their default prompts and readers: `tests/injection/foreign.json`, which only this
//! test writes, with `INJECTION=overwrite`.

use std::{env, fs, path::Path, process::Command};

use evaluator_test_support::injection::{
    Case, Form, Outcome, Row, cases, fixtures, foreign, harmless, main_prompt, model, outcome,
    targets, tests, write_foreign,
};
use evaluator_tests::bench::peers;
use serde_json::{Map, Value, json};

use crate::interop::{
    hosts::{version_in, version_of},
    place::{Place, driver},
};

/// Metrics of ADK that any model can judge, with the forms of the replies.
const ADK: [(&str, &str); 6] = [
    ("final_response_match_v2", "match"),
    ("rubric_based_final_response_quality_v1", "blocks"),
    ("rubric_based_tool_use_quality_v1", "blocks"),
    ("rubric_based_multi_turn_trajectory_quality_v1", "blocks"),
    ("hallucinations_v1", "sentences"),
    (SIMULATOR, "message"),
];

const SIMULATOR: &str = "per_turn_user_simulator_quality_v1";

#[test]
#[ignore = "installs the hosts"]
fn judges_of_other_tools_read_what_the_page_says() {
    let is_written = env::var("INJECTION").is_ok_and(|wish| wish == "overwrite");
    let (mut found, mut missing) = (Map::new(), Vec::new());
    match peers::adk() {
        Some(python) => {
            let rows = ADK.map(|(metric, form)| {
                measure(metric, form, |_, cases, url| of_adk(&python, metric, cases, url))
            });
            found
                .insert(format!("ADK {}", version_in(&python, "google-adk")), rows.to_vec().into());
        }
        None => missing.push("ADK"),
    }
    match peers::agentv() {
        Some(command) => {
            let right = json!([{"id": "right", "outcome": "The answer is right."}]);
            let assertions = [
                ("`llm-grader`", "number", json!({"type": "llm-grader"})),
                ("`rubrics`", "checks", json!({"type": "rubrics", "criteria": right})),
            ];
            let rows = assertions.map(|(name, form, assertion)| {
                measure(name, form, |place, cases, url| {
                    of_agentv(place, &command, &assertion, cases, url)
                })
            });
            found.insert(format!("AgentV {}", version_of(&command)), rows.to_vec().into());
        }
        None => missing.push("AgentV"),
    }
    if !missing.is_empty() {
        eprintln!("\n!!! SKIPPED: {}; NOTHING is known of them\n", missing.join(", "));
    }
    if is_written {
        assert!(missing.is_empty(), "INJECTION=overwrite needs all of them");
        return write_foreign(&found.into());
    }
    let there = foreign();
    for (tool, rows) in found {
        assert_eq!(there.get(&tool), Some(&rows), "{tool}: INJECTION=overwrite writes it again");
    }
}

/// Judges all cases with a prompt of another tool. `judge` gets cases and the address of the model.
fn measure(name: &str, form: &str, judge: impl Fn(&Place, &[Case], &str) -> Vec<Outcome>) -> Value {
    let place = Place::new(&format!("injection-{}", name.trim_matches('`')));
    let form = Form::find(form);
    let first = model(&form, &[harmless()], false);
    judge(&place, &[harmless()], &first.url());
    let shown = main_prompt(&form, &first);
    let cases = cases(&form, &shown);
    let server = model(&form, &cases, false);
    let outcomes = judge(&place, &cases, &server.url());
    Row::new(name, &form, &shown, &cases, &server, &outcomes).to_json()
}

fn of_adk(python: &Path, metric: &str, cases: &[Case], url: &str) -> Vec<Outcome> {
    let listed = cases.iter().map(
        |case| json!({"user": case.user, "tool_result": case.tool_result, "answer": case.answer}),
    );
    let job = json!({"metric": metric, "url": url, "cases": listed.collect::<Vec<_>>()});
    let mut command = Command::new(python);
    command.arg(driver("adk_judges.py"));
    let ran = evaluator_test_support::program::run_with_input(&mut command, job.to_string());
    let scores: Vec<Option<f64>> = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{metric}: {error}: {}", ran.stderr));
    // The first message of a simulated user is that of the scenario, and valid.
    let floor = if metric == SIMULATOR { 0.5 } else { 0.0 };
    scores.into_iter().map(|score| outcome(score, floor)).collect()
}

fn of_agentv(
    place: &Place,
    command: &Path,
    assertion: &Value,
    cases: &[Case],
    url: &str,
) -> Vec<Outcome> {
    let directory = place.directory(&format!("cases-{}", cases.len()));
    fs::create_dir_all(directory.join(".agentv")).unwrap();
    fs::write(directory.join(".agentv/targets.yaml"), targets()).unwrap();
    fs::write(directory.join("fixtures.jsonl"), fixtures(cases)).unwrap();
    fs::write(directory.join("e.eval.yaml"), tests(cases, assertion)).unwrap();
    let mut command = place.command(command);
    command
        .current_dir(&directory)
        .args(["eval", "e.eval.yaml", "--output", "out"])
        .envs([("JUDGE_KEY", "decoy"), ("JUDGE_MODEL", "m")])
        .env("JUDGE_URL", format!("{url}/v1"));
    let said = place.run(&mut command);
    let index = fs::read_to_string(directory.join("out/index.jsonl"))
        .unwrap_or_else(|error| panic!("{error}: {}", said.end()));
    let mut rows: Vec<Value> =
        index.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    rows.sort_by_key(|row| row["test_id"].as_str().unwrap().to_owned());
    assert_eq!(rows.len(), cases.len(), "{}", said.end());
    let graded = rows.iter().map(|row| {
        let graded = &row["scores"][0];
        outcome(graded["score"].as_f64().filter(|_| graded["verdict"] != "skip"), 0.0)
    });
    graded.collect()
}
