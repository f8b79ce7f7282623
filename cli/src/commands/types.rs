//! Types of entries that are evaluators without any program or metric.

/// A type of entries that are evaluators without any program or metric.
pub(super) struct EntryType {
    /// Value of `type`.
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    /// Keys of an example.
    pub(super) keys: &'static str,
}

/// Types that `evaluator list` shows next to the metrics.
pub(super) const TYPES: [EntryType; 2] = [
    EntryType {
        name: "llm_judge",
        description: "A model judges by your own prompt, rubrics or criteria.",
        keys: "\
name: my_judge
type: llm_judge
threshold: 0.5
# One of criteria, rubrics and prompt is needed.
criteria: The answer is kind and addresses every question of the user.
# rubrics: [The answer names the price., The answer is in the language of the user.]
# prompt: prompts/my_judge.md  # or the text itself, with variables such as {{ user_input }} and {{ response }}
# choices: {good: 1, fair: 0.5, bad: 0}  # words with their scores, instead of a number
# score_range: [0, 1]  # numbers that the judge gives
# scope: turn  # or conversation
# judge: {model: gemini-2.5-flash, samples: 5}  # each sample is a call per turn
",
    },
    EntryType {
        name: "openai_eval",
        description: "A grader of OpenAI's Evals API: checks or compares texts (contains, equals), or asks a model.",
        keys: "\
name: my_check
type: openai_eval
# threshold: 0.5  # of graders with a score
# timeout: 120
grader:
  type: string_check  # or text_similarity, label_model, score_model, python, multi
  operation: ilike  # the input contains the reference in any case; like: in the same case; eq: equals it; ne: does not
  input: '{{ item.actual_response }}'
  reference: Paris  # or '{{ item.expected_response }}', the golden answer of the eval set
",
    },
];

/// Returns true for the name of a type that [`TYPES`] describes.
pub(super) fn is_type(name: &str) -> bool {
    TYPES.iter().any(|described| described.name == name)
}
