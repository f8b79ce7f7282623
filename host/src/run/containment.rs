//! Containment of evaluators, and permissions of their programs.

use std::path::Path;

use evaluator_document::size;

use super::Runner;
use crate::{
    config::{CodeConfig, Config, EvaluatorConfig, EvaluatorKind, JudgeSettings},
    executor::{Contained, Containment, Executor, Visible},
    models::{Mode, is_program},
    report,
};

impl Runner {
    /// Returns the names of the evaluators that run code and are not contained: programs without an executor that contains
    /// them, linked evaluators, Python functions of graders, and judges and programs that ask a model `command:NAME`, which
    /// is named, too.
    pub fn uncontained(&self, config: &Config) -> Vec<String> {
        let names = config.evaluators.iter().filter_map(|it| self.uncontained_name(config, it));
        names.collect()
    }

    /// Returns true if an evaluator is not contained although its configuration demands it.
    pub(super) fn must_not_run(&self, config: &Config, evaluator: &EvaluatorConfig) -> bool {
        config.contain && self.uncontained_name(config, evaluator).is_some()
    }

    /// Returns the name of an evaluator that runs code and is not contained, with the model that is a program; else `None`.
    fn uncontained_name(&self, config: &Config, evaluator: &EvaluatorConfig) -> Option<String> {
        let is_uncontained = |kind: &EvaluatorKind| match kind {
            EvaluatorKind::Code(code) => !self.registries.executors.contains(&code.executor),
            EvaluatorKind::Remote(remote) => {
                !self.registries.executors.contains(&remote.program.executor)
            }
            EvaluatorKind::OpenAiEval(openai) => openai.grader.needs_python(),
            EvaluatorKind::Linked(_) => true,
            EvaluatorKind::Builtin(_) | EvaluatorKind::LlmJudge(_) => false,
        };
        let name = evaluator.name.clone();
        match self.program_model(config, evaluator) {
            Some(model) => Some(format!("{name} (its model is the program `{model}`)")),
            None => is_uncontained(&evaluator.kind).then_some(name),
        }
    }

    /// Returns the first model of an evaluator that is a program of this machine; `None` if it starts none. Such a program
    /// runs with the rights of the user, whatever contains the evaluator.
    pub(super) fn program_model(
        &self,
        config: &Config,
        evaluator: &EvaluatorConfig,
    ) -> Option<String> {
        let of_run = JudgeSettings::default();
        let own: Vec<&JudgeSettings> = match (self.judge_settings(evaluator), evaluator.models()) {
            (Some(own), _) => vec![own],
            (None, Some(program)) if program.models.is_empty() => vec![&of_run],
            (None, Some(program)) => program.models.iter().map(|(_, own)| own).collect(),
            (None, None) => Vec::new(),
        };
        let settings = own.into_iter().map(|own| own.over(&config.judge));
        // A replay starts nothing.
        let asking = settings.filter(|settings| settings.mode() != Mode::Replay);
        asking.flat_map(|settings| settings.models()).find(|model| is_program(model))
    }

    /// Returns the names of the evaluators whose programs come from a source and are not contained.
    pub fn uncontained_remotes<'c>(&self, config: &'c Config) -> Vec<&'c str> {
        let remotes = config.evaluators.iter().filter_map(|it| match &it.kind {
            EvaluatorKind::Remote(remote) => Some((it.name.as_str(), &remote.program.executor)),
            _ => None,
        });
        remotes
            .filter(|(_, executor)| !self.registries.executors.contains(executor))
            .map(|it| it.0)
            .collect()
    }
}

/// Returns true if a program reaches the proxy of its models, and no other server.
pub(super) fn is_proxied(executor: &dyn Executor, code: &CodeConfig) -> bool {
    code.models.is_some() && executor.listens(&code.containment)
}

/// Describes what a program with these settings may use, in one line; `None` if the executor does not contain programs.
/// `visible` is what its runtime needs, if that is known.
pub(super) fn describe(
    executor: &dyn Executor,
    code: &CodeConfig,
    visible: Option<&Visible>,
) -> Option<String> {
    if !executor.contains() {
        return None;
    }
    let containment = &*code.containment;
    let Containment { network, read, write, tmp, processes, .. } = containment;
    // It was checked before; what has changed since is an error of the start.
    let how = executor.check(containment).unwrap_or_else(|reason| reason);
    let mut parts = vec![format!("{}: {how}", executor.name())];
    let reached = match *network {
        true => "network",
        false if is_proxied(executor, code) => "no network but the proxy of its models",
        false => "no network",
    };
    parts.push(reached.to_owned());
    if let Some(visible) = visible {
        parts.extend(list("needs", visible.paths.iter().map(AsRef::as_ref)));
    }
    parts.extend(list("reads", read.iter().map(AsRef::as_ref)));
    parts.extend(list("writes", write.iter().map(AsRef::as_ref)));
    let limits = format!("{processes} processes and {} of temporary files", size::shown(*tmp));
    parts.push(match executor.contained(containment).and_then(|contained| contained.image) {
        Some(_) => limits,
        None => format!("{limits}; memory is limited for each process, not for all together"),
    });
    Some(parts.join("; "))
}

/// Lists paths after a word, each with the one that it links to.
fn list<'p>(word: &str, paths: impl Iterator<Item = &'p Path>) -> Option<String> {
    let shown = |path: &Path| match path.canonicalize() {
        Ok(real) if real != path => format!("{} -> {}", path.display(), real.display()),
        _ => path.display().to_string(),
    };
    let paths: Vec<String> = paths.map(shown).collect();
    (!paths.is_empty()).then(|| format!("{word} {}", paths.join(", ")))
}

/// Returns the containment of a program for its reports. `proxy`: it reaches the proxy of its models without network.
pub(super) fn reported(contained: Contained, proxy: bool) -> report::Contained {
    let mut reported = report::Contained::default();
    reported.executor = contained.executor;
    reported.level = contained.level;
    reported.landlock_abi = contained.landlock_abi;
    reported.namespaces = contained.namespaces;
    reported.network = contained.network;
    reported.proxy = proxy;
    reported.image = contained.image;
    reported
}
