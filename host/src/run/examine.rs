//! Compares configurations with the descriptions of programs: names of evaluators and their settings.

use std::{sync::Arc, time::Duration};

use evaluator_document::did_you_mean;
use serde_json::Value;

use super::{
    Finding, RunEvent, Runner, describe, library,
    program_file::{execution_context, program_file},
};
use crate::{
    config::{CodeConfig, Config, EvaluatorKind},
    executor::{Executor, Scope},
    json,
    process::CommandSpec,
    runtime::{Built, Entrypoint, Environment, EnvironmentFilter, Inherit, Launch, PrepareError},
};

/// Time limit for a program to describe itself.
const LIMIT: Duration = Duration::from_secs(10);

/// Result of [`Runner::examine`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Examination {
    /// Problems in the order of the configuration.
    pub problems: Vec<Finding>,
    /// Evaluators whose program was not built, or has changed since, so that it was not compared.
    pub not_built: Vec<String>,
}

/// An entry with the program to compare.
struct Examined<'c> {
    name: &'c str,
    code: &'c CodeConfig,
    executor: Arc<dyn Executor>,
    entrypoint: Entrypoint,
    environment: &'c Environment,
}

impl Examined<'_> {
    /// Returns the command of the program in its executor.
    fn command(&self, launch: Launch) -> Result<CommandSpec, String> {
        let containment = &self.code.containment;
        let image = self.executor.image(containment)?;
        let scope = Scope { image: image.as_ref(), ..Scope::new(containment, &launch.visible) };
        self.executor.wrap(launch.one_shot, &scope)
    }
}

impl Runner {
    /// Compares the entries of `config` with the descriptions of their programs. Programs that are not built are built with
    /// `build`, and left out without it, as are programs without a description.
    ///
    /// Must be called inside a tokio runtime with time and I/O enabled. Blocks while it builds.
    pub async fn examine(
        &self,
        config: &Config,
        build: bool,
        on_event: &mut dyn FnMut(RunEvent),
    ) -> Examination {
        let environment = &config.environment();
        let programs: Vec<Examined<'_>> = config
            .evaluators
            .iter()
            .filter_map(|evaluator| {
                let EvaluatorKind::Code(code) = &evaluator.kind else { return None };
                // `check` reports executors that are not available.
                let executor =
                    self.registries.executors.get(&code.executor, &code.containment).ok()?;
                let entrypoint = code.entrypoint(program_file(code), executor.contains());
                Some(Examined { name: &evaluator.name, code, executor, entrypoint, environment })
            })
            .collect();
        let entrypoints: Vec<Entrypoint> =
            programs.iter().map(|it| it.entrypoint.clone()).collect();
        let mut examination = Examination::default();
        let launches: Vec<_> = if build {
            let mut on_event = |event| on_event(RunEvent::Prepare(event));
            let launches = self.registries.runtimes.prepare_all(
                &entrypoints,
                &self.cancellation,
                &mut on_event,
            );
            launches.into_iter().map(built).collect()
        } else {
            programs.iter().map(|it| self.state(it)).collect()
        };
        for (examined, launch) in programs.iter().zip(launches) {
            let problem = match launch {
                Ok(Built::Ready(launch)) => self.compare(examined, *launch).await,
                Ok(Built::Stale) => {
                    examination.not_built.push(examined.name.to_owned());
                    Ok(())
                }
                Ok(Built::Unknown) => Ok(()),
                Err(problem) => Err(problem),
            };
            if let Err(problem) = problem {
                let subject = examined.name.to_owned();
                examination.problems.push(Finding { subject, result: Err(problem) });
            }
        }
        examination
    }

    /// Returns the state of a program without building it.
    fn state(&self, Examined { code, entrypoint, .. }: &Examined<'_>) -> Result<Built, String> {
        if code.library.is_some() {
            return self.installed(entrypoint);
        }
        // `check` reports unusable files.
        let runtime = self.registries.runtimes.for_path(&entrypoint.path);
        Ok(runtime.map_or(Built::Unknown, |runtime| runtime.built(entrypoint)))
    }

    /// Returns the program that calls the metric of a library, if its packages are installed.
    fn installed(&self, entrypoint: &Entrypoint) -> Result<Built, String> {
        let runtimes = self.registries.runtimes.clone().without_installing();
        let launch = runtimes.prepare(entrypoint, &self.cancellation, &mut |_| {});
        // `check` reports what is not a missing package.
        Ok(launch.map_or(Built::Stale, |launch| Built::Ready(Box::new(launch))))
    }

    /// Asks a library about the metric of an entry.
    async fn ask_library(&self, examined: &Examined<'_>, launch: Launch) -> Result<(), String> {
        let Examined { code, executor, environment, .. } = examined;
        let context = execution_context(code, executor.contains(), environment)?;
        let command = examined.command(context.apply(launch))?;
        let entry = (&code.config, code.timeout);
        match library::ask(&command, entry, &self.cancellation).await? {
            library::Examined::Mistake(reason) => Err(reason),
            library::Examined::Works { .. } => Ok(()),
        }
    }

    /// Compares an entry with the description of its program, if it has one.
    async fn compare(&self, examined: &Examined<'_>, launch: Launch) -> Result<(), String> {
        let Examined { name, code, environment, .. } = examined;
        if code.library.is_some() {
            return self.ask_library(examined, launch).await;
        }
        // A program with arguments may choose its evaluator by them.
        if launch.worker.is_none() || !code.args.is_empty() {
            return Ok(());
        }
        let visible = EnvironmentFilter::new(environment, Inherit::Open, &[]);
        let command = examined.command(launch.seeing(&visible))?;
        let Some(description) = describe(&command, LIMIT, &self.cancellation).await else {
            return Ok(());
        };
        let known = || description.evaluators.iter().map(|it| it.name.as_str());
        let evaluator = match description.evaluators.as_slice() {
            [] => return Ok(()),
            // A single evaluator may have another name than its entry.
            [only] => only,
            several => several.iter().find(|it| it.name == *name).ok_or_else(|| {
                let hint = did_you_mean(name, known()).unwrap_or_else(|| {
                    format!("it has {}", known().collect::<Vec<_>>().join(", "))
                });
                format!("its program has no evaluator called `{name}` ({hint})")
            })?,
        };
        match &evaluator.config_schema {
            Some(schema) => {
                conforms(schema, &Value::from(&json::Value::Object(code.config.clone())))
            }
            None => Ok(()),
        }
    }
}

/// Converts the result of a build; a program that does not compile is a problem.
fn built(launch: Result<Launch, PrepareError>) -> Result<Built, String> {
    match launch {
        Ok(launch) => Ok(Built::Ready(Box::new(launch))),
        Err(PrepareError::BuildFailed { summary, .. }) => Err(summary),
        Err(error @ PrepareError::InstallFailed { .. }) => Err(error.to_string()),
        // `check` reports all other errors.
        Err(_) => Ok(Built::Unknown),
    }
}

/// Validates the settings of an entry against the JSON Schema of its evaluator.
///
/// # Errors
///
/// The settings violate the schema; the error names the keys.
pub fn conforms(schema: &Value, config: &Value) -> Result<(), String> {
    /// Name of the schema, which is not a file.
    const LOCATION: &str = "schema:config";
    let mut compiler = boon::Compiler::new();
    let mut schemas = boon::Schemas::new();
    // An unusable schema has no rules for the settings.
    let Ok(()) = compiler.add_resource(LOCATION, schema.clone()) else { return Ok(()) };
    let Ok(index) = compiler.compile(LOCATION, &mut schemas) else { return Ok(()) };
    schemas.validate(config, index).map_err(|error| {
        let mut causes = Vec::new();
        leaves(&error, schema, &mut causes);
        format!("its `config` is not what the evaluator takes: {}", causes.join("; "))
    })
}

/// Collects the innermost causes, each with its location in the settings.
fn leaves(error: &boon::ValidationError<'_, '_>, schema: &Value, causes: &mut Vec<String>) {
    let place = error.instance_location.to_string();
    match &error.kind {
        boon::ErrorKind::AdditionalProperties { got } if place.is_empty() => {
            causes.extend(got.iter().map(|key| unknown_key(key, schema)));
        }
        kind if error.causes.is_empty() && place.is_empty() => causes.push(kind.to_string()),
        kind if error.causes.is_empty() => causes.push(format!("`{}`: {kind}", &place[1..])),
        _ => {}
    }
    error.causes.iter().for_each(|cause| leaves(cause, schema, causes));
}

/// Describes a key at the top of the settings that the schema does not have.
fn unknown_key(key: &str, schema: &Value) -> String {
    let properties = schema["properties"].as_object();
    let known: Vec<&str> =
        properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let hint = did_you_mean(key, known.iter().copied())
        .unwrap_or_else(|| format!("known keys: {}", known.join(", ")));
    format!("unknown key `{key}`, {hint}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_are_compared_with_their_schema() {
        let schema = json!({
            "type": "object", "required": ["max"], "additionalProperties": false,
            "properties": {"max": {"type": "integer", "minimum": 0}, "word": {"type": "string"}},
        });
        let problem = |config: Value| conforms(&schema, &config).err().unwrap_or_default();
        assert_eq!(problem(json!({"max": 3, "word": "a"})), "");
        for (config, expected) in [
            (json!({"max": "3"}), "`max`: "),
            (json!({"max": -1}), "`max`: "),
            (json!({"max": 1, "word": null}), "`word`: "),
            (json!({}), "max"),
            (json!({"max": 1, "wrod": "a"}), "unknown key `wrod`, did you mean `word`?"),
            (json!({"max": 1, "x": "a"}), "unknown key `x`, known keys: max, word"),
        ] {
            let problem = problem(config.clone());
            assert!(problem.contains(expected), "{config}: {problem}");
            assert!(problem.starts_with("its `config` is not what the evaluator takes: "));
        }
        assert_eq!(conforms(&json!({"type": 5}), &json!({})), Ok(()));
    }
}
