//! Combines the results of evaluators.

use evaluator_json::Value;
use evaluator_judging::judge::Question;
use futures_util::future::join_all;

use super::{
    Context,
    evaluate::evaluate as evaluate_member,
    judge, program,
    subject::{Evaluated, Subject},
};
use crate::{
    grade::{Row, Score},
    json_text::{list, object, pretty, text},
    model::{Aggregator, Composite, Evaluator, Judge, Prompt},
    report::{EvaluatorResult, Status},
    template::RESULTS,
};

/// Evaluates the members at the same time, and combines their results. An error of a member is an error of the whole.
pub(super) async fn evaluate(
    context: Context<'_>,
    evaluator: &Evaluator,
    composite: &Composite,
    subject: Subject<'_>,
) -> Evaluated {
    let running =
        composite.members.iter().map(|member| evaluate_member(context, member, subject, true));
    let members: Vec<EvaluatorResult> = join_all(running).await;
    let broken: Vec<&str> = members
        .iter()
        .filter(|member| member.status == Status::Error)
        .map(|member| &*member.name)
        .collect();
    if !broken.is_empty() {
        let reason = format!("there is no score, because of errors in {}", broken.join(", "));
        return Evaluated { members, ..Err(reason).into() };
    }
    let results = || results(&members, context.plan.suite.is_v2());
    let evaluated = match &composite.aggregator {
        Aggregator::Weighted(weights) => Ok(weighted(weights, &members)).into(),
        Aggregator::Threshold(least) => Ok(share(*least, &members)).into(),
        Aggregator::Program(program) => program::combine(context, program, results()).await.into(),
        Aggregator::Judge(asked) => {
            let question = question(asked, &pretty(&results()));
            judge::ask(context, evaluator, asked, subject, question).await
        }
    };
    Evaluated { members, ..evaluated }
}

fn rows(members: &[EvaluatorResult]) -> Vec<Row> {
    members.iter().map(|member| Row::new(&member.name, member.status == Status::Passed)).collect()
}

fn weighted(weights: &[(String, f64)], members: &[EvaluatorResult]) -> Score {
    let weight = |member: &EvaluatorResult| {
        weights.iter().find(|(name, _)| *name == member.name).map_or(1.0, |(_, weight)| *weight)
    };
    let total: f64 = members.iter().map(weight).sum();
    let sum: f64 =
        members.iter().map(|member| weight(member) * member.score.unwrap_or_default()).sum();
    Score::new(if total > 0.0 { sum / total } else { 0.0 }, rows(members))
}

#[expect(clippy::cast_precision_loss, reason = "a file has fewer than 2^53 lines")]
fn share(least: f64, members: &[EvaluatorResult]) -> Score {
    let passed = members.iter().filter(|member| member.status == Status::Passed).count();
    let score = passed as f64 / members.len() as f64;
    Score { passes: Some(score >= least), ..Score::new(score, rows(members)) }
}

/// Returns results by name, with the keys of both generations.
fn results(members: &[EvaluatorResult], is_v2: bool) -> Value {
    let texts = |member: &EvaluatorResult, passed: bool| {
        let rows = member.rows.iter().filter(|row| row.passed == passed);
        list(rows.map(|row| text(&row.text)).collect::<Vec<_>>())
    };
    let assertions = |member: &EvaluatorResult| {
        list(member.rows.iter().map(|row| {
            let mut members = vec![("text", text(&row.text)), ("passed", Value::Bool(row.passed))];
            members.extend(row.evidence.as_ref().map(|evidence| ("evidence", text(evidence))));
            object(members)
        }))
    };
    let result = |member: &EvaluatorResult| {
        let verdict = match member.verdict {
            "borderline" if !is_v2 => "fail",
            verdict => verdict,
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

/// Returns what a model is asked that combines results.
fn question(asked: &Judge, results: &str) -> Question {
    let user = match &asked.prompt {
        Prompt::Template(template) => {
            template.render(&|name| (name == RESULTS).then(|| results.to_owned()))
        }
        _ => format!(
            "Several evaluators have graded the same answer. Combine their results into one score.\n\n\
             [[ ## evaluator_results ## ]]\n{results}"
        ),
    };
    judge::question_of(&asked.scheme, user, false)
}
