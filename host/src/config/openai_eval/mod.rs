//! `type: openai_eval`: graders of OpenAI's API. Those that need no model are computed here.

mod local;
mod model;

use std::time::Duration;

use evaluator_document::{Field, Fields};

pub use model::{LabelModel, Message, ScoreModel};

use crate::{
    json::Object,
    metric::grader::{self, Template},
};

/// Default time limit.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Types of graders.
const TYPES: &str = "one of string_check, text_similarity, multi, label_model, score_model, python";

/// A grader of OpenAI's API.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OpenAiEvalConfig {
    /// Lowest score with which a turn passes; 0.5 by default. A [`Grader::LabelModel`] passes by its labels, and a string
    /// check by its result.
    pub threshold: f64,
    /// Time limit for all turns of a conversation; 120 s by default.
    pub timeout: Duration,
    /// Where answers are graded.
    pub execution: Execution,
    /// Method.
    pub grader: Grader,
    /// The entry as JSON, which identifies its results.
    pub(crate) settings: Object,
}

/// Where answers are graded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Execution {
    /// By this program.
    Local,
    /// By a server with OpenAI's Evals API.
    Api,
}

/// Method of grading.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Grader {
    /// Needs no model.
    Local(grader::Grader),
    /// A model that labels answers.
    LabelModel(LabelModel),
    /// A model that gives answers a number.
    ScoreModel(ScoreModel),
    /// Comparison with the expected answer by embeddings of a model.
    Cosine,
    /// Source of a Python function.
    Python(String),
    /// A formula over graders, one of which cannot be computed here.
    Multi,
}

impl OpenAiEvalConfig {
    /// Returns true if the grader compares with expected answers, so that it needs an eval set.
    pub(super) fn compares(&self) -> bool {
        match &self.grader {
            Grader::Local(grader) => grader.compares(),
            Grader::Cosine => true,
            _ => false,
        }
    }

    /// Returns the reason why this version cannot run the grader, to be read after its name, and what to do instead.
    pub(crate) fn refusal(&self) -> Option<(&'static str, &'static str)> {
        const CODE: &str = "write a `type: code` evaluator that asks the model";
        if self.execution == Execution::Api {
            return Some((
                "has `execution: api`, and no server can be asked by this version",
                "write `execution: local`; OpenAI's Evals API ends on 2026-11-30",
            ));
        }
        match &self.grader {
            Grader::Local(_) => None,
            Grader::LabelModel(_) => {
                Some(("is a label_model, and no model can be asked by this version", CODE))
            }
            Grader::ScoreModel(_) => {
                Some(("is a score_model, and no model can be asked by this version", CODE))
            }
            Grader::Cosine => Some((
                "compares embeddings (`cosine`), and no model can be asked by this version",
                "`cosine:tf` compares counts of words, and `fuzzy_match` characters",
            )),
            Grader::Python(_) => Some((
                "is a python grader, which this version does not run",
                "write its function to a file and run it as a `type: code` evaluator",
            )),
            Grader::Multi => Some((
                "is a multi grader with a part that this version cannot run",
                "use string_check and text_similarity in it",
            )),
        }
    }
}

/// Takes the settings from an entry; `None` after a problem.
pub(super) fn read(fields: &mut Fields<'_>) -> Option<OpenAiEvalConfig> {
    let start = fields.position();
    let executions = [("local", Execution::Local), ("api", Execution::Api)];
    let execution = fields.take("execution").and_then(|field| field.choice(&executions));
    let threshold = fields.take("threshold");
    let timeout = fields.take("timeout").and_then(|field| field.seconds()).unwrap_or(TIMEOUT);
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
    Some(OpenAiEvalConfig {
        threshold: score.or(pass_threshold).unwrap_or(0.5),
        timeout,
        execution: execution.unwrap_or(Execution::Local),
        grader,
        settings,
    })
}

/// Warns about a threshold that decides nothing.
fn warn_unused(threshold: Field<'_>, grader: &Grader) {
    let (kind, hint) = match grader {
        Grader::LabelModel(_) => ("label_model", "leave it out; a turn passes by its label"),
        Grader::Local(grader::Grader::StringCheck { .. }) => {
            ("string_check", "leave it out; a turn passes if the check holds")
        }
        _ => return,
    };
    let message = format!("`threshold` has no effect with a {kind}");
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
        ("multi", local::read_multi),
        ("label_model", |fields| model::read_label_model(fields).map(Grader::LabelModel)),
        ("score_model", |fields| model::read_score_model(fields).map(Grader::ScoreModel)),
        ("python", read_python),
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
    fields.finish();
    Some((grader?, pass_threshold))
}

fn read_python(fields: &mut Fields<'_>) -> Option<Grader> {
    fields.take("image_tag").and_then(|field| field.text());
    let source = fields.require("source")?.text()?;
    Some(Grader::Python(source.to_owned()))
}

/// Reads a template. A reference to what a turn does not have is a problem.
fn template(field: Field<'_>) -> Option<Template> {
    let Some(text) = field.node.as_str() else { return field.expected("text").none() };
    match Template::parse(text) {
        Ok(template) => Some(template),
        Err(error) => {
            field.add(format!("`{}` {}", field.key, error.message)).hint(error.hint).none()
        }
    }
}
