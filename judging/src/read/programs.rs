//! The keys `models:` and `target:` of a program.

use evaluator_document::{Field, Fields, keys};
use serde_json::json;

use super::keys;
use crate::{programs::ProgramModels, settings::JudgeSettings};

/// Most calls of an evaluation.
const MOST_CALLS: u32 = 1_000_000;

/// Keys of `models:` that are not names of models.
const LIMITS: [&str; 3] = ["max_calls", "timeout", "budget"];

/// Takes the keys `models` and `target`, which exclude each other. Returns `None` if there is neither, and after a problem.
pub fn read_programs(fields: &mut Fields<'_>) -> Option<ProgramModels> {
    let mut named = fields.schema_of(read_settings);
    named["description"] = "Settings of the model.".into();
    named["properties"]["model"]["type"] = "string".into();
    named["properties"]["params"]["properties"].as_object_mut().map(|it| it.remove("json_schema"));
    let mut target_form = fields.schema_of(read_limits);
    target_form["type"] = json!(["object", "boolean"]);
    let mut models_form = target_form.clone();
    models_form["propertyNames"] = json!({"pattern": r"^[^,]*[^,\s][^,]*$"});
    let name = json!({"type": "string", "minLength": 1, "pattern": r"\S"});
    models_form["additionalProperties"] = json!({"oneOf": [name, named]});
    keys! { fields;
        /// Offers models to the program, through AgentV's target proxy: names, each with a model or its settings, and limits.
        /// Without a name, the model of the run.
        let models = field(models_form);
        /// Offers the model of the run to the program, through AgentV's target proxy.
        let target = field(target_form);
    }
    if let (Some(_), Some(target)) = (&models, &target) {
        let hint = "give the limits of `target` to `models`";
        return target.add("`target` and `models` exclude each other").hint(hint).none();
    }
    models.and_then(read_models).or_else(|| target.and_then(read_target))
}

/// Reads `target:`, as AgentV has it: `true`, or a mapping with limits. The program may ask the model of the run. Returns
/// `None` for `false`, and after a problem.
fn read_target(field: Field<'_>) -> Option<ProgramModels> {
    if !field.is_mapping() {
        return read_flag(&field, "`target: {max_calls: 10}`");
    }
    let mut fields = field.fields("`target`")?;
    let program = read_limits(&mut fields);
    fields.finish();
    Some(program)
}

/// Reads `models:`: names of models, each with the model or its settings, and limits. Without a name, the program may ask the
/// model of the run.
fn read_models(field: Field<'_>) -> Option<ProgramModels> {
    if !field.is_mapping() {
        return read_flag(&field, "`models: {judge: openai/gpt-4o-mini}`");
    }
    let mut fields = field.fields("`models`")?;
    let mut program = read_limits(&mut fields);
    for (name, node) in field.named().into_iter().filter(|(name, _)| !LIMITS.contains(name)) {
        let field = Field { key: "model", node, problems: field.problems };
        if name.trim().is_empty() || name.contains(',') {
            field.add(format!("`{name}` cannot be the name of a model"));
            continue;
        }
        let settings = if field.is_mapping() { read_model(field) } else { read_name(field) };
        program.models.extend(settings.map(|settings| (name.to_owned(), settings)));
    }
    Some(program)
}

/// Reads `true` and `false`.
fn read_flag(field: &Field<'_>, example: &str) -> Option<ProgramModels> {
    match field.node.kind {
        evaluator_document::NodeKind::Scalar(evaluator_json::Value::Bool(is_on)) => {
            is_on.then(ProgramModels::default)
        }
        _ => field.expected("a mapping, or true").hint(format!("for example {example}")).none(),
    }
}

fn read_limits(fields: &mut Fields<'_>) -> ProgramModels {
    let default = ProgramModels::default();
    keys! { fields;
        /// Maximum number of calls of an evaluation.
        let max_calls = whole(0..=MOST_CALLS) or default.max_calls;
        /// Seconds for one call, with its waits and repetitions.
        let timeout = read(keys::seconds(), keys::duration) or default.call_limit.as_secs();
    }
    ProgramModels {
        max_calls: max_calls.map_or(default.max_calls, u64::from),
        call_limit: timeout.unwrap_or(default.call_limit),
        budget: keys::read_budget(fields),
        models: Vec::new(),
    }
}

fn read_name(field: Field<'_>) -> Option<JudgeSettings> {
    let model = field.sentence()?.trim().to_owned();
    Some(JudgeSettings { models: vec![model], ..JudgeSettings::default() })
}

/// Reads the settings of one model.
fn read_model(field: Field<'_>) -> Option<JudgeSettings> {
    let mut fields = field.fields("a model of `models`")?;
    let settings = read_settings(&mut fields);
    if settings.json_schema.is_some() {
        field.add("`json_schema` belongs to judges; a program asks for the reply that it needs");
    }
    fields.finish();
    Some(settings)
}

/// Takes the settings of one model. Those that only judges have are unknown keys.
fn read_settings(fields: &mut Fields<'_>) -> JudgeSettings {
    let mut settings = JudgeSettings::default();
    fields.null_is_absent();
    fields.refuse(
        "models",
        "`models` lists the models of a panel of judges",
        "give each model a name",
    );
    if fields.peek("model").is_none() {
        fields.missing("model");
    }
    keys::read_model(fields, &mut settings);
    keys::read_sending(fields, &mut settings);
    settings
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use evaluator_document::{Problems, Syntax, read_yaml};

    use super::*;

    fn read(
        reader: fn(Field<'_>) -> Option<ProgramModels>,
        text: &str,
    ) -> Result<Option<ProgramModels>, String> {
        let node = read_yaml(text).unwrap().unwrap();
        let problems = Problems::new(text, Syntax::Yaml);
        let read = reader(node.field("models", &problems));
        match problems.error(Path::new("c.yaml")) {
            None => Ok(read),
            Some(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn models_have_names_and_settings_in_the_order_of_the_file() {
        let text = "{strict: {model: anthropic/claude, params: {temperature: 0}, api_key_env: K}, judge: ' fake:a ', \
                    max_calls: 3, timeout: 2.5, budget: {calls: 9}}";
        let program = read(read_models, text).unwrap().unwrap();
        let names: Vec<_> =
            program.models.iter().map(|(name, it)| (name.as_str(), it.models.clone())).collect();
        assert_eq!(
            names,
            [("strict", vec!["anthropic/claude".to_owned()]), ("judge", vec!["fake:a".to_owned()])]
        );
        let strict = &program.models[0].1;
        assert_eq!(
            (strict.params.temperature, strict.api_key_env.as_deref()),
            (Some(0.0), Some("K"))
        );
        assert_eq!((program.max_calls, program.budget.calls), (3, Some(9)));
        assert_eq!(program.call_limit, Duration::from_millis(2500));
    }

    #[test]
    fn targets_are_read_as_agentv_writes_them() {
        for (text, calls) in
            [("{}", 50), ("true", 50), ("{max_calls: 0}", 0), ("{max_calls: 7}", 7)]
        {
            let program = read(read_target, text).unwrap().unwrap();
            assert_eq!((program.max_calls, program.models.len()), (calls, 0), "{text}");
        }
        for reader in [read_target, read_models] {
            assert!(read(reader, "false").unwrap().is_none());
        }
    }

    #[test]
    fn mistakes_have_a_reason() {
        type Reader = fn(Field<'_>) -> Option<ProgramModels>;
        let (target, models): (Reader, Reader) = (read_target, read_models);
        for (reader, text, reason) in [
            (target, "{max_calls: -1}", "`max_calls` must be"),
            (target, "{max_calls: many}", "`max_calls` must be"),
            (target, "{max_cals: 1}", "did you mean `max_calls`"),
            (target, "3", "a mapping, or true"),
            (target, "{timeout: 0}", "`timeout` must be a positive number"),
            (target, "{budget: {call: 3}}", "did you mean `calls`"),
            (models, "[a]", "a mapping, or true"),
            (models, "{a: 3}", "must be"),
            (models, "{a: ''}", "`model` is empty"),
            (models, "{'a,b': m}", "cannot be the name"),
            (models, "{a: {base_url: x}}", "the key `model` is missing"),
            (models, "{a: {model: m, samples: 3}}", "unknown key `samples`"),
            (models, "{a: {models: [m]}}", "panel"),
            (models, "{a: {model: m, api_key: sk}}", "`api_key` must not be"),
            (
                models,
                "{a: {model: m, params: {json_schema: true}}}",
                "`json_schema` belongs to judges",
            ),
        ] {
            let error = read(reader, text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
