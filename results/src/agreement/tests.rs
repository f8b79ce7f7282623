//! Evaluators against labels of several people, and against each other.

use std::{fs, sync::Arc};

use evaluator_statistics::{Confusion, GateVerdict};

use super::*;
use crate::{
    ALL_EVALUATORS, ConversationReport, EvaluationReport, Labels, Meanings, Report, Status,
    read_labels,
};

/// A conversation `c{number}` with these evaluators and scores; `None` is an error.
fn conversation(number: usize, scores: &[(&str, Option<f64>)]) -> ConversationReport {
    let evaluation = |(name, score): &(&str, Option<f64>)| EvaluationReport {
        score: *score,
        threshold: Some(0.5),
        status: match score {
            Some(score) if *score >= 0.5 => Status::Passed,
            Some(_) => Status::Failed,
            None => Status::NotEvaluated,
        },
        error: score.is_none().then(|| "broke".to_owned()),
        ..EvaluationReport::new(*name)
    };
    ConversationReport {
        case: Some(format!("c{number}").into()),
        prompt: Some("hello".into()),
        evaluations: scores.iter().map(evaluation).collect(),
        ..ConversationReport::new(format!("t{number}").into())
    }
}

fn run(conversations: Vec<ConversationReport>) -> Report {
    Report { conversations: conversations.into(), ..Report::default() }
}

/// A run of one evaluator with these scores.
fn judged(scores: &[Option<f64>]) -> Report {
    let all = scores.iter().enumerate();
    run(all.map(|(number, score)| conversation(number, &[("judge", *score)])).collect())
}

fn labels(text: &str) -> Labels {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("l.csv");
    fs::write(&path, text).unwrap();
    let mut labels = read_labels(&[path], &Meanings::default()).unwrap();
    labels
        .labels
        .iter_mut()
        .for_each(|label| label.place.file = Arc::from(std::path::Path::new("l.csv")));
    labels
}

fn agreement(report: &Report, text: &str) -> Result<Agreement, String> {
    agreement_with(report, text, &AgreementSettings::default())
}

fn agreement_with(
    report: &Report,
    text: &str,
    settings: &AgreementSettings,
) -> Result<Agreement, String> {
    Agreement::new(report, Some(&labels(text)), settings).map_err(|error| error.to_string())
}

#[test]
fn errors_are_no_disagreement_and_disagreements_are_worst_first() {
    let mut scores = [Some(0.9), Some(0.6), Some(0.1), Some(0.4), None, Some(1.0)].to_vec();
    scores.push(Some(0.2));
    let report = judged(&scores);
    let text = "case,label,comment\nc0,fail,wrong day\nc1,fail,\nc2,pass,\nc3,pass,\nc4,fail,\nc5,pass,\nx,pass,\n";
    let found = agreement(&report, text).unwrap();
    let counts = found.labels.as_ref().unwrap();
    assert_eq!((counts.labels, counts.unmatched), (7, 1));
    let unmatched = &counts.unmatched_labels[0];
    assert_eq!((&*unmatched.place, &*unmatched.name), ("l.csv:8", "x"));
    let judge = &found.evaluators[0];
    assert_eq!((judge.compared, judge.errors, judge.without_reference), (5, 1, 1));
    let expected =
        Confusion { true_positives: 1, false_positives: 2, false_negatives: 2, true_negatives: 0 };
    assert_eq!(judge.confusion, Some(expected));
    let worst: Vec<&str> = judge.disagreements.iter().map(|it| &*it.case).collect();
    assert_eq!(worst, ["c0", "c1", "c2", "c3"]);
    assert_eq!(judge.disagreements[0].comments[0].comment.as_deref(), Some("wrong day"));
    assert_eq!(judge.disagreements[0].prompt.as_deref(), Some("hello"));
    assert_eq!(judge.pairs.len(), 5);
}

#[test]
fn several_people_decide_by_majority_and_ties_are_left_out() {
    let report = judged(&[Some(1.0), Some(1.0), Some(0.0), Some(0.0)]);
    let text = "case,label,rater\nc0,pass,a\nc0,pass,b\nc0,fail,c\nc1,pass,a\nc1,fail,b\nc2,fail,a\nc2,fail,b\nc3,pass,a\n";
    let judge = agreement(&report, text).unwrap().evaluators.remove(0);
    assert_eq!((judge.compared, judge.ties), (3, 1));
    let raters = judge.raters.unwrap();
    assert_eq!((raters.raters, raters.labels, raters.shared), (3, 8, 3));
    // Seven labels of three conversations, three passes and four failures; two pairs of `c0` and that of `c1` differ.
    let (observed, expected) = ((2.0 * 2.0 / 2.0 + 2.0) / 7.0, 2.0 * 4.0 * 3.0 / (7.0 * 6.0));
    assert!((raters.alpha.unwrap() - (1.0 - observed / expected)).abs() < 1e-12);
    // Of the seven labels, five say what the evaluator says; three are passes, of five of its verdicts.
    let (same, by_chance) = (5.0 / 7.0, (3.0 * 5.0 + 4.0 * 2.0) / 49.0);
    let expected = (same - by_chance) / (1.0 - by_chance);
    assert!((raters.evaluator.unwrap() - expected).abs() < 1e-12);
    let expected =
        Confusion { true_positives: 1, false_positives: 0, false_negatives: 1, true_negatives: 1 };
    assert_eq!(judge.confusion, Some(expected));
}

#[test]
fn labels_about_an_evaluator_count_for_it_alone() {
    let scores = [("judge", Some(1.0)), ("other", Some(0.0))];
    let report = run(vec![conversation(0, &scores), conversation(1, &scores)]);
    let text = "case,label,evaluator\nc0,pass,\nc0,fail,other\nc1,pass,judge\nc1,pass,quality\n";
    let found = agreement(&report, text).unwrap();
    let compared: Vec<(&str, u64, usize)> = found
        .evaluators
        .iter()
        .map(|it| (&*it.name, it.compared, it.disagreements.len()))
        .collect();
    assert_eq!(compared, [("judge", 2, 0), ("other", 1, 0)]);
    let counts = found.labels.unwrap();
    assert_eq!((counts.about_others, &counts.others[..]), (1, &["quality".to_owned()][..]));
    let about = AgreementSettings { about: Some("quality".to_owned()), ..Default::default() };
    let found = agreement_with(&report, text, &about).unwrap();
    let compared: Vec<u64> = found.evaluators.iter().map(|it| it.compared).collect();
    assert_eq!(compared, [1, 1]);
    let error = agreement(&report, "case,label,evaluator\nc0,pass,quality\n").unwrap_err();
    assert!(
        error.starts_with("labels are about quality, which is not compared; --about"),
        "{error}"
    );
}

#[test]
fn grades_have_correlations_and_classes_only_from_a_grade_on() {
    let report = judged(&[Some(0.0), Some(0.25), Some(0.75), Some(1.0), Some(0.5)]);
    let text = "case,label\nc0,0\nc1,0.25\nc2,1\nc3,1\nc4,0.5\n";
    let judge = agreement(&report, text).unwrap().evaluators.remove(0);
    assert!(judge.graded && judge.confusion.is_none() && judge.kappa.is_none());
    assert!(judge.correlation.unwrap().spearman.unwrap() > 0.9);
    // A score of 0.75 is not a grade.
    assert_eq!(judge.weighted_kappa, None);
    let same = judged(&[Some(0.0), Some(0.25), Some(1.0), Some(1.0), Some(0.5)]);
    let from = AgreementSettings { pass_from: Some(0.5), ..Default::default() };
    let judge = agreement_with(&same, text, &from).unwrap().evaluators.remove(0);
    assert_eq!(judge.weighted_kappa.unwrap().value, 1.0);
    assert_eq!(judge.confusion.unwrap().true_positives, 3);
    assert_eq!(judge.best_threshold.unwrap().threshold, 0.5);
    let min = AgreementSettings { min_kappa: Some(0.5), ..Default::default() };
    let error = agreement_with(&same, text, &min).unwrap_err();
    assert!(error.starts_with("l.csv:2: labels are grades, and --min-kappa needs"), "{error}");
    let error = agreement(&report, "case,label\nc0,3\nc1,pass\n").unwrap_err();
    assert!(
        error.starts_with("l.csv:3: `pass` is a class, and 3 at l.csv:2 is a grade"),
        "{error}"
    );
}

#[test]
fn contradictory_and_unclear_labels_are_refused_with_their_line() {
    let mut talks: Vec<ConversationReport> =
        (0..3).map(|number| conversation(number, &[("judge", Some(1.0))])).collect();
    talks[1].case = Some("c0".into());
    let report = run(talks);
    for (text, message) in [
        (
            "trace_id,label\nt0,pass\nt0,fail\n",
            "l.csv:3: `t0` is labelled twice; if two people labelled it, a column `rater` says who: the other label is l.csv:2",
        ),
        ("case,trace_id,label,rater\n,t2,pass,a\nc2,,pass,a\n", "l.csv:3: `a` labelled `c2` twice"),
        (
            "case,label\nc0,pass\n",
            "l.csv:2: case `c0` has 2 conversations in the run; say by `trace_id`",
        ),
        (
            "case,label\nx,pass\ny,fail\n",
            "no label matches a conversation of the run: labels name `x` (l.csv:2), `y` (l.csv:3), and cases of the run are `c0`, `c0`, `c2`",
        ),
    ] {
        let error = agreement(&report, text).unwrap_err();
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
    let unknown = AgreementSettings { evaluators: vec!["j".to_owned()], ..Default::default() };
    let error = agreement_with(&report, "case,label\nc2,pass\n", &unknown).unwrap_err();
    assert_eq!(error, "the run has no evaluator `j`; it has judge");
    let broken =
        EvaluationReport { error: Some("x".to_owned()), ..EvaluationReport::new(ALL_EVALUATORS) };
    let whole =
        ConversationReport { evaluations: vec![broken], ..ConversationReport::new("t9".into()) };
    let report = run(vec![whole, conversation(0, &[("judge", None)])]);
    let error = agreement(&report, "trace_id,label\nt9,pass\nt0,pass\n").unwrap_err();
    assert!(
        error.ends_with("no conversation has both a label and a verdict (2 errors)"),
        "{error}"
    );
}

#[test]
fn a_label_with_a_trace_id_is_about_no_other_conversation() {
    let report = judged(&[Some(1.0), Some(1.0)]);
    let text = "case,trace_id,label\nc0,gone,fail\nc1,t1,pass\nelsewhere,t0,pass\n";
    let found = agreement(&report, text).unwrap();
    let counts = found.labels.as_ref().unwrap();
    assert_eq!((counts.unmatched, &*counts.unmatched_labels[0].name), (1, "gone"));
    let judge = &found.evaluators[0];
    assert_eq!((judge.compared, judge.disagreements.len()), (2, 0));
    for case in ["c0", "t0"] {
        let error =
            agreement(&report, &format!("case,trace_id,label\n{case},t1,pass\n")).unwrap_err();
        let expected = format!(
            "l.csv:2: trace id `t1` is a conversation of `c1`, and case `{case}` is another one"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn kappa_is_decided_only_with_thirty_labels_of_each_class() {
    let verdict = |passes: usize, failures: usize, wrong: usize, limit: f64| {
        let scores: Vec<Option<f64>> = (0..passes + failures)
            .map(|number| Some(f64::from((number < passes) != (number < wrong))))
            .collect();
        let mut text = "case,label\n".to_owned();
        for number in 0..passes + failures {
            text += &format!("c{number},{}\n", if number < passes { "pass" } else { "fail" });
        }
        let min = AgreementSettings { min_kappa: Some(limit), ..Default::default() };
        let found = agreement_with(&judged(&scores), &text, &min).unwrap();
        (found.verdict(), found.evaluators[0].min_kappa.clone().unwrap().reason)
    };
    let (few, reason) = verdict(29, 100, 0, 0.1);
    assert_eq!(few, GateVerdict::Inconclusive);
    assert_eq!(reason, "29 labels are passes and 100 failures, and 30 of each are needed");
    assert_eq!(verdict(30, 30, 0, 0.9).0, GateVerdict::Pass);
    assert_eq!(verdict(40, 40, 20, 0.9).0, GateVerdict::Fail);
    assert_eq!(verdict(40, 40, 20, 0.5).0, GateVerdict::Inconclusive);
}

#[test]
fn evaluators_are_held_against_each_other_without_labels() {
    let both = |number, own, other| conversation(number, &[("judge", own), ("other", other)]);
    let report = run(vec![
        both(0, Some(1.0), Some(1.0)),
        both(1, Some(0.8), Some(0.0)),
        both(2, None, Some(0.0)),
        both(3, Some(1.0), None),
    ]);
    let settings = AgreementSettings { with: Some("other".to_owned()), ..Default::default() };
    let found = Agreement::new(&report, None, &settings).unwrap();
    let [judge] = &found.evaluators[..] else { panic!("{:?}", found.evaluators) };
    assert_eq!((judge.compared, judge.errors, judge.without_reference), (2, 1, 1));
    assert_eq!(judge.disagreements[0].comments[0].rater.as_deref(), Some("other"));
    let json = found.to_json().unwrap();
    assert!(json.get("labels").unwrap().is_null());
}

#[test]
fn kappa_is_shown_without_a_sign_of_zero_and_without_an_interval_that_is_none() {
    let kappa = |value, se| KappaEstimate { value, se, lower: value - se, upper: value + se };
    for (found, shown) in [
        (kappa(1.0, 0.0), "1.00"),
        (kappa(-0.004, 0.0), "0.00"),
        (kappa(-0.004, 0.001), "0.00 (-0.01 to 0.00)"),
        (kappa(-0.25, 0.5), "-0.25 (-0.75 to 0.25)"),
    ] {
        assert_eq!(found.to_string(), shown);
    }
}
