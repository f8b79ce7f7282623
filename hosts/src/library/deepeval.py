#: Metrics of deepeval: classes whose objects measure a test case.


def is_metric(name, value):
    library = sys.modules["deepeval.metrics"]
    bases = (library.BaseMetric, library.BaseConversationalMetric)
    return inspect.isclass(value) and issubclass(value, bases) and value not in bases


#: Metrics that ask a model only if they are given this argument.
ASK_WITH = {"ToolCorrectnessMetric": "available_tools"}

#: The part of a turn that each parameter of a test case is. Other parameters are parts that traces do not have.
PARAMETERS = {
    "input": "user",
    "actual_output": "answer",
    "expected_output": "golden answer",
    "retrieval_context": "retrieved",
    "tools_called": "calls",
    "expected_tools": "golden calls",
}


def parameters(target):
    # The host decides by its own threshold.
    return parameters_of(target.__init__, ("self", "threshold", "verbose_mode", "flaky"))


def asks_model(target, arguments):
    if target.__name__ in ASK_WITH:
        return ASK_WITH[target.__name__] in arguments
    return bool({"model", "dag"} & set(parameters(target)))


def load(name, target, arguments):
    library = sys.modules["deepeval.metrics"]
    if any(part in target.__module__ for part in (".voice", ".audio", ".transcription")):
        raise Mistake("`%s` needs audio, which traces do not have" % name)
    whole = issubclass(target, library.BaseConversationalMetric)
    metric = made(name, lambda: target(**arguments))
    keep_clients(metric)
    if getattr(metric, "requires_trace", False):
        raise Mistake("`%s` needs a trace that deepeval has recorded" % name)
    # Some metrics have a type in place of the parameters.
    declared = (getattr(metric, key, None) for key in ("_required_test_case_params" if whole else "_required_params", "evaluation_params"))
    required = next((list(them) for them in declared if them and isinstance(them, (list, tuple, set))), [])
    required = [getattr(parameter, "value", parameter) for parameter in required]
    unknown = [parameter for parameter in required if parameter not in (("content", "role") if whole else PARAMETERS)]
    if unknown:
        raise Mistake("`%s` needs `%s`, which traces do not have" % (name, unknown[0]))
    needs = ["answer"] if whole else [PARAMETERS[parameter] for parameter in required]
    return Metric(lambda part: measure_with(metric, conversational(part) if whole else single(part)), needs, whole, lower_is_better=is_reversed(metric))


def keep_clients(metric):
    """Lets the model of a metric ask with the clients of earlier conversations in the same event loop: it makes one for each request."""
    import asyncio

    model = getattr(metric, "model", None)
    make = getattr(model, "load_model", None)
    if make and not getattr(model, "kwargs", None):
        loop = lambda is_async: asyncio.get_running_loop() if is_async else None
        name = model.get_model_name()
        model.load_model = lambda async_mode=False: kept((type(model), loop(async_mode)), name, lambda: make(async_mode))


def is_reversed(metric):
    """Asks a metric whether the score 0 is a success and 1 is not, as for shares of what is bad."""
    kept = {name: getattr(metric, name, None) for name in ("threshold", "score", "success", "error")}
    outcomes = []
    for score in (0.0, 1.0):
        metric.threshold, metric.score, metric.error = 0.5, score, None
        outcomes.append(metric.is_successful())
    for name, value in kept.items():
        setattr(metric, name, value)
    return outcomes == [True, False]


def measure_with(metric, case):
    metric.measure(case, _show_indicator=False)
    if metric.error:
        raise Broken(metric.error)
    if getattr(metric, "skipped", False):
        raise Missing(str(metric.reason or "the metric skipped it"))
    return metric.score, metric.reason


def tools(calls):
    from deepeval.test_case import ToolCall

    return [ToolCall(name=call.name, input_parameters=call.args, output=call.result) for call in calls]


def single(turn):
    from deepeval.test_case import LLMTestCase

    golden = turn.golden
    return LLMTestCase(
        input=turn.user,
        actual_output=turn.answer,
        expected_output=golden.answer if golden else None,
        retrieval_context=turn.retrieved or None,
        tools_called=tools(turn.calls),
        expected_tools=tools(golden.calls) if golden else None,
    )


def conversational(conversation):
    from deepeval.test_case import ConversationalTestCase, Turn as CaseTurn

    turns = []
    for turn in conversation.turns:
        turns.append(CaseTurn(role="user", content=turn.user))
        turns.append(CaseTurn(role="assistant", content=turn.answer, tools_called=tools(turn.calls), retrieval_context=turn.retrieved or None))
    return ConversationalTestCase(turns=turns)
