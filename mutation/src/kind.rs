//! What an evaluator measures, and which damage it has to notice.

use serde::Serialize;

/// What an evaluator measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, derive_more::Display)]
#[display("{}", Self::ALL[self.column()].0)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Tool calls, against golden ones.
    Tools,
    /// Answers, against golden ones.
    Answer,
    /// Answers and tool results, without golden ones.
    Rubric,
    /// The format or the language of answers.
    Form,
    /// Counts, tokens or time.
    Budget,
}

impl Kind {
    /// All kinds by their names.
    pub const ALL: [(&str, Self); 5] = [
        ("tools", Self::Tools),
        ("answer", Self::Answer),
        ("rubric", Self::Rubric),
        ("form", Self::Form),
        ("budget", Self::Budget),
    ];

    /// Returns the position in the table of effects.
    fn column(self) -> usize {
        Self::ALL.iter().position(|(_, kind)| *kind == self).unwrap_or_default()
    }
}

/// What damage has to do to the result of an evaluator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, derive_more::Display)]
#[serde(rename_all = "snake_case")]
#[display(rename_all = "snake_case")]
pub enum Effect {
    /// The evaluation must not pass any more.
    Down,
    /// The score must not change.
    Same,
    /// The evaluation must still pass.
    Pass,
    /// Any result is fine, but an error.
    Any,
}

impl Effect {
    /// All effects by their names.
    pub const ALL: [(&str, Self); 4] =
        [("down", Self::Down), ("same", Self::Same), ("pass", Self::Pass), ("any", Self::Any)];
}

/// Effects of an operator on evaluators of each [`Kind`], in the order of [`Kind::ALL`]; `None` if it does not apply.
pub(crate) type Effects = [Option<Effect>; 5];

/// What is expected of an evaluator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expectations {
    /// What it measures; `None` if that is not known. Every damage is tried then, and none of it has to be noticed.
    pub kind: Option<Kind>,
    /// Effects of single operators that differ from those of the kind.
    pub effects: Vec<(String, Effect)>,
    /// Operators and relations that are left out.
    pub skip: Vec<String>,
}

impl Expectations {
    /// Returns those of an evaluator of a kind.
    pub fn of(kind: Kind) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    /// Sets the effect of operators.
    #[must_use]
    pub fn with(mut self, operators: &[&str], effect: Effect) -> Self {
        self.effects.extend(operators.iter().map(|name| ((*name).to_owned(), effect)));
        self
    }

    /// Returns the effect of an operator with these effects; `None` if it is left out. The last one that names it counts.
    pub(crate) fn effect(&self, operator: &str, effects: &Effects) -> Option<Effect> {
        if self.skips(operator) {
            return None;
        }
        let own = self.effects.iter().rev().find(|(name, _)| name == operator);
        match (own, self.kind) {
            (Some((_, effect)), _) => Some(*effect),
            (None, Some(kind)) => effects[kind.column()],
            (None, None) => Some(Effect::Any),
        }
    }

    /// Returns true if an operator or relation is left out.
    pub fn skips(&self, name: &str) -> bool {
        self.skip.iter().any(|skipped| skipped == name)
    }
}

/// Metrics that compare answers with golden ones.
const OF_ANSWERS: [&str; 12] = [
    "bleu",
    "fuzzy_match",
    "gleu",
    "meteor",
    "response_evaluation_score",
    "response_match_score",
    "rouge_1",
    "rouge_2",
    "rouge_3",
    "rouge_4",
    "rouge_5",
    "rouge_l",
];

/// Metrics that a model judges without golden answers.
const OF_RUBRICS: [&str; 4] = [
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "rubric_based_final_response_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
];

/// Metrics that count.
const OF_BUDGETS: [&str; 4] =
    ["inference_call_count_v1", "invocation_duration_v1", "token_usage_v1", "tool_call_count_v1"];

/// Returns what is expected of a built-in metric with these settings; no kind for metrics that none of the operators concern.
pub fn of_metric(name: &str, settings: &evaluator_json::Object) -> Expectations {
    const CALLS_ONLY: [&str; 2] = ["error_result", "claim_success"];
    let setting = |key: &str| settings.get(key).and_then(|value| value.as_str()).unwrap_or("");
    match name {
        "tool_trajectory_avg_score" => {
            let expectations = Expectations::of(Kind::Tools).with(&CALLS_ONLY, Effect::Same);
            match setting("trajectory_match_type").to_ascii_uppercase().as_str() {
                "IN_ORDER" => expectations.with(&["duplicate_call"], Effect::Same),
                "ANY_ORDER" => expectations.with(&["duplicate_call", "swap_calls"], Effect::Same),
                _ => expectations,
            }
        }
        "tool_trajectory_alignment" => {
            let expectations = Expectations::of(Kind::Tools).with(&CALLS_ONLY, Effect::Same);
            let expectations = match setting("order") {
                "unordered" => expectations.with(&["swap_calls"], Effect::Same),
                _ => expectations,
            };
            match settings.contains_key("args") || settings.contains_key("tools") {
                // A comparator may tolerate the change.
                true => expectations.with(&["change_arg", "drop_arg", "add_arg"], Effect::Any),
                false => expectations,
            }
        }
        "multi_turn_tool_use_quality_v1" | "rubric_based_tool_use_quality_v1" => {
            Expectations::of(Kind::Tools).with(&CALLS_ONLY, Effect::Any)
        }
        "hallucinations_v1" => {
            // An answer without statements has no wrong ones.
            const EMPTY: [&str; 5] =
                ["empty_answer", "null_answer", "truncate_answer", "refuse", "echo_question"];
            Expectations::of(Kind::Rubric).with(&EMPTY, Effect::Any)
        }
        "final_response_match_v2" => {
            Expectations::of(Kind::Answer).with(&["inject_judge"], Effect::Down)
        }
        _ if OF_ANSWERS.contains(&name) => Expectations::of(Kind::Answer),
        _ if OF_RUBRICS.contains(&name) => Expectations::of(Kind::Rubric),
        _ if OF_BUDGETS.contains(&name) => Expectations::of(Kind::Budget),
        _ => Expectations::default(),
    }
}
