//! What the metric promises, whatever the calls.

use std::slice::from_ref;

use evaluator_json::{Value, object, parse_python, to_python};
use proptest::prelude::*;

use super::{
    compare::{Comparator, Comparators, Pattern, Tolerance},
    expectation::Expectation,
    settings::Order,
    *,
};
use crate::{
    testing::{self, not_evaluated, scored},
    turns::Call,
};
use evaluator_traces::{
    conversation::{ToolCall, Turn},
    eval_set::{EvalCase, ExpectedCall, ExpectedTurn, Unmatched},
};

/// A call as name and arguments.
type Plain = (String, Value);

fn plain(calls: &[(&str, &str)]) -> Vec<Plain> {
    calls.iter().map(|(name, args)| ((*name).to_owned(), parse_python(args).unwrap())).collect()
}

fn turn(calls: &[Plain]) -> Turn {
    let call = |(name, args): &Plain| ToolCall {
        name: name.clone(),
        arguments: args.clone(),
        ..ToolCall::default()
    };
    testing::turn(calls.iter().map(call).collect())
}

fn golden(calls: &[Plain]) -> ExpectedTurn {
    let call = |(name, args): &Plain| ExpectedCall {
        id: None,
        name: Some(name.clone()),
        args: args.clone(),
    };
    ExpectedTurn { tool_calls: calls.iter().map(call).collect(), ..ExpectedTurn::default() }
}

fn outcome(
    expected: &[Vec<Plain>],
    actual: &[Vec<Plain>],
    metric: &ToolTrajectoryAlignment,
) -> Outcome {
    let turns: Vec<Turn> = actual.iter().map(|calls| turn(calls)).collect();
    let turns_expected = expected.iter().map(|calls| golden(calls)).collect();
    let case = EvalCase { id: "c".to_owned(), turns: turns_expected, ..EvalCase::default() };
    metric.evaluate(&MetricInput::new(&turns, Ok(&case), 0.5))
}

fn answer(
    expected: &[Vec<Plain>],
    actual: &[Vec<Plain>],
    metric: ToolTrajectoryAlignment,
) -> Scored {
    scored(outcome(expected, actual, &metric))
}

/// The score of one turn.
fn score(expected: &[Plain], actual: &[Plain], metric: &ToolTrajectoryAlignment) -> f64 {
    scored(outcome(&[expected.to_vec()], &[actual.to_vec()], metric)).score
}

fn with_order(order: Order) -> ToolTrajectoryAlignment {
    ToolTrajectoryAlignment { order, ..ToolTrajectoryAlignment::default() }
}

fn diff(answer: &Scored) -> &str {
    answer.details.as_ref().unwrap()["diff"].as_str().unwrap()
}

#[test]
fn a_diff_shows_what_became_of_every_call() {
    let expected = plain(&[
        ("search", r#"{"to": "Bern"}"#),
        ("book", r#"{"train": 5, "seat": 12, "class": 1}"#),
        ("pay", "null"),
    ]);
    let actual = plain(&[
        ("search", r#"{"to": "Bern"}"#),
        ("cancel", r#"{"id": 7}"#),
        ("book", r#"{"seat": 13, "train": 5, "note": null}"#),
    ]);
    let found = answer(&[expected], &[actual], ToolTrajectoryAlignment::default());
    // 1 for the search; of booking the name and the train, out of name, train, seat, class and note; 3 calls.
    assert_eq!(found.score, (1.0 + 2.0 / 5.0) / 3.0);
    assert_eq!(
        diff(&found),
        "turn 1: 0.4667\n    search({\"to\": \"Bern\"})\n  + cancel({\"id\": 7})\n  ~ book\n      \
         seat: expected 12, got 13\n      class: expected 1, got nothing\n      note: expected nothing, got null\n  - pay({})\n"
    );
    let details = found.details.unwrap();
    assert_eq!(
        to_python(&details["turns"]),
        r#"[{"invocation_id": "s", "missing": [{"args": null, "name": "pay"}], "pairs": [{"actual": 0, "differences": [], "expected": 0, "name": "search", "similarity": 1.0}, {"actual": 2, "differences": [{"actual": 13, "argument": "seat", "compare": "exact", "expected": 12}, {"argument": "class", "compare": "exact", "expected": 1}, {"actual": null, "argument": "note", "compare": "exact"}], "expected": 1, "name": "book", "similarity": 0.4}], "score": 0.4666666666666666, "unexpected": [{"args": {"id": 7}, "name": "cancel"}]}]"#
    );
}

#[test]
fn settings_are_read() {
    let read = |yaml| testing::configured(yaml, ToolTrajectoryAlignment::read);
    assert!(read("{}").args.is_empty());
    let metric = read(
        "{order: unordered, args: {a: ignore, b: numeric, c: {compare: numeric, tolerance: 0.5}, \
         d: {compare: regex, pattern: 'x+'}, e: regex, '*': {compare: set}}, tools: {search: {q: subset}}}",
    );
    assert_eq!(metric.order, Order::Unordered);
    let numeric = |absolute| Comparator::Numeric(Tolerance { absolute, ..Tolerance::default() });
    let expected = [
        ("a", Comparator::Ignore),
        ("b", numeric(0.0)),
        ("c", numeric(0.5)),
        ("d", Comparator::Regex(Some(Pattern::new("x+").unwrap()))),
        ("e", Comparator::Regex(None)),
        ("*", Comparator::Set),
    ];
    let args: Vec<_> = metric.args.iter().map(|(key, it)| (key.as_str(), it.clone())).collect();
    assert_eq!(args, expected);
    assert_eq!(metric.comparator("search", "q"), &Comparator::Subset);
}

#[test]
fn order_counts_where_it_is_asked_for() {
    let expected = plain(&[("a", "{}"), ("b", "{}"), ("c", "{}")]);
    let actual = plain(&[("c", "{}"), ("a", "{}"), ("b", "{}")]);
    assert_eq!(score(&expected, &actual, &with_order(Order::Ordered)), 2.0 / 3.0);
    assert_eq!(score(&expected, &actual, &with_order(Order::Unordered)), 1.0);
}

#[test]
fn turns_without_a_counterpart_score_nothing() {
    let one = plain(&[("f", "{}")]);
    let found =
        answer(&[one.clone(), one.clone()], from_ref(&one), ToolTrajectoryAlignment::default());
    assert_eq!((found.score, found.per_turn.len()), (0.5, 1));
    assert_eq!(diff(&found), "turn 2: 0.0000 (there is no such turn)\n  - f({})\n");

    // Even if nothing was called in it.
    let found = answer(from_ref(&one), &[one.clone(), vec![]], ToolTrajectoryAlignment::default());
    assert_eq!(found.per_turn, [Some(1.0), Some(0.0)]);
    assert_eq!(diff(&found), "turn 2: 0.0000 (no such turn was expected)\n");
    let details = found.details.unwrap();
    assert_eq!(
        (to_python(&details["missing_turns"]), to_python(&details["unexpected_turns"])),
        ("0".to_owned(), "1".to_owned())
    );
}

#[test]
fn where_there_is_nothing_to_compare_nothing_is_evaluated() {
    let one = plain(&[("f", "{}")]);
    for (expected, actual) in [(vec![], vec![one.clone()]), (vec![one.clone()], vec![])] {
        not_evaluated(outcome(&expected, &actual, &ToolTrajectoryAlignment::default()));
    }
    let (turns, golden) = ([turn(&one)], Err(&Unmatched::NoEvalSet));
    let input = MetricInput::new(&turns, golden, 0.5);
    not_evaluated(ToolTrajectoryAlignment::default().evaluate(&input));
}

#[test]
fn expected_texts_may_be_patterns() {
    let settings = ToolTrajectoryAlignment {
        args: [("id".to_owned(), Comparator::Regex(None))].into(),
        ..ToolTrajectoryAlignment::default()
    };
    let expected = plain(&[("f", r#"{"id": "BK-[0-9]+", "n": 1}"#)]);
    assert_eq!(score(&expected, &plain(&[("f", r#"{"id": "BK-17", "n": 1}"#)]), &settings), 1.0);
    let wrong = [plain(&[("f", r#"{"id": "BK-x", "n": 1}"#)])];
    let found = answer(&[expected], &wrong, settings.clone());
    assert!(diff(&found).contains("id: expected \"BK-[0-9]+\", got \"BK-x\" (regex BK-[0-9]+)"));

    let broken = plain(&[("f", r#"{"id": "("}"#)]);
    let Outcome::Failed { reason } = outcome(&[vec![], broken], &wrong, &settings) else {
        panic!("a pattern that cannot be read is no low score")
    };
    let start =
        "tool_trajectory_alignment: turn 2: the expected `id` of `f` is not a regular expression: ";
    assert!(reason.starts_with(start), "{reason}");
}

#[test]
fn more_calls_than_can_be_compared_are_an_error() {
    for (order, too_many) in [(Order::Ordered, 1001), (Order::Unordered, 465)] {
        let many = vec![("f".to_owned(), Value::Null); too_many];
        let Outcome::Failed { reason } =
            outcome(from_ref(&many), from_ref(&many), &with_order(order))
        else {
            panic!("{order:?}")
        };
        let expected = format!("{too_many} expected and {too_many} actual calls are too many");
        assert!(reason.contains(&expected), "{reason}");
        assert_eq!(score(&many[..450], &many[..450], &with_order(order)), 1.0);
    }
}

#[test]
fn names_and_values_cannot_break_a_line() {
    let long = format!(r#"{{"x": "{}"}}"#, "a".repeat(500));
    let found = answer(&[plain(&[("f\n", &long)])], &[vec![]], ToolTrajectoryAlignment::default());
    let line = diff(&found).lines().nth(1).unwrap();
    assert!(line.starts_with(r#"  - f\n({"x": "aaa"#) && line.ends_with(" ...)"), "{line}");
    assert!(line.chars().count() < 230);
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (0..3_i64).prop_map(Value::Int),
        (-1.0..1.0_f64).prop_map(Value::Float),
        prop::sample::select(vec!["", "1", "a"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec((prop::sample::select(vec!["x", "y"]), inner), 0..3)
                .prop_map(object),
        ]
    })
}

fn calls() -> impl Strategy<Value = Vec<Plain>> {
    let args = prop_oneof![
        1 => Just(Value::Null),
        6 => prop::collection::vec((prop::sample::select(vec!["p", "q", "r"]), values()), 0..4)
            .prop_map(object),
    ];
    let name = prop::sample::select(vec!["f", "g"]).prop_map(str::to_owned);
    prop::collection::vec((name, args), 0..6)
}

/// Settings in which a value is always like itself: a text need not match itself as a pattern.
fn settings() -> impl Strategy<Value = ToolTrajectoryAlignment> {
    let comparator = prop::sample::select(vec![
        Comparator::Exact,
        Comparator::Ignore,
        Comparator::Subset,
        Comparator::Set,
        Comparator::Numeric(Tolerance { absolute: 0.5, relative: 0.0 }),
    ]);
    let comparators = prop::collection::vec(
        (prop::sample::select(vec!["p", "q", "*"]).prop_map(str::to_owned), comparator),
        0..3,
    )
    .prop_map(|list| list.into_iter().collect::<Comparators>());
    (prop::sample::select(vec![Order::Ordered, Order::Unordered]), comparators.clone(), comparators)
        .prop_map(|(order, args, of_f)| ToolTrajectoryAlignment {
            order,
            args,
            tools: [("f".to_owned(), of_f)].into(),
        })
}

/// The score, found by trying every way to pair up calls.
fn exhaustive(expected: &[Plain], actual: &[Plain], settings: &ToolTrajectoryAlignment) -> f64 {
    fn best(
        expected: &[Plain],
        actual: &[Option<&Plain>],
        settings: &ToolTrajectoryAlignment,
    ) -> f64 {
        let Some((first, rest)) = expected.split_first() else { return 0.0 };
        let mut found = best(rest, actual, settings);
        for (index, other) in actual.iter().enumerate() {
            let Some(other) = other else { continue };
            let mut left = actual.to_vec();
            left[index] = None;
            if settings.order == Order::Ordered {
                left[..index].fill(None);
            }
            found = found.max(similarity(first, other, settings) + best(rest, &left, settings));
        }
        found
    }
    let most = expected.len().max(actual.len());
    if most == 0 {
        return 1.0;
    }
    let actual: Vec<Option<&Plain>> = actual.iter().map(Some).collect();
    best(expected, &actual, settings) / most as f64
}

fn similarity(expected: &Plain, actual: &Plain, settings: &ToolTrajectoryAlignment) -> f64 {
    let call = |(name, args): &Plain| ExpectedCall {
        id: None,
        name: Some(name.clone()),
        args: args.clone(),
    };
    let (expected, actual) = (call(expected), call(actual));
    let expected = Call::expected(&expected);
    Expectation::new(&expected, settings).unwrap().similarity(&Call::expected(&actual))
}

proptest! {
    #[test]
    fn a_score_is_a_score(expected in calls(), actual in calls(), settings in settings()) {
        let score = score(&expected, &actual, &settings);
        prop_assert!((0.0..=1.0).contains(&score) && score.is_sign_positive(), "{score}");
    }

    #[test]
    fn the_same_calls_score_one(calls in calls(), settings in settings()) {
        prop_assert_eq!(score(&calls, &calls, &settings), 1.0);
    }

    #[test]
    fn nothing_scores_more_than_what_is_found(expected in calls(), actual in calls(), settings in settings()) {
        let found = score(&expected, &actual, &settings);
        let greatest = exhaustive(&expected, &actual, &settings);
        prop_assert!((found - greatest).abs() < 1e-12, "{} {}", found, greatest);
    }

    #[test]
    fn without_order_calls_may_be_shuffled(
        expected in calls(),
        (actual, shuffled) in calls().prop_flat_map(|all| (Just(all.clone()), Just(all).prop_shuffle())),
        settings in settings(),
    ) {
        let settings = ToolTrajectoryAlignment { order: Order::Unordered, ..settings };
        let difference = score(&expected, &actual, &settings) - score(&expected, &shuffled, &settings);
        prop_assert!(difference.abs() < 1e-12, "{}", difference);
    }

    #[test]
    fn order_never_helps(expected in calls(), actual in calls(), settings in settings()) {
        let of = |order| score(&expected, &actual, &ToolTrajectoryAlignment { order, ..settings.clone() });
        prop_assert!(of(Order::Ordered) <= of(Order::Unordered) + 1e-12);
    }

    #[test]
    fn an_unexpected_call_never_helps(
        expected in calls(),
        actual in calls(),
        at: prop::sample::Index,
        settings in settings(),
    ) {
        let before = score(&expected, &actual, &settings);
        let mut more = actual;
        more.insert(at.index(more.len() + 1), ("unheard_of".to_owned(), Value::Null));
        prop_assert!(score(&expected, &more, &settings) <= before + 1e-12);
    }

    #[test]
    fn every_call_is_accounted_for_once(expected in calls(), actual in calls(), settings in settings()) {
        let found = answer(from_ref(&expected), from_ref(&actual), settings);
        let details = found.details.unwrap();
        let turn = &details["turns"].as_array().unwrap()[0];
        let count = |key| turn.get(key).and_then(Value::as_array).unwrap().len();
        prop_assert_eq!(count("pairs") + count("missing"), expected.len());
        prop_assert_eq!(count("pairs") + count("unexpected"), actual.len());
        prop_assert_eq!(details["diff"].as_str() == Some(""), found.score == 1.0);
    }
}
