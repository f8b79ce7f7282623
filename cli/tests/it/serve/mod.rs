//! Evaluators over HTTP, with real requests.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod contained;
mod contracts;
mod life;
mod limits;
mod operations;
mod paths;

/// Passes what was said exactly as expected, and has no word for conversations without golden turns.
const SAME: &str = r#"
doc=$(cat)
case "$doc" in
  *'"expected_invocations":null'*) echo '{"score": 0, "status": "NOT_EVALUATED", "details": {"reason": "nothing to compare with"}}' ;;
  *'"final_response":"Paris"'*'"final_response":"Paris"'*) echo '{"score": 1, "per_invocation_scores": [1]}' ;;
  *) echo '{"score": 0.25}' ;;
esac"#;

/// Shows what it was given.
const SHOW: &str = r#"printf '{"score": 1, "details": {"document": %s}}' "$(cat)""#;

const WEBHOOK: &str =
    r#"{"inputs":{"country":"France","correct_answer":"Paris"},"output":"Paris"}"#;
const AGENTEVALS: &str = r#"{"metric_name":"m","invocations":[{"final_response":"Paris"}]}"#;

/// Waits for a file.
const WAIT: &str = r#"cat >/dev/null; echo $$ >> began
until [ -e go ]; do sleep 0.02; done
echo '{"score": 1}'"#;
