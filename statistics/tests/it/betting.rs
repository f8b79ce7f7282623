//! Decisions as values come.

use evaluator_statistics::{Betting, GateVerdict, Random, Refusal};

/// Bets on runs of up to 400 cases that pass with this rate, at the limit 0.8. Returns the shares that decide each way, and the
/// median number of cases after which a run decides.
fn runs(rate: f64, seed: u64) -> (f64, f64, Option<u64>) {
    const RUNS: usize = 2000;
    let mut random = Random::new(seed);
    let (mut passed, mut failed, mut ends) = (0, 0, Vec::new());
    for _ in 0..RUNS {
        let mut betting = Betting::new(0.8, 0.95).unwrap();
        let mut case = 0;
        while case < 400 && betting.verdict() == GateVerdict::Inconclusive {
            let passes = (random.next_u64() as f64) < rate * u64::MAX as f64;
            betting.observe(f64::from(passes)).unwrap();
            case += 1;
        }
        passed += usize::from(betting.verdict() == GateVerdict::Pass);
        failed += usize::from(betting.verdict() == GateVerdict::Fail);
        ends.push(betting.decided_at().unwrap_or(u64::MAX));
    }
    ends.sort_unstable();
    let median = Some(ends[RUNS / 2]).filter(|end| *end < u64::MAX);
    (passed as f64 / RUNS as f64, failed as f64 / RUNS as f64, median)
}

#[test]
fn looking_after_every_case_claims_too_much_in_few_runs() {
    let (passed, failed, _) = runs(0.8, 1);
    assert!(passed <= 0.03 && failed <= 0.03, "{passed} {failed}");
}

#[test]
fn clear_runs_are_decided_early() {
    let (passed, _, median) = runs(0.95, 2);
    assert!(passed > 0.95 && median < Some(60), "{passed} {median:?}");
    let (_, failed, median) = runs(0.7, 3);
    assert!(failed > 0.5 && median.is_some_and(|cases| cases < 250), "{failed} {median:?}");
}

#[test]
fn a_decision_stays() {
    let mut betting = Betting::new(0.5, 0.9).unwrap();
    let first = (1..100).find(|_| betting.observe(1.0).unwrap() == GateVerdict::Pass).unwrap();
    for _ in 0..500 {
        assert_eq!(betting.observe(0.0), Ok(GateVerdict::Pass));
    }
    assert_eq!(betting.decided_at(), Some(first));
}

#[test]
fn a_refused_value_changes_nothing() {
    let mut betting = Betting::new(0.5, 0.9).unwrap();
    betting.observe(0.25).unwrap();
    let before = betting.log_capital();
    assert_eq!(betting.observe(f64::NAN), Err(Refusal::NotFinite));
    assert_eq!(betting.observe(1.5), Err(Refusal::Range));
    assert_eq!(betting.log_capital(), before);
    for limit in [0.0, 1.0, f64::NAN] {
        assert_eq!(Betting::new(limit, 0.9).unwrap_err(), Refusal::Range, "{limit}");
    }
}
