//! The traits of providers, and the settings of a connection.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Api, ErrorKind, ModelError, Params, Redactor, Reply, Request, Secret};

/// Reads a variable of the environment.
pub type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Settings of the connection to a model.
#[derive(Clone, derive_more::Debug)]
#[debug("Settings({base_url:?}, {key:?}, offline: {is_offline})")]
pub struct Settings {
    /// Base URL instead of the provider's own.
    pub base_url: Option<String>,
    /// Key instead of the one in the provider's variable.
    pub key: Option<Secret>,
    /// Whether keys may be sent to other machines over `http`.
    pub allow_http: bool,
    /// Whether nothing will be sent, so that no key and no base URL is needed.
    pub is_offline: bool,
    /// Variables of the environment.
    pub variables: Variables,
    /// Starts the programs of `command:NAME`.
    pub runner: Option<Arc<dyn CommandRunner>>,
    /// Secrets that are removed from messages of errors.
    pub redactor: Redactor,
}

impl Settings {
    /// Creates settings that read variables by a function.
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            base_url: None,
            key: None,
            allow_http: false,
            is_offline: false,
            variables: Arc::new(variables),
            runner: None,
            redactor: Redactor::default(),
        }
    }

    /// Returns the value of the first variable that is set.
    pub(super) fn variable(&self, names: &[&str]) -> Option<(String, String)> {
        names.iter().find_map(|name| {
            let value = (self.variables)(name)?.trim().to_owned();
            (!value.is_empty()).then(|| ((*name).to_owned(), value))
        })
    }

    /// Returns the key: the configured one, or that of a variable.
    ///
    /// # Errors
    ///
    /// There is none, and the connection is used, or it cannot be in a header.
    pub(super) fn key(&self, model: &str, names: &[&str]) -> Result<Option<Secret>, ModelError> {
        let variable = || self.variable(names).map(|(name, value)| Secret::new(name, &value));
        let key = self.key.clone().or_else(variable);
        let bad = |text: String| Err(ModelError::new(ErrorKind::Config, text));
        match &key {
            _ if self.is_offline => Ok(None),
            None => bad(format!("model `{model}` needs a key: set {}", names.join(" or "))),
            Some(key) if !key.expose().bytes().all(|byte| byte.is_ascii_graphic()) => {
                bad(format!("{} contains white space or non-ASCII characters", key.name()))
            }
            Some(_) => Ok(key),
        }
    }
}

/// A family of models that are asked in one way.
pub trait Provider: Send + Sync + fmt::Debug {
    /// Forms of the model names that the provider takes, for messages: `openai/MODEL`.
    fn forms(&self) -> Vec<String>;

    /// Returns true if the provider takes the name of this model.
    fn accepts(&self, model: &str) -> bool;

    /// Prepares calls to a model. Sends nothing.
    ///
    /// # Errors
    ///
    /// The settings are not sufficient, e.g. a key is missing.
    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError>;
}

/// A model that can be asked.
pub trait Endpoint: Send + Sync + fmt::Debug {
    /// Name of the provider, for keys of recordings and prices.
    fn provider(&self) -> &str;

    /// Name of the model as it is sent.
    fn model(&self) -> &str;

    /// Identifies the queue: endpoints with the same text share limits and waits.
    fn queue(&self) -> String;

    /// Returns a text that changes with everything besides the name and the parameters that decides about the replies: the
    /// base URL of a server, the content of a program. Saved results are reused only as long as it is the same.
    ///
    /// # Errors
    ///
    /// Changes are not noticed; the message is the subject of a sentence about them: `changes of the program`. This is the
    /// default.
    fn identity(&self) -> Result<String, String> {
        Err(format!("changes of the model `{}/{}`", self.provider(), self.model()))
    }

    /// Returns a text that changes with what the replies may depend on and differs between machines, such as the interpreter of
    /// a program; `None`, the default, for everything but a program. [`identity`](Self::identity) does not include it.
    fn environment(&self) -> Option<String> {
        None
    }

    /// Returns true if the replies belong to the calls by their order, so that calls must not overtake each other. `false` by
    /// default.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Returns the longest wait before the first repetition of a call; 1 s by default. It doubles with each further one.
    fn first_wait(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Returns true if requests in the form of this interface are sent as they are. `false` by default.
    fn speaks(&self, _api: Api) -> bool {
        false
    }

    /// Returns the parameters as they are sent. Those of a [forwarded](Request::forwarded) request are its body.
    ///
    /// # Errors
    ///
    /// The provider does not have a parameter that is set.
    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError>;

    /// Sends one request and waits for the answer.
    ///
    /// # Errors
    ///
    /// No final answer came within `limit`.
    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError>;
}

/// Starts programs. This crate starts none, so the rules of the host's processes apply to them.
pub trait CommandRunner: Send + Sync + fmt::Debug {
    /// Checks that the program exists. Nothing is checked by default: a program that does not exist fails when it is run.
    ///
    /// # Errors
    ///
    /// It does not exist.
    fn check(&self, _name: &str) -> Result<(), CommandError> {
        Ok(())
    }

    /// Returns what identifies the program in keys of saved results.
    ///
    /// # Errors
    ///
    /// The reason why changes of the program would not be noticed. So it is by default.
    fn identity(&self, name: &str) -> Result<ProgramIdentity, String> {
        Err(format!("changes of the program `{name}`"))
    }

    /// Runs the program of this name with one JSON document on standard input, and returns its standard output.
    ///
    /// # Errors
    ///
    /// The program does not exist, failed, or did not end in time.
    fn run(&self, name: &str, input: &[u8], limit: Duration) -> Result<Vec<u8>, CommandError>;
}

/// What identifies a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramIdentity {
    /// Text that changes whenever one of its files does.
    pub code: String,
    /// Text that changes with its interpreter and with installed packages.
    pub environment: String,
}

/// A program did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// It failed, for this reason.
    Failed(String),
    /// It did not end in time.
    TimedOut,
}

/// Returns the parameters that are set, under their names in an API.
pub(super) fn parameters_set<const N: usize>(
    all: [(&str, Option<Value>); N],
) -> Map<String, Value> {
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Refuses requests for vectors, which only OpenAI-compatible servers answer.
pub(super) fn no_embeddings(params: &Params) -> Result<(), ModelError> {
    if params.is_embedding {
        let text = "embeddings come from OpenAI-compatible servers only; choose such a model";
        return Err(ModelError::new(ErrorKind::Config, text));
    }
    Ok(())
}
