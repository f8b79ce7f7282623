//! `type: llm_judge`: a judge with a prompt, rubrics or criteria of the user.

mod prompt;
mod scheme;

use evaluator_document::{Fields, keys, schema::text};
use serde_json::json;

use self::{prompt::Prompt, scheme::Verdict};
use super::{JudgeSettings, reader::Reader};
use crate::{
    json::Object,
    judging::judge::{
        Judge as _,
        llm_judge::{LlmJudge, Scope},
    },
};

/// Values of `scope`.
const SCOPES: [(&str, Scope); 2] = [("turn", Scope::Turn), ("conversation", Scope::Conversation)];

/// A judge of a configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LlmJudgeConfig {
    /// Lowest score that passes; 0.5 by default.
    pub threshold: f64,
    /// Settings of the judge.
    pub judge: JudgeSettings,
    /// The judge.
    pub judged_by: LlmJudge,
    /// The entry as JSON with the text of its prompt, which identifies its results.
    pub(crate) identity: Object,
}

/// Takes the settings from an entry; `None` after a problem.
pub(super) fn read(
    name: Option<&str>,
    fields: &mut Fields<'_>,
    reader: &Reader<'_>,
) -> Option<LlmJudgeConfig> {
    let threshold = fields.key("threshold", "Lowest score that passes.").default(0.5).fraction();
    let forms = ["prompt", "criteria", "rubrics"].map(|key| json!({"required": [key]}));
    fields.describe(json!({
        "title": "A judge with a prompt, rubrics or criteria of its own",
        "required": ["name", "type"], "anyOf": forms.to_vec()
    }));
    let judge = evaluator_judging::read(fields, &reader.paths).unwrap_or_default();
    refuse_keys_of_metrics(fields);
    let start = fields.position();
    let file = json!({"type": "object", "properties": {"file": text()}, "required": ["file"], "additionalProperties": false});
    keys! { fields;
        /// Values that the prompt can name: {{ config.KEY }}.
        let config = read(json!({"type": "object"}), |field| Some(prompt::read_constants(field)));
        /// Text with variables such as {{ response }}, or file:PATH.
        let prompt = field(json!({"oneOf": [text(), file]}));
        /// Instructions before those about the reply.
        let system = field(text());
        /// What a good answer achieves.
        let criteria = sentence();
        /// What one question is about.
        let scope = choice(&SCOPES) or "turn";
    }
    let (constants, prompt_field) = (config.unwrap_or_default(), prompt);
    let verdict = scheme::read(fields, threshold.unwrap_or(0.5));
    let mut identity = fields.taken_since(start);
    let prompt = prompt_field.map(|field| prompt::read(field, reader));
    if let Some(Some(Prompt { text, .. })) = &prompt {
        identity.insert("prompt".to_owned(), text.as_str().into());
    }
    let Verdict { scheme, rubrics } = verdict?;
    if prompt_field.is_none() && criteria.is_none() && rubrics.is_none() {
        let hint = "a prompt, or `criteria` or `rubrics` for the built-in one";
        return fields.missing("prompt").hint(hint).none();
    }
    let mut judged_by = LlmJudge::new(name.unwrap_or_default(), scheme)
        .criteria(criteria.clone().unwrap_or_default())
        .scope(scope.unwrap_or_default());
    if let Some(system) = system {
        judged_by = judged_by.system(prompt::read_system(system, &constants)?);
    }
    if let Some(prompt) = prompt {
        judged_by = prompt?.apply(judged_by, &constants)?;
    }
    let criteria_field = criteria.and(fields.peek("criteria"));
    for (field, name) in
        [(criteria_field, "criteria"), (rubrics.map(|field| field.node), "rubrics")]
    {
        if let (Some(node), false) = (field, judged_by.shows(name)) {
            let message = format!("the prompt never shows `{{{{{name}}}}}`");
            fields.problems().warn(node.span, message);
        }
    }
    check_swap(fields, &judge, &judged_by);
    Some(LlmJudgeConfig { threshold: threshold.unwrap_or(0.5), judge, judged_by, identity })
}

/// Adds a problem if there is nothing to show in two orders although `swap` is set.
fn check_swap(fields: &Fields<'_>, judge: &JudgeSettings, judged_by: &LlmJudge) {
    let settings = fields.peek("judge").filter(|_| judge.swap == Some(true));
    if let (Some(node), false) = (settings, judged_by.can_swap()) {
        let message =
            "`swap` needs rubrics, choices, or a reference that the built-in prompt shows";
        fields.problems().add(node.span, message);
    }
}

/// Refuses the keys with which entries of agentevals name the model of a metric: this type of entry is not one of agentevals.
fn refuse_keys_of_metrics(fields: &mut Fields<'_>) {
    for (key, name) in [
        ("judge_model", "model"),
        ("judge_base_url", "base_url"),
        ("credential_ref", "credential_ref"),
    ] {
        let message = format!("`{key}` is a key of `type: builtin`");
        fields.refuse(key, message, &format!("write `judge: {{{name}: ..}}`"));
    }
}
