"""Runs evaluators over recorded traces as tests of pytest.

The run of `eval_config.yaml` (.yml, .json) is started once per session, and each of its evaluations is a test, named by case and
evaluator. The fixture `evaluate` tries an evaluator on turns of a test, and `load` reads a saved run for data frames.
"""

import collections
import contextlib
import csv
import glob
import hashlib
import html
import io
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

SHARED = pytest.StashKey()
Run = collections.namedtuple("Run", "rows exit_code said")  # rows of a run, with its exit code and what it said
TURN, TOOL = ("user", "answer", "tools"), ("name", "args", "result")
NAMES = ("eval_config.yaml", "eval_config.yml", "eval_config.json")


class RunError(Exception):
    """The command could not be started, or could not run."""


class EvaluatorError(Exception):
    """An evaluator broke: nothing is known of the agent."""


def pytest_addoption(parser):
    group = parser.getgroup("evaluator")
    group.addoption("--no-evaluations", action="store_true", help="do not collect eval_config.yaml")
    parser.addini("evaluator_traces", "trace files and directories, relative to eval_config.yaml; globs", type="args", default=["traces"])
    parser.addini("evaluator_args", "further arguments of `evaluator run`", type="args", default=[])
    parser.addini("evaluator_command", "name or path of the command", default="evaluator")


def pytest_collect_file(file_path, parent):
    if file_path.name in NAMES and not parent.config.getoption("--no-evaluations"):
        return Suite.from_parent(parent, path=file_path)


def pytest_sessionfinish(session):  # every process has collected
    for shared in session.config.stash.get(SHARED, []):
        shutil.rmtree(shared, ignore_errors=True)


class Case(pytest.Collector):
    """Evaluations whose names begin alike: each is the rest of its name, and its row."""

    def collect(self):
        for name, found in itertools.groupby(self.found, lambda it: it[0][0]):
            rest = [(parts[1:], row) for parts, row in found]
            if rest[0][0]:
                case = Case.from_parent(self, name=name)
                case.found, case.run = rest, self.run
                yield case
            else:  # the node id is a text, as `--lf` reads it
                yield from (Evaluation.from_parent(self, name=name, nodeid=f"{self.nodeid}::{name}", row=row, run=self.run) for _, row in rest)


class Suite(pytest.File):
    """A configuration, whose evaluations are tests."""

    def collect(self):
        try:
            self.run = once(self.config, self.path)
        except RunError as error:
            raise self.CollectError(str(error)) from None
        seen, self.found = collections.Counter(), []
        for row in self.run.rows:
            name = f"{row['conversation'] or row['trace_id']}::{row['evaluator']}"
            seen[name] += 1  # recordings of one case
            base, *bracket = (name + f"#{seen[name]}" * (seen[name] > 1)).partition("[")
            *parts, last = base.split("::")  # as pytest takes arguments apart
            self.found.append(([*parts, last + "".join(bracket)], row))
        yield from Case.collect(self)
        yield Whole.from_parent(self, name="run", run=self.run)


class Evaluation(pytest.Item):
    """One evaluation: what broke is an error, what scored too little a failure."""

    def __init__(self, *, row, run, **more):
        super().__init__(**more)
        self.row, self.run, self.place = row, run, f"{row['trace_file']} (trace {row['trace_id']})"
        self.user_properties += [(key, row[key]) for key in ("score", "threshold", "error_type", "trace_id") if row[key] not in (None, "")]

    def reportinfo(self):
        return self.path, None, self.nodeid.partition("::")[2]  # the headline of its report

    def setup(self):
        outcome, reason = self.row["outcome"], self.row["reason"]
        if outcome in ("not_evaluated", "not_run"):
            pytest.skip(f"{outcome.replace('_', ' ')}: {reason or 'it gave no reason'}")
        if outcome not in ("passed", "failed"):
            # What fails before a test is an error of it.
            pytest.fail(f"{self.place}\n{self.row['error_type'] or outcome}: {reason}", pytrace=False)

    def runtest(self):
        # Where gates decide, a run in which evaluations fail may pass.
        if self.row["outcome"] == "failed" and self.run.exit_code not in (0, 4):
            pytest.fail(f"{self.place}\n{self.row['reason']}", pytrace=False)


class Whole(pytest.Item):
    """What the run as a whole says beyond its evaluations: gates, recordings that cannot be used, nothing that scored."""

    def __init__(self, *, run, **more):
        super().__init__(**more)
        self.run, self.outcomes = run, {row["outcome"] for row in run.rows}

    reportinfo = Evaluation.reportinfo

    def setup(self):
        if self.run.exit_code not in (0, 1, 4) and not (self.run.exit_code == 3 and "error" in self.outcomes):
            pytest.fail(self.run.said, pytrace=False)

    def runtest(self):
        if self.run.exit_code == 4 or (self.run.exit_code == 1 and "failed" not in self.outcomes):
            pytest.fail(self.run.said, pytrace=False)


def once(config, path):
    """Runs a configuration, once for all processes of a session: with pytest-xdist each of them collects."""
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return Run(**start(config, path))
    key = hashlib.sha256(f"{worker['testrunuid']} {path}".encode()).hexdigest()[:32]
    shared = Path(tempfile.gettempdir()) / f"pytest-evaluator-{key}"
    shared.mkdir(mode=0o700, exist_ok=True)
    if shared.is_symlink() or (hasattr(os, "getuid") and shared.stat().st_uid != os.getuid()):
        raise RunError(f"{shared} is not a directory of this session")
    config.stash.setdefault(SHARED, []).append(shared)
    answer = shared / "run.json"
    with open(shared / "lock", "a", encoding="utf-8") as file:
        # The system ends the lock of a process that dies, and the next one runs.
        lock(file)
        if not answer.exists():
            try:
                found = start(config, path)
            except RunError as error:
                found = {"error": str(error)}
            (shared / "new").write_text(json.dumps(found), encoding="utf-8")
            (shared / "new").replace(answer)
    found = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in found:
        raise RunError(found["error"])
    return Run(**found)


def lock(file):
    """Waits until no other process has the lock of a file."""
    if os.name == "posix":
        import fcntl
        return fcntl.flock(file, fcntl.LOCK_EX)
    import msvcrt
    while True:
        with contextlib.suppress(OSError):  # after ten seconds
            return msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)


def start(config, path):
    """Starts the run of a configuration, and returns its rows."""
    traces = []
    for pattern in config.getini("evaluator_traces"):
        found = sorted(glob.glob(os.path.join(glob.escape(str(path.parent)), pattern)))
        if not found:
            raise RunError(f"{path.parent} has no {pattern}; the setting `evaluator_traces` names trace files and directories")
        traces += [os.path.relpath(each, path.parent) for each in found]
    return execute([config.getini("evaluator_command"), "run", *traces, "-c", path.name, *config.getini("evaluator_args")], path.parent)


def execute(command, directory=None):
    """Runs a command that reports evaluations, and returns them with its exit code and its messages."""
    __tracebackhide__ = True
    with tempfile.TemporaryDirectory(prefix="pytest-evaluator-") as folder:
        report = Path(folder) / "rows.csv"
        try:
            ended = subprocess.run(
                [*command, "-o", f"csv={report}"], cwd=directory, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
        except OSError as error:
            raise RunError(f"{command[0]} cannot be started: {error}; see `evaluator_command`") from None
        if ended.returncode == 2 or not report.exists():
            raise RunError(ended.stderr.strip() or f"{command[0]} ended with exit code {ended.returncode}")
        rows = [dict(row) for row in csv.DictReader(io.StringIO(report.read_text(encoding="utf-8")))]
    for row in rows:
        row.update((key, float(row[key]) if row.get(key) else None) for key in ("score", "threshold", "duration_ms"))
    return {"rows": rows, "exit_code": ended.returncode, "said": ended.stderr.strip()}


class Rows(list):
    """Rows of a run. `pandas.DataFrame(rows)` makes a data frame of them; a notebook shows them as a table."""

    def _repr_html_(self):
        columns = ("conversation", "evaluator", "outcome", "score", "threshold", "reason")
        head = "".join(f"<th>{column}</th>" for column in columns)
        shown = lambda value: f"{value:.4f}" if isinstance(value, float) else html.escape(str(value or ""))
        body = "".join("<tr>" + "".join(f"<td>{shown(row[it])}</td>" for it in columns) + "</tr>" for row in self)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def load(run, command="evaluator"):
    """Reads a run that was saved with `--save-run`, as rows of its evaluations."""
    return Rows(execute([command, "report", str(run)])["rows"])


class Result(dict):
    """What an evaluator said: `score`, `outcome` and `reason`, also as attributes, and whether it `passed`."""

    def __getattr__(self, name):
        if name != "passed" and name not in self:
            raise AttributeError(name)
        return self["outcome"] == "passed" if name == "passed" else self[name]


@pytest.fixture
def evaluate(request, tmp_path):
    """Tries an evaluator: `evaluate(path, turns=[{"user": "..", "answer": "..", "tools": [{"name", "args", "result"}]}])`.

    Instead of a path it takes a function of a document, as `json.load(sys.stdin)` gives it to a program. An evaluator that breaks
    raises `EvaluatorError`.
    """
    def run(evaluator, turns, threshold=0.5, config=None):
        __tracebackhide__ = True
        for part, keys in [(it, TURN) for it in turns] + [(it, TOOL) for turn in turns for it in turn.get("tools", [])]:
            if not set(part) <= set(keys) or keys is TOOL and "name" not in part:
                raise TypeError(f"the keys of {part} have to be {', '.join(keys)}")
        if callable(evaluator):
            return called(evaluator, turns, threshold, config or {})
        trace, entries = tmp_path / "turns.json", tmp_path / "one.json"
        trace.write_text(json.dumps(recorded(turns)), encoding="utf-8")
        entry = {"name": "evaluator", "type": "code", "path": str(Path(evaluator).absolute()), "threshold": threshold, "config": config or {}}
        entries.write_text(json.dumps({"evaluators": [entry]}), encoding="utf-8")
        found = execute([request.config.getini("evaluator_command"), "run", str(trace), "-c", str(entries), "--group-by", "conversation"])
        if len(found["rows"]) != 1:
            raise RunError(found["said"])
        row = found["rows"][0]
        if row["outcome"] in ("error", "not_run"):
            raise EvaluatorError(f"{row['error_type']}: {row['reason']}")
        return Result(row)

    return run


def called(function, turns, threshold, config):
    """Calls an evaluator that is a function."""
    __tracebackhide__ = True
    invocations = [
        {"invocation_id": f"turn-{number}", "user_content": turn.get("user", ""), "final_response": turn.get("answer"),
         "intermediate_steps": {
             "tool_calls": [{"name": tool["name"], "args": tool.get("args", {})} for tool in turn.get("tools", [])],
             "tool_responses": [{"name": tool["name"], "output": tool.get("result")} for tool in turn.get("tools", [])]}}
        for number, turn in enumerate(turns, 1)]
    answer = function({"metric_name": function.__name__, "threshold": threshold, "config": config, "invocations": invocations})
    answer = answer if isinstance(answer, dict) else {"score": answer}
    score, status, scores = answer.get("score"), answer.get("status"), answer.get("per_invocation_scores") or []
    if answer.get("error") not in (None, False, 0):
        raise EvaluatorError(f"error: {answer['error']}")
    if not isinstance(scores, list) or len(scores) not in (0, len(turns)) or status not in (None, "PASSED", "FAILED", "NOT_EVALUATED"):
        raise EvaluatorError(f"bad_answer: not a score for each turn, or another status than PASSED, FAILED, NOT_EVALUATED: {answer}")
    for it in [score, *(it for it in scores if it is not None)]:
        if isinstance(it, bool) or not isinstance(it, (int, float)) or it - it != 0 or it is score and not 0 <= it <= 1:
            raise EvaluatorError(f"bad_answer: the score {it!r} is not a number from 0 to 1")
    outcome = status.lower() if status else "passed" if score >= threshold else "failed"
    return Result(answer, score=score, outcome=outcome, reason=answer.get("reason", ""))


def recorded(turns):
    """Returns turns as a trace of OpenTelemetry."""
    spans = []
    for number, turn in enumerate(turns, 1):
        def span(index, name, attributes, parent=None, length=1):
            started = 1_700_000_000_000_000_000 + number * 10_000_000_000 + index * 1_000_000
            spans.append({
                "traceId": f"{number:032x}", "spanId": f"{number:08x}{index + 1:08x}", "name": name, "kind": 1,
                "startTimeUnixNano": str(started), "endTimeUnixNano": str(started + length * 900_000),
                "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
                **({"parentSpanId": parent} if parent else {})})
            return spans[-1]["spanId"]
        message = lambda role, text: json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])
        root = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "agent", "gen_ai.conversation.id": "turns",
                "gen_ai.input.messages": message("user", turn.get("user", "")),
                **({"gen_ai.output.messages": message("assistant", turn["answer"])} if turn.get("answer") is not None else {})}
        parent = span(0, "invoke_agent agent", root, length=9_000)
        for index, tool in enumerate(turn.get("tools", []), 1):
            values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool["name"],
                      "gen_ai.tool.call.id": f"call-{number}-{index}", "gen_ai.tool.call.arguments": json.dumps(tool.get("args", {})),
                      **({"gen_ai.tool.call.result": json.dumps(tool["result"])} if "result" in tool else {})}
            span(index, f"execute_tool {tool['name']}", values, parent)
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}]}]}
