"""Runs the agents of the pages about recording traces, docs/start/traces-*.md, against a scripted model server.

Usage: python3 pages.py EVALUATOR [PAGE]...

EVALUATOR is the `evaluator` program, PAGE a name such as `strands`. The packages of a page are installed into an environment
of its own, as by `record.py`. What EVALUATOR reads from the recorded traces is printed, and must be complete.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

from record import CACHE, HERE, LIMIT, QUIET, python_of
from scenarios import Step
from server import ModelServer

START = HERE.parents[2] / "docs/start"
COMMON = (START / "traces.md").read_text(encoding="utf-8")
ANSWERS = [
    Step(calls=[("get_weather", {"city": "Oslo"})]),
    Step("It is 4 degrees in Oslo."),
    Step(calls=[("get_weather", {"city": "Lima"})]),
    Step("In Lima it is 19 degrees."),
]


def block(language: str, text: str) -> str | None:
    """The first block of a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return found and found[1]


def environment(name: str, install: str) -> pathlib.Path:
    """The interpreter of an environment with the packages of a command `pip install`."""
    place = CACHE / f"page-{name}"
    python = place / "bin/python"
    if not python.exists():
        subprocess.run([python_of("3.12"), "-m", "venv", str(place)], check=True)
    subprocess.run(install.replace("pip", f"'{python}' -m pip", 1), shell=True, check=True, stdout=subprocess.DEVNULL)
    return python


def problem(evaluator: str, name: str) -> str | None:
    """Runs the agent of a page. Returns what is wrong."""
    page = (START / f"traces-{name}.md").read_text(encoding="utf-8")
    python = environment(name, block("sh", page) or block("sh", COMMON))
    server = ModelServer()
    server.begin_turn(ANSWERS)
    variables = {
        **os.environ,
        **QUIET,
        "OPENAI_API_KEY": "sk-1",
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "GOOGLE_API_KEY": "key-1",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "GOOGLE_GENAI_USE_VERTEXAI": "FALSE",
    }
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "otlp_file.py").write_text(block("python", COMMON), encoding="utf-8")
        (pathlib.Path(directory) / "agent.py").write_text(block("python", page), encoding="utf-8")
        common = {"cwd": directory, "capture_output": True, "text": True, "timeout": LIMIT}
        ran = subprocess.run([str(python), "agent.py"], env=variables, **common)
        if ran.returncode != 0:
            return ran.stderr
        inspect = [evaluator, "inspect", "traces.jsonl", "--group-by", "conversation"]
        seen = subprocess.run(inspect, **common)
    print(f"== {name}\n{seen.stdout}", flush=True)
    turns = 1 if name == "by-hand" else 2
    wanted = [f"\n1 conversation, {turns} turn", 'tool: get_weather {"city": "Oslo"} -> ', "answer: It is 4 degrees in Oslo."]
    missing = [text for text in wanted if text not in seen.stdout]
    if seen.returncode != 0 or missing or "unknown:" in seen.stdout:
        return f"{missing} is missing, or a part was not recorded: {seen.stderr}"
    return None


def main() -> None:
    evaluator, *names = sys.argv[1:]
    evaluator = str(pathlib.Path(evaluator).resolve())
    names = names or [page.stem.removeprefix("traces-") for page in sorted(START.glob("traces-*.md"))]
    problems = {name: problem(evaluator, name) for name in names}
    sys.exit("\n".join(f"{name}: {text}" for name, text in problems.items() if text) or None)


if __name__ == "__main__":
    main()
