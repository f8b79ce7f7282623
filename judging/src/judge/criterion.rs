//! Criterion of a judged metric.

use super::{Panel, Prompts, Rubric};

/// Settings of a judge metric.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// Lowest score that passes.
    pub threshold: f64,
    /// Number of times that each question is asked.
    pub samples: usize,
    /// Whether texts before the answer belong to the answer.
    pub include_intermediate: bool,
    /// Whether texts before the answer are checked for hallucinations, too.
    pub check_intermediate: bool,
    /// Text with which a simulated user ends the conversation.
    pub stop_signal: String,
    /// Rubrics of all turns.
    pub rubrics: Vec<Rubric>,
    /// Whether half of the samples see the reference before the answer, or the rubrics in reverse order. The number of
    /// samples must be even.
    pub swap: bool,
    /// Rule that combines the verdicts of several models.
    pub panel: Panel,
    /// Least number of models that must have a verdict about a turn; all if `None`.
    pub quorum: Option<usize>,
    /// Prompts in place of built-in ones.
    pub prompts: Prompts,
    /// Rules for judges that fail.
    pub rules: Rules,
}

/// ADK's defaults.
impl Default for Criterion {
    fn default() -> Self {
        Self {
            threshold: 0.5,
            samples: 5,
            include_intermediate: false,
            check_intermediate: false,
            stop_signal: "</finished>".to_owned(),
            rubrics: Vec::new(),
            swap: false,
            panel: Panel::default(),
            quorum: None,
            prompts: Prompts::default(),
            rules: Rules::default(),
        }
    }
}

/// Rules for judges that fail. The default never lets a failure look like a score.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Effect of failed calls and unreadable replies.
    pub errors: OnFailure,
    /// Least number of readable replies per turn, and of verdicts about each rubric; more than half of the samples if `None`.
    pub min_readable: Option<usize>,
    /// Whether a rubric or a sentence that no readable reply judges is an error even if failures are not.
    pub complete: bool,
    /// Least agreement of the votes of every turn, with the effect of less; ADK's majority alone decides if `None`.
    pub min_agreement: Option<(f64, OnDisagreement)>,
    /// Whether text that the model thought is read, before its reply.
    pub read_thinking: bool,
    /// Whether replies that are cut off are read.
    pub read_cut_off: bool,
    /// Reading of a word that is not a label after the key `is_the_agent_response_invalid`.
    pub unknown_word: super::reply::UnknownWord,
    /// Whether the replies about every turn are read with the rubrics of the last turn, as ADK reads them.
    pub rubrics_of_last_turn: bool,
}

impl Rules {
    /// Returns the rules of ADK and agentevals, where failures are not evaluated and one readable reply decides.
    pub fn adk() -> Self {
        Self {
            errors: OnFailure::NotEvaluated,
            min_readable: Some(1),
            complete: false,
            min_agreement: None,
            read_thinking: true,
            read_cut_off: true,
            unknown_word: super::reply::UnknownWord::Valid,
            rubrics_of_last_turn: true,
        }
    }
}

/// Effect of failed calls and unreadable replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// An error of the metric.
    #[default]
    Error,
    /// Turns without a score, which do not count.
    NotEvaluated,
}

/// Effect of votes that disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisagreement {
    /// The conversation fails.
    Fail,
    /// The conversation is not evaluated.
    NotEvaluated,
    /// An error of the metric.
    Error,
}
