//! Programs that answer instead of a model: `command:NAME`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use evaluator_engine::{
    identity::{Fingerprint, Project, value_digest},
    snapshot::ProgramSnapshot,
};
use tokio::runtime::Handle;

use super::{Runner, fingerprint};
use crate::{
    config::Config,
    models::{CommandError, CommandRunner, ProgramIdentity},
    process::{self, Cancellation, CommandSpec, Limits},
    report::run_file::FingerprintParts,
    runtime::{Entrypoint, Environment, EnvironmentFilter, Inherit, Inputs, Launch, Runtimes},
    verdict::{Verdict, answer_of},
};

/// Starts the programs, with the runtimes and the environment of evaluators.
#[derive(Debug)]
pub(super) struct ModelPrograms {
    /// Directory of the configuration.
    directory: PathBuf,
    project: Project,
    runtimes: Runtimes,
    cancellation: Cancellation,
    environment: Environment,
    prepared: Mutex<HashMap<String, Result<Arc<Prepared>, String>>>,
}

/// A program that was prepared.
#[derive(Debug)]
struct Prepared {
    command: CommandSpec,
    snapshot: ProgramSnapshot,
    /// Its identity, or the reason why changes of its files would not be noticed.
    identity: Result<ProgramIdentity, String>,
}

impl ModelPrograms {
    pub(super) fn new(runner: &Runner, config: &Config) -> Self {
        let file = config.file.as_deref();
        Self {
            directory: file.and_then(Path::parent).unwrap_or(Path::new("")).to_owned(),
            project: Project::of(file),
            environment: config.environment(),
            runtimes: runner.registries.runtimes.clone(),
            cancellation: runner.cancellation.clone(),
            prepared: Mutex::default(),
        }
    }

    /// Returns the file next to the configuration, or the command on `PATH`.
    fn find(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.directory.join(name);
        if path.is_file() {
            return Ok(path);
        }
        let command = self.environment.find_program(Path::new(name));
        command
            .ok_or_else(|| format!("there is no file {} and no command `{name}`", path.display()))
    }

    /// Prepares a program, once.
    fn prepare(&self, name: &str) -> Result<Arc<Prepared>, String> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = prepared.entry(name.to_owned()).or_insert_with(|| {
            let entrypoint = Entrypoint::from(self.find(name)?);
            let launch = self.runtimes.prepare(&entrypoint, &self.cancellation, &mut drop);
            let launch = launch.map_err(|error| error.to_string())?;
            let inputs = self.runtimes.inputs(&entrypoint, &launch);
            let snapshot = ProgramSnapshot::of(&launch.one_shot, &inputs);
            let identity = identity(name, &inputs, &launch, &self.project);
            let environment = EnvironmentFilter::new(&self.environment, Inherit::Open, &[]);
            let command = environment.give_to(launch.one_shot);
            Ok(Arc::new(Prepared { command, snapshot, identity }))
        });
        known.clone()
    }
}

/// Returns digests of everything that a program consists of.
///
/// # Errors
///
/// Changes of the program would not be noticed; the error names the changes.
fn identity(
    name: &str,
    inputs: &Inputs,
    launch: &Launch,
    project: &Project,
) -> Result<ProgramIdentity, String> {
    if let Some(what) = fingerprint::dynamic_code(None, inputs, launch) {
        return Err(format!("changes of code that the program `{name}` runs ({what})"));
    }
    let mut parts = FingerprintParts::default();
    let arguments = value_digest(&fingerprint::arguments(launch, project));
    parts.environment.insert("arguments".to_owned(), arguments);
    let fingerprint = Fingerprint::of_program(inputs, project, parts)
        .map_err(|error| format!("changes of the program `{name}` ({error})"))?;
    let FingerprintParts { code, environment, .. } = fingerprint.parts();
    let [code, environment] = [code, environment].map(|part| value_digest(part).to_string());
    Ok(ProgramIdentity { code, environment })
}

impl CommandRunner for ModelPrograms {
    fn check(&self, name: &str) -> Result<(), CommandError> {
        self.find(name).map(drop).map_err(CommandError::Failed)
    }

    fn identity(&self, name: &str) -> Result<ProgramIdentity, String> {
        let unknown =
            |error| format!("changes of the program `{name}`, which is not prepared ({error}),");
        self.prepare(name).map_err(unknown)?.identity.clone()
    }

    fn run(&self, name: &str, input: &[u8], limit: Duration) -> Result<Vec<u8>, CommandError> {
        let failed = |reason: String| CommandError::Failed(reason);
        let program = self.prepare(name).map_err(failed)?;
        if let Some(file) = program.snapshot.outdated_file() {
            let text = "changed during the run; run again when no program writes to it";
            return Err(failed(format!("{} {text}", file.display())));
        }
        // Calls are made on threads of the runtime for blocking work.
        let runtime = Handle::try_current().map_err(|error| failed(error.to_string()))?;
        let limits = Limits::with_timeout(limit);
        let outcome =
            runtime.block_on(process::run(&program.command, input, &limits, &self.cancellation));
        let stderr = outcome.stderr.text();
        let said = stderr.trim().lines().last().map(|line| format!(": {line}")).unwrap_or_default();
        let answer = answer_of(&outcome).map(<[u8]>::to_vec);
        answer.map_err(|verdict| match *verdict {
            Verdict::LeakedPipe => {
                failed("a process that it started kept its output open".to_owned())
            }
            Verdict::Exited { code } => failed(format!("it exited with code {code}{said}")),
            Verdict::Signalled { signal } => {
                failed(format!("it was killed by signal {signal}{said}"))
            }
            Verdict::TimedOut { .. } => CommandError::TimedOut,
            Verdict::Cancelled => failed("the run was stopped".to_owned()),
            verdict => failed(verdict.describe(name, "").unwrap_or_default()),
        })
    }
}

#[cfg(all(test, unix))]
mod tests {
    use evaluator_test_support::Directory;

    use super::*;

    #[tokio::test]
    async fn a_reply_that_is_cut_off_is_none() {
        let directory = Directory::new("model-program");
        let cap = Limits::default().stdout_cap;
        directory.script("whole", &format!("head -c {cap} /dev/zero"));
        directory.script("more", &format!("head -c {} /dev/zero", cap + 1));
        let config = Config { file: Some(directory.path("c.yaml")), ..Config::default() };
        let programs = Arc::new(ModelPrograms::new(&Runner::default(), &config));
        let run = |name: &'static str| {
            let programs = Arc::clone(&programs);
            let limit = Duration::from_secs(60);
            tokio::task::spawn_blocking(move || programs.run(name, b"", limit))
        };
        assert_eq!(run("whole").await.unwrap().map(|reply| reply.len()), Ok(cap));
        let CommandError::Failed(error) = run("more").await.unwrap().unwrap_err() else { panic!() };
        assert_eq!(error, format!("wrote more than {cap} bytes to stdout"));
    }
}
