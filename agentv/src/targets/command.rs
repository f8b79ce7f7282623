//! Starting the command of a `cli` target.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::Duration,
};

use evaluator_launch::{
    process::{self, Cancellation, CommandSpec, Ending, Limits, Outcome},
    runtime::PrivateDirectory,
};
use evaluator_models::Variables;

use super::{
    CliTarget,
    placeholders::{filled, quoted},
};

/// Time limit of a command without one.
pub(super) const TIMEOUT: Duration = Duration::from_secs(600);

/// Greatest output that is read.
const MAX_OUTPUT: u64 = 64 << 20;

/// Number of bytes of the standard error in messages.
const STDERR: usize = 2000;

/// One run of a command.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Invocation<'i> {
    /// Target.
    pub target: &'i CliTarget,
    /// Directory of the eval file.
    pub directory: &'i Path,
    /// Text for the agent.
    pub prompt: &'i str,
    /// Files that the prompt refers to.
    pub files: &'i [PathBuf],
    /// Id of the test.
    pub id: &'i str,
    /// Number of the attempt, from 0.
    pub attempt: u32,
}

/// Result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Ran {
    /// The command wrote its output.
    Output {
        /// Text of the file.
        text: String,
        /// Time from start to end.
        duration: Duration,
    },
    /// It took too long.
    TimedOut(Duration),
    /// The run was stopped.
    Cancelled,
    /// It failed.
    Failed(String),
}

impl<'i> Invocation<'i> {
    /// Creates the first run of a command.
    #[must_use]
    pub fn new(target: &'i CliTarget, directory: &'i Path, prompt: &'i str, id: &'i str) -> Self {
        Self { target, directory, prompt, files: &[], id, attempt: 0 }
    }

    /// Runs the command.
    pub async fn run(&self, variables: &Variables, cancellation: &Cancellation) -> Ran {
        match self.start(variables, cancellation).await {
            Ok(ran) => ran,
            Err(reason) => Ran::Failed(reason),
        }
    }

    async fn start(
        &self,
        variables: &Variables,
        cancellation: &Cancellation,
    ) -> Result<Ran, String> {
        let private = PrivateDirectory::new("target")
            .map_err(|error| format!("cannot create a directory for the output: {error}"))?;
        let output = private.path().join("output.json");
        let prompt = private
            .write("prompt.md", self.prompt)
            .map_err(|error| format!("cannot write the prompt: {error}"))?;
        let command = self.command(&self.target.command_line(variables)?, &prompt, &output);
        let directory = match &self.target.directory {
            Some(directory) => self.directory.join(directory.resolve(variables)?),
            None => self.directory.to_owned(),
        };
        let mut spec = CommandSpec::new("sh").args(["-c", &command]);
        spec.cwd = Some(directory);
        let limits = Limits::with_timeout(self.target.timeout.unwrap_or(TIMEOUT));
        let outcome = process::run(&spec, b"", &limits, cancellation).await;
        match outcome.ending {
            Ending::Exited(0) => {
                Ok(Ran::Output { text: read(&output)?, duration: outcome.duration })
            }
            Ending::TimedOut { limit } => Ok(Ran::TimedOut(limit)),
            Ending::Cancelled => Ok(Ran::Cancelled),
            _ => Err(format!("the command of the target {}", kill_text(&outcome))),
        }
    }

    /// Replaces the placeholders by words that are quoted for the shell.
    fn command(&self, template: &str, prompt_file: &Path, output: &Path) -> String {
        let files: Vec<String> = self.files.iter().map(|file| self.file(file)).collect();
        filled(template, &|name| {
            Some(match name {
                "PROMPT" => quoted(self.prompt),
                "PROMPT_FILE" => quoted(&prompt_file.to_string_lossy()),
                "EVAL_ID" => quoted(self.id),
                "ATTEMPT" => quoted(&self.attempt.to_string()),
                "FILES" => files.join(" "),
                "OUTPUT_FILE" => quoted(&output.to_string_lossy()),
                "GUIDELINES" => quoted(""),
                _ => return None,
            })
        })
    }

    /// Returns a file of `{FILES}`.
    fn file(&self, file: &Path) -> String {
        let path = quoted(&file.to_string_lossy());
        let Some(format) = &self.target.files_format else { return path };
        filled(format, &|name| match name {
            "path" => Some(path.clone()),
            "basename" => Some(quoted(&file.file_name().unwrap_or_default().to_string_lossy())),
            _ => None,
        })
    }
}

/// Describes how a program ended that did not end well.
fn kill_text(outcome: &Outcome) -> String {
    let ending = match &outcome.ending {
        Ending::Exited(code) => format!("exited with code {code}"),
        Ending::Signalled(signal) => format!("was killed by signal {signal}"),
        Ending::TimedOut { limit } => format!("took longer than {} s", limit.as_secs_f64()),
        Ending::Cancelled => "was stopped with the run".to_owned(),
        Ending::SpawnFailed(error) => format!("could not be started: {error}"),
        Ending::Lost { reason } => format!("ended in an unknown way: {reason}"),
    };
    let stderr = outcome.stderr.text();
    let stderr = stderr.trim();
    let start = (stderr.len().saturating_sub(STDERR)..).find(|&at| stderr.is_char_boundary(at));
    match stderr.get(start.unwrap_or_default()..).filter(|text| !text.is_empty()) {
        Some(text) => format!("{ending}: {text}"),
        None => ending,
    }
}

/// Reads the output. The command decides what has this path: a link or a FIFO would lead to other files, or never end.
fn read(file: &Path) -> Result<String, String> {
    const NAME: &str = "the output file of the target ({OUTPUT_FILE})";
    let opened = open(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            "the command of the target wrote no output file ({OUTPUT_FILE})".to_owned()
        }
        _ if file.is_symlink() => format!("{NAME} is a link; copy the file to this path"),
        _ => format!("cannot open {NAME}: {error}"),
    })?;
    let cannot = |error: io::Error| format!("cannot read {NAME}: {error}");
    if !opened.metadata().map_err(cannot)?.is_file() {
        return Err(format!("{NAME} is not a regular file"));
    }
    let mut bytes = Vec::new();
    opened.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if u64::try_from(bytes.len()).is_ok_and(|size| size > MAX_OUTPUT) {
        return Err(format!("{NAME} has more than {MAX_OUTPUT} bytes"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a file that is not a link, without waiting for another process.
fn open(file: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    options.open(file)
}
