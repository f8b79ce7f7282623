//! Keys of judgements by a model: prompts and rubrics.

use std::path::Path;

use evaluator_document::{Field, Fields, NodeKind};
use evaluator_json::{Object, Value};

use super::{
    Reader,
    list::Place,
    program,
    values::{any_text, first, flag, fraction, json, non_negative, number_in, whole},
};
use crate::{
    model::{Judge, Prompt, Range, Rubric},
    template::Template,
};

const PROMPT_FILE: &str = "file://";

pub(super) fn read(
    reader: &Reader<'_>,
    mut fields: Fields<'_>,
    kind: &str,
    place: Place<'_>,
) -> Option<Judge> {
    let rubrics = match kind {
        "rubrics" => {
            let list = first(&mut fields, &["criteria", "rubrics"]);
            list.or_else(|| fields.missing("criteria").none()).and_then(|list| rubrics_of(&list, true))
        }
        _ => fields.take("rubrics").map_or(Some(Vec::new()), |list| rubrics_of(&list, false)),
    };
    // The option of the program that the guide of AgentV 2 shows, and the key of AgentV 5.
    let full = first(&mut fields, &["evaluatorTemplate", "evaluator_template"]);
    let value = fields.take("value");
    let config = fields.take("config").map(|config| config.object());
    let prompt = match (first(&mut fields, &["prompt"]), full) {
        (Some(prompt), None) => self::prompt(reader, &prompt, place),
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
    let temperature = fields.take("temperature").map(|field| number_in(&field, 0.0..=2.0));
    let model = fields.take("model").map(|field| field.sentence());
    if let Some(steps) = first(&mut fields, &["max_steps", "maxSteps"]) {
        whole(&steps, 1..=u32::MAX)?;
        steps.problems.warn(steps.node.span, "`max_steps` has no effect: a judge is a model, not an agent");
    }
    let prompt = with_config(fields, prompt, config);
    Some(Judge {
        prompt: prompt?,
        rubrics: rubrics?,
        target: target?,
        temperature: transposed(temperature)?,
        model: transposed(model)?,
    })
}

#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn transposed<T>(read: Option<Option<T>>) -> Option<Option<T>> {
    match read {
        Some(Some(value)) => Some(Some(value)),
        Some(None) => None,
        None => Some(None),
    }
}

/// Hands `config` and the remaining keys to the program that writes the prompt. Without one they are unknown keys.
fn with_config(
    fields: Fields<'_>,
    prompt: Option<Prompt>,
    config: Option<Option<Object>>,
) -> Option<Prompt> {
    let Some(Prompt::Program(mut program)) = prompt else {
        fields.finish();
        return prompt;
    };
    let mut all = program::remaining(&fields)?;
    if let Some(config) = config {
        all.extend(config?);
    }
    // The `config` next to the command is the one that programs know.
    if let Some(own) = program.config.take() {
        all.extend(own);
    }
    program.config = (!all.is_empty()).then_some(all);
    Some(Prompt::Program(program))
}

/// Reads the name of the target that judges.
#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn target(fields: &mut Fields<'_>) -> Option<Option<String>> {
    match fields.take("target") {
        None => Some(None),
        Some(field) if field.is_mapping() => {
            let message = "`target` of a judge names a target; access to models is for programs";
            field.add(message).hint("give the name of a target").none()
        }
        Some(field) => field.sentence().map(Some),
    }
}

fn prompt(reader: &Reader<'_>, field: &Field<'_>, place: Place<'_>) -> Option<Prompt> {
    if field.is_mapping() {
        return program::of_prompt(reader, field).map(Prompt::Program);
    }
    let text = field.sentence()?;
    if let Some(path) = text.trim().strip_prefix(PROMPT_FILE) {
        let Some(file) = reader.places.find(path).filter(|file| file.is_file()) else {
            return field.add(format!("the prompt `{path}` does not exist")).none();
        };
        return of_file(field, &file, place);
    }
    if !text.contains('\n')
        && let Some(file) = reader.places.find(text.trim()).filter(|file| file.is_file())
    {
        if reader.is_v2() {
            return of_file(field, &file, place);
        }
        let message = format!("`prompt` is this text, not the file {}", file.display());
        field.problems.warn(field.node.span, message).hint("write `file://` in front of a path");
    }
    let template = template(field, &text);
    if template.has_variables() || reader.is_v2() {
        if !template.shows_answer() {
            field.problems.warn(field.node.span, "the prompt does not show the answer to the judge");
        }
        return Some(Prompt::Template(template));
    }
    Some(Prompt::Criteria(text))
}

/// Reads the prompt of an aggregator, which is a template in any case.
pub(super) fn aggregating(reader: &Reader<'_>, field: &Field<'_>) -> Option<Prompt> {
    let text = field.sentence()?;
    let Some(path) = text.trim().strip_prefix(PROMPT_FILE) else {
        return Some(Prompt::Template(template(field, &text)));
    };
    let file = reader.places.find(path).filter(|file| file.is_file());
    match file.map(std::fs::read_to_string) {
        Some(Ok(text)) => Some(Prompt::Template(template(field, &text))),
        Some(Err(error)) => field.add(format!("cannot read the prompt `{path}`: {error}")).none(),
        None => field.add(format!("the prompt `{path}` does not exist")).none(),
    }
}

fn of_file(field: &Field<'_>, file: &Path, _place: Place<'_>) -> Option<Prompt> {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return field.add(format!("cannot read {}: {error}", file.display())).none(),
    };
    let template = template(field, &text);
    if !template.shows_answer() {
        let message = format!("the prompt {} does not show the answer", file.display());
        return field.add(message).hint("put `{{ output }}` or `{{ candidate_answer }}` into it").none();
    }
    Some(Prompt::Template(template))
}

/// Reads a template. Unknown names are text, as in AgentV, with a warning.
fn template(field: &Field<'_>, text: &str) -> Template {
    let template = Template::new(text);
    for name in template.unknown() {
        let message = format!("prompts have no variable `{name}`; it stays as it is");
        field.problems.warn(field.node.span, message).maybe_hint(Template::similar(&name));
    }
    template
}

/// Returns a rubric that is just a text.
pub(super) fn rubric_of_text(number: usize, text: String) -> Rubric {
    Rubric {
        id: format!("rubric-{number}"),
        text,
        weight: 1.0,
        required: true,
        minimum: None,
        ranges: Vec::new(),
        is_contradiction: false,
    }
}

/// Reads a list of rubrics.
pub(super) fn rubrics_of(field: &Field<'_>, is_needed: bool) -> Option<Vec<Rubric>> {
    let items = field.items()?;
    if items.is_empty() && is_needed {
        return field.add(format!("`{}` is empty", field.key)).none();
    }
    let read: Vec<_> = (1..).zip(&items).map(|(number, item)| rubric(number, item)).collect();
    let read: Vec<Rubric> = read.into_iter().collect::<Option<_>>()?;
    let repeated = read.iter().enumerate().find(|(index, rubric)| {
        read.iter().take(*index).any(|earlier| earlier.id == rubric.id)
    });
    if let (Some((index, rubric)), true) = (repeated, true) {
        let place = items.get(index).map_or(field.node.span, |item| item.node.span);
        return field.problems.add(place, format!("the id `{}` is given twice", rubric.id)).none();
    }
    Some(read)
}

fn rubric(number: usize, item: &Field<'_>) -> Option<Rubric> {
    if !item.is_mapping() {
        return item.sentence().map(|text| rubric_of_text(number, text));
    }
    let mut fields = item.fields("this rubric")?;
    let id = fields.take("id").map_or(Some(format!("rubric-{number}")), |id| id.sentence());
    let text = first(&mut fields, &["outcome", "criteria", "expected_outcome", "description"]);
    let weight = fields.take("weight").map_or(Some(1.0), |field| non_negative(&field));
    let required = fields.take("required").map(|field| flag(&field));
    let operator = fields.take("operator").map_or(Some(false), |field| {
        field.choice(&[("correctness", false), ("contradiction", true)])
    });
    let ranges = first(&mut fields, &["score_ranges", "scoreRanges"]);
    let ranges = ranges.map_or(Some(Vec::new()), |field| self::ranges(&field));
    let minimum = minimum(&mut fields);
    if text.is_none() && ranges.as_ref().is_some_and(Vec::is_empty) {
        fields.missing("outcome");
        fields.finish();
        return None;
    }
    fields.finish();
    let text = text.map_or(Some(String::new()), |text| text.sentence())?;
    let (ranges, minimum) = (ranges?, minimum?);
    // A criterion with ranges has a gate only if it says so.
    let required = transposed(required)?.unwrap_or(ranges.is_empty());
    Some(Rubric {
        id: id?,
        text,
        weight: weight?,
        required,
        minimum,
        ranges,
        is_contradiction: operator?,
    })
}

/// Reads the gate, in `0..=10`.
#[expect(clippy::option_option, reason = "absent, wrong, or read")]
fn minimum(fields: &mut Fields<'_>) -> Option<Option<f64>> {
    let of_ten = first(fields, &["required_min_score", "requiredMinScore"]);
    let of_one = first(fields, &["min_score", "minScore"]);
    match (of_ten, of_one) {
        (Some(_), Some(field)) => {
            field.add("`min_score` and `required_min_score` are the same gate").hint("keep one").none()
        }
        (Some(field), None) => whole(&field, 0..=10).map(|minimum| Some(f64::from(minimum))),
        (None, Some(field)) => fraction(&field).map(|minimum| Some(minimum * 10.0)),
        (None, None) => Some(None),
    }
}

/// Reads ranges of scores, which cover 0 to 10 without overlap.
fn ranges(field: &Field<'_>) -> Option<Vec<Range>> {
    let mut ranges = match &field.node.kind {
        NodeKind::Mapping(entries) => {
            let mut bounds = Vec::new();
            for (key, text) in entries {
                let bound = key.field("score_ranges", field.problems);
                let low = match &key.kind {
                    NodeKind::Scalar(Value::String(digits)) => digits.parse().ok().filter(|low| *low <= 10),
                    _ => whole(&bound, 0..=10),
                };
                let Some(low) = low else {
                    return bound.add("a bound of `score_ranges` must be a whole number from 0 to 10").none();
                };
                bounds.push((low, text.field("score_ranges", field.problems).sentence()?));
            }
            bounds.sort_by_key(|(low, _)| *low);
            let highs: Vec<u32> =
                bounds.iter().skip(1).map(|(low, _)| low.saturating_sub(1)).chain([10]).collect();
            let ranges = bounds.into_iter().zip(highs);
            ranges.map(|((low, text), high)| Range { low, high, text }).collect()
        }
        _ => {
            let ranges: Vec<_> = field.items()?.iter().map(range).collect();
            ranges.into_iter().collect::<Option<Vec<_>>>()?
        }
    };
    ranges.sort_by_key(|range| range.low);
    let mut next = 0;
    for range in &ranges {
        if range.low != next || range.high < range.low {
            let message = format!("`score_ranges` must cover 0 to 10 once, but do not at {next}");
            return field.add(message).none();
        }
        next = range.high.saturating_add(1);
    }
    if next != 11 {
        return field.add("`score_ranges` must cover 0 to 10").none();
    }
    Some(ranges)
}

fn range(item: &Field<'_>) -> Option<Range> {
    let mut fields = item.fields("this range")?;
    let bounds = first(&mut fields, &["score_range", "scoreRange"]);
    let bounds = bounds.or_else(|| fields.missing("score_range").none());
    let text = first(&mut fields, &["outcome", "expected_outcome"]);
    let text = text.or_else(|| fields.missing("outcome").none());
    fields.finish();
    let bounds = bounds?;
    let numbers: Vec<_> = bounds.items()?.iter().map(|bound| whole(bound, 0..=10)).collect();
    let numbers: Vec<u32> = numbers.into_iter().collect::<Option<_>>()?;
    let [low, high] = numbers[..] else {
        return bounds.add("`score_range` must be two whole numbers, the lowest and the highest").none();
    };
    Some(Range { low, high, text: text?.sentence()? })
}

/// Returns a value of a test for prompts.
pub(super) fn metadata(field: &Field<'_>) -> Option<Value> {
    field.object()?;
    json(field)
}
