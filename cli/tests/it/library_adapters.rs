//! What metrics of Ragas, Phoenix, Opik and Strands are called with, and what their answers become.
//!
//! The libraries are made here, with the classes of real ones, as in `library_metrics.rs`.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic, too")]

use serde_json::json;

use crate::{
    library_metrics::{configure, entry, evaluate, run, with_packages},
    support::Directory,
};

const RAGAS_SOURCE: &str = r#"from typing import List


class BaseMetric:
    def __init__(self, name="metric", allowed_values=(0.0, 1.0)):
        self.allowed_values = allowed_values


class Result:
    def __init__(self, value, reason=None):
        self.value, self.reason = value, reason


class ExactMatch(BaseMetric):
    async def ascore(self, reference: str, response: str):
        return Result(float(reference == response), "compared")


class OneToFive(BaseMetric):
    def __init__(self, value: float = 4.0):
        super().__init__(allowed_values=(1.0, 5.0))
        self.value = value

    async def ascore(self, user_input: str, response: str):
        return Result(self.value)


class NoiseSensitivity(BaseMetric):
    """Scores from 0.0 to 1.0, lower is better."""

    async def ascore(self, response: str):
        return Result(0.25)


class Faithfulness(BaseMetric):
    async def ascore(self, response: str):
        return Result(float("nan"))


class SummaryScore(BaseMetric):
    async def ascore(self, reference_contexts: List[str], response: str):
        return Result(1.0)


class TopicAdherence(BaseMetric):
    async def ascore(self, response: str, reference_topics: List[str]):
        return Result(float(reference_topics == ["weather"]))


class Empty(BaseMetric):
    async def ascore(self, response: str):
        return Result(None, "the reply was no verdict")


class Rubrics(BaseMetric):
    def __init__(self, rubrics: dict = None, value: float = 3.0):
        super().__init__(allowed_values=(1.0, 5.0))
        self.rubrics = rubrics or {"score%d_description" % level: "" for level in range(1, 6)}
        self.value = value

    async def ascore(self, response: str):
        return Result(self.value)


class InstanceRubrics(BaseMetric):
    async def ascore(self, rubrics: dict, response: str):
        return Result(1.0)


class AnswerAccuracy(BaseMetric):
    def __init__(self, llm: "InstructorBaseRagasLLM"):
        super().__init__()

    async def ascore(self, response: str):
        return Result(1.0)
"#;

const PHOENIX_SOURCE: &str = r#"class Score:
    def __init__(self, score):
        self.score, self.explanation = score, "because"


class Field:
    annotation = str

    def is_required(self):
        return True


class Schema:
    def __init__(self, *names):
        self.model_fields = {name: Field() for name in names}


class Evaluator:
    direction = "maximize"


class LLMEvaluator(Evaluator):
    pass


class LLM:
    def __init__(self, provider, model, initial_per_second_request_rate=5):
        self.rate = initial_per_second_request_rate
"#;

const PHOENIX_METRICS_SOURCE: &str = r#"from pydantic import BaseModel

from . import Evaluator, Field, Schema, Score


class ExactMatch(Evaluator):
    input_schema = Schema("output", "expected")

    def evaluate(self, texts):
        return [Score(float(texts["output"] == texts["expected"]))]


exact_match = ExactMatch()


class Unlimited(Evaluator):
    input_schema = Schema("output")

    def __init__(self, llm):
        self.llm = llm

    def evaluate(self, texts):
        return [Score(float(self.llm.rate >= 1000))]


class ToxicityEvaluator(Evaluator):
    direction = "minimize"
    label_score_map = {"toxic": 3, "fine": 1}
    input_schema = Schema("text")

    def evaluate(self, texts):
        return [Score(self.label_score_map["fine"])]


class RefusalEvaluator(Evaluator):
    direction = "neutral"
    input_schema = Schema("output")


class ToolSelectionEvaluator(Evaluator):
    class Inputs(BaseModel):
        model_fields = {"output": Field(), "available_tools": Field()}

    input_schema = Inputs

    def evaluate(self, texts):
        return [Score(float(texts["available_tools"] == "get_weather"))]


class LabelsEvaluator(Evaluator):
    label_score_map = None
    input_schema = Schema("output")


class NoScore(Evaluator):
    input_schema = Schema("output")

    def evaluate(self, texts):
        return [Score(None)]


class TwoScores(Evaluator):
    input_schema = Schema("output")

    def evaluate(self, texts):
        return [Score(1.0), Score(0.0)]
"#;

const OPIK_SOURCE: &str = r#"class BaseMetric:
    def __init__(self, name="metric", track=True, project_name=None):
        if track:
            raise RuntimeError("results would be sent")


class ConversationThreadMetric(BaseMetric):
    pass


class Result:
    def __init__(self, value, scoring_failed=False):
        self.value, self.reason, self.scoring_failed = value, "counted", scoring_failed


class Contains(BaseMetric):
    def __init__(self, reference: str = None, track: bool = True):
        super().__init__(track=track)
        self.reference = reference

    def score(self, output: str, reference: str = None, **ignored_kwargs):
        return Result(float((reference or self.reference) in output))


class PromptInjection(BaseMetric):
    def score(self, output: str, **ignored_kwargs):
        return Result(0.25)


class ConversationDegenerationMetric(ConversationThreadMetric):
    def score(self, conversation: list, **ignored_kwargs):
        return Result([it["role"] for it in conversation].count("assistant") / 4)


class Tone(BaseMetric):
    def score(self, output: str, **ignored_kwargs):
        return Result(0.0, scoring_failed=True)


class Usefulness(BaseMetric):
    def score(self, output: str, **ignored_kwargs):
        return Result(None)


class Sentiment(BaseMetric):
    def score(self, output: str, **ignored_kwargs):
        return Result(-1.0)
"#;

const STRANDS_SOURCE: &str = r#"class Output:
    def __init__(self, score, not_applicable=False, test_pass=True):
        self.score, self.reason, self.not_applicable, self.test_pass = score, "compared", not_applicable, test_pass


class Evaluator:
    evaluation_level = None

    def __init__(self, name=None):
        self.aggregator = lambda outputs: (sum(it.score for it in outputs) / len(outputs), True, outputs[0].reason)


class Equals(Evaluator):
    def __init__(self, value: str = None, name: str = None):
        super().__init__(name)
        self.value = value

    def evaluate(self, case):
        expected = case.expected_output if self.value is None else self.value
        return [Output(float(case.actual_output == expected)), Output(1.0)]


class Nothing(Evaluator):
    def evaluate(self, case):
        return [Output(0.0, not_applicable=True)]


class Absent(Evaluator):
    def evaluate(self, case):
        return [Output(0.0, not_applicable=True, test_pass=False)]


class Silent(Evaluator):
    def evaluate(self, case):
        return []


class StateEquals(Evaluator):
    def evaluate(self, case):
        return []


class HelpfulnessEvaluator(Evaluator):
    def __init__(self, model: str = None):
        super().__init__()
"#;

/// The case that Strands evaluates.
const STRANDS_CASE: &str = "class EvaluationData:
    def __init__(self, **given):
        self.__dict__.update(given)
";

/// A directory with an interpreter that has the libraries; `None` without Python.
/// A judge with levels of its own.
const PYDANTIC_SOURCE: &str = r#"from dataclasses import dataclass


class EvaluatorContext:
    def __init__(self, **values):
        pass


class Evaluator:
    pass


@dataclass
class GEval(Evaluator):
    criteria: str
    score_range: tuple[int, int] = (1, 5)

    def evaluate_sync(self, context):
        return 2
"#;

const PYDANTIC_SPANS: &str = "class SpanNode:\n    pass\n\n\nclass SpanTree:\n    def add_spans(self, spans):\n        pass\n";

/// A judge that gives one of its choices.
const OPENEVALS_SOURCE: &str = "def create_llm_as_judge(*, prompt: str, choices: list[float]):
    return lambda **kwargs: {'score': choices[1]}
";

fn with_libraries() -> Option<Directory> {
    with_packages(
        &[
            ("ragas/__init__.py", ""),
            ("ragas/metrics/__init__.py", "class Faithfulness:\n    pass\n"),
            ("ragas/metrics/collections.py", RAGAS_SOURCE),
            ("phoenix/evals/__init__.py", PHOENIX_SOURCE),
            ("phoenix/evals/metrics.py", PHOENIX_METRICS_SOURCE),
            ("pydantic.py", "class BaseModel:\n    pass\n"),
            ("opik/__init__.py", ""),
            ("opik/evaluation/__init__.py", ""),
            ("opik/evaluation/metrics.py", OPIK_SOURCE),
            ("strands_evals/__init__.py", ""),
            ("strands_evals/evaluators.py", STRANDS_SOURCE),
            ("strands_evals/types/evaluation.py", STRANDS_CASE),
            ("pydantic_evals/evaluators.py", PYDANTIC_SOURCE),
            ("pydantic_evals/otel/span_tree.py", PYDANTIC_SPANS),
            ("openevals/__init__.py", OPENEVALS_SOURCE),
        ],
        &[
            ("ragas", "0.4.3"),
            ("arize-phoenix-evals", "3.9.4"),
            ("opik", "2.2.122"),
            ("strands-agents-evals", "1.7.0"),
            ("pydantic-evals", "2.62.0"),
            ("openevals", "0.2.2"),
            ("openai", "3.57.0"),
        ],
    )
}

const RAGAS_METRICS: &str = "ragas.metrics.collections";
const PHOENIX_METRICS: &str = "phoenix.evals.metrics";
const OPIK_METRICS: &str = "opik.evaluation.metrics";
const STRANDS_METRICS: &str = "strands_evals.evaluators";
const PYDANTIC_GEVAL: (&str, &str) = ("pydantic_evals.evaluators", "GEval");
const OPENEVALS_JUDGE: (&str, &str) = ("openevals", "create_llm_as_judge");

/// The arguments of a judge, which asks nothing here.
fn judge(arguments: &str) -> String {
    format!(", args: {{{arguments}}}, models: {{m: 'fake:replies'}}")
}

fn metric(name: &str, (module, class): (&str, &str), more: &str) -> String {
    let package = match module.split('.').next() {
        Some("phoenix") => "arize-phoenix-evals",
        Some("strands_evals") => "strands-agents-evals",
        name => name.unwrap(),
    };
    // The pinned requirements have packages that are not installed here.
    entry(name, &format!("metric: '{module}:{class}', requirements: [{package}]{more}"))
}

#[test]
fn metrics_score_from_0_to_1_where_1_is_best() {
    let Some(directory) = with_libraries() else { return };
    let three_levels = ", args: {rubrics: {score1_description: bad, score2_description: fair, \
                        score3_description: good}}";
    directory.file("replies", "");
    let levels = [
        judge("criteria: good"),
        judge("criteria: good, score_range: [0, 4]"),
        judge("prompt: good, choices: [1, 2, 3]"),
        judge("prompt: good, choices: [0.25, 0.5]"),
        judge("llm: m"),
    ];
    let cases = [
        ("ragas_exact", (RAGAS_METRICS, "ExactMatch"), "", 0.5),
        // Of a scale from 1 to 5.
        ("ragas_four", (RAGAS_METRICS, "OneToFive"), "", 0.75),
        ("ragas_noise", (RAGAS_METRICS, "NoiseSensitivity"), "", 0.75),
        ("ragas_rubrics", (RAGAS_METRICS, "Rubrics"), "", 0.5),
        // Three levels, of which the highest is given.
        ("ragas_levels", (RAGAS_METRICS, "Rubrics"), three_levels, 1.0),
        (
            "ragas_instance",
            (RAGAS_METRICS, "InstanceRubrics"),
            ", args: {rubrics: {score0_description: bad, score4_description: good}}",
            0.25,
        ),
        (
            "ragas_topics",
            (RAGAS_METRICS, "TopicAdherence"),
            ", args: {reference_topics: [weather]}",
            1.0,
        ),
        ("phoenix_exact", (PHOENIX_METRICS, "exact_match"), "", 0.5),
        // Choices from 1 to 3, of which the lowest is best.
        ("phoenix_toxic", (PHOENIX_METRICS, "ToxicityEvaluator"), "", 1.0),
        // Its library sends five requests per second, unless it is told otherwise.
        ("phoenix_rate", (PHOENIX_METRICS, "Unlimited"), &levels[4], 1.0),
        (
            "phoenix_tools",
            (PHOENIX_METRICS, "ToolSelectionEvaluator"),
            ", args: {available_tools: get_weather}",
            1.0,
        ),
        ("opik_golden", (OPIK_METRICS, "Contains"), "", 0.5),
        ("opik_given", (OPIK_METRICS, "Contains"), ", args: {reference: ere}", 1.0),
        ("opik_injected", (OPIK_METRICS, "PromptInjection"), "", 0.75),
        ("opik_whole", (OPIK_METRICS, "ConversationDegenerationMetric"), "", 0.5),
        ("strands_golden", (STRANDS_METRICS, "Equals"), "", 0.75),
        ("strands_given", (STRANDS_METRICS, "Equals"), ", args: {value: There.}", 0.75),
        // Levels from 1 to 5, of which 2 is given.
        ("pydantic_levels", PYDANTIC_GEVAL, &levels[0], 0.25),
        ("pydantic_range", PYDANTIC_GEVAL, &levels[1], 0.5),
        ("openevals_choices", OPENEVALS_JUDGE, &levels[2], 0.5),
        ("openevals_shares", OPENEVALS_JUDGE, &levels[3], 0.5),
    ];
    let entries: String =
        cases.iter().map(|(name, target, more, _)| metric(name, *target, more)).collect();
    let ran = evaluate(&directory, &entries);
    let report = ran.json();
    for (index, (name, _, _, expected)) in cases.iter().enumerate() {
        let found = &report["traces"][0]["metrics"][index];
        assert_eq!(
            (&found["metric_name"], &found["score"]),
            (&json!(name), &json!(expected)),
            "{found}"
        );
    }
    assert_eq!(report["warnings"], json!(null));
}

#[test]
fn what_is_no_score_is_an_error_or_not_evaluated() {
    let Some(directory) = with_libraries() else { return };
    let beyond = "{value: 4.0, rubrics: {score1_description: bad, score3_description: good}}";
    let entries = metric("empty", (RAGAS_METRICS, "Faithfulness"), "")
        + &metric("high", (RAGAS_METRICS, "OneToFive"), ", args: {value: 6}")
        + &metric("two", (PHOENIX_METRICS, "TwoScores"), "")
        + &metric("failed", (OPIK_METRICS, "Tone"), "")
        + &metric("beyond", (RAGAS_METRICS, "Rubrics"), &format!(", args: {beyond}"))
        + &metric("ragas_none", (RAGAS_METRICS, "Empty"), "")
        + &metric("phoenix_none", (PHOENIX_METRICS, "NoScore"), "")
        + &metric("opik_none", (OPIK_METRICS, "Usefulness"), "")
        + &metric("silent", (STRANDS_METRICS, "Silent"), "")
        + &metric("absent", (STRANDS_METRICS, "Absent"), "")
        + &metric("nothing", (STRANDS_METRICS, "Nothing"), "");
    let ran = evaluate(&directory, &entries).exits(3);
    for (name, message) in [
        ("empty", "the metric gave NaN, which is not a score"),
        ("high", "the metric gave 6.0, outside of its range from 1.0 to 5.0"),
        ("two", "the metric gave 2 scores, and an entry has one"),
        ("failed", "counted"),
        ("beyond", "the metric gave 4.0, outside of its range from 1 to 3"),
        ("ragas_none", "the metric gave no score: the reply was no verdict"),
        ("phoenix_none", "the metric gave no score: because"),
        ("opik_none", "the metric gave no score: counted"),
        ("silent", "the metric gave no outputs"),
        ("absent", "compared"),
    ] {
        let error = ran.error_of(name);
        assert!(error.contains(message), "{name}: {error}");
    }
    assert_eq!(ran.evaluations(0).last().unwrap(), "nothing NOT_EVALUATED");

    // A golden answer that does not exist.
    let entries = metric("ragas", (RAGAS_METRICS, "ExactMatch"), "")
        + &metric("phoenix", (PHOENIX_METRICS, "exact_match"), "")
        + &metric("opik", (OPIK_METRICS, "Contains"), "")
        + &metric("strands", (STRANDS_METRICS, "Equals"), "");
    configure(&directory, "");
    directory.file("c.yaml", format!("evaluators:\n{entries}"));
    let ran = run(&directory, &["run", "trace.json", "-c", "c.yaml", "-o", "json"]).exits(1);
    let expected =
        ["ragas", "phoenix", "opik", "strands"].map(|name| format!("{name} NOT_EVALUATED"));
    assert_eq!(ran.evaluations(0), expected);
}

#[test]
fn what_traces_do_not_have_is_refused() {
    let Some(directory) = with_libraries() else { return };
    let unnumbered = entry(
        "rubrics",
        "metric: 'ragas.metrics.collections:Rubrics', requirements: [ragas], \
         args: {rubrics: {bad: wrong, good: right}}",
    );
    let refused = [
        ((RAGAS_METRICS, "SummaryScore"), "needs `reference_contexts`, which traces do not have"),
        ((RAGAS_METRICS, "TopicAdherence"), "needs the argument `reference_topics`"),
        ((RAGAS_METRICS, "AnswerAccuracy"), "needs the argument `llm`: write it below `args`"),
        ((RAGAS_METRICS, "Faithfullness"), "did you mean `Faithfulness`?"),
        (
            ("ragas.metrics", "Faithfulness"),
            "did you mean `ragas.metrics.collections:Faithfulness`?",
        ),
        ((PHOENIX_METRICS, "RefusalEvaluator"), "does not say whether a higher score is better"),
        ((PHOENIX_METRICS, "ToolSelectionEvaluator"), "needs the argument `available_tools`"),
        ((PHOENIX_METRICS, "LabelsEvaluator"), "gives labels and no scores"),
        ((OPIK_METRICS, "Sentiment"), "does not document the range and the direction of a score"),
        ((OPIK_METRICS, "Contain"), "did you mean `Contains`?"),
        (
            (STRANDS_METRICS, "StateEquals"),
            "needs states of an environment, which traces do not have",
        ),
        (
            (STRANDS_METRICS, "HelpfulnessEvaluator"),
            "needs the argument `model`: write it below `args`",
        ),
        ((STRANDS_METRICS, "Equal"), "did you mean `Equals`?"),
    ];
    directory.file("replies", "");
    let one_level = metric("level", OPENEVALS_JUDGE, &judge("prompt: good, choices: [2, 2]"));
    let entry = |(index, (target, _)): (usize, &((&str, &str), &str))| {
        metric(&format!("x{index}"), *target, "")
    };
    let entries: String = refused.iter().enumerate().map(entry).collect();
    let ran = evaluate(&directory, &(entries + &unnumbered + &one_level)).exits(2);
    let checked = run(&directory, &["check", "c.yaml"]).exits(2);
    for message in [
        "the keys of `rubrics` of `ragas.metrics.collections:Rubrics` have to be",
        "`choices` of `openevals:create_llm_as_judge` have to be two scores or more",
    ] {
        assert!(ran.stderr.contains(message), "{}", ran.stderr);
    }
    for (target, message) in refused {
        let is_named =
            |text: &str| text.lines().any(|line| line.contains(target.1) && line.contains(message));
        assert!(is_named(&ran.stderr), "{target:?}: {}", ran.stderr);
        assert!(is_named(&checked.stdout), "{target:?}: {}", checked.stdout);
    }
}
