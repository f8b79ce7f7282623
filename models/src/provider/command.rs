//! Programs that answer instead of a server.

use std::{sync::Arc, time::Duration};

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{
    classify::excerpt,
    http::{count_at, json as read_json, number_at, text_at},
    model::{
        CommandError, CommandRunner, Endpoint, Provider, Settings, no_embeddings, parameters_set,
    },
};
use crate::{ErrorKind, Finish, ModelError, Params, Redactor, Reply, Request, Usage};

/// Models `command:NAME`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command;

const PREFIX: &str = "command:";

/// Returns true for a model that is a program of this machine: `command:NAME`.
pub fn is_program(model: &str) -> bool {
    model.starts_with(PREFIX)
}

impl Provider for Command {
    fn forms(&self) -> Vec<String> {
        vec!["command:NAME".to_owned()]
    }

    fn accepts(&self, model: &str) -> bool {
        model.strip_prefix(PREFIX).is_some_and(|name| !name.is_empty())
    }

    fn connect(&self, model: &str, settings: &Settings) -> Result<Arc<dyn Endpoint>, ModelError> {
        if settings.runner.is_none() && !settings.is_offline {
            let text = format!("model `{model}`: programs cannot be started here");
            return Err(ModelError::new(ErrorKind::Config, text));
        }
        let name = model.strip_prefix(PREFIX).unwrap_or(model);
        if let Some(runner) = settings.runner.as_ref().filter(|_| !settings.is_offline)
            && let Err(CommandError::Failed(reason)) = runner.check(name)
        {
            return Err(ModelError::new(ErrorKind::Config, format!("model `{model}`: {reason}")));
        }
        Ok(Arc::new(Program {
            name: name.to_owned(),
            runner: settings.runner.clone(),
            redactor: settings.redactor.clone(),
        }))
    }
}

#[derive(Debug)]
struct Program {
    name: String,
    runner: Option<Arc<dyn CommandRunner>>,
    redactor: Redactor,
}

impl Endpoint for Program {
    fn provider(&self) -> &str {
        "command"
    }

    fn model(&self) -> &str {
        &self.name
    }

    fn queue(&self) -> String {
        format!("command {}", self.name)
    }

    fn identity(&self) -> Result<String, String> {
        match &self.runner {
            Some(runner) => runner.identity(&self.name).map(|it| it.code),
            None => Err(format!("changes of the program `{}`", self.name)),
        }
    }

    fn environment(&self) -> Option<String> {
        Some(self.runner.as_ref()?.identity(&self.name).ok()?.environment)
    }

    fn parameters(&self, params: &Params) -> Result<Map<String, Value>, ModelError> {
        no_embeddings(params)?;
        let schema = params.json_schema.as_ref().map(|it| it.schema.clone());
        Ok(parameters_set([
            ("temperature", params.temperature.map(Value::from)),
            ("top_p", params.top_p.map(Value::from)),
            ("top_k", params.top_k.map(Value::from)),
            ("max_output_tokens", params.max_output_tokens.map(Value::from)),
            ("seed", params.seed.map(Value::from)),
            ("stop", (!params.stop.is_empty()).then(|| json!(params.stop))),
            ("reasoning_effort", params.reasoning_effort.clone().map(Value::from)),
            ("thinking_budget", params.thinking_budget.map(Value::from)),
            ("json_schema", schema),
        ]))
    }

    fn send(
        &self,
        request: &Request,
        parameters: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Reply, ModelError> {
        let document = json!({
            "model": self.name,
            "messages": request.messages,
            "params": parameters,
            "sample": request.sample,
        });
        let failed = |text: String| {
            let text = excerpt(&self.redactor.redact(&text));
            ModelError::new(ErrorKind::BadAnswer, format!("the program failed: {text}"))
        };
        let Some(runner) = &self.runner else {
            return Err(ModelError::new(ErrorKind::Config, "programs cannot be started here"));
        };
        let answer = runner.run(&self.name, document.to_string().as_bytes(), limit);
        let output = answer.map_err(|error| match error {
            CommandError::Failed(reason) => failed(reason),
            CommandError::TimedOut => ModelError::new(
                ErrorKind::Timeout,
                format!("the program did not end within {} s", limit.as_secs_f64()),
            ),
        })?;
        let answer = read_json(200, &output, &self.redactor)?;
        let text = text_at(&answer, "/text").ok_or_else(|| failed("no key `text`".to_owned()))?;
        let usage = answer.get("usage").filter(|usage| !usage.is_null());
        if usage.is_some_and(|usage| !usage.get("input").is_some_and(Value::is_u64)) {
            return Err(failed("`usage` has no number of tokens `input`".to_owned()));
        }
        if usage.is_some_and(|usage| count_at(usage, "/output").is_none()) {
            return Err(failed("`output` in `usage` is not a number of tokens".to_owned()));
        }
        let mut reply = Reply {
            text,
            finish: answer
                .get("finish")
                .and_then(|it| Finish::deserialize(it).ok())
                .unwrap_or_default(),
            usage: usage.map(|usage| Usage {
                input: number_at(usage, "/input"),
                output: number_at(usage, "/output"),
                cached: number_at(usage, "/cached"),
                reasoning: number_at(usage, "/reasoning"),
            }),
            ..Reply::default()
        };
        reply.cut_thinking();
        Ok(reply)
    }
}
