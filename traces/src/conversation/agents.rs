//! The agents of a turn: their instructions, and the tools that they declare.

use super::{
    RecordedAgent,
    convention::{Conventions, Kind, Setup, SpanView},
    message::{Message, text_of},
    tree::Tree,
};

/// Returns the agents at work in the spans `members`, in the order in which they are seen. Agents that tools run are left out,
/// as are agents of which only the name was recorded.
pub(super) fn agents(
    tree: &Tree<'_>,
    members: &[usize],
    conventions: &Conventions,
) -> Vec<RecordedAgent> {
    let mut agents: Vec<RecordedAgent> = Vec::new();
    for &member in members {
        let node = &tree.nodes[member];
        let is_agent = node.view.kind == Kind::Inference || node.view.kind.is_agentic();
        if !is_agent || node.under_tool {
            continue;
        }
        let known = agents.iter_mut().find(|agent| agent.name == node.agent_name);
        match known {
            // Each call repeats them, and reading them is expensive.
            Some(known) if known.is_complete() => {}
            Some(known) => read(&node.view, conventions, known),
            None => {
                let mut agent =
                    RecordedAgent { name: node.agent_name.clone(), ..RecordedAgent::default() };
                read(&node.view, conventions, &mut agent);
                agents.push(agent);
            }
        }
    }
    agents.retain(|agent| agent.instructions.is_some() || !agent.tools.is_empty());
    agents
}

/// Adds the agents of a later part of the turn.
pub(super) fn merge(agents: &mut Vec<RecordedAgent>, later: Vec<RecordedAgent>) {
    for agent in later {
        if !agents.iter().any(|known| known.name == agent.name) {
            agents.push(agent);
        }
    }
}

impl RecordedAgent {
    fn is_complete(&self) -> bool {
        self.instructions.is_some() && !self.tools.is_empty()
    }
}

/// Fills what is missing from a span.
fn read(view: &SpanView<'_>, conventions: &Conventions, agent: &mut RecordedAgent) {
    let mut setup = Setup::default();
    for convention in conventions.iter() {
        convention.read_setup(view.span, &view.logs, &mut setup);
    }
    if agent.instructions.is_none() {
        if let Some((text, attribute)) = setup.instructions {
            agent.instructions = Some(text);
            agent.instructions_source = Some(view.source(attribute));
        } else if let Some(text) = text_of(view.input.iter().filter(is_instruction)) {
            agent.instructions = Some(text);
            agent.instructions_source = view.input.source.clone();
        }
    }
    if agent.tools.is_empty()
        && let Some((tools, attribute)) = setup.tools
    {
        agent.tools = tools;
        agent.tools_source = Some(view.source(attribute));
    }
}

fn is_instruction(message: &&Message) -> bool {
    matches!(message.role.as_str(), "system" | "developer")
}
