//! What a host records of an evaluation.

/// What a host records of one evaluation, in its own terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded {
    /// What that amounts to.
    pub fate: Fate,
    /// The score that is recorded; `None` where there is none. It may be any number, `NaN` included, where the host takes it.
    pub score: Option<f64>,
    /// The host's own word for the result, e.g. `quality_failure`; `None` where it has none.
    pub status: Option<&'static str>,
    /// The rows that are kept: hits and misses, assertions, checks, turns.
    pub rows: Vec<Row>,
    /// The message that is recorded.
    pub message: Option<String>,
    /// What is not as it should be, in words: what was lost, and why the record is not what the program meant.
    pub remark: Option<String>,
}

/// What a record amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// The answer is recorded as it was meant.
    Recorded,
    /// An answer, or a part of it, is thrown away.
    Lost,
    /// An error is recorded as an error.
    Error,
    /// Something that is no judgement is recorded as a failure of the agent.
    LooksFailed,
    /// Something that is no judgement is recorded as a success of the agent.
    LooksPassed,
    /// The host may end because of it, and with it what was not yet recorded.
    HostDies,
}

impl Fate {
    /// A stable name, e.g. `looks_passed`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Lost => "lost",
            Self::Error => "error",
            Self::LooksFailed => "looks_failed",
            Self::LooksPassed => "looks_passed",
            Self::HostDies => "host_dies",
        }
    }
}

/// A row of a record.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What it says; empty for a turn.
    pub text: String,
    /// Whether that holds; `None` if the host does not say.
    pub passed: Option<bool>,
    /// Its own score.
    pub score: Option<f64>,
    /// Why, or what shows it.
    pub note: Option<String>,
}

impl Recorded {
    /// An error that the host keeps apart from scores.
    pub(super) fn error(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), ..Self::new(Fate::Error) }
    }

    pub(super) fn new(fate: Fate) -> Self {
        Self { fate, score: None, status: None, rows: Vec::new(), message: None, remark: None }
    }

    pub(super) fn with_score(fate: Fate, score: f64) -> Self {
        Self { score: Some(score), ..Self::new(fate) }
    }

    #[must_use]
    pub(super) fn with_status(self, status: &'static str) -> Self {
        Self { status: Some(status), ..self }
    }

    #[must_use]
    pub(super) fn because(self, remark: impl Into<String>) -> Self {
        Self { remark: Some(remark.into()), ..self }
    }
}

/// What a broken evaluation looks like when it is recorded with a score.
pub(super) fn disguise(passed: bool) -> Fate {
    if passed { Fate::LooksPassed } else { Fate::LooksFailed }
}
