//! Material of judges: turns with their steps, the agents that took part, and rubrics.

pub(super) mod adk;
mod inputs;
mod recorded;
mod turn;

#[cfg(test)]
pub(super) use inputs::{NO_GROUNDING, NO_STEPS, NO_TOOLS};
pub(super) use inputs::{
    agent_definitions, agent_instructions, context, continued, developer_instructions, dialogue,
    grounding, marked, response, steps, tool_calls, tool_declarations,
};
#[cfg(test)]
pub(super) use recorded::ordered;
pub use turn::{Agent, Call, Content, Event, JudgedTurn, Part, Response, Rubric, Scenario, Steps};
