//! Rules that hold for any input, and refusals.

use evaluator_statistics::{
    Betting, GateKind, GateVerdict, LabelCounts, MOST_CASES, PowerOfMean, Random, Refusal, anova,
    beta_quantile, binomial_cdf, bounded_mean, clopper_pearson, gate_mean, gate_rate, holm,
    mcnemar, mean_clustered, mean_t, min_cases, noninferiority, normal_quantile, pass_at_k,
    signflip_exact, signflip_mc, student_quantile,
};
use proptest::prelude::*;

fn scores() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(prop_oneof![0.0..=1.0, Just(0.0), Just(1.0)], 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn intervals_contain_the_mean_and_stay_in_range(values in scores(), confidence in 0.5..0.99) {
        let estimate = bounded_mean(&values, None, 0.0..=1.0, confidence).unwrap();
        prop_assert!(0.0 <= estimate.interval.lower && estimate.interval.upper <= 1.0);
        prop_assert!(estimate.interval.lower <= estimate.mean + 1e-12);
        prop_assert!(estimate.mean <= estimate.interval.upper + 1e-12);
        let wider = bounded_mean(&values, None, 0.0..=1.0, confidence + 0.005).unwrap();
        prop_assert!(wider.interval.lower <= estimate.interval.lower);
        prop_assert!(wider.interval.upper >= estimate.interval.upper);
    }

    #[test]
    fn mirrored_scores_have_the_mirrored_interval(values in scores()) {
        let interval = bounded_mean(&values, None, 0.0..=1.0, 0.95).unwrap().interval;
        let mirrored: Vec<f64> = values.iter().map(|value| 1.0 - value).collect();
        let other = bounded_mean(&mirrored, None, 0.0..=1.0, 0.95).unwrap().interval;
        prop_assert!((interval.lower - (1.0 - other.upper)).abs() < 1e-9);
        prop_assert!((interval.upper - (1.0 - other.lower)).abs() < 1e-9);
    }

    #[test]
    fn a_cluster_for_each_value_is_the_same_as_none(values in scores()) {
        let names: Vec<String> = (0..values.len()).map(|number| number.to_string()).collect();
        let clusters: Vec<Option<&str>> = names.iter().map(|name| Some(&**name)).collect();
        prop_assert_eq!(
            gate_mean(&values, Some(&clusters), 0.7, 0.95),
            gate_mean(&values, None, 0.7, 0.95)
        );
    }

    #[test]
    fn as_many_cases_as_are_needed_decide(values in scores(), limit in 0.1..0.9) {
        let decision = gate_mean(&values, None, limit, 0.95).unwrap();
        if let Some(needed) = decision.needed {
            prop_assert!(needed > values.len() as u64);
            // Whole repetitions of the sample that are at least as many.
            if needed < 20_000 {
                let times = needed.div_ceil(values.len() as u64) as usize;
                let repeated = gate_mean(&values.repeat(times), None, limit, 0.95).unwrap();
                prop_assert_ne!(repeated.verdict, GateVerdict::Inconclusive);
            }
        }
    }

    #[test]
    fn the_least_number_of_cases_passes_and_one_less_does_not(limit in 0.05..0.97, rate: bool) {
        let kind = if rate { GateKind::Rate } else { GateKind::Mean };
        let n = min_cases(kind, limit, 0.95).unwrap().unwrap() as usize;
        let verdict = |n: usize| match kind {
            GateKind::Rate => gate_rate(n, n, limit, 0.95).unwrap().verdict,
            GateKind::Mean => gate_mean(&vec![1.0; n], None, limit, 0.95).unwrap().verdict,
        };
        prop_assert_eq!(verdict(n), GateVerdict::Pass);
        prop_assert_ne!(verdict(n - 1), GateVerdict::Pass);
    }

    #[test]
    fn one_failure_less_never_makes_a_gate_worse(k in 0..40_usize, limit in 0.1..0.9) {
        let lower = |k| gate_rate(k, 40, limit, 0.95).unwrap().estimate.interval.lower;
        prop_assert!(lower(k + 1) > lower(k));
    }

    #[test]
    fn a_run_is_no_worse_than_itself(values in scores()) {
        let decision = noninferiority(&values, &values, None, 0.02, 0.95).unwrap();
        prop_assert_ne!(decision.verdict, GateVerdict::Fail);
        prop_assert_eq!(decision.estimate.mean, 0.0);
    }

    #[test]
    fn sign_flips_of_units_are_the_test_of_changed_cases(fixed in 0..10_u64, regressed in 0..10_u64) {
        let ones = |n: u64, value: f64| vec![value; n as usize];
        let differences = [ones(fixed, 1.0), ones(regressed, -1.0), vec![0.0]].concat();
        let exact = signflip_exact(&differences).unwrap();
        prop_assert!((exact.p - mcnemar(fixed, regressed)).abs() < 1e-12);
    }

    #[test]
    fn random_sign_flips_estimate_all_of_them(differences in prop::collection::vec(-1.0..1.0, 1..10)) {
        let exact = signflip_exact(&differences).unwrap().p;
        let estimated = signflip_mc(&differences, 0, 9_999).unwrap().p;
        prop_assert!((exact - estimated).abs() < 0.03, "{exact} {estimated}");
    }

    #[test]
    fn adjusted_p_values_keep_their_order(p in prop::collection::vec(0.0..=1.0, 0..10)) {
        let adjusted = holm(&p).unwrap();
        for (index, value) in adjusted.iter().enumerate() {
            prop_assert!(*value >= p[index] && *value <= 1.0);
            for (other, larger) in p.iter().enumerate().filter(|(_, larger)| **larger > p[index]) {
                prop_assert!(adjusted[other] >= *value, "{larger}");
            }
        }
    }

    #[test]
    fn chances_of_all_and_of_at_least_one_complement_each_other(n in 1..200_u64, c in 0..200_u64, k in 1..200_u64) {
        let (c, k) = (c.min(n), k.min(n));
        let [passed, failed] = [c, n - c].map(|count| pass_at_k(count, n, k).unwrap());
        prop_assert!((passed.at_least_one + failed.all - 1.0).abs() < 1e-12);
        prop_assert!(passed.all <= passed.at_least_one + 1e-12);
    }

    #[test]
    fn a_shuffle_keeps_the_items_and_depends_on_the_seed_alone(n in 0..50_u32, seed: u64) {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..n).collect();
            Random::new(seed).shuffle(&mut items);
            items
        };
        let mut items = shuffled(seed);
        prop_assert_eq!(&items, &shuffled(seed));
        items.sort_unstable();
        prop_assert_eq!(items, (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn the_order_of_a_shuffle_is_fixed() {
    let mut items = [0, 1, 2, 3, 4, 5, 6, 7];
    Random::new(0).shuffle(&mut items);
    assert_eq!(items, SHUFFLED);
}

/// Fisher and Yates from the end, with the indices that numpy's PCG64 gives for the seed 0.
const SHUFFLED: [u32; 8] = [5, 1, 2, 0, 7, 3, 4, 6];

#[test]
fn quantiles_at_the_ends_are_found() {
    // Where Newton's iteration starts from an underflow, or the continued fraction needs most steps.
    let tiny = beta_quantile(0.025, 1.0, 1e6);
    assert!((tiny / 2.531_780_8e-8 - 1.0).abs() < 1e-6, "{tiny}");
    assert!(student_quantile(1e-9, 1.0) < -3e8);
    assert!((student_quantile(0.975, 999_999.0) - 1.959_966_4).abs() < 1e-7);
    for (k, middle) in [(50_000, 0.501_261_563_1), (500_000, 0.500_398_942_2)] {
        let found = binomial_cdf(k, 2 * k, 0.5);
        assert!((found - middle).abs() < 1e-8, "{k}: {found}");
    }
}

/// C libraries differ in the last bits of logarithms and exponentials: these bits are the same with all of them.
#[test]
fn results_have_the_same_bits_on_every_machine() {
    let mut bits = 0_u64;
    let mut add = |number: f64| bits = bits.rotate_left(1) ^ number.to_bits();
    let mut betting = Betting::new(0.8, 0.95).unwrap();
    for step in 1..1000_u32 {
        let p = f64::from(step) / 1000.0;
        let size = f64::from(step * step);
        add(normal_quantile(p));
        add(student_quantile(p, size));
        add(beta_quantile(p, size, 7.5));
        add(binomial_cdf(u64::from(step), 1000, p));
        betting.observe(p).unwrap();
        betting.log_capital().into_iter().for_each(&mut add);
    }
    assert_eq!(bits, 14_845_979_139_955_022_662);
}

#[test]
fn the_tables_of_the_documentation_hold() {
    let limits = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];
    let table = |kind| limits.map(|limit| min_cases(kind, limit, 0.95).unwrap().unwrap());
    assert_eq!(table(GateKind::Rate), [6, 11, 17, 36, 72, 368]);
    assert_eq!(table(GateKind::Mean), [9, 15, 22, 45, 92, 463]);
    // Differences that are all 0 are no worse from so many cases on.
    for (margin, cases) in [(0.02, 231), (0.05, 92), (0.1, 45)] {
        let verdict = |n| {
            let scores = vec![0.5; n];
            noninferiority(&scores, &scores, None, margin, 0.95).unwrap().verdict
        };
        assert_eq!(
            [verdict(cases), verdict(cases - 1)],
            [GateVerdict::Pass, GateVerdict::Inconclusive]
        );
    }
}

#[test]
fn no_number_of_cases_is_named_where_none_decides() {
    assert_eq!(gate_mean(&[0.5, 0.5, 0.5, 0.5], None, 0.5, 0.95).unwrap().needed, None);
    let clusters = [Some("one"); 4];
    assert_eq!(gate_mean(&[1.0; 4], Some(&clusters), 0.5, 0.95).unwrap().needed, None);
    for kind in [GateKind::Mean, GateKind::Rate] {
        assert_eq!(min_cases(kind, 1.0 - 1e-7, 0.95).unwrap(), None);
        assert!(min_cases(kind, 1.0 - 1e-5, 0.95).unwrap() < Some(MOST_CASES));
    }
}

const LABELS: LabelCounts = LabelCounts { good: 25, good_passed: 24, bad: 25, bad_failed: 22 };

#[test]
fn gates_of_corrected_rates_decide_by_the_corrected_interval() {
    let rates = LABELS.rates(0.95).unwrap();
    let decide = |passed, n, limit| rates.gate_rate(passed, n, limit, 0.95).unwrap();
    let open = decide(93, 100, 0.9);
    let raw = clopper_pearson(93, 100, 0.95).unwrap();
    assert_eq!(open.estimate, rates.correct(raw).unwrap());
    assert!((open.estimate.mean - (0.93 + 0.88 - 1.0) / (0.96 + 0.88 - 1.0)).abs() < 1e-12);
    assert_eq!(open.verdict, GateVerdict::Inconclusive);
    let needed = open.needed.unwrap() as usize;
    let times = needed.div_ceil(100);
    assert_eq!(decide(times * 93, times * 100, 0.9).verdict, GateVerdict::Pass);
    assert_eq!(decide(20, 100, 0.8).verdict, GateVerdict::Fail);
    // What only more labels could decide needs no number of cases.
    assert_eq!(decide(93, 100, 0.95).needed, None);
    // Cases of their own are units of the mean; one cluster decides nothing.
    let values = [vec![1.0; 190], vec![0.0; 10]].concat();
    let one = vec![Some("one"); 200];
    let mean = |clusters: Option<&[_]>| rates.gate_mean(&values, clusters, 0.8, 0.95).unwrap();
    assert_eq!(mean(None).verdict, GateVerdict::Pass);
    assert_eq!(mean(Some(&one)).verdict, GateVerdict::Inconclusive);
}

#[test]
fn rates_that_do_not_fit_the_cases_decide_nothing() {
    let lenient = LabelCounts { good_passed: 20, ..LABELS }.rates(0.95).unwrap();
    let all = clopper_pearson(500, 500, 0.95).unwrap();
    assert_eq!(lenient.correct(all), Err(Refusal::UnlikeLabels));
    for passed in [0, 500] {
        let refused = lenient.gate_rate(passed, 500, 0.9, 0.95);
        assert_eq!(refused, Err(Refusal::UnlikeLabels));
    }
    assert_eq!(lenient.gate_rate(60, 500, 0.9, 0.95).map(|it| it.verdict), Ok(GateVerdict::Fail));
    let guessing = LabelCounts { good_passed: 13, bad_failed: 13, ..LABELS };
    assert_eq!(guessing.rates(0.95), Err(Refusal::AtChance));
    assert_eq!(
        LabelCounts { good: 19, good_passed: 19, ..LABELS }.rates(0.95),
        Err(Refusal::TooFewLabels)
    );
    assert_eq!(LabelCounts { bad_failed: 26, ..LABELS }.rates(0.95), Err(Refusal::Range));
    assert_eq!(LABELS.rates(1.0), Err(Refusal::Confidence));
    assert_eq!(LABELS.rates(0.95).unwrap().gate_rate(9, 10, 1.0, 0.95), Err(Refusal::Range));
}

#[test]
fn bad_input_is_refused() {
    let clusters = [Some("a"), None];
    let some = [0.5, 0.5];
    assert_eq!(holm(&[f64::NAN]), Err(Refusal::NotFinite));
    assert_eq!(mean_t(&some, f64::NAN), Err(Refusal::Confidence));
    assert_eq!(mean_clustered(&some, &clusters, 0.9), Err(Refusal::ClusterMissing));
    assert_eq!(mean_clustered(&some, &clusters[..1], 0.9), Err(Refusal::Length));
    assert_eq!(clopper_pearson(0, 0, 0.9), Err(Refusal::Empty));
    assert_eq!(gate_mean(&some, None, f64::NAN, 0.9), Err(Refusal::Range));
    assert_eq!(noninferiority(&some, &[0.5], None, 0.1, 0.9), Err(Refusal::Length));
    assert_eq!(noninferiority(&some, &some, None, 1.0, 0.9), Err(Refusal::Range));
    assert_eq!(noninferiority(&[2.0], &[2.0], None, 0.1, 0.9), Err(Refusal::Range));
    assert_eq!(signflip_mc(&[f64::INFINITY], 0, 9), Err(Refusal::NotFinite));
    assert_eq!(pass_at_k(2, 1, 1), Err(Refusal::Range));
    assert_eq!(pass_at_k(1, 2, 3), Err(Refusal::TooFewSamples));
    assert_eq!(anova(&[[0.5, 0.5]]), Err(Refusal::TooFewCases));
    assert_eq!(anova(&[[0.5], [0.5]]), Err(Refusal::NoRepeats));
    assert_eq!(PowerOfMean::new(-1.0, 1.0, 0.9, 0.8).unwrap_err(), Refusal::Range);
    assert_eq!(PowerOfMean::new(0.1, 1.0, 0.9, 1.0).unwrap_err(), Refusal::Confidence);
    assert_eq!(PowerOfMean::new(0.1, 1.0, 0.9, 0.8).unwrap().detectable(0), Err(Refusal::Empty));
}
