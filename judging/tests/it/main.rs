//! Tests of judging: settings, scripted models, recordings, budgets.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod calls;
mod failures;
mod settings;

use std::{fs, path::Path, sync::Arc};

use evaluator_json::Value;
use evaluator_judging::{
    Connection, Environment, JudgeSettings, Judged, Session, Subject,
    judge::{Case, Criterion, JudgedTurn, judge},
};
use evaluator_traces::conversation::Turn;
use tempfile::TempDir;

/// Reply that says that an answer is valid.
const VALID: &str = r#"{"is_the_agent_response_valid": "valid"}"#;
/// Reply that says that an answer is not valid.
const INVALID: &str = r#"{"is_the_agent_response_valid": "invalid"}"#;

/// Settings with a model that answers with these lines of a script, in order.
fn scripted(directory: &TempDir, lines: &[String]) -> JudgeSettings {
    let path = directory.path().join("replies.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    let mut settings = JudgeSettings::default();
    settings.models = vec![format!("fake:{}", path.display())];
    settings
}

/// Replies as lines of a script.
fn lines(replies: &[&str]) -> Vec<String> {
    replies.iter().map(|reply| serde_json::to_string(reply).unwrap()).collect()
}

/// A conversation of this many turns, whose golden turns are the same.
fn turns(count: usize) -> Vec<JudgedTurn> {
    let turn = |number| Turn {
        span_id: format!("t{number}"),
        user_text: Some(format!("When is number {number}?")),
        final_text: Some(format!("At {number} o'clock.")),
        ..Turn::default()
    };
    JudgedTurn::of_recording(&(1..=count).map(turn).collect::<Vec<_>>())
}

fn session(settings: JudgeSettings) -> Session {
    Session::new(settings, Environment::new(|_| None)).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(future)
}

/// Judges whether the answers of a conversation match its golden answers.
fn matched(connection: &Arc<Connection>, turns: &[JudgedTurn]) -> Judged {
    let criterion = connection.settings().criterion(Criterion::default());
    let case = Case::new(turns, &criterion).expecting(turns);
    let metric = judge("final_response_match_v2").unwrap();
    let subject = Subject::new("final_response_match_v2", "conversation c1");
    block_on(connection.judge(&*metric, &case, &subject))
}

/// Returns the member of the details of a judge.
fn detail<'j>(judged: &'j Judged, key: &str) -> &'j Value {
    judged.details["judge"].get(key).unwrap_or_else(|| panic!("no {key} in {judged:?}"))
}

fn path(directory: &TempDir, name: &str) -> std::path::PathBuf {
    Path::new(directory.path()).join(name)
}
