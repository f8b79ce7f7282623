"""Calls metrics of a library without the host, as the documentation of the library shows it.

Arguments: the name of the library. Standard input: a JSON object with `documents` and `metrics`, each metric with its name, its
target and its arguments. Prints the scores: for each metric, a list with the scores of each document. `null` is a turn, or a
document, that has no golden part; `"error"` is one that the library refuses. No answer is an empty one.

Nothing of the adapters is used here: this is what they are compared with.
"""

import json
import sys


def pairs(document):
    golden = document["expected_invocations"] or []
    return [(turn, golden[index] if index < len(golden) else None) for index, turn in enumerate(document["invocations"])]


def per_turn(document, score):
    """Scores the turns that have a golden answer."""
    scores = []
    for turn, golden in pairs(document):
        has_golden = golden is not None and golden["final_response"] is not None
        scores.append(score(turn, golden) if has_golden else None)
    return scores


def autoevals(name, args, document):
    import autoevals

    scorer = getattr(autoevals, name)(**{key: value for key, value in args.items() if key != "schema"})
    if name == "ValidJSON":
        answers = [turn["final_response"] for turn in document["invocations"]]
        call = lambda answer: scorer(answer, args["schema"]) if "schema" in args else scorer(answer)
        return [call(answer).score for answer in answers]
    return per_turn(document, lambda turn, golden: scorer(turn["final_response"], golden["final_response"]).score)


def openevals(name, args, document):
    if name.endswith("_match_evaluator") and "trajectory" in name:
        from openevals import create_trajectory_match_evaluator

        return trajectory(create_trajectory_match_evaluator(**args), document)
    if name == "exact_match":
        from openevals import exact_match as evaluator
    else:
        from openevals.string import levenshtein_distance as evaluator
    both = lambda turn, golden: {"outputs": turn["final_response"], "reference_outputs": golden["final_response"]}
    return per_turn(document, lambda turn, golden: float(evaluator(**both(turn, golden))["score"]))


def agentevals(name, args, document):
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    return trajectory(create_trajectory_match_evaluator(**args), document)


def trajectory(evaluator, document):
    """Compares calls and answers. The golden cases of this test have no results of tools, and an answer in each turn."""

    def messages(turns):
        found = []
        for turn in turns:
            found.append({"role": "user", "content": turn["user_content"]})
            calls = turn["intermediate_steps"]["tool_calls"]
            if calls:
                function = lambda call: {"name": call["name"], "arguments": json.dumps(call["args"])}
                calls = [{"id": "x", "type": "function", "function": function(call)} for call in calls]
                found.append({"role": "assistant", "content": "", "tool_calls": calls})
            found.append({"role": "assistant", "content": turn["final_response"] or ""})
        return found

    golden = document["expected_invocations"]
    if golden is None or len(golden) < len(document["invocations"]):
        return [None]
    return [float(evaluator(outputs=messages(document["invocations"]), reference_outputs=messages(golden))["score"])]


def deepeval(name, args, document):
    import deepeval.metrics
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.test_case import LLMTestCase, ToolCall, ToolCallParams

    args = dict(args)
    if "evaluation_params" in args:
        args["evaluation_params"] = [ToolCallParams(value) for value in args["evaluation_params"]]
    metric = getattr(deepeval.metrics, name)(**args)
    needs_golden = name in ("ToolCorrectnessMetric", "ExactMatchMetric")

    def calls(turn):
        responses = list(turn["intermediate_steps"]["tool_responses"])
        found = []
        for call in turn["intermediate_steps"]["tool_calls"]:
            mine = [it for it in responses if call["id"] is not None and it["id"] == call["id"]]
            mine = mine or [it for it in responses if it["name"] == call["name"]]
            for response in mine[:1]:
                responses.remove(response)
            output = (mine[0]["output"] if mine[0]["response"] is None else mine[0]["response"]) if mine else None
            found.append(ToolCall(name=call["name"], input_parameters=call["args"], output=output))
        return found

    scores = []
    for turn, golden in pairs(document):
        lacks_golden = needs_golden and (golden is None or name == "ExactMatchMetric" and golden["final_response"] is None)
        if lacks_golden:
            scores.append(None)
            continue
        case = LLMTestCase(
            input=turn["user_content"],
            actual_output=turn["final_response"],
            expected_output=golden["final_response"] if golden else None,
            tools_called=calls(turn),
            expected_tools=calls(golden) if golden else None,
        )
        # What `measure` returns is nothing for metrics that are asynchronous.
        try:
            metric.measure(case, _show_indicator=False)
            scores.append(float(metric.score))
        except MissingTestCaseParamsError:
            scores.append("error")
    return scores


def pydantic_evals(name, args, document):
    from datetime import datetime, timedelta, timezone

    import pydantic_evals.evaluators
    from pydantic_evals.evaluators import EvaluatorContext
    from pydantic_evals.otel.span_tree import SpanNode, SpanTree

    def tree_of(turn):
        tree, spans, start = SpanTree(), [], datetime(2020, 1, 1, tzinfo=timezone.utc)
        responses = list(turn["intermediate_steps"]["tool_responses"])
        for index, call in enumerate(turn["intermediate_steps"]["tool_calls"]):
            mine = [it for it in responses if call["id"] is not None and it["id"] == call["id"]]
            mine = mine or [it for it in responses if it["name"] == call["name"]]
            for response in mine[:1]:
                responses.remove(response)
            failed = bool(mine) and mine[0]["status"] == "error"
            times = {"start_timestamp": start + timedelta(minutes=index), "end_timestamp": start + timedelta(minutes=index, seconds=1)}
            attributes = {"gen_ai.tool.name": call["name"], "tool_arguments": json.dumps(call["args"])}
            ids = {"trace_id": 7, "span_id": 100 + index, "parent_span_id": None}
            spans.append(SpanNode(name="running tool", attributes=attributes, status="error" if failed else "unset", **ids, **times))
        tree.add_spans(spans)
        return tree

    expected = {"ToolCorrectness": "expected_tools", "TrajectoryMatch": "expected_trajectory"}.get(name)
    scores = []
    for turn, golden in pairs(document):
        own = dict(args)
        takes_golden = expected is not None and expected not in own
        lacks_golden = (takes_golden or name == "EqualsExpected") and golden is None
        if lacks_golden:
            scores.append(None)
            continue
        if takes_golden:
            own[expected] = [call["name"] for call in golden["intermediate_steps"]["tool_calls"]]
        context = EvaluatorContext(
            name="case",
            inputs=turn["user_content"],
            metadata=None,
            expected_output=golden["final_response"] if golden else None,
            output=turn["final_response"],
            duration=1.0,
            _span_tree=tree_of(turn),
            attributes={},
            metrics={},
        )
        result = getattr(pydantic_evals.evaluators, name)(**own).evaluate_sync(context)
        scores.append(float(getattr(result, "value", result)))
    return scores


def opik(name, args, document):
    import opik.evaluation.metrics

    metric = getattr(opik.evaluation.metrics, name)(**args)
    if name == "ConversationDegenerationMetric":
        thread = []
        for turn in document["invocations"]:
            thread.append({"role": "user", "content": turn["user_content"]})
            thread.append({"role": "assistant", "content": turn["final_response"]})
        try:
            # A high number is a bad conversation.
            return [1.0 - metric.score(conversation=thread).value]
        except opik.exceptions.MetricComputationError:
            return "error"
    if name in ("Equals", "LevenshteinRatio"):
        score = lambda turn, golden: metric.score(output=turn["final_response"], reference=golden["final_response"]).value
        return per_turn(document, score)
    return [metric.score(output=turn["final_response"]).value for turn in document["invocations"]]


def phoenix(name, args, document):
    import phoenix.evals.metrics

    if name == "exact_match":
        texts = lambda turn, golden: {"output": turn["final_response"], "expected": golden["final_response"]}
        return per_turn(document, lambda turn, golden: phoenix.evals.metrics.exact_match.evaluate(texts(turn, golden))[0].score)
    evaluator = getattr(phoenix.evals.metrics, name)(**args)
    return [evaluator.evaluate({"output": turn["final_response"]})[0].score for turn in document["invocations"]]


def ragas(name, args, document):
    import ragas.metrics.collections
    from ragas.messages import AIMessage, HumanMessage, ToolCall
    from ragas.metrics.collections import DistanceMeasure

    args = dict(args)
    if "distance_measure" in args:
        args["distance_measure"] = DistanceMeasure(args["distance_measure"])
    metric = getattr(ragas.metrics.collections, name)(**args)
    if not name.startswith("ToolCall"):
        texts = lambda turn, golden: {"response": turn["final_response"], "reference": golden["final_response"]}
        return per_turn(document, lambda turn, golden: metric.score(**texts(turn, golden)).value)
    calls = lambda turn: [ToolCall(name=call["name"], args=call["args"]) for call in turn["intermediate_steps"]["tool_calls"]]
    scores = []
    for turn, golden in pairs(document):
        sample = [HumanMessage(content=turn["user_content"]), AIMessage(content=turn["final_response"], tool_calls=calls(turn))]
        scores.append(metric.score(user_input=sample, reference_tool_calls=calls(golden)).value if golden else None)
    return scores


def strands_evals(name, args, document):
    import strands_evals.evaluators
    from strands_evals.types.evaluation import EvaluationData

    evaluator = getattr(strands_evals.evaluators, name)(**args)

    def score(turn, golden):
        case = EvaluationData(
            input=turn["user_content"],
            actual_output=turn["final_response"],
            expected_output=golden["final_response"] if golden else None,
            actual_trajectory=[call["name"] for call in turn["intermediate_steps"]["tool_calls"]],
        )
        return evaluator.evaluate(case)[0].score

    return per_turn(document, score) if name == "Equals" else [score(turn, golden) for turn, golden in pairs(document)]


def main():
    library = sys.argv[1]
    given = json.load(sys.stdin)
    for turn in (turn for document in given["documents"] for turn in document["invocations"]):
        turn["final_response"] = turn["final_response"] or ""
    call = globals()[library]
    found = {}
    for metric in given["metrics"]:
        name = metric["metric"].split(":")[1]
        found[metric["name"]] = [call(name, metric.get("args") or {}, document) for document in given["documents"]]
    print("\n" + json.dumps(found))


main()
