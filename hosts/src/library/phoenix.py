#: Evaluators of Phoenix: objects that evaluate named texts, and classes of them.

#: What each input of an evaluator is called with: the parts of a turn that it needs, and its value. Other inputs are arguments of the
#: entry. `conversation` is the text of the turns.
INPUTS = {
    "input": (["user"], lambda turn: turn.user),
    "user_message": (["user"], lambda turn: turn.user),
    "output": (["answer"], lambda turn: turn.answer),
    "text": (["answer"], lambda turn: turn.answer),
    "expected": (["golden answer"], lambda turn: turn.golden.answer),
    "context": (["retrieved"], lambda turn: "\n\n".join(turn.retrieved)),
    "document_text": (["retrieved"], lambda turn: "\n\n".join(turn.retrieved)),
    "tool_selection": (["calls"], lambda turn: "\n".join(map(call_text, with_calls(turn)))),
    "tool_call": (["calls"], lambda turn: "\n".join(map(call_text, with_calls(turn)))),
    "tool_result": (["calls"], lambda turn: "\n".join("\n".join(texts(call.result)) for call in with_calls(turn) if call.has_result)),
    "conversation": (["answer"], lambda part: "\n\n".join(map(turn_text, part.earlier if isinstance(part, Turn) else part.turns))),
}


def is_metric(name, value):
    from phoenix.evals import Evaluator, LLMEvaluator

    if isinstance(value, Evaluator):
        return True
    return inspect.isclass(value) and issubclass(value, Evaluator) and value not in (Evaluator, LLMEvaluator)


def is_class(target):
    return inspect.isclass(target)


def inputs(evaluator):
    """Returns the inputs that an evaluator, or its class, requires; those of a class are in a class of it."""
    schema = getattr(evaluator, "input_schema", None)
    if is_class(evaluator):
        from pydantic import BaseModel

        schemas = [it for it in vars(evaluator).values() if inspect.isclass(it) and issubclass(it, BaseModel)]
        schema = schemas[0] if schemas else None
    return {key: it for key, it in schema.model_fields.items() if it.is_required()} if schema else {}


def parameters(target):
    known = {}
    for key in inputs(target):
        if key not in INPUTS:
            known[key] = inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=str)
    return {**known, **own_parameters(target)}


def own_parameters(target):
    # The name of a result is that of the entry.
    return parameters_of(target.__init__, ("self", "name", "input_schema")) if is_class(target) else {}


def asks_model(target, arguments):
    return "llm" in parameters(target)


def load(name, target, arguments):
    own = own_parameters(target)
    settings = {key: with_scores(key, value) for key, value in arguments.items() if key in own}
    if is_class(target) and "name" in parameters_of(target.__init__):
        settings["name"] = target.__name__
    evaluator = made(name, lambda: target(**with_model(settings))) if is_class(target) else target
    given = {key: value for key, value in arguments.items() if key not in own}
    called = inputs(evaluator)
    lists = [key for key, field in called.items() if typing.get_origin(field.annotation) is list]
    if lists:
        raise Mistake("`%s` compares lists of labels, which traces do not have" % name)
    unknown = [key for key in called if key not in INPUTS and key not in given]
    if unknown:
        raise Mistake("`%s` needs the input `%s`, which traces do not have (inputs: %s)" % (name, unknown[0], ", ".join(INPUTS)))
    if evaluator.direction == "neutral":
        raise Mistake("`%s` does not say whether a higher score is better" % name)
    low, high = limits(name, evaluator)
    known = [key for key in called if key not in given]
    whole = "conversation" in known and "user_message" not in known

    def measure(part):
        turn = part.turns[-1] if whole else part
        values = {key: INPUTS[key][1](part if key == "conversation" else turn) for key in known}
        return outcome(evaluator.evaluate({**given, **values}))

    needs = list(dict.fromkeys(need for key in known for need in INPUTS[key][0]))
    return Metric(measure, needs, whole, low, high, lower_is_better=evaluator.direction == "minimize")


def with_model(settings):
    """Replaces the name of a model by what asks it."""
    if not isinstance(settings.get("llm"), str):
        return settings
    from phoenix.evals import LLM

    # The host limits the rate of requests to a server; what is recorded needs no limit.
    limits = {"initial_per_second_request_rate": 10000}
    model = settings["llm"]
    return {**settings, "llm": kept("llm", model, lambda: LLM(provider="openai", model=model, **limits))}


def with_scores(key, value):
    """Returns choices with scores and descriptions as the pairs that the library expects, which YAML writes as lists."""
    if key == "choices" and isinstance(value, dict):
        return {label: tuple(it) if isinstance(it, list) else it for label, it in value.items()}
    return value


def limits(name, evaluator):
    """Returns the lowest and the highest score: those of the choices of a classifier."""
    if not hasattr(evaluator, "label_score_map"):
        return 0, 1
    scores = list((evaluator.label_score_map or {}).values())
    if len(set(scores)) < 2:
        raise Mistake("`%s` gives labels and no scores: write a score for each of its `choices`" % name)
    return min(scores), max(scores)


def outcome(scores):
    """Returns the score and the explanation of a result."""
    if len(scores) != 1:
        raise Broken("the metric gave %d scores, and an entry has one" % len(scores))
    return scores[0].score, scores[0].explanation


def with_calls(turn):
    if not turn.calls:
        raise Missing("there are no tool calls")
    return turn.calls


def call_text(call):
    return "%s(%s)" % (call.name, ", ".join("%s=%s" % (key, json.dumps(value, ensure_ascii=False)) for key, value in call.args.items()))


def turn_text(turn):
    """Returns a turn as text: what the user says, each call with its result, and the answer."""
    lines = ["User: " + turn.user]
    for call in turn.calls:
        lines.append("Tool call: " + call_text(call))
        if call.has_result:
            lines.append("Tool result: " + "\n".join(texts(call.result)))
    return "\n".join([*lines, "Assistant: " + turn.answer])
