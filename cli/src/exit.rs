//! Exit codes of the `evaluator` command. Scripts rely on them, so their meaning does not change.

use evaluator_host::report::GateVerdict;

/// Every evaluation passed or was judged by a gate that passed, did not apply, or broke within the share of errors that is tolerated, and something was scored.
pub const OK: u8 = 0;
/// An agent failed: at least one score is below its threshold, or something that must be recorded or scored is not; every
/// evaluator worked, or its errors are tolerated. Also if nothing was scored.
pub const FAILED: u8 = 1;
/// The command line or the configuration cannot be used. Nothing ran.
pub const USAGE: u8 = 2;
/// Something broke (an evaluator, a trace file, an eval set), or the run was interrupted. The shown scores are incomplete.
pub const ERRORED: u8 = 3;
/// Nothing failed or broke, and a gate is undecided.
pub const INCONCLUSIVE: u8 = 4;
/// The command was interrupted a second time. There is no report, and all its processes were killed.
pub const INTERRUPTED: u8 = 130;

/// Returns the code of a verdict.
pub fn of(verdict: GateVerdict) -> u8 {
    match verdict {
        GateVerdict::Pass => OK,
        GateVerdict::Fail => FAILED,
        GateVerdict::Inconclusive => INCONCLUSIVE,
    }
}

/// All codes, from worst to best.
const ORDER: [u8; 6] = [INTERRUPTED, USAGE, ERRORED, FAILED, INCONCLUSIVE, OK];

/// Returns the code of a command in parts that ended with these codes: the worst of them, [`OK`] without any.
pub fn worst(codes: impl IntoIterator<Item = u8>) -> u8 {
    let place = |code: &u8| ORDER.iter().position(|other| other == code);
    codes.into_iter().min_by_key(place).unwrap_or(OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_code_is_not_the_largest() {
        assert_eq!(worst([]), OK);
        assert_eq!(worst([OK, INCONCLUSIVE]), INCONCLUSIVE);
        assert_eq!(worst([INCONCLUSIVE, FAILED, OK]), FAILED);
        assert_eq!(worst([INCONCLUSIVE, ERRORED, FAILED]), ERRORED);
        assert_eq!(worst([ERRORED, USAGE]), USAGE);
        assert_eq!(worst(ORDER), INTERRUPTED);
    }
}
