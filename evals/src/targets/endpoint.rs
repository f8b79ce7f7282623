//! Targets as endpoints, so that judges are asked through the broker, whatever the provider is.

use std::{path::PathBuf, sync::Arc, time::Duration};

use evaluator_launch::process::Cancellation;
use evaluator_models::{
    Endpoint, ErrorKind, Limits, ModelError, Params, Providers, Redactor, Reply, Request, Role,
    Secret, Settings, Variables,
};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::{CliTarget, Invocation, ModelTarget, Provider, Ran, Target, providers::GEMINI_MODEL};
use crate::output::Output;

/// Version of Azure's API of targets that name none.
const AZURE_VERSION: &str = "2024-12-01-preview";

/// A target that judges.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JudgeTarget {
    /// Name of the target.
    pub name: String,
    /// Endpoint.
    pub endpoint: Arc<dyn Endpoint>,
    /// Parameters of every request.
    pub params: Params,
    /// Whether the server is held to the form of a reply by its JSON Schema.
    pub structured: bool,
    /// Time for one request, and repetitions.
    pub limits: Limits,
}

/// What is needed to ask targets.
#[derive(Clone)]
#[non_exhaustive]
pub struct Starter {
    /// Providers of models.
    pub providers: Providers,
    /// Variables of the environment.
    pub variables: Variables,
    /// Directory of the eval file.
    pub directory: PathBuf,
    /// Whether nothing is sent, because a recording answers.
    pub is_offline: bool,
    /// Stops commands.
    pub cancellation: Cancellation,
}

impl std::fmt::Debug for Starter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Starter").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Starter {
    /// Creates a starter with the built-in providers.
    #[must_use]
    pub fn new(variables: Variables, directory: PathBuf, cancellation: Cancellation) -> Self {
        Self {
            providers: Providers::default(),
            variables,
            directory,
            is_offline: false,
            cancellation,
        }
    }

    /// Returns a target as a judge. Sends nothing. `model` replaces that of the target.
    ///
    /// # Errors
    ///
    /// The target cannot judge, or a variable that it needs is not set.
    pub fn connect(&self, target: &Target, model: Option<&str>) -> Result<JudgeTarget, String> {
        let name = target.name.clone();
        let refuse = |what: &str| {
            Err(format!("{}: the target `{name}` cannot judge: {what}", target.position))
        };
        let plain = |endpoint: Arc<dyn Endpoint>| JudgeTarget {
            name: name.clone(),
            endpoint,
            params: Params::default(),
            structured: false,
            limits: Limits::default(),
        };
        match &target.provider {
            Provider::Model(settings) => self.model(target, settings, model),
            _ if model.is_some() => refuse("`model` needs a target that is a model"),
            Provider::Mock(response) => {
                Ok(plain(Arc::new(Mock { name: name.clone(), response: response.clone() })))
            }
            Provider::Cli(command) => {
                // The command is checked before anything runs.
                command.command.resolve(&self.variables)?;
                let timeout = command.timeout.unwrap_or(Duration::from_secs(600));
                let endpoint =
                    Command { name: name.clone(), target: command.clone(), starter: self.clone() };
                let target = plain(Arc::new(endpoint));
                let limits = Limits {
                    timeout: timeout.saturating_add(Duration::from_secs(5)),
                    ..target.limits
                };
                Ok(JudgeTarget { limits, ..target })
            }
            Provider::Replay(_) => refuse("it replays the answers of an agent"),
            Provider::Unsupported(provider) => refuse(&format!(
                "the provider `{provider}` is not supported; name another with `grader_target`"
            )),
            Provider::Alias(_) => refuse("it is an alias"),
        }
    }

    fn model(
        &self,
        target: &Target,
        settings: &ModelTarget,
        model: Option<&str>,
    ) -> Result<JudgeTarget, String> {
        let value = |setting: &Option<super::Setting>| {
            let resolved = setting.as_ref().map(|setting| setting.resolve(&self.variables));
            if self.is_offline { Ok(resolved.and_then(Result::ok)) } else { resolved.transpose() }
        };
        let named = match (model, &settings.model) {
            (Some(model), _) => model.to_owned(),
            (None, Some(model)) => model.resolve(&self.variables)?,
            (None, None) => GEMINI_MODEL.to_owned(),
        };
        let version = value(&settings.version)?.unwrap_or_else(|| AZURE_VERSION.to_owned());
        let base = value(&settings.base)?.map(|base| match settings.prefix {
            "azure" if !base.contains("://") => format!("https://{base}.openai.azure.com"),
            _ => base,
        });
        let variables = Arc::clone(&self.variables);
        let mut connection = Settings::new(move |name| match name {
            "AZURE_API_VERSION" => Some(version.clone()),
            _ => variables(name),
        });
        connection.is_offline = self.is_offline;
        let key = value(&settings.key)?;
        connection.key = settings
            .key
            .as_ref()
            .and_then(|setting| Some(Secret::new(setting.variable()?, key.as_deref()?)));
        connection.redactor = Redactor::new(connection.key.clone());
        // Servers on one's own machine often need no key.
        let prefix = match (settings.prefix, &base, &connection.key) {
            ("openai", Some(_), None) => "openai_like",
            (prefix, _, _) => prefix,
        };
        connection.base_url = base;
        let endpoint =
            self.providers.connect(&format!("{prefix}/{named}"), &connection).map_err(|error| {
                format!("{}: the target `{}`: {error}", target.position, target.name)
            })?;
        Ok(JudgeTarget {
            name: target.name.clone(),
            endpoint: Arc::new(Waiting { inner: endpoint, first_wait: settings.first_wait }),
            params: Params {
                temperature: settings.temperature,
                max_output_tokens: settings.max_output_tokens,
                thinking_budget: settings.thinking_budget,
                ..Params::default()
            },
            structured: settings.structured,
            limits: Limits { retries: settings.retries.clone(), ..Limits::default() },
        })
    }

    /// Returns the secrets that targets refer to, so that no recording holds them.
    #[must_use]
    pub fn secrets(&self, targets: &super::Targets) -> Vec<Secret> {
        let keys = targets.targets.iter().filter_map(|target| match &target.provider {
            Provider::Model(model) => model.key.as_ref()?.variable(),
            _ => None,
        });
        keys.filter_map(|name| Some(Secret::new(name, &(self.variables)(name)?))).collect()
    }
}

/// An endpoint with its own waits.
#[derive(Debug)]
struct Waiting {
    inner: Arc<dyn Endpoint>,
    first_wait: Duration,
}

impl Endpoint for Waiting {
    fn provider(&self) -> &str {
        self.inner.provider()
    }

    fn model(&self) -> &str {
        self.inner.model()
    }

    fn queue(&self) -> String {
        self.inner.queue()
    }

    fn is_ordered(&self) -> bool {
        self.inner.is_ordered()
    }

    fn first_wait(&self) -> Duration {
        self.first_wait
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        self.inner.parameters(params)
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        self.inner.send(request, parameters, limit)
    }
}

/// A fixed answer.
#[derive(Debug)]
struct Mock {
    name: String,
    response: String,
}

impl Endpoint for Mock {
    fn provider(&self) -> &str {
        "mock"
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn queue(&self) -> String {
        format!("mock {}", self.name)
    }

    fn parameters(&self, _params: &Params) -> Result<Map<String, Value>, ModelError> {
        Ok(Map::new())
    }

    fn send(
        &self,
        _request: &Request,
        _parameters: &Map<String, Value>,
        _limit: Duration,
    ) -> Result<Reply, ModelError> {
        Ok(Reply { text: self.response.clone(), ..Reply::default() })
    }
}

/// A command that answers. It gets the text for the user alone, as in AgentV.
#[derive(Debug)]
struct Command {
    name: String,
    target: CliTarget,
    starter: Starter,
}

impl Endpoint for Command {
    fn provider(&self) -> &str {
        "cli"
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn queue(&self) -> String {
        format!("cli {}", self.name)
    }

    fn parameters(&self, _params: &Params) -> Result<Map<String, Value>, ModelError> {
        Ok(Map::new())
    }

    fn send(
        &self,
        request: &Request,
        _parameters: &Map<String, Value>,
        _limit: Duration,
    ) -> Result<Reply, ModelError> {
        let failed = |kind, text: String| Err(ModelError::new(kind, text));
        let Ok(handle) = Handle::try_current() else {
            return failed(ErrorKind::Config, "programs cannot be started here".to_owned());
        };
        let users = request.messages.iter().filter(|message| message.role == Role::User);
        let prompt = users.map(|message| &*message.content).collect::<Vec<_>>().join("\n\n");
        let Starter { variables, directory, cancellation, .. } = &self.starter;
        let invocation = Invocation::new(&self.target, directory, &prompt, &self.name);
        // The broker calls endpoints on threads for blocking work.
        match handle.block_on(invocation.run(variables, cancellation)) {
            Ran::Output { text, .. } => {
                Ok(Reply { text: Output::read(&text).answer().into_owned(), ..Reply::default() })
            }
            Ran::TimedOut(limit) => failed(
                ErrorKind::Timeout,
                format!("the command did not end within {} s", limit.as_secs_f64()),
            ),
            Ran::Cancelled => failed(ErrorKind::Cancelled, "the run was stopped".to_owned()),
            Ran::Failed(reason) => failed(ErrorKind::BadAnswer, reason),
        }
    }
}
