#: Evaluators of pydantic-evals: dataclasses whose objects evaluate a context.


def is_metric(name, value):
    base = sys.modules["pydantic_evals.evaluators"].Evaluator
    return inspect.isclass(value) and issubclass(value, base) and value is not base


#: Evaluators that need more than a turn of a recording, and what that is.
BEYOND = {
    "MaxDuration": "the duration of a turn",
    "MaxModelRequests": "spans of model calls",
    "HasMatchingSpan": "spans of the agent",
}

#: Evaluators of tool calls; those that expect some take the golden ones if the argument of this name is left out.
OF_CALLS = ("ToolCorrectness", "TrajectoryMatch", "ArgumentCorrectness", "MaxToolCalls")
EXPECTS = {"ToolCorrectness": "expected_tools", "TrajectoryMatch": "expected_trajectory"}


def parameters(target):
    found = parameters_of(target, ("evaluation_name",))
    expected = EXPECTS.get(target.__name__)
    if expected in found:
        found[expected] = found[expected].replace(default=None)
    return found


def asks_model(target, arguments):
    return target.__name__ in ("LLMJudge", "GEval")


def load(name, target, arguments):
    kind = target.__name__
    if kind in BEYOND:
        raise Mistake("`%s` needs %s, which its documents do not have" % (name, BEYOND[kind]))
    if asks_model(target, arguments) and version_of("openai") is None:
        raise Mistake('`%s` needs a package that is not installed: add "pydantic-ai-slim[openai]" to `requirements`' % name)
    expected = EXPECTS.get(kind)
    takes_golden = expected is not None and expected not in arguments
    if takes_golden:
        # What is wrong with the other arguments shows before the first conversation.
        make = lambda calls: target(**arguments, **{expected: [call.name for call in calls]})
        made(name, lambda: make([]))
    else:
        evaluator = made(name, lambda: target(**arguments))
        make = lambda calls: evaluator
    compares = kind == "EqualsExpected" or bool(arguments.get("include_expected_output"))
    needs = ["golden answer"] * compares + ["golden calls"] * takes_golden + ["answer"] * (kind not in OF_CALLS)
    low, high = arguments.get("score_range") or getattr(target, "score_range", (0, 1))
    measure = lambda turn: outcome(make(turn.golden.calls if takes_golden else []).evaluate_sync(context(turn)))
    return Metric(measure, needs, low=low, high=high)


def outcome(result):
    """Returns the value and the reason of a result."""
    if isinstance(result, collections.abc.Mapping):
        if not result:
            # So an evaluator says that there is nothing to evaluate.
            raise Missing("the metric gave no result")
        if len(result) > 1:
            raise Broken("the metric gave %d results, and one is a score" % len(result))
        result = next(iter(result.values()))
    return getattr(result, "value", result), getattr(result, "reason", None)


def context(turn):
    """Returns what an evaluator gets for a turn: its tool calls are the spans that pydantic-ai would have recorded."""
    from datetime import datetime, timedelta, timezone

    from pydantic_evals.otel.span_tree import SpanNode, SpanTree

    start = datetime(2000, 1, 1, tzinfo=timezone.utc)
    spans = []
    for index, call in enumerate(turn.calls):
        at = start + timedelta(seconds=index)
        attributes = {"gen_ai.tool.name": call.name, "gen_ai.tool.call.arguments": json.dumps(call.args)}
        spans.append(
            SpanNode(
                name="execute_tool " + call.name,
                trace_id=1,
                span_id=index + 1,
                parent_span_id=None,
                start_timestamp=at,
                end_timestamp=at,
                attributes=attributes,
                status="error" if call.failed else "ok",
            )
        )
    tree = SpanTree()
    tree.add_spans(spans)
    return sys.modules["pydantic_evals.evaluators"].EvaluatorContext(
        name=None,
        inputs=turn.user,
        metadata=None,
        expected_output=turn.golden.answer if turn.golden else None,
        output=turn.answer,
        duration=0.0,
        _span_tree=tree,
        attributes={},
        metrics={},
    )
