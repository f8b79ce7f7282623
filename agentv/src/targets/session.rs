//! Targets as models of a session, so that they are asked, counted and recorded as all judges are.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use evaluator_judging::{Connection, Environment, JudgeSettings, Session};
use evaluator_models::{
    Endpoint, ErrorKind, Mode, ModelError, Params, Provider, Providers, Reply, Request, Role,
    Secret, Settings, Variables,
};
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::{
    ModelTarget, Setting, Target, TargetKind, Targets,
    command::{Invocation, PreparedCommands, TIMEOUT, output},
    providers::GEMINI_MODEL,
};

/// Version of Azure's API of targets that name none.
const AZURE_VERSION: &str = "2024-12-01-preview";

/// Time between the time limit of a command and that of the request that runs it.
const MARGIN: Duration = Duration::from_secs(5);

/// Beginning of the names under which targets are models: `target:INDEX:MODEL`.
const PREFIX: &str = "target:";

/// Targets with the session in which their models are asked. Not `Clone`: its commands are those of one plan.
#[derive(Debug)]
pub struct TargetSession {
    /// Targets.
    pub targets: Arc<Targets>,
    /// Session of the run.
    pub session: Session,
    environment: Environment,
    pub(crate) commands: PreparedCommands,
    /// Maximum number of requests to a command that judges.
    pub(crate) command_attempts: Option<u32>,
    is_offline: bool,
}

impl TargetSession {
    /// Creates the session of a run. `run` are recording and budget. Sends nothing.
    ///
    /// # Errors
    ///
    /// The file with prices cannot be used.
    pub fn new(
        targets: Targets,
        run: JudgeSettings,
        mut environment: Environment,
    ) -> Result<Self, ModelError> {
        let targets = Arc::new(targets);
        targets.name_secrets(&mut environment);
        let commands = PreparedCommands::default();
        let provider = TargetProvider {
            targets: Arc::clone(&targets),
            commands: Arc::clone(&commands),
            others: environment.providers.clone(),
        };
        environment.providers.register(provider);
        let is_offline = run.mode() == Mode::Replay;
        let session = Session::new(run, environment.clone())?;
        Ok(Self { targets, session, environment, commands, command_attempts: None, is_offline })
    }

    /// Variables of the environment.
    pub(crate) fn variables(&self) -> &Variables {
        &self.environment.variables
    }

    /// Returns true if recordings answer in place of all models, so that nothing is sent and no command judges.
    pub(crate) fn is_offline(&self) -> bool {
        self.is_offline
    }

    /// Returns the target of a name, behind its aliases.
    pub(crate) fn get(&self, name: &str) -> Result<&Target, String> {
        self.targets.get(name, self.variables())
    }

    /// Connects with a target as a model. `model` replaces that of the target. Sends nothing.
    ///
    /// # Errors
    ///
    /// The target is not a model, or a variable that it needs is not set.
    pub fn connect(&self, name: &str, model: Option<&str>) -> Result<Arc<Connection>, String> {
        let target = self.get(name)?;
        let settings = self.settings(target, model)?;
        let connection = self.session.connect(&settings.models.concat(), &settings);
        connection.map_err(|error| {
            format!("{}: the target `{}`: {}", target.position, target.name, error.message)
        })
    }

    fn settings(&self, target: &Target, model: Option<&str>) -> Result<JudgeSettings, String> {
        let refuse = |what: &str| {
            Err(format!("{}: the target `{}` cannot judge: {what}", target.position, target.name))
        };
        let mut settings = JudgeSettings::default();
        let named = match &target.provider {
            TargetKind::Model(given) => self.of_model(given, model, &mut settings)?,
            _ if model.is_some() => return refuse("`model` needs a target that is a model"),
            TargetKind::Mock(_) => target.name.clone(),
            TargetKind::Cli(command) => {
                // The command is checked before anything runs. A replay runs none.
                if !self.is_offline {
                    command.command_line(self.variables())?;
                }
                let timeout = command.timeout.unwrap_or(TIMEOUT);
                settings.timeout = Some(timeout.saturating_add(MARGIN));
                settings.attempts = self.command_attempts;
                target.name.clone()
            }
            TargetKind::Replay(_) => return refuse("it replays the answers of an agent"),
            TargetKind::Unsupported(provider) => {
                return refuse(&format!(
                    "the provider `{provider}` is not supported; name another with `grader_target`"
                ));
            }
            TargetKind::Alias(_) => return refuse("it is an alias"),
        };
        let index = self.targets.targets.iter().position(|known| known.name == target.name);
        settings.models = vec![format!("{PREFIX}{}:{named}", index.unwrap_or_default())];
        Ok(settings)
    }

    /// Adds the settings of a target on a server. Returns the name of the model.
    fn of_model(
        &self,
        target: &ModelTarget,
        model: Option<&str>,
        settings: &mut JudgeSettings,
    ) -> Result<String, String> {
        let base = match target.base.as_ref().map(|base| base.resolve(self.variables())) {
            // Nothing is sent there.
            Some(Err(_)) if self.is_offline => None,
            base => base.transpose()?,
        };
        settings.base_url = base.map(|base| match &*target.prefix {
            "azure" if !base.contains("://") => format!("https://{base}.openai.azure.com"),
            _ => base,
        });
        settings.api_key_env = target.key.as_ref().and_then(Setting::variable).map(str::to_owned);
        settings.params.temperature = target.temperature;
        settings.params.max_output_tokens = target.max_output_tokens;
        settings.params.thinking_budget = target.thinking_budget;
        settings.json_schema = Some(target.structured);
        settings.attempts = Some(target.retries.attempts);
        settings.max_wait = Some(target.retries.max_wait);
        match (model, &target.model) {
            (Some(model), _) => Ok(model.to_owned()),
            (None, Some(model)) => model.resolve(self.variables()),
            (None, None) => Ok(GEMINI_MODEL.to_owned()),
        }
    }
}

impl Targets {
    /// Adds the keys of targets to the secrets, so that no recording and no report holds them. Names and versions of models
    /// are not secret, whatever their variables are called: reports and recordings have them.
    fn name_secrets(&self, environment: &mut Environment) {
        let models = || {
            self.targets.iter().filter_map(|target| match &target.provider {
                TargetKind::Model(model) => Some(model),
                _ => None,
            })
        };
        let shown = models().flat_map(|model| [&model.model, &model.version]).flatten();
        let shown: Vec<String> =
            shown.filter_map(|it| it.resolve(&environment.variables).ok()).collect();
        environment.secrets.retain(|secret| !shown.iter().any(|shown| shown == secret.expose()));
        for name in models().filter_map(|model| model.key.as_ref()?.variable()) {
            let value = (environment.variables)(name);
            environment.secrets.extend(value.map(|value| Secret::new(name, &value)));
        }
    }
}

/// The models `target:INDEX:MODEL`.
#[derive(Debug)]
struct TargetProvider {
    targets: Arc<Targets>,
    commands: PreparedCommands,
    others: Providers,
}

impl Provider for TargetProvider {
    fn forms(&self) -> Vec<String> {
        Vec::new()
    }

    fn accepts(&self, model: &str) -> bool {
        model.starts_with(PREFIX)
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        let named = model.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
        let found = named.and_then(|(index, named)| {
            Some((self.targets.targets.get(index.parse::<usize>().ok()?)?, named))
        });
        let Some((target, named)) = found else {
            return Err(ModelError::new(ErrorKind::Config, format!("`{model}` is not a target")));
        };
        let inner = match &target.provider {
            TargetKind::Model(given) => Some(self.server(given, named, settings)?),
            _ => None,
        };
        Ok(Arc::new(TargetEndpoint {
            target: target.clone(),
            inner,
            commands: Arc::clone(&self.commands),
            settings: settings.clone(),
        }))
    }
}

impl TargetProvider {
    fn server(
        &self,
        target: &ModelTarget,
        model: &str,
        settings: &Settings,
    ) -> Result<Arc<dyn Endpoint>, ModelError> {
        let variables = Arc::clone(&settings.variables);
        let version = match &target.version {
            Some(version) if !settings.is_offline => version
                .resolve(&variables)
                .map_err(|reason| ModelError::new(ErrorKind::Config, reason))?,
            _ => AZURE_VERSION.to_owned(),
        };
        let mut settings = settings.clone();
        settings.variables = Arc::new(move |name| match name {
            "AZURE_API_VERSION" => Some(version.clone()),
            _ => variables(name),
        });
        // Servers on one's own machine often need no key.
        let prefix = match (&*target.prefix, &target.base, &target.key) {
            ("openai", Some(_), None) => "openai_like",
            (prefix, _, _) => prefix,
        };
        self.others.connect(&format!("{prefix}/{model}"), &settings)
    }
}

/// A target that is asked: a server, a command, or a fixed answer.
#[derive(Debug)]
struct TargetEndpoint {
    target: Target,
    /// Endpoint of a server.
    inner: Option<Arc<dyn Endpoint>>,
    commands: PreparedCommands,
    settings: Settings,
}

impl Endpoint for TargetEndpoint {
    fn provider(&self) -> &str {
        match (&self.inner, &self.target.provider) {
            (Some(inner), _) => inner.provider(),
            (None, TargetKind::Cli(_)) => "cli",
            (None, _) => "mock",
        }
    }

    fn model(&self) -> &str {
        self.inner.as_ref().map_or(&self.target.name, |inner| inner.model())
    }

    fn queue(&self) -> String {
        let local = || format!("{} {}", self.provider(), self.target.name);
        self.inner.as_ref().map_or_else(local, |inner| inner.queue())
    }

    fn first_wait(&self) -> Duration {
        match &self.target.provider {
            TargetKind::Model(model) => model.first_wait,
            _ => Duration::from_secs(1),
        }
    }

    fn identity(&self) -> Result<String, String> {
        match (&self.inner, &self.target.provider) {
            (Some(inner), _) => inner.identity(),
            (None, TargetKind::Mock(response)) => Ok(response.clone()),
            // The files behind the words of a command are not known.
            (None, _) => {
                Err(format!("changes of the command of the target `{}`", self.target.name))
            }
        }
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        self.inner.as_ref().map_or_else(|| Ok(Map::new()), |inner| inner.parameters(params))
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        let text = match (&self.inner, &self.target.provider) {
            (Some(inner), _) => return inner.send(request, parameters, limit),
            (None, TargetKind::Mock(response)) => response.clone(),
            (None, _) => self.run(request)?,
        };
        Ok(Reply { text, ..Reply::default() })
    }
}

impl TargetEndpoint {
    /// Runs the command. It gets the text for the user alone, as in AgentV.
    fn run(&self, request: &Request) -> Result<String, ModelError> {
        let failed = |kind| move |text: String| ModelError::new(kind, text);
        let users = request.messages.iter().filter(|message| message.role == Role::User);
        let prompt = users.map(|message| &*message.content).collect::<Vec<_>>().join("\n\n");
        let commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (TargetKind::Cli(target), Ok(handle), Some(commands)) =
            (&self.target.provider, Handle::try_current(), commands)
        else {
            return Err(failed(ErrorKind::Config)("programs cannot be started here".to_owned()));
        };
        let name = &self.target.name;
        let program = match commands.programs.get(name) {
            Some(Ok(program)) => program,
            Some(Err(reason)) => return Err(failed(ErrorKind::Config)(reason.clone())),
            None => return Err(failed(ErrorKind::Config)("it was not prepared".to_owned())),
        };
        let command = target.command_line(&self.settings.variables);
        let command = command.map_err(failed(ErrorKind::Config))?;
        let invocation = Invocation {
            target,
            command: &command,
            prompt: &prompt,
            files: &[],
            id: name,
            attempt: 0,
        };
        let script = invocation.script(commands.are_contained);
        let script = script.map_err(failed(ErrorKind::BadAnswer))?;
        // Endpoints are asked on threads for blocking work.
        let ran = handle.block_on(program.run(script.text.as_bytes()));
        let kind = match ran.error_type {
            Some("timed_out") => ErrorKind::Timeout,
            Some("cancelled") => ErrorKind::Cancelled,
            _ => ErrorKind::BadAnswer,
        };
        let output = output(ran).map_err(failed(kind))?;
        Ok(output.answer().unwrap_or_default().into_owned())
    }
}
