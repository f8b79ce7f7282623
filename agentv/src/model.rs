//! An eval file as it was read: tests, and what grades them. Serialized, they are a part of the keys of saved results.

use std::{fmt, path::PathBuf};

use evaluator_document::Problem;
use evaluator_host::config::ContainmentConfig;
use evaluator_json::{Object, Value};
use evaluator_judging::judge::scheme::{Item, Scheme};
use serde::{Serialize, Serializer};

use crate::{pattern::Pattern, template::Template};

/// Generation of AgentV that a file was written for. Keys, types and variables of both are read in every file; the
/// generation decides only where the same text means different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// AgentV 2: `evalcases`, `llm_judge`, `code_judge`.
    V2,
    /// AgentV 3 and 4: `tests`, `llm-grader`, `code-grader`.
    V4,
}

/// A warning about a file.
#[derive(Clone, Debug)]
pub struct Warning {
    /// File.
    pub file: PathBuf,
    /// Message and position.
    pub problem: Problem,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, problem } = self;
        write!(f, "{}:", file.display())?;
        match problem.place {
            Some(place) => write!(f, "{}:{}: ", place.line, place.column)?,
            None => f.write_str(" ")?,
        }
        f.write_str(&problem.message)?;
        problem.hint.iter().try_for_each(|hint| write!(f, " ({hint})"))
    }
}

/// An eval file.
#[derive(Clone, Debug)]
pub struct EvalFile {
    /// File.
    pub file: PathBuf,
    /// Directory of the file, in which programs run.
    pub directory: PathBuf,
    /// Name.
    pub name: String,
    /// Generation.
    pub generation: Generation,
    /// Name of the tested target.
    pub target: Option<String>,
    /// Score from which on a test passes, if its own threshold and the command line say nothing.
    pub threshold: Option<f64>,
    /// How programs are contained.
    pub containment: ContainmentConfig,
    /// Tests in the order of the file.
    pub tests: Vec<Test>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

impl EvalFile {
    /// Returns true if the file is of AgentV 2.
    pub fn is_v2(&self) -> bool {
        self.generation == Generation::V2
    }
}

/// One test.
#[derive(Clone, Debug, Serialize)]
pub struct Test {
    /// Identifier, unique in the suite.
    pub id: String,
    /// Position: file, line and column.
    #[serde(skip)]
    pub position: String,
    /// Messages that the agent gets.
    pub input: Vec<Message>,
    /// Gold answer.
    pub expected: Vec<Message>,
    /// What is wanted.
    pub criteria: String,
    /// Evaluators; at least one.
    pub evaluators: Vec<Evaluator>,
    /// Score from which on the test passes.
    pub threshold: Option<f64>,
    /// Name of the tested target instead of that of the suite. It is what is measured, and no part of what measures.
    #[serde(skip)]
    pub target: Option<String>,
    /// Metadata for programs and prompts.
    pub metadata: Option<Value>,
    /// Id of the conversation, for programs.
    pub conversation_id: Option<String>,
}

/// A message of the input or of the gold answer.
#[derive(Clone, Debug, Serialize)]
pub struct Message {
    /// Message as it was written, with `role` and `content`.
    pub value: Value,
    /// Content in parts.
    pub parts: Vec<Part>,
}

/// A part of the content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Part {
    /// Text.
    Text(String),
    /// A file.
    File {
        /// Path as it was written.
        given: String,
        /// Path where it was found.
        #[serde(skip)]
        path: PathBuf,
        /// Its text.
        text: String,
    },
}

impl Message {
    /// Returns the role.
    pub fn role(&self) -> &str {
        self.value.get("role").and_then(Value::as_str).unwrap_or("user")
    }
}

/// An entry of a list of evaluators.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluator {
    /// Name. It may repeat.
    pub name: String,
    /// Type in the spelling of AgentV 4.
    pub kind: String,
    /// Position: file, line and column.
    #[serde(skip)]
    pub position: String,
    /// Weight in the mean of the test.
    pub weight: f64,
    /// Score below which the test has the score 0.
    pub gate: Gate,
    /// Whether the score is subtracted from 1.
    pub negate: bool,
    /// What is checked.
    pub check: Check,
}

impl Evaluator {
    /// Creates a judgement by a model with the default prompt.
    pub fn judged(name: &str, kind: &str, position: String, scheme: Scheme) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            position,
            weight: 1.0,
            gate: Gate::Open,
            negate: false,
            check: Check::Judge(Judge::new(scheme)),
        }
    }
}

/// Effect of an evaluator on the score of its test, apart from its weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Gate {
    /// None.
    Open,
    /// The test has the score 0 if the evaluator scores less.
    Minimum(f64),
    /// The same with the threshold of the test.
    Threshold,
}

/// What an evaluator checks.
#[derive(Clone, Debug, Serialize)]
pub enum Check {
    /// Text of the answer.
    Text(TextCheck),
    /// Tool calls.
    Trajectory(Trajectory),
    /// Fields of an answer that is JSON.
    Fields(FieldAccuracy),
    /// Limits of time, money and tokens.
    Limits(Limits),
    /// A model judges.
    Judge(Judge),
    /// A program judges.
    Program(Program),
    /// Other evaluators, combined.
    Composite(Composite),
}

/// A check of the text of the answer.
#[derive(Clone, Debug, Serialize)]
pub enum TextCheck {
    /// One or all of these texts occur.
    Contains {
        /// Texts.
        values: Vec<String>,
        /// Whether all must occur.
        all: bool,
        /// Whether case is ignored.
        ignore_case: bool,
    },
    /// It starts with this text.
    StartsWith(String),
    /// It ends with this text.
    EndsWith(String),
    /// It is this text.
    Equals(String),
    /// It matches a pattern.
    Matches(Pattern),
    /// It is JSON.
    IsJson,
}

/// A check of the tool calls.
#[derive(Clone, Debug, Serialize)]
pub struct Trajectory {
    /// How calls are compared.
    pub mode: TrajectoryMode,
    /// Least number of calls by tool, for [`AnyOrder`](TrajectoryMode::AnyOrder).
    pub minimums: Vec<(String, u64)>,
    /// Expected calls, for the other modes.
    pub expected: Vec<ExpectedCall>,
    /// How arguments are compared by default, if no key says so.
    pub default_args: Option<&'static str>,
}

/// How tool calls are compared.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum TrajectoryMode {
    /// Each tool is called at least so often.
    AnyOrder,
    /// The expected calls occur in this order.
    InOrder,
    /// The calls are the expected ones, position by position.
    Exact,
    /// Each expected call has a call of its own.
    Superset,
    /// Each call is an expected one.
    Subset,
}

/// An expected tool call.
#[derive(Clone, Debug, Serialize)]
pub struct ExpectedCall {
    /// Name of the tool.
    pub tool: String,
    /// Arguments; `None` if they are not compared.
    pub args: Option<Value>,
    /// How they are compared.
    pub args_match: ArgsMatch,
    /// Longest duration.
    pub max_duration_ms: Option<f64>,
}

/// How arguments are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ArgsMatch {
    /// Equal.
    Exact,
    /// Every expected key is there and equal.
    Superset,
    /// Every key is expected and equal.
    Subset,
    /// Not at all.
    Ignore,
    /// These fields are equal.
    Fields(Vec<String>),
}

/// A check of the fields of a JSON answer.
#[derive(Clone, Debug, Serialize)]
pub struct FieldAccuracy {
    /// Fields.
    pub fields: Vec<Field>,
    /// Whether every field must match.
    pub all_or_nothing: bool,
}

/// A field that is compared.
#[derive(Clone, Debug, Serialize)]
pub struct Field {
    /// Path such as `a.b[0]`.
    pub path: String,
    /// How values are compared.
    pub comparison: Comparison,
    /// Whether its absence counts.
    pub required: bool,
    /// Weight.
    pub weight: f64,
}

/// How values are compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Comparison {
    /// Equal.
    Exact,
    /// Numbers that differ by at most this.
    Number {
        /// Largest difference.
        tolerance: f64,
        /// Whether the difference is divided by the expected number.
        relative: bool,
    },
    /// Times on the same day.
    Date {
        /// Formats, which say whether the day or the month comes first.
        formats: Vec<String>,
    },
}

/// Limits on measurements.
#[derive(Clone, Debug, Serialize)]
pub struct Limits {
    /// Limits, each of which is one row.
    pub limits: Vec<Limit>,
    /// Whether the score is the share of limits that hold, instead of 1 if all do.
    pub share: bool,
}

/// A limit on a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum Limit {
    /// Milliseconds.
    Duration(f64),
    /// US dollars.
    Cost(f64),
    /// Tokens of input, output and cache.
    TotalTokens(f64),
    /// Tokens of input.
    InputTokens(f64),
    /// Tokens of output.
    OutputTokens(f64),
    /// Tokens of input and output.
    Tokens(f64),
    /// Tool calls.
    ToolCalls(f64),
    /// Messages of the assistant.
    ModelCalls(f64),
    /// Share of tool calls that explore.
    Exploration {
        /// Share that is aimed at.
        target: f64,
        /// Largest difference.
        tolerance: f64,
    },
}

/// A judgement by a model.
#[derive(Clone, Debug, Serialize)]
pub struct Judge {
    /// Prompt.
    pub prompt: Prompt,
    /// Form of the verdict: a number from 0 to 1, or rubrics.
    #[serde(serialize_with = "write_scheme")]
    pub scheme: Scheme,
    /// Name of the target that judges.
    pub target: Option<String>,
    /// Temperature.
    pub temperature: Option<f64>,
    /// Model instead of that of the target.
    pub model: Option<String>,
}

impl Judge {
    /// Returns a judgement with the default prompt.
    pub fn new(scheme: Scheme) -> Self {
        Self { prompt: Prompt::Default, scheme, target: None, temperature: None, model: None }
    }

    /// Form of a verdict that is a number.
    pub const NUMBER: Scheme = Scheme::Number(0.0, 1.0);
}

/// Writes everything that decides about questions and scores.
fn write_scheme<S: Serializer>(scheme: &Scheme, serializer: S) -> Result<S::Ok, S::Error> {
    let items: Vec<_> = scheme
        .items()
        .iter()
        .map(|item| {
            let Item { id, text, weight, required, min_score, operator: _, ranges } = item;
            let ranges: Vec<_> = ranges.iter().map(|it| (it.from, it.to, &it.outcome)).collect();
            (id, text, weight, required, min_score, ranges)
        })
        .collect();
    (scheme.schema(), items).serialize(serializer)
}

/// Text that a model gets.
#[derive(Clone, Debug, Serialize)]
pub enum Prompt {
    /// The default one.
    Default,
    /// The default one with this text in place of the criteria.
    Criteria(String),
    /// A template.
    Template(Template),
    /// Output of a program.
    Program(Program),
}

/// A program.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Words of the command.
    pub command: Vec<String>,
    /// Directory in which it runs.
    #[serde(skip)]
    pub directory: PathBuf,
    /// Index among the programs of a plan.
    #[serde(skip)]
    pub index: usize,
    /// Settings that it gets.
    pub config: Option<Object>,
    /// Number of calls to models that it may make; `None` if it gets no access.
    pub max_calls: Option<u32>,
}

/// Evaluators that are combined.
#[derive(Clone, Debug, Serialize)]
pub struct Composite {
    /// How.
    pub aggregator: Aggregator,
    /// Evaluators.
    pub members: Vec<Evaluator>,
}

/// How scores are combined.
#[derive(Clone, Debug, Serialize)]
pub enum Aggregator {
    /// Weighted mean; the weights by name.
    Weighted(Vec<(String, f64)>),
    /// Share of members that pass, and the share that is needed.
    Threshold(f64),
    /// A program.
    Program(Program),
    /// A model.
    Judge(Judge),
}
