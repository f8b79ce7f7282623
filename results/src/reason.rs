//! Why an evaluation has its outcome: what the evaluator says, what its judge says, and which tool calls differ.

use std::borrow::Cow;

use evaluator_json::{Object, Value, to_python};
use evaluator_protocol::{MISS_KEYS, REASON_KEYS};

use super::EvaluationReport;

/// Number of rubrics, turns or calls that are named; the rest is counted.
const NAMED: usize = 3;

/// Maximum number of shown characters of the arguments of a call.
const ARGUMENTS: usize = 80;

impl EvaluationReport {
    /// Text with which the evaluator explains its result: the first one that is not empty under a key of [`REASON_KEYS`] in
    /// its details, or else the texts under one of [`MISS_KEYS`], or else what its judge says about the rubrics and turns that
    /// fail.
    pub fn reason(&self) -> Option<Cow<'_, str>> {
        let details = self.details.as_ref()?;
        let text = |key: &&str| {
            let text = details.get(*key)?.as_str()?.trim();
            (!text.is_empty()).then_some(Cow::Borrowed(text))
        };
        let list = |key: &&str| {
            let texts: Option<Vec<&str>> =
                details.get(*key)?.as_array()?.iter().map(Value::as_str).collect();
            texts.filter(|texts| !texts.is_empty()).map(|texts| Cow::Owned(texts.join("; ")))
        };
        let misses = || MISS_KEYS.iter().find_map(|key| text(key).or_else(|| list(key)));
        let judged = || self.judged(details).map(Cow::Owned);
        REASON_KEYS.iter().find_map(text).or_else(misses).or_else(judged)
    }

    /// Text about the tool calls that differ from the golden ones, in a line; `None` if the evaluator does not compare calls,
    /// or found no difference.
    pub fn difference(&self) -> Option<String> {
        let details = self.details.as_ref()?;
        let turns = list(details.get("comparisons")).map(compared).or_else(|| {
            details.contains_key("diff").then(|| list(details.get("turns")).map(aligned))?
        })?;
        let several = turns.len() > 1;
        let found = turns.into_iter().enumerate().filter_map(|(turn, text)| {
            let text = text?;
            Some(if several { format!("turn {}: {text}", turn + 1) } else { text })
        });
        joined(found.collect())
    }

    /// What a judge says: about the rubrics that are not fulfilled, or else about the turns that fail, with the agreement of
    /// its votes where one vote decided.
    fn judged(&self, details: &Object) -> Option<String> {
        let judge = details.get("judge").filter(|it| it.as_object().is_some())?;
        let rubrics = || {
            let overall = list(details.get("overall_rubric_scores")).unwrap_or_default();
            let missed = unfulfilled(overall, "");
            let turns = list(details.get("per_invocation")).unwrap_or_default();
            let several = turns.len() > 1;
            let of_turns = turns.iter().enumerate().flat_map(|(number, turn)| {
                let place = if several { format!("turn {}, ", number + 1) } else { String::new() };
                unfulfilled(list(turn.get("rubric_scores")).unwrap_or_default(), &place)
            });
            let of_turns: Vec<String> = of_turns.collect();
            joined(if of_turns.is_empty() { missed } else { of_turns })
        };
        let votes = || {
            let votes = list(judge.get("votes"))?;
            let several = self.per_invocation_scores.len() > 1;
            let texts = votes.iter().filter_map(|vote| {
                let reason = vote.get("reason")?.as_str().filter(|text| !text.trim().is_empty())?;
                let turn = usize::try_from(vote.get("turn")?.as_i128()?).ok()?;
                let is_below = self.per_invocation_scores.get(turn).copied().flatten();
                let is_below = is_below.zip(self.threshold).map(|(score, asked)| score < asked);
                is_below.unwrap_or(true).then(|| match several {
                    true => format!("turn {}: {}", turn + 1, reason.trim()),
                    false => reason.trim().to_owned(),
                })
            });
            joined(texts.collect())
        };
        let mut text = rubrics().or_else(votes)?;
        if judge.get("close").and_then(Value::as_bool) == Some(true)
            && let Some(Value::Float(agreement)) = judge.get("agreement")
        {
            text.push_str(&format!(" (one vote decided: agreement {agreement:.2})"));
        }
        Some(text)
    }
}

/// Rubrics without the full score, each with the judge's rationale.
fn unfulfilled(rubrics: &[Value], place: &str) -> Vec<String> {
    let rubrics = rubrics.iter().filter_map(|rubric| {
        let Some(Value::Float(score)) = rubric.get("score") else { return None };
        let id = rubric.get("rubric_id")?.as_str()?;
        let score = match *score {
            0.0 => String::new(),
            1.0.. => return None,
            score => format!(" ({score:.2})"),
        };
        Some(match rubric.get("rationale").and_then(Value::as_str).map_or("", str::trim) {
            "" => format!("{place}rubric {id:?}{score} is not fulfilled"),
            why => format!("{place}rubric {id:?}{score}: {why}"),
        })
    });
    rubrics.collect()
}

/// For each turn of a comparison of whole lists of calls, its difference.
fn compared(turns: &[Value]) -> Vec<Option<String>> {
    let turn = |turn: &Value| {
        if turn.get("matched").and_then(Value::as_bool) != Some(false) {
            return None;
        }
        let [expected, actual] = ["expected", "actual"].map(|side| calls(turn, side));
        Some(format!("expected {expected}, called {actual}"))
    };
    turns.iter().map(turn).collect()
}

/// For each turn of an alignment of calls, its difference.
fn aligned(turns: &[Value]) -> Vec<Option<String>> {
    let turn = |turn: &Value| {
        let mut found = Vec::new();
        for pair in list(turn.get("pairs"))? {
            let name = pair.get("name").and_then(Value::as_str).unwrap_or_default();
            for difference in list(pair.get("differences")).into_iter().flatten() {
                let side = |key| {
                    difference
                        .get(key)
                        .map_or_else(|| "nothing".to_owned(), |it| shown(it, ARGUMENTS))
                };
                let argument = difference.get("argument")?.as_str()?;
                let [expected, actual] = ["expected", "actual"].map(side);
                found.push(format!("{name}: {argument} is {actual}, not {expected}"));
            }
        }
        for (key, word) in [("missing", "missing"), ("unexpected", "not expected")] {
            if !list(turn.get(key))?.is_empty() {
                found.push(format!("{word}: {}", calls(turn, key)));
            }
        }
        joined(found)
    };
    turns.iter().map(turn).collect()
}

/// The calls under a key, in the order in which they were made.
fn calls(turn: &Value, key: &str) -> String {
    let calls = list(turn.get(key)).unwrap_or_default().iter();
    let calls = calls.filter(|call| call.as_object().is_some()).map(|call| {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        let args = call.get("args").filter(|args| !args.is_null());
        format!("{name}({})", args.map_or_else(String::new, |args| shown(args, ARGUMENTS)))
    });
    let calls: Vec<String> = calls.collect();
    let more = calls.len().saturating_sub(2 * NAMED);
    match calls.len() {
        0 => "nothing".to_owned(),
        _ if more > 0 => format!("{} and {more} more", calls[..2 * NAMED].join(", ")),
        _ => calls.join(", "),
    }
}

fn shown(value: &Value, characters: usize) -> String {
    let text = to_python(value);
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}

/// The first texts, and the number of the others; `None` without any.
fn joined(texts: Vec<String>) -> Option<String> {
    let more = texts.len().saturating_sub(NAMED);
    let mut shown = texts.get(..NAMED).unwrap_or(&texts).join("; ");
    if more > 0 {
        shown.push_str(&format!("; and {more} more"));
    }
    (!texts.is_empty()).then_some(shown)
}

fn list(value: Option<&Value>) -> Option<&[Value]> {
    value?.as_array()
}

#[cfg(test)]
mod tests {
    use evaluator_json::parse_python;

    use super::*;

    fn evaluation(details: &str) -> EvaluationReport {
        let Some(Value::Object(details)) = parse_python(details) else { panic!("{details}") };
        EvaluationReport {
            threshold: Some(0.5),
            per_invocation_scores: vec![Some(0.0), Some(1.0)],
            details: Some(details),
            ..EvaluationReport::new("check")
        }
    }

    #[test]
    fn an_evaluator_explains_itself_before_its_judge_does() {
        let judge = r#""judge": {"votes": [{"turn": 0, "reason": "rude"}]}"#;
        for (details, reason) in [
            (r#"{"reason": " late ", JUDGE}"#, Some("late")),
            (r#"{"reason": " ", "misses": ["a", "b"], JUDGE}"#, Some("a; b")),
            (r#"{"other": 1, JUDGE}"#, Some("turn 1: rude")),
            (r#"{"other": 1}"#, None),
        ] {
            let evaluation = evaluation(&details.replace("JUDGE", judge));
            assert_eq!(evaluation.reason().as_deref(), reason, "{details}");
        }
    }

    #[test]
    fn a_judge_explains_the_turns_that_fail() {
        let details = r#"{"judge": {"close": true, "agreement": 0.67, "votes": [
            {"turn": 0, "reason": "rude\n"}, {"turn": 1, "reason": "fine"}, {"turn": 0}]}}"#;
        let mut evaluation = evaluation(details);
        let text = "turn 1: rude (one vote decided: agreement 0.67)";
        assert_eq!(evaluation.reason().as_deref(), Some(text));
        evaluation.per_invocation_scores = vec![Some(0.2)];
        let text = "rude; fine (one vote decided: agreement 0.67)";
        assert_eq!(evaluation.reason().as_deref(), Some(text), "turn 2 has no score");
    }

    #[test]
    fn a_judge_names_the_rubrics_that_are_not_fulfilled() {
        let rubric = r#"{"rubric_id": "ID", "score": SCORE, "rationale": "WHY"}"#;
        let rubric =
            |id, score, why| rubric.replace("ID", id).replace("SCORE", score).replace("WHY", why);
        let rubrics = [
            rubric("polite", "0.0", "it shouts"),
            rubric("short", "1.0", "yes"),
            rubric("whole", "0.25", ""),
            rubric("open", "null", "not said"),
            rubric("x", "0.0", "a"),
            rubric("y", "0.0", "b"),
        ]
        .join(", ");
        let votes = r#""judge": {"votes": [{"turn": 0, "rubric": "polite", "reason": "no"}]}"#;
        let text = r#"rubric "polite": it shouts; rubric "whole" (0.25) is not fulfilled; rubric "x": a; and 1 more"#;
        let of_turns = format!(
            r#"{{"per_invocation": [{{"rubric_scores": [{rubrics}]}}], "overall_rubric_scores": [], {votes}}}"#
        );
        assert_eq!(evaluation(&of_turns).reason().as_deref(), Some(text));
        let overall = format!(r#"{{"overall_rubric_scores": [{rubrics}], {votes}}}"#);
        assert_eq!(evaluation(&overall).reason().as_deref(), Some(text));
    }

    #[test]
    fn tool_calls_that_differ_are_named_by_turn() {
        let whole = r#"{"comparisons": [
            {"matched": true, "expected": [], "actual": []},
            {"matched": false, "expected": [{"name": "book", "args": {"n": 2}}, {"name": "pay", "args": null}], "actual": []}]}"#;
        let text = "turn 2: expected book({'n': 2}), pay(), called nothing".replace('\'', "\"");
        assert_eq!(evaluation(whole).difference(), Some(text));
        let aligned = r#"{"diff": "x", "turns": [{"pairs": [{"name": "book", "differences": [
            {"argument": "n", "expected": 2, "actual": 3}, {"argument": "day", "actual": "today"}]}],
            "missing": [{"name": "pay", "args": {}}], "unexpected": []}]}"#;
        let text = "book: n is 3, not 2; book: day is \"today\", not nothing; missing: pay({})";
        assert_eq!(evaluation(aligned).difference().as_deref(), Some(text));
        let equal = r#"{"diff": "", "turns": [{"pairs": [], "missing": [], "unexpected": []}]}"#;
        assert_eq!(evaluation(equal).difference(), None);
    }
}
