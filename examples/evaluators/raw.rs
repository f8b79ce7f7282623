//! An evaluator without the SDK: all it takes is to read one JSON document and to write one.
//!
//! The SDK adds the rest: errors that name the field, checked scores, panics and stray prints that cannot be taken for an
//! answer, the streaming form, `--describe`.

use std::{
    error::Error,
    io::{Write, stdin, stdout},
};

use serde_json::{Value, json};

/// Scores the share of turns that the agent answered.
fn answered(input: &Value) -> Result<Value, &'static str> {
    let turns = input["invocations"].as_array().ok_or("`invocations` is not a list")?;
    if turns.is_empty() {
        return Ok(json!({"score": 0.0, "status": "NOT_EVALUATED"}));
    }
    let scores: Vec<f64> = turns
        .iter()
        .map(|turn| f64::from(turn["final_response"].as_str().is_some_and(|text| !text.is_empty())))
        .collect();
    let score = scores.iter().sum::<f64>() / scores.len() as f64;
    Ok(json!({"score": score, "per_invocation_scores": scores}))
}

fn main() -> Result<(), Box<dyn Error>> {
    let input = serde_json::from_reader(stdin().lock())?;
    writeln!(stdout(), "{}", answered(&input)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answered_turns_score() {
        let input =
            json!({"invocations": [{"final_response": "Hello."}, {"final_response": null}]});
        assert_eq!(
            answered(&input),
            Ok(json!({"score": 0.5, "per_invocation_scores": [1.0, 0.0]}))
        );
    }

    #[test]
    fn other_documents_are_errors() {
        assert!(answered(&json!({})).is_err());
    }
}
