//! Targets as they were read. References to variables are resolved when a target is needed.

use std::{path::PathBuf, time::Duration};

use evaluator_document::{ConfigError, Fields, Problem};
use evaluator_models::{Retries, Variables};

use super::placeholders::{Misplaced, OF_COMMANDS, misplaced};
use crate::{files::Opened, model::Warning, references::whole_reference};

/// Maximum number of aliases behind each other.
const MAX_ALIASES: usize = 10;

/// A value that may be a reference to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Text as it was written.
    pub(super) text: String,
    /// Key.
    pub(super) key: &'static str,
    /// Position.
    pub(super) position: String,
}

impl Setting {
    /// Takes a text that may be a reference, under the first of several keys.
    pub(super) fn take(
        fields: &mut Fields<'_>,
        keys: &[&'static str],
        opened: Opened<'_>,
    ) -> Option<Self> {
        let mut given = keys.iter().filter_map(|key| Some((*key, fields.take(key)?)));
        let (key, field) = given.next()?;
        for (other, again) in given {
            again
                .add(format!("`{other}` and `{key}` are the same setting"))
                .hint("keep one of them");
        }
        let text = field.sentence()?;
        let setting = Self { text, key, position: opened.position(field.node) };
        if setting.text.contains("${{") && setting.variable().is_none() {
            let message = format!("a reference must be the whole value of `{key}`");
            return field.add(message).hint("for example ${{ OPENAI_API_KEY }}").none();
        }
        Some(setting)
    }

    /// Returns the name of the variable that the value refers to.
    pub fn variable(&self) -> Option<&str> {
        whole_reference(&self.text)
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// The variable is not set.
    pub fn resolve(&self, variables: &Variables) -> Result<String, String> {
        let Some(name) = whole_reference(&self.text) else { return Ok(self.text.clone()) };
        match variables(name) {
            Some(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
            _ => Err(format!(
                "{}: `{}` needs the variable {name}, which is not set",
                self.position, self.key
            )),
        }
    }
}

/// A target.
#[derive(Clone, Debug)]
pub struct Target {
    /// Name.
    pub name: String,
    /// Position.
    pub position: String,
    /// Provider with its settings.
    pub provider: TargetKind,
    /// Target that judges its answers.
    pub judge: Option<Setting>,
    /// Maximum number of runs at the same time.
    pub workers: Option<u32>,
}

/// Kind of a target: its provider with the settings.
#[derive(Clone, Debug)]
pub enum TargetKind {
    /// A model.
    Model(Box<ModelTarget>),
    /// A command.
    Cli(CliTarget),
    /// A fixed answer.
    Mock(String),
    /// Recorded answers.
    Replay(ReplayTarget),
    /// Another target.
    Alias(Setting),
    /// A provider that is not supported.
    Unsupported(String),
}

impl TargetKind {
    /// Returns the name of the provider in documents.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Model(model) => &model.prefix,
            Self::Cli(_) => "cli",
            Self::Mock(_) => "mock",
            Self::Replay(_) => "replay",
            Self::Alias(alias) => &alias.text,
            Self::Unsupported(name) => name,
        }
    }
}

/// A model on a server.
#[derive(Clone, Debug)]
pub struct ModelTarget {
    /// Prefix of the model's name, e.g. `openai`.
    pub prefix: String,
    /// Base URL.
    pub base: Option<Setting>,
    /// Key; a reference.
    pub key: Option<Setting>,
    /// Model or deployment.
    pub model: Option<Setting>,
    /// Version of the API.
    pub version: Option<Setting>,
    /// Temperature.
    pub temperature: Option<f64>,
    /// Maximum number of tokens of a reply.
    pub max_output_tokens: Option<u64>,
    /// Number of tokens for thinking.
    pub thinking_budget: Option<u64>,
    /// Whether the server is held to the form of a reply by its JSON Schema.
    pub structured: bool,
    /// Repetitions of a request.
    pub retries: Retries,
    /// Longest wait before the first repetition.
    pub first_wait: Duration,
}

/// A command.
#[derive(Clone, Debug)]
pub struct CliTarget {
    /// Command with placeholders.
    pub command: Setting,
    /// Directory, relative to that of the eval file.
    pub directory: Option<Setting>,
    /// Time limit.
    pub timeout: Option<Duration>,
    /// Form of each file of `{FILES}`, with `{path}` and `{basename}`.
    pub files_format: Option<String>,
}

impl CliTarget {
    /// Returns the command with its placeholders.
    ///
    /// # Errors
    ///
    /// The variable that holds the command is not set, or a placeholder in it stands where its value would not be quoted.
    pub fn command_line(&self, variables: &Variables) -> Result<String, String> {
        let command = self.command.resolve(variables)?;
        match misplaced(&command, &OF_COMMANDS) {
            None => Ok(command),
            Some(found) => {
                let (position, message) = (&self.command.position, found.message());
                Err(format!("{position}: {message} ({})", Misplaced::HINT))
            }
        }
    }
}

/// Recorded answers in a file.
#[derive(Clone, Debug)]
pub struct ReplayTarget {
    /// Target that was recorded.
    pub source_target: String,
    /// File with the recordings.
    pub fixtures: PathBuf,
    /// Suite, if it is not the one that runs.
    pub suite: Option<String>,
    /// Variant.
    pub variant: Option<String>,
}

/// The targets of a file.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    /// File; `None` if there is none.
    pub file: Option<PathBuf>,
    /// Targets in order.
    pub targets: Vec<Target>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

impl Targets {
    /// Returns the target of a name, behind its aliases.
    ///
    /// # Errors
    ///
    /// There is none, or its aliases cannot be resolved.
    pub fn get(&self, name: &str, variables: &Variables) -> Result<&Target, String> {
        let mut name = name.to_owned();
        for _ in 0..=MAX_ALIASES {
            let found = self.targets.iter().find(|target| target.name == name);
            let target = found.ok_or_else(|| self.unknown(&name))?;
            match &target.provider {
                TargetKind::Alias(other) => name = other.resolve(variables)?,
                _ => return Ok(target),
            }
        }
        Err(format!("the aliases of `{name}` (`use_target`) are more than {MAX_ALIASES} deep"))
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.targets.iter().map(|target| &*target.name).collect();
        let Some(file) = &self.file else {
            return format!(
                "there is no target `{name}`: no targets.yaml was found; name one with --targets"
            );
        };
        let hint = evaluator_document::did_you_mean(name, names.iter().copied())
            .unwrap_or_else(|| format!("targets: {}", names.join(", ")));
        format!("there is no target `{name}` in {} ({hint})", file.display())
    }
}

/// Returns an error about a file as a whole.
pub(super) fn of_file(file: &std::path::Path, message: String) -> Vec<ConfigError> {
    vec![ConfigError::with(file, "", vec![Problem::new(message, None, None)])]
}
