//! How each host reads the end of a process.

mod adk;
mod agenta;
mod agentevals;
mod agentv;
#[cfg(test)]
mod testing;

use super::{Host, Recorded};
use crate::process::Outcome;

/// What the host records when a process that it gave a document of so many turns ends like this.
///
/// The threshold is the one that hosts have when nobody sets another: 0.8 for AgentV, 0.5 for the others.
#[must_use]
pub fn recorded(host: Host, outcome: &Outcome, turns: usize) -> Recorded {
    match host {
        Host::Agentevals => agentevals::recorded(outcome),
        Host::AgentV2 => agentv::recorded(agentv::Generation::V2, outcome),
        Host::AgentV4 => agentv::recorded(agentv::Generation::V4, outcome),
        Host::AgentV5 => agentv::recorded(agentv::Generation::V5, outcome),
        Host::Adk => adk::recorded(outcome, turns),
        Host::AgentaCode1 => agenta::code(agenta::Version::V1, outcome),
        Host::AgentaCode2 => agenta::code(agenta::Version::V2, outcome),
        Host::AgentaCode3 => agenta::code(agenta::Version::V3, outcome),
        Host::AgentaWebhook => agenta::webhook(outcome),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{testing::ended, *};
    use crate::{conform::Fate, process::Ending};

    /// What programs print, and what looks like it.
    fn stdout() -> impl Strategy<Value = Vec<u8>> {
        let number = prop_oneof![
            Just("0.5"),
            Just("1"),
            Just("-3"),
            Just("1e999"),
            Just("NaN"),
            Just("\"0.5\""),
            Just("null"),
            Just("true"),
            Just("[]"),
            Just("{}"),
            Just("99999999999999999999"),
        ];
        let key = prop_oneof![
            Just("score"),
            Just("overall_score"),
            Just("overall_eval_status"),
            Just("success"),
            Just("pass"),
            Just("status"),
            Just("hits"),
            Just("assertions"),
            Just("checks"),
            Just("per_invocation_results"),
            Just("per_invocation_scores"),
            Just("details"),
        ];
        let object = proptest::collection::vec((key, number), 0..5).prop_map(|entries| {
            let entries: Vec<_> =
                entries.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
            format!("{{{}}}", entries.join(",")).into_bytes()
        });
        prop_oneof![
            object,
            any::<Vec<u8>>(),
            "[\\[\\]{}\",:0-9 a-z\n]{0,40}".prop_map(String::into_bytes)
        ]
    }

    proptest! {
        #[test]
        fn an_exit_code_is_heard(stdout in stdout(), code in 1..256, turns in 0_usize..3) {
            for host in Host::ALL {
                let got = recorded(host, &ended(Ending::Exited(code), &stdout, "why"), turns);
                prop_assert!(
                    matches!(got.fate, Fate::Error | Fate::LooksFailed | Fate::Lost),
                    "{host}: {got:?}"
                );
                prop_assert!(got.message.is_some_and(|message| message.contains("why")), "{host}");
            }
        }

        #[test]
        fn what_is_recorded_as_meant_has_a_score_that_is_a_number(stdout in stdout(), turns in 0_usize..3) {
            for host in Host::ALL {
                let got = recorded(host, &ended(Ending::Exited(0), &stdout, ""), turns);
                if got.fate == Fate::Recorded && host != Host::Adk {
                    let score = got.score;
                    let named = host == Host::AgentaCode3 && score.is_none() && got.status.is_some();
                    prop_assert!(
                        named || score.is_some_and(|score| (0.0..=1.0).contains(&score)),
                        "{host}: {got:?}"
                    );
                }
            }
        }

        #[test]
        fn only_agentv_records_what_ended_by_a_signal(stdout in stdout(), signal in 1..32) {
            for host in Host::ALL {
                let got = recorded(host, &ended(Ending::Signalled(signal), &stdout, ""), 1);
                let apart = matches!(got.fate, Fate::Error | Fate::LooksFailed);
                prop_assert!(apart || host.scores_everything(), "{host}: {got:?}");
            }
        }
    }
}
