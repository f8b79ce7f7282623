//! Grading in two steps: the calls that are needed, and the grade by their results.

use evaluator_json::Value;
use evaluator_metrics::{MetricInput, Outcome, TurnScore};
use evaluator_models::{ModelError, Params, Reply};

use super::{
    Grader, GraderQuestion, MessageTemplate, ScoreModel, gap::Gap, item::Item, question::message,
};

/// Calls that graders need for a conversation.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Questions to models.
    pub questions: Vec<GraderQuestion>,
    /// Texts whose embeddings are needed, one entry per model.
    pub embeddings: Vec<Texts>,
    /// Calls of Python functions, one entry per source.
    pub calls: Vec<Calls>,
}

/// Texts whose embeddings are needed.
#[derive(Clone, Debug)]
pub struct Texts {
    /// Name of the model.
    pub model: String,
    /// Texts, unique and not empty.
    pub texts: Vec<String>,
}

/// Calls of a Python function.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Source of a module with the function `grade(sample, item)`.
    pub source: String,
    /// An object with the arguments `sample` and `item` for each call.
    pub arguments: Vec<Value>,
}

/// Answers to [`Needs`], in the same order, or the reasons why there are none.
#[derive(Clone, Debug, Default)]
pub struct CallResults {
    /// Replies to each question, one per sample.
    pub replies: Vec<Vec<Result<Reply, ModelError>>>,
    /// One vector per text.
    pub embeddings: Vec<Result<Vec<Vec<f64>>, String>>,
    /// Result of each call.
    pub numbers: Vec<Result<Vec<Result<f64, String>>, String>>,
}

/// A conversation that is being graded.
#[derive(Debug)]
pub struct Plan<'g> {
    pub(super) grader: &'g Grader,
    pub(super) threshold: f64,
    pub(super) turns: Vec<PlannedTurn>,
    /// Number of turns.
    pub(super) recorded: usize,
    /// Number of golden turns, or of turns if the grader does not compare.
    pub(super) golden: usize,
    needs: Needs,
}

/// A turn of a [`Plan`].
#[derive(Debug)]
pub(super) enum PlannedTurn {
    /// Grades of the parts of the grader, in their order. An error is that of a part whose score does not matter.
    Parts(Vec<Result<Planned, String>>),
    /// Reason why the turn is not evaluated.
    NotEvaluated(String),
}

#[derive(Debug)]
pub(super) enum Planned {
    /// It needs nothing.
    Graded(Grade),
    /// Position of the question.
    Reply(usize),
    /// Positions of the texts of the model, and of two texts among them.
    Embeddings(usize, [usize; 2]),
    /// Positions of the calls of the source, and of one call among them.
    Call(usize, usize),
}

/// Grade of a turn by one grader.
#[derive(Clone, Debug, Default)]
pub(super) struct Grade {
    /// Value in formulas: the score, or the number as the model gave it.
    pub(super) value: f64,
    /// Score from 0 to 1.
    pub(super) score: f64,
    pub(super) passed: bool,
    pub(super) notes: Vec<String>,
    /// Details of the report, apart from the score.
    pub(super) details: Vec<(&'static str, Value)>,
}

impl Grade {
    /// Creates the grade of a score from 0 to 1.
    pub(super) fn new(score: f64, threshold: f64) -> Self {
        Self { value: score, score, passed: score >= threshold, ..Self::default() }
    }

    /// Creates the grade of a value that may be outside of 0..=1; the nearest score counts. The value decides whether the
    /// turn passes, which is the same.
    pub(super) fn clamped(value: f64, threshold: f64) -> Self {
        let score = value.clamp(0.0, 1.0);
        let outside = (score - value).abs() > 0.0;
        let notes = outside.then(|| format!("{value} is not in 0..=1; {score} counts"));
        Self { value, notes: notes.into_iter().collect(), ..Self::new(score, threshold) }
    }
}

/// Need of one part for one turn.
enum Need<'g> {
    Nothing(Grade),
    Reply(Box<GraderQuestion>),
    Embeddings(&'g str, [String; 2]),
    Call(&'g str, Value),
}

impl Grader {
    /// Computes what can be computed about a conversation, and lists what is needed from outside.
    ///
    /// # Errors
    ///
    /// The outcome, if it is known already: there is nothing to grade, or a turn cannot be graded.
    pub fn plan(&self, input: &MetricInput<'_>) -> Result<Plan<'_>, Outcome> {
        let (expected, compared) = match self.compares() {
            // Turns beyond the golden ones have nothing that they could be compared with.
            true => input.golden_turns().map(|golden| (golden, golden.len()))?,
            false => (input.golden.map_or(&[][..], |case| &case.turns), usize::MAX),
        };
        let mut plan = Plan {
            grader: self,
            threshold: input.threshold,
            turns: Vec::new(),
            recorded: input.turns.len(),
            golden: if self.compares() { expected.len() } else { input.turns.len() },
            needs: Needs::default(),
        };
        for (index, turn) in input.turns.iter().enumerate().take(compared) {
            let item = Item { turn, expected: expected.get(index) };
            let planned = match plan.turn(index, &item) {
                Ok(parts) => PlannedTurn::Parts(parts),
                Err(gap) => PlannedTurn::NotEvaluated(gap.of_turn(index)?),
            };
            plan.turns.push(planned);
        }
        Ok(plan)
    }

    /// Returns what is needed for the grade of a turn.
    fn ask(&self, turn: usize, item: &Item<'_>, threshold: f64) -> Result<Need<'_>, Gap> {
        let question = |model: &str, input: &[MessageTemplate], schema_name, schema, params| {
            let messages = input.iter().map(|template| message(template, item));
            let (messages, model) = (messages.collect::<Result<_, Gap>>()?, model.to_owned());
            let question = GraderQuestion { turn, model, messages, schema_name, schema, params };
            Ok(Need::Reply(Box::new(question)))
        };
        match self {
            Self::StringCheck { input, reference, operation } => {
                let passed = operation.holds(&input.render(item)?, &reference.render(item)?);
                let score = f64::from(u8::from(passed));
                Ok(Need::Nothing(Grade { passed, ..Grade::new(score, threshold) }))
            }
            Self::TextSimilarity { input, reference, measure } => {
                let (input, reference) = (input.render(item)?, reference.render(item)?);
                let scored = measure.turn_score(&input, &reference, threshold);
                match scored.map_err(Gap::Missing)? {
                    TurnScore::Scored { score, note, .. } => {
                        let notes = note.into_iter().collect();
                        Ok(Need::Nothing(Grade { notes, ..Grade::new(score, threshold) }))
                    }
                    TurnScore::NotEvaluated(reason) => Err(Gap::NotEvaluated(reason)),
                }
            }
            Self::Cosine { input, reference, model } => {
                let texts = [input.render(item)?, reference.render(item)?];
                match texts.iter().position(String::is_empty) {
                    None => Ok(Need::Embeddings(model, texts)),
                    Some(index) => {
                        let which = ["input", "reference"][index];
                        let text = format!("the text of `{which}` is empty and has no embedding");
                        Err(Gap::Missing(text))
                    }
                }
            }
            Self::LabelModel(it) => {
                let params = Params::default();
                question(&it.model, &it.input, "label_model_result", it.schema(), params)
            }
            Self::ScoreModel(it) => {
                let schema = ScoreModel::schema();
                question(&it.model, &it.input, "score_model_result", schema, it.params.clone())
            }
            Self::Python { source } => Ok(Need::Call(source, item.python_call(source)?)),
            Self::Multi { .. } => {
                Err(Gap::Missing("a multi grader cannot contain another one".to_owned()))
            }
        }
    }
}

impl<'g> Plan<'g> {
    /// Returns what is needed.
    pub fn needs(&self) -> &Needs {
        &self.needs
    }

    /// Plans a turn. Nothing is asked about a turn that is not evaluated.
    fn turn(&mut self, turn: usize, item: &Item<'_>) -> Result<Vec<Result<Planned, String>>, Gap> {
        let grader = self.grader;
        let mut asked = Vec::new();
        for (index, (name, part)) in grader.parts().into_iter().enumerate() {
            // The threshold applies to the result of a formula, not to its parts.
            let threshold = if name.is_some() { 0.0 } else { self.threshold };
            asked.push(match part.ask(turn, item, threshold) {
                Ok(need) => Ok(need),
                Err(Gap::Missing(reason) | Gap::NotEvaluated(reason))
                    if !grader.uses_part(index) =>
                {
                    Err(reason)
                }
                Err(gap) => return Err(gap.of_part(name)),
            });
        }
        Ok(asked.into_iter().map(|need| Ok(self.register(need?))).collect())
    }

    /// Adds what a part needs.
    fn register(&mut self, need: Need<'g>) -> Planned {
        let needs = &mut self.needs;
        match need {
            Need::Nothing(grade) => Planned::Graded(grade),
            Need::Reply(question) => {
                needs.questions.push(*question);
                Planned::Reply(needs.questions.len() - 1)
            }
            Need::Embeddings(model, texts) => {
                let known = needs.embeddings.iter().position(|batch| batch.model == model);
                let index = known.unwrap_or_else(|| {
                    needs.embeddings.push(Texts { model: model.to_owned(), texts: Vec::new() });
                    needs.embeddings.len() - 1
                });
                let batch = &mut needs.embeddings[index].texts;
                let places = texts.map(|text| {
                    batch.iter().position(|known| *known == text).unwrap_or_else(|| {
                        batch.push(text);
                        batch.len() - 1
                    })
                });
                Planned::Embeddings(index, places)
            }
            Need::Call(source, arguments) => {
                let known = needs.calls.iter().position(|batch| batch.source == source);
                let index = known.unwrap_or_else(|| {
                    needs.calls.push(Calls { source: source.to_owned(), arguments: Vec::new() });
                    needs.calls.len() - 1
                });
                let batch = &mut needs.calls[index].arguments;
                batch.push(arguments);
                Planned::Call(index, batch.len() - 1)
            }
        }
    }
}
