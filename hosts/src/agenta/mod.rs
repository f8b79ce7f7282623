//! Agenta: documents of custom code, webhooks and remote workflows, and their results.

mod answer;
mod conform;
mod document;
mod export;

use evaluator_protocol::{
    Answer as Reply, Contract, DecodeError, Document, JsonObject,
    agenta::{
        self,
        http::{HttpReply, MAX_REPLY},
    },
};

use super::{
    Answer, BadAnswer, Defaults, ForeignContract, ForeignHost, Functions, Keys, Question, Settings,
    serve::{self, add, add_threshold, object},
};
use crate::{
    conversation::Conversation,
    eval_set::EvalCase,
    json::{Object, Value},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agenta",
    title: "Agenta",
    contract: Contract::Agenta,
    foreign: Some(&Agenta),
    suite: Some(conform::SUITE),
    exporter: Some(export::EXPORTER),
};

#[derive(Debug)]
struct Agenta;

const KEYS: Keys = Keys {
    answer: &["success"],
    bare_answers: true,
    document: &["correct_answer", "app_params"],
    source: &["app_params"],
    optional: &[],
};

/// Name of the functions that Agenta calls.
const EVALUATE: &str = "evaluate";

const CUSTOM_CODE: Functions = Functions {
    name: Some(EVALUATE),
    is_called: |name, parameters| {
        let is_v1 = parameters.iter().any(|parameter| parameter == "app_params");
        let is_v2 = parameters.starts_with(&["inputs".to_owned(), "outputs".to_owned()]);
        name == EVALUATE && (is_v1 || is_v2)
    },
};

/// Parameter that names the input with the correct answer.
const CORRECT_ANSWER_KEY: &str = "correct_answer_key";

/// End of the paths to which Agenta sends documents of a remote workflow.
const INVOKE: &str = "/invoke";

/// Path of an evaluator with the name `invoke`.
const INVOKE_EVALUATOR: &str = "/evaluators/invoke";

impl ForeignContract for Agenta {
    fn keys(&self) -> &'static Keys {
        &KEYS
    }

    fn document(
        &self,
        settings: &Settings,
        conversation: &Conversation,
        case: Option<&EvalCase>,
    ) -> Value {
        document::document(settings, conversation, case)
    }

    fn answer(&self, answer: Value, turns: usize) -> Result<Answer, BadAnswer> {
        answer::answer(answer, turns)
    }

    fn add_defaults(&self, document: &mut Object, defaults: &Defaults) -> Option<()> {
        let parameters = object(document, &["parameters"])?;
        add(parameters, &defaults.config);
        // Agenta replaces a threshold of 0 by its default.
        add_threshold(parameters, defaults.threshold.filter(|threshold| *threshold > 0.0));
        Some(())
    }

    fn question(
        &self,
        document: Document,
        name: &str,
        defaults: &Defaults,
    ) -> Result<Question, DecodeError> {
        let Document::Agenta(input) = document else {
            return Question::convert(document, name, defaults, false);
        };
        let has_threshold = input.parameters().is_some_and(has_threshold);
        let mut parameters = input.parameters().cloned().unwrap_or_default();
        // A threshold of 0 cannot be a parameter; `convert` adds it.
        for (key, value) in defaults.config.iter().filter(|(key, _)| *key != "threshold") {
            parameters.entry(key.as_str()).or_insert_with(|| value.into());
        }
        let input = Document::Agenta(Box::new(input.with_parameters(parameters)?));
        let mut defaults = defaults.clone();
        defaults.config.shift_remove(CORRECT_ANSWER_KEY);
        Question::convert(input, name, &defaults, has_threshold)
    }

    fn write(&self, answer: &Reply) -> Result<String, String> {
        let Reply::Agenta(outputs) = answer else { return serve::to_json(answer) };
        let reply = HttpReply::answer(outputs);
        if reply.status == 200 { Ok(reply.body) } else { Err(reply.body) }
    }

    fn check_size(&self, bytes: usize) -> Result<(), String> {
        if bytes <= MAX_REPLY {
            return Ok(());
        }
        Err(format!("the answer has {bytes} bytes, and Agenta reads {MAX_REPLY} at most"))
    }

    fn wants_plain_text(&self, path: &str, contract: Option<Contract>, beginning: &[u8]) -> bool {
        // Documents of Agenta begin with the inputs.
        let begins_with_inputs = || {
            let rest = beginning.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
            rest.trim_ascii_start().starts_with(b"\"inputs\"")
        };
        path.ends_with(INVOKE) && path != INVOKE_EVALUATOR
            || contract.map_or_else(begins_with_inputs, |contract| contract == Contract::Agenta)
    }

    fn functions(&self) -> Option<&'static Functions> {
        Some(&CUSTOM_CODE)
    }
}

/// Returns true if the parameters contain a threshold that Agenta does not replace by its default.
fn has_threshold(parameters: &JsonObject) -> bool {
    let given = parameters.get("threshold");
    given.is_some_and(|given| {
        agenta::threshold(Some(given)) != Ok(agenta::DEFAULT_THRESHOLD)
            || given.as_f64() == Some(agenta::DEFAULT_THRESHOLD)
    })
}
