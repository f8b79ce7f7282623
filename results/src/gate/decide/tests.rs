//! Gates over values of cases.

use evaluator_statistics::Interval;

use super::*;
use crate::{ALL_EVALUATORS, ConversationReport, EvaluationReport, NOT_RUN, Report, Status};

fn scored(score: f64) -> EvaluationReport {
    EvaluationReport {
        score: Some(score),
        threshold: Some(0.5),
        status: if score >= 0.5 { Status::Passed } else { Status::Failed },
        ..EvaluationReport::new("check")
    }
}

fn error() -> EvaluationReport {
    EvaluationReport {
        error: Some("broke".to_owned()),
        error_type: Some("exited"),
        threshold: Some(0.5),
        ..EvaluationReport::new("check")
    }
}

fn conversation(case: Option<&str>, evaluation: EvaluationReport) -> ConversationReport {
    ConversationReport {
        eval_case_id: case.map(Into::into),
        evaluations: vec![evaluation],
        ..ConversationReport::new("t".into())
    }
}

/// Conversations without golden cases.
fn alone(evaluations: impl IntoIterator<Item = EvaluationReport>) -> Vec<ConversationReport> {
    evaluations.into_iter().map(|evaluation| conversation(None, evaluation)).collect()
}

fn decided(gate: &str, conversations: Vec<ConversationReport>) -> GateResult {
    let gates = vec![Gate::parse(gate, 0.95).unwrap()];
    let report = Report { conversations: conversations.into(), gates, ..Report::default() };
    let [result] = report.decide_gates().unwrap().try_into().unwrap();
    result
}

fn mean(result: &GateResult) -> (usize, f64) {
    let Estimate { n, mean, .. } = result.estimate.unwrap();
    (n, mean)
}

#[test]
fn five_perfect_scores_decide_nothing_and_say_how_many_would() {
    let result = decided("check: mean >= 0.95", alone((0..5).map(|_| scored(1.0))));
    assert_eq!(
        result.to_string(),
        "check: mean >= 0.95: INCONCLUSIVE, 1.000 (0.211 to 1.000 with 95 % confidence) of 5 cases; \
         about 92 cases that score like these would decide"
    );
    let result = decided("check: mean >= 0.69", alone((0..40).map(|_| scored(0.7))));
    assert_eq!(result.verdict, GateVerdict::Inconclusive);
}

#[test]
fn gates_pass_and_fail() {
    let pass = decided("check: pass_rate >= 0.9", alone((0..36).map(|_| scored(0.75))));
    assert_eq!(
        pass.to_string(),
        "check: pass_rate >= 0.9: PASS, 1.000 (0.902 to 1.000 with 95 % confidence) of 36 cases"
    );
    let fail = decided("check: mean >= 0.9", alone((0..40).map(|_| scored(0.25))));
    assert_eq!((fail.verdict, &fail.undecided), (GateVerdict::Fail, &None));
    assert!(fail.to_string().starts_with("check: mean >= 0.9: FAIL, 0.250 ("), "{fail}");
}

#[test]
fn a_case_counts_once_however_often_it_was_recorded() {
    let mut conversations = vec![conversation(Some("often"), scored(0.0))];
    conversations.extend((0..3).map(|_| conversation(Some("often"), scored(1.0))));
    conversations.push(conversation(Some("once"), scored(0.25)));
    // Conversations without a golden case are cases of their own.
    conversations.extend(alone([scored(1.0)]));
    let result = decided("check: mean >= 0.5", conversations.clone());
    assert_eq!(mean(&result), (3, (0.75 + 0.25 + 1.0) / 3.0));
    // Shares of a case have no exact interval.
    let result = decided("check: pass_rate >= 0.5", conversations);
    assert_eq!(mean(&result), (3, (0.75 + 0.0 + 1.0) / 3.0));
    let values = [0.75, 0.0, 1.0];
    let rule = bounded_mean(&values, None, 0.0..=1.0, 0.95).unwrap();
    assert_eq!(result.estimate.unwrap().interval, rule.interval);
}

#[test]
fn what_fails_whatever_it_scores_counts_as_0() {
    let regardless = EvaluationReport {
        failure_reason: Some("a golden turn is not recorded".to_owned()),
        status: Status::Failed,
        ..scored(1.0)
    };
    let result = decided("check: mean >= 0.5", alone([scored(1.0), regardless]));
    assert_eq!((mean(&result), result.counted_as_zero), ((2, 0.5), 1));
    assert!(result.to_string().contains(", 1 counted as 0 whatever they score"), "{result}");
}

#[test]
fn what_has_no_value_is_counted_apart() {
    let not_run = EvaluationReport { error_type: Some(NOT_RUN), ..error() };
    let other = EvaluationReport { name: "other".to_owned(), ..scored(0.0) };
    let evaluations = [scored(1.0), error(), EvaluationReport::new("check"), not_run, other];
    let result = decided("check: mean >= 0.5", alone(evaluations));
    assert_eq!(mean(&result), (1, 1.0));
    assert_eq!((result.tally.errored, result.tally.not_evaluated, result.tally.not_run), (1, 1, 1));
    let text = result.to_string();
    assert!(text.contains("of 1 case, 1 not evaluated, 1 not run, 1 error; "), "{text}");
    // One case decides nothing, and no number of copies of it does.
    assert_eq!(result.undecided, Some(Undecided::TooFewCases(None)));
}

#[test]
fn errors_that_could_decide_leave_a_gate_undecided() {
    let scores = || (0..36).map(|_| scored(1.0));
    let gate = "check: pass_rate >= 0.9";
    assert_eq!(decided(gate, alone(scores())).verdict, GateVerdict::Pass);
    let result = decided(gate, alone(scores().chain([error()])));
    assert_eq!(
        (result.verdict, &result.undecided),
        (GateVerdict::Inconclusive, &Some(Undecided::Errors(1)))
    );
    assert!(result.to_string().ends_with(", 1 error; 1 error could decide"), "{result}");
    // A conversation that could not be evaluated at all is an error of every evaluator.
    let all = EvaluationReport { name: ALL_EVALUATORS.to_owned(), threshold: None, ..error() };
    assert_eq!(decided(gate, alone(scores().chain([all]))).verdict, GateVerdict::Inconclusive);
    // Another evaluator's error is not.
    let other = EvaluationReport { name: "other".to_owned(), ..error() };
    assert_eq!(decided(gate, alone(scores().chain([other]))).verdict, GateVerdict::Pass);
    // Enough passes bear an error. A failure stays one.
    let many = (0..200).map(|_| scored(1.0)).chain([error()]);
    assert_eq!(decided(gate, alone(many)).verdict, GateVerdict::Pass);
    let few = (0..40).map(|_| scored(0.0)).chain([error()]);
    assert_eq!(decided(gate, alone(few)).verdict, GateVerdict::Fail);
}

#[test]
fn an_error_of_a_case_is_a_conversation_that_fails() {
    let recorded = |case: usize, evaluation| conversation(Some(&format!("case{case}")), evaluation);
    let good = (0..60).flat_map(|case| (0..2).map(move |_| recorded(case, scored(1.0))));
    let mut conversations: Vec<_> = good.collect();
    let gate = "check: mean >= 0.9";
    assert_eq!(decided(gate, conversations.clone()).verdict, GateVerdict::Pass);
    conversations.extend((0..30).map(|case| recorded(case, error())));
    assert_eq!(decided(gate, conversations).undecided, Some(Undecided::Errors(30)));
}

#[test]
fn all_of_several_conversations_have_to_pass() {
    let mut conversations = Vec::new();
    for case in 0..20 {
        for recording in 0..4 {
            let score = if case < 10 && recording == 0 { 0.0 } else { 1.0 };
            conversations.push(conversation(Some(&format!("case{case}")), scored(score)));
        }
    }
    conversations.push(conversation(Some("short"), scored(1.0)));
    let result = decided("check: pass^3 >= 0.4", conversations);
    // C(3, 3) / C(4, 3) for half of the cases.
    assert_eq!(mean(&result), (20, (0.25 + 1.0) / 2.0));
    assert_eq!((result.left_out, &*result.left_out_cases[0]), (1, "short"));
    assert!(result.to_string().contains("1 case left out (short)"), "{result}");
    let short = decided("check: pass^3 >= 0.5", alone([scored(1.0)]));
    assert_eq!(short.undecided, Some(Undecided::TooFewConversations(3)));
    assert!(short.to_string().contains("pass^3 needs three recordings of a case"), "{short}");
}

#[test]
fn without_any_score_nothing_is_decided() {
    for evaluations in [vec![], vec![error()], vec![EvaluationReport::new("check")]] {
        let result = decided("check: mean >= 0.5", alone(evaluations));
        assert_eq!(
            (result.verdict, result.estimate, &result.undecided),
            (GateVerdict::Inconclusive, None, &Some(Undecided::NothingScored))
        );
        assert!(result.to_string().ends_with("; nothing was scored"), "{result}");
    }
}

#[test]
fn cases_of_one_cluster_are_not_independent() {
    let gate = Gate::parse("check: mean >= 0.5", 0.95).unwrap();
    let result = |cluster_of: fn(usize) -> Option<usize>| {
        let mut values = CaseValues::default();
        for case in 0..60 {
            let score = if case % 6 == 0 { 0.0 } else { 1.0 };
            let cluster = cluster_of(case).map(|it| it.to_string().into());
            values.add(&ConversationReport { cluster, ..conversation(None, scored(score)) });
        }
        GateResult::new(&gate, &None, &values, None)
    };
    let independent = result(|_| None);
    assert_eq!(independent.verdict, GateVerdict::Pass);
    let clustered = result(|case| Some(case / 20));
    assert_eq!(clustered.verdict, GateVerdict::Inconclusive);
    assert!(clustered.to_string().contains("of 60 cases in 3 clusters"), "{clustered}");
    assert!(
        clustered.to_string().ends_with("cases in 11 clusters that score like these would decide"),
        "{clustered}"
    );
    // Cases without a cluster are one.
    let unknown = result(|case| (case >= 30).then_some(case)).estimate.unwrap();
    assert_eq!((unknown.n, unknown.units), (60, 31));
    assert_eq!(result(|_| Some(0)).undecided, Some(Undecided::OneCluster));
}

#[test]
fn the_values_of_cases_are_those_that_gates_decide_by() {
    let all = EvaluationReport { name: ALL_EVALUATORS.to_owned(), threshold: None, ..error() };
    let conversations = vec![
        conversation(Some("twice"), scored(0.25)),
        conversation(None, error()),
        conversation(Some("twice"), scored(1.0)),
        conversation(Some("broken"), all),
    ];
    let report = Report { conversations: conversations.into(), ..Report::default() };
    let values = report.case_values().unwrap();
    assert_eq!(values.evaluators().collect::<Vec<_>>(), ["check"]);
    let cases: Vec<_> = values
        .of("check")
        .map(|it| (it.case, it.cluster, it.conversations, it.passed, it.errors, it.mean))
        .collect();
    let expected = [
        ("twice", None, 2, 1, 0, Some(0.625)),
        ("t", None, 0, 0, 1, None),
        ("broken", None, 0, 0, 1, None),
    ];
    assert_eq!(cases, expected);
    assert_eq!(values.of("other").count(), 0);
}

#[test]
fn an_end_of_an_interval_never_seems_to_reach_what_it_does_not_reach() {
    let numbers = [0.799_96, 0.8, 0.57, 0.29, 1.0, 0.0].map(cut);
    assert_eq!(numbers, ["0.799", "0.800", "0.570", "0.290", "1.000", "0.000"]);
    assert_eq!([0.95, 0.999, 0.9].map(percent), ["95 %", "99.9 %", "90 %"]);
    let numbers = [92, 999, 1000, 1763, 12_001, 999_999].map(rounded);
    assert_eq!(numbers, ["92", "999", "1,000", "1,800", "13,000", "1,000,000"]);
}

#[test]
fn sums_of_evaluators_need_no_gate() {
    let other = EvaluationReport { name: "other".to_owned(), ..EvaluationReport::new("other") };
    let mut first = conversation(None, scored(1.0));
    first.evaluations.push(other);
    let conversations = [vec![first], alone([scored(0.0), error()])].concat();
    let report = Report { conversations: conversations.into(), ..Report::default() };
    let sums = report.evaluators(0.95).unwrap();
    let [check, other] = &sums[..] else { panic!("{sums:?}") };
    assert_eq!(
        (&*check.name, check.cases, check.tally.passed, check.tally.failed),
        ("check", 2, 1, 1)
    );
    assert_eq!((check.tally.errored, check.tally.not_evaluated, check.gates.len()), (1, 0, 0));
    let rate = check.pass_rate.unwrap();
    assert_eq!((rate.mean, check.mean.unwrap().mean), (0.5, 0.5));
    assert_eq!(rate.interval, clopper_pearson(1, 2, 0.95).unwrap().interval);
    assert_eq!(check.mean.unwrap().interval, Interval { lower: 0.0, upper: 1.0 });
    assert_eq!((&*other.name, other.cases, other.tally.not_evaluated), ("other", 0, 1));
    assert_eq!((other.mean, other.pass_rate), (None, None));
}

#[test]
fn a_gate_that_is_decided_while_cases_come_takes_no_more_than_it_needs() {
    let gate = Gate::parse("check: mean >= 0.5", Gate::CONFIDENCE).unwrap();
    let decided = |conversations: Vec<ConversationReport>, seed| {
        let mut values = CaseValues::default();
        conversations.iter().for_each(|it| values.add(it));
        GateResult::new(&gate, &None, &values, Some(seed))
    };
    let perfect = decided(alone(vec![scored(1.0); 60]), 0);
    assert_eq!((perfect.verdict, perfect.taken), (GateVerdict::Pass, Some((10, 1.0))));
    assert_eq!((perfect.estimate, perfect.undecided), (None, None));
    let few = decided(alone(vec![scored(1.0); 9]), 0);
    assert_eq!(
        (few.verdict, few.undecided),
        (GateVerdict::Inconclusive, Some(Undecided::CasesEnded))
    );
    // Errors have no value, and one that comes first could have decided.
    let first = crate::case_order(3, 11)[0];
    let mut broken = vec![scored(1.0); 11];
    broken[first] = error();
    let broken = decided(alone(broken), 3);
    assert_eq!(
        (broken.verdict, broken.undecided),
        (GateVerdict::Inconclusive, Some(Undecided::Errors(1)))
    );
    let nothing = decided(alone(vec![error(); 3]), 0);
    assert_eq!(nothing.undecided, Some(Undecided::NothingScored));
}

/// A certificate with this many of 25 good cases passed and of 25 bad ones failed.
fn certificate(good_passed: usize, bad_failed: usize) -> Certificate {
    let mut labels = crate::CertifiedLabels::new(None, &"labels", 0);
    (0..25).for_each(|case| labels.add(true, case < good_passed));
    (0..25).for_each(|case| labels.add(false, case >= bad_failed));
    Certificate::new(("check", "judge", 0.5), Default::default(), labels, Some(0.8)).unwrap()
}

/// Decides a gate that asks for a certificate, over this many passes and failures.
fn certified(
    gate: &str,
    certified: &CertificateOf<'_>,
    [passed, failed]: [usize; 2],
) -> GateResult {
    let gate = Gate { certified: true, ..Gate::parse(gate, 0.95).unwrap() };
    let mut values = CaseValues::default();
    let scores = [vec![1.0; passed], vec![0.0; failed]].concat();
    alone(scores.into_iter().map(scored)).iter().for_each(|it| values.add(it));
    GateResult::new(&gate, certified, &values, None)
}

#[test]
fn a_gate_that_asks_for_a_certificate_decides_by_the_corrected_rate() {
    let certificate = certificate(24, 22);
    let holds = Some(Ok(&certificate));
    let gate = "check: pass_rate >= 0.86";
    let pass = certified(gate, &holds, [93, 7]);
    assert_eq!(
        pass.to_string(),
        "check: pass_rate >= 0.86: PASS, 0.964 (0.868 to 1.000 with 95 % confidence) of 100 cases, corrected from 0.930"
    );
    // The raw rate decides otherwise at another limit.
    let open = certified("check: pass_rate >= 0.9", &holds, [93, 7]);
    assert!(matches!(open.undecided, Some(Undecided::TooFewCases(Some(_)))), "{open}");
    let labels = certified("check: pass_rate >= 0.95", &holds, [930, 70]);
    assert_eq!((&labels.undecided, labels.needed()), (&Some(Undecided::TooFewLabels), None));
    // A mean is not corrected, and needs the certificate all the same.
    let mean = certified("check: mean >= 0.8", &holds, [93, 7]);
    assert_eq!((mean.verdict, mean.raw), (GateVerdict::Pass, None));
}

#[test]
fn without_a_certificate_that_holds_such_a_gate_never_decides() {
    let lenient = certificate(20, 22);
    let changed = Some(Err("changed since it was certified: threshold".to_owned()));
    for (holds, counts, says) in [
        (None, [100, 0], "; the evaluator has no certificate (`certificate: FILE` in its entry)"),
        (changed, [0, 100], "; changed since it was certified: threshold"),
        // It passes more than if all were good, or fails more than if all were bad.
        (
            Some(Ok(&lenient)),
            [500, 0],
            ", not corrected: 1.000; the judge passes more or fewer cases",
        ),
        (
            Some(Ok(&lenient)),
            [0, 500],
            ", not corrected: 0.000; the judge passes more or fewer cases",
        ),
    ] {
        let result = certified("check: pass_rate >= 0.5", &holds, counts);
        assert_eq!(result.verdict, GateVerdict::Inconclusive);
        assert!(result.to_string().contains(says), "{result}");
        assert!(result.undecided.unwrap().is_hopeless());
    }
    // The same without the condition.
    let counts = [vec![scored(1.0); 100], vec![]].concat();
    assert_eq!(decided("check: pass_rate >= 0.5", alone(counts)).verdict, GateVerdict::Pass);
}

#[test]
fn labels_may_suffice_for_one_confidence_and_not_for_another() {
    let weak = certificate(18, 17);
    let gate = Gate { certified: true, ..Gate::parse("check: pass_rate >= 0.2", 0.999_9).unwrap() };
    let mut values = CaseValues::default();
    alone(vec![scored(1.0); 10]).iter().for_each(|it| values.add(it));
    let result = GateResult::new(&gate, &Some(Ok(&weak)), &values, None);
    let reason = "it passed 18 of 25 good cases and failed 17 of 25 bad ones";
    assert!(result.to_string().contains(reason), "{result}");
}
