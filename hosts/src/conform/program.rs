//! The program that is tested: a command line, or a file that a runtime prepares.

use std::{
    ffi::OsString,
    panic::resume_unwind,
    path::{Path, PathBuf},
};

use tokio::{sync::mpsc, task};

use super::super::{Defined, functions_of};
use crate::{
    process::{Cancellation, CommandSpec},
    runtime::{Entrypoint, Environment, Inherit, PrepareError, PrepareEvent, Runtimes, Visible},
};

/// A program that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Command line, which is started for every document.
    pub command: CommandSpec,
}

/// Error of preparing a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The command line is empty or malformed.
    #[error("this is not a command line: {reason}")]
    NotACommand {
        /// The problem.
        reason: String,
    },
    /// The file cannot be prepared.
    #[error("{0}")]
    NotReady(#[from] PrepareError),
    /// The file is not a program: it defines a function that a host calls.
    #[error(
        "{} is not a program: {defined}; `evaluator run` can run it then",
        .path.display()
    )]
    Function {
        /// Path of the file.
        path: PathBuf,
        /// The function.
        defined: Defined,
    },
    /// The preparation was cancelled.
    #[error("it was interrupted")]
    Interrupted,
}

impl Program {
    /// Prepares a command line: the first word is an evaluator's file (a source, a package, an executable) or a program on
    /// `PATH`. A single word that is not a file is split as a shell does.
    ///
    /// The program inherits the environment of evaluators: all variables except secrets. Must be called inside a tokio
    /// runtime.
    ///
    /// # Errors
    ///
    /// [`ProgramError`]: the command line is empty, or the file cannot be prepared.
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
        let visible = Visible::new(&Environment::inherited(), Inherit::Open, &[]);
        // The test writes no files next to the source.
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

/// Returns true if the first word names an evaluator and not a program on `PATH`.
fn is_file(first: &OsString, runtimes: &Runtimes) -> Result<bool, ProgramError> {
    let path = Path::new(first);
    let bare = path.components().count() == 1 && !path.has_root();
    match runtimes.for_path(path) {
        Ok(_) => Ok(true),
        // `python3` is not a file here, and a file `data` may not be meant.
        Err(_) if bare && path.extension().is_none() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

async fn launched(
    path: &OsString,
    runtimes: &Runtimes,
    cancellation: &Cancellation,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Result<CommandSpec, ProgramError> {
    let (runtimes, cancellation) = (runtimes.clone(), cancellation.clone());
    let entrypoint = Entrypoint::from(PathBuf::from(path));
    let work = move |on_event: &mut dyn FnMut(PrepareEvent)| {
        runtimes.prepare_all(&[entrypoint], &cancellation, on_event).pop()
    };
    match prepare_on_thread(work, on_event).await.flatten() {
        Some(launch) => Ok(launch?.one_shot),
        None => Err(ProgramError::Interrupted),
    }
}

/// Prepares evaluators on a thread of its own, because compilers are slow. Returns `None` if the tokio runtime is shut down.
pub async fn prepare_on_thread<T: Send + 'static>(
    work: impl FnOnce(&mut dyn FnMut(PrepareEvent)) -> T + Send + 'static,
    on_event: &mut dyn FnMut(PrepareEvent),
) -> Option<T> {
    let (sender, mut events) = mpsc::unbounded_channel();
    // The receiver of the events waits for the end of the work.
    let working = task::spawn_blocking(move || work(&mut |event| drop(sender.send(event))));
    while let Some(event) = events.recv().await {
        on_event(event);
    }
    match working.await {
        Ok(result) => Some(result),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => None,
        },
    }
}
