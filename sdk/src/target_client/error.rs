//! Errors of targets.

use std::{error::Error, fmt, time::Duration};

/// Error: a target did not answer, or cannot be used.
///
/// An evaluator that returns this error with `?` could not judge. The host records an error, never a score.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetError {
    /// The address or the token of the proxy cannot be used. Nothing was sent.
    Settings {
        /// The environment variable, or `url` or `token` where they were given to [`TargetClient::new`](super::TargetClient::new).
        name: &'static str,
        /// The problem.
        reason: String,
    },
    /// The proxy cannot be reached, or the connection broke.
    Connection {
        /// The error of the operating system.
        reason: String,
    },
    /// The answer did not come in time.
    Timeout {
        /// Time after which the call was given up.
        after: Duration,
    },
    /// The proxy does not accept the token.
    Unauthorized,
    /// The host's limit of calls is used up; a batch is refused whole when it would exceed the limit.
    BudgetExhausted {
        /// The limit, if the proxy reports it.
        limit: Option<u64>,
        /// The message of the proxy.
        message: String,
    },
    /// The host has no target of that name.
    UnknownTarget {
        /// The requested name.
        target: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The model behind the target failed.
    ProviderFailed {
        /// The message of the host.
        message: String,
    },
    /// The request cannot be used, such as one without a question.
    InvalidRequest {
        /// The problem.
        message: String,
    },
    /// The host is ending, and answers no more.
    ShuttingDown,
    /// The answer exceeds the size limit of this client.
    ReplyTooLarge {
        /// The most bytes it reads.
        limit: usize,
    },
    /// The response is not that of a target proxy.
    Protocol {
        /// The problem.
        reason: String,
    },
    /// The target answered, but not in the requested form.
    Unreadable {
        /// The problem.
        reason: String,
        /// The beginning of the answer.
        excerpt: String,
    },
}

impl TargetError {
    pub(super) fn settings(name: &'static str, reason: impl Into<String>) -> Self {
        Self::Settings { name, reason: reason.into() }
    }

    pub(super) fn protocol(reason: impl Into<String>) -> Self {
        Self::Protocol { reason: reason.into() }
    }

    /// Returns the error of a status other than 200.
    pub(super) fn of_status(status: u16, message: String) -> Self {
        match status {
            401 => Self::Unauthorized,
            429 => Self::BudgetExhausted { limit: limit(&message), message },
            400 => Self::of_message(&message).unwrap_or(Self::InvalidRequest { message }),
            // A proxy also answers so to a request that is not JSON, which ours always is.
            500 | 504 => Self::ProviderFailed { message },
            408 | 413 => Self::InvalidRequest { message },
            503 => Self::ShuttingDown,
            404 => Self::protocol(format!("it does not know the path ({message})")),
            other => Self::protocol(format!("status {other}: {message}")),
        }
    }

    /// Returns the error of the text after `Error: ` in a reply.
    pub(super) fn of_reply(message: &str) -> Self {
        Self::of_message(message)
            .unwrap_or_else(|| Self::ProviderFailed { message: message.to_owned() })
    }

    /// Recognizes the messages that are the same in replies and with the status 400.
    fn of_message(message: &str) -> Option<Self> {
        if message.starts_with("Missing required field") {
            return Some(Self::InvalidRequest { message: message.to_owned() });
        }
        let rest = ["Unknown target '", "Unknown provider '"]
            .iter()
            .find_map(|prefix| message.strip_prefix(prefix))?;
        let (target, names) = rest.split_once("'. Available: ")?;
        let names = names.split(", ").filter(|name| !name.is_empty());
        let available = each_once(names.map(str::to_owned));
        Some(Self::UnknownTarget { target: target.to_owned(), available })
    }
}

/// Returns the names without repetitions.
pub(super) fn each_once(names: impl IntoIterator<Item = String>) -> Vec<String> {
    names.into_iter().fold(Vec::new(), |mut once, name| {
        if !once.contains(&name) {
            once.push(name);
        }
        once
    })
}

/// Returns the number behind `limit: `.
fn limit(message: &str) -> Option<u64> {
    let (_, rest) = message.rsplit_once("limit: ")?;
    let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings { name, reason } => write!(f, "{name}: {reason}"),
            Self::Connection { reason } => {
                write!(f, "the connection to the target proxy failed: {reason}")
            }
            Self::Timeout { after } => {
                write!(f, "the target did not answer within {after:?}")
            }
            Self::Unauthorized => f.write_str("the target proxy does not accept the token"),
            Self::BudgetExhausted { limit: Some(limit), .. } => write!(
                f,
                "the limit of {limit} calls of the target is used up (the host's `max_calls` sets it)"
            ),
            Self::BudgetExhausted { limit: None, message } => {
                write!(f, "the limit of calls of the target is used up: {message}")
            }
            Self::UnknownTarget { target, available } if available.is_empty() => {
                write!(f, "there is no target `{target}`")
            }
            Self::UnknownTarget { target, available } => {
                write!(f, "there is no target `{target}`; there are {}", available.join(", "))
            }
            Self::ProviderFailed { message } => write!(f, "the target failed: {message}"),
            Self::InvalidRequest { message } => {
                write!(f, "the request cannot be used: {message}")
            }
            Self::ShuttingDown => f.write_str("the target proxy is shutting down"),
            Self::ReplyTooLarge { limit } => {
                write!(f, "the target's answer is larger than {limit} bytes")
            }
            Self::Protocol { reason } => {
                write!(f, "the response is not one of a target proxy: {reason}")
            }
            Self::Unreadable { reason, excerpt } => {
                write!(f, "the target's answer cannot be read: {reason}")?;
                if excerpt.is_empty() { Ok(()) } else { write!(f, ", in `{excerpt}`") }
            }
        }
    }
}

impl Error for TargetError {}

/// Returns the beginning of a text on one line, for messages.
pub(super) fn excerpt(text: &str) -> String {
    const LENGTH: usize = 200;
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((end, _)) = words.char_indices().nth(LENGTH) {
        words.truncate(end);
        words.push_str("..");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_both_sentences() {
        assert_eq!(limit("Max calls exceeded (limit: 9)"), Some(9));
        let batch = "Batch would exceed max calls (current: 7, batch: 4, limit: 12)";
        assert_eq!(limit(batch), Some(12));
        for odd in ["", "limit: ", "limit: x", "Too many", "limit: 99999999999999999999999"] {
            assert_eq!(limit(odd), None, "{odd}");
        }
    }

    #[test]
    fn unknown_targets_come_with_the_names_there_are_once_each() {
        for word in ["target", "provider"] {
            let message = format!("Unknown {word} 'it's'. Available: a, a, b");
            let expected = TargetError::UnknownTarget {
                target: "it's".to_owned(),
                available: vec!["a".to_owned(), "b".to_owned()],
            };
            assert_eq!(TargetError::of_status(400, message.clone()), expected);
            assert_eq!(TargetError::of_reply(&message), expected);
            assert_eq!(expected.to_string(), "there is no target `it's`; there are a, b");
        }
    }

    #[test]
    fn other_sentences_keep_their_words() {
        let message = "Missing required field: question".to_owned();
        let invalid = TargetError::InvalidRequest { message: message.clone() };
        assert_eq!(TargetError::of_status(400, message.clone()), invalid);
        assert_eq!(TargetError::of_reply(&message), invalid);
        let failed = TargetError::ProviderFailed { message: "boom".to_owned() };
        assert_eq!(TargetError::of_status(500, "boom".to_owned()), failed);
        assert_eq!(TargetError::of_reply("boom"), failed);
        assert_eq!(TargetError::of_status(503, String::new()), TargetError::ShuttingDown);
        assert!(matches!(TargetError::of_status(302, String::new()), TargetError::Protocol { .. }));
    }

    #[test]
    fn excerpts_are_short_and_cut_between_characters() {
        assert_eq!(excerpt(" a \n b "), "a b");
        assert_eq!(excerpt(&"ä".repeat(500)), format!("{}..", "ä".repeat(200)));
    }
}
