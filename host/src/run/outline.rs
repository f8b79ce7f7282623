//! What a run is before it has conversations: its header, and what its programs were prepared from.

use std::path::PathBuf;

use super::{Request, RunEvent, Runner, fingerprint, program_file::program_file};
use crate::{
    config::{CodeConfig, Config, EvaluatorConfig, EvaluatorKind},
    conversation::GroupedBy,
    report::run_file::Header,
    runtime::{Entrypoint, Inputs, Launch},
};

/// Result of [`Runner::outline`].
#[derive(Debug)]
#[non_exhaustive]
pub struct Outline {
    /// Header that a stream of conversations would have, with fingerprints and without golden cases.
    pub header: Header,
    /// The programs of evaluators, in the order of the configuration.
    pub programs: Vec<OutlinedProgram>,
    /// Evaluators that ask a program in place of a model, with the name of that.
    pub model_programs: Vec<(String, String)>,
}

/// A program that was prepared.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutlinedProgram {
    /// Name of its evaluator.
    pub evaluator: String,
    /// File from which it was prepared.
    pub entrypoint: Entrypoint,
    /// Commands as its runtime starts them, without its executor.
    pub launch: Launch,
    /// What it consists of.
    pub inputs: Inputs,
    /// Files in the cache, of a program that was fetched.
    pub fetched: Vec<PathBuf>,
}

impl Runner {
    /// Prepares the evaluators of a configuration as [`pipe`](Self::pipe) does, and returns what they were prepared from. Starts
    /// no evaluation.
    ///
    /// # Errors
    ///
    /// An evaluator cannot be prepared: a message that names it.
    pub async fn outline(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Outline, String> {
        let runner = Self { identify: true, ..self.clone() };
        let config = &request.config;
        let plan = runner.planned(request, false, on_event).await;
        if let Some(reason) = plan.refusal.clone().or_else(|| plan.unprepared()) {
            return Err(reason);
        }
        let grouping = config.group_by.map(GroupedBy::requested);
        let header = fingerprint::header(config, &plan.evaluators, None, grouping, true);
        let programs = runner.programs(config, on_event)?;
        let asks =
            |it: &EvaluatorConfig| Some((it.name.clone(), runner.program_model(config, it)?));
        let model_programs = config.evaluators.iter().filter_map(asks).collect();
        Ok(Outline { header, programs, model_programs })
    }

    /// Prepares the programs again, of which everything is there now.
    fn programs(
        &self,
        config: &Config,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Vec<OutlinedProgram>, String> {
        let mut located = Vec::new();
        for evaluator in &config.evaluators {
            let Some((code, fetched)) = self.located(evaluator, config, on_event)? else {
                continue;
            };
            let contains = self.registries.executors.contains(&code.executor);
            let entrypoint = code.entrypoint(program_file(&code), contains);
            located.push((evaluator.name.clone(), entrypoint, fetched));
        }
        let entrypoints: Vec<Entrypoint> = located.iter().map(|it| it.1.clone()).collect();
        let runtimes = &self.registries.runtimes;
        let launches = runtimes.prepare_all(&entrypoints, &self.cancellation, &mut |event| {
            on_event(RunEvent::Prepare(event));
        });
        let outlined = |((evaluator, entrypoint, fetched), launch): (_, Result<Launch, _>)| {
            let failed = |error| format!("`{evaluator}` cannot be prepared: {error}");
            let launch = launch.map_err(failed)?;
            let inputs = runtimes.inputs(&entrypoint, &launch);
            Ok(OutlinedProgram { evaluator, entrypoint, launch, inputs, fetched })
        };
        located.into_iter().zip(launches).map(outlined).collect()
    }

    /// Returns the program of an evaluator with its file, and the files of it that were fetched.
    fn located(
        &self,
        evaluator: &EvaluatorConfig,
        config: &Config,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Result<Option<(CodeConfig, Vec<PathBuf>)>, String> {
        match &evaluator.kind {
            EvaluatorKind::Code(code) => Ok(Some((code.clone(), Vec::new()))),
            EvaluatorKind::Remote(remote) => {
                let wanted = [remote.wanted.clone()];
                let resolved = self.fetch(&wanted, config, on_event).into_iter().next();
                let resolved = resolved.ok_or_else(|| format!("{} was not fetched", wanted[0]))?;
                let resolved = resolved.map_err(|error| error.to_string())?;
                Ok(Some((remote.at(resolved.path), resolved.files)))
            }
            _ => Ok(None),
        }
    }
}
