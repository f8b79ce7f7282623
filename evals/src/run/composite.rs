//! Combines the results of evaluators.

use std::sync::Arc;

use evaluator_json::Value;
use futures_util::future::join_all;

use super::{
    Shared,
    evaluate::{Evaluated, Graded, PASS, Subject, evaluate as evaluate_member},
    judge::{self, Texts},
    plan::is_v2,
    program,
};
use crate::{
    grade::Row,
    json_text::{list, members as object, pretty, text},
    model::{Aggregator, Composite, Evaluator, Judge, Prompt},
    report::{EvaluatorResult, Status},
    template::RESULTS,
};

/// Evaluates the members at the same time, and combines their results. An error of a member is an error of the whole.
pub(super) async fn evaluate(
    shared: &Arc<Shared>,
    evaluator: &Evaluator,
    composite: &Composite,
    subject: Subject<'_>,
) -> Evaluated {
    let running =
        composite.members.iter().map(|member| evaluate_member(shared, member, subject, true));
    let members: Vec<EvaluatorResult> = join_all(running).await;
    let broken: Vec<&str> = members
        .iter()
        .filter(|member| member.status == Status::Error)
        .map(|member| &*member.name)
        .collect();
    if !broken.is_empty() {
        let reason = format!("there is no score, because of errors in {}", broken.join(", "));
        return Evaluated { members, ..Evaluated::new(Err(reason)) };
    }
    let mut evaluated = match &composite.aggregator {
        Aggregator::Weighted(weights) => Evaluated::new(Ok(weighted(weights, &members))),
        Aggregator::Threshold(least) => Evaluated::new(Ok(share(*least, &members))),
        Aggregator::Program(program) => {
            let results = results(&members, is_v2(&shared.plan.suite));
            Evaluated::new(program::combine(shared, program, results).await.map(of_program))
        }
        Aggregator::Judge(asked) => {
            let results = pretty(&results(&members, is_v2(&shared.plan.suite)));
            let location = format!("test {}, evaluator {}", subject.test.id, evaluator.name);
            let texts = texts(asked, &results);
            let (judged, used) = judge::ask(shared, asked, subject.judge, texts, location).await;
            Evaluated { judge: used, ..Evaluated::new(judged.map(Graded::from)) }
        }
    };
    evaluated.members = members;
    evaluated
}

fn rows(members: &[EvaluatorResult]) -> Vec<Row> {
    members.iter().map(|member| Row::new(&member.name, member.status == Status::Passed)).collect()
}

fn weighted(weights: &[(String, f64)], members: &[EvaluatorResult]) -> Graded {
    let weight = |member: &EvaluatorResult| {
        weights.iter().find(|(name, _)| *name == member.name).map_or(1.0, |(_, weight)| *weight)
    };
    let total: f64 = members.iter().map(weight).sum();
    let sum: f64 =
        members.iter().map(|member| weight(member) * member.score.unwrap_or_default()).sum();
    let score = if total > 0.0 { sum / total } else { 0.0 };
    Graded { score, rows: rows(members), ..Graded::default() }
}

#[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^53 lines")]
fn share(least: f64, members: &[EvaluatorResult]) -> Graded {
    let passed = members.iter().filter(|member| member.status == Status::Passed).count();
    let score = passed as f64 / members.len() as f64;
    Graded { score, rows: rows(members), passes: Some(score >= least), ..Graded::default() }
}

/// Takes the answer of a program. Its verdict counts if it is one; the score decides about the test.
fn of_program(answered: program::Answered) -> Graded {
    let passes = match answered.verdict.as_deref() {
        Some("pass") => Some(true),
        Some("fail" | "borderline") => Some(false),
        _ => None,
    };
    Graded {
        score: answered.score,
        rows: answered.rows,
        reason: answered.reason,
        passes,
        ..Graded::default()
    }
}

/// Returns results by name, with the keys of both generations.
fn results(members: &[EvaluatorResult], is_v2: bool) -> Value {
    let texts = |member: &EvaluatorResult, passed: bool| {
        let rows = member.rows.iter().filter(|row| row.passed == passed);
        list(rows.map(|row| text(&row.text)).collect::<Vec<_>>())
    };
    let assertions = |member: &EvaluatorResult| {
        let row = |row: &Row| {
            let mut members = vec![("text", text(&row.text)), ("passed", Value::Bool(row.passed))];
            members.extend(row.evidence.as_ref().map(|evidence| ("evidence", text(evidence))));
            object(members)
        };
        list(member.rows.iter().map(row).collect::<Vec<_>>())
    };
    let result = |member: &EvaluatorResult| {
        let verdict = match (is_v2, member.status, member.score) {
            (true, Status::Failed, Some(score)) if (0.6..PASS).contains(&score) => "borderline",
            (_, Status::Passed, _) => "pass",
            _ => "fail",
        };
        let mut keys = vec![
            ("score", member.score.map_or(Value::Null, Value::Float)),
            ("verdict", text(verdict)),
            ("assertions", assertions(member)),
            ("hits", texts(member, true)),
            ("misses", texts(member, false)),
        ];
        keys.extend(member.reason.as_ref().map(|reason| ("reasoning", text(reason))));
        object(keys)
    };
    Value::Object(members.iter().map(|member| (member.name.clone(), result(member))).collect())
}

/// Returns what a model gets that combines results.
fn texts(asked: &Judge, results: &str) -> Texts {
    let system = asked.scheme.reply_format();
    let user = match &asked.prompt {
        Prompt::Template(template) => {
            template.render(&|name| (name == RESULTS).then(|| results.to_owned()))
        }
        _ => format!(
            "Several evaluators have graded the same answer. Combine their results into one score.\n\n\
             [[ ## evaluator_results ## ]]\n{results}"
        ),
    };
    Texts { system, user }
}
