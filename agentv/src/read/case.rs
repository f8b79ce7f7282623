//! A test.

use std::path::Path;

use evaluator_document::{Field, Fields, Node, NodeKind};
use evaluator_host::config::ContainmentConfig;
use evaluator_json::Value;
use evaluator_judging::judge::scheme::Scheme;

use super::{
    Reader, judge, list, message,
    place::Place,
    values::{first, flag, fraction, whole},
};
use crate::{
    files::{Opened, any_text},
    json_text::equal,
    model::{Evaluator, Judge, Message, Test},
    references,
};

/// What the suite gives to its tests.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    /// Evaluators of the suite.
    pub(super) evaluators: Option<Vec<Evaluator>>,
    /// Messages in front of those of each test.
    pub(super) input: Vec<Message>,
    /// Metadata of each test.
    pub(super) metadata: Option<Value>,
}

/// Keys in which the variables of a test are replaced.
const WITH_VARIABLES: [&str; 6] =
    ["criteria", "expected_outcome", "outcome", "input", "input_files", "expected_output"];

/// Lists of evaluators in the order of precedence.
const LISTS: [&str; 3] = ["assertions", "assert", "evaluators"];

/// Reads a test. `None` after a problem. `name` is the id of a test without one.
pub(super) fn read(
    reader: &Reader<'_>,
    defaults: &Defaults,
    node: &Node,
    opened: Opened<'_>,
    name: Option<&str>,
) -> Option<Test> {
    let mut node = node.clone();
    substitute(reader, &mut node);
    let field = node.field("tests", opened.problems);
    let mut fields = field.fields("this test")?;
    fields.null_is_absent();
    out_of_scope(reader, &mut fields);
    let id = id(reader, &mut fields, opened, name);
    let execution = fields
        .take("execution")
        .map(|field| Execution::read(reader, &field, None))
        .unwrap_or_default();
    let own = own_list(reader, &mut fields, execution.list, opened);
    let rubrics = fields.take("rubrics");
    let metadata = fields.take("metadata").and_then(|field| judge::metadata(&field));
    let metadata = with_defaults(metadata, defaults.metadata.as_ref());
    let conversation_id = fields.take("conversation_id");
    let conversation_id = conversation_id.and_then(|id| id.node.as_str().map(str::to_owned));
    for key in ["vars", "dataset", "description", "suite", "tags", "note"] {
        fields.take(key);
    }
    let has_something = own.is_some() || rubrics.is_some() || defaults.evaluators.is_some();
    let (criteria, input, expected) = texts(reader, &mut fields, defaults, has_something);
    fields.finish();
    let position = opened.position(&node);
    let judge =
        |name: &str, kind: &str, scheme| Evaluator::judged(name, kind, position.clone(), scheme);
    let rubrics = rubrics.and_then(|list| judge::rubrics_of(&list)).map(|items| {
        let name = if reader.is_v2() { "rubric" } else { "rubrics" };
        judge(name, "rubrics", Scheme::Rubrics(items))
    });
    // In AgentV 2 a list of the test replaces that of the suite.
    let is_replaced = execution.skips_defaults || (own.is_some() && reader.is_v2());
    let suite = defaults.evaluators.iter().flatten().filter(|_| !is_replaced).cloned();
    let own = own.into_iter().flatten();
    let mut evaluators: Vec<Evaluator> = rubrics.into_iter().chain(own).chain(suite).collect();
    if evaluators.is_empty() {
        evaluators.push(judge("llm-grader", "llm-grader", Judge::NUMBER));
    }
    let Execution { threshold, target, .. } = execution;
    let id = id?;
    Some(Test {
        id,
        position,
        input,
        expected,
        criteria,
        evaluators,
        threshold,
        target,
        metadata,
        conversation_id,
    })
}

/// Reads the kind of the default judge, of which there is one.
pub(super) fn default_judge(fields: &mut Fields<'_>) {
    let Some(field) = fields.take("evaluator") else { return };
    let names = ["llm_judge", "llm-judge", "llm_grader", "llm-grader"];
    if !field.node.as_str().is_some_and(|name| names.contains(&name)) {
        field.add("`evaluator`: the default judge is `llm-grader`; others are not supported");
    }
}

/// Adds the metadata of the suite to those of a test: lists are joined, objects merged, and other values of the test count.
fn with_defaults(own: Option<Value>, defaults: Option<&Value>) -> Option<Value> {
    let Some(defaults) = defaults else { return own };
    Some(match (own, defaults) {
        (None | Some(Value::Null), defaults) => defaults.clone(),
        (Some(Value::Object(mut own)), Value::Object(defaults)) => {
            for (key, value) in defaults {
                let merged = with_defaults(own.shift_remove(key), Some(value));
                own.insert(key.clone(), merged.unwrap_or_default());
            }
            Value::Object(own)
        }
        (Some(Value::Array(own)), Value::Array(defaults)) => {
            let new = own.into_iter().filter(|item| !defaults.iter().any(|it| equal(it, item)));
            let new: Vec<Value> = new.collect();
            Value::Array(defaults.iter().cloned().chain(new).collect())
        }
        (Some(own), _) => own,
    })
}

fn substitute(reader: &Reader<'_>, node: &mut Node) {
    let vars = node.get("vars").filter(|_| !reader.is_v2()).and_then(|vars| vars.to_json().ok());
    let (Some(vars), NodeKind::Mapping(entries)) = (vars, &mut node.kind) else { return };
    for (key, value) in entries {
        if key.as_str().is_some_and(|key| WITH_VARIABLES.contains(&key)) {
            references::variables(value, &vars);
        }
    }
}

/// Takes or refuses the keys of AgentV's own runs.
fn out_of_scope(reader: &Reader<'_>, fields: &mut Fields<'_>) {
    reader.targets(fields);
    let dependencies = "tests that depend on each other are not supported";
    reader.production(
        fields,
        &[
            ("workspace", "workspaces are not supported"),
            ("depends_on", dependencies),
            ("on_dependency_failure", dependencies),
        ],
    );
    for key in ["mode", "turns", "aggregation", "on_turn_failure", "window_size"] {
        let message =
            format!("`{key}`: conversation mode, which scores every turn, is not supported");
        fields.refuse(key, message, "grade this test with AgentV");
    }
    fields.refuse("preprocessors", "`preprocessors` is not supported", "remove it");
}

fn id(
    reader: &Reader<'_>,
    fields: &mut Fields<'_>,
    opened: Opened<'_>,
    name: Option<&str>,
) -> Option<String> {
    let (id, node) = match (fields.take("id"), name) {
        (Some(id), _) => (id.sentence()?, Some(id.node)),
        (None, Some(name)) => (name.to_owned(), None),
        (None, None) => {
            fields.missing("id");
            return None;
        }
    };
    let position =
        node.map_or_else(|| format!("{}:1:1", opened.file.display()), |node| opened.position(node));
    if let Some(earlier) = reader.ids.borrow_mut().insert(id.clone(), position) {
        let message = format!("the id `{id}` is given twice, first at {earlier}");
        match node {
            Some(node) => opened.problems.add(node.span, message),
            None => opened.problems.add_to_file(message),
        };
        return None;
    }
    Some(id)
}

/// Executors of eval files.
const EXECUTORS: [(&str, ()); 3] = [("local", ()), ("sandbox", ()), ("docker", ())];

/// Keys of `execution` of a test or of the suite.
#[derive(Default)]
pub(super) struct Execution<'n> {
    pub(super) threshold: Option<f64>,
    pub(super) target: Option<String>,
    pub(super) list: Option<Field<'n>>,
    pub(super) containment: ContainmentConfig,
    skips_defaults: bool,
}

impl<'n> Execution<'n> {
    /// Reads the keys. `suite`: the file, if they are those of a suite.
    pub(super) fn read(reader: &Reader<'_>, field: &Field<'n>, suite: Option<&Path>) -> Self {
        let Some(mut fields) = field.fields("this `execution`") else { return Self::default() };
        fields.null_is_absent();
        let list = first(&mut fields, &LISTS);
        let threshold = fields.take("threshold").and_then(|field| fraction(&field));
        let skips = first(&mut fields, &["skip_defaults", "skipDefaults"]);
        let skips_defaults = skips.and_then(|field| flag(&field)).unwrap_or_default();
        let target = fields.take("target").and_then(|field| field.sentence());
        reader.targets(&mut fields);
        let mut containment = ContainmentConfig::default();
        if let Some(file) = suite {
            if let Some(node) = fields.peek("executor") {
                node.field("executor", fields.problems()).choice(&EXECUTORS);
            }
            containment = ContainmentConfig::take(&mut fields, file);
            fields.refuse("trials", "`trials` is not supported", "remove it");
            let budget = "budgets of targets are not supported";
            reader.production(
                &mut fields,
                &[("budget_usd", budget), ("budgetUsd", budget), ("total_budget_usd", budget)],
            );
            fields.take("workers").and_then(|field| whole(&field, 1..=1000));
            if let Some(field) = skips.filter(|_| skips_defaults) {
                let message = format!("`{}` has no effect outside of a test", field.key);
                field.problems.warn(field.node.span, message);
            }
        }
        fields.finish();
        Self { threshold, skips_defaults, target, list, containment }
    }
}

/// Reads the list of evaluators of a test.
fn own_list(
    reader: &Reader<'_>,
    fields: &mut Fields<'_>,
    inner: Option<Field<'_>>,
    opened: Opened<'_>,
) -> Option<Vec<Evaluator>> {
    default_judge(fields);
    let [assertions, assert, evaluators] = LISTS.map(|key| fields.take(key));
    // The order of AgentV 4; in AgentV 2 the list of `execution` is the first as well.
    let mut lists = [assertions, assert, inner, evaluators].into_iter().flatten();
    let list = lists.next()?;
    for hidden in lists {
        let message = format!("these `{}` have no effect next to `{}`", hidden.key, list.key);
        hidden.problems.warn(hidden.node.span.start(), message);
    }
    Some(list::read(reader, &list, Place::new(opened)))
}

/// Reads criteria, input and gold answer, and checks that there is something to grade. Of several keys the one of the
/// generation counts.
fn texts(
    reader: &Reader<'_>,
    fields: &mut Fields<'_>,
    defaults: &Defaults,
    has_evaluators: bool,
) -> (String, Vec<Message>, Vec<Message>) {
    let order = |old: &[&'static str], new: &[&'static str]| -> Vec<&'static str> {
        if reader.is_v2() { [old, new].concat() } else { [new, old].concat() }
    };
    let criteria = first(fields, &order(&["expected_outcome", "outcome"], &["criteria"]));
    let input = first(fields, &order(&["input_messages"], &["input"]));
    let files = first(fields, &["input_files"]);
    let expected = first(fields, &order(&["expected_messages"], &["expected_output"]));
    if input.is_none() && files.is_none() && defaults.input.is_empty() {
        fields.missing("input");
    }
    let is_blank = |field: &Field<'_>| field.node.as_str().is_some_and(|it| it.trim().is_empty());
    let has_criteria = criteria.as_ref().is_some_and(|field| !is_blank(field));
    let input = message::input(reader, input.as_ref(), files.as_ref()).into_iter().flatten();
    let read = expected.as_ref().map(|field| message::expected(reader, field));
    let has_expected = read.as_ref().is_some_and(|it| it.as_ref().is_none_or(|it| !it.is_empty()));
    if reader.is_v2() && !has_criteria {
        fields.missing("expected_outcome");
    } else if !has_criteria && !has_expected && !has_evaluators {
        fields
            .missing("criteria")
            .hint("a test needs `criteria`, `expected_output` or `assertions`");
    }
    let criteria = criteria.and_then(|field| any_text(&field)).unwrap_or_default();
    let input = defaults.input.iter().cloned().chain(input).collect();
    (criteria, input, read.flatten().unwrap_or_default())
}
