//! `type: openai_eval`: graders of OpenAI's API.

mod local;
mod model;
mod template;

use std::time::Duration;

use evaluator_document::{
    Field, Fields, Node, Problems, Syntax, keys,
    schema::{one_of, text},
};
use evaluator_judging::JudgeSettings;
use serde_json::{Value, json};

use super::reader::Reader;
use crate::{
    json::Object,
    judging::grader::{self, Endpoint, Formula, Grader},
};

/// Default time limit.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Values of `execution`.
const EXECUTIONS: [(&str, ()); 1] = [("local", ())];

/// Types of graders.
const TYPES: &str = "one of string_check, text_similarity, multi, label_model, score_model, python";

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
    fields.describe(json!({"title": "A grader of OpenAI's API"}));
    let start = fields.position();
    keys! { fields;
        /// Where answers are graded: by this program.
        execution: read(one_of(&EXECUTIONS), check_execution) or "local";
        /// Lowest score that passes.
        let threshold = field(json!({"type": "number", "minimum": 0, "maximum": 1})) or 0.5;
        /// Time limit in seconds.
        let timeout = seconds() or TIMEOUT.as_secs();
    }
    let server = read_server(fields);
    let judge = evaluator_judging::read(fields, &reader.paths);
    let judge_field = fields.peek("judge").map(|node| node.field("judge", fields.problems()));
    let score = threshold.and_then(|field| field.fraction());
    let forms = json!({"oneOf": schemas(fields)});
    let Some(field) = fields.key("grader", "Method of grading.").field(forms) else {
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
        timeout: timeout.unwrap_or(TIMEOUT),
        server,
        judge,
        grader,
        settings,
    })
}

/// Checks where answers are graded. Entries of agentevals may name OpenAI's Evals API.
fn check_execution(field: Field<'_>) -> Option<()> {
    if field.node.as_str() != Some("api") {
        return field.choice(&EXECUTIONS);
    }
    let message = "`execution: api` cannot be used: OpenAI's Evals API ends on 2026-11-30";
    let hint = "leave it out; string_check, text_similarity, multi, label_model, score_model and python graders \
                are all graded here";
    field.add(message).hint(hint).none()
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
    let variable = json!({"type": "string", "pattern": "^([A-Za-z_][A-Za-z0-9_]*)?$"});
    keys! { fields;
        /// Base URL of the server that graders ask. Default: OPENAI_BASE_URL, then that of the model's provider.
        let base_url = read(text(), |field| Some(field.text()));
        /// Variable with the key of the server; empty: no key. Default: that of the model's provider.
        let api_key_env = read(variable, |field| Some(read_variable(field)));
    }
    let base_url = base_url.map_or(Some(None), |url| url.map(|url| Some(url.to_owned())))?;
    let api_key_env = api_key_env.map_or(Some(None), |name| name.map(Some))?;
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

type Read = fn(&mut Fields<'_>) -> Option<Grader>;

const GRADERS: [(&str, Read); 6] = [
    ("text_similarity", local::read_text_similarity),
    ("string_check", local::read_string_check),
    ("multi", read_multi),
    ("label_model", model::read_label_model),
    ("score_model", model::read_score_model),
    ("python", local::read_python),
];

/// Returns the JSON Schemas of graders, one for each type.
fn schemas<'n>(fields: &Fields<'n>) -> Vec<Value> {
    let of_type = |(name, read): (&str, Read)| {
        fields.schema_of(|fields: &mut Fields<'n>| {
            fields.key("type", "").required().field(json!({"const": name}));
            take_grader(name, read, fields, false);
            // Unknown ones are ignored.
            fields.describe(json!({"additionalProperties": true}));
        })
    };
    GRADERS.into_iter().map(of_type).collect()
}

/// Takes the keys of a type of graders, and the field of its threshold.
fn take_grader<'n>(
    name: &str,
    read: Read,
    fields: &mut Fields<'n>,
    inside: bool,
) -> (Option<Grader>, Option<Field<'n>>) {
    // The API requires a name; the name of the entry is used.
    fields.key("name", "").text();
    // That of a score_model is a number of its own range.
    let has_own = matches!(name, "string_check" | "label_model" | "score_model");
    let score = json!({"type": "number", "minimum": 0, "maximum": 1});
    let threshold =
        if inside || has_own { None } else { fields.key("pass_threshold", "").field(score) };
    (read(fields), threshold)
}

/// Reads a grader and the position of its threshold. A grader inside of a multi grader has none.
fn read_grader(field: Field<'_>, inside: bool) -> Option<(Grader, Option<Field<'_>>)> {
    let mut fields = field.fields("this grader")?;
    let Some(kind) = fields.take("type") else {
        return fields.missing("type").hint(TYPES).none();
    };
    let read = kind.choice(&GRADERS)?;
    let name = kind.text()?;
    if inside && name == "multi" {
        return kind.add("a multi grader cannot contain another one").none();
    }
    let (grader, threshold) = take_grader(name, read, &mut fields, inside);
    // A key of another type is a mistake; any other key is ignored, as by agentevals.
    let problems = Problems::new("", Syntax::Yaml);
    let others = schemas(&Fields::describing(&problems));
    let others = others.iter().filter_map(|schema| schema["properties"].as_object());
    let others: Vec<&str> = others.flat_map(|keys| keys.keys().map(String::as_str)).collect();
    fields.finish_leniently(&others);
    Some((grader?, threshold))
}

fn read_multi(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.describe(json!({"title": "Calculates a score from those of other graders"}));
    let part = json!({"type": "object", "required": ["type"]});
    keys! { fields;
        /// Graders by their names in the formula.
        let graders! = field(json!({"type": "object", "additionalProperties": part}));
        /// Formula over the names: + - * / ^, min, max, abs, floor, ceil, exp, sqrt, log.
        let calculate_output! = field(text());
    }
    let formula = calculate_output;
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
