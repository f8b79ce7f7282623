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


def contexts(turn):
    """Returns the results of the tool whose results are the retrieved texts: each is a text, or a text in JSON."""
    found = []
    for response in turn["intermediate_steps"]["tool_responses"]:
        result = response["output"] if response["response"] is None else response["response"]
        if response["name"] == "get_weather":
            found += [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in (result if isinstance(result, list) else [result])]
    return found


def autoevals(name, args, document):
    import autoevals

    if name == "ClosedQA":
        scorer = autoevals.ClosedQA(model=args["model"])
        call = lambda turn: scorer(input=turn["user_content"], output=turn["final_response"], criteria=args["criteria"])
        return [call(turn).score for turn in document["invocations"]]
    if name == "ContextRecall":
        scorer = autoevals.ContextRecall(**args)
        more = lambda turn: {"input": turn["user_content"], "context": contexts(turn)}
        call = lambda turn, golden: scorer(turn["final_response"], golden["final_response"], **more(turn)).score
        return per_turn(document, lambda turn, golden: call(turn, golden) if contexts(turn) else None)
    if name in ("Possible", "Faithfulness"):
        scorer = getattr(autoevals, name)(**args)
        is_rag = name == "Faithfulness"
        more = lambda turn: {"input": turn["user_content"], **({"context": contexts(turn)} if is_rag else {})}
        call = lambda turn: None if is_rag and not contexts(turn) else scorer(turn["final_response"], **more(turn)).score
        return [call(turn) for turn in document["invocations"]]
    scorer = getattr(autoevals, name)(**{key: value for key, value in args.items() if key != "schema"})
    if name == "ValidJSON":
        answers = [turn["final_response"] for turn in document["invocations"]]
        call = lambda answer: scorer(answer, args["schema"]) if "schema" in args else scorer(answer)
        return [call(answer).score for answer in answers]
    return per_turn(document, lambda turn, golden: scorer(turn["final_response"], golden["final_response"]).score)


def openevals(name, args, document):
    if name == "create_llm_as_judge":
        from openevals import create_llm_as_judge

        judge = create_llm_as_judge(**args)
        if "choices" in args:
            # The levels go from 1 to 3.
            both = lambda turn, golden: {"outputs": turn["final_response"], "reference_outputs": golden["final_response"]}
            return per_turn(document, lambda turn, golden: (judge(**both(turn, golden))["score"] - 1) / 2)
        call = lambda turn: judge(inputs=turn["user_content"], outputs=turn["final_response"])
        return [float(call(turn)["score"]) for turn in document["invocations"]]
    if name == "create_trajectory_llm_as_judge":
        from openevals import create_trajectory_llm_as_judge

        return [float(create_trajectory_llm_as_judge(**args)(outputs=recorded(document))["score"])]
    if name.endswith("_match_evaluator") and "trajectory" in name:
        from openevals import create_trajectory_match_evaluator

        return trajectory(create_trajectory_match_evaluator(**args), document)
    if name == "exact_match":
        from openevals import exact_match as evaluator
    else:
        from openevals.string import levenshtein_distance as evaluator
    both = lambda turn, golden: {"outputs": turn["final_response"], "reference_outputs": golden["final_response"]}
    return per_turn(document, lambda turn, golden: float(evaluator(**both(turn, golden))["score"]))


def recorded(document):
    """Returns the messages of a recording, with the results of its tools."""
    found = []
    for turn in document["invocations"]:
        found.append({"role": "user", "content": turn["user_content"]})
        steps = turn["intermediate_steps"]
        ids = [call["id"] or "call_%d" % index for index, call in enumerate(steps["tool_calls"])]
        if ids:
            function = lambda call: {"name": call["name"], "arguments": json.dumps(call["args"])}
            calls = [{"id": id, "type": "function", "function": function(call)} for id, call in zip(ids, steps["tool_calls"])]
            found.append({"role": "assistant", "content": "", "tool_calls": calls})
        for response, id in zip(steps["tool_responses"], ids):
            result = response["output"] if response["response"] is None else response["response"]
            content = result if isinstance(result, str) else json.dumps(result)
            found.append({"role": "tool", "tool_call_id": id, "content": content})
        found.append({"role": "assistant", "content": turn["final_response"]})
    return found


def agentevals(name, args, document):
    if name == "create_trajectory_llm_as_judge":
        from agentevals.trajectory.llm import create_trajectory_llm_as_judge

        return [float(create_trajectory_llm_as_judge(**args)(outputs=recorded(document))["score"])]
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
    if name == "ConversationCompletenessMetric":
        from deepeval.test_case import ConversationalTestCase, Turn

        turns = []
        for turn in document["invocations"]:
            turns += [Turn(role="user", content=turn["user_content"]), Turn(role="assistant", content=turn["final_response"])]
        metric = deepeval.metrics.ConversationCompletenessMetric(**args)
        metric.measure(ConversationalTestCase(turns=turns), _show_indicator=False)
        return [float(metric.score)]
    if name == "GEval":
        from deepeval.metrics.g_eval import Rubric
        from deepeval.test_case import SingleTurnParams

        args["evaluation_params"] = [SingleTurnParams(value) for value in args["evaluation_params"]]
        args["rubric"] = [Rubric(score_range=tuple(it["score_range"]), expected_outcome=it["expected_outcome"]) for it in args["rubric"]]
    elif "evaluation_params" in args:
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
        if lacks_golden or name == "ContextualRelevancyMetric" and not contexts(turn):
            scores.append(None)
            continue
        case = LLMTestCase(
            input=turn["user_content"],
            actual_output=turn["final_response"],
            expected_output=golden["final_response"] if golden else None,
            retrieval_context=contexts(turn) or None,
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
        result = result["LLMJudge"] if name == "LLMJudge" else result
        value = float(getattr(result, "value", result))
        # The levels go from 0 to 10.
        scores.append(value / 10 if name == "GEval" else value)
    return scores


def opik(name, args, document):
    import opik.evaluation.metrics

    metric = getattr(opik.evaluation.metrics, name)(**args)
    if name in ("ConversationDegenerationMetric", "KnowledgeRetentionMetric"):
        thread = []
        for turn in document["invocations"]:
            thread.append({"role": "user", "content": turn["user_content"]})
            thread.append({"role": "assistant", "content": turn["final_response"]})
        try:
            value = metric.score(conversation=thread).value
            # A high number is a bad conversation.
            return [1.0 - value if name == "ConversationDegenerationMetric" else value]
        except opik.exceptions.MetricComputationError:
            return "error"
    if name == "Hallucination":
        # A high number is a bad answer.
        call = lambda turn: metric.score(input=turn["user_content"], output=turn["final_response"]).value
        return [1.0 - call(turn) for turn in document["invocations"]]
    if name in ("Usefulness", "AnswerRelevance"):
        return [metric.score(input=turn["user_content"], output=turn["final_response"]).value for turn in document["invocations"]]
    if name in ("Equals", "LevenshteinRatio"):
        score = lambda turn, golden: metric.score(output=turn["final_response"], reference=golden["final_response"]).value
        return per_turn(document, score)
    return [metric.score(output=turn["final_response"]).value for turn in document["invocations"]]


def phoenix(name, args, document):
    import phoenix.evals.metrics

    if "llm" in args:
        llm = phoenix.evals.LLM(provider="openai", model=args["llm"])
        score = lambda evaluator, texts: evaluator.evaluate(texts)[0].score
        if name == "ClassificationEvaluator":
            evaluator = phoenix.evals.ClassificationEvaluator(name="right", **{**args, "llm": llm})
            texts = lambda turn, golden: {"output": turn["final_response"], "expected": golden["final_response"]}
            return per_turn(document, lambda turn, golden: score(evaluator, texts(turn, golden)))
        evaluator = getattr(phoenix.evals.metrics, name)(llm=llm)
        if name == "FaithfulnessEvaluator":
            texts = lambda turn: {"input": turn["user_content"], "output": turn["final_response"], "context": "\n\n".join(contexts(turn))}
            return [score(evaluator, texts(turn)) if contexts(turn) else None for turn in document["invocations"]]
        if name in ("ConcisenessEvaluator", "ToxicityEvaluator"):
            texts = lambda turn: {"input": turn["user_content"], "output": turn["final_response"], "text": turn["final_response"]}
            values = [score(evaluator, texts(turn)) for turn in document["invocations"]]
            return [1.0 - value if evaluator.direction == "minimize" else value for value in values]
        # The conversation is a text, whose form is not that of the library.
        value = score(evaluator, {"conversation": conversation(document)})
        # A high number is a bad conversation, where the evaluator says so.
        return [1.0 - value if evaluator.direction == "minimize" else value]
    if name == "exact_match":
        texts = lambda turn, golden: {"output": turn["final_response"], "expected": golden["final_response"]}
        return per_turn(document, lambda turn, golden: phoenix.evals.metrics.exact_match.evaluate(texts(turn, golden))[0].score)
    evaluator = getattr(phoenix.evals.metrics, name)(**args)
    return [evaluator.evaluate({"output": turn["final_response"]})[0].score for turn in document["invocations"]]


def conversation(document):
    """Returns a conversation as text: what the user says, each call with its result, and the answer."""
    turns = []
    for turn in document["invocations"]:
        lines, steps = ["User: " + turn["user_content"]], turn["intermediate_steps"]
        waiting = list(steps["tool_responses"])
        for call in steps["tool_calls"]:
            arguments = ", ".join("%s=%s" % (key, json.dumps(value, ensure_ascii=False)) for key, value in call["args"].items())
            lines.append("Tool call: %s(%s)" % (call["name"], arguments))
            mine = [it for it in waiting if call["id"] is not None and it["id"] == call["id"]]
            mine = mine or [it for it in waiting if it["name"] == call["name"]]
            for response in mine[:1]:
                waiting.remove(response)
                result = response["output"] if response["response"] is None else response["response"]
                items = result if isinstance(result, list) else [result]
                lines.append("Tool result: " + "\n".join(it if isinstance(it, str) else json.dumps(it, ensure_ascii=False) for it in items))
        turns.append("\n".join([*lines, "Assistant: " + turn["final_response"]]))
    return "\n\n".join(turns)


def ragas(name, args, document):
    import ragas.metrics.collections
    from ragas.messages import AIMessage, HumanMessage, ToolCall
    from ragas.metrics.collections import DistanceMeasure

    args = dict(args)
    if "distance_measure" in args:
        args["distance_measure"] = DistanceMeasure(args["distance_measure"])
    if "embeddings" in args or "llm" in args:
        from openai import AsyncOpenAI
        from ragas.embeddings.base import embedding_factory
        from ragas.llms import llm_factory

        if "embeddings" in args:
            args["embeddings"] = embedding_factory("openai", model=args["embeddings"], client=AsyncOpenAI(), interface="modern")
        else:
            args["llm"] = llm_factory(args["llm"], client=AsyncOpenAI())
    metric = getattr(ragas.metrics.collections, name)(**args)
    if name == "ContextRecall":
        more = lambda turn: {"user_input": turn["user_content"], "retrieved_contexts": contexts(turn)}
        call = lambda turn, golden: metric.score(reference=golden["final_response"], **more(turn)).value
        return per_turn(document, lambda turn, golden: call(turn, golden) if contexts(turn) else None)
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

    if "model" in args:
        from strands.models.openai import OpenAIModel

        args = {**args, "model": OpenAIModel(model_id=args["model"])}
    evaluator = getattr(strands_evals.evaluators, name)(**args)
    if name in ("ToolSelectionAccuracyEvaluator", "RefusalEvaluator", "HelpfulnessEvaluator", "GoalSuccessRateEvaluator"):
        return of_session(evaluator, document, name.startswith(("Tool", "Goal")))

    def score(turn, golden):
        case = EvaluationData(
            input=turn["user_content"],
            actual_output=turn["final_response"],
            expected_output=golden["final_response"] if golden else None,
            actual_trajectory=[call["name"] for call in turn["intermediate_steps"]["tool_calls"]],
        )
        return evaluator.evaluate(case)[0].score

    return per_turn(document, score) if name == "Equals" else [score(turn, golden) for turn, golden in pairs(document)]


def of_session(evaluator, document, of_calls):
    """Scores all calls of a session together, or each turn with those before it."""
    from datetime import datetime, timezone

    from strands_evals.types import trace
    from strands_evals.types.evaluation import EvaluationData

    now = datetime(2020, 1, 1, tzinfo=timezone.utc)
    traces = []
    for number, turn in enumerate(document["invocations"]):
        info = lambda: trace.SpanInfo(trace_id="t%d" % number, span_id="s", session_id="s", start_time=now, end_time=now)
        answer = turn["final_response"]
        spans = [trace.AgentInvocationSpan(span_info=info(), user_prompt=turn["user_content"], agent_response=answer, available_tools=[])]
        waiting = list(turn["intermediate_steps"]["tool_responses"])
        for call in turn["intermediate_steps"]["tool_calls"]:
            mine = [it for it in waiting if call["id"] is not None and it["id"] == call["id"]]
            mine = mine or [it for it in waiting if it["name"] == call["name"]]
            text, error = "", None
            for response in mine[:1]:
                waiting.remove(response)
                result = response["output"] if response["response"] is None else response["response"]
                items = result if isinstance(result, list) else [result]
                text = "\n".join(it if isinstance(it, str) else json.dumps(it, ensure_ascii=False) for it in items)
                error = text if response["status"] == "error" else None
            own = trace.ToolCall(name=call["name"], arguments=call["args"], tool_call_id=call["id"])
            result = trace.ToolResult(content=text, error=error, tool_call_id=call["id"])
            spans.append(trace.ToolExecutionSpan(span_info=info(), tool_call=own, tool_result=result))
        traces.append(trace.Trace(spans=spans, trace_id="t%d" % number, session_id="s"))

    def score(number):
        turn = document["invocations"][number]
        session = trace.Session(traces=traces[: number + 1], session_id="s")
        data = EvaluationData(input=turn["user_content"], actual_output=turn["final_response"], actual_trajectory=session)
        outputs = evaluator.evaluate(data)
        return sum(output.score for output in outputs) / len(outputs) if outputs else None

    numbers = range(len(traces))
    return [score(numbers[-1])] if of_calls else [score(number) for number in numbers]


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
