//! Tests of comparisons.

use super::*;
use crate::{ConversationReport, EvaluationReport, Report, Status, digest::Digester};

/// A run of one evaluator: its cases with their scores; `None` is an error.
fn run(cases: &[(&str, Option<f64>)]) -> Report {
    let conversation = |(case, score): &(&str, Option<f64>)| {
        let status = match score {
            Some(score) if *score >= 0.5 => Status::Passed,
            Some(_) => Status::Failed,
            None => Status::NotEvaluated,
        };
        let evaluation = EvaluationReport {
            score: *score,
            threshold: Some(0.5),
            status,
            error: score.is_none().then(|| "broke".to_owned()),
            error_type: score.is_none().then_some("exited"),
            ..EvaluationReport::new("check")
        };
        ConversationReport {
            eval_case_id: Some((*case).into()),
            evaluations: vec![evaluation],
            ..ConversationReport::new("t".into())
        }
    };
    let conversations: Vec<_> = cases.iter().map(conversation).collect();
    Report { conversations: conversations.into(), ..Report::default() }
}

fn compare(
    base: &[(&str, Option<f64>)],
    new: &[(&str, Option<f64>)],
    settings: &ComparisonSettings,
) -> EvaluatorComparison {
    Comparison::new(&run(base), &run(new), settings).unwrap().evaluators.remove(0)
}

const STRICT: ComparisonSettings = ComparisonSettings {
    confidence: 0.95,
    min_change: 0.01,
    seed: 0,
    no_worse_than: Some(0.05),
    no_regressions: true,
    allow_missing: false,
};

#[test]
fn each_case_is_compared_with_itself() {
    let base = [
        ("a", Some(1.0)),
        ("b", Some(0.0)),
        ("c", Some(0.9)),
        ("d", Some(0.6)),
        ("e", Some(0.7)),
        ("f", None),
        ("g", Some(1.0)),
        ("h", Some(0.8)),
    ];
    let new = [
        ("h", Some(0.805)),
        ("e", None),
        ("f", Some(1.0)),
        ("d", Some(0.9)),
        ("c", Some(0.6)),
        ("b", Some(1.0)),
        ("a", Some(0.4)),
        ("x", Some(1.0)),
    ];
    let found = compare(&base, &new, &ComparisonSettings::default());
    let changes: Vec<_> = found.changes.iter().map(|it| (&*it.case, it.change)).collect();
    assert_eq!(
        changes,
        [
            ("e", CaseChangeKind::Broke),
            ("f", CaseChangeKind::Mended),
            ("d", CaseChangeKind::Better),
            ("c", CaseChangeKind::Worse),
            ("b", CaseChangeKind::Fixed),
            ("a", CaseChangeKind::Regressed),
            ("x", CaseChangeKind::New),
            ("g", CaseChangeKind::Missing),
        ]
    );
    assert_eq!(found.unchanged, 1);
    // Only a, b, c, d and h have a score in both runs.
    let difference = found.difference.unwrap();
    assert_eq!(difference.n, 5);
    assert!((difference.mean - 0.405 / 5.0).abs() < 1e-12, "{difference:?}");
    assert!(found.claims.is_empty());
}

#[test]
fn a_case_that_is_lost_is_no_less_lost_because_another_one_was_won() {
    let base = [("a", Some(1.0)), ("b", Some(0.0)), ("c", Some(1.0))];
    let new = [("a", Some(0.0)), ("b", Some(1.0)), ("c", Some(1.0))];
    let found = compare(&base, &new, &STRICT);
    assert_eq!((found.base, found.new), (Some(2.0 / 3.0), Some(2.0 / 3.0)));
    assert_eq!(found.p, Some(1.0));
    let verdicts: Vec<_> = found.claims.iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Inconclusive, GateVerdict::Fail]);
}

#[test]
fn a_run_has_no_regressions_against_itself_and_few_cases_show_no_more() {
    let cases = [("a", Some(1.0)), ("b", Some(0.2))];
    let found = compare(&cases, &cases, &STRICT);
    let verdicts: Vec<_> = found.claims.iter().map(|it| it.verdict).collect();
    assert_eq!(verdicts, [GateVerdict::Inconclusive, GateVerdict::Pass]);
    let reason = &found.claims[0].reason;
    assert!(reason.contains("about 92 cases"), "{reason}");
    assert!(reason.ends_with("--no-regressions suits small suites"), "{reason}");
}

#[test]
fn what_is_missing_or_broke_decides_nothing_in_favour() {
    let base = [("a", Some(1.0)), ("b", Some(1.0))];
    let claim = |new: &[(&str, Option<f64>)], settings| {
        compare(&base, new, &settings).claims.pop().unwrap().verdict
    };
    let missing = [("a", Some(1.0))];
    assert_eq!(claim(&missing, STRICT), GateVerdict::Inconclusive);
    let allowed = ComparisonSettings { allow_missing: true, ..STRICT };
    assert_eq!(claim(&missing, allowed), GateVerdict::Pass);
    assert_eq!(claim(&[("a", Some(1.0)), ("b", None)], STRICT), GateVerdict::Inconclusive);
}

#[test]
fn a_case_whose_conversations_disagree_is_flaky() {
    let base = [("a", Some(1.0)), ("a", Some(1.0)), ("a", Some(0.0))];
    let new = [("a", Some(0.0)), ("a", Some(0.0)), ("a", Some(0.0))];
    let found = compare(&base, &new, &STRICT);
    assert_eq!(found.changes[0].change, CaseChangeKind::Flaky);
    assert_eq!(found.claims[1].verdict, GateVerdict::Inconclusive);
    // The first conversation that fails is no known failure, though most of them pass.
    let passed = [("a", Some(1.0)), ("a", Some(1.0)), ("a", Some(1.0))];
    let found = compare(&passed, &base, &STRICT);
    assert_eq!(found.changes[0].change, CaseChangeKind::Flaky);
    assert_eq!(found.claims[1].verdict, GateVerdict::Inconclusive);
    let found = compare(&base, &base, &STRICT);
    assert!(found.changes.is_empty());
    assert_eq!(found.claims[1].verdict, GateVerdict::Pass);
    // One that improves is not in the way of anything.
    let found = compare(&new, &base, &STRICT);
    assert_eq!(found.changes[0].change, CaseChangeKind::Fixed);
    assert_eq!(found.claims[1].verdict, GateVerdict::Pass);
}

#[test]
fn runs_without_a_common_case_are_refused() {
    let (base, new) = (run(&[("a", Some(1.0))]), run(&[("b", Some(1.0))]));
    let refused =
        |base, new, settings| Comparison::new(base, new, &settings).unwrap_err().to_string();
    assert!(refused(&base, &new, STRICT).contains("known by its trace id"));
    let margin = ComparisonSettings { no_worse_than: Some(1.0), ..STRICT };
    assert!(refused(&base, &base, margin).contains("below 1"));
}

#[test]
fn cases_that_broke_make_no_mean_good_enough() {
    let case = |number: usize| (number.to_string(), Some(1.0));
    let base: Vec<(String, Option<f64>)> = (0..200).map(case).collect();
    let mut new = base.clone();
    new[7].1 = None;
    fn named(cases: &[(String, Option<f64>)]) -> Vec<(&str, Option<f64>)> {
        cases.iter().map(|(case, score)| (&**case, *score)).collect()
    }
    let same = compare(&named(&base), &named(&base), &STRICT);
    assert_eq!(same.claims[0].verdict, GateVerdict::Pass);
    let broke = compare(&named(&base), &named(&new), &STRICT);
    assert_eq!(broke.claims[0].verdict, GateVerdict::Inconclusive);
    assert!(broke.claims[0].reason.starts_with("1 case broke; "), "{}", broke.claims[0].reason);
}

#[test]
fn p_values_are_adjusted_for_the_number_of_evaluators() {
    let report = |score: f64| {
        let evaluation = |name: &str| EvaluationReport {
            score: Some(score),
            threshold: Some(0.5),
            status: if score < 0.5 { Status::Failed } else { Status::Passed },
            ..EvaluationReport::new(name)
        };
        let conversation = |case: usize| ConversationReport {
            eval_case_id: Some(case.to_string().into()),
            evaluations: vec![evaluation("one"), evaluation("two")],
            ..ConversationReport::new("t".into())
        };
        let conversations: Vec<_> = (0..6).map(conversation).collect();
        Report { conversations: conversations.into(), ..Report::default() }
    };
    let found =
        Comparison::new(&report(0.0), &report(1.0), &ComparisonSettings::default()).unwrap();
    // 2 / 2^6, twice.
    for evaluator in &found.evaluators {
        let p = evaluator.p.unwrap();
        assert!((p - 0.0625).abs() < 1e-12, "{p}");
    }
    assert_eq!(found.verdict(), GateVerdict::Pass);
}
#[test]
fn a_slice_counts_cases_that_broke_and_leaves_them_out_of_its_means() {
    let base = run(&[("a", Some(1.0)), ("b", Some(1.0)), ("gone", Some(0.0))]);
    let mut new = run(&[("a", None), ("b", Some(0.75)), ("new", Some(0.0))]);
    new.by = vec!["model".to_owned()];
    let compared = Comparison::new(&base, &new, &ComparisonSettings::default()).unwrap();
    let slice = &compared.slices[0].slices[0];
    assert_eq!((&slice.value, slice.conversations), (&None, 3));
    let found = &slice.evaluators[0];
    assert_eq!((found.base, found.new), (Some(1.0), Some(0.75)));
    assert_eq!((found.regressed, found.broke, found.fixed), (0, 1, 0));
    assert!(found.too_few_cases);
}

#[test]
fn values_and_recordings_do_not_depend_on_the_order_in_which_conversations_finish() {
    let digest = |number: usize| Digester::new("x").json("x", &number).finish();
    let conversation = |number: usize| {
        let score = (number % 7) as f64 / 7.0 + 0.1;
        let mut evaluation = EvaluationReport::new("check");
        (evaluation.score, evaluation.status) = (Some(score), Status::Passed);
        if number.is_multiple_of(11) {
            evaluation.error = Some("broke".to_owned());
        }
        let mut repeats =
            [score, 0.3].map(|it| EvaluationReport { score: Some(it), ..evaluation.clone() });
        repeats[1].status = Status::Failed;
        let repeated = EvaluationReport::combine(repeats.to_vec());
        ConversationReport {
            case: Some(format!("case {}", number / 3).into()),
            cluster: number.is_multiple_of(2).then(|| "even".into()),
            content: Some(digest(number)),
            evaluations: vec![
                evaluation,
                EvaluationReport { name: "again".to_owned(), ..repeated },
            ],
            ..ConversationReport::new(format!("{number}").into())
        }
    };
    // More than may wait for the first one.
    let all: Vec<_> = (0..1500).map(conversation).collect();
    let of = |order: &[usize]| {
        let mut collector = crate::Collector::new(0, all.len());
        order.iter().for_each(|number| collector.put(*number, &all[*number]).unwrap());
        Report { conversations: collector.finish(), ..Report::default() }
    };
    let in_order: Vec<usize> = (0..all.len()).collect();
    let by_fours: Vec<usize> = in_order.chunks(4).flat_map(|it| it.iter().rev().copied()).collect();
    let reversed: Vec<usize> = in_order.iter().rev().copied().collect();
    let expected = of(&in_order);
    let values = expected.case_values().unwrap();
    assert!(values.of("again").any(|it| it.repeats.is_some() && it.errors > 0));
    for order in [by_fours, reversed] {
        let found = of(&order);
        let found = found.case_values().unwrap();
        for evaluator in ["check", "again"] {
            assert!(found.of(evaluator).eq(values.of(evaluator)), "{evaluator}");
        }
        assert!(found.cases.have_same_recordings(&values.cases));
    }
    let mut other = all.clone();
    other[7].content = Some(digest(7000));
    let other = Report { conversations: other.into(), ..Report::default() };
    assert!(!values.cases.have_same_recordings(&other.case_values().unwrap().cases));
}
