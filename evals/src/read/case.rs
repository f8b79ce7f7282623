//! A test.

use evaluator_document::{Field, Fields, Node, NodeKind};
use evaluator_metrics::judge::scheme::{Item, Scheme};

use super::{
    Reader, judge,
    list::{self, Place},
    message,
    values::{any_text, first, flag, fraction, whole},
};
use crate::{
    files::Opened,
    model::{Check, Evaluator, Gate, Judge, Message, Position, Test},
    references,
};

/// What the suite gives to its tests.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    /// Evaluators of the suite.
    pub(super) evaluators: Option<Vec<Evaluator>>,
    /// Messages in front of those of each test.
    pub(super) input: Vec<Message>,
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
    out_of_scope(&mut fields);
    let id = id(reader, &mut fields, opened, name);
    let execution =
        fields.take("execution").map(|field| Execution::read(&field, false)).unwrap_or_default();
    let own = own_list(reader, &mut fields, execution.list, opened);
    let rubrics = fields.take("rubrics").map(|list| judge::rubrics_of(&list));
    let (criteria, input, expected) = texts(reader, &mut fields, defaults);
    let metadata = fields.take("metadata").and_then(|field| judge::metadata(&field));
    for key in ["vars", "conversation_id", "dataset", "description", "tags", "note"] {
        fields.take(key);
    }
    let has_something = own.is_some() || rubrics.is_some() || defaults.evaluators.is_some();
    required(reader, &fields, &criteria, &expected, has_something);
    fields.finish();
    let position = opened.position(&node);
    let suite = defaults.evaluators.as_ref().filter(|_| !execution.skips_defaults);
    let evaluators = evaluators(reader, own, rubrics, suite, &position)?;
    Some(Test {
        id: id?,
        position,
        input: input?,
        expected: expected?,
        criteria: criteria?.unwrap_or_default(),
        evaluators,
        threshold: execution.threshold,
        target: execution.target,
        metadata,
    })
}

fn substitute(reader: &Reader<'_>, node: &mut Node) {
    let NodeKind::Mapping(entries) = &mut node.kind else { return };
    let vars = entries.iter().find(|(key, _)| key.as_str() == Some("vars"));
    let Some(vars) = vars.and_then(|(_, vars)| vars.to_json().ok()) else { return };
    if reader.is_v2() {
        return;
    }
    for (key, value) in entries {
        if key.as_str().is_some_and(|key| WITH_VARIABLES.contains(&key)) {
            references::variables(value, &vars);
        }
    }
}

/// Refuses keys that need a running agent.
fn out_of_scope(fields: &mut Fields<'_>) {
    for (key, what) in [
        ("workspace", "workspaces are not supported"),
        ("targets", "several targets per test are not supported"),
        ("depends_on", "tests that depend on each other are not supported"),
        ("mode", "conversation mode is not supported"),
        ("turns", "conversation mode is not supported"),
        ("preprocessors", "preprocessors are not supported"),
    ] {
        fields.refuse(
            key,
            format!("`{key}`: {what}"),
            "run this test with AgentV, and grade its recorded output here",
        );
    }
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
    let position = match node {
        Some(node) => opened.position(node),
        None => Position { file: opened.file.to_owned(), line: 1, column: 1 },
    };
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

/// Keys of `execution` of a test or of the suite.
#[derive(Default)]
pub(super) struct Execution<'n> {
    pub(super) threshold: Option<f64>,
    pub(super) target: Option<String>,
    pub(super) list: Option<Field<'n>>,
    skips_defaults: bool,
}

impl<'n> Execution<'n> {
    pub(super) fn read(field: &Field<'n>, is_suite: bool) -> Self {
        let Some(mut fields) = field.fields("this `execution`") else { return Self::default() };
        fields.null_is_absent();
        let list = first(&mut fields, &LISTS);
        let threshold = fields.take("threshold").and_then(|field| fraction(&field));
        let skips = first(&mut fields, &["skip_defaults", "skipDefaults"]);
        let skips_defaults = skips.and_then(|field| flag(&field)).unwrap_or_default();
        let target = fields.take("target").and_then(|field| field.sentence());
        let message = "several targets are not supported";
        fields.refuse("targets", message, "name one with `target` or --target");
        if is_suite {
            for key in ["trials", "budget_usd", "total_budget_usd"] {
                fields.refuse(key, format!("`{key}` is not supported"), "remove it");
            }
            fields.take("workers").and_then(|field| whole(&field, 1..=1000));
            if let Some(field) = skips.filter(|_| skips_defaults) {
                let message = format!("`{}` has no effect outside of a test", field.key);
                field.problems.warn(field.node.span, message);
            }
        }
        fields.finish();
        Self { threshold, skips_defaults, target, list }
    }
}

/// Reads the list of evaluators of a test. The outer `None`: there is none; the inner one: after a problem.
#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn own_list(
    reader: &Reader<'_>,
    fields: &mut Fields<'_>,
    inner: Option<Field<'_>>,
    opened: Opened<'_>,
) -> Option<Option<Vec<Evaluator>>> {
    let [assertions, assert, evaluators] = LISTS.map(|key| fields.take(key));
    // The order of AgentV 4; in AgentV 2 the list of `execution` is the first as well.
    let mut lists = [assertions, assert, inner, evaluators].into_iter().flatten();
    let list = lists.next()?;
    for hidden in lists {
        let message = format!("these `{}` have no effect next to `{}`", hidden.key, list.key);
        hidden.problems.warn(hidden.node.span.start(), message);
    }
    let is_old_key = list.key == "evaluators";
    Some(list::read(reader, &list, Place { is_old_key, ..Place::new(opened) }))
}

type Texts = (Option<Option<String>>, Option<Vec<Message>>, Option<Vec<Message>>);

/// Reads criteria, input and gold answer. Of several keys the one of the generation counts.
fn texts(reader: &Reader<'_>, fields: &mut Fields<'_>, defaults: &Defaults) -> Texts {
    let order = |old: &[&'static str], new: &[&'static str]| -> Vec<&'static str> {
        if reader.is_v2() { [old, new].concat() } else { [new, old].concat() }
    };
    let criteria = first(fields, &order(&["expected_outcome", "outcome"], &["criteria"]));
    let criteria = criteria.map_or(Some(None), |field| any_text(&field).map(Some));
    let input = first(fields, &order(&["input_messages"], &["input"]));
    let files = first(fields, &["input_files"]);
    if input.is_none() && files.is_none() && defaults.input.is_empty() {
        fields.missing("input");
    }
    let input = message::input(reader, input.as_ref(), files.as_ref())
        .map(|input| defaults.input.iter().cloned().chain(input).collect());
    let expected = first(fields, &order(&["expected_messages"], &["expected_output"]));
    let expected = expected.map_or(Some(Vec::new()), |field| message::expected(reader, &field));
    (criteria, input, expected)
}

/// Checks that there is something to grade.
fn required(
    reader: &Reader<'_>,
    fields: &Fields<'_>,
    criteria: &Option<Option<String>>,
    expected: &Option<Vec<Message>>,
    has_evaluators: bool,
) {
    let Some(criteria) = criteria else { return };
    let has_criteria = criteria.as_ref().is_some_and(|text| !text.trim().is_empty());
    if reader.is_v2() {
        if !has_criteria {
            fields.missing("expected_outcome");
        }
        return;
    }
    let has_expected = expected.as_ref().is_none_or(|expected| !expected.is_empty());
    if !has_criteria && !has_expected && !has_evaluators {
        fields
            .missing("criteria")
            .hint("a test needs `criteria`, `expected_output` or `assertions`");
    }
}

/// Puts the evaluators of a test together. Without any, a model judges with the default prompt.
#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn evaluators(
    reader: &Reader<'_>,
    own: Option<Option<Vec<Evaluator>>>,
    rubrics: Option<Option<Vec<Item>>>,
    suite: Option<&Vec<Evaluator>>,
    position: &Position,
) -> Option<Vec<Evaluator>> {
    let judge = |name: &str, kind: &str, scheme| Evaluator {
        name: name.to_owned(),
        kind: kind.to_owned(),
        position: position.clone(),
        weight: 1.0,
        gate: Gate::Open,
        negate: false,
        check: Check::Judge(Judge::new(scheme)),
    };
    let own = own.map_or(Some(None), |own| own.map(Some))?;
    // In AgentV 2 a list of the test replaces that of the suite.
    let suite = suite.filter(|_| own.is_none() || !reader.is_v2());
    let mut evaluators = Vec::new();
    if let Some(rubrics) = rubrics {
        let name = if reader.is_v2() { "rubric" } else { "rubrics" };
        evaluators.push(judge(name, "rubrics", Scheme::Rubrics(rubrics?)));
    }
    evaluators.extend(own.into_iter().flatten());
    evaluators.extend(suite.into_iter().flatten().cloned());
    if evaluators.is_empty() {
        evaluators.push(judge("llm-grader", "llm-grader", Judge::NUMBER));
    }
    Some(evaluators)
}
