#: Scorers of autoevals: classes whose objects are called with an answer and what was expected.

#: Scorers of lists, which an answer is not.
OF_LISTS = ("ListContains",)


def is_metric(name, value):
    base = sys.modules["autoevals.score"].Scorer
    return inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value) and name not in HIDDEN


#: Base classes, and second names of other scorers.
HIDDEN = ("Scorer", "LLMClassifier", "OpenAIScorer", "OpenAILLMScorer", "OpenAILLMClassifier", "SpecFileClassifier", "LevenshteinScorer")


def asks_model(target, arguments):
    return issubclass(target, sys.modules["autoevals.llm"].OpenAIScorer) or target.__name__ == "EmbeddingSimilarity"


#: What conversations give, and clients, which `models` replaces.
GIVEN = ("self", "output", "expected", "input", "context", "client", "api_key", "base_url")


def parameters(target):
    """Returns the parameters of the constructor, and those of a call besides what conversations have."""
    return {**parameters_of(target._run_eval_sync, GIVEN), **parameters_of(target, GIVEN)}


def load(name, target, arguments):
    if target.__name__ in OF_LISTS:
        raise Mistake("`%s` compares lists, and answers are texts" % name)
    own, called = parameters_of(target, GIVEN), parameters_of(target._run_eval_sync, GIVEN)
    scorer = made(name, lambda: target(**{key: value for key, value in arguments.items() if key in own}))
    # Scorers such as ValidJSON read a setting when they are called, and not what their constructor was given.
    later = {key: value for key, value in arguments.items() if key in called}
    compares = "expected" in inspect.signature(target._run_eval_sync).parameters and target.__name__ not in WITHOUT_GOLDEN
    asks, is_rag = asks_model(target, arguments), target.__module__ == "autoevals.ragas"
    needs = ["answer"] + ["golden answer"] * compares + ["retrieved"] * is_rag
    read = number if target.__name__ == "NumericDiff" else lambda text, noun: text

    def measure(turn):
        given = dict(later)
        # The second argument of a call is the first parameter that a scorer has, e.g. the schema of ValidJSON.
        second = read(turn.golden.answer, "golden answer") if compares else given.pop(next(iter(later), None), None)
        if asks:
            given["input"] = turn.user
        if is_rag:
            given["context"] = turn.retrieved
        score = scorer.eval(read(turn.answer, "answer"), second, **given)
        return score.score, (score.metadata or {}).get("rationale")

    return Metric(measure, needs)


#: Scorers that accept an expected answer and do not read it.
WITHOUT_GOLDEN = ("ValidJSON", "Moderation", "Humor", "Security", "Possible")


def number(text, noun):
    try:
        return float(text)
    except ValueError:
        raise Broken("the %s %s is not a number" % (noun, shown(text)))
