//! Conversations that get no judgement.

/// Reason why a conversation gets no judgement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is nothing to judge.
    #[error("{0}")]
    NotEvaluated(String),
    /// It cannot be judged. That is an error.
    #[error("{0}")]
    Failed(String),
}
