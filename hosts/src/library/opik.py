#: Metrics of Opik: classes whose objects score an output or a conversation.

#: Metrics whose documentation says that they score from 0 to 1, and that a higher score is better.
HIGHER = (
    "AnswerRelevance ChrF Contains ContextPrecision ContextRecall ConversationalCoherenceMetric Equals GEval GLEU IsJson JSDivergence "
    "KnowledgeRetentionMetric LanguageAdherenceMetric LevenshteinRatio METEOR ROUGE RegexMatch SentenceBLEU SessionCompletenessQuality "
    "StructuredOutputCompliance Tone Usefulness"
).split()

#: Metrics that score what is bad, from 0 to 1.
LOWER = (
    "ComplianceRiskJudge ConversationDegenerationMetric DemographicBiasJudge GenderBiasJudge Hallucination JSDistance PoliticalBiasJudge "
    "PromptInjection RegionalBiasJudge ReligiousBiasJudge UserFrustrationMetric"
).split()

#: The part of a turn that each parameter of a score is.
PARAMETERS = {
    "input": "user",
    "output": "answer",
    "reference": "golden answer",
    "expected_output": "golden answer",
    "context": "retrieved",
}

#: What no entry decides: the tracking of the library, and functions.
HIDDEN = ("self", "name", "track", "project_name", "tokenizer", "gleu_fn", "meteor_fn", "chrf_fn", "detector")


def is_metric(name, value):
    from opik.evaluation.metrics import BaseMetric, ConversationThreadMetric

    return inspect.isclass(value) and issubclass(value, BaseMetric) and value not in (BaseMetric, ConversationThreadMetric)


def call(target):
    return parameters_of(target.score)


def parameters(target):
    schema = {key: it for key, it in call(target).items() if key == "schema"}
    return {**schema, **parameters_of(target.__init__, HIDDEN)}


def asks_model(target, arguments):
    return "model" in parameters(target)


def load(name, target, arguments):
    kind = target.__name__
    if kind not in HIGHER and kind not in LOWER:
        raise Mistake("`%s` does not document the range and the direction of a score of an answer" % name)
    called = call(target)
    given = {key: arguments[key] for key in ("schema",) if key in arguments}
    settings = {key: value for key, value in arguments.items() if key not in given}
    if "track" in inspect.signature(target.__init__).parameters:
        settings["track"] = False
    metric = made(name, lambda: target(**settings))
    whole = "conversation" in called
    # A reference of the entry replaces the golden answer.
    known = [key for key in called if key in PARAMETERS and key not in arguments]
    required = [key for key in known if called[key].default is inspect.Parameter.empty or is_needed(kind, key, arguments)]

    def measure(part):
        if whole:
            return outcome(metric.score(conversation=messages(part)))
        values = {key: PARTS[PARAMETERS[key]][1](part) for key in known}
        return outcome(metric.score(**given, **{key: value for key, value in values.items() if value is not None}))

    return Metric(measure, ["answer"] if whole else [PARAMETERS[key] for key in required], whole, lower_is_better=kind in LOWER)


def is_needed(kind, parameter, arguments):
    """Returns whether a metric needs a parameter that its signature calls optional."""
    needs_context = kind == "AnswerRelevance" and parameter == "context" and arguments.get("require_context", True)
    return kind == "Contains" and parameter == "reference" or needs_context


def outcome(result):
    """Returns the value and the reason of a result."""
    results = result if isinstance(result, list) else [result]
    if len(results) != 1:
        raise Broken("the metric gave %d scores, and an entry has one" % len(results))
    if results[0].scoring_failed:
        raise Broken(results[0].reason or "the metric says that it failed, and not why")
    return results[0].value, results[0].reason


def messages(conversation):
    found = []
    for turn in conversation.turns:
        found += [{"role": "user", "content": turn.user}, {"role": "assistant", "content": turn.answer}]
    return found
