//! What is tried: a command line, or a file that a runtime makes one of.

use std::{
    ffi::OsString,
    panic::resume_unwind,
    path::{Path, PathBuf},
};

use tokio::{sync::mpsc, task};

use crate::{
    contract::{Defined, functions_of},
    process::{Cancellation, CommandSpec},
    runtime::{
        Entrypoint, Environment, EnvironmentFilter, Inherit, PrepareError, PrepareEvent, Runtimes,
    },
};

/// A program that is ready to be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// How it is started for every document.
    pub command: CommandSpec,
}

/// Why there is nothing to start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The command line is empty, or not one.
    #[error("this is no command line: {reason}")]
    NotACommand {
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be made ready.
    #[error("{0}")]
    NotReady(#[from] PrepareError),
    /// It is not a program, but a function that a host calls.
    #[error(
        "{} is not a program: {defined}; it can be run with that by `evaluator run`",
        .path.display()
    )]
    Function {
        /// The file.
        path: PathBuf,
        /// The function in it.
        defined: Defined,
    },
    /// It was interrupted.
    #[error("it was interrupted")]
    Interrupted,
}

impl Program {
    /// Makes a command line ready: the first word is an evaluator's file (a source, a package, an executable), or a program
    /// to be found on `PATH`. A single word that is no file is split as a shell would.
    ///
    /// The program sees what evaluators see of the environment: all but secrets. Must be called inside a tokio runtime.
    ///
    /// # Errors
    ///
    /// There is no command in it, or the file cannot be made ready.
    pub async fn prepare(
        words: &[OsString],
        runtimes: &Runtimes,
        cancellation: &Cancellation,
        on_event: &mut dyn FnMut(PrepareEvent),
    ) -> Result<Self, ProgramError> {
        let words = split(words)?;
        let Some((first, rest)) = words.split_first() else {
            return Err(ProgramError::NotACommand { reason: "it is empty".to_owned() });
        };
        for word in &words {
            if let Some(defined) = functions_of(Path::new(word)) {
                let path = PathBuf::from(word);
                return Err(ProgramError::Function { path, defined });
            }
        }
        let command = match is_file(first, runtimes)? {
            true => launched(first, runtimes, cancellation, on_event).await?,
            false => CommandSpec::new(first),
        };
        let visible = EnvironmentFilter::new(&Environment::inherited(), Inherit::Open, &[]);
        // What is tried leaves nothing behind beside its source.
        let command = visible.give_to(command.args(rest)).env("PYTHONDONTWRITEBYTECODE", "1");
        Ok(Self { command })
    }
}

fn split(words: &[OsString]) -> Result<Vec<OsString>, ProgramError> {
    match words {
        [line] if !Path::new(line).exists() => match line.to_str() {
            Some(text) => match shell_words::split(text) {
                Ok(words) => Ok(words.into_iter().map(OsString::from).collect()),
                Err(error) => Err(ProgramError::NotACommand { reason: error.to_string() }),
            },
            None => Ok(words.to_vec()),
        },
        _ => Ok(words.to_vec()),
    }
}

/// Whether the first word names an evaluator rather than a program on `PATH`.
fn is_file(first: &OsString, runtimes: &Runtimes) -> Result<bool, ProgramError> {
    let path = Path::new(first);
    let bare = path.components().count() == 1 && !path.has_root();
    match runtimes.for_path(path) {
        Ok(_) => Ok(true),
        // `python3` is no file here, and `data` may be one that is not meant.
        Err(_) if bare && path.extension().is_none() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// On a thread of its own: compilers take their time.
async fn launched(
    path: &OsString,
    runtimes: &Runtimes,
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<CommandSpec, ProgramError> {
    let (sender, mut events) = mpsc::unbounded_channel();
    let (runtimes, cancellation) = (runtimes.clone(), cancellation.clone());
    let entrypoint = Entrypoint::from(PathBuf::from(path));
    let preparing = task::spawn_blocking(move || {
        // Whoever waits for the events waits for the end of this, too.
        runtimes.prepare_all(&[entrypoint], &cancellation, &mut |event| drop(sender.send(event)))
    });
    while let Some(event) = events.recv().await {
        on_event(event);
    }
    match preparing.await {
        Ok(launches) => match launches.into_iter().next() {
            Some(launch) => Ok(launch?.one_shot),
            None => Err(ProgramError::Interrupted),
        },
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // Only a runtime that is shut down gives such work up.
            Err(_) => Err(ProgramError::Interrupted),
        },
    }
}
