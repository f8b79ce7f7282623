//! What came of all cases, host by host.

use super::{
    Fate, Host, Kind, Recorded, documents,
    reply::{bad_exit_code, message, printed, untimely},
};
use crate::process::{Ending, Outcome};

/// How a program can be relied on under all hosts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conformance {
    /// One entry for each host whose documents were played, in the order of [`Host::ALL`].
    pub hosts: Vec<HostReport>,
}

/// The same under one host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HostReport {
    /// The host.
    pub host: Host,
    /// Documents first, then faults.
    pub cases: Vec<CaseReport>,
}

/// What came of one case under one host.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaseReport {
    /// What was played.
    pub name: &'static str,
    /// What was expected.
    pub kind: Kind,
    /// What the program did.
    pub manner: Manner,
    /// What the host would record; `None` if the case was not played.
    pub recorded: Option<Recorded>,
    /// What is wrong with that; `None` if all is well.
    pub problem: Option<String>,
}

/// What a program did with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Manner {
    /// It answered in the host's terms, and the host records that.
    Answered,
    /// It ended with an exit code other than 0, a message on standard error, and nothing on standard output.
    Refused,
    /// Anything else.
    Broke,
    /// Nothing: it was not tried.
    NotPlayed,
}

/// What a program is under a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It can be used.
    Conforms,
    /// It must not be used.
    DoesNotConform,
    /// It answers none of the host's documents, and does no harm by that: it is made for others.
    NotAnswered,
}

impl Manner {
    /// A stable name, e.g. `refused`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Refused => "refused",
            Self::Broke => "broke",
            Self::NotPlayed => "not_played",
        }
    }
}

impl Standing {
    /// A stable name, e.g. `conforms`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Conforms => "conforms",
            Self::DoesNotConform => "does_not_conform",
            Self::NotAnswered => "not_answered",
        }
    }
}

impl Conformance {
    /// Whether the program conforms under all of these hosts; without any, under all whose documents it answers, which must
    /// be one at least.
    #[must_use]
    pub fn holds_for(&self, asked: &[Host]) -> bool {
        let counted = |report: &&HostReport| match asked {
            [] => report.standing() != Standing::NotAnswered,
            asked => asked.contains(&report.host),
        };
        let mut counted = self.hosts.iter().filter(counted).peekable();
        counted.peek().is_some() && counted.all(|report| report.standing() == Standing::Conforms)
    }
}

impl HostReport {
    pub(super) fn new(host: Host, mut cases: Vec<CaseReport>) -> Self {
        let plain_is_answered = cases
            .iter()
            .any(|case| case.name == documents::PLAIN && case.manner == Manner::Answered);
        for case in &mut cases {
            if (case.kind, case.manner, plain_is_answered)
                == (Kind::Additive, Manner::Refused, true)
                && case.problem.is_none()
            {
                case.problem = Some("it refuses a document for a key that it does not know".into());
            }
        }
        Self { host, cases }
    }

    /// What the program is under this host.
    ///
    /// A program that answers no document is not made for this host, unless what it does would be taken for a success, or
    /// end the host, or, where everything is scored, is no refusal. Nobody knows that of documents that were not played.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let documents = || self.cases.iter().filter(|case| case.kind == Kind::Document);
        let answers = documents().any(|case| case.manner == Manner::Answered);
        let may_harm =
            documents().any(|case| case.manner == Manner::NotPlayed || case.does_harm(self.host));
        if !answers && !may_harm {
            Standing::NotAnswered
        } else if self.cases.iter().any(|case| case.problem.is_some()) {
            Standing::DoesNotConform
        } else {
            Standing::Conforms
        }
    }
}

impl CaseReport {
    pub(super) fn new(
        (name, kind): (&'static str, Kind),
        outcome: &Outcome,
        recorded: Recorded,
    ) -> Self {
        let manner = manner(outcome, &recorded);
        let problem = match (kind, manner) {
            _ if recorded.fate == Fate::HostDies => recorded.remark.clone(),
            (Kind::Broken, Manner::Answered) => {
                Some("it answers what is not a document".to_owned())
            }
            (_, Manner::Answered | Manner::Refused) => None,
            _ => Some(wrong(outcome, &recorded)),
        };
        Self { name, kind, manner, recorded: Some(recorded), problem }
    }

    pub(super) fn not_played((name, kind): (&'static str, Kind), why: &str) -> Self {
        let problem = Some(why.to_owned());
        Self { name, kind, manner: Manner::NotPlayed, recorded: None, problem }
    }

    fn does_harm(&self, host: Host) -> bool {
        match self.recorded.as_ref().map(|recorded| recorded.fate) {
            Some(Fate::LooksPassed | Fate::HostDies) => true,
            Some(Fate::LooksFailed | Fate::Lost) => {
                host.scores_everything() && self.manner == Manner::Broke
            }
            Some(Fate::Recorded | Fate::Error) | None => false,
        }
    }
}

fn manner(outcome: &Outcome, recorded: &Recorded) -> Manner {
    if outcome.leaked_pipe() {
        return Manner::Broke;
    }
    match bad_exit_code(&outcome.ending) {
        Some(_) if !printed(outcome) && message(outcome).is_some() => Manner::Refused,
        None if outcome.ending == Ending::Exited(0) && recorded.fate == Fate::Recorded => {
            Manner::Answered
        }
        _ => Manner::Broke,
    }
}

/// What is wrong with an end that is neither an answer nor a refusal.
fn wrong(outcome: &Outcome, recorded: &Recorded) -> String {
    if let Some(untimely) = untimely(&outcome.ending) {
        return untimely.into_owned();
    }
    if outcome.leaked_pipe() {
        return "something it started keeps its output open, and the host waits for that"
            .to_owned();
    }
    match bad_exit_code(&outcome.ending) {
        Some(code) if printed(outcome) => {
            format!("it ends with exit code {code}, and prints on standard output")
        }
        Some(code) => {
            format!("it ends with exit code {code}, and says nothing on standard error")
        }
        None => {
            let said = recorded.remark.as_ref().or(recorded.message.as_ref());
            said.cloned().unwrap_or_else(|| "its answer is not recorded".to_owned())
        }
    }
}
