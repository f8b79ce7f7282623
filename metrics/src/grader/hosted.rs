//! Grading by a server with OpenAI's Evals API: what is sent, and what its grades amount to.

use evaluator_json::{NonFinite, Object, Value, to_string};

use super::{
    Grader, ScoreModel, Template,
    item::{Gap, Item},
    template::NAMES,
};
use crate::{
    MetricInput, Outcome,
    turn_scores::{TurnScore, TurnScores},
    turns::object,
};

/// Value that every item has.
const ANSWER: &str = "actual_response";

/// A grader as a server is given it.
#[derive(Clone, Debug)]
pub struct Hosted<'g> {
    grader: &'g Grader,
    /// Names of the values of an item.
    names: Vec<&'static str>,
    criterion: Object,
}

/// Items of a conversation. Turns that are not evaluated have none.
#[derive(Debug)]
pub struct HostedPlan<'g> {
    grader: &'g Grader,
    items: Vec<Value>,
    /// Reason of each turn why it has no item.
    turns: Vec<Option<String>>,
    recorded: usize,
    golden: usize,
}

/// Grade of an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostedGrade {
    /// Score as the server gives it.
    pub score: f64,
    /// Whether the item passes.
    pub passed: bool,
}

impl<'g> Hosted<'g> {
    /// Creates the testing criterion of a grader with these settings. The threshold is that of the entry.
    ///
    /// # Errors
    ///
    /// Reason why no server can be given the grader.
    pub fn new(
        name: &str,
        grader: &'g Grader,
        settings: &Object,
        threshold: f64,
    ) -> Result<Self, String> {
        let mut criterion = Object::default();
        criterion.insert("type".to_owned(), Value::from(grader.kind()));
        criterion.insert("name".to_owned(), Value::from(name));
        for key in keys(grader)? {
            if let Some(value) = settings.get(*key) {
                criterion.insert((*key).to_owned(), rewritten(value));
            }
        }
        if let Grader::StringCheck { input, reference, .. }
        | Grader::TextSimilarity { input, reference, .. }
        | Grader::Cosine { input, reference, .. } = grader
        {
            for (key, template) in [("input", input), ("reference", reference)] {
                criterion.insert(key.to_owned(), Value::String(sent(template)));
            }
        }
        let least = match grader {
            Grader::TextSimilarity { .. } | Grader::Cosine { .. } | Grader::Python { .. } => {
                Some(threshold)
            }
            // The API knows the range only.
            Grader::ScoreModel(ScoreModel { range: (least, greatest), pass_threshold, .. }) => {
                Some(pass_threshold.unwrap_or(least + threshold * (greatest - least)))
            }
            _ => None,
        };
        criterion.extend(least.map(|least| ("pass_threshold".to_owned(), Value::Float(least))));
        Ok(Self { grader, names: names(grader)?, criterion })
    }

    /// Returns the testing criterion.
    #[must_use]
    pub fn criterion(&self) -> Value {
        Value::Object(self.criterion.clone())
    }

    /// Returns the JSON Schema of the items.
    #[must_use]
    pub fn item_schema(&self) -> Value {
        let text = || object([("type", Value::from("string"))]);
        let required = self.names.iter().map(|name| Value::from(*name)).collect();
        object([
            ("type", Value::from("object")),
            ("properties", object(self.names.iter().map(|name| (*name, text())))),
            ("required", Value::Array(required)),
        ])
    }

    /// Returns the items of a conversation.
    ///
    /// # Errors
    ///
    /// The outcome, if it is known already: there is nothing to grade, or a turn cannot be graded.
    pub fn plan(&self, input: &MetricInput<'_>) -> Result<HostedPlan<'g>, Outcome> {
        let compares = self.grader.compares();
        let (expected, compared) = match compares {
            true => input.golden_turns().map(|golden| (golden, golden.len()))?,
            false => (input.golden.map_or(&[][..], |case| &case.turns), usize::MAX),
        };
        let (mut items, mut turns) = (Vec::new(), Vec::new());
        for (index, turn) in input.turns.iter().enumerate().take(compared) {
            let item = Item { turn, expected: expected.get(index) };
            let values = self.names.iter().map(|name| {
                let value = match item.named(name)? {
                    Value::String(text) => text,
                    value => to_string(&value, NonFinite::Null),
                };
                Ok((*name, Value::String(value)))
            });
            match values.collect::<Result<Vec<_>, Gap>>() {
                Ok(values) => {
                    items.push(object(values));
                    turns.push(None);
                }
                Err(gap) => turns.push(Some(Gap::of_turn(gap, index)?)),
            }
        }
        let recorded = input.turns.len();
        let golden = if compares { expected.len() } else { recorded };
        Ok(HostedPlan { grader: self.grader, items, turns, recorded, golden })
    }
}

impl HostedPlan<'_> {
    /// Returns the items, each an object. Without any, nothing needs to be asked.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        &self.items
    }

    /// Combines the grades of all items, in their order, into the outcome. The conversation passes if every item does.
    #[must_use]
    pub fn finish(self, grades: &[HostedGrade], details: Object) -> Outcome {
        if grades.len() != self.items.len() {
            let (got, sent) = (grades.len(), self.items.len());
            return Outcome::Failed {
                reason: format!("{sent} items were sent, {got} were graded"),
            };
        }
        let (mut scores, mut grades) = (TurnScores::default(), grades.iter());
        for unevaluated in self.turns {
            if let Some(reason) = unevaluated {
                scores.add(TurnScore::NotEvaluated(reason));
            } else if let Some(grade) = grades.next() {
                scores.add(self.grader.hosted_score(*grade));
            }
        }
        scores.outcome(self.recorded, self.golden, details)
    }
}

impl Grader {
    /// Returns the score of a grade, from 0 to 1.
    fn hosted_score(&self, grade: HostedGrade) -> TurnScore {
        let value = match self {
            Self::ScoreModel(ScoreModel { range: (least, greatest), .. }) => {
                (grade.score - least) / (greatest - least)
            }
            _ => grade.score,
        };
        let score = value.clamp(0.0, 1.0);
        let is_outside = (score - value).abs() > 0.0;
        let note =
            is_outside.then(|| format!("the server's score is {}; {score} counts", grade.score));
        TurnScore::Scored { score, passed: grade.passed, note }
    }
}

/// Returns the settings of a grader that are sent as they are configured.
fn keys(grader: &Grader) -> Result<&'static [&'static str], String> {
    match grader {
        Grader::StringCheck { .. } => Ok(&["operation"]),
        Grader::TextSimilarity { measure, .. } if measure.name().contains(':') => Err(format!(
            "`evaluation_metric: {}` is a variant of this program, and servers have the plain metrics only",
            measure.name()
        )),
        Grader::TextSimilarity { .. } | Grader::Cosine { .. } => Ok(&["evaluation_metric"]),
        Grader::LabelModel(_) => Ok(&["model", "input", "labels", "passing_labels"]),
        Grader::ScoreModel(_) => Ok(&["model", "input", "range", "sampling_params"]),
        Grader::Python { .. } => Ok(&["source", "image_tag"]),
        Grader::Multi { .. } => {
            Err("a multi grader cannot be part of an eval of a server".to_owned())
        }
    }
}

/// Returns the names of the values of an item: the answer, and those that the grader refers to.
fn names(grader: &Grader) -> Result<Vec<&'static str>, String> {
    let mut used = vec![ANSWER];
    for reference in grader.templates().into_iter().flat_map(Template::references) {
        let path = format!("{}.{}", reference.namespace, reference.name);
        match reference.name {
            "output_tools" | "output_json" => {
                return Err(format!(
                    "it refers to `{path}`, and an eval of a server has no sample"
                ));
            }
            _ if reference.has_steps() => {
                return Err(format!(
                    "it refers to a part of `{path}`, and an eval of a server has its text only"
                ));
            }
            "output_text" => {}
            name => used.push(name),
        }
    }
    if let Grader::Python { source } = grader {
        let [(_, of_item), (_, of_sample)] = NAMES;
        if let Some(name) = of_sample.iter().find(|name| source.contains(**name)) {
            return Err(format!(
                "its source names `{name}`, and an eval of a server has no sample"
            ));
        }
        used.extend(of_item.iter().filter(|name| source.contains(**name)));
    }
    // In the order in which the names are documented.
    let all = NAMES.into_iter().flat_map(|(_, names)| names.iter().copied());
    Ok(all.filter(|name| used.contains(name)).collect())
}

/// Returns a template as a server reads it.
fn sent(template: &Template) -> String {
    template.written(|reference| {
        let name = if reference.name == "output_text" { ANSWER } else { reference.name };
        format!("{{{{ item.{name} }}}}")
    })
}

/// Rewrites the templates inside of a value.
fn rewritten(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let template = Template::parse(text).ok().filter(Template::has_references);
            Value::String(template.map_or_else(|| text.clone(), |template| sent(&template)))
        }
        Value::Array(items) => Value::Array(items.iter().map(rewritten).collect()),
        Value::Object(members) => Value::Object(
            members.iter().map(|(key, value)| (key.clone(), rewritten(value))).collect(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        grader::{Message, Operation, Part, SamplingParams},
        testing::{scored, turn},
    };
    use evaluator_traces::{conversation::Turn, eval_set::Unmatched};

    fn settings(json: &str) -> Object {
        let value = evaluator_json::parse_python(json);
        value.and_then(|it| it.as_object().cloned()).unwrap_or_default()
    }

    fn score_model(pass_threshold: Option<f64>) -> Grader {
        let text =
            Template::parse("Rate {{ sample.output_text }} to {{ item.user_content }}").unwrap();
        Grader::ScoreModel(ScoreModel {
            model: "m".to_owned(),
            input: vec![Message { role: "user", parts: vec![Part::Text(text)] }],
            range: (1.0, 5.0),
            pass_threshold,
            params: SamplingParams::default(),
        })
    }

    const SETTINGS: &str = r#"{"type": "score_model", "model": "m", "range": [1, 5], "colour": "red",
        "input": [{"role": "user", "content": "Rate {{sample.output_text}} to {{ item.user_content }}"}]}"#;

    #[test]
    fn a_criterion_has_the_thresholds_and_templates_of_a_server() {
        for (pass_threshold, sent) in [(None, 3.0), (Some(4.0), 4.0)] {
            let grader = score_model(pass_threshold);
            let hosted = Hosted::new("g", &grader, &settings(SETTINGS), 0.5).unwrap();
            let criterion = to_string(&hosted.criterion(), NonFinite::Null);
            for part in [
                r#""content":"Rate {{ item.actual_response }} to {{ item.user_content }}""#,
                &format!(r#""pass_threshold":{sent:.1}"#),
                r#""range":[1,5]"#,
            ] {
                assert!(criterion.contains(part), "{part}: {criterion}");
            }
            assert!(!criterion.contains("colour"), "{criterion}");
            let schema = to_string(&hosted.item_schema(), NonFinite::Null);
            assert!(
                schema.contains(r#""required":["actual_response","user_content"]"#),
                "{schema}"
            );
        }
    }

    #[test]
    fn scores_of_a_range_become_scores_from_0_to_1() {
        let grader = score_model(None);
        let hosted = Hosted::new("g", &grader, &settings(SETTINGS), 0.5).unwrap();
        let recorded = |text: &str| Turn {
            final_text: Some(text.to_owned()),
            user_text: Some("it".to_owned()),
            ..turn(Vec::new())
        };
        // The second turn has no answer, and none was expected.
        let turns = [recorded("a"), Turn { final_text: None, ..recorded("") }, recorded("b")];
        let input = MetricInput::new(&turns, Err(&Unmatched::NoEvalSet), 0.5);
        let plan = hosted.plan(&input).unwrap();
        assert_eq!(plan.items().len(), 2);
        let grades =
            [HostedGrade { score: 5.0, passed: true }, HostedGrade { score: 2.0, passed: false }];
        let scored = scored(plan.finish(&grades, Object::default()));
        assert_eq!(scored.per_turn, [Some(1.0), None, Some(0.25)]);
        assert_eq!(scored.passed, Some(false));
        let plan = hosted.plan(&input).unwrap();
        assert!(matches!(plan.finish(&grades[..1], Object::default()), Outcome::Failed { .. }));
    }

    #[test]
    fn tool_calls_are_sent_as_text_and_parts_of_them_are_refused() {
        let check = |input: &str| Grader::StringCheck {
            input: Template::parse(input).unwrap(),
            reference: Template::parse("x").unwrap(),
            operation: Operation::Like,
        };
        let of = |input: &str| {
            let grader = check(input);
            Hosted::new("g", &grader, &Object::default(), 0.5).map(|hosted| hosted.names)
        };
        assert_eq!(of("{{ item.tool_calls }}").unwrap(), ["actual_response", "tool_calls"]);
        for refused in
            ["{{ item.tool_calls[0] }}", "{{ sample.output_tools }}", "{{ sample.output_json.a }}"]
        {
            assert!(of(refused).is_err(), "{refused}");
        }
    }
}
