//! Evaluators that stay prepared for documents from outside, such as those of the clients of a server.

use std::{path::Path, sync::Arc};

use evaluator_engine::{
    describe::Description,
    permits::Permits,
    prepared::{Input, PreparedEvaluator},
    retry,
    settings::ExecutionSettings,
    work::{MissingTurns, PlannedEvaluator, Program, Work},
};

use super::Runner;
use crate::{
    pool::Document,
    report::EvaluationReport,
    verdict::{Evaluation, Expected},
};

/// Prepares the evaluators of a [`Plan`](super::Plan) for documents from outside. All of them together run
/// [`Runner::jobs`] evaluations at a time.
#[derive(Debug)]
pub struct Residents {
    settings: ExecutionSettings,
    permits: Arc<Permits>,
}

/// An evaluator that stays prepared. Everything that does not depend on a document is done before the first one.
#[derive(derive_more::Debug)]
#[debug("Resident({:?})", prepared.name())]
pub struct Resident {
    prepared: PreparedEvaluator,
    permits: Arc<Permits>,
}

impl Residents {
    /// Starts without evaluators.
    pub fn new(runner: &Runner) -> Self {
        Self { settings: runner.execution(), permits: Arc::new(Permits::new(runner.jobs, false)) }
    }

    /// Prepares an evaluator under a name: the one of this name if its program [describes](PlannedEvaluator::describe)
    /// several. With `is_foreign`, its documents and answers are of another contract, and the text of an answer is not read.
    ///
    /// # Errors
    ///
    /// It evaluates recordings only, or is broken.
    pub fn prepare(
        &self,
        planned: &PlannedEvaluator,
        name: &str,
        description: Option<&Description>,
        is_foreign: bool,
    ) -> Result<Resident, String> {
        let work = match &planned.work {
            Work::Program(program) => Work::Program(Box::new(match description {
                Some(description) if description.evaluators.len() > 1 => choosing(program, name),
                _ => (**program).clone(),
            })),
            Work::Linked { evaluator, timeout, config, contract } => Work::Linked {
                evaluator: Arc::clone(evaluator),
                timeout: *timeout,
                config: config.clone(),
                contract: *contract,
            },
            Work::Metric { .. }
            | Work::Judge(_)
            | Work::Grader(_)
            | Work::Suite(_)
            | Work::Broken(_) => {
                return Err("it evaluates no documents".to_owned());
            }
        };
        let planned = PlannedEvaluator {
            name: name.to_owned(),
            threshold: planned.threshold,
            missing_turns: MissingTurns::default(),
            repeat: 1,
            work,
            fingerprint: None,
        };
        // The number of documents is not known.
        let mut prepared = PreparedEvaluator::new(planned, &self.settings, usize::MAX);
        let may_stay = description.is_some_and(|it| it.numbers() && prepared.may_stream(it));
        let expected = if is_foreign { Expected::Anything } else { Expected::Result };
        prepared.keep_warm(may_stay, expected, &self.permits);
        Ok(Resident { prepared, permits: Arc::clone(&self.permits) })
    }
}

impl Resident {
    /// Evaluates a document, which contains all settings. Waits for a free worker; dropping the future cancels the evaluation.
    pub async fn evaluate(&self, document: &[u8]) -> Evaluation {
        let document = Document::from(document);
        retry::evaluate(&self.prepared, Input::Document(&document, 0), &self.permits).await
    }

    /// Returns the report of an evaluation.
    pub fn report(&self, evaluation: Evaluation) -> EvaluationReport {
        self.prepared.report(evaluation)
    }

    /// Returns a file of its program that has changed or was deleted since it was planned.
    pub fn outdated_file(&self) -> Option<&Path> {
        let Work::Program(program) = &self.prepared.evaluator.work else { return None };
        program.snapshot.outdated_file()
    }

    /// Stops all workers.
    pub async fn stop(self) {
        self.prepared.stop().await;
    }
}

/// Returns the program with one of its evaluators chosen: documents of most contracts do not name the evaluator.
fn choosing(program: &Program, name: &str) -> Program {
    let mut program = program.clone();
    let choice = ["--evaluator".into(), name.into()];
    if program.one_shot.args.contains(&choice[0]) {
        return program;
    }
    program.one_shot.args.extend(choice.clone());
    program.forked.command.args.extend(choice.clone());
    if let Some(worker) = &mut program.worker {
        worker.args.extend(choice);
    }
    program
}
