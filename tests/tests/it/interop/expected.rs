//! Expected results of hosts.

use crate::interop::{
    case::{Recorded, Verdict},
    evaluators::Own,
    faults::Fault,
    hosts::Host,
    native::Native,
};

/// Checks the result of an evaluator that works. Returns the problem, if any.
pub(crate) fn of_example(native: &Native, recorded: &Recorded, host: &dyn Host) -> Option<String> {
    let verdict = match native.score {
        None => host.not_evaluated(),
        Some(_) if native.passed => Verdict::Pass,
        Some(_) => Verdict::Fail,
    };
    if recorded.verdict != verdict {
        return Some(format!("should be {verdict:?}: {recorded:?}"));
    }
    // A host without a verdict for this records a failure with a score.
    if native.score.is_some() && recorded.score != native.score {
        return Some(format!("the score is {:?}: {recorded:?}", native.score));
    }
    if recorded.turns.is_some() && native.score.is_some() {
        // ADK wants a score for every turn, also of evaluators that give none.
        let turns = match (host.fills_turns(), &*native.turns) {
            (true, []) => vec![native.score; host.conversation().turns.len()],
            (_, turns) => turns.to_vec(),
        };
        if recorded.turns.as_ref() != Some(&turns) {
            return Some(format!("the turns have {turns:?}: {recorded:?}"));
        }
    }
    if let Some(details) = &recorded.details {
        let same = native.details.as_ref().map_or(details.is_null(), |native| native == details);
        return (!same).then(|| format!("the details are {:?}: {recorded:?}", native.details));
    }
    // A host that has an error has it with its reason.
    if !host.explains() && verdict != Verdict::Error {
        return None;
    }
    let reasons = native.reasons();
    let lost = reasons.iter().find(|reason| !says(recorded, reason));
    lost.map(|reason| format!("the reason `{reason}` is not there: {recorded:?}"))
}

/// Checks the result of an evaluator with the host's contract. Returns the problem, if any.
pub(crate) fn of_own(own: &Own, recorded: &Recorded) -> Option<String> {
    let turns: Vec<Option<f64>> = own.turns.iter().copied().map(Some).collect();
    let is_right = recorded.score == Some(own.score)
        && recorded.turns.as_ref().is_none_or(|recorded| *recorded == turns)
        && says(recorded, own.reason)
        && matches!(recorded.verdict, Verdict::Pass | Verdict::Fail);
    (!is_right).then(|| format!("should be {own:?}: {recorded:?}"))
}

/// Checks the result of an evaluator that breaks. Returns the problem, if any.
pub(crate) fn of_fault(fault: Fault, recorded: &Recorded) -> Option<String> {
    if fault.is_harmless {
        let is_right = recorded.verdict == Verdict::Pass && recorded.score == Some(1.0);
        return (!is_right).then(|| format!("should be a pass: {recorded:?}"));
    }
    match recorded.verdict {
        Verdict::Fail | Verdict::Error if recorded.reason.is_empty() => {
            Some("the reason is not passed on".to_owned())
        }
        Verdict::Fail | Verdict::Error => None,
        Verdict::Pass => Some("A PASS of an evaluator that broke".to_owned()),
        _ => Some(format!("{recorded:?}")),
    }
}

/// Returns true if a record contains a text, directly or within nested JSON strings.
fn says(recorded: &Recorded, reason: &str) -> bool {
    let plain = |text: &str| text.replace('\\', "");
    plain(&recorded.reason).contains(&plain(reason))
}
