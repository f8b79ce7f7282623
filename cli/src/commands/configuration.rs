//! Configurations: loading them, and what has to hold before they run.

use std::{path::Path, sync::Arc};

use evaluator_host::{
    config::{CodeConfig, Config},
    executor::{Containment, Executor},
    judging::Session,
    run::Runner,
    trace::TraceFormat,
};

use super::output::{broken, unusable, unusable_config};
use crate::render;

/// Loads a configuration, or the default one without a file.
pub(super) fn load_config(file: Option<&Path>, runner: &Runner) -> Result<Config, u8> {
    let Some(file) = file else { return Ok(Config::default()) };
    runner.load_config(file).map_err(|error| {
        let path = file.display();
        // Whether it is a program is seen in it, and a pipe would wait for its writer.
        let may_be_program = file.is_file() || file.is_dir();
        match may_be_program.then(|| runner.registries.runtimes.for_path(file)) {
            // The name of a configuration does not matter if it can be read.
            Some(Ok(runtime)) if has_extension_of(runtime.extensions(), file) => unusable(format!(
                "{path} is a program in {}, and a configuration is expected: `evaluator config {path} > eval_config.yaml` writes \
                 one for it; `evaluator validate DIR` checks the directory of an evaluator without a configuration",
                runtime.name()
            )),
            _ => unusable_config(error),
        }
    })
}

/// Returns true if a file has one of the extensions.
pub(super) fn has_extension_of(extensions: &[&str], file: &Path) -> bool {
    let name = file.to_string_lossy().to_ascii_lowercase();
    extensions.iter().any(|extension| name.ends_with(extension))
}

/// Checks that every evaluator of a configuration that runs code of its own is contained, if the option or the configuration
/// demands it.
pub(super) fn ensure_contained(option: bool, config: &Config, runner: &Runner) -> Result<(), u8> {
    let demand = match (option, config.contain) {
        (true, _) => "--contain",
        (false, true) => "`contain: true`",
        (false, false) => return Ok(()),
    };
    let uncontained = runner.uncontained(config);
    if uncontained.is_empty() {
        return Ok(());
    }
    Err(unusable(format!(
        "not contained: {} ({demand} requires `executor: sandbox` or `executor: docker` for every program; `defaults: \
         {{executor: sandbox}}` sets it for all entries, and `evaluator config PATH` prints an entry for a program; linked \
         evaluators, Python graders and models `command:NAME` cannot be contained)",
        uncontained.join(", ")
    )))
}

/// Executor of programs that are named by their paths, if they have to be contained.
const SANDBOX: &str = "sandbox";

/// Returns the sandbox, for programs without a configuration.
pub(super) fn sandbox(runner: &Runner) -> Result<Arc<dyn Executor>, u8> {
    runner.registries.executors.get(SANDBOX, &Containment::default()).map_err(broken)
}

/// Returns the settings of programs that are named by their paths, next to a configuration. They run in a sandbox if the option
/// or the configuration demands containment.
pub(super) fn settings_of_paths(option: bool, config: &Config) -> CodeConfig {
    let mut settings = CodeConfig::default();
    if option || config.contain {
        SANDBOX.clone_into(&mut settings.executor);
    }
    settings
}

/// Shows warnings about a configuration, and fails if it cannot be run.
pub(super) fn ensure_runnable(config: &Config, verbose: u8) -> Result<(), u8> {
    render::config_remarks(config, verbose > 0);
    config.ensure_runnable().map_err(unusable_config)
}

/// Opens the session of a configuration with models, after it was checked that it can be run. Shows all problems of both.
pub(super) fn open_session(config: &Config, verbose: u8, runner: &Runner) -> Result<Session, u8> {
    let runnable = ensure_runnable(config, verbose);
    let session = runner.judges(config).map_err(unusable_config);
    runnable.and(session)
}

/// Returns the registered trace format of an argument, which the parser has checked.
pub(super) fn trace_format(name: Option<String>, runner: &Runner) -> Option<Arc<dyn TraceFormat>> {
    runner.registries.trace_formats.find(&name?.to_ascii_lowercase()).ok()
}
