"""Records traces of agent frameworks: their packages from PyPI or npm, a scripted model server on loopback.

Usage: python3 record.py [--list] [--again] [--out DIRECTORY] [--scenario S1]... [--with REQUIREMENT]...
                         [NAME | NAME==VERSION]...

NAME is a producer, e.g. `strands`; without one, all are recorded. The current release is installed, unless the producer
pins one or the command names one; --with pins other packages, e.g. the instrumentation (npm's as NAME@VERSION).
Environments are kept in the directory EVALUATOR_PRODUCERS_CACHE, by default `~/.cache/evaluator-producers`; --again upgrades their packages and
records releases that are there already.

A file is called NAME_SCENARIO. If that is the name of another release's recording, versions are added to NAME: that of
the framework, and that of the instrumentation.
"""

import argparse
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import javascript
from places import CACHE, HERE

SCENARIOS = ["S1", "S2", "S3", "S4", "S5"]
# Seconds that a scenario may take.
LIMIT = 300
# Needed by `run.py` in every environment.
COMMON = ["opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-common"]
# Frameworks that report home do not belong into a recording.
QUIET = {
    "OTEL_SDK_DISABLED": "false",
    "CREWAI_DISABLE_TELEMETRY": "true",
    "AGNO_TELEMETRY": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    # Its own tracing would mix with the instrumentation's.
    "HAYSTACK_AUTO_TRACE_ENABLED": "False",
    "TRACELOOP_TELEMETRY": "false",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
}


def producers() -> dict[str, tuple[pathlib.Path, object]]:
    """Every producer by name, with the file and module that describe it."""
    sys.path.insert(0, str(HERE))
    found = {}
    for file in sorted((HERE / "producers").glob("*.py")):
        module = importlib.import_module(f"producers.{file.stem}")
        found |= {name: (file, module) for name in module.PRODUCERS}
    return found


def python_of(version: str) -> str:
    """An interpreter of a version, e.g. 3.12."""
    candidates = [shutil.which(f"python{version}")]
    candidates += sorted(map(str, pathlib.Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python")))
    for candidate in candidates:
        if candidate and subprocess.run([candidate, "-c", "import venv"], capture_output=True).returncode == 0:
            return candidate
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    raise SystemExit(f"Python {version} was not found; install it, or put it on PATH as python{version}")


def distribution(requirement: str) -> str:
    return re.split(r"[\[=<>!~ ]", requirement, maxsplit=1)[0]


def environment(module, settings: dict, release: str | None, pins: list[str], again: bool) -> pathlib.Path:
    """The interpreter of an environment with the packages of a producer."""
    packages = [*settings.get("packages", module.PACKAGES), *COMMON]
    if release:
        of_framework = getattr(module, "DISTRIBUTION", module.FRAMEWORK)
        pinned = [re.sub(r"[=<>!~].*", "", it) for it in packages if distribution(it) == of_framework]
        others = [it for it in packages if distribution(it) != of_framework]
        packages = [*(f"{it}=={release}" for it in pinned), *others]
    # A pin is a further requirement, so that extras stay.
    packages = [*pins, *packages]
    key = "_".join(sorted("".join(c if c.isalnum() else "-" for c in it) for it in packages[: -len(COMMON)]))
    place = CACHE / key[:120]
    python, stamp = place / "bin/python", place / "packages.txt"
    wanted = "\n".join(packages)
    if stamp.exists() and stamp.read_text() == wanted and not again:
        return python
    base = python_of(settings.get("python", "3.12"))
    uv = shutil.which("uv")
    if not python.exists():
        make = [uv, "venv", "-q", "--python", base, str(place)] if uv else [base, "-m", "venv", str(place)]
        subprocess.run(make, check=True)
    install = (
        [uv, "pip", "install", "-q", "--python", str(python)] if uv else [str(python), "-m", "pip", "install", "-q"]
    )
    subprocess.run([*install, *(["--upgrade"] if again else []), *packages], check=True)
    stamp.write_text(wanted)
    return python


def header(module, settings: dict, python: pathlib.Path) -> dict:
    """What is recorded, by the versions that were installed."""
    wanted = [getattr(module, "DISTRIBUTION", module.FRAMEWORK), settings.get("package")]
    code = "import sys, importlib.metadata as it; print(*map(it.version, sys.argv[1:]))"
    command = [str(python), "-c", code, *filter(None, wanted)]
    version, *others = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    instrumentation = " ".join([settings["package"], *others]) if others else ""
    instrumentation += settings.get("instrumentation", "")
    return {"framework": module.FRAMEWORK, "version": version, "instrumentation": instrumentation}


def target(out: pathlib.Path, name: str, what: dict, scenario: str, again: bool) -> pathlib.Path | None:
    """The files to write, without their extensions. None if this release's recording is there."""
    versions = [what["version"], *re.findall(r" (\d+\.[\w.]+)", what["instrumentation"])]
    names = [name, f"{name}-{versions[0]}", f"{name}-{'-'.join(versions)}"]
    for stem in (f"{it}_{scenario}" for it in names):
        file = out / f"{stem}.expected.json"
        if not file.exists():
            return out / stem
        there = json.loads(file.read_text(encoding="utf-8"))
        if what.items() <= there.items():
            return out / stem if again else None
    return out / stem


def command(python: pathlib.Path, file: pathlib.Path) -> list[str]:
    """The start of the command that runs a scenario."""
    return [str(python), str(HERE / "run.py"), str(file)]


def record(name: str, release: str | None, arguments) -> list[str]:
    """Records the scenarios of a producer. Returns the problems."""
    file, module = producers()[name]
    settings = module.PRODUCERS[name]
    # Producers with a program are in JavaScript.
    language = javascript if hasattr(module, "PROGRAM") else sys.modules[__name__]
    try:
        place = language.environment(module, settings, release, arguments.pins, arguments.again)
    except (subprocess.CalledProcessError, SystemExit) as error:
        return [f"{name}: its packages cannot be installed: {error}"]
    what = language.header(module, settings, place)
    problems = []
    for scenario in arguments.scenario or SCENARIOS:
        stem = target(arguments.out, name, what, scenario, arguments.again)
        if not stem:
            continue
        started = [*language.command(place, file), name, scenario, json.dumps(what)]
        problem = run(started, stem, arguments.lines)
        if problem:
            problems.append(f"{name} {scenario}: {problem}")
        else:
            print(f"{stem.name}: {what['framework']} {what['version']}, {what['instrumentation']}", flush=True)
        # What fails twice will not work for other scenarios either.
        if len(problems) == 2:
            break
    return problems


def run(command: list[str], stem: pathlib.Path, lines: int) -> str | None:
    """Runs a scenario and copies its files. Returns the problem, with the last lines of standard error."""
    with tempfile.TemporaryDirectory() as directory:
        made = pathlib.Path(directory) / "recording"
        variables = {**os.environ, **QUIET, "HOME": directory}
        try:
            done = subprocess.run(
                [*command, str(made)], cwd=directory, env=variables, capture_output=True, text=True, timeout=LIMIT
            )
        except subprocess.TimeoutExpired:
            return f"not finished after {LIMIT} s"
        if done.returncode != 0:
            return "\n    ".join(done.stderr.strip().splitlines()[-lines:])
        for kind in ("trace", "expected"):
            shutil.copy(f"{made}.{kind}.json", f"{stem}.{kind}.json")
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME[==VERSION]")
    parser.add_argument("--list", action="store_true", help="list the producers")
    parser.add_argument("--again", action="store_true", help="upgrade packages, replace recordings of the same release")
    parser.add_argument(
        "--with", action="append", default=[], metavar="REQUIREMENT", dest="pins", help="a further package"
    )
    parser.add_argument("--scenario", action="append", choices=SCENARIOS)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "traces")
    parser.add_argument("--lines", type=int, default=3, help="lines of an error to show")
    arguments = parser.parse_args()
    known = producers()
    if arguments.list:
        print("\n".join(known))
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    problems = []
    for word in arguments.names or known:
        name, _, release = word.partition("==")
        if name not in known:
            raise SystemExit(f"{name} is not a producer; there are: {', '.join(known)}")
        problems += record(name, release or None, arguments)
    print("\n".join(problems), file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
