#: Evaluators of Strands: classes whose objects evaluate a case. Their scores go from 0 to 1, and the higher ones pass.

#: Evaluators that need more than a recording has, by the start of their names, and what that is.
BEYOND = {
    "Interactions": "interactions of agents",
    "Multimodal": "images",
    "Skill": "skills of the agent",
    "StateEquals": "states of an environment",
    "StructuredOutput": "a class of Python",
}


def is_metric(name, value):
    base = sys.modules["strands_evals.evaluators"].Evaluator
    return inspect.isclass(value) and issubclass(value, base) and value is not base


def parameters(target):
    found = parameters_of(target.__init__, ("self", "name", "tools", "uses_environment_state", "trace_extractor"))
    if "model" in found:
        # Without a model, an evaluator asks one of Bedrock, which needs an account there.
        found["model"] = found["model"].replace(default=inspect.Parameter.empty)
    return found


def asks_model(target, arguments):
    return "model" in parameters(target)


def load(name, target, arguments):
    kind = target.__name__
    beyond = [what for start, what in BEYOND.items() if kind.startswith(start)]
    beyond += ["attacks"] * (".redteam" in target.__module__) + ["faults that were injected"] * (".chaos" in target.__module__)
    if beyond:
        raise Mistake("`%s` needs %s, which traces do not have" % (name, beyond[0]))
    evaluator = made(name, lambda: target(**with_model(arguments)))
    level = getattr(target.evaluation_level, "name", None)
    # An evaluator of tool calls, or of a session, looks at all turns at once; one of a trace looks at the last turn and what was before.
    whole = level in ("TOOL_LEVEL", "SESSION_LEVEL")

    def measure(part):
        turns = part.turns if whole else [*part.earlier, part]
        if level == "TOOL_LEVEL" and not any(turn.calls for turn in turns):
            raise Missing("there are no tool calls")
        trajectory = [call.name for call in part.calls] if level is None else session(turns)
        return outcome(evaluator, evaluator.evaluate(case(turns[-1], trajectory)))

    compares = kind == "Equals" and arguments.get("value") is None
    return Metric(measure, ["answer"] + ["golden answer"] * compares, whole)


def with_model(arguments):
    """Replaces the name of a model by what asks it."""
    if not isinstance(arguments.get("model"), str):
        return arguments
    from strands.models.openai import OpenAIModel

    return {**arguments, "model": OpenAIModel(model_id=arguments["model"])}


def outcome(evaluator, outputs):
    """Returns the score and the reason of several outputs, as the library combines them."""
    if not outputs:
        # The library counts this as a failure of the evaluator, too.
        raise Broken("the metric gave no outputs")
    if all(getattr(output, "not_applicable", False) for output in outputs):
        reason = "; ".join(output.reason for output in outputs if output.reason) or "the metric found nothing to evaluate"
        # What does not apply and does not pass either could not be evaluated.
        raise Missing(reason) if all(output.test_pass for output in outputs) else Broken(reason)
    score, _, reason = evaluator.aggregator(outputs)
    return score, reason


def case(turn, trajectory):
    from strands_evals.types.evaluation import EvaluationData

    golden = turn.golden
    return EvaluationData(
        input=turn.user,
        actual_output=turn.answer,
        expected_output=golden.answer if golden else None,
        actual_trajectory=trajectory,
        expected_trajectory=[call.name for call in golden.calls] if golden else None,
    )


def session(turns):
    """Returns turns as the spans that Strands would have recorded."""
    from datetime import datetime, timedelta, timezone

    from strands_evals.types import trace

    start, traces = datetime(2000, 1, 1, tzinfo=timezone.utc), []
    for index, turn in enumerate(turns):
        at = lambda step: start + timedelta(minutes=index, seconds=step)
        info = lambda step, last: trace.SpanInfo(
            trace_id=str(index), span_id="%d.%d" % (index, step), session_id="recording", start_time=at(step), end_time=at(last)
        )
        last = len(turn.calls) + 1
        spans = [trace.AgentInvocationSpan(span_info=info(0, last), user_prompt=turn.user, agent_response=turn.answer, available_tools=[])]
        for step, call in enumerate(turn.calls, 1):
            result = "\n".join(texts(call.result)) if call.has_result else ""
            spans.append(
                trace.ToolExecutionSpan(
                    span_info=info(step, step),
                    tool_call=trace.ToolCall(name=call.name, arguments=call.args, tool_call_id=call.id),
                    tool_result=trace.ToolResult(content=result, error=result if call.failed else None, tool_call_id=call.id),
                )
            )
        traces.append(trace.Trace(spans=spans, trace_id=str(index), session_id="recording"))
    return trace.Session(traces=traces, session_id="recording")
