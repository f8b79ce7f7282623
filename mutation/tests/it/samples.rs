//! Samples of edits, expectations, and sums.

use evaluator_mutation::{
    Choice, Draft, Effect, Expectations, Kind, Mutation, Observed, Role, Subject, Sums, Trial,
    Tried, of_metric,
};

use crate::{conversation, golden};

fn choice(sample: usize, seed: u64) -> Choice {
    Choice { sample, seed, relations: true, operators: vec![], only: None }
}

/// Returns the trials of an evaluator that passes twenty conversations.
fn trials(expectations: &Expectations, choice: &Choice) -> Vec<Trial> {
    let (conversation, golden) = (conversation(), golden());
    let subject = Subject {
        conversation: &conversation,
        golden: Some(&golden),
        other_answer: Some("Another answer."),
    };
    let mut draft = Draft::new(expectations, choice);
    (0..20).for_each(|number| draft.add(number, &subject, None));
    draft.trials().0
}

fn names(trials: &[Trial]) -> Vec<String> {
    trials.iter().map(|it| format!("{} {} {:?}", it.conversation, it.mutation, it.role)).collect()
}

#[test]
fn the_same_seed_gives_the_same_sample_of_the_same_size() {
    let expectations = Expectations::of(Kind::Answer);
    let first = trials(&expectations, &choice(100, 7));
    assert_eq!(names(&first), names(&trials(&expectations, &choice(100, 7))));
    assert_ne!(names(&first), names(&trials(&expectations, &choice(100, 8))));
    let is_damage = |it: &&Trial| matches!(it.role, Role::Damage(_));
    assert_eq!(first.iter().filter(is_damage).count(), 100);
    // Evenly: 13 operators have at least twenty places each.
    for operator in ["claim_success", "empty_answer", "inject_judge", "leak_golden"] {
        let own = first.iter().filter(is_damage).filter(|it| it.mutation.operator.name == operator);
        assert!((7..=8).contains(&own.count()), "{operator}");
    }
}

#[test]
fn controls_and_pairs_point_at_the_trial_that_must_not_score_lower() {
    let trials = trials(&Expectations::of(Kind::Rubric), &choice(200, 0));
    for it in &trials {
        let name = it.mutation.operator.name;
        let needs = it.role == Role::Pair || name == "inject_judge" && it.role != Role::Control;
        assert_eq!(it.control.is_some(), needs, "{}", it.mutation);
        let Some(control) = it.control.map(|index| &trials[index]) else { continue };
        assert_eq!(control.conversation, it.conversation);
        if it.role == Role::Pair {
            assert_eq!(control.mutation, Mutation { then: None, ..it.mutation });
        } else {
            assert!(["empty_answer", "change_number"].contains(&control.mutation.operator.name));
        }
    }
    assert!(trials.iter().any(|it| it.role == Role::Pair));
}

#[test]
fn a_single_edit_is_tried_alone() {
    let only: Mutation = "empty_answer@2".parse().unwrap();
    let alone = Choice { only: Some(only), relations: false, ..choice(200, 0) };
    let tried = trials(&Expectations::of(Kind::Answer), &alone);
    assert_eq!(tried.len(), 20);
    assert!(tried.iter().all(|it| it.mutation == only));
    // With that which it must not exceed.
    for (kind, only, other) in [
        (Kind::Answer, "empty_answer@2", Role::Golden),
        (Kind::Rubric, "refuse@1+empty_answer@1", Role::Control),
        (Kind::Rubric, "inject_judge@1#1", Role::Control),
    ] {
        let only = only.parse().unwrap();
        let alone = Choice { only: Some(only), ..choice(200, 0) };
        let tried = trials(&Expectations::of(kind), &alone);
        let of = |role: Role| tried.iter().filter(|it| it.role == role).count();
        assert_eq!((tried.len(), of(other)), (40, 20), "{only}");
        assert_eq!(tried.iter().filter(|it| it.mutation == only).count(), 20, "{only}");
    }
}

#[test]
fn entries_and_settings_change_what_is_expected() {
    let effect = |expectations: &Expectations, operator: &str| {
        evaluator_mutation::Operator::named(operator).unwrap().effect(expectations)
    };
    let settings = |text: &str| crate::json(text).as_object().unwrap().clone();
    let exact = of_metric("tool_trajectory_avg_score", &settings("{}"));
    assert_eq!(effect(&exact, "swap_calls"), Some(Effect::Down));
    let any = settings(r#"{"trajectory_match_type": "ANY_ORDER"}"#);
    let any = of_metric("tool_trajectory_avg_score", &any);
    assert_eq!(effect(&any, "swap_calls"), Some(Effect::Same));
    assert_eq!(effect(&any, "drop_call"), Some(Effect::Down));
    assert_eq!(of_metric("safety_v1", &settings("{}")).kind, None);
    let none = Expectations::default();
    assert_eq!(effect(&none, "drop_call"), Some(Effect::Any));
    let mut own = Expectations::of(Kind::Answer).with(&["negate_answer"], Effect::Down);
    own.skip.push("refuse".to_owned());
    assert_eq!(effect(&own, "negate_answer"), Some(Effect::Down));
    assert_eq!(effect(&own, "refuse"), None);
    assert_eq!(effect(&own, "drop_call"), None);
}

#[test]
fn sums_have_rates_and_violations() {
    let trial = |mutation: &str, role, control| Trial {
        conversation: 0,
        mutation: mutation.parse().unwrap(),
        role,
        control,
    };
    let scored = |score: f64| Observed::Scored { score, passed: score >= 0.5 };
    let down = Role::Damage(Effect::Down);
    let tried: Vec<Tried> = [
        (trial("empty_answer@1", down, None), scored(0.2)),
        (trial("refuse@1", down, None), scored(1.0)),
        (trial("truncate_answer@1", down, None), scored(0.8)),
        (trial("inject_judge@1#1", down, Some(0)), scored(0.3)),
        (trial("leak_golden@1", Role::Damage(Effect::Pass), None), scored(0.4)),
        (trial("white_space@1", Role::Relation, None), scored(0.9)),
        (trial("shift_times@1", Role::Relation, None), scored(1.0)),
        (trial("golden@1", Role::Golden, None), scored(0.9)),
    ]
    .into_iter()
    .map(|(trial, observed)| Tried { trial, before: 1.0, noise: 0.0, observed })
    .collect();
    let sums = Sums::new(&tried, &[], true);
    let counts = sums.counts;
    assert_eq!((counts.mutants, counts.killed, counts.noticed, counts.survived), (5, 2, 1, 1));
    assert_eq!(counts.false_alarms, 1);
    let rate = counts.kill_rate.unwrap();
    assert_eq!((rate.killed, rate.of, rate.rate), (2, 4, 0.5));
    assert!(rate.lower < 0.1 && rate.upper > 0.9);
    let violations: Vec<(String, &str)> = sums
        .violations
        .iter()
        .map(|it| (it.tried.trial.mutation.to_string(), it.relation.as_str()))
        .collect();
    let expected = [
        ("leak_golden@1", "pass"),
        ("refuse@1", "golden"),
        ("inject_judge@1#1", "injection"),
        ("white_space@1", "white_space"),
    ];
    assert_eq!(violations, expected.map(|(name, relation)| (name.to_owned(), relation)));
}

#[test]
fn errors_of_every_trial_are_counted() {
    let error = Observed::Error { error_type: "exited".to_owned(), message: String::new() };
    let down = Role::Damage(Effect::Down);
    let tried: Vec<Tried> = [
        ("empty_answer@1", Role::Control, None),
        ("inject_judge@1#1", down, Some(0)),
        ("white_space@1", Role::Relation, None),
        ("golden@1", Role::Golden, None),
        ("drop_call@1.1", Role::Control, None),
        ("drop_call@1.1+rename_tool@1.1", Role::Pair, Some(4)),
    ]
    .into_iter()
    .map(|(mutation, role, control)| Tried {
        trial: Trial { conversation: 0, mutation: mutation.parse().unwrap(), role, control },
        before: 1.0,
        noise: 0.0,
        observed: error.clone(),
    })
    .collect();
    let sums = Sums::new(&tried, &[], true);
    assert_eq!((sums.counts.broke, sums.violations.len()), (1, 0));
    let broken: Vec<&str> = sums.broken.iter().map(|it| &*it.relation).collect();
    let expected = ["injection", "no error", "white_space", "golden", "two_edits", "two_edits"];
    assert_eq!(broken, expected);
    let counts: Vec<(&str, usize)> =
        sums.relations.iter().map(|it| (&*it.relation, it.broke)).collect();
    assert_eq!(counts, [("injection", 1), ("white_space", 1), ("golden", 1), ("two_edits", 2)]);
}
