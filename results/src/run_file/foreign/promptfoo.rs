//! Results of promptfoo, as `promptfoo eval -o FILE.json` writes them.
//!
//! | of promptfoo | here |
//! |---|---|
//! | test: its description, else its variables | case; with several providers or prompts, of each of them |
//! | assertions with one `metric`, else of one type | evaluator: the weighted mean, passed if all pass |
//! | verdict about a test that its assertions do not explain | evaluator [`TEST`] |
//! | `--repeat` | several conversations of a case |
//! | error of a provider; of a judge, of the code of an assertion | error of the conversation; of the evaluator |

use std::collections::{BTreeMap, BTreeSet};

use evaluator_json::{Object, Value, object, output_text, to_python};

use super::parts::{
    self, Entries, ForeignRun, THRESHOLD, at, broken, conversation, digest, golden, items_at,
    number, scored, short, text_at, threshold_at, unit,
};
use crate::{ALL_EVALUATORS, EvaluationReport, Status};

/// Name of the tool.
pub(super) const NAME: &str = "promptfoo";

/// Version of the results that are read.
const VERSION: i64 = 3;

/// Value of `failureReason` of a result without an answer.
const ERROR: i64 = 2;

/// Value of `failureReason` of a result whose assertions failed. Their reason is its `error`.
const ASSERT: i64 = 1;

/// Evaluator of what promptfoo says about a whole test.
const TEST: &str = "(test)";

/// Start of the reason of a test whose scoring function broke.
const SCORING_ERROR: &str = "Scoring function error: ";

/// Starts of the reasons of assertions whose code broke. promptfoo counts them as failed.
const CODE_ERRORS: [&str; 4] = [
    "Custom function threw error: ",
    "Python code execution failed: ",
    "Ruby code execution failed: ",
    "Webhook error: ",
];

/// Types of assertions that ask a model.
const JUDGES: [&str; 18] = [
    "agent-rubric",
    "answer-relevance",
    "classifier",
    "context-faithfulness",
    "context-recall",
    "context-relevance",
    "conversation-relevance",
    "factuality",
    "g-eval",
    "llm-rubric",
    "max-score",
    "model-graded-closedqa",
    "model-graded-factuality",
    "moderation",
    "pi",
    "search-rubric",
    "select-best",
    "similar",
];

/// Returns true for results of promptfoo.
pub(super) fn is_result(root: &Value) -> bool {
    root.get("evalId").is_some() && root.get("results").is_some_and(|it| it.as_object().is_some())
}

/// Reads results.
///
/// # Errors
///
/// They are of another version, incomplete, or have a score that is not from 0 to 1.
pub(super) fn read(root: &Value) -> Result<ForeignRun, String> {
    let version = at(root, &["results", "version"]);
    if !matches!(version, Some(Value::Int(VERSION))) {
        let version = version.map_or_else(|| "missing".to_owned(), to_python);
        return Err(format!(
            "the version of its results is {version}, and this program reads version {VERSION}"
        ));
    }
    let results = complete(root)?;
    let defaults = items_at(root, &["config", "defaultTest", "assert"]);
    let mut cases = Cases::new(results);
    let (mut run, mut entries) = (ForeignRun::default(), Entries::default());
    let (mut expected, mut unasserted) = (BTreeMap::new(), 0);
    // By the test, in which repetitions follow each other, not as answers came in.
    let mut order: Vec<&Value> = results.iter().collect();
    order.sort_by_key(|it| (integer(it, "testIdx"), integer(it, "promptIdx")));
    for result in order {
        let asked = asked(result, defaults);
        let case = cases.of(result, &asked);
        let id = text_at(result, &["id"]).unwrap_or(&case);
        let mut conversation = conversation(id, &case, text_at(result, &["prompt", "raw"]));
        conversation.evaluations = evaluations(result, &case, &mut entries)?;
        unasserted += u64::from(conversation.evaluations.is_empty());
        expected.insert(case, asked);
        run.conversations.push(conversation);
    }
    if unasserted > 0 {
        let all = run.conversations.len();
        let warning =
            format!("{unasserted} of {all} results have no assertion, and are in no number");
        run.report.warnings.push(warning);
    }
    add_defaults(root, defaults, &mut entries);
    run.header.evaluators = entries.finish(NAME);
    run.header.golden = Some(golden(NAME, expected));
    let version = text_at(root, &["metadata", "promptfooVersion"]).unwrap_or("of unknown version");
    run.header.tool = format!("{NAME} {version}");
    Ok(run)
}

/// Returns all results.
///
/// # Errors
///
/// Their number is not the one that was counted, or is 0.
fn complete(root: &Value) -> Result<&[Value], String> {
    let results = items_at(root, &["results", "results"]);
    let count = |key| at(root, &["results", "stats", key]).and_then(number).unwrap_or(0.0);
    let counted = count("successes") + count("failures") + count("errors");
    if results.is_empty() || counted != results.len() as f64 {
        return Err(format!(
            "it has {} results, and its statistics count {counted}; write all of them with `promptfoo export eval`",
            results.len()
        ));
    }
    Ok(results)
}

/// Returns the evaluations of a result. Assertions of a set are in the result of the set.
fn evaluations(
    result: &Value,
    case: &str,
    entries: &mut Entries,
) -> Result<Vec<EvaluationReport>, String> {
    if matches!(result.get("failureReason"), Some(Value::Int(ERROR))) {
        let error = text_at(result, &["error"]).unwrap_or("promptfoo reports an error");
        return Ok(unanswered(result, error, entries));
    }
    let is_false = |path: &[&str]| at(result, path).and_then(Value::as_bool) == Some(false);
    let has_failed = is_false(&["success"]) || is_false(&["gradingResult", "pass"]);
    let mut components: Vec<(String, Vec<&Value>)> = Vec::new();
    let mut all = items_at(result, &["gradingResult", "componentResults"]).iter();
    while let Some(component) = all.next() {
        let members = items_at(component, &["componentResults"]).len();
        all.by_ref().take(members).for_each(drop);
        let name = name(component.get("assertion").unwrap_or(&Value::Null))
            .or_else(|| text_at(component, &["metadata", "assertionSet", "metric"]))
            .unwrap_or("assert-set");
        match components.iter_mut().find(|(other, _)| other == name) {
            Some((_, parts)) => parts.push(component),
            None => components.push((name.to_owned(), vec![component])),
        }
    }
    let evaluation = |(name, parts): &(String, Vec<&Value>)| {
        entries.meet(name);
        combined(name, case, parts)
    };
    let mut found: Vec<EvaluationReport> =
        components.iter().map(evaluation).collect::<Result<_, _>>()?;
    let is_unexplained =
        has_failed && !found.iter().any(|it| it.error.is_some() || it.status == Status::Failed);
    let error = text_at(result, &["error"]);
    let is_of_assertions = matches!(result.get("failureReason"), Some(Value::Int(ASSERT)));
    if is_unexplained && (found.is_empty() || error.is_some() && !is_of_assertions) {
        // No assertion says that the agent was wrong.
        let reason = error
            .or_else(|| text_at(result, &["gradingResult", "reason"]))
            .unwrap_or("promptfoo says that the test failed, and has no result of an assertion");
        return Ok(unanswered(result, reason, entries));
    }
    // In every run that decides so, since runs with other evaluators are not compared.
    if !found.is_empty() && (has_verdict(result) || is_unexplained) {
        entries.meet(TEST);
        found.push(of_test(result, case, !has_failed)?);
    }
    Ok(found)
}

/// Returns true for a test that does not pass just because its assertions do.
fn has_verdict(result: &Value) -> bool {
    let keys = ["threshold", "assertScoringFunction"];
    keys.iter().any(|key| at(result, &["testCase", key]).is_some_and(|it| !it.is_null()))
}

/// Returns the evaluation of a whole test.
fn of_test(result: &Value, case: &str, passed: bool) -> Result<EvaluationReport, String> {
    let reason = text_at(result, &["gradingResult", "reason"]);
    if let Some(error) = reason.and_then(|it| it.strip_prefix(SCORING_ERROR)) {
        return Ok(broken(TEST, error));
    }
    let score = at(result, &["gradingResult", "score"]).and_then(number);
    let score = unit(TEST, case, score.unwrap_or(if passed { 1.0 } else { 0.0 }))?;
    let threshold = threshold_at(result, &["testCase", "threshold"]);
    let details = parts::reason(reason);
    Ok(EvaluationReport { details, ..scored(TEST, score, threshold, passed) })
}

/// Returns the evaluations of a test without an answer: the error, for each of its evaluators.
fn unanswered(result: &Value, error: &str, entries: &mut Entries) -> Vec<EvaluationReport> {
    let mut names: Vec<&str> = Vec::new();
    for name in items_at(result, &["testCase", "assert"]).iter().filter_map(name) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if has_verdict(result) {
        names.push(TEST);
    }
    if names.is_empty() {
        return vec![broken(ALL_EVALUATORS, error)];
    }
    names.iter().for_each(|name| entries.meet(name));
    names.iter().map(|name| broken(name, error)).collect()
}

/// Returns the name of the evaluator that an assertion belongs to.
fn name(assertion: &Value) -> Option<&str> {
    text_at(assertion, &["metric"]).or_else(|| text_at(assertion, &["type"]))
}

/// Returns the evaluation of assertions with the same name.
fn combined(name: &str, case: &str, parts: &[&Value]) -> Result<EvaluationReport, String> {
    if let Some(error) = parts.iter().find_map(|it| error_of(it)) {
        return Ok(broken(name, error));
    }
    let (mut sum, mut weights, mut unweighted) = (0.0, 0.0, 0.0);
    for part in parts {
        let score = part.get("score").and_then(number);
        let score = score.ok_or_else(|| format!("`{name}` has no score in case `{case}`"))?;
        let weight = ["assertion", "metadata"].iter().find_map(|key| {
            let of_set = at(part, &[key, "assertionSet", "weight"]);
            at(part, &[key, "weight"]).or(of_set).and_then(number)
        });
        let weight = weight.unwrap_or(1.0);
        let score = unit(name, case, score)?;
        sum += score * weight;
        weights += weight;
        unweighted += score;
    }
    let passes = |it: &&Value| it.get("pass").and_then(Value::as_bool) == Some(true);
    let threshold = match parts {
        [only] => threshold_at(only, &["assertion", "threshold"]),
        _ => THRESHOLD,
    };
    // Assertions without weight count in no test of promptfoo: their scores are what is recorded.
    let (sum, weights) =
        if weights > 0.0 { (sum, weights) } else { (unweighted, parts.len() as f64) };
    let score = (sum / weights).clamp(0.0, 1.0);
    let is_passed = parts.iter().all(passes);
    let is_told = |it: &&&Value| !passes(it) || parts.len() == 1;
    let reasons = parts.iter().filter(is_told).filter_map(|it| text_at(it, &["reason"]));
    let reasons: Vec<&str> = reasons.collect();
    let reasons = reasons.join("; ");
    let details = parts::reason(Some(&*reasons).filter(|it| !it.is_empty()));
    Ok(EvaluationReport { details, ..scored(name, score, threshold, is_passed) })
}

/// Returns why an assertion, or one of a set, has no verdict: its judge or its code broke.
fn error_of(assertion: &Value) -> Option<&str> {
    let is_of_judge =
        at(assertion, &["metadata", "graderError"]).and_then(Value::as_bool) == Some(true);
    let reason = text_at(assertion, &["reason"]);
    let is_of_code = |it: &&str| CODE_ERRORS.iter().any(|start| it.starts_with(start));
    if is_of_judge {
        return Some(reason.unwrap_or("its judge broke"));
    }
    let members = items_at(assertion, &["componentResults"]);
    reason.filter(is_of_code).or_else(|| members.iter().find_map(error_of))
}

/// Returns what is asked and expected in a test: its variables, its threshold, and the assertions that not all tests have.
fn asked(result: &Value, defaults: &[Value]) -> Value {
    let defaults: BTreeSet<String> = defaults.iter().map(to_python).collect();
    let own = items_at(result, &["testCase", "assert"]).iter();
    let own = own.filter(|it| !defaults.contains(&to_python(it))).cloned().collect();
    let of_test = |key| at(result, &["testCase", key]).cloned().unwrap_or_default();
    object([
        ("vars", of_test("vars")),
        ("threshold", of_test("threshold")),
        ("assertScoringFunction", of_test("assertScoringFunction")),
        ("assert", Value::Array(own)),
    ])
}

/// Adds the assertions that all tests have, and the settings of models that judge.
fn add_defaults(root: &Value, defaults: &[Value], entries: &mut Entries) {
    let mut by_name: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for assertion in defaults {
        if let Some(name) = name(assertion) {
            by_name.entry(name).or_default().push(assertion.clone());
        }
    }
    let options = at(root, &["config", "defaultTest", "options"]);
    let options = options.filter(|it| it.as_object().is_some_and(|it| !it.is_empty()));
    let asks = |it: &Value| {
        let kind = text_at(it, &["type"]).unwrap_or_default();
        JUDGES.contains(&kind.strip_prefix("not-").unwrap_or(kind))
    };
    for name in entries.names.clone() {
        let own = by_name.remove(&*name).unwrap_or_default();
        let is_judge = own.iter().any(asks) || JUDGES.contains(&&*name);
        if let Some(options) = options.filter(|_| is_judge) {
            entries.set(&name, "judge.options", options);
        }
        if !own.is_empty() {
            entries.set(&name, "defaultTest.assert", &Value::Array(own));
        }
    }
}

fn integer(value: &Value, key: &str) -> i128 {
    value.get(key).and_then(Value::as_i128).unwrap_or_default()
}

/// Names of cases.
struct Cases {
    /// Descriptions that tests with different variables have.
    ambiguous: BTreeSet<String>,
    has_providers: bool,
    has_prompts: bool,
    /// Names of the cases that were met, by the name that the test gives and by the digest of the test and its column.
    names: BTreeMap<(String, String), String>,
    taken: BTreeSet<String>,
}

impl Cases {
    fn new(results: &[Value]) -> Self {
        let mut variables: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for result in results {
            if let Some(description) = description(result) {
                variables.entry(description).or_default().insert(vars(result));
            }
        }
        let ambiguous = variables.into_iter().filter(|(_, vars)| vars.len() > 1);
        let are_several = |of: fn(&Value) -> Option<&str>| {
            results.iter().map(of).collect::<BTreeSet<_>>().len() > 1
        };
        Self {
            ambiguous: ambiguous.map(|(description, _)| description.to_owned()).collect(),
            has_providers: are_several(provider),
            has_prompts: are_several(prompt),
            names: BTreeMap::new(),
            taken: BTreeSet::new(),
        }
    }

    /// Returns the name of the case of a result. Tests that only this name does not tell apart are numbered, in their order: a
    /// digest would turn an edited test into another case, which is not compared.
    fn of(&mut self, result: &Value, asked: &Value) -> String {
        let of_test = |key| at(result, &["testCase", key]).cloned().unwrap_or_default();
        let test = object([
            ("asked", asked.clone()),
            ("description", of_test("description")),
            ("options", of_test("options")),
            ("provider", of_test("provider")),
            // The column: a provider with a prompt. Others may have the same labels.
            ("promptIdx", result.get("promptIdx").cloned().unwrap_or_default()),
        ]);
        let key = (self.plain(result), digest(&test).to_string());
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let mut name = key.0.clone();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            number += 1;
            name = format!("{} #{number}", key.0);
        }
        self.names.insert(key, name.clone());
        name
    }

    /// Returns the name that several tests may have.
    fn plain(&self, result: &Value) -> String {
        let mut name = match description(result) {
            Some(description) if self.ambiguous.contains(description) => {
                format!("{} ({})", short(description), vars(result))
            }
            Some(description) => short(description),
            None => vars(result),
        };
        let provider = provider(result).filter(|_| self.has_providers);
        let prompt = prompt(result).filter(|_| self.has_prompts);
        for part in [provider, prompt].into_iter().flatten() {
            name.push_str(&format!(" [{}]", short(part)));
        }
        name
    }
}

fn description(result: &Value) -> Option<&str> {
    text_at(result, &["testCase", "description"])
}

fn provider(result: &Value) -> Option<&str> {
    text_at(result, &["provider", "label"]).or_else(|| text_at(result, &["provider", "id"]))
}

fn prompt(result: &Value) -> Option<&str> {
    text_at(result, &["prompt", "label"]).or_else(|| text_at(result, &["promptId"]))
}

/// Returns the variables of a test as text, by name.
fn vars(result: &Value) -> String {
    let none = Object::default();
    let vars = at(result, &["testCase", "vars"]).and_then(Value::as_object).unwrap_or(&none);
    let vars: BTreeMap<&String, &Value> = vars.iter().collect();
    let shown = vars.iter().map(|(name, value)| format!("{name}={}", output_text(value)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if shown.is_empty() { "(no variables)".to_owned() } else { short(&shown) }
}
