//! The tool calls that graders of eval files ask for.

use evaluator_agentv::{
    model::{ArgsMatch, Check, ExpectedCall, Limit, Trajectory, TrajectoryMode},
    run::Plan,
};
use evaluator_host::{
    conversation::{Conversation, ToolCall},
    json::python_eq,
};

/// What decides whether an output has what is asked for.
type Meets<'p> = Box<dyn Fn(&Conversation) -> bool + 'p>;

/// Returns what tells whether an output of a test has the tool calls that the graders of this name ask for; `None` if they ask
/// for none.
pub(super) fn meets<'p>(plan: &'p Plan, number: usize, name: &str) -> Option<Meets<'p>> {
    let graders = plan.tests().nth(number)?.evaluators.iter().filter(|it| it.name == *name);
    let checks: Vec<&Check> = graders.map(|grader| &grader.check).collect();
    let asks = |check: &&Check| matches!(check, Check::Trajectory(_) | Check::Limits(_));
    (!checks.is_empty() && checks.iter().all(asks)).then(|| {
        Box::new(move |conversation: &Conversation| {
            let turns = conversation.turns.iter();
            let calls: Vec<&ToolCall> = turns.flat_map(|turn| &turn.tool_calls).collect();
            checks.iter().all(|check| has_calls(check, &calls))
        }) as Meets<'p>
    })
}

/// Returns true if calls are those that a grader asks for, by the meaning of its mode. Arguments count where they have to be equal.
fn has_calls(check: &Check, calls: &[&ToolCall]) -> bool {
    let number = |tool: &str| calls.iter().filter(|call| call.name == *tool).count();
    let is = |item: &ExpectedCall, call: &ToolCall| {
        let is_compared = item.args_match == ArgsMatch::Exact;
        let args = item.args.as_ref().filter(|_| is_compared);
        item.tool == call.name && args.is_none_or(|args| python_eq(args, &call.arguments))
    };
    let Trajectory { mode, minimums, expected, .. } = match check {
        Check::Trajectory(trajectory) => trajectory,
        Check::Limits(limits) => {
            return limits.limits.iter().all(|limit| match limit {
                Limit::ToolCalls(most) => calls.len() as f64 <= *most,
                // No damage changes what else is measured.
                _ => true,
            });
        }
        _ => return true,
    };
    match mode {
        TrajectoryMode::AnyOrder => {
            minimums.iter().all(|(tool, least)| number(tool) as u64 >= *least)
        }
        TrajectoryMode::InOrder => {
            let mut rest = calls.iter();
            expected.iter().all(|item| rest.any(|call| is(item, call)))
        }
        TrajectoryMode::Exact => {
            let pairs = expected.iter().zip(calls);
            expected.len() <= calls.len() && pairs.into_iter().all(|(item, call)| is(item, call))
        }
        TrajectoryMode::Superset => expected.iter().all(|item| {
            let wanted = expected.iter().filter(|other| other.tool == item.tool).count();
            wanted <= number(&item.tool)
        }),
        TrajectoryMode::Subset => {
            calls.iter().all(|call| expected.iter().any(|item| is(item, call)))
        }
    }
}
