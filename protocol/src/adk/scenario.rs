//! Conversations with a user who is simulated.

use super::object::object;

object! {
    /// What a simulated user sets out to say. Cases that have one have no expected invocations.
    pub struct ConversationScenario {
        /// What the user says first.
        required ["starting_prompt" | "startingPrompt"] starting_prompt: String,
        /// What the user says then, in words.
        required ["conversation_plan" | "conversationPlan"] conversation_plan: String,
        /// Who the user is.
        ["user_persona" | "userPersona"] user_persona: Option<UserPersona>,
    }
}

impl ConversationScenario {
    /// A scenario without a persona.
    pub fn new(starting_prompt: impl Into<String>, conversation_plan: impl Into<String>) -> Self {
        Self {
            starting_prompt: starting_prompt.into(),
            conversation_plan: conversation_plan.into(),
            ..Self::default()
        }
    }
}

object! {
    /// A kind of user.
    pub struct UserPersona {
        /// Its name.
        ["id"] id: String,
        /// It in words.
        ["description"] description: String,
        /// What such users do.
        ["behaviors"] behaviors: Vec<UserBehavior>,
    }
}

object! {
    /// Something that users of a kind do.
    pub struct UserBehavior {
        /// Its name.
        ["name"] name: String,
        /// It in words.
        ["description"] description: String,
        /// How to do it.
        ["behavior_instructions" | "behaviorInstructions"] behavior_instructions: Vec<String>,
        /// By what it is told that it was not done.
        ["violation_rubrics" | "violationRubrics"] violation_rubrics: Vec<String>,
    }
}
