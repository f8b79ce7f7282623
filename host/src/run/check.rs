//! Checks whether everything that a configuration names exists.

use std::path::PathBuf;

use evaluator_engine::context::working_directory;

use super::{
    Runner,
    containment::describe,
    diagnosis::{self, ExpectedContent},
    program_file::{not_contained, not_ready, program_file},
};
use crate::{
    config::{BuiltinConfig, CodeConfig, Config, EvaluatorKind, OpenAiEvalConfig, RemoteConfig},
    eval_set::EvalSet,
    executor::{Containment, Docker, Executor, Image, Scope},
    hosts::{Call, Mismatch},
    json::{NonFinite, Object, Value, to_string},
    judging::judge::JudgeMetric,
    process::CommandSpec,
    runtime::{Built, Entrypoint, Launch},
};

/// Result of the check of one entry of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Name of the evaluator, or `eval set`.
    pub subject: String,
    /// Description, e.g. `checks/polite.py (Python: /usr/bin/python3)`, or the error.
    pub result: Result<String, String>,
}

impl Runner {
    /// Looks for every metric, file, runtime, executor and eval set that `config` names, in the order of the file.
    /// Builds, fetches and starts nothing.
    pub fn check(&self, config: &Config) -> Vec<Finding> {
        let eval_set = config.eval_set.as_deref().map(|path| {
            let result = EvalSet::load(path)
                .map(|set| format!("{} ({} cases)", path.display(), set.cases.len()))
                .map_err(|error| match diagnosis::hint(path, ExpectedContent::EvalSet) {
                    Some(hint) => format!("{error} ({hint})"),
                    None => error.to_string(),
                });
            Finding { subject: "eval set".to_owned(), result }
        });
        let evaluators = config.evaluators.iter().map(|evaluator| {
            let result = match &evaluator.kind {
                EvaluatorKind::Builtin(builtin) => self.check_metric(&evaluator.name, builtin),
                EvaluatorKind::Code(code) => self.check_program(code),
                EvaluatorKind::OpenAiEval(openai) => check_grader(openai),
                EvaluatorKind::LlmJudge(_) => Ok("judged by a model".to_owned()),
                EvaluatorKind::Remote(remote) => self.check_remote(remote, config),
                EvaluatorKind::Linked(_) => match self.registries.linked.get(&evaluator.name) {
                    Ok(_) => Ok("linked into this program".to_owned()),
                    Err(error) => Err(error.to_string()),
                },
            };
            Finding { subject: evaluator.name.clone(), result }
        });
        eval_set.into_iter().chain(evaluators).collect()
    }

    fn check_metric(&self, name: &str, builtin: &BuiltinConfig) -> Result<String, String> {
        let metric = self.registries.metrics.configured(name, &builtin.settings)?;
        match metric.unavailable() {
            Some(reason) => Err(reason.to_owned()),
            None if JudgeMetric::judge_of(&*metric).is_some() => {
                Ok("built-in metric, judged by a model".to_owned())
            }
            None => Ok("built-in metric".to_owned()),
        }
    }

    fn check_remote(&self, remote: &RemoteConfig, config: &Config) -> Result<String, String> {
        let containment = &remote.program.containment;
        let executor = self.registries.executors.get(&remote.program.executor, containment)?;
        let contained = describe(executor.as_ref(), &remote.program, None);
        let contained = contained.map(|contained| format!("; {contained}")).unwrap_or_default();
        let image = executor.image(&nothing_downloaded(containment));
        if let Ok(image) = &image {
            check_shown(executor.as_ref(), &remote.program, image.as_ref(), None)?;
        }
        let (found, cached) =
            self.peek(&remote.wanted, config).map_err(|error| error.to_string())?;
        if let Some(path) = cached {
            let image = match image {
                Err(_) if containment.docker.pull => return Ok(found + &contained),
                image => image?,
            };
            return self
                .inspect_cached(path, image)
                .map(|detail| format!("{found} ({detail}){contained}"));
        }
        // The extension decides the runtime.
        let extension = remote.wanted.reference.extension();
        let runtime =
            self.registries.runtimes.iter().rev().find(|it| it.extensions().contains(&&*extension));
        let runtime = runtime.ok_or_else(|| format!("no runtime runs `{extension}` files"))?;
        match runtime.availability() {
            Ok(_) => Ok(found + &contained),
            Err(reason) => Err(format!("runtime not available: {reason}")),
        }
    }

    /// Returns the runtime of an evaluator that was fetched before.
    fn inspect_cached(&self, path: PathBuf, image: Option<Image>) -> Result<String, String> {
        let entrypoint = Entrypoint { fetched: true, image, ..Entrypoint::from(path) };
        let runtime = self.registries.runtimes.for_path(&entrypoint.path);
        let inspected = runtime.and_then(|runtime| {
            Ok(format!("{}: {}", runtime.name(), runtime.inspect(&entrypoint)?))
        });
        inspected.map_err(|error| error.to_string())
    }

    fn check_program(&self, code: &CodeConfig) -> Result<String, String> {
        let executor = self.registries.executors.get(&code.executor, &code.containment)?;
        working_directory(code.process.cwd.as_deref())?;
        code.library.as_ref().map_or(Ok(()), |metric| metric.write())?;
        let path = program_file(code);
        let entrypoint = code.entrypoint(path, executor.contains());
        let image = match executor.image(&nothing_downloaded(&code.containment)) {
            // Only the image, which will be downloaded, can tell more.
            Err(_) if code.containment.docker.pull => {
                let contained = describe(executor.as_ref(), code, None);
                let path = entrypoint.path.display();
                return Ok(format!("{path}; {}", contained.unwrap_or_default()));
            }
            image => image?,
        };
        let variables = code.process.env.variables.iter().map(|(name, _)| name.clone()).collect();
        let entrypoint = Entrypoint { image: image.clone(), variables, ..entrypoint };
        let runtime = self
            .registries
            .runtimes
            .for_path(&entrypoint.path)
            .map_err(|error| not_ready(&error, code))?;
        let detail = runtime.inspect(&entrypoint).map_err(|error| not_ready(&error, code))?;
        let call = Call::of(code.contract, code.function.as_deref(), &entrypoint.path);
        if let Some(call) = call {
            call.check(&entrypoint.path)?;
        } else if let Some(mismatch) = Mismatch::of(&entrypoint.path, code.contract) {
            return Err(format!("{}: {mismatch}", entrypoint.path.display()));
        }
        let what = match &code.library {
            Some(metric) => called(&metric.metric, &code.config),
            None => entrypoint.path.display().to_string(),
        };
        let found = format!("{what} ({}: {detail})", runtime.name());
        // Runtimes find the files that they need when they prepare the program.
        let launch = match runtime.built(&entrypoint) {
            Built::Ready(launch) => Some(*launch),
            _ => None,
        };
        let visible = launch.as_ref().map(|launch| launch.visible.clone());
        check_shown(executor.as_ref(), code, image.as_ref(), launch)?;
        Ok(match describe(executor.as_ref(), code, visible.as_ref()) {
            Some(contained) if visible.is_some() => format!("{found}; {contained}"),
            Some(contained) => {
                let source = match runtime.package_directory(&entrypoint) {
                    Some(directory) => format!("all of its package {}", directory.display()),
                    None => "its source".to_owned(),
                };
                format!("{found}; {contained}; needs {source} and {}", runtime.name())
            }
            None => found,
        })
    }
}

/// Returns a metric of a library with its arguments, as its entry names them.
fn called(metric: &str, config: &Object) -> String {
    let args = config.get("args").and_then(Value::as_object).into_iter().flatten();
    let args = args.map(|(name, value)| format!("{name}={}", to_string(value, NonFinite::Literal)));
    let args = args.collect::<Vec<_>>().join(", ");
    format!("{metric}({args})")
}

/// Checks that a contained program can be shown what it needs and what its entry names, as a run does before it starts the
/// program.
fn check_shown(
    executor: &dyn Executor,
    code: &CodeConfig,
    image: Option<&Image>,
    launch: Option<Launch>,
) -> Result<(), String> {
    let cwd = working_directory(code.process.cwd.as_deref())?;
    if !executor.contains() {
        return Ok(());
    }
    // The command of a program that is not built is not known. A shell needs nothing that the system does not show.
    let launch = launch.unwrap_or_else(|| Launch::new(CommandSpec::new("sh")));
    let command = CommandSpec { cwd: cwd.or(launch.one_shot.cwd.clone()), ..launch.one_shot };
    let scope = Scope { image, ..Scope::new(&code.containment, &launch.visible) };
    let wrapped = executor.wrap(command, &scope);
    wrapped.map(drop).map_err(|reason| not_contained(code, &reason))
}

/// Returns the settings with which no image is downloaded.
fn nothing_downloaded(containment: &Containment) -> Containment {
    let docker = Docker { pull: false, ..containment.docker.clone() };
    Containment { docker, ..containment.clone() }
}

fn check_grader(openai: &OpenAiEvalConfig) -> Result<String, String> {
    let (kind, models) = (openai.grader.kind(), openai.judge.iter().flat_map(|it| &it.models));
    let models = models.map(String::as_str).collect::<Vec<_>>().join(", ");
    Ok(match &*models {
        "" => format!("{kind} grader, computed here"),
        models => format!("{kind} grader, asks {models}"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::EvaluatorConfig;

    #[test]
    fn everything_that_is_named_is_looked_for() {
        let mut config = Config { eval_set: Some("no/such/set.json".into()), ..Config::default() };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        config.evaluators = vec![
            EvaluatorConfig::builtin("tool_trajectory_avg_score"),
            EvaluatorConfig::builtin("tool_trajectory_avg_scor"),
            EvaluatorConfig::builtin("safety_v1"),
            EvaluatorConfig::code("rust", here.join("src/lib.rs")),
            EvaluatorConfig::code("gone", "no/such/file.rs"),
            EvaluatorConfig::code("text", here.join("Cargo.lock.txt")),
        ];
        let mut elsewhere = EvaluatorConfig::code("elsewhere", here.join("src/lib.rs"));
        if let EvaluatorKind::Code(code) = &mut elsewhere.kind {
            code.executor = "moon".to_owned();
        }
        config.evaluators.push(elsewhere);
        let found: Vec<(String, bool)> = Runner::default()
            .check(&config)
            .into_iter()
            .map(|finding| (finding.subject, finding.result.is_ok()))
            .collect();
        let expected = [
            ("eval set", false),
            ("tool_trajectory_avg_score", true),
            ("tool_trajectory_avg_scor", false),
            ("safety_v1", false),
            ("rust", true),
            ("gone", false),
            ("text", false),
            ("elsewhere", false),
        ];
        assert_eq!(found, expected.map(|(subject, ok)| (subject.to_owned(), ok)));
    }
}
