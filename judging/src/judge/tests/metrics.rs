//! Whole metrics with a scripted judge.

use evaluator_json::{Value, count, object, python_eq};

use super::{check_vectors, list, outcome::read_answer, text};
use crate::judge::{
    Asked, Case, Criterion, Judge, JudgedTurn, Judgement, Member, Question, Refusal, Rubric,
    RubricScore, Rules, Scenario, Status, judge,
    material::{NO_GROUNDING, NO_STEPS, NO_TOOLS},
};

/// A judge that gives the answers of a script, and what came out.
pub(super) struct Run {
    pub(super) result: Result<Judgement, Refusal>,
    pub(super) calls: usize,
    pub(super) questions: Vec<Question>,
}

/// Asks the questions one after the other, as ADK does.
pub(super) fn run(judge: &dyn Judge, case: &Case<'_>, replies: &[Value]) -> Run {
    let mut replies = replies.iter().map(read_answer);
    let mut run = Run { result: Ok(Judgement::default()), calls: 0, questions: Vec::new() };
    let planned = match judge.plan(case) {
        Ok(planned) => planned,
        Err(refusal) => return Run { result: Err(refusal), ..run },
    };
    let mut asked: Vec<Asked> = Vec::new();
    'questions: for question in planned {
        let mut next = Some(question);
        while let Some(question) = next {
            run.questions.push(question.clone());
            let mut answers = Vec::new();
            for _ in 0..question.samples {
                let answer = replies.next().expect("a call without a reply in the script");
                run.calls += 1;
                let failed = matches!(answer, crate::judge::Answer::Failed(_));
                answers.push(answer);
                if failed && judge.name().starts_with("per_turn_user_simulator") {
                    asked.push(judge.asked(case, question, &answers));
                    break 'questions;
                }
            }
            let done = judge.asked(case, question, &answers);
            next = judge.follow_up(case, &done);
            asked.push(done);
        }
    }
    run.result = judge.aggregate(case, &judge.plan(case).unwrap(), &Member::only(&asked));
    run
}

pub(super) fn turns(line: &Value, key: &str) -> Option<Vec<JudgedTurn>> {
    let turns = line.get(key)?.as_array()?;
    Some(turns.iter().map(|turn| JudgedTurn::from_adk(turn).unwrap()).collect())
}

fn criterion(value: &Value) -> Criterion {
    let mut criterion = Criterion { rules: Rules::adk(), ..Criterion::default() };
    for (key, value) in value.as_object().unwrap() {
        match key.as_str() {
            "threshold" => criterion.threshold = number(value),
            "include_intermediate_responses_in_final" => {
                criterion.include_intermediate = value.as_bool().unwrap();
            }
            "evaluate_intermediate_nl_responses" => {
                criterion.check_intermediate = value.as_bool().unwrap();
            }
            "stop_signal" => criterion.stop_signal = value.as_str().unwrap().to_owned(),
            "rubrics" => {
                let rubrics = value.as_array().unwrap().iter();
                criterion.rubrics =
                    rubrics.map(|rubric| Rubric::from_adk(rubric).unwrap()).collect();
            }
            "judge_model_options" => {
                for (key, value) in value.as_object().unwrap() {
                    match key.as_str() {
                        "num_samples" => {
                            criterion.samples = usize::try_from(value.as_i128().unwrap()).unwrap();
                        }
                        "parallelism_limit" => {}
                        other => panic!("unknown judge model option {other}"),
                    }
                }
            }
            other => panic!("unknown field {other} of a criterion"),
        }
    }
    criterion
}

pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::Float(float) => *float,
        other => f64::from(i32::try_from(other.as_i128().unwrap()).unwrap()),
    }
}

/// Returns true if two scores are equal but for rounding.
pub(super) fn same_score(found: Option<f64>, expected: &Value) -> bool {
    match (found, expected) {
        (None, Value::Null) => true,
        (Some(found), expected) if !expected.is_null() => (found - number(expected)).abs() < 1e-12,
        _ => false,
    }
}

pub(super) fn status(score: Option<f64>, threshold: f64) -> &'static str {
    match Status::of(score, threshold) {
        Status::Passed => "PASSED",
        Status::Failed => "FAILED",
        Status::NotEvaluated => "NOT_EVALUATED",
    }
}

pub(super) fn same_rubrics(found: Option<&[RubricScore]>, expected: &Value) -> bool {
    let (Some(found), Some(expected)) = (found, expected.as_array()) else {
        return found.is_none() && expected.is_null();
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| {
            let rationale = text(expected, "rationale");
            found.id == text(expected, "rubric_id")
                && same_score(found.score, expected.get("score").unwrap())
                && (rationale == "<AGGREGATED>" || found.rationale == rationale)
        })
}

fn compare(judgement: &Judgement, threshold: f64, expected: &Value) -> Result<(), String> {
    let check = |what: &str, same: bool| {
        if same { Ok(()) } else { Err(format!("{what}: {judgement:?}\n  instead of {expected:?}")) }
    };
    let get = |key: &str| expected.get(key).unwrap();
    check("score", same_score(judgement.score, get("overall_score")))?;
    check("status", status(judgement.score, threshold) == text(expected, "overall_status"))?;
    let rows = list(expected, "per_invocation");
    check("number of rows", rows.len() == judgement.turns.len())?;
    for (turn, row) in judgement.turns.iter().zip(rows) {
        check("score of a row", same_score(turn.score, row.get("score").unwrap()))?;
        check("status of a row", status(turn.score, threshold) == text(row, "status"))?;
        let rubrics = row.get("rubric_scores").unwrap();
        check("rubrics of a row", same_rubrics(turn.rubrics.as_deref(), rubrics))?;
    }
    let overall = same_rubrics(judgement.rubrics.as_deref(), get("overall_rubric_scores"));
    check("rubrics", overall)
}

/// Returns the variables of a question as the vectors have them.
pub(super) fn inputs(question: &Question) -> Value {
    let variables = question.variables.iter().map(|(name, value)| {
        // ADK has no mark before the lines of a message.
        let value = match *name {
            "context" | "user_agent_dialogue" | "conversation_history" => {
                value.replace("\n> ", "\n")
            }
            _ => value.clone(),
        };
        let value = match value.as_str() {
            NO_TOOLS => "<NO TOOLS>".to_owned(),
            NO_STEPS => "<NO STEPS>".to_owned(),
            NO_GROUNDING => "<NO GROUNDING>".to_owned(),
            text if *name == "context" => text
                .replace(&format!("\n{NO_TOOLS}\n"), "\n<NO TOOLS>\n")
                .replace(&format!("\n{NO_GROUNDING}\n"), "\n<NO GROUNDING>\n"),
            text => text.to_owned(),
        };
        match *name {
            "persona" => ("has_persona", (!value.is_empty()).into()),
            name => (name, value.into()),
        }
    });
    let step = question.prompt.strip_prefix("hallucinations_v1.");
    object(step.map(|step| ("step", step.into())).into_iter().chain(variables))
}

fn check(line: &Value) -> Result<(), String> {
    for key in line.as_object().unwrap().keys() {
        let known = [
            "id",
            "metric",
            "note",
            "tags",
            "criterion",
            "actual_invocations",
            "expected_invocations",
            "conversation_scenario",
            "replies",
            "result",
        ];
        assert!(known.contains(&key.as_str()), "unknown field {key}");
    }
    let judge = judge(text(line, "metric")).expect("a known metric");
    let criterion = criterion(line.get("criterion").unwrap());
    let actual = turns(line, "actual_invocations").unwrap();
    let expected = turns(line, "expected_invocations");
    let scenario = line
        .get("conversation_scenario")
        .filter(|scenario| !scenario.is_null())
        .map(|scenario| Scenario::from_adk(scenario).unwrap());
    let case = Case {
        expected: expected.as_deref(),
        scenario: scenario.as_ref(),
        ..Case::new(&actual, &criterion)
    };
    let run = run(judge.as_ref(), &case, list(line, "replies"));
    let result = line.get("result").unwrap();
    if !python_eq(&count(run.calls), result.get("calls").unwrap()) {
        return Err(format!("{} calls", run.calls));
    }
    let judgement = match (&run.result, result.get("exception")) {
        (Err(_), Some(_)) if run.calls == 0 => return Ok(()),
        (Err(_), Some(_)) => None,
        (Ok(judgement), None) => Some(judgement),
        (found, _) => return Err(format!("{found:?} instead of {result:?}")),
    };
    let found = Value::Array(run.questions.iter().map(inputs).collect());
    let wanted = result.get("prompt_inputs").unwrap();
    if !python_eq(&found, wanted) {
        return Err(format!("inputs {found:?}\n  instead of {wanted:?}"));
    }
    judgement.map_or(Ok(()), |judgement| compare(judgement, criterion.threshold, result))
}

fn check_file(file: &str) {
    check_vectors(file, check);
}

#[test]
fn vectors_of_final_response_match() {
    check_file("final_response_match_v2.jsonl");
}

#[test]
fn vectors_of_hallucinations() {
    check_file("hallucinations_v1.jsonl");
}

#[test]
fn vectors_of_the_user_simulator() {
    check_file("per_turn_user_simulator_quality_v1.jsonl");
}

#[test]
fn vectors_of_rubrics_of_the_final_response() {
    check_file("rubric_based_final_response_quality_v1.jsonl");
}

#[test]
fn vectors_of_rubrics_of_tool_use() {
    check_file("rubric_based_tool_use_quality_v1.jsonl");
}

#[test]
fn vectors_of_rubrics_of_a_conversation() {
    check_file("rubric_based_multi_turn_trajectory_quality_v1.jsonl");
}
