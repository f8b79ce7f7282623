#: Scorers of autoevals: classes whose objects are called with an answer and what was expected.

#: Scorers of lists: the answer and the golden answer are lists in JSON.
OF_LISTS = ("ListContains",)


def is_metric(name, value):
    base = sys.modules["autoevals.score"].Scorer
    return inspect.isclass(value) and issubclass(value, base) and not inspect.isabstract(value) and name not in HIDDEN


#: Base classes, and second names of other scorers.
HIDDEN = ("Scorer", "LLMClassifier", "OpenAIScorer", "OpenAILLMScorer", "OpenAILLMClassifier", "SpecFileClassifier", "LevenshteinScorer")


def asks_model(target, arguments):
    return issubclass(target, sys.modules["autoevals.llm"].OpenAIScorer) or target.__name__ == "EmbeddingSimilarity"


#: What conversations give, clients, which `models` replaces, and other scorers, which no entry can give.
GIVEN = ("self", "output", "expected", "input", "context", "client", "api_key", "base_url")
GIVEN += ("pairwise_scorer", "string_scorer", "number_scorer", "answer_similarity")

#: What prompts name of a turn; `instructions` are what the agent was to do. Other names are arguments.
IN_PROMPTS = ("input", "output", "expected", "instructions")


def named(target):
    """Returns what the prompt of a classifier names."""
    import re

    base = getattr(sys.modules["autoevals.llm"], "SpecFileClassifier", None)
    if base is None or not issubclass(target, base):
        return []
    found = re.findall(r"{{{?(\w+)", "\n".join(message["content"] for message in target(api_key="none").messages))
    return [name for name in dict.fromkeys(found) if name != "__choices"]


def parameters(target):
    """Returns the parameters of the constructor, and those of a call and of a prompt besides what conversations have."""
    of_prompt = [name for name in named(target) if name not in IN_PROMPTS]
    of_prompt = {name: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=str) for name in of_prompt}
    return {**of_prompt, **parameters_of(target._run_eval_sync, GIVEN), **parameters_of(target, GIVEN)}


def load(name, target, arguments):
    # The second compares the lists of entities with the first.
    if target.__name__ in (*OF_LISTS, "ContextEntityRecall"):
        try:
            import scipy  # noqa: F401
        except ImportError:
            raise Mistake("`%s` needs a package that is not installed: add scipy to `requirements`" % name)
    own, called, in_prompt = parameters_of(target, GIVEN), parameters_of(target._run_eval_sync, GIVEN), named(target)
    scorer = made(name, lambda: target(**{key: value for key, value in arguments.items() if key in own}))
    # Scorers such as ValidJSON read a setting when they are called, and not what their constructor was given.
    later = {key: value for key, value in arguments.items() if key in called}
    rendered = {key: value for key, value in arguments.items() if key in in_prompt}
    accepted = in_prompt or inspect.signature(target._run_eval_sync).parameters
    compares = "expected" in accepted and target.__name__ not in WITHOUT_GOLDEN
    asks = asks_model(target, arguments)
    is_rag = target.__module__ == "autoevals.ragas" and "context" in inspect.signature(target._run_eval_sync).parameters
    needs = ["answer"] + ["golden answer"] * compares + ["retrieved"] * is_rag
    reads = {"NumericDiff": number, **dict.fromkeys(OF_LISTS, listed_in)}
    read = reads.get(target.__name__, lambda text, noun: text)

    def measure(turn):
        given = dict(later)
        # The second argument of a call is the first parameter that a scorer has, e.g. the schema of ValidJSON.
        second = read(turn.golden.answer, "golden answer") if compares else given.pop(next(iter(later), None), None)
        if asks:
            given["input"] = turn.user
        if "instructions" in in_prompt:
            given["instructions"] = turn.user
        if is_rag:
            given["context"] = turn.retrieved
        score = scorer.eval(read(turn.answer, "answer"), second, **given, **rendered)
        if getattr(score, "error", None) is not None:
            raise Broken(score.error)
        if score.score is None:
            # So the library marks a case that it skips.
            raise Missing("the metric skipped it")
        return score.score, (score.metadata or {}).get("rationale")

    return Metric(measure, needs)


#: Scorers that accept an expected answer and do not read it.
WITHOUT_GOLDEN = ("ValidJSON", "Moderation", "ContextRelevancy", "Faithfulness", "AnswerRelevancy")


def listed_in(text, noun):
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, list):
        raise Broken("the %s %s is not a list in JSON" % (noun, shown(text)))
    return value


def number(text, noun):
    try:
        return float(text)
    except ValueError:
        raise Broken("the %s %s is not a number" % (noun, shown(text)))
