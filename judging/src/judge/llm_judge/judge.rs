//! The judge.

use std::sync::Arc;

use evaluator_models::Message;
use evaluator_traces::conversation::TurnPart;

use super::variables::{Scene, Variable};
use crate::judge::{
    Asked, Case, Code, Judge, JudgedTurn, Order, Question, Refusal, RubricScore, Scores, Tally,
    Template, TemplateError, TurnJudgement, Variables, Vote, Votes, Wording,
    answer::{Readings, check_all},
    judgement::mean,
    material::{dialogue, tool_calls},
    rubrics::overall,
    scheme::{Generation, Grade, Item, Material, Scheme},
};

/// Subject of one question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// A turn. The score is the mean of those of the turns.
    #[default]
    Turn,
    /// The conversation.
    Conversation,
}

/// A judge with a prompt, rubrics or criteria of a user.
///
/// ```
/// use evaluator_judging::judge::{Case, Criterion, Judge, JudgedTurn, llm_judge::LlmJudge, scheme::Scheme};
/// use evaluator_traces::conversation::Turn;
///
/// let turn = Turn { final_text: Some("At 22:40.".to_owned()), ..Turn::default() };
/// let turns = JudgedTurn::of_recording(&[turn]);
/// let judge = LlmJudge::new("kind", Scheme::Number(1.0, 5.0)).prompt("Is this kind?\n\n{{ response }}", &[]).unwrap();
/// let criterion = Criterion::default();
/// let question = judge.plan(&Case::new(&turns, &criterion)).unwrap().remove(0);
/// assert!(question.messages().unwrap()[1].content.contains("At 22:40."));
/// ```
#[derive(Clone, Debug)]
pub struct LlmJudge {
    name: String,
    scheme: Scheme,
    scope: Scope,
    /// The prompt; that of the scheme if `None`.
    template: Option<Arc<Template>>,
    system: String,
    criteria: String,
    parts: Vec<TurnPart>,
}

impl LlmJudge {
    /// Text that changes whenever judges with the same settings would ask or score something differently.
    pub const REVISION: &str = crate::REVISION;

    /// Creates a judge of single turns that shows the request and the answer.
    pub fn new(name: impl Into<String>, scheme: Scheme) -> Self {
        Self {
            name: name.into(),
            scheme,
            scope: Scope::Turn,
            template: None,
            system: String::new(),
            criteria: String::new(),
            parts: vec![TurnPart::User, TurnPart::Answer],
        }
    }

    /// Sets the prompt. Text before a line `=====` are instructions. The prompt may also name `constants`, which become part
    /// of it.
    ///
    /// # Errors
    ///
    /// The prompt has a variable that is neither one of [`VARIABLES`](super::VARIABLES) nor a constant.
    pub fn prompt(
        mut self,
        text: &str,
        constants: &[(String, String)],
    ) -> Result<Self, TemplateError> {
        let names: Vec<&str> = Variable::names().collect();
        let template = Template::parse_with(text, &names, constants)?;
        self.parts.clear();
        for variable in template.variables().filter_map(Variable::find) {
            for part in variable.parts {
                if !self.parts.contains(part) {
                    self.parts.push(*part);
                }
            }
        }
        self.template = Some(Arc::new(template));
        Ok(self)
    }

    /// Sets instructions. Those about the reply follow them.
    #[must_use]
    pub fn system(self, text: impl Into<String>) -> Self {
        Self { system: text.into(), ..self }
    }

    /// Sets what an answer should achieve.
    #[must_use]
    pub fn criteria(self, text: impl Into<String>) -> Self {
        Self { criteria: text.into(), ..self }
    }

    /// Sets what one question is about.
    #[must_use]
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        if scope == Scope::Conversation && self.template.is_none() {
            self.parts.extend([TurnPart::ToolCalls, TurnPart::Arguments]);
        }
        self
    }

    /// Returns true if the prompt shows the answer.
    pub fn shows_response(&self) -> bool {
        let Some(template) = &self.template else { return true };
        template.variables().filter_map(Variable::find).any(Variable::shows_response)
    }

    /// Returns true if the prompt shows the variable of that name.
    pub fn shows(&self, name: &str) -> bool {
        let Some(template) = &self.template else { return true };
        template.variables().filter_map(Variable::find).any(|variable| variable.name == name)
    }

    /// Returns true if the prompt cannot do without golden turns.
    pub fn compares(&self) -> bool {
        self.template.is_some()
            && (self.shows("golden_response") || self.shows("expected_messages"))
    }

    /// Returns the golden turns of `turns`; `None` unless each has one.
    fn golden<'a>(case: &Case<'a>, start: usize, end: usize) -> Option<&'a [JudgedTurn]> {
        case.expected.and_then(|golden| golden.get(start..end))
    }

    /// Returns the ranges of turns that are judged together.
    fn groups(&self, turns: usize) -> Vec<(usize, usize)> {
        match self.scope {
            Scope::Turn => (0..turns).map(|turn| (turn, turn + 1)).collect(),
            Scope::Conversation if turns == 0 => Vec::new(),
            Scope::Conversation => vec![(0, turns)],
        }
    }

    /// Returns the question about turns in an order.
    ///
    /// # Errors
    ///
    /// A variable has no value; the turns cannot be judged.
    fn question(
        &self,
        case: &Case<'_>,
        turns: (usize, usize),
        order: Order,
    ) -> Result<Question, String> {
        let (start, end) = turns;
        let scene = Scene {
            case,
            turns: &case.actual[start..end],
            golden: Self::golden(case, start, end),
            before: &case.actual[..start],
            scheme: &self.scheme,
            criteria: &self.criteria,
            order,
        };
        let (messages, code) = match &self.template {
            None => self.sections(&scene),
            Some(template) => {
                let mut variables = Variables::new();
                for name in template.variables() {
                    let Some(variable) = Variable::find(name) else { continue };
                    let name = Variable::names().find(|known| *known == name);
                    variables.push((name.unwrap_or(variable.name), variable.value(&scene)?));
                }
                let code = Code::of(&variables);
                let messages = template.render(&variables);
                messages.map(|messages| (self.instructed(messages, order, &code), code))
            }
        }
        .map_err(|error| error.to_string())?;
        let (schema, code) = (Some(self.scheme.schema()), Some(code));
        let question = Question::new(end - 1, self.name.clone(), Wording::Messages(messages));
        Ok(Question { order, schema, code, ..question })
    }

    /// Returns the messages of the prompt that is built in.
    fn sections(&self, scene: &Scene<'_>) -> Result<(Vec<Message>, Code), TemplateError> {
        let (scheme, order) = (&self.scheme, scene.order);
        let outcome = Some(self.criteria.as_str()).filter(|text| !text.trim().is_empty());
        let sections = match (self.scope, scene.turns) {
            (Scope::Turn, [turn]) => {
                let calls =
                    if turn.steps.events().is_empty() { String::new() } else { tool_calls(turn) };
                let material = Material {
                    outcome,
                    question: &turn.user_text().unwrap_or_default(),
                    reference: &scene.golden_response().unwrap_or_default(),
                    answer: &scene.response(),
                    tool_calls: &calls,
                    ..Material::default()
                };
                scheme.sections(&material, Generation::New, order)
            }
            _ => {
                let outcome = outcome.map(|outcome| ("criteria", outcome.to_owned()));
                let conversation = ("conversation", dialogue(scene.turns));
                outcome
                    .into_iter()
                    .chain([conversation])
                    .chain(scheme.rubrics_section(order))
                    .collect()
            }
        };
        let code = Code::of(&sections);
        let mut messages = scheme.compose(&sections, order, Some(&code))?;
        if let (false, Some(first)) = (self.system.trim().is_empty(), messages.first_mut()) {
            first.content = format!("{}\n\n{}", self.system.trim_end(), first.content);
        }
        Ok((messages, code))
    }

    /// Adds the instructions about the reply to those of the prompt.
    fn instructed(&self, mut messages: Vec<Message>, order: Order, code: &Code) -> Vec<Message> {
        let user = messages.pop();
        let own = messages.into_iter().map(|message| message.content);
        let texts = [self.system.trim_end().to_owned()].into_iter().chain(own);
        let texts = texts
            .chain([self.scheme.instructions_in(order, Some(code))])
            .filter(|text| !text.is_empty());
        let system = texts.collect::<Vec<_>>().join("\n\n");
        [Message::system(system)].into_iter().chain(user).collect()
    }

    /// Counts the votes about the turns of a group of questions.
    fn count(&self, tally: &mut Tally, case: &Case<'_>, readings: &Readings<'_>) {
        tally.note(readings, case.criterion);
        let items = self.scheme.items();
        for part in 0..items.len().max(1) {
            let bar = self.scheme.bar(part, case.criterion.threshold);
            let mut votes = Votes::new(readings.turn, bar).of_part(part);
            votes.rubric = items.get(part).map(|item| item.id.clone());
            tally.votes.push(readings.count(votes, |votes| votes.get(part)));
        }
    }

    /// Returns the judgement of a turn from the values of its items, and the items that it misses.
    fn judge_turn(&self, values: &[(&Votes, Option<f64>)]) -> (TurnJudgement, Vec<&Item>) {
        let all: Option<Vec<f64>> = values.iter().map(|(_, value)| *value).collect();
        let all = all.filter(|values| !values.is_empty());
        let items = self.scheme.items();
        let rubrics = values.iter().map(|(votes, score)| RubricScore {
            id: votes.rubric.clone().unwrap_or_default(),
            score: *score,
            rationale: votes.reason().cloned().unwrap_or_default(),
        });
        let missed = items.iter().zip(all.iter().flatten());
        let missed = missed.filter(|(item, value)| !item.accepts(**value)).map(|(item, _)| item);
        let judgement = TurnJudgement {
            score: all.as_deref().map(|values| self.scheme.mean(values)),
            rubrics: (!items.is_empty() && all.is_some()).then(|| rubrics.collect()),
        };
        (judgement, missed.collect())
    }
}

impl Judge for LlmJudge {
    fn name(&self) -> &str {
        &self.name
    }

    fn parts(&self) -> &[TurnPart] {
        &self.parts
    }

    /// Rubrics, choices, or the reference of the built-in prompt.
    fn can_swap(&self) -> bool {
        match &self.scheme {
            Scheme::Rubrics(items) => items.len() > 1 && self.shows("rubrics"),
            Scheme::Choices(_) => true,
            Scheme::Number(..) => self.template.is_none() && self.scope == Scope::Turn,
        }
    }

    fn plan(&self, case: &Case<'_>) -> Result<Vec<Question>, Refusal> {
        case.check_samples()?;
        let swap = case.criterion.swap && self.can_swap();
        if self.compares() && case.expected.is_none() {
            return Err(Refusal::NotEvaluated("no golden turns to compare with".to_owned()));
        }
        let mut planned = Vec::new();
        let mut reason = None;
        for turns in self.groups(case.actual.len()) {
            for (order, samples) in Order::of(case.criterion.samples, swap) {
                match self.question(case, turns, order) {
                    Ok(question) => planned.push(Question { samples, ..question }),
                    Err(problem) => reason = reason.or(Some((turns, problem))),
                }
            }
        }
        match reason {
            Some(((_, end), reason)) if planned.is_empty() => {
                Err(Refusal::NotEvaluated(format!("turn {end}: {reason}")))
            }
            _ => Ok(planned),
        }
    }

    fn read(&self, _: &Case<'_>, question: &Question, reply: &str) -> Result<Vec<Vote>, String> {
        let grade = self.scheme.read(reply, question.code.as_ref());
        let grade = grade.map_err(|error| error.to_string())?;
        let reason = |part: usize| match &grade {
            Grade::Checks { checks, .. } => checks.get(part).map_or("", |check| &check.reasoning),
            other => other.reasoning(),
        };
        let votes = self.scheme.values(&grade).into_iter().enumerate();
        let votes = votes.map(|(part, value)| Vote {
            score: Some(value),
            reason: reason(part).to_owned(),
            ..Vote::default()
        });
        Ok(votes.collect())
    }

    fn tally(
        &self,
        case: &Case<'_>,
        planned: &[Question],
        asked: &[Asked],
    ) -> Result<Tally, Refusal> {
        check_all(planned, asked)?;
        let mut tally = Tally::default();
        let is_asked = |end: usize| planned.iter().any(|question| question.turn + 1 == end);
        for turns in self.groups(case.actual.len()).into_iter().filter(|it| !is_asked(it.1)) {
            if let Err(reason) = self.question(case, turns, Order::Plain) {
                tally.warnings.push(format!("turn {}: not evaluated: {reason}", turns.1));
            }
        }
        for readings in Readings::by_turn(asked) {
            self.count(&mut tally, case, &readings);
        }
        Ok(tally)
    }

    fn score(&self, case: &Case<'_>, tally: &Tally, values: &[Option<f64>]) -> Scores {
        let mut missed = Vec::new();
        let mut turns = Vec::new();
        for turn in 0..case.actual.len() {
            let values = tally.votes.iter().zip(values.iter().copied());
            let values: Vec<_> = values.filter(|(votes, _)| votes.turn == turn).collect();
            let (judgement, items) = self.judge_turn(&values);
            missed.extend(items.into_iter().map(|item| {
                format!("turn {}: `{}` is required and not fulfilled", turn + 1, item.id)
            }));
            turns.push(judgement);
        }
        let rubrics = (!self.scheme.items().is_empty()).then(|| overall(&turns)).flatten();
        let score = mean(turns.iter().filter_map(|turn: &TurnJudgement| turn.score));
        Scores { score, turns, rubrics, missed }
    }
}
