#: Evaluators of openevals and agentevals: functions, or functions named `create_..` that make one.


def is_metric(name, value):
    is_async = "async" in name
    is_made = name.startswith("create_") and name.endswith(("_evaluator", "_as_judge"))
    return inspect.isfunction(value) and not is_async and (is_made or name in CALLED)


#: Evaluators that are called as they are.
CALLED = ("exact_match", "levenshtein_distance")

#: What evaluators are called with.
GIVEN = ("inputs", "outputs", "reference_outputs", "kwargs")


def asks_model(target, arguments):
    name = target.__name__
    return name.endswith("_as_judge") or "embedding" in name or "json" in name and bool(set(arguments) & {"judge", "model", "rubric"})


def parameters(target):
    return parameters_of(target, GIVEN)


def load(name, target, arguments):
    if {"code", "graph_trajectory", "simulators"} & set(target.__module__.split(".")):
        raise Mistake("`%s` needs code or a graph of LangGraph, which traces do not have" % name)
    evaluator = target if target.__name__ in CALLED else made(name, lambda: target(**arguments))
    # A judge reads what its prompt names.
    known = parameters(target)
    prompt = arguments.get("prompt", known["prompt"].default if "prompt" in known else None)
    compares = not (target.__name__.endswith("_as_judge") and isinstance(prompt, str) and "reference_outputs" not in prompt)
    low, high = limits(name, arguments)
    if "trajectory" in target.__name__:
        measure = lambda conversation: outcome(trajectories(evaluator, conversation, compares))
        return Metric(measure, ["golden turns"] * compares, True, low, high)
    is_json = "json" in target.__name__

    def measure(turn):
        outputs, reference = turn.answer, turn.golden.answer if compares else None
        if is_json:
            outputs, reference = as_json(outputs, "answer"), as_json(reference, "golden answer")
        return outcome(evaluator(inputs=turn.user, outputs=outputs, reference_outputs=reference))

    return Metric(measure, ["answer"] + ["golden answer"] * compares, low=low, high=high)


def limits(name, arguments):
    """Returns the lowest and the highest score: those of `choices` if one of them is not from 0 to 1."""
    low, high = min(arguments.get("choices") or [0]), max(arguments.get("choices") or [1])
    if 0 <= low and high <= 1:
        return 0, 1
    if low == high:
        raise Mistake("`choices` of `%s` have to be two scores or more" % name)
    return low, high


def as_json(text, noun):
    try:
        return json.loads(text)
    except ValueError as problem:
        raise Broken("the %s is not JSON: %s" % (noun, problem))


def trajectories(evaluator, conversation, compares):
    """Compares the messages of the recording with those of the golden case, as far as the golden case has them."""
    if not compares:
        return evaluator(outputs=[message for turn in conversation.turns for message in messages(turn, turn)])
    golden = conversation.golden
    outputs, reference = [], []
    for index, turn in enumerate(conversation.turns):
        outputs += messages(turn, golden[index] if index < len(golden) else turn)
    for turn in golden:
        reference += messages(turn, turn)
    return evaluator(outputs=outputs, reference_outputs=reference)


def messages(turn, like):
    """Returns the messages of a turn: its results and its answer only where the golden turn has them."""
    found = [{"role": "user", "content": turn.user}]
    if turn.calls:
        calls = [
            {"id": call.id or "call_%d" % index, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.args)}}
            for index, call in enumerate(turn.calls)
        ]
        found.append({"role": "assistant", "content": "", "tool_calls": calls})
    if like.has_results:
        for index, call in enumerate(turn.calls):
            if not call.has_result:
                continue
            content = call.result if isinstance(call.result, str) else json.dumps(call.result)
            found.append({"role": "tool", "tool_call_id": call.id or "call_%d" % index, "content": content})
    if like.answer is not None:
        found.append({"role": "assistant", "content": turn.answer or ""})
    return found


def outcome(result):
    """Returns the score and the comment of a result."""
    results = result if isinstance(result, list) else [result]
    if len(results) != 1:
        raise Broken("the metric gave %d scores; set `aggregator` below `args`, so that it gives one" % len(results))
    return results[0]["score"], results[0].get("comment")
