//! Programs that judge, write prompts or combine results.

use evaluator_host::run::ProgramOutput;
use evaluator_hosts::{foreign_contract, parse_strict_document};
use evaluator_json::{Object, Value};
use evaluator_protocol::Contract;

use super::{
    Context,
    payload::payload,
    subject::{Evaluated, Subject},
};
use crate::{
    grade::{Row, Score},
    json_text::{compact, object},
    model::Program,
    report::ProxyUse,
};

/// Runs a program that judges.
pub(super) async fn judge(
    context: Context<'_>,
    program: &Program,
    subject: Subject<'_>,
) -> Evaluated {
    let document = compact(&payload(subject, program));
    let ProgramOutput { printed, asked, warning, .. } = context.run(program, &document).await;
    let score = printed.and_then(|printed| read(&printed));
    // Only the verdict of a program that combines results counts.
    let score = score.map(|score| Score { passes: None, ..score });
    Evaluated { proxy: asked.map(|asked| ProxyUse { asked, warning }), ..score.into() }
}

/// Runs a program that combines results. Its verdict counts if it is one; the score decides about the test.
pub(super) async fn combine(
    context: Context<'_>,
    program: &Program,
    results: Value,
) -> Result<Score, String> {
    let document = compact(&object([("results", results)]));
    read(&context.run(program, &document).await.printed?)
}

/// Runs a program that writes a prompt.
pub(super) async fn prompt(
    context: Context<'_>,
    program: &Program,
    subject: Subject<'_>,
) -> Result<String, String> {
    let document = compact(&payload(subject, program));
    let printed = context.run(program, &document).await.printed;
    let printed =
        printed.map_err(|reason| format!("the program that writes the prompt: {reason}"))?;
    let text = String::from_utf8_lossy(&printed).trim().to_owned();
    if text.is_empty() {
        return Err("the program that writes the prompt printed nothing".to_owned());
    }
    Ok(text)
}

/// Reads what a program printed: one JSON object with a score.
fn read(printed: &[u8]) -> Result<Score, String> {
    let printed = printed.strip_prefix(b"\xef\xbb\xbf").unwrap_or(printed);
    let document = parse_strict_document(printed).map_err(|error| error.to_string())?;
    let contract = foreign_contract(Contract::AgentV).ok_or("AgentV is not known")?;
    let answer = (contract.answer)(document, 1).map_err(|error| error.to_string())?;
    let details = answer.details.unwrap_or_default();
    let text =
        |key: &str| details.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    Ok(Score {
        reason: text("reasoning").or_else(|| text("reason")).map(str::to_owned),
        passes: match text("verdict") {
            Some("pass") => Some(true),
            Some("fail" | "borderline") => Some(false),
            _ => None,
        },
        ..Score::new(answer.score.ok_or("the program gave no score")?, rows(&details))
    })
}

/// Returns the rows of an answer: `assertions`, else `checks`, else `hits` and `misses`, which are the forms of the
/// generations for the same thing.
fn rows(details: &Object) -> Vec<Row> {
    let list = |key: &str| details.get(key).and_then(Value::as_array).unwrap_or_default();
    for (key, flag) in [("assertions", "passed"), ("checks", "pass")] {
        let row = |item: &Value| {
            let evidence = item.get("evidence").or_else(|| item.get("reason"));
            Some(Row {
                text: item.get("text")?.as_str()?.to_owned(),
                passed: item.get(flag).and_then(Value::as_bool).unwrap_or(false),
                evidence: evidence.and_then(Value::as_str).map(str::to_owned),
            })
        };
        let rows: Vec<Row> = list(key).iter().filter_map(row).collect();
        if !rows.is_empty() {
            return rows;
        }
    }
    let texts = |key, passed| {
        let texts = list(key).iter().filter_map(Value::as_str);
        texts.filter(|text| !text.trim().is_empty()).map(move |text| Row::new(text, passed))
    };
    texts("hits", true).chain(texts("misses", false)).collect()
}
