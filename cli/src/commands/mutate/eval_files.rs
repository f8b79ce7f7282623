//! The tests of an eval file, whose graders are tried on damaged outputs.

use std::{collections::HashMap, path::Path, sync::Arc};

use evaluator_agentv::{
    model::{Check, Evaluator, Limit, TextCheck, Trajectory, TrajectoryMode},
    run::Plan,
};
use evaluator_host::{
    config::Config,
    conversation::Conversation,
    document::did_you_mean,
    eval_set::EvalCase,
    run::{ConversationSource, Runner, Suite as _},
    trace::ReadError,
};
use evaluator_mutation::{Effect, Expectations, Kind};

use super::{
    super::{eval_file, unusable},
    sources::Originals,
    trials::{FEWEST, RAISED, Subjected, Tested},
};
use crate::args::{MutateArgs, RunArgs};

/// Recorded outputs of tests.
#[derive(Debug)]
pub(super) struct Outputs {
    plan: Arc<Plan>,
    golden: Vec<Option<EvalCase>>,
}

impl ConversationSource for Outputs {
    fn len(&self) -> usize {
        self.golden.len()
    }

    fn trace_id(&self, number: usize) -> Arc<str> {
        Arc::clone(&self.plan.ids()[number])
    }

    fn load(&self, number: usize) -> Result<Conversation, ReadError> {
        Ok(self.plan.conversation(number))
    }
}

impl Originals for Outputs {
    fn goldens(&self, numbers: &[usize]) -> Result<HashMap<usize, usize>, ReadError> {
        let golden = numbers.iter().filter(|number| self.golden[**number].is_some());
        Ok(golden.map(|number| (*number, *number)).collect())
    }

    fn golden_case(&self, key: usize) -> Option<&EvalCase> {
        self.golden.get(key)?.as_ref()
    }
}

/// Returns the graders of an eval file that are tried. Its outputs have to be recorded.
pub(super) fn tested(
    file: &Path,
    (args, mut run_args): (&MutateArgs, RunArgs),
    runner: &mut Runner,
) -> Result<Tested, u8> {
    run_args.judge.judge_budget.clone_from(&args.judge.judge_budget);
    let plan = Arc::new(eval_file::planned(file, &mut run_args, false, runner)?);
    if let Some(id) = plan.asked().next() {
        return Err(unusable(format!(
            "the output of the test `{id}` is not recorded, and `mutate` damages recorded outputs: name them with --outputs, \
             e.g. a saved run of AgentV, or test a target of the provider `replay`"
        )));
    }
    let mut config = Config::default();
    eval_file::configure(&mut config, &run_args);
    let golden = (0..plan.tests().count()).map(|number| plan.golden(number)).collect();
    let originals = Arc::new(Outputs { plan: Arc::clone(&plan), golden });
    let subjected = subjected(&plan, &args.named).map_err(unusable)?;
    runner.session = Some(plan.session());
    Ok(Tested { originals, tests: Some(plan), config, subjected, paths: HashMap::new() })
}

/// Returns the graders that are tried: those with these names, else the tests as a whole and each grader of enough tests.
fn subjected(plan: &Plan, named: &[String]) -> Result<Vec<Subjected>, String> {
    let suite = plan.name();
    let mut graders: Vec<(&str, usize, Expectations)> =
        vec![(suite, usize::MAX, Expectations::default())];
    for test in plan.tests() {
        for grader in &test.evaluators {
            if grader.name == suite {
                return Err(format!(
                    "the eval file and a grader of its test `{}` are both called `{suite}`, so their results cannot be told apart; rename one",
                    test.id
                ));
            }
            let expected = expectations(grader);
            match graders.iter_mut().find(|(name, ..)| *name == grader.name) {
                None => graders.push((&grader.name, 1, expected)),
                Some((_, count, known)) => {
                    *count = count.saturating_add(1);
                    // Of graders of several kinds with the same name, nothing is known.
                    if *known != expected {
                        *known = Expectations::default();
                    }
                }
            }
        }
    }
    let names = || graders.iter().map(|(name, ..)| *name);
    if let Some(name) = named.iter().find(|name| !names().any(|known| known == **name)) {
        let hint = did_you_mean(name, names())
            .unwrap_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")));
        return Err(format!("the eval file has no grader `{name}`; {hint}"));
    }
    let is_tried = |(name, count, _): &&(&str, usize, Expectations)| match named.is_empty() {
        true => *count >= FEWEST,
        false => named.iter().any(|wanted| wanted == name),
    };
    let tried = graders.iter().filter(is_tried).map(|(name, _, expectations)| {
        let mut expectations = expectations.clone();
        // An output without an answer is an error before anything is graded, it has no times, graders have no threshold, and
        // outputs have no keys that are unknown.
        let mut skip = vec!["null_answer", "shift_times", "unknown_keys", RAISED];
        if expectations.kind != Some(Kind::Answer) {
            // What is expected is an answer without tool calls.
            skip.push("golden");
        }
        expectations.skip.extend(skip.into_iter().map(str::to_owned));
        Subjected::new(name, expectations, 1.0, "test")
    });
    Ok(tried.collect())
}

/// Returns what a grader has to notice, as far as its type says so.
fn expectations(grader: &Evaluator) -> Expectations {
    match &grader.check {
        _ if grader.negate => Expectations::default(),
        // Any text of the right form passes.
        Check::Text(TextCheck::IsJson) => {
            Expectations::of(Kind::Form).with(&["echo_question", "refuse"], Effect::Any)
        }
        Check::Text(TextCheck::Matches(_)) | Check::Program(_) | Check::Composite(_) => {
            Expectations::default()
        }
        Check::Text(TextCheck::StartsWith(_)) => {
            Expectations::of(Kind::Answer).with(&["truncate_answer", "leak_golden"], Effect::Any)
        }
        // The text that is looked for is that of the grader.
        Check::Text(_) | Check::Fields(_) => {
            Expectations::of(Kind::Answer).with(&["leak_golden"], Effect::Any)
        }
        Check::Trajectory(trajectory) => of_calls(trajectory),
        Check::Limits(limits) => {
            let explores = limits.limits.iter().any(|it| matches!(it, Limit::Exploration { .. }));
            let renamed = if explores { Effect::Any } else { Effect::Same };
            Expectations::of(Kind::Budget).with(&["rename_tool"], renamed)
        }
        // Its prompt has no results of tools.
        Check::Judge(_) => {
            Expectations::of(Kind::Rubric).with(&["error_result", "claim_success"], Effect::Any)
        }
    }
}

/// Returns what a grader of tool calls has to notice. The loss of what it asks for has to be noticed also where `any` is said here.
fn of_calls(trajectory: &Trajectory) -> Expectations {
    const ARGUMENTS: [&str; 3] = ["change_arg", "drop_arg", "add_arg"];
    // In all modes, calls behind the expected ones cost nothing, or may cost nothing.
    let expectations = Expectations::of(Kind::Tools)
        .with(&["error_result", "claim_success"], Effect::Same)
        .with(&["duplicate_call"], Effect::Any);
    match trajectory.mode {
        TrajectoryMode::Exact | TrajectoryMode::InOrder => {
            expectations.with(&ARGUMENTS, Effect::Any)
        }
        TrajectoryMode::AnyOrder => {
            expectations.with(&ARGUMENTS, Effect::Same).with(&["swap_calls"], Effect::Same)
        }
        TrajectoryMode::Superset => {
            expectations.with(&ARGUMENTS, Effect::Any).with(&["swap_calls"], Effect::Same)
        }
        // Fewer calls are fine.
        TrajectoryMode::Subset => expectations
            .with(&ARGUMENTS, Effect::Any)
            .with(&["swap_calls"], Effect::Same)
            .with(&["drop_call"], Effect::Any),
    }
}
