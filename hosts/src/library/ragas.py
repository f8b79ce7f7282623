#: Metrics of Ragas: classes of `ragas.metrics.collections` whose objects score samples.

#: The part of a turn that each parameter of a sample is. Other parameters are arguments of the entry, or parts that traces do not have.
PARAMETERS = {
    "user_input": "user",
    "response": "answer",
    "reference": "golden answer",
    "retrieved_contexts": "retrieved",
    "reference_tool_calls": "golden calls",
}

#: Parameters of a sample that are the same for all conversations, so that an entry can give them.
OF_ENTRY = ("reference_topics", "rubrics")


def is_metric(name, value):
    from ragas.metrics.collections import BaseMetric

    return inspect.isclass(value) and issubclass(value, BaseMetric) and value is not BaseMetric


def constructor(target):
    return parameters_of(target.__init__, ("self", "name", "allowed_values"))


def sample(target):
    return parameters_of(target.ascore)


def parameters(target):
    return {**{key: it for key, it in sample(target).items() if key in OF_ENTRY}, **constructor(target)}


def asks_model(target, arguments):
    return bool({"llm", "embeddings"} & set(constructor(target)))


def load(name, target, arguments):
    if "multi_modal" in target.__module__ or target.__name__.startswith("MultiModal"):
        # They also fetch what retrieved texts name.
        raise Mistake("`%s` needs images, which traces do not have" % name)
    own = {key: value for key, value in arguments.items() if key in constructor(target)}
    metric = made(name, lambda: target(**with_models(own)))
    called = sample(target)
    given = {key: value for key, value in arguments.items() if key not in own}
    required = [key for key, it in called.items() if it.default is inspect.Parameter.empty and key not in given]
    unknown = [key for key in required if key not in PARAMETERS]
    if unknown:
        raise Mistake("`%s` needs `%s`, which traces do not have" % (name, unknown[0]))
    # Rubrics with a reference accept samples without one.
    required += ["reference"] * bool(getattr(metric, "with_reference", False))
    of_messages = "Message" in str(called["user_input"].annotation) if "user_input" in called else False
    whole = of_messages and "reference_tool_calls" not in called
    low, high = limits(name, metric, given)

    def measure(part):
        turns = part.turns if whole else [part]
        values = {key: value(turns, key, of_messages) for key in called if key in PARAMETERS and key not in given}
        if whole and "reference" in required and values["reference"] is None:
            raise Missing("there is no golden answer")
        result = finished(metric.ascore(**given, **{key: it for key, it in values.items() if it is not None or key in required}))
        return result.value, result.reason

    needs = ["answer"] if whole else [PARAMETERS[key] for key in required]
    return Metric(measure, needs, whole, low, high, lower_is_better="lower is better" in (inspect.getdoc(target) or ""))


def limits(name, metric, given):
    """Returns the lowest and the highest score: those of the levels of rubrics, else what the metric declares."""
    rubrics = given.get("rubrics") or getattr(metric, "rubrics", None)
    if not isinstance(rubrics, dict):
        return metric.allowed_values
    levels = [key[len("score") : -len("_description")] for key in rubrics if key.startswith("score") and key.endswith("_description")]
    if len(levels) != len(rubrics) or not all(level.isdecimal() for level in levels):
        text = "the keys of `rubrics` of `%s` have to be `score1_description`, `score2_description`, .., which give its range"
        raise Mistake(text % name)
    numbers = sorted(set(map(int, levels)))
    if len(numbers) < 2:
        raise Mistake("`rubrics` of `%s` have to describe two scores or more" % name)
    return numbers[0], numbers[-1]


def with_models(arguments):
    """Replaces names of models by what asks them."""
    replaced = dict(arguments)
    makers = {"llm": language_model, "embeddings": embedding_model}
    for kind, make in makers.items():
        model = arguments.get(kind)
        if isinstance(model, str):
            replaced[kind] = kept(kind, model, lambda: make(model))
    return replaced


def language_model(model):
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory

    return llm_factory(model, client=AsyncOpenAI())


def embedding_model(model):
    from openai import AsyncOpenAI
    from ragas.embeddings.base import embedding_factory

    return embedding_factory("openai", model=model, client=AsyncOpenAI(), interface="modern")


LOOPS = []


def finished(coroutine):
    """Returns the result of a coroutine. All run in one event loop, to which the connections of a client belong."""
    import asyncio

    if not LOOPS:
        LOOPS.append(asyncio.new_event_loop())
    return LOOPS[0].run_until_complete(coroutine)


def value(turns, parameter, of_messages):
    """Returns a parameter of a sample; `None` if the conversation does not have it."""
    if parameter == "user_input" and of_messages:
        return [message for turn in turns for message in messages(turn)]
    if parameter == "reference_tool_calls":
        return tools(turns[-1].golden.calls)
    return PARTS[PARAMETERS[parameter]][1](turns[-1])


def tools(calls):
    from ragas.messages import ToolCall

    return [ToolCall(name=call.name, args=call.args) for call in calls]


def messages(turn):
    from ragas.messages import AIMessage, HumanMessage, ToolMessage

    found = [HumanMessage(content=turn.user)]
    if turn.calls:
        found.append(AIMessage(content="", tool_calls=tools(turn.calls)))
    found += [ToolMessage(content=text) for call in turn.calls if call.has_result for text in ["\n".join(texts(call.result))]]
    return [*found, AIMessage(content=turn.answer)]
