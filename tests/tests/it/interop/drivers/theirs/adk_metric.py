"""A metric as ADK has it: a function."""

from faults import score
from google.adk.evaluation.evaluator import (
    EvalStatus,
    EvaluationResult,
    PerInvocationResult,
)


def evaluate(eval_metric, actual_invocations, expected_invocations, conversation_scenario=None):
    value = score(eval_metric.criterion.fault)
    passed = value >= eval_metric.criterion.threshold
    status = EvalStatus.PASSED if passed else EvalStatus.FAILED
    rows = [
        PerInvocationResult(actual_invocation=turn, score=value, eval_status=status)
        for turn in actual_invocations
    ]
    return EvaluationResult(overall_score=value, overall_eval_status=status, per_invocation_results=rows)
