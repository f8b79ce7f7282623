"""Runs the agents of the pages about recording traces, docs/start/traces-*.md, against a scripted model server.

Pages with a block of `js` are run by Node.js.

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

from javascript import NODE
from places import CACHE, HERE
from record import LIMIT, QUIET, python_of
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


def blocks(language: str, text: str) -> list[str]:
    """The blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def block(language: str, text: str) -> str | None:
    """The first block of a language."""
    return next(iter(blocks(language, text)), None)


def environment(name: str, install: str) -> pathlib.Path:
    """The interpreter of an environment with the packages of a command `pip install`."""
    place = CACHE / f"page-{name}"
    python = place / "bin/python"
    if not python.exists():
        subprocess.run([python_of("3.12"), "-m", "venv", str(place)], check=True)
    subprocess.run(install.replace("pip", f"'{python}' -m pip", 1), shell=True, check=True, stdout=subprocess.DEVNULL)
    return python


def node_program(name: str, page: str) -> list[str]:
    """Installs the packages of a page for Node.js and writes its programs. Returns the command that runs the agent."""
    place = CACHE / f"page-{name}"
    place.mkdir(parents=True, exist_ok=True)
    for file, text in zip(["otlp_file.mjs", "agent.mjs"], blocks("js", page)):
        (place / file).write_text(text, encoding="utf-8")
    (place / "package.json").write_text('{"name": "evaluator-page", "private": true}')
    install = f"{block('sh', page).strip()} {NODE}@22 --silent --no-audit --no-fund"
    subprocess.run(install, shell=True, check=True, cwd=place)
    return [str(place / "node_modules" / NODE / "bin/node"), str(place / "agent.mjs")]


def python_program(name: str, page: str, directory: str) -> list[str]:
    """The same for Python; the programs are in the directory in which they run."""
    python = environment(name, block("sh", page) or block("sh", COMMON))
    for file, text in [("otlp_file.py", block("python", COMMON)), ("agent.py", block("python", page))]:
        (pathlib.Path(directory) / file).write_text(text, encoding="utf-8")
    return [str(python), "agent.py"]


def problem(evaluator: str, name: str) -> str | None:
    """Runs the agent of a page. Returns what is wrong."""
    page = (START / f"traces-{name}.md").read_text(encoding="utf-8")
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
        is_node = block("js", page) is not None
        command = node_program(name, page) if is_node else python_program(name, page, directory)
        common = {"cwd": directory, "capture_output": True, "text": True, "timeout": LIMIT}
        ran = subprocess.run(command, env=variables, **common)
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
