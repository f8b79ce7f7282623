//! Agenta: documents of custom code, webhooks and remote workflows, and their results.

mod answer;
mod conform;
mod document;

use evaluator_protocol::{
    Answer, Contract, DecodeError, Document, JsonObject,
    agenta::{
        self,
        http::{HttpReply, MAX_REPLY},
    },
};

use super::{
    Defaults, ForeignContract, ForeignHost, Functions, Question,
    answer::title_of,
    export::{Export, ExportError, Exporter, Job, text},
    question::{self, add, add_threshold, object},
};

pub(super) static HOST: ForeignHost = ForeignHost {
    name: "agenta",
    title: title_of(Contract::Agenta),
    contract: Contract::Agenta,
    foreign: Some(&CONTRACT),
    suite: Some(conform::SUITE),
    exporter: Some(EXPORTER),
};

/// Name of the functions that Agenta calls.
const EVALUATE: &str = "evaluate";

/// Parameter that names the input with the correct answer.
const CORRECT_ANSWER_KEY: &str = "correct_answer_key";

/// End of the paths to which Agenta sends documents of a remote workflow.
const INVOKE: &str = "/invoke";

/// Path of an evaluator with the name `invoke`.
const INVOKE_EVALUATOR: &str = "/evaluators/invoke";

static CONTRACT: ForeignContract = ForeignContract {
    answer_keys: &["success"],
    bare_answers: true,
    document_keys: &["correct_answer", "app_params"],
    source_keys: &["app_params"],
    functions: Some(Functions {
        name: Some(EVALUATE),
        parameters: "(app_params, inputs, output, correct_answer) or (inputs, outputs, trace)",
        is_called: |name, parameters| {
            let is_v1 = parameters.iter().any(|parameter| parameter == "app_params");
            let is_v2 = matches!(parameters, [inputs, outputs, ..] if inputs == "inputs" && outputs == "outputs");
            name == EVALUATE && (is_v1 || is_v2)
        },
    }),
    max_answer: MAX_REPLY,
    question,
    write: |answer| {
        let Answer::Agenta(outputs) = answer else { return question::to_json(answer) };
        let reply = HttpReply::answer(outputs);
        if reply.status == 200 { Ok(reply.body) } else { Err(reply.body) }
    },
    wants_plain_text: |path, contract, beginning| {
        // Documents of Agenta begin with the inputs.
        let begins_with_inputs = || {
            let rest = beginning.trim_ascii_start().strip_prefix(b"{").unwrap_or_default();
            rest.trim_ascii_start().starts_with(b"\"inputs\"")
        };
        path.ends_with(INVOKE) && path != INVOKE_EVALUATOR
            || contract.map_or_else(begins_with_inputs, |contract| contract == Contract::Agenta)
    },
    ..ForeignContract::new(document::document, answer::answer, |document, defaults| {
        let parameters = object(document, &["parameters"])?;
        add(parameters, &defaults.config);
        // Agenta replaces a threshold of 0 by its default.
        add_threshold(parameters, defaults.threshold.filter(|threshold| *threshold > 0.0));
        Some(())
    })
};

fn question(document: Document, name: &str, defaults: &Defaults) -> Result<Question, DecodeError> {
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

/// Returns true if the parameters contain a threshold that Agenta does not replace by its default.
fn has_threshold(parameters: &JsonObject) -> bool {
    let given = parameters.get("threshold");
    given.is_some_and(|given| {
        agenta::threshold(Some(given)) != Ok(agenta::DEFAULT_THRESHOLD)
            || given.as_f64() == Some(agenta::DEFAULT_THRESHOLD)
    })
}

/// Custom code by version of the interface.
const CODE: [(&str, &str); 3] = [
    ("v1", include_str!("export_v1.py")),
    ("v2", include_str!("export_v2.py")),
    ("v3", include_str!("export_v3.py")),
];

const WEBHOOK: &str = "A webhook evaluator of Agenta (agenta:builtin:auto_webhook_test:v0), answered by `evaluator serve`. \
    Agenta calls https URLs of public addresses only, unless its services run with AGENTA_INSECURE_EGRESS_ALLOWED=true, and \
    sends no headers.";

/// Default address of `evaluator serve`.
const ADDRESS: &str = "http://127.0.0.1:8700";

pub(super) const EXPORTER: Exporter =
    Exporter { about: "Custom code for each of Agenta's interfaces, and a webhook", files };

fn files(job: &Job<'_>) -> Result<Export, ExportError> {
    let name = &job.program.name;
    let mut export = Export::default();
    for (version, code) in CODE {
        let file = format!("{}_agenta_{version}.py", text::identifier(name));
        export = export.file(file, text::fill(code, job));
    }
    let url = text::quoted(&format!("{ADDRESS}/evaluators/{}", text::path_segment(name)));
    let file = format!("{name}.agenta-webhook.yaml");
    let code_usage = "take one of the .py files as the code of a custom code evaluator whose `version` it names, where Agenta's \
                      runner is `local`";
    let webhook_usage = format!(
        "or serve the evaluator (`evaluator serve`) and take the URL of `{file}` for a webhook"
    );
    let webhook = text::yaml(job, WEBHOOK, &format!("parameters:\n  webhook_url: {url}\n"));
    Ok(export.file(file, webhook).usage(code_usage).usage(webhook_usage))
}
