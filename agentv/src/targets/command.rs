//! The command of a `cli` target: a script for the shell that the host starts, and what the script prints.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use evaluator_host::run::{ProgramOutput, SuiteProgram};
use evaluator_launch::runtime::PrivateDirectory;

use super::{
    CliTarget,
    placeholders::{filled, quoted},
};
use crate::output::Output;

/// Time limit of a command without one.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(600);

/// Greatest output that is read.
pub(crate) const MAX_OUTPUT: usize = 64 << 20;

/// The program of every command: it reads the script, which may be longer than an argument.
pub(crate) const SHELL: [&str; 3] = ["sh", "-c", "eval \"$(cat)\""];

/// Directory of a contained command, as a word of the shell. No other program has the same temporary directory.
const CONTAINED: &str = "\"$evaluator_directory\"";

/// Sets the directory once: a command may set `TMPDIR` for the programs that it starts.
const SET_CONTAINED: &str = "evaluator_directory=${TMPDIR:-/tmp}/target\n";

/// End of a script: prints the state of the output file and its content. What the command leaves there decides about the
/// state: a link or a FIFO would lead to other files, or never end.
const REPORT: &str = r#"
code=$?
if [ $code -ne 0 ]; then exit $code
elif [ -L "$1" ]; then echo link
elif [ ! -e "$1" ]; then echo missing
elif [ ! -f "$1" ]; then echo irregular
elif [ "$(wc -c < "$1")" -gt "$2" ]; then echo large
else echo output && cat "$1" && echo .
fi
"#;

/// One run of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invocation<'i> {
    /// Target.
    pub(crate) target: &'i CliTarget,
    /// Command with its placeholders.
    pub(crate) command: &'i str,
    /// Text for the agent.
    pub(crate) prompt: &'i str,
    /// Files that the prompt refers to.
    pub(crate) files: &'i [PathBuf],
    /// Id of the test.
    pub(crate) id: &'i str,
    /// Number of the attempt, from 0.
    pub(crate) attempt: u32,
}

/// What the shell reads.
#[derive(Debug)]
pub(crate) struct Script {
    /// Text.
    pub(crate) text: String,
    /// Directory of the prompt and of the output, if the command is not contained.
    _directory: Option<PrivateDirectory>,
}

impl Invocation<'_> {
    /// Returns the script of the run.
    ///
    /// # Errors
    ///
    /// There is no directory for the output, or no shell reads the prompt.
    pub(crate) fn script(&self, is_contained: bool) -> Result<Script, String> {
        // A shell would leave it out.
        if self.prompt.contains('\0') {
            return Err("the prompt has a NUL character".to_owned());
        }
        let private = (!is_contained).then(|| PrivateDirectory::new("target")).transpose();
        let private = private
            .map_err(|error| format!("cannot create a directory for the output: {error}"))?;
        let directory = private.as_ref().map(|it| quoted(&it.path().to_string_lossy()));
        let (set, directory) = match &directory {
            Some(directory) => ("", &**directory),
            None => (SET_CONTAINED, CONTAINED),
        };
        let output = format!("{directory}/output.json");
        let prompt_file = format!("{directory}/prompt.md");
        let prompt = quoted(self.prompt);
        let command = quoted(&self.filled(&prompt, &prompt_file, &output));
        let text = format!(
            "{set}mkdir -p {directory} && printf %s {prompt} > {prompt_file} || exit
set -- {output} {MAX_OUTPUT}
(set --; eval {command}) < /dev/null > /dev/null{REPORT}"
        );
        Ok(Script { text, _directory: private })
    }

    /// Replaces the placeholders by words that are quoted for the shell.
    fn filled(&self, prompt: &str, prompt_file: &str, output: &str) -> String {
        let files: Vec<String> = self.files.iter().map(|file| self.file(file)).collect();
        filled(self.command, &|name| {
            Some(match name {
                "PROMPT" => prompt.to_owned(),
                "PROMPT_FILE" => prompt_file.to_owned(),
                "EVAL_ID" => quoted(self.id),
                "ATTEMPT" => quoted(&self.attempt.to_string()),
                "FILES" => files.join(" "),
                "OUTPUT_FILE" => output.to_owned(),
                "GUIDELINES" => quoted(""),
                _ => return None,
            })
        })
    }

    /// Returns a file of `{FILES}`.
    fn file(&self, file: &std::path::Path) -> String {
        let path = quoted(&file.to_string_lossy());
        let Some(format) = &self.target.files_format else { return path };
        filled(format, &|name| match name {
            "path" => Some(path.clone()),
            "basename" => Some(quoted(&file.file_name().unwrap_or_default().to_string_lossy())),
            _ => None,
        })
    }
}

/// Returns the output of a command that the host has run.
pub(crate) fn output(ran: ProgramOutput) -> Result<Output, String> {
    const NAME: &str = "the output file of the target ({OUTPUT_FILE})";
    let printed = ran.printed.map_err(|error| format!("the command of the target {error}"))?;
    let printed = String::from_utf8_lossy(&printed);
    let (state, text) = printed.split_once('\n').unwrap_or((&printed, ""));
    Err(match state {
        "output" => {
            let text = text.strip_suffix('.').unwrap_or(text);
            let mut output = Output::read(text)
                .map_err(|reason| format!("the output of the target cannot be used: {reason}"))?;
            // The time of the command stands in for one that is not recorded.
            output.duration_ms.get_or_insert(ran.duration.as_secs_f64() * 1000.0);
            return Ok(output);
        }
        "link" => format!("{NAME} is a link; copy the file to this path"),
        "missing" => "the command of the target wrote no output file ({OUTPUT_FILE})".to_owned(),
        "large" => format!("{NAME} has more than {MAX_OUTPUT} bytes"),
        _ => format!("{NAME} is not a regular file"),
    })
}

/// The commands of a run that answer as models.
#[derive(Debug)]
pub(crate) struct Commands {
    /// Programs by the names of their targets.
    pub(crate) programs: HashMap<String, Result<SuiteProgram, String>>,
    /// Whether they are contained.
    pub(crate) are_contained: bool,
}

/// The commands, once the host has prepared them: those of the latest run of a plan.
pub(crate) type PreparedCommands = Arc<Mutex<Option<Arc<Commands>>>>;
