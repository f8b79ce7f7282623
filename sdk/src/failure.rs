//! Errors of evaluators, and of arguments that cannot be extracted.

use std::{borrow::Cow, error::Error, fmt};

use evaluator_protocol::{DecodeError, ErrorBody};

/// An error of an evaluator: a kind for programs and a message for people.
///
/// Any error an evaluator returns becomes one of kind `evaluator`. To choose the kind, return a `Failure`:
///
/// ```
/// use evaluator_sdk::{EvalInput, Failure, evaluator};
///
/// #[evaluator]
/// fn judge(input: &EvalInput) -> Result<f64, Failure> {
///     Err(Failure::new("rate_limited", "the judge's model is over its quota"))
/// }
/// ```
///
/// ```
/// # use evaluator_sdk::Failure;
/// let failure = Failure::new("rate_limited", "over quota");
/// assert_eq!((failure.kind(), failure.to_string().as_str()), ("rate_limited", "over quota"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    kind: Kind,
    message: String,
    /// The causes, the direct one first.
    causes: Vec<String>,
}

/// Kinds of failures. Those of the toolkit are apart from those of evaluators, even where they read the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The document cannot be read or is not for this evaluator.
    Input,
    /// The document lacks a value that the evaluator needs.
    Absent,
    /// The config in the document cannot be read.
    Config,
    /// The evaluator returned an error.
    Evaluator,
    /// The evaluator panicked.
    Panic,
    /// The result cannot be written.
    Answer,
    /// The evaluator does not judge this conversation, and the host has no such outcome.
    NotEvaluated,
    /// One of the evaluator's own.
    Own(Cow<'static, str>),
}

impl Failure {
    /// Creates a failure of a kind of your own.
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::of(Kind::Own(kind.into()), message)
    }

    pub(crate) fn of(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new() }
    }

    /// Creates an error of the evaluator's, with its causes.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        if let Some(failure) = error.downcast_ref::<Self>() {
            return failure.clone();
        }
        let message = error.to_string();
        let mut causes: Vec<String> = Vec::new();
        let mut next = error.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            // Many errors end with the text of their source.
            if !causes.last().unwrap_or(&message).ends_with(&text) {
                causes.push(text);
            }
            next = cause.source();
        }
        Self { kind: Kind::Evaluator, message, causes }
    }

    /// `input`, `config`, `evaluator`, `panic`, `answer`, `not_evaluated`, or a kind of the evaluator's own.
    pub fn kind(&self) -> &str {
        match &self.kind {
            Kind::Input | Kind::Absent => "input",
            Kind::Config => "config",
            Kind::Evaluator => "evaluator",
            Kind::Panic => "panic",
            Kind::Answer => "answer",
            Kind::NotEvaluated => "not_evaluated",
            Kind::Own(kind) => kind,
        }
    }

    /// Returns the message, without the causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the causes, the direct one first.
    pub fn causes(&self) -> impl ExactSizeIterator<Item = &str> {
        self.causes.iter().map(String::as_str)
    }

    /// Returns true if it is the document that is at fault, and not the evaluator.
    pub(crate) fn blames_input(&self) -> bool {
        matches!(self.kind, Kind::Input | Kind::Absent | Kind::Config)
    }

    /// Returns true if the document lacks a value that the evaluator needs.
    pub(crate) fn is_absence(&self) -> bool {
        self.kind == Kind::Absent
    }

    pub(crate) fn is_panic(&self) -> bool {
        self.kind == Kind::Panic
    }

    pub(crate) fn to_body(&self) -> ErrorBody {
        ErrorBody::new(self.kind(), self.to_string())
    }
}

impl fmt::Display for Failure {
    /// Returns the message and its causes, on one line if they are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl Error for Failure {}

/// Error: an argument of an evaluator cannot be extracted from a document. Has the argument, the path of the field and the
/// reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    argument: Option<&'static str>,
    path: String,
    reason: String,
    is_absence: bool,
}

/// Location of an evaluator's config in documents.
const CONFIGS: [&str; 2] = [CONFIG, CRITERION];
/// Path of the config in documents of agentevals and AgentV.
pub(crate) const CONFIG: &str = "config";
/// Path of the config in documents of ADK.
pub(crate) const CRITERION: &str = "eval_metric.criterion";

impl Rejection {
    /// Creates a rejection because of the field at `path`, e.g. `config.min_length`; empty for the document as a whole.
    pub fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { argument: None, path: path.into(), reason: reason.into(), is_absence: false }
    }

    /// Creates a rejection because the document has no value at `path`, which is not an error for hosts that send none.
    pub(crate) fn absence(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { is_absence: true, ..Self::new(path, reason) }
    }

    /// Path of the field; empty for the document as a whole.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns the evaluator's argument; `None` outside of a call.
    pub fn argument(&self) -> Option<&str> {
        self.argument
    }

    pub(crate) fn of_argument(self, argument: &'static str) -> Self {
        Self { argument: Some(argument), ..self }
    }

    fn kind(&self) -> Kind {
        let inside = |config: &&str| {
            let rest = self.path.strip_prefix(config);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        match self.is_absence {
            true => Kind::Absent,
            false if CONFIGS.iter().any(inside) => Kind::Config,
            false => Kind::Input,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.path.as_str(), self.argument) {
            ("", None) => f.write_str(&self.reason),
            ("", Some(argument)) => write!(f, "argument `{argument}`: {}", self.reason),
            (path, _) => write!(f, "{path}: {}", self.reason),
        }
    }
}

impl Error for Rejection {}

impl From<DecodeError> for Rejection {
    fn from(error: DecodeError) -> Self {
        let path = error.path.clone();
        let text = error.to_string();
        let reason = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text).to_owned();
        Self::new(path, reason)
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Self::of(rejection.kind(), rejection.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn keeps_causes_that_are_not_repeated() {
        let root = Layer("no such file", None);
        let middle = Layer("cannot read rules: no such file", Some(Box::new(root)));
        let failure = Failure::from_error(&Layer("cannot judge", Some(Box::new(middle))));
        assert_eq!(failure.kind(), "evaluator");
        assert_eq!(failure.causes().collect::<Vec<_>>(), ["cannot read rules: no such file"]);
        assert_eq!(failure.to_string(), "cannot judge: cannot read rules: no such file");
    }

    #[test]
    fn rejections_of_the_config_are_of_its_kind() {
        let kind = |path: &str| Failure::from(Rejection::new(path, "bad")).kind().to_owned();
        assert_eq!(kind("config"), "config");
        assert_eq!(kind("config.a[0]"), "config");
        assert_eq!(kind("eval_metric.criterion.words[1]"), "config");
        assert_eq!(kind("eval_metric"), "input");
        assert_eq!(kind("configuration"), "input");
        assert_eq!(kind(""), "input");
    }

    #[test]
    fn rejections_without_a_path_name_the_argument() {
        let rejection = Rejection::new("", "too many turns").of_argument("turns");
        assert_eq!(rejection.to_string(), "argument `turns`: too many turns");
        assert_eq!(Rejection::new("config.a", "bad").of_argument("x").to_string(), "config.a: bad");
    }
}
