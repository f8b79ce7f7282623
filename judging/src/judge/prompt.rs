//! The prompts that are built in.

use std::{collections::BTreeMap, sync::Arc};

use super::{Code, Question, Refusal, Template, TemplateError, Variables, Wording, template::CODE};

/// A prompt that is built in.
#[derive(Clone, Copy, Debug)]
pub struct Prompt {
    /// Name: that of the metric, with the step if it asks more than one question.
    pub name: &'static str,
    /// The template.
    pub text: &'static str,
    /// Names of the variables.
    pub variables: &'static [&'static str],
}

macro_rules! prompts {
    ($($constant:ident $name:literal: $($variable:literal)+;)+) => {
        $(pub(super) const $constant: &str = $name;)+

        /// All prompts that are built in.
        pub const PROMPTS: &[Prompt] = &[$(Prompt {
            name: $name,
            text: include_str!(concat!("prompts/", $name, ".md")),
            variables: &[$($variable),+],
        }),+];
    };
}

prompts! {
    MATCH "final_response_match_v2": "prompt" "response" "golden_response";
    MATCH_SWAPPED "final_response_match_v2.swapped": "prompt" "response" "golden_response";
    FINAL_RESPONSE "rubric_based_final_response_quality_v1": "developer_instructions" "tool_declarations" "user_input"
        "response_steps" "grounding_metadata" "final_response" "rubrics";
    TOOL_USE "rubric_based_tool_use_quality_v1": "tool_declarations" "user_input" "tool_usage" "rubrics";
    MULTI_TURN "rubric_based_multi_turn_trajectory_quality_v1": "user_agent_dialogue" "properties"
        "agent_instructions" "agent_tool_definitions";
    SEGMENT "hallucinations_v1.segment": "response";
    VALIDATE "hallucinations_v1.validate": "context" "sentences";
    USER "per_turn_user_simulator_quality_v1": "conversation_plan" "conversation_history"
        "generated_user_response" "stop_signal" "persona";
}

impl Prompt {
    /// Returns the prompt of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROMPTS.iter().find(|prompt| prompt.name == name)
    }

    /// Returns the template of the prompt.
    ///
    /// # Errors
    ///
    /// None for prompts that are built in: a test parses all of them.
    pub fn template(&self) -> Result<Template, TemplateError> {
        self.parse(self.text)
    }

    /// Parses a text that replaces the prompt. Besides the variables it may name `code`, the ending of the keys of the verdict.
    ///
    /// # Errors
    ///
    /// A variable is not known or not closed.
    pub fn parse(&self, text: &str) -> Result<Template, TemplateError> {
        let names: Vec<&str> = self.variables.iter().copied().chain([CODE]).collect();
        Template::parse(text, &names)
    }
}

/// Prompts that a user wrote in place of built-in ones, by name.
#[derive(Clone, Debug, Default)]
pub struct Prompts {
    own: BTreeMap<String, Arc<Template>>,
}

impl Prompts {
    /// Replaces a prompt. `name` is that of a [`Prompt`].
    pub fn replace(&mut self, name: impl Into<String>, template: Template) {
        self.own.insert(name.into(), Arc::new(template));
    }

    /// Returns true if the prompt is replaced.
    pub(super) fn has(&self, name: &str) -> bool {
        self.own.contains_key(name)
    }

    /// Returns a question with the prompt of that name. It has a code if the prompt shows one.
    ///
    /// # Errors
    ///
    /// None for prompts that are built in: a test parses all of them.
    pub(super) fn question(
        &self,
        turn: usize,
        name: &'static str,
        variables: Variables,
    ) -> Result<Question, Refusal> {
        let template = match (self.own.get(name), Prompt::find(name)) {
            (Some(own), _) => Arc::clone(own),
            (None, Some(prompt)) => {
                Arc::new(prompt.template().map_err(|error| Refusal::Failed(error.to_string()))?)
            }
            (None, None) => return Err(Refusal::Failed(format!("there is no prompt `{name}`"))),
        };
        let code = template.shows_code().then(|| Code::of(&variables));
        let question = Question::new(turn, name, Wording::Template(template));
        Ok(Question { variables, code, ..question })
    }
}
