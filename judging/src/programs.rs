//! Models that programs ask through a proxy.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use evaluator_models::{
    Answer, Api, BudgetLimits, ModelError, Offer, Params, ProxiedModel, Request,
};
use serde_json::json;

use crate::{
    connection::{Connection, Identity},
    session::Session,
    settings::JudgeSettings,
};

/// Models that a program may ask, and its limits: `models:` or `target:` of an entry.
#[derive(Clone, Debug)]
pub struct ProgramModels {
    /// Models by name, in order; the first one answers requests that name none. Each has one model. If there are none, the
    /// program may ask the models of the run, by their own names.
    pub models: Vec<(String, JudgeSettings)>,
    /// Maximum number of calls of an evaluation. Default: 50.
    pub max_calls: u64,
    /// Time limit of a call, with its waits and repetitions. Default: 100 s.
    pub call_limit: Duration,
    /// Limits of what all evaluations of the entry may spend.
    pub budget: BudgetLimits,
}

impl Default for ProgramModels {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            max_calls: Offer::MAX_CALLS,
            call_limit: Offer::CALL_LIMIT,
            budget: BudgetLimits::default(),
        }
    }
}

impl ProgramModels {
    /// Returns the models by name with the settings of each; `None` stands for all models of the run.
    fn entries(&self) -> Vec<(Option<&String>, JudgeSettings)> {
        if self.models.is_empty() {
            return vec![(None, JudgeSettings::default())];
        }
        self.models.iter().map(|(name, own)| (Some(name), own.clone())).collect()
    }
}

impl Session {
    /// Returns what decides about the answers of a program's models, for keys of saved results. Sends nothing.
    ///
    /// # Errors
    ///
    /// The reason why saved results cannot be used: a model cannot be connected, or changes of it would not be noticed.
    pub fn identity(&self, evaluator: &str, program: &ProgramModels) -> Result<Identity, String> {
        let prices = self.prices();
        let budgets = self.budgets(evaluator, &program.budget, &prices);
        let (mut settings, mut answered_by) = (Vec::new(), Vec::new());
        let (mut programs, mut recorded) = (BTreeMap::new(), Vec::new());
        for (name, own) in program.entries() {
            let connection = self.connection(evaluator, &own, prices.clone(), budgets.clone());
            let identity = connection.map_err(|error| error.message)?.identity()?;
            settings.push((name, identity.settings));
            answered_by.push(identity.answered_by);
            programs.extend(identity.programs);
            recorded.extend(identity.recorded);
        }
        let settings = json!({"models": settings, "max_calls": program.max_calls});
        Ok(Identity { settings, answered_by: answered_by.into(), programs, recorded })
    }

    /// Connects a program with its models. All of its calls count in the budgets of the run and of the entry. Sends nothing.
    ///
    /// # Errors
    ///
    /// A model, key, base URL, price or recording that is needed is missing or cannot be used.
    pub fn offer(&self, evaluator: &str, program: &ProgramModels) -> Result<Offer, ModelError> {
        let prices = self.prices();
        let budgets = self.budgets(evaluator, &program.budget, &prices);
        let connect =
            |own: &JudgeSettings| self.connection(evaluator, own, prices.clone(), budgets.clone());
        let mut models: Vec<(String, Arc<dyn ProxiedModel>)> = Vec::new();
        for (name, own) in program.entries() {
            let connection = Arc::new(connect(&own)?);
            let names = match name {
                Some(name) => vec![name.clone()],
                None => connection.settings().models(),
            };
            for (index, name) in names.into_iter().enumerate() {
                let connection = Arc::clone(&connection);
                models.push((name, Arc::new(ConnectedModel { connection, index })));
            }
        }
        let mut offer = Offer::new(evaluator, models);
        offer.max_calls = program.max_calls;
        offer.call_limit = program.call_limit;
        Ok(offer)
    }
}

/// One model of a connection.
#[derive(Debug)]
struct ConnectedModel {
    connection: Arc<Connection>,
    index: usize,
}

impl ProxiedModel for ConnectedModel {
    fn label(&self) -> String {
        let model = self.connection.models().nth(self.index);
        model.map(|model| format!("{}/{}", model.provider(), model.model())).unwrap_or_default()
    }

    fn speaks(&self, api: Api) -> bool {
        self.connection.models().nth(self.index).is_some_and(|model| model.speaks(api))
    }

    fn params(&self) -> Params {
        self.connection.settings().params.clone()
    }

    fn ask(&self, request: Request, limit: Duration) -> Result<Answer, ModelError> {
        self.connection.ask(self.index, &request, Some(limit))
    }
}

#[cfg(test)]
mod tests {
    use evaluator_models::{ErrorKind, Message};

    use super::*;
    use crate::session::Environment;

    fn model(directory: &std::path::Path, file: &str, lines: &str) -> JudgeSettings {
        let path = directory.join(file);
        std::fs::write(&path, lines).unwrap();
        JudgeSettings {
            models: vec![format!("fake:{}", path.display())],
            ..JudgeSettings::default()
        }
    }

    fn ask(offer: &Offer, index: usize, text: &str) -> Result<String, ErrorKind> {
        let request = Request::new(vec![Message::user(text)]);
        let answer = offer.models[index].1.ask(request, Duration::from_secs(60));
        answer.map(|answer| answer.reply.text).map_err(|error| error.kind)
    }

    #[test]
    fn models_of_an_entry_share_its_budget_and_that_of_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let mut run = JudgeSettings::default();
        run.budget.calls = Some(3);
        let session = Session::new(run, Environment::new(|_| None)).unwrap();
        let models = vec![
            ("a".to_owned(), model(path, "a", "\"a1\"\n\"a2\"\n\"a3\"\n")),
            ("b".to_owned(), model(path, "b", "\"b1\"\n\"b2\"\n")),
        ];
        let mut program = ProgramModels { models, ..ProgramModels::default() };
        program.budget.calls = Some(2);
        let offer = session.offer("quality", &program).unwrap();
        assert_eq!(offer.models[0].1.label(), format!("fake/{}", path.join("a").display()));
        assert_eq!(ask(&offer, 0, "q").as_deref(), Ok("a1"));
        assert_eq!(ask(&offer, 1, "q").as_deref(), Ok("b1"));
        assert_eq!(ask(&offer, 0, "q"), Err(ErrorKind::BudgetExceeded));
        // Another entry has a budget of its own, below that of the run.
        let other = session.offer("other", &program).unwrap();
        assert_eq!(ask(&other, 0, "q").as_deref(), Ok("a2"));
        assert_eq!(ask(&other, 0, "q"), Err(ErrorKind::BudgetExceeded));
        let summary = session.finish();
        assert_eq!((summary.usage.calls, summary.usage.failed, summary.spent.calls), (5, 2, 3));
    }

    #[test]
    fn without_models_of_its_own_a_program_asks_those_of_the_run() {
        let directory = tempfile::tempdir().unwrap();
        let run = model(directory.path(), "run", "\"yes\"\n");
        let name = run.models[0].clone();
        let session = Session::new(run, Environment::new(|_| None)).unwrap();
        let offer = session.offer("quality", &ProgramModels::default()).unwrap();
        assert_eq!((offer.models.len(), &offer.models[0].0), (1, &name));
        assert_eq!(ask(&offer, 0, "q").as_deref(), Ok("yes"));
        let session = Session::new(JudgeSettings::default(), Environment::new(|_| None)).unwrap();
        let error = session.offer("quality", &ProgramModels::default()).unwrap_err();
        assert!(error.to_string().contains("GEMINI_API_KEY"), "{error}");
    }
}
