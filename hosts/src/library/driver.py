"""Measures conversations with a metric of a library.

The host writes this file with the import of the library, and with the adapter of the library at its end. It reads one
document on standard input and prints one answer; `--stream` does so for every line, see the protocol crate. `config` of the
document names the metric, its arguments, and the tools whose results are retrieved texts.

`--examine` answers, for the same document, whether the metric exists, accepts the arguments and needs parts that recordings
have. `--list` prints the metrics of the library.

Adapters define `is_metric(name, value)`, `parameters(target)`, `asks_model(target, arguments)` and `load(name, target, arguments)`, which
returns a `Metric`. They raise `Mistake` for an entry that no conversation can be measured with, and `Broken` where there is no score.
"""

import atexit
import collections.abc
import decimal
import difflib
import enum
import gc
import inspect
import json
import math
import numbers
import os
import sys
import threading
import traceback
import types
import typing

# Looking for garbage takes up to a sixth of the time of large imports.
gc.disable()
# evaluator: import of the library
gc.enable()


class Mistake(Exception):
    """What is wrong in the entry."""


class Missing(Exception):
    """What a conversation lacks, so that it is not evaluated."""


class Broken(Exception):
    """Why the metric gave no score."""


class Call:
    """A tool call with its result."""

    def __init__(self, name, args, id, result=None, has_result=False, failed=False):
        self.name, self.args, self.id = name, args, id
        self.result, self.has_result, self.failed = result, has_result, failed


class Turn:
    """A turn of the recording, or a golden one."""

    def __init__(self, document, retrieval):
        steps = document.get("intermediate_steps") or {}
        self.user = document.get("user_content") or ""
        self.answer = document.get("final_response")
        self.calls = [Call(call["name"], call.get("args") or {}, call.get("id")) for call in steps.get("tool_calls") or []]
        self.has_results = bool(steps.get("tool_responses"))
        for response in steps.get("tool_responses") or []:
            self.add_result(response)
        self.retrieved = [text for call in self.calls if call.name in retrieval and call.has_result for text in texts(call.result)]
        self.golden = None
        self.earlier = []

    def add_result(self, response):
        """Gives a result to its call: the one with its id, else the first of its name that has none."""
        waiting = [call for call in self.calls if not call.has_result]
        identified = [call for call in waiting if response.get("id") is not None and call.id == response["id"]]
        named = [call for call in waiting if call.name == response["name"]]
        for call in (identified or named)[:1]:
            result = response.get("response")
            call.result = response.get("output") if result is None else result
            call.has_result, call.failed = True, response.get("status") == "error"


class Conversation:
    """A recorded conversation; each turn knows its golden turn and the turns before it."""

    def __init__(self, document, config):
        retrieval = config.get("retrieval") or []
        self.turns = [Turn(turn, retrieval) for turn in document.get("invocations") or []]
        golden = document.get("expected_invocations")
        self.golden = None if golden is None else [Turn(turn, retrieval) for turn in golden]
        for index, turn in enumerate(self.turns):
            turn.earlier = self.turns[:index]
            # An agent that does not answer is measured by the empty answer, and not left out. A golden turn without one expects none.
            turn.answer = turn.answer or ""
        for turn, expected in zip(self.turns, self.golden or []):
            turn.golden = expected


def texts(result):
    """Returns the texts of a result: its elements, or the result itself."""
    items = result if isinstance(result, list) else [result]
    return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in items]


#: Parts of a turn that metrics need: how each is called, and how it is found. `None` is a missing part.
PARTS = {
    "user": ("the user's text", lambda turn: turn.user),
    "answer": ("an answer of the agent", lambda turn: turn.answer),
    "calls": ("tool calls", lambda turn: turn.calls),
    "retrieved": ("retrieved texts", lambda turn: turn.retrieved or None),
    "golden answer": ("a golden answer", lambda turn: turn.golden and turn.golden.answer),
    "golden calls": ("golden tool calls", lambda turn: turn.golden and turn.golden.calls),
    "golden turns": ("a golden case", lambda turn: turn.golden),
}


class Metric:
    """A metric with its arguments.

    `measure` is called with a turn, or with the conversation if `whole` is true. It returns a score, or a pair of a score and a
    reason; the score is a number from `low` to `high`. `None` is a metric that broke. Where a library says that there is nothing to
    score, its adapter raises `Missing`.
    """

    def __init__(self, measure, needs=(), whole=False, low=0, high=1, lower_is_better=False):
        self.measure, self.needs, self.whole = measure, list(needs), whole
        self.low, self.high, self.lower_is_better = low, high, lower_is_better

    def score(self, part):
        """Measures a part; returns its score from 0 to 1, where 1 is best, and the reason."""
        result = self.measure(part)
        score, reason = result if isinstance(result, tuple) else (result, None)
        if score is None:
            raise Broken("the metric gave no score" + (": %s" % reason if reason else ""))
        if isinstance(score, bool) or type(score).__name__ in ("bool_", "bool"):
            score = float(score)
        elif not isinstance(score, (numbers.Real, decimal.Decimal)):
            raise Broken("the metric gave %s, which is not a number" % shown(score))
        score = float(score)
        if math.isnan(score):
            raise Broken("the metric gave NaN, which is not a score")
        # Libraries compute with floating point numbers, so a share of all may be 1.0000000000000002.
        tolerance = 1e-9 * max(abs(self.low), abs(self.high))
        if not self.low - tolerance <= score <= self.high + tolerance:
            raise Broken("the metric gave %r, outside of its range from %s to %s" % (score, self.low, self.high))
        share = min(max((score - self.low) / (self.high - self.low), 0.0), 1.0)
        return (1.0 - share if self.lower_is_better else share), reason


def said(problem):
    """Returns the class of an exception, and its text if it has one."""
    try:
        text = str(problem)
    except Exception:
        text = "its text cannot be read"
    return type(problem).__name__ + (": " + text if text else "")


def shown(value):
    text = "%s %r" % (type(value).__name__, value)
    return text if len(text) <= 200 else text[:200] + ".."


def similar(name, known):
    """Returns a hint at a known name that is like this one."""
    lower = {other.lower(): other for other in known}
    found = difflib.get_close_matches(name.lower(), lower, 1)
    return "; did you mean `%s`?" % lower[found[0]] if found else ""


def public(module):
    """Returns the metrics of a module by name."""
    names = getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]
    members = ((name, getattr(module, name, None)) for name in names)
    return {name: value for name, value in members if value is not None and is_metric(name, value)}


def find(name):
    """Returns what `MODULE:NAME` names."""
    path, _, attribute = name.partition(":")
    module = sys.modules[path]
    target = getattr(module, attribute, None)
    if target is None:
        known = public(module)
        raise Mistake("`%s` has no metric `%s`%s" % (path, attribute, elsewhere(path, attribute) or similar(attribute, known)))
    if inspect.isabstract(target) or not is_metric(attribute, target):
        what = "is abstract" if inspect.isabstract(target) else "is not a metric that can be called here"
        others = [known for known in public(module) if known != attribute]
        raise Mistake("`%s` %s%s" % (name, what, elsewhere(path, attribute) or similar(attribute, others)))
    return target


def elsewhere(path, attribute):
    """Returns a hint at another module of the library that has a metric of this name."""
    found = [other for other, module in modules().items() if other != path and attribute in public(module)]
    return "; did you mean `%s:%s`?" % (found[0], attribute) if found else ""


def parameters_of(function, hidden=("self",)):
    """Returns the parameters that arguments may be given for."""
    try:
        found = inspect.signature(function, eval_str=True).parameters.values()
    except NameError:
        # An annotation names what only type checkers import.
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    unnamed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {it.name: it for it in found if it.kind not in unnamed and it.name not in hidden}


def check_arguments(name, known, arguments):
    """Compares arguments with the parameters of a metric, and returns them in the types that the parameters have."""
    for argument in arguments:
        if argument not in known:
            names = ", ".join(known) or "none"
            raise Mistake("`%s` has no argument `%s`%s (arguments: %s)" % (name, argument, similar(argument, known), names))
    for parameter in known.values():
        if parameter.default is inspect.Parameter.empty and parameter.name not in arguments:
            raise Mistake("`%s` needs the argument `%s`: write it below `args`" % (name, parameter.name))
    return {argument: converted(argument, known[argument].annotation, value) for argument, value in arguments.items()}


def converted(argument, hint, value):
    """Returns a value of the configuration as the type of a parameter: members of enumerations by their value, and sets."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union or origin is getattr(types, "UnionType", None):
        if value is None:
            return None
        kinds = [kind for kind in inner if kind is not type(None)]
        problem = None
        for kind in kinds:
            try:
                return converted(argument, kind, value)
            except Mistake as mistake:
                problem = problem or mistake
        raise problem
    if origin is typing.Literal:
        if value not in inner:
            known = ", ".join(map(repr, inner))
            raise Mistake("the argument `%s` is %r, and may be %s" % (argument, value, known))
        return value
    if inspect.isclass(hint) and issubclass(hint, enum.Enum):
        for member in hint:
            if value in (member.value, member.name):
                return member
        known = ", ".join(repr(member.value) for member in hint)
        raise Mistake("the argument `%s` is %r, and may be %s" % (argument, value, known))
    if origin in (list, collections.abc.Sequence, collections.abc.Iterable) and isinstance(value, list) and inner:
        return [converted(argument, inner[0], item) for item in value]
    if origin is type or hint is type:
        raise Mistake("the argument `%s` is a class of Python, which an entry cannot give" % argument)
    if inspect.isclass(hint) and isinstance(value, dict) and hasattr(hint, "model_validate"):
        try:
            return hint.model_validate(value)
        except Exception as problem:
            # Other errors than those of validation are of a class that nothing can be made of.
            raise Mistake("the argument `%s` is no %s: %s" % (argument, hint.__name__, " ".join(str(problem).split())))
    simple = {bool: bool, int: int, float: (int, float), str: str, list: list, dict: dict}
    expected = simple.get(origin if origin in (list, dict) else hint if inspect.isclass(hint) else None)
    is_number_for_bool = isinstance(value, bool) and hint in (int, float)
    if expected and (not isinstance(value, expected) or is_number_for_bool):
        noun = getattr(origin or hint, "__name__", str(hint))
        raise Mistake("the argument `%s` is %r, and has to be of the type %s" % (argument, value, noun))
    return value


def made(name, make):
    """Returns what a constructor gives for the arguments of an entry."""
    try:
        return make()
    except Exception as problem:
        traceback.print_exc()
        raise Mistake("`%s` refuses its arguments: %s" % (name, said(problem)))


#: What asks models, by its kind, its model, and the address and the token of the models.
KEPT = {}


def kept(kind, model, make):
    """Returns what asks a model, which is the same for all conversations: to make its clients takes longer than a replayed answer."""
    key = (kind, model, os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_KEY"))
    if key not in KEPT:
        KEPT[key] = make()
    return KEPT[key]


def loaded(config, examines=False):
    """Returns a new metric of an entry: a metric may keep what it found in an earlier conversation."""
    name = config["metric"]
    # Some metrics make a client that they never use, and which insists on a key.
    if not os.environ.get("OPENAI_API_KEY"):
        os.environ["OPENAI_API_KEY"] = "none"
    target = find(name)
    arguments = check_arguments(name, parameters(target), dict(config.get("args") or {}))
    if asks_model(target, arguments):
        if not config.get("models"):
            raise Mistake("`%s` asks a model, and its entry offers none: add `models`" % name)
        if not examines and not os.environ.get("OPENAI_BASE_URL"):
            raise Broken("the metric asks a model, and no server for it is offered (OPENAI_BASE_URL is not set)")
    return load(name, target, arguments)


def measured(metric, conversation):
    """Returns the answer about a conversation."""
    if not conversation.turns:
        raise Missing("the conversation has no turns")
    if metric.whole:
        lacking = [lack for turn in conversation.turns for lack in [lacks(metric, turn)] if lack]
        if lacking:
            raise Missing(lacking[0])
        score, reason = metric.score(conversation)
        return {"score": score, "details": {"reason": str(reason)} if reason else None}
    scores, reasons, lacking = [], [], []
    for turn in conversation.turns:
        try:
            lack = lacks(metric, turn)
            if lack:
                raise Missing(lack)
            score, reason = metric.score(turn)
            scores.append(score)
            reasons += [str(reason)] if reason else []
        except Missing as missing:
            scores.append(None)
            lacking.append(str(missing))
    found = [score for score in scores if score is not None]
    if not found:
        raise Missing(lacking[0])
    details = {"reason": "\n".join(reasons)} if reasons else None
    return {"score": sum(found) / len(found), "per_invocation_scores": scores, "details": details}


def without_article(noun):
    return noun.split(" ", 1)[1] if noun.startswith(("a ", "an ", "the ")) else noun


def lacks(metric, turn):
    """Returns what a turn lacks for a metric; `None` if it has everything."""
    for need in metric.needs:
        noun, part = PARTS[need]
        if part(turn) is None:
            return "there is no %s" % without_article(noun) if noun != without_article(noun) else "there are no %s" % noun
    return None


def error(kind, message):
    return {"error": {"kind": kind, "message": " ".join(str(message).split())[:2000]}}


def answer(document):
    """Returns the answer to a document. Every way to fail is an error of the evaluator."""
    process = os.getpid()
    try:
        config = document["config"]
        return measured(loaded(config), Conversation(document, config))
    except Missing as missing:
        return {"status": "NOT_EVALUATED", "score": 0.0, "details": {"reason": str(missing)}}
    except Mistake as mistake:
        return error("config", mistake)
    except Broken as broken:
        return error("metric", broken)
    except BaseException as problem:
        # Also what libraries raise to end a program or a task.
        traceback.print_exc()
        return error("metric", "the metric raised " + said(problem))
    finally:
        # A process that the metric has forked gives no second answer.
        if os.getpid() != process:
            os._exit(0)


def version_of(package):
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def examined(document):
    """Returns what the host has to know about an entry before it evaluates."""
    config = document["config"]
    try:
        metric = loaded(config, examines=True)
        if "retrieved" in metric.needs and not config.get("retrieval"):
            raise Mistake("`%s` needs retrieved texts: name the tools that give them, e.g. `retrieval: [search]`" % config["metric"])
        found = {"needs": [PARTS[need][0] for need in metric.needs]}
    except Mistake as mistake:
        found = {"mistake": str(mistake)}
    except (Exception, SystemExit) as problem:
        traceback.print_exc()
        found = {"mistake": "`%s` cannot be made: %s" % (config["metric"], said(problem))}
    return {**found, "version": version_of(PACKAGE)}


def listed():
    """Returns the metrics of the library, each with its parameters."""
    found = []
    for path, module in modules().items():
        for name, target in sorted(public(module).items()):
            known = {"metric": "%s:%s" % (path, name), "args": list(parameters(target)), "asks_model": asks_model(target, {})}
            found.append(known)
    return {"metrics": found, "version": version_of(PACKAGE)}


#: Variables with the address of models, with their token, and the path that is added to the address.
ACCESS = [(name, "OPENAI_API_KEY", "/v1") for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE")]
ACCESS += [(name, "ANTHROPIC_API_KEY", "") for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL")]
ACCESS += [("AGENTV_%s_PROXY_URL" % kind, "AGENTV_%s_PROXY_TOKEN" % kind, "") for kind in ("TARGET", "PROVIDER")]


class Offered:
    """Address and token of the models that this process may ask.

    They are those of its first document, also for all others: their evaluations inherit the token. So clients that a library keeps
    stay valid, and so does what it derives from variables.
    """

    def __init__(self):
        # Others are of the entry itself.
        self.names = {name for url, token, _ in ACCESS for name in (url, token) if os.environ.get(name) == ""}
        self.url = self.token = None

    def take(self, access):
        """Lets the models be asked for the document with this address and token."""
        if self.token is None:
            share_certificates()
        if access["url"] != self.url or not inherits(access, self.token):
            self.url, self.token = access["url"], access["token"]
            for url, token, path in ACCESS:
                values = {url: self.url + path, token: self.token}
                os.environ.update({name: value for name, value in values.items() if name in self.names})


def inherits(access, token):
    """Lets a token stand for the evaluation with this access; returns false if the server does not."""
    import http.client

    connection = http.client.HTTPConnection(access["url"].partition("://")[2], timeout=10)
    try:
        headers = {"Authorization": "Bearer " + access["token"], "Content-Type": "application/json"}
        connection.request("POST", "/inherit", json.dumps({"token": token}), headers)
        return connection.getresponse().status == 204
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def share_certificates():
    """Reads the certificates of the system once: many metrics make a client for each conversation, which took most of the time."""
    import functools
    import ssl

    made = ssl.create_default_context
    kept = functools.lru_cache(maxsize=None)(made)

    def create_default_context(*args, **kwargs):
        try:
            return kept(*args, **kwargs)
        except TypeError:
            # Certificates in the arguments may be a type that cannot be looked up.
            return made(*args, **kwargs)

    ssl.create_default_context = create_default_context


def stream(documents, answers):
    """Answers each line. A line may have a number, and before it a line with the address and the token of its models.

    Ends early if a metric has changed what the next one would find; the host then starts another process.
    """
    # What the library has made stays until the end. To look for garbage in it took longer than some metrics.
    gc.collect()
    gc.freeze()
    offered, directory = Offered(), os.getcwd()
    for line in documents:
        mark, _, rest = line.partition(b" ")
        if mark.startswith(b"\x1e"):
            offered.take(json.loads(rest))
            continue
        number = mark.decode() + " " if mark.isdigit() else ""
        if number:
            os.write(2, b"\x1e" + mark + b"\n")
        reply = json.dumps(answer(json.loads(rest if number else line)), allow_nan=False)
        flush()
        answers.write(number + reply + "\n")
        answers.flush()
        if not is_unchanged(directory):
            break


def is_unchanged(directory):
    """Returns true if this process has its working directory and its outputs."""
    try:
        for standard in (1, 2):
            os.fstat(standard)
        return os.getcwd() == directory and len(open_streams()) == 2
    except OSError:
        # A descriptor is closed, or the working directory is deleted.
        return False


def open_streams():
    return [stream for stream in (sys.stdout, sys.stderr) if stream and not stream.closed]


def flush():
    """Passes on what was printed before the answer."""
    for stream in open_streams():
        stream.flush()


def leave():
    """Ends this process as an interpreter does, but for the modules: tearing them down takes longer than most metrics.

    Waits for the threads that an interpreter waits for, so one that never ends is noticed by the time limit.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    flush()
    os._exit(0)


def main():
    # What the library prints is not an answer, and what it reads is not a document.
    documents, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    form = sys.argv[1] if len(sys.argv) > 1 else ""

    def say(reply):
        answers.write(json.dumps(reply, allow_nan=False) + "\n")
        answers.flush()

    if form == "--describe":
        about_me = {"sdk": "evaluator-metric", "sdk_version": "1", "protocol_version": "1.1"}
        say(dict(about_me, capabilities=["stream"], evaluators=[]))
    elif form == "--list":
        say(listed())
    elif form == "--stream":
        stream(documents, answers)
        leave()
    elif form == "--examine":
        for line in documents:
            say(examined(json.loads(line)))
        # What the library does when it exits is not asked here.
        os._exit(0)
    else:
        say(answer(json.loads(documents.read())))
        leave()


# evaluator: adapter of the library

main()
