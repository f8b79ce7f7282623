//! What an evaluator gets for one conversation, without evaluating it.

use evaluator_engine::{
    prepared::{Input, PreparedEvaluator},
    recording::Recording,
    work::Work,
};

use super::{Request, RunEvent, Runner, stages::with_policy};
use crate::{
    eval_set::CaseIndex,
    process::CommandSpec,
    report::run_file::{Digest, Header},
};

/// What the first evaluator of a request gets for its first conversation.
#[derive(Debug)]
#[non_exhaustive]
pub struct Preview {
    /// Header that the run would have. It has fingerprints with [`Runner::identify`].
    pub header: Header,
    /// Digest of what evaluators see of the recording; `None` if it is not known before.
    pub content: Option<Digest>,
    /// Id of the golden case that the conversation is compared with.
    pub eval_case_id: Option<String>,
    /// The document that a program reads; `None` if no program reads one.
    pub document: Option<Vec<u8>>,
    /// Command of the program, as it is started for one document; else the reason why the program cannot be started without
    /// the host, as a clause.
    pub command: Result<CommandSpec, String>,
}

impl Runner {
    /// Loads the traces of a request, prepares its evaluators, and returns what the first one gets for the first conversation.
    /// Starts no evaluation.
    ///
    /// # Errors
    ///
    /// The traces have no conversation that can be evaluated, or there is no evaluator: a message.
    pub async fn preview(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Preview, String> {
        let config = &request.config;
        let mut report = with_policy(config);
        let opened = self.load_conversations(request, &mut report, on_event).await;
        let Some((conversations, eval_set)) = opened else { return Err(report.errors.join("\n")) };
        let cases = CaseIndex::new(eval_set.as_ref()).strict(config.strict_matching);
        let conversation = conversations.load(0).map_err(|error| error.to_string())?;
        if !conversation.errors.is_empty() {
            return Err(format!("the recording is unusable: {}", conversation.errors.join("; ")));
        }
        if conversation.turns.is_empty() {
            return Err("the recording has no turns".to_owned());
        }
        let matched = cases.find(&conversation, conversations.of_run());
        let golden = matched.map(|matched| matched.case.clone());
        let scenario = cases.scenario(&conversation, conversations.of_run()).cloned();
        let recording = Recording::new(conversations.position(0), conversation, golden);
        let recording = recording.with_scenario(scenario);
        let plan = self.planned(request, false, on_event).await;
        let header = self.header(request, &plan, &conversations, eval_set.as_ref(), &report);
        let evaluator = plan.evaluators.into_iter().next();
        let evaluator = evaluator.ok_or("there is no evaluator")?;
        let prepared = PreparedEvaluator::new(evaluator, &self.execution_of(config), 1);
        Ok(Preview {
            header,
            content: prepared.content(&recording),
            eval_case_id: recording.case().map(|case| case.id.clone()),
            document: prepared.document(Input::Recording(&recording, 0)).map(|it| it.text()),
            command: command(&prepared),
        })
    }
}

/// Returns the command of a program.
///
/// # Errors
///
/// The program cannot be started without the host: the reason.
fn command(prepared: &PreparedEvaluator) -> Result<CommandSpec, String> {
    let Work::Program(program) = &prepared.evaluator.work else {
        return Err(match prepared.evaluator.problem() {
            Some(problem) => format!("it cannot be started: {problem}"),
            None => "it is not a program with a process of its own".to_owned(),
        });
    };
    if program.contained.is_some() || program.forked.executor.contains() {
        let executor = program.forked.executor.name();
        return Err(format!(
            "it is contained (`executor: {executor}`), and a shell would not contain it"
        ));
    }
    if program.driver.is_some() {
        return Err("its function is called by a file that exists only while it runs".to_owned());
    }
    if program.target.is_some() {
        return Err("it asks models through its host".to_owned());
    }
    Ok(program.one_shot.clone())
}
