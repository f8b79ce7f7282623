"""Producers in JavaScript: their packages from npm, and one scenario of one of them, inside of its environment.

Usage: javascript.py ENVIRONMENT FILE PRODUCER SCENARIO WHAT OUT, started by `record.py` as `run.py` is.
"""

import importlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from export import reduce_resources
from places import CACHE, HERE
from run import SERVICE, check_requests, check_turn, write_recording
from scenarios import SCENARIOS
from server import ModelServer

# Needed by `run.mjs` in every environment. Many packages need a newer Node.js than systems have; npm has its programs.
SYSTEM = {"Darwin": "darwin"}.get(platform.system(), "linux")
NODE = f"node-{SYSTEM}-{'arm64' if platform.machine() in ('arm64', 'aarch64') else 'x64'}"
OTEL = ["api@1.9.1", "otlp-transformer@0.222.0", "resources@2.11.0", "sdk-trace-base@2.11.0", "sdk-trace-node@2.11.0"]
COMMON = [f"{NODE}@22", *(f"@opentelemetry/{it}" for it in OTEL)]


def package(requirement: str) -> str:
    """The name in a requirement such as `@scope/name@1.2`."""
    return requirement[:1] + requirement[1:].partition("@")[0]


def environment(module, settings: dict, release: str | None, pins: list[str], again: bool) -> pathlib.Path:
    """A directory with the packages of a producer."""
    packages = {package(it): it for it in [*settings.get("packages", getattr(module, "PACKAGES", [])), *COMMON]}
    if release:
        packages[of_framework(module)] = f"{of_framework(module)}@{release}"
    packages |= {package(it): it for it in pins}
    key = "_".join(sorted(it.replace("/", "-") for it in packages.values() if it not in COMMON))
    place = CACHE / f"npm-{key}"[:120]
    stamp = place / "packages.txt"
    wanted = "\n".join(packages.values())
    if not (stamp.exists() and stamp.read_text() == wanted) or again:
        place.mkdir(parents=True, exist_ok=True)
        # A name that no package has.
        (place / "package.json").write_text('{"name": "evaluator-producer", "private": true, "type": "module"}')
        (place / "package-lock.json").unlink(missing_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *quiet, *packages.values()], cwd=place, check=True)
        stamp.write_text(wanted)
    for file in [*(HERE / "javascript").glob("*.mjs"), HERE / "producers" / module.PROGRAM]:
        shutil.copy(file, place)
    return place


def of_framework(module) -> str:
    return getattr(module, "DISTRIBUTION", module.FRAMEWORK)


def header(module, settings: dict, place: pathlib.Path) -> dict:
    """What is recorded, by the versions that were installed."""

    def version(name: str) -> str:
        return json.loads((place / "node_modules" / name / "package.json").read_text(encoding="utf-8"))["version"]

    own = settings.get("package")
    instrumentation = f"{own} {version(own)}" if own else ""
    instrumentation += settings.get("instrumentation", "")
    return {"framework": module.FRAMEWORK, "version": version(of_framework(module)), "instrumentation": instrumentation}


def command(place: pathlib.Path, file: pathlib.Path) -> list[str]:
    """The start of the command that runs a scenario."""
    return [sys.executable, str(HERE / "javascript.py"), str(place), str(file)]


class Program:
    """The program of a producer, which runs turns."""

    def __init__(self, place: pathlib.Path, producer, name: str, scenario: str, server: ModelServer) -> None:
        variables = {
            **os.environ,
            "OPENAI_API_KEY": "sk-1",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "ANTHROPIC_API_KEY": "sk-1",
            "ANTHROPIC_BASE_URL": server.url,
            "OTEL_SERVICE_NAME": SERVICE,
            **producer.PRODUCERS[name].get("environment", {}),
        }
        node = place / "node_modules" / NODE / "bin/node"
        started = [str(node), str(place / "run.mjs"), producer.PROGRAM, name, f"conv-{scenario}"]
        self.process = subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables, text=True)

    def say(self, user: str) -> dict:
        """Runs a turn. Returns its final response, calls, responses and spans."""
        self.process.stdin.write(json.dumps({"user": user}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program ended with status {self.process.wait()}")
        return json.loads(line)


def main() -> None:
    place, file, name, scenario, what, out = sys.argv[1:]
    producer = importlib.import_module(f"producers.{pathlib.Path(file).stem}")
    settings = producer.PRODUCERS[name]
    server = ModelServer()
    program = Program(pathlib.Path(place), producer, name, scenario, server)
    script = getattr(producer, "script", lambda turn: turn.steps)
    turns, traces, resources = [], [], []
    for turn in SCENARIOS[scenario]:
        server.begin_turn(script(turn))
        happened = program.say(turn.user)
        recorded = happened.pop("spans")["resourceSpans"]
        for one in [*happened["calls"], *happened["responses"]]:
            one["name"] = settings.get("prefix", "") + one["name"]
            if "error" in settings and one.get("text_contains", "").startswith("no such city"):
                one["text_contains"] = settings["error"]
        check_turn(turn, happened)
        turns.append({"user": turn.user, **happened})
        spans = [span for it in recorded for scope in it["scopeSpans"] for span in scope["spans"]]
        traces.append({span["traceId"] for span in spans})
        resources += recorded
    check_requests(server)
    if not any(traces):
        raise SystemExit("nothing was recorded: does the instrumentation support this release of the framework?")
    document = {"resourceSpans": resources}
    reduce_resources(document)
    write_recording(out, json.loads(what), scenario, settings, document, turns, traces, server.url)


if __name__ == "__main__":
    main()
