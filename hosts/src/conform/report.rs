//! Report of a conformance test, host by host.

use serde::Serialize;

use super::{
    Kind, Outcome, Recorded, Release,
    case::{Case, PLAIN},
    record::{NOT_EVALUATED, bad_exit_code, message, printed, untimely},
};
use crate::process::{self, Ending};

/// Report of a conformance test.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// One report for each tested release, in the order of [`Release::all`].
    pub hosts: Vec<HostReport>,
}

/// Report of one release of a host.
#[derive(Clone, Debug)]
pub struct HostReport {
    /// The release.
    pub release: &'static Release,
    /// Documents first, then faults.
    pub cases: Vec<CaseReport>,
}

/// Report of one case under one release.
#[derive(Clone, Debug, Serialize)]
pub struct CaseReport {
    /// Name of the case.
    #[serde(rename = "case")]
    pub name: &'static str,
    /// Expected behavior.
    pub kind: Kind,
    /// Behavior of the program.
    pub behavior: Behavior,
    /// Record of the host; `None` if the case was not run.
    pub recorded: Option<Recorded>,
    /// The problem; `None` if the behavior is correct.
    pub problem: Option<String>,
}

/// Behavior of a program that received a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, derive_more::Display)]
#[serde(rename_all = "snake_case")]
#[display(rename_all = "snake_case")]
pub enum Behavior {
    /// It answered in the host's form, and the host records the answer.
    Answered,
    /// It exited with a code other than 0, a message on standard error, and nothing on standard output.
    Refused,
    /// Any other behavior.
    Broke,
    /// The case was not run.
    NotRun,
}

/// Conformance of a program to a release of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It can be used.
    Conforms,
    /// It must not be used.
    DoesNotConform,
    /// It is written for other hosts: it answers none of the documents, which does no harm.
    NotAnswered,
}

impl Conformance {
    /// Returns true if the program conforms to all these releases; if none are given, to all whose documents it answers, which
    /// must be at least one.
    pub fn holds_for(&self, asked: &[&'static Release]) -> bool {
        let mut counted = self.hosts.iter().filter(|report| report.counts(asked)).peekable();
        counted.peek().is_some() && counted.all(|report| report.standing() == Standing::Conforms)
    }

    /// Returns the number of releases with this standing.
    pub fn count(&self, standing: Standing) -> usize {
        self.hosts.iter().filter(|report| report.standing() == standing).count()
    }
}

impl HostReport {
    pub(super) fn new(release: &'static Release, mut cases: Vec<CaseReport>) -> Self {
        let plain_is_answered =
            cases.iter().any(|case| case.name == PLAIN && case.behavior == Behavior::Answered);
        for case in &mut cases {
            if (case.kind, case.behavior, plain_is_answered)
                == (Kind::Additive, Behavior::Refused, true)
                && case.problem.is_none()
            {
                case.problem = Some("it refuses a document for a key that it does not know".into());
            }
        }
        Self { release, cases }
    }

    /// Returns true if this release counts when conformance to the releases `asked` is required.
    pub fn counts(&self, asked: &[&'static Release]) -> bool {
        match asked {
            [] => self.standing() != Standing::NotAnswered,
            asked => asked.contains(&self.release),
        }
    }

    /// Returns true if the program answers documents of this release, and evaluates none of them.
    pub fn evaluates_nothing(&self) -> bool {
        let mut answers =
            self.cases.iter().filter(|case| case.behavior == Behavior::Answered).peekable();
        answers.peek().is_some()
            && answers.all(|case| {
                case.recorded
                    .as_ref()
                    .is_some_and(|recorded| recorded.status == Some(NOT_EVALUATED))
            })
    }

    /// Returns the conformance of the program to this release.
    ///
    /// A program that answers no document is written for other hosts, unless its behavior could be recorded as a success,
    /// could terminate the host, or is a score where everything is scored. Documents that were not run count as harmful.
    pub fn standing(&self) -> Standing {
        let documents = || self.cases.iter().filter(|case| case.kind == Kind::Document);
        let answers = documents().any(|case| case.behavior == Behavior::Answered);
        let may_harm = documents()
            .any(|case| case.behavior == Behavior::NotRun || case.does_harm(self.release));
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
    pub(super) fn new(case: &Case, run: &process::Outcome, recorded: Recorded) -> Self {
        let behavior = behavior(run, &recorded);
        let problem = match (case.kind, behavior) {
            _ if recorded.outcome == Outcome::HostDies => recorded.remark.clone(),
            (Kind::Broken, Behavior::Answered) => {
                Some("it answers what is not a document".to_owned())
            }
            (_, Behavior::Answered | Behavior::Refused) => None,
            _ => Some(problem(run, &recorded)),
        };
        Self { name: case.name, kind: case.kind, behavior, recorded: Some(recorded), problem }
    }

    pub(super) fn not_run(case: &Case) -> Self {
        Self {
            name: case.name,
            kind: case.kind,
            behavior: Behavior::NotRun,
            recorded: None,
            problem: Some("not played: its time ran out too often".to_owned()),
        }
    }

    fn does_harm(&self, release: &Release) -> bool {
        match self.recorded.as_ref().map(|recorded| recorded.outcome) {
            Some(Outcome::LooksPassed | Outcome::HostDies) => true,
            Some(Outcome::LooksFailed | Outcome::Lost) => {
                release.scores_everything && self.behavior == Behavior::Broke
            }
            Some(Outcome::Recorded | Outcome::Error) | None => false,
        }
    }
}

fn behavior(run: &process::Outcome, recorded: &Recorded) -> Behavior {
    if run.leaked_pipe() {
        return Behavior::Broke;
    }
    match bad_exit_code(&run.ending) {
        Some(_) if !printed(run) && message(run).is_some() => Behavior::Refused,
        None if run.ending == Ending::Exited(0) && recorded.outcome == Outcome::Recorded => {
            Behavior::Answered
        }
        _ => Behavior::Broke,
    }
}

/// Returns the problem of a process that neither answered nor refused.
fn problem(run: &process::Outcome, recorded: &Recorded) -> String {
    if let Some(untimely) = untimely(&run.ending) {
        return untimely.into_owned();
    }
    if run.leaked_pipe() {
        return "a process that it started keeps its output open, and the host waits for it"
            .to_owned();
    }
    match bad_exit_code(&run.ending) {
        Some(code) if printed(run) => {
            format!("it exits with code {code}, and prints on standard output")
        }
        Some(code) => format!("it exits with code {code}, and prints nothing on standard error"),
        None => {
            let reason = recorded.remark.as_ref().or(recorded.message.as_ref());
            reason.cloned().unwrap_or_else(|| "its answer is not recorded".to_owned())
        }
    }
}
