//! The connections of a run to models.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use evaluator_models::{
    Budget, BudgetLimits, Cancel, Cassette, CommandRunner, Endpoint, ErrorKind, Mode, ModelError,
    Prices, Providers, Redactor, Secret, Settings, Spent, Variables, Waits,
};

use crate::{
    connection::Connection,
    prices::PriceTable,
    settings::JudgeSettings,
    shared::{Counted, Shared, lock},
    usage::CallUsage,
};

/// Environment of a session.
#[derive(Clone, derive_more::Debug)]
#[debug("Environment({providers:?})")]
pub struct Environment {
    /// Providers of models.
    pub providers: Providers,
    /// Variables with keys and base URLs.
    pub variables: Variables,
    /// Secrets that are removed from recordings and errors.
    pub secrets: Vec<Secret>,
    /// Starts the programs of `command:NAME`; such models cannot be asked if `None`.
    pub runner: Option<Arc<dyn CommandRunner>>,
    /// Ends the calls of the run.
    pub cancel: Cancel,
    /// Receives messages about waits for other processes.
    pub waits: Waits,
}

impl Environment {
    /// Creates an environment with the built-in providers, without secrets and programs.
    pub fn new(variables: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            providers: Providers::default(),
            variables: Arc::new(variables),
            secrets: Vec::new(),
            runner: None,
            cancel: Cancel::default(),
            waits: Waits::default(),
        }
    }
}

/// The models of a run: connections of its evaluators, their queues, recordings, budgets and prices. Clones are
/// the same session.
#[derive(Clone, Debug)]
pub struct Session(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    run: JudgeSettings,
    environment: Environment,
    redactor: Redactor,
    prices: Option<PriceTable>,
    budget: Budget,
    shared: Arc<Shared>,
    connections: Mutex<BTreeMap<String, Arc<Connection>>>,
    endpoints: Mutex<HashMap<String, Arc<dyn Endpoint>>>,
    cassettes: Mutex<BTreeMap<PathBuf, Arc<Cassette>>>,
}

/// Usage of a session, with warnings and errors.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Sums over all calls.
    pub usage: CallUsage,
    /// Spent part of the run's budget.
    pub spent: Spent,
    /// Currency of the costs, if the prices name one.
    pub currency: Option<String>,
    /// Other models that servers say they used, by the name of the model that was asked.
    pub reported: BTreeMap<String, BTreeSet<String>>,
    /// Warnings, e.g. of recordings that contradict each other.
    pub warnings: Vec<String>,
    /// Recordings that could not be saved.
    pub errors: Vec<String>,
}

impl Session {
    /// Creates the session of a run. `run` are the settings for all of its evaluators. Sends nothing.
    ///
    /// # Errors
    ///
    /// The file with prices cannot be used.
    pub fn new(run: JudgeSettings, environment: Environment) -> Result<Self, ModelError> {
        let prices = run.prices.as_deref().map(PriceTable::load).transpose()?;
        let table = prices.as_ref().map(|table| table.prices.clone()).unwrap_or_default();
        let budget = Budget::new("the run", run.budget.clone(), table);
        Ok(Self(Arc::new(Inner {
            redactor: Redactor::new(environment.secrets.iter().cloned()),
            shared: Arc::new(Shared::new(environment.cancel.clone())),
            run,
            environment,
            prices,
            budget,
            connections: Mutex::default(),
            endpoints: Mutex::default(),
            cassettes: Mutex::default(),
        })))
    }

    /// Connects an evaluator with its models. `own` are the settings of its entry, which win over those of the run. The
    /// connection of a name is created once. Sends nothing.
    ///
    /// # Errors
    ///
    /// A model, key, base URL, price, prompt or recording that is needed is missing or cannot be used.
    pub fn connect(
        &self,
        evaluator: &str,
        own: &JudgeSettings,
    ) -> Result<Arc<Connection>, ModelError> {
        if let Some(connection) = lock(&self.0.connections).get(evaluator) {
            return Ok(Arc::clone(connection));
        }
        let prices = match &own.prices {
            Some(path) => PriceTable::load(path)?.prices,
            None => self.prices(),
        };
        let budgets = self.budgets(evaluator, &own.budget, &prices);
        let connection = Arc::new(self.connection(evaluator, own, prices, budgets)?);
        lock(&self.0.connections).insert(evaluator.to_owned(), Arc::clone(&connection));
        Ok(connection)
    }

    /// Connects with the models of an entry, whose calls count in these budgets.
    pub(crate) fn connection(
        &self,
        evaluator: &str,
        own: &JudgeSettings,
        prices: Prices,
        budgets: Vec<Budget>,
    ) -> Result<Connection, ModelError> {
        let settings = own.over(&self.0.run);
        check(&settings)?;
        let cassette = self.cassette(&settings)?;
        let mut endpoints = Vec::new();
        for model in settings.models() {
            let endpoint = self.endpoint(&model, &settings)?;
            endpoint.parameters(&settings.params)?;
            endpoints.push((
                endpoint.clone(),
                self.0.shared.gate(&*endpoint, settings.limits().concurrency),
            ));
        }
        // Nothing is spent if nothing is sent.
        if settings.mode() != Mode::Replay {
            let models = endpoints.iter().map(|(it, _)| (it.provider(), it.model()));
            let models: Vec<(&str, &str)> =
                models.filter(|(provider, _)| *provider != "replay").collect();
            budgets.iter().try_for_each(|budget| budget.check(models.iter().copied()))?;
        }
        Ok(Connection {
            evaluator: evaluator.to_owned(),
            limits: settings.limits(),
            settings,
            endpoints,
            budgets,
            prices,
            cassette,
            redactor: self.0.redactor.clone(),
            shared: Arc::clone(&self.0.shared),
        })
    }

    /// Prices of the run.
    pub(crate) fn prices(&self) -> Prices {
        self.0.prices.as_ref().map(|table| table.prices.clone()).unwrap_or_default()
    }

    /// Budgets that count the calls of an evaluator: that of the run, and its own.
    pub(crate) fn budgets(
        &self,
        evaluator: &str,
        own: &BudgetLimits,
        prices: &Prices,
    ) -> Vec<Budget> {
        let owner = format!("evaluator {evaluator}");
        vec![self.0.budget.clone(), Budget::new(owner, own.clone(), prices.clone())]
    }

    /// Cancels waiting calls, and sends no others.
    pub fn cancel(&self) {
        self.0.environment.cancel.cancel();
    }

    /// Removes the secrets of the environment from a text.
    pub fn redact(&self, text: &str) -> String {
        self.0.redactor.redact(text)
    }

    /// Returns the maximum number of calls that may be in flight at the same time.
    pub fn concurrency(&self) -> usize {
        self.0.shared.concurrency()
    }

    /// Returns the number of evaluations that are enough to use all queues: each has at least one call in flight, and others
    /// wait for the place of one that ends. One, if calls must not overtake each other.
    pub fn evaluations(&self) -> usize {
        let connections = lock(&self.0.connections);
        let is_ordered = connections.values().any(|connection| connection.is_ordered());
        if is_ordered { 1 } else { self.concurrency().saturating_mul(2) }
    }

    /// Saves the recordings, and returns what the calls used. Calls that are still in flight are not recorded; a later call
    /// of this function saves them.
    pub fn finish(&self) -> Summary {
        let (mut warnings, mut errors) = (Vec::new(), Vec::new());
        for cassette in lock(&self.0.cassettes).values() {
            if let Err(error) = cassette.save() {
                errors.push(error.to_string());
            }
            warnings.extend(cassette.take_warnings());
        }
        let Counted { usage, reported, dropped } = self.0.shared.counted();
        for (model, names) in dropped {
            let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            warnings
                .push(format!("`{model}` refused {names}, and was asked without (`drop_params`)"));
        }
        Summary {
            usage,
            spent: self.0.budget.spent(),
            currency: self.0.prices.as_ref().and_then(|table| table.currency.clone()),
            reported,
            warnings,
            errors,
        }
    }

    /// Returns the endpoint of a model. Equal settings have the same endpoint, so that a script of replies is continued.
    fn endpoint(
        &self,
        model: &str,
        settings: &JudgeSettings,
    ) -> Result<Arc<dyn Endpoint>, ModelError> {
        let is_offline = settings.mode() == Mode::Replay || model == "replay";
        let key = if is_offline { None } else { self.key(settings)? };
        let allow_http = settings.allow_http.unwrap_or_default();
        let identity = format!(
            "{model}\n{:?}\n{:?}\n{allow_http} {is_offline}",
            settings.base_url,
            key.as_ref().map(Secret::name),
        );
        if let Some(endpoint) = lock(&self.0.endpoints).get(&identity) {
            return Ok(Arc::clone(endpoint));
        }
        let environment = &self.0.environment;
        let variables = Arc::clone(&environment.variables);
        let mut connection = Settings::new(move |name| variables(name));
        connection.base_url.clone_from(&settings.base_url);
        connection.key = key;
        connection.allow_http = allow_http;
        connection.is_offline = is_offline;
        connection.runner.clone_from(&environment.runner);
        connection.redactor = self.0.redactor.clone();
        let endpoint = environment.providers.connect(model, &connection)?;
        lock(&self.0.endpoints).insert(identity, Arc::clone(&endpoint));
        Ok(endpoint)
    }

    /// Returns the key that the settings name, if they do.
    fn key(&self, settings: &JudgeSettings) -> Result<Option<Secret>, ModelError> {
        let bad = |text: String| Err(ModelError::new(ErrorKind::Config, text));
        let variable = match (&settings.credential_ref, &settings.api_key_env) {
            (Some(name), _) => match settings.credentials.get(name) {
                Some(variable) => variable,
                None => {
                    return bad(format!(
                        "the credential `{name}` is not known; name its variable: `judge: {{credentials: {{{name}: {{kind: env, name: VARIABLE}}}}}}`"
                    ));
                }
            },
            (None, Some(variable)) => variable,
            (None, None) => return Ok(None),
        };
        match (self.0.environment.variables)(variable) {
            Some(value) if !value.trim().is_empty() => Ok(Some(Secret::new(variable, &value))),
            _ => {
                bad(format!("the variable {variable}, which has the key of the judge, is not set"))
            }
        }
    }

    /// Opens the cassette of the settings, or returns the one that is open.
    fn cassette(&self, settings: &JudgeSettings) -> Result<Option<Arc<Cassette>>, ModelError> {
        let mode = settings.mode();
        let Some(path) = settings.cassette.as_ref().filter(|_| mode != Mode::Off) else {
            return match mode {
                Mode::Record | Mode::Replay => {
                    let text = format!(
                        "`mode: {}` needs a cassette; name one with `cassette` or `--judge-cassette`",
                        if mode == Mode::Replay { "replay" } else { "record" },
                    );
                    Err(ModelError::new(ErrorKind::Config, text))
                }
                _ => Ok(None),
            };
        };
        let mut cassettes = lock(&self.0.cassettes);
        if let Some(cassette) = cassettes.get(path) {
            if cassette.mode() == mode {
                return Ok(Some(Arc::clone(cassette)));
            }
            let text =
                format!("two evaluators use the cassette {} in different modes", path.display());
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
        if let (true, Some(directory)) = (mode != Mode::Replay, directory)
            && !directory.is_dir()
        {
            let text = format!(
                "the cassette {} cannot be written: {} is not a directory",
                path.display(),
                directory.display()
            );
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let cassette = Cassette::open(path, mode, self.0.redactor.clone())?;
        let cassette = cassette.reporting(self.0.environment.waits.clone());
        let stores_text = settings.cassette_text.unwrap_or(true);
        let cassette = Arc::new(if stores_text { cassette } else { cassette.without_text() });
        cassettes.insert(path.clone(), Arc::clone(&cassette));
        Ok(Some(cassette))
    }
}

/// Checks what does not depend on the models.
fn check(settings: &JudgeSettings) -> Result<(), ModelError> {
    let bad = |text: String| Err(ModelError::new(ErrorKind::Config, text));
    let samples = settings.criterion(Default::default()).samples;
    if settings.swap == Some(true) && samples % 2 == 1 {
        return bad(format!("`swap` needs an even number of samples, not {samples}"));
    }
    if settings.min_readable.is_some_and(|least| least as usize > samples) {
        return bad(format!("`min_readable` is more than the {samples} samples"));
    }
    let models = settings.models().len();
    if let Some(quorum) = settings.panel_quorum.filter(|quorum| *quorum as usize > models) {
        return bad(format!("`panel_quorum` is {quorum}, but there are {models} models"));
    }
    if let Some((name, prompt)) = settings.prompts.iter().find(|(_, it)| it.template.is_none()) {
        return bad(format!("the prompt `{name}` cannot be read: {}", prompt.path.display()));
    }
    Ok(())
}
