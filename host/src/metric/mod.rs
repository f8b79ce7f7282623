//! metric

/// How tool calls are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchType {
    /// a
    Exact,
    /// b
    InOrder,
    /// c
    AnyOrder,
}
