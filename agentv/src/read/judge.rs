//! Keys of judgements by a model: prompts and rubrics.

use std::collections::HashSet;

use evaluator_document::{Field, Fields, NodeKind};
use evaluator_json::{Object, Value};
use evaluator_judging::judge::scheme::{Item, Operator, Scheme, ScoreRange};

use super::{
    Reader, program,
    values::{self, first, flag, json, non_negative, number_in, whole},
};
use crate::{
    files::{all, any_text},
    model::{Judge, Prompt},
    template::Template,
};

const PROMPT_FILE: &str = "file://";

pub(super) fn read(reader: &Reader<'_>, mut fields: Fields<'_>, kind: &str) -> Option<Judge> {
    let scheme = match kind {
        "rubrics" => {
            let list = first(&mut fields, &["criteria", "rubrics"]);
            list.or_else(|| fields.missing("criteria").none())
                .and_then(|list| rubrics_of(&list))
                .map(Scheme::Rubrics)
        }
        _ => match fields.take("rubrics") {
            Some(list) => rubrics_of(&list).map(Scheme::Rubrics),
            None => Some(Judge::NUMBER),
        },
    };
    // The option of the program that the guide of AgentV 2 shows, and the key of AgentV 5.
    let full = first(&mut fields, &["evaluatorTemplate", "evaluator_template"]);
    let value = fields.take("value");
    let config = fields.take("config").and_then(|config| config.object());
    let prompt = match (first(&mut fields, &["prompt"]), full) {
        (Some(prompt), None) => self::prompt(reader, &prompt),
        (None, Some(full)) => any_text(&full).map(|text| Prompt::Template(template(&full, &text))),
        (Some(_), Some(full)) => full.add("`prompt` and a full template exclude each other").none(),
        (None, None) => Some(Prompt::Default),
    };
    let prompt = match value {
        Some(value) if matches!(prompt, Some(Prompt::Default)) => {
            value.sentence().map(Prompt::Criteria)
        }
        Some(value) => value.add("`value` and `prompt` exclude each other").none(),
        None => prompt,
    };
    let target = target(&mut fields);
    let temperature = fields.take("temperature").and_then(|field| number_in(&field, 0.0..=2.0));
    let model = fields.take("model").and_then(|field| field.sentence());
    if let Some(steps) = first(&mut fields, &["max_steps", "maxSteps"]) {
        whole(&steps, 1..=u32::MAX);
        steps
            .problems
            .warn(steps.node.span, "`max_steps` has no effect: a judge is a model, not an agent");
    }
    let prompt = with_config(fields, prompt, config);
    Some(Judge { prompt: prompt?, scheme: scheme?, target, temperature, model })
}

/// Hands `config` and the remaining keys to the program that writes the prompt. Without one they are unknown keys.
fn with_config(
    fields: Fields<'_>,
    prompt: Option<Prompt>,
    config: Option<Object>,
) -> Option<Prompt> {
    let Some(Prompt::Program(mut program)) = prompt else {
        fields.finish();
        return prompt;
    };
    let mut all = program::remaining(&fields);
    // The `config` next to the command is the one that programs know.
    all.extend(config.into_iter().chain(program.config.take()).flatten());
    program.config = (!all.is_empty()).then_some(all);
    Some(Prompt::Program(program))
}

/// Reads the name of the target that judges.
fn target(fields: &mut Fields<'_>) -> Option<String> {
    let field = fields.take("target")?;
    if field.is_mapping() {
        let message = "`target` of a judge names a target; access to models is for programs";
        return field.add(message).hint("give the name of a target").none();
    }
    field.sentence()
}

fn prompt(reader: &Reader<'_>, field: &Field<'_>) -> Option<Prompt> {
    if field.is_mapping() {
        return program::of_prompt(reader, field).map(Prompt::Program);
    }
    let text = field.sentence()?;
    if let Some(path) = text.trim().strip_prefix(PROMPT_FILE) {
        return file_with_answer(reader, field, path);
    }
    if !text.contains('\n')
        && let Some(file) = reader.places.find(text.trim()).filter(|file| file.is_file())
    {
        if reader.is_v2() {
            return file_with_answer(reader, field, text.trim());
        }
        let message = format!("`prompt` is this text, not the file {}", file.display());
        field.problems.warn(field.node.span, message).hint("write `file://` in front of a path");
    }
    let template = template(field, &text);
    if template.has_variables() || reader.is_v2() {
        if !template.shows_answer() {
            field
                .problems
                .warn(field.node.span, "the prompt does not show the answer to the judge");
        }
        return Some(Prompt::Template(template));
    }
    if template.is_like_one() {
        let message = "the prompt has no variable, so it takes the place of the criteria in the default prompt";
        field.problems.warn(field.node.span, message).hint("variables are written `{{ output }}`");
    }
    Some(Prompt::Criteria(text))
}

/// Reads the prompt of an aggregator, which is a template in any case.
pub(super) fn aggregating(reader: &Reader<'_>, field: &Field<'_>) -> Option<Prompt> {
    let text = field.sentence()?;
    let template = match text.trim().strip_prefix(PROMPT_FILE) {
        Some(path) => of_file(reader, field, path)?,
        None => template(field, &text),
    };
    Some(Prompt::Template(template))
}

fn of_file(reader: &Reader<'_>, field: &Field<'_>, path: &str) -> Option<Template> {
    let Some(file) = reader.places.find(path).filter(|file| file.is_file()) else {
        return field.add(format!("the prompt `{path}` does not exist")).none();
    };
    match std::fs::read_to_string(file) {
        Ok(text) => Some(template(field, &text)),
        Err(error) => field.add(format!("cannot read the prompt `{path}`: {error}")).none(),
    }
}

/// Reads a file that must show the answer.
fn file_with_answer(reader: &Reader<'_>, field: &Field<'_>, path: &str) -> Option<Prompt> {
    let template = of_file(reader, field, path)?;
    if !template.shows_answer() {
        let problem = field.add(format!("the prompt `{path}` does not show the answer"));
        return problem.hint("put `{{ output }}` or `{{ candidate_answer }}` into it").none();
    }
    Some(Prompt::Template(template))
}

/// Reads a template. Unknown names are text, as in AgentV, with a warning.
fn template(field: &Field<'_>, text: &str) -> Template {
    let template = Template::new(text);
    for name in template.unknown() {
        let message = format!("prompts have no variable `{name}`; it stays as it is");
        field.problems.warn(field.node.span, message).maybe_hint(Template::similar(name));
    }
    template
}

/// Returns the id of a rubric without one.
pub(super) fn id_of(number: usize) -> String {
    format!("rubric-{number}")
}

/// Reads a list of rubrics.
pub(super) fn rubrics_of(field: &Field<'_>) -> Option<Vec<Item>> {
    let items = field.non_empty_items()?;
    let read = all((1..).zip(&items).map(|(number, item)| rubric(number, item)))?;
    let mut ids = HashSet::new();
    for (item, rubric) in items.iter().zip(&read).filter(|(_, rubric)| !ids.insert(&rubric.id)) {
        item.add(format!("the id `{}` is given twice", rubric.id));
    }
    Some(read)
}

fn rubric(number: usize, item: &Field<'_>) -> Option<Item> {
    if !item.is_mapping() {
        return item.sentence().map(|text| Item::new(id_of(number), text));
    }
    let mut fields = item.fields("this rubric")?;
    let id = fields.take("id").map_or(Some(id_of(number)), |id| id.sentence());
    let text = first(&mut fields, &["outcome", "criteria", "expected_outcome", "description"]);
    let weight = fields.take("weight").and_then(|field| non_negative(&field)).unwrap_or(1.0);
    let required = fields.take("required").and_then(|field| flag(&field));
    let operator = fields.take("operator").and_then(|field| {
        let names =
            [("correctness", Operator::Correctness), ("contradiction", Operator::Contradiction)];
        field.choice(&names)
    });
    let ranges = first(&mut fields, &["score_ranges", "scoreRanges"]);
    let ranges = ranges.map_or(Some(Vec::new()), |field| self::ranges(&field));
    let min_score = minimum(&mut fields);
    let is_empty = text.is_none() && ranges.as_ref().is_some_and(Vec::is_empty);
    if is_empty {
        fields.missing("outcome");
    }
    fields.finish();
    if is_empty {
        return None;
    }
    let text = text.map_or(Some(String::new()), |text| text.sentence())?;
    let ranges = ranges?;
    Some(Item {
        id: id?,
        text,
        weight,
        // A criterion with ranges has a gate only if it says so.
        required: required.unwrap_or(ranges.is_empty()),
        min_score,
        operator,
        ranges,
    })
}

/// Reads the gate, as a share of 1.
fn minimum(fields: &mut Fields<'_>) -> Option<f64> {
    let of_ten = first(fields, &["required_min_score", "requiredMinScore"]);
    let of_one = first(fields, &["min_score", "minScore"]);
    match (of_ten, of_one) {
        (Some(_), Some(field)) => field
            .add("`min_score` and `required_min_score` are the same gate")
            .hint("keep one")
            .none(),
        (Some(field), None) => whole(&field, 1..=10).map(|minimum| f64::from(minimum) / 10.0),
        (None, Some(field)) => values::minimum(&field),
        (None, None) => None,
    }
}

/// Reads ranges of scores, which cover 0 to 10 without overlap.
fn ranges(field: &Field<'_>) -> Option<Vec<ScoreRange>> {
    let ranges = match &field.node.kind {
        NodeKind::Mapping(entries) => {
            let bounds = entries.iter().map(|(key, text)| {
                let text = text.field("score_ranges", field.problems).sentence();
                Some((bound(&key.field("score_ranges", field.problems))?, text?))
            });
            ScoreRange::from_lower_bounds(bounds.collect::<Option<Vec<_>>>()?)
        }
        _ => all(field.items()?.iter().map(range))?,
    };
    let item = Item { ranges, ..Item::new("it", "it") };
    match Scheme::rubrics(vec![item.clone()]) {
        Ok(_) if item.ranges.is_empty() => field.add("`score_ranges` is empty").none(),
        Ok(_) => Some(item.ranges),
        Err(error) => {
            let reason = error.message.replace("the score ranges of `it`", "`score_ranges`");
            field.add(reason).hint("they must cover 0 to 10, each score once").none()
        }
    }
}

/// Reads a score, also as the text that a key of JSON is.
fn bound(field: &Field<'_>) -> Option<u8> {
    match field.node.as_str().map(str::parse) {
        Some(Ok(bound)) if bound <= 10_u8 => Some(bound),
        Some(_) => field.add("a score must be a whole number from 0 to 10").none(),
        None => whole(field, 0..=10).and_then(|bound| u8::try_from(bound).ok()),
    }
}

fn range(item: &Field<'_>) -> Option<ScoreRange> {
    let mut fields = item.fields("this range")?;
    let bounds = first(&mut fields, &["score_range", "scoreRange"]);
    let bounds = bounds.or_else(|| fields.missing("score_range").none());
    let text = first(&mut fields, &["outcome", "expected_outcome"]);
    let text = text.or_else(|| fields.missing("outcome").none());
    fields.finish();
    let bounds = bounds?;
    let numbers = all(bounds.items()?.iter().map(bound))?;
    let [from, to] = numbers[..] else {
        return bounds
            .add("`score_range` must be two whole numbers, the lowest and the highest")
            .none();
    };
    Some(ScoreRange { from, to, outcome: text?.sentence()? })
}

/// Returns a value of a test for prompts.
pub(super) fn metadata(field: &Field<'_>) -> Option<Value> {
    field.object()?;
    json(field)
}
