//! Variables of prompts that users write.

use evaluator_json::{Value, to_pretty};
use evaluator_traces::conversation::TurnPart;

use super::messages::{answer_messages, user_messages};
use crate::judge::{
    Case, JudgedTurn, Order,
    material::{
        agent_instructions, dialogue, grounding, marked, response, steps, tool_calls,
        tool_declarations,
    },
    scheme::Scheme,
};

/// A variable of prompts.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Name.
    pub name: &'static str,
    /// Other names, among them those of AgentV.
    pub aliases: &'static [&'static str],
    /// Value, in one sentence.
    pub description: &'static str,
    /// Parts of a turn that it shows.
    pub parts: &'static [TurnPart],
    value: fn(&Scene<'_>) -> Found,
}

/// Subject of a judgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) case: &'a Case<'a>,
    /// Turns that are judged together.
    pub(super) turns: &'a [JudgedTurn],
    /// Golden turns of the turns, if there are any.
    pub(super) golden: Option<&'a [JudgedTurn]>,
    /// Turns before them.
    pub(super) before: &'a [JudgedTurn],
    pub(super) scheme: &'a Scheme,
    pub(super) criteria: &'a str,
    pub(super) order: Order,
}

/// Value of a variable, or the reason why there is none.
pub(super) type Found = Result<String, String>;

const CALLED: &[TurnPart] = &[TurnPart::ToolCalls, TurnPart::Arguments];
const ALL: &[TurnPart] =
    &[TurnPart::User, TurnPart::Answer, TurnPart::ToolCalls, TurnPart::Arguments];

/// All variables.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "user_input",
        aliases: &["question", "input", "prompt"],
        description: "Message of the user.",
        parts: &[TurnPart::User],
        value: |scene| Ok(each(scene.turns, |turn| turn.user_text().unwrap_or_default())),
    },
    Variable {
        name: "response",
        aliases: &["candidate_answer", "output", "answer", "final_response"],
        description: "Answer of the agent.",
        parts: &[TurnPart::Answer],
        value: |scene| Ok(scene.response()),
    },
    Variable {
        name: "golden_response",
        aliases: &["reference_answer", "expected_output"],
        description: "Answer of the golden case. A turn without one is not evaluated.",
        parts: &[],
        value: |scene| scene.golden_response(),
    },
    Variable {
        name: "tool_calls",
        aliases: &[],
        description: "Tool calls with their arguments, a line each.",
        parts: CALLED,
        value: |scene| Ok(each(scene.turns, tool_calls)),
    },
    Variable {
        name: "tool_steps",
        aliases: &["response_steps", "tool_usage"],
        description: "Tool calls with their responses, as JSON.",
        parts: CALLED,
        value: |scene| Ok(each(scene.turns, steps)),
    },
    Variable {
        name: "conversation",
        aliases: &["user_agent_dialogue"],
        description: "All turns up to the judged one: messages, tool calls and their responses, a line each. Further lines of a message begin with `> `, so that no message can go on as another one.",
        parts: ALL,
        value: |scene| Ok(dialogue(&scene.case.actual[..scene.end()])),
    },
    Variable {
        name: "history",
        aliases: &["conversation_history"],
        description: "The turns before the judged one, in the form of `conversation`.",
        parts: ALL,
        value: |scene| Ok(dialogue(scene.before)),
    },
    Variable {
        name: "instructions",
        aliases: &["developer_instructions", "agent_instructions"],
        description: "Instructions of the agents, if they were recorded.",
        parts: &[],
        value: |scene| Ok(scene.instructions()),
    },
    Variable {
        name: "tool_declarations",
        aliases: &[],
        description: "Tools of the agents, as JSON.",
        parts: CALLED,
        value: |scene| {
            Ok(tool_declarations(scene.turns.first().and_then(|it| it.agents.as_deref())))
        },
    },
    Variable {
        name: "grounding_metadata",
        aliases: &[],
        description: "Sources that models searched, as JSON, if they were recorded.",
        parts: &[],
        value: |scene| Ok(each(scene.turns, |turn| grounding(turn.steps.events()))),
    },
    Variable {
        name: "criteria",
        aliases: &["expected_outcome", "outcome"],
        description: "Text of the key `criteria`.",
        parts: &[],
        value: |scene| Ok(scene.criteria.to_owned()),
    },
    Variable {
        name: "rubrics",
        aliases: &["scoring_criteria", "properties"],
        description: "Rubrics with their ids, weights and score ranges, a line each.",
        parts: &[],
        value: |scene| Ok(scene.scheme.listing(scene.order)),
    },
    Variable {
        name: "rubrics_json",
        aliases: &[],
        description: "Rubrics as JSON.",
        parts: &[],
        value: |scene| Ok(to_pretty(&scene.scheme.items_json())),
    },
    Variable {
        name: "input_messages",
        aliases: &[],
        description: "Messages of the user as a JSON list of objects with `role` and `content`.",
        parts: &[TurnPart::User],
        value: |scene| Ok(to_pretty(&Value::Array(user_messages(scene.turns)))),
    },
    Variable {
        name: "output_messages",
        aliases: &[],
        description: "Messages of the agent as a JSON list of objects with `role`, `content` and `tool_calls`.",
        parts: &[TurnPart::Answer, TurnPart::ToolCalls, TurnPart::Arguments],
        value: |scene| Ok(to_pretty(&Value::Array(answer_messages(scene.turns)))),
    },
    Variable {
        name: "expected_messages",
        aliases: &[],
        description: "Messages of the golden case as a JSON list. A turn without one is not evaluated.",
        parts: &[],
        value: |scene| Ok(to_pretty(&Value::Array(answer_messages(scene.golden()?)))),
    },
];

impl Variable {
    /// Returns the variable of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        VARIABLES.iter().find(|it| it.name == name || it.aliases.contains(&name))
    }

    /// Returns all names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        VARIABLES.iter().flat_map(|it| [it.name].into_iter().chain(it.aliases.iter().copied()))
    }

    /// Returns true if the variable shows what the agent answered.
    pub fn shows_response(&self) -> bool {
        matches!(self.name, "response" | "conversation" | "output_messages")
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(super) fn value(&self, scene: &Scene<'_>) -> Found {
        (self.value)(scene)
    }
}

impl Scene<'_> {
    /// Returns the number of turns up to the last judged one.
    fn end(&self) -> usize {
        self.before.len() + self.turns.len()
    }

    pub(super) fn response(&self) -> String {
        let intermediate = self.case.criterion.include_intermediate;
        each(self.turns, |turn| response(turn, intermediate))
    }

    fn instructions(&self) -> String {
        let mut agents = self.turns.iter().filter_map(|turn| turn.agents.as_ref()).flatten();
        if agents.any(|agent| !agent.instructions.is_empty()) {
            return agent_instructions(self.turns);
        }
        "No instructions were recorded.".to_owned()
    }

    fn golden(&self) -> Result<&[JudgedTurn], String> {
        self.golden.ok_or_else(|| "there is no golden turn".to_owned())
    }

    pub(super) fn golden_response(&self) -> Found {
        let golden = self.golden()?;
        if golden.iter().any(|turn| turn.answer_text().is_none()) {
            return Err("the golden turn has no answer".to_owned());
        }
        Ok(each(golden, |turn| turn.answer_text().unwrap_or_default()))
    }
}

/// Returns the text of the only turn, or the texts of all turns below their numbers, with a mark before each line.
pub(super) fn each(turns: &[JudgedTurn], text: impl Fn(&JudgedTurn) -> String) -> String {
    if let [turn] = turns {
        return text(turn);
    }
    let texts = turns.iter().enumerate();
    let texts = texts.map(|(index, turn)| format!("Turn {}:\n{}", index + 1, marked(&text(turn))));
    texts.collect::<Vec<_>>().join("\n\n")
}
