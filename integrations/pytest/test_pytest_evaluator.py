"""Tests of the plugin with the real command, which EVALUATOR names."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import pytest_evaluator

pytest_plugins = ["pytester"]

COMMAND = str(Path(os.environ.get("EVALUATOR", "evaluator")).absolute())
TURNS = [
    {"user": "2+2?", "answer": "4", "tools": [{"name": "add", "args": {"a": 2}, "result": 4}]},
    {"user": "Thanks", "answer": "Sure"},
]
SAYS = "import json, sys\nsys.stdin.read()\nprint(json.dumps({}))\n"


@pytest.fixture
def suite(pytester):
    """A directory with a trace of one case, and four evaluators of which each does something else."""
    pytester.makeini(f"[pytest]\nevaluator_command = {COMMAND}\n")
    traces = pytester.mkdir("traces")
    (traces / "one.json").write_text(json.dumps(pytest_evaluator.recorded(TURNS[:1])))
    count = "open('started', 'a').write('x')\n"
    pytester.path.joinpath("good.py").write_text(count + SAYS.format({"score": 1}))
    pytester.path.joinpath("bad.py").write_text(SAYS.format({"score": 0.2, "details": {"reason": "rude"}}))
    pytester.path.joinpath("broken.py").write_text("raise KeyError('x')\n")
    unknown = {"score": 0.0, "status": "NOT_EVALUATED", "details": {"reason": "no answers"}}
    pytester.path.joinpath("unknown.py").write_text(SAYS.format(unknown))
    entries = [{"name": name, "type": "code", "path": f"{name}.py", "cwd": "."} for name in ("good", "bad", "broken", "unknown")]
    pytester.path.joinpath("eval_config.json").write_text(json.dumps({"evaluators": entries}))
    return pytester


def test_errors_are_errors_and_failures_failures(suite):
    ran = suite.runpytest("-rA")
    ran.assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    ran.stdout.fnmatch_lines(["*ERROR at setup of *::broken*", "*traces/one.json (trace *)*", "*KeyError*"])
    ran.stdout.fnmatch_lines(["_* *::bad _*", "*below the threshold 0.5: rude*"])
    ran.stdout.fnmatch_lines(["PASSED eval_config.json::*::good", "PASSED eval_config.json::run"])
    assert suite.path.joinpath("started").read_text() == "x"


def test_tests_are_selected_and_stopped(suite):
    suite.runpytest("-k", "good").assert_outcomes(passed=1, deselected=4)
    suite.runpytest("-x").assert_outcomes(passed=1, failed=1)
    suite.runpytest().assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    suite.runpytest("--lf").assert_outcomes(failed=1, errors=1)
    suite.runpytest("--no-evaluations").assert_outcomes()


@pytest.mark.parametrize("case", ["plain", "a/b.txt", "Is it [ok]?", "[1]::[2]", "a::b", "a::b[x::y]", "with space"])
def test_an_argument_selects_one_evaluation(suite, case):
    turn = {"invocation_id": "1", "user_content": {"parts": [{"text": "2+2?"}]}}
    suite.path.joinpath("set.json").write_text(json.dumps({"eval_set_id": "set", "eval_cases": [{"eval_id": case, "conversation": [turn]}]}))
    entries = [{"name": name, "type": "code", "path": f"{name}.py"} for name in ("good", "bad")]
    suite.path.joinpath("eval_config.json").write_text(json.dumps({"eval_set": "set.json", "evaluators": entries}))
    ran = suite.runpytest(f"eval_config.json::{case}::good", "-rA")
    ran.assert_outcomes(passed=1)
    assert f"PASSED eval_config.json::{case}::good" in ran.stdout.str()
    suite.runpytest(f"eval_config.json::{case}::bad").assert_outcomes(failed=1)
    suite.runpytest("--lf").assert_outcomes(failed=1)
    suite.runpytest("-k", "good and not run").assert_outcomes(passed=1, deselected=2)
    suite.runpytest("eval_config.json::run").assert_outcomes(passed=1)


def test_processes_of_a_session_share_the_run(suite):
    pytest.importorskip("xdist")
    suite.runpytest_subprocess("-n", "3").assert_outcomes(passed=2, failed=1, errors=1, skipped=1)
    assert suite.path.joinpath("started").read_text() == "x"


def test_junit_tells_errors_from_failures(suite):
    suite.runpytest("--junit-xml=report.xml")
    report = suite.path.joinpath("report.xml").read_text()
    assert 'errors="1" failures="1" skipped="1" tests="5"' in report
    assert '<property name="score" value="0.2"' in report


def test_a_run_that_cannot_start_is_an_error_with_its_reason(suite):
    suite.path.joinpath("eval_config.json").write_text('{"evaluatorz": []}')
    ran = suite.runpytest()
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*evaluatorz*"])
    suite.makeini("[pytest]\nevaluator_command = no-such-command\n")
    ran = suite.runpytest()
    ran.stdout.fnmatch_lines(["*no-such-command cannot be started*evaluator_command*"])


def test_a_directory_without_traces_is_an_error_that_names_the_setting(suite):
    suite.path.joinpath("traces/one.json").rename(suite.path / "moved.json")
    suite.path.joinpath("traces").rmdir()
    ran = suite.runpytest()
    ran.assert_outcomes(errors=1)
    ran.stdout.fnmatch_lines(["*has no traces; the setting `evaluator_traces` names*"])


def test_what_the_run_says_beyond_its_evaluations_is_a_test(suite):
    entry = {"name": "unknown", "type": "code", "path": "unknown.py"}
    suite.path.joinpath("eval_config.json").write_text(json.dumps({"evaluators": [entry]}))
    ran = suite.runpytest()
    ran.assert_outcomes(failed=1, skipped=1)
    suite.path.joinpath("traces/cut.json").write_text('{"resourceSpans": [')
    ran = suite.runpytest()
    ran.assert_outcomes(errors=1, skipped=1)
    ran.stdout.fnmatch_lines(["*cut.json*"])


def test_gates_decide_where_there_are_some(suite):
    entry = {"name": "bad", "type": "code", "path": "bad.py"}
    suite.path.joinpath("eval_config.json").write_text(json.dumps({"evaluators": [entry]}))
    suite.makeini(f"[pytest]\nevaluator_command = {COMMAND}\nevaluator_args = --gate 'bad: mean >= 0.1'\n")
    ran = suite.runpytest("-rA")
    ran.assert_outcomes(passed=1, failed=1)
    ran.stdout.fnmatch_lines(["*INCONCLUSIVE*", "PASSED *::bad", "FAILED *::run*"])


EVALUATOR = """
import json, sys
document = json.load(sys.stdin)
turns = document["invocations"]
said = [turn["final_response"] for turn in turns]
calls = [[call["name"], call["args"]] for turn in turns for call in turn["intermediate_steps"]["tool_calls"]]
print(json.dumps({"score": document["config"]["score"], "details": {"reason": json.dumps([said, calls])}}))
"""


@pytest.fixture
def command(request, monkeypatch):
    getini = request.config.getini
    monkeypatch.setattr(request.config, "getini", lambda name: COMMAND if name == "evaluator_command" else getini(name))


def test_an_evaluator_is_tried_on_turns(command, evaluate, tmp_path):
    path = tmp_path / "tried.py"
    path.write_text(EVALUATOR)
    result = evaluate(path, TURNS, config={"score": 0.25})
    assert (result.score, result.outcome, result.passed) == (0.25, "failed", False)
    assert result.reason.endswith('[["4", "Sure"], [["add", {"a": 2}]]]')
    assert evaluate(path, TURNS, config={"score": 0.25}, threshold=0.25).passed
    with pytest.raises(pytest_evaluator.EvaluatorError, match="exited: .*KeyError"):
        evaluate(path, TURNS)


def test_a_function_is_tried_on_turns(evaluate):
    def short(document):
        return {"score": len(document["invocations"]) / 4, "reason": document["invocations"][0]["user_content"]}

    assert evaluate(short, TURNS) == {"score": 0.5, "outcome": "passed", "reason": "2+2?"}
    assert evaluate(lambda document: {"score": 1, "status": "NOT_EVALUATED"}, TURNS).outcome == "not_evaluated"
    assert evaluate(lambda document: {"score": 1, "status": "FAILED", "error": None}, TURNS).outcome == "failed"
    for score in (2, float("nan"), "1", True):
        with pytest.raises(pytest_evaluator.EvaluatorError, match="from 0 to 1"):
            evaluate(lambda document: score, TURNS)


@pytest.mark.parametrize("answer", [
    None, {}, {"error": "why"}, {"score": 1, "error": {"kind": "x", "message": "y"}}, {"score": 1, "error": {}}, {"status": "NOT_EVALUATED"},
    {"score": 1, "status": "passed"}, {"score": 1, "per_invocation_scores": [1.0]}, {"score": 1, "per_invocation_scores": [1.0, "x"]}])
def test_a_function_breaks_as_its_program_does(command, evaluate, tmp_path, answer):
    path = tmp_path / "program.py"
    path.write_text(SAYS.format(json.dumps(answer).replace("null", "None")))
    for evaluator in (path, lambda document: answer):
        with pytest.raises(pytest_evaluator.EvaluatorError):
            evaluate(evaluator, TURNS)


def test_a_misspelt_part_of_a_turn_is_no_empty_turn(evaluate):
    for turns in ([{"user": "2+2?", "anwser": "4"}], [{"user": "2+2?", "tools": [{"name": "add", "arguments": {}}]}], [{"tools": [{"args": {}}]}]):
        with pytest.raises(TypeError, match="the keys of .* have to be"):
            evaluate(lambda document: 1, turns)


def test_a_broken_evaluator_shows_the_line_of_the_test_and_not_the_plugin(suite):
    suite.makepyfile("""
        def test_it(evaluate):
            evaluate("broken.py", turns=[{"user": "2+2?", "answer": "4"}])
    """)
    ran = suite.runpytest("--no-evaluations")
    ran.assert_outcomes(failed=1)
    ran.stdout.fnmatch_lines([">*evaluate(\"broken.py\"*", "E*EvaluatorError: exited: *KeyError*"])
    ran.stdout.no_fnmatch_line("*subprocess.run(*")
    assert "def run(evaluator" not in ran.stdout.str()


def test_a_turn_without_a_number_is_an_error_of_a_function(evaluate):
    for score in (float("nan"), "1"):
        with pytest.raises(pytest_evaluator.EvaluatorError, match="from 0 to 1"):
            evaluate(lambda document: {"score": 1, "per_invocation_scores": [1.0, score]}, TURNS)


def test_a_saved_run_is_rows(suite):
    command = [COMMAND, "run", "traces", "--save-run", "a.evalrun", "-q"]
    assert subprocess.run(command, cwd=suite.path, stdout=subprocess.DEVNULL).returncode == 3
    rows = pytest_evaluator.load(suite.path / "a.evalrun", COMMAND)
    assert [(row["evaluator"], row["outcome"], row["score"]) for row in rows] == [
        ("good", "passed", 1.0), ("bad", "failed", 0.2), ("broken", "error", None), ("unknown", "not_evaluated", None)]
    rows[0]["reason"] = "<b>"
    assert "&lt;b&gt;" in rows._repr_html_() and "<td>0.2000</td>" in rows._repr_html_()
    with pytest.raises(pytest_evaluator.RunError, match="none.evalrun"):
        pytest_evaluator.load(suite.path / "none.evalrun", COMMAND)
