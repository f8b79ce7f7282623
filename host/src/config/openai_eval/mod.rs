//! `type: openai_eval`: graders of OpenAI's API.

mod local;
mod model;
mod template;

use std::time::Duration;

use evaluator_document::{Field, Fields, Node};
use evaluator_judging::JudgeSettings;

use super::reader::Reader;
use crate::{
    json::Object,
    judging::grader::{self, Endpoint, Formula, Grader},
};

/// Default time limit.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Types of graders.
const TYPES: &str = "one of string_check, text_similarity, multi, label_model, score_model, python";

/// Keys of all types of graders. A key of another type is a mistake; any other key is ignored, as by agentevals.
const KEYS: [&str; 18] = [
    "input",
    "reference",
    "operation",
    "evaluation_metric",
    "embedding_model",
    "wordnet",
    "pass_threshold",
    "graders",
    "calculate_output",
    "model",
    "labels",
    "passing_labels",
    "range",
    "sampling_params",
    "source",
    "image_tag",
    "type",
    "name",
];

/// A grader of OpenAI's API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiEvalConfig {
    /// Lowest score with which a turn passes; 0.5 by default. A label model passes by its labels, and a string check by its
    /// result.
    pub threshold: f64,
    /// Time limit for all turns of a conversation; 120 s by default.
    pub timeout: Duration,
    /// Server of models.
    pub server: ServerConfig,
    /// Models that are asked, and how; `None` if the grader is computed without models here.
    pub judge: Option<Box<JudgeSettings>>,
    /// Method.
    pub grader: Grader,
    /// The entry as JSON, which identifies its results.
    pub(crate) settings: Object,
}

/// A server that graders ask.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Base URL; `OPENAI_BASE_URL` or OpenAI's own if `None`.
    pub base_url: Option<String>,
    /// Variable with the key: `OPENAI_API_KEY` if `None`, no key if empty.
    pub api_key_env: Option<String>,
}

/// Takes the settings from an entry; `None` after a problem.
pub(super) fn read(fields: &mut Fields<'_>, reader: &Reader<'_>) -> Option<OpenAiEvalConfig> {
    let start = fields.position();
    if let Some(field) = fields.take("execution") {
        check_execution(field);
    }
    let threshold = fields.take("threshold");
    let timeout = fields.take("timeout").and_then(|field| field.seconds()).unwrap_or(TIMEOUT);
    let server = read_server(fields);
    let judge_field = fields.take("judge");
    let judge = judge_field.map(|field| evaluator_judging::read(field, &reader.paths));
    let score = threshold.and_then(|field| field.fraction());
    let Some(field) = fields.take("grader") else {
        return fields.missing("grader").hint(TYPES).none();
    };
    let (grader, pass_threshold) = read_grader(field, false)?;
    let settings = fields.taken_since(start);
    if let Some(threshold) = threshold {
        warn_unused(threshold, &grader);
        if let Some(pass_threshold) = pass_threshold {
            pass_threshold
                .add("`pass_threshold` and the `threshold` of the entry are the same setting")
                .hint("keep one of them");
        }
    }
    let pass_threshold = pass_threshold.and_then(|field| field.fraction());
    let server = server?;
    let asks = !grader.models().is_empty();
    if let Some(field) = judge_field {
        check_judge(field, judge.as_ref(), asks);
    }
    let endpoint = Endpoint {
        base_url: server.base_url.as_deref(),
        api_key_env: server.api_key_env.as_deref(),
    };
    let judge = asks.then(|| {
        Box::new(grader::settings(
            &grader,
            &endpoint,
            &judge.unwrap_or_default(),
            &reader.known.models,
        ))
    });
    Some(OpenAiEvalConfig {
        threshold: score.or(pass_threshold).unwrap_or(0.5),
        timeout,
        server,
        judge,
        grader,
        settings,
    })
}

/// Checks where answers are graded. Entries of agentevals may name OpenAI's Evals API.
fn check_execution(field: Field<'_>) {
    if field.node.as_str() == Some("api") {
        let message = "`execution: api` cannot be used: OpenAI's Evals API ends on 2026-11-30";
        let hint = "leave it out; string_check, text_similarity, multi, label_model, score_model and python graders \
                    are all graded here";
        field.add(message).hint(hint);
    } else {
        field.choice(&[("local", ())]);
    }
}

/// Checks that `judge` has an effect.
fn check_judge(field: Field<'_>, judge: Option<&JudgeSettings>, asks: bool) {
    if !asks {
        let message = "`judge` has no effect: this grader asks no model";
        field.problems.warn(field.node.span, message).hint("leave it out");
    } else if judge.is_some_and(|judge| !judge.models.is_empty()) {
        let message = "`judge` names a model, and the grader names its own";
        field.add(message).hint("leave `model` out of `judge`");
    }
}

/// Takes the keys of a server.
fn read_server(fields: &mut Fields<'_>) -> Option<ServerConfig> {
    let base_url = match fields.take("base_url") {
        Some(field) => Some(field.text()?.to_owned()),
        None => None,
    };
    let api_key_env = match fields.take("api_key_env") {
        Some(field) => Some(read_variable(field)?),
        None => None,
    };
    Some(ServerConfig { base_url, api_key_env })
}

/// Reads the name of a variable, or the empty text. A key must not be in a file, and is not repeated in the message.
fn read_variable(field: Field<'_>) -> Option<String> {
    let Some(name) = field.node.as_str() else {
        return field.expected("the name of a variable").none();
    };
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    if name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(name.to_owned());
    }
    let message =
        format!("`{}` is the name of a variable of the environment, not a key", field.key);
    field.add(message).hint("for example OPENAI_API_KEY").none()
}

/// Warns about a threshold that decides nothing.
fn warn_unused(threshold: Field<'_>, grader: &Grader) {
    let hint = match grader {
        Grader::LabelModel(_) => "leave it out; a turn passes by its label",
        Grader::StringCheck { .. } => "leave it out; a turn passes if the check holds",
        Grader::ScoreModel(model) if model.pass_threshold.is_some() => {
            "leave it out; the grader has a `pass_threshold`"
        }
        _ => return,
    };
    let message = format!("`threshold` has no effect with this {}", grader.kind());
    threshold.problems.warn(threshold.node.span, message).hint(hint);
}

/// Reads a grader and the position of its threshold. A grader inside of a multi grader has none.
fn read_grader(field: Field<'_>, inside: bool) -> Option<(Grader, Option<Field<'_>>)> {
    let mut fields = field.fields("this grader")?;
    let Some(kind) = fields.take("type") else {
        return fields.missing("type").hint(TYPES).none();
    };
    type Read = fn(&mut Fields<'_>) -> Option<Grader>;
    let types: [(&str, Read); 6] = [
        ("text_similarity", local::read_text_similarity),
        ("string_check", local::read_string_check),
        ("multi", read_multi),
        ("label_model", |fields| model::read_label_model(fields).map(Grader::LabelModel)),
        ("score_model", |fields| model::read_score_model(fields).map(Grader::ScoreModel)),
        ("python", local::read_python),
    ];
    let read = kind.choice(&types)?;
    if inside && kind.text() == Some("multi") {
        return kind.add("a multi grader cannot contain another one").none();
    }
    // The API requires a name; the name of the entry is used.
    fields.take("name").and_then(|field| field.text());
    // That of a score_model is a number of its own range.
    let has_own = matches!(kind.text(), Some("string_check" | "label_model" | "score_model"));
    let pass_threshold = if inside || has_own { None } else { fields.take("pass_threshold") };
    let grader = read(&mut fields);
    fields.finish_leniently(&KEYS);
    Some((grader?, pass_threshold))
}

fn read_multi(fields: &mut Fields<'_>) -> Option<Grader> {
    let graders = fields.require("graders");
    let formula = fields.require("calculate_output");
    let graders: Vec<(&str, Option<Grader>)> = graders?
        .named()
        .into_iter()
        .map(|(name, node)| (name, read_part(name, node, fields)))
        .collect();
    let (names, graders): (Vec<&str>, Vec<Option<Grader>>) = graders.into_iter().unzip();
    let field = formula?;
    let formula = match Formula::parse(field.text()?, &names) {
        Ok(formula) => formula,
        Err(error) => {
            let message = format!("`{}` {}", field.key, error.message);
            return field.add(message).hint(error.hint).none();
        }
    };
    let graders = names.into_iter().zip(graders);
    let graders = graders.map(|(name, grader)| Some((name.to_owned(), grader?)));
    Some(Grader::Multi { graders: graders.collect::<Option<_>>()?, formula })
}

/// Reads a grader of a multi grader.
fn read_part<'n>(name: &'n str, node: &'n Node, fields: &Fields<'n>) -> Option<Grader> {
    let field: Field<'n> = Field { key: name, node, problems: fields.problems() };
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
        let message = format!("`{name}` cannot be used as a name in `calculate_output`");
        return field.add(message).hint("use letters, digits and `_`").none();
    }
    read_grader(field, true).map(|(grader, _)| grader)
}
