"""Records results of promptfoo and of Inspect, which `evaluator compare` and `evaluator report` read.

    python3 tests/producers/runs/record/record.py [promptfoo|inspect]

installs both (npm and PyPI) below `~/.cache/evaluator-producers`, or `EVALUATOR_PRODUCERS_CACHE`, and writes the
files next to this directory. No model is asked: the agents are `provider.js`, and `mockllm` of Inspect.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RUNS = HERE.parent
CACHE = Path(os.environ.get("EVALUATOR_PRODUCERS_CACHE", Path.home() / ".cache" / "evaluator-producers"))
PROMPTFOO = "promptfoo@0.121.20"
INSPECT = "inspect_ai==0.3.285"


def promptfoo():
    packages = CACHE / "runs-promptfoo"
    if not (packages / "node_modules" / ".bin" / "promptfoo").exists():
        packages.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", packages, PROMPTFOO], check=True)
    agent = ["--filter-providers", "agent"]
    for name, config, answers, options in [
        ("base", "promptfoo.yaml", "base", agent),
        ("new", "promptfoo.yaml", "new", agent),
        ("broken", "promptfoo.yaml", "broken", agent),
        ("repeats", "promptfoo.yaml", "unsteady", [*agent, "--filter-first-n", "3", "--repeat", "3"]),
        ("providers", "promptfoo.yaml", "base", []),
        ("stars", "promptfoo-stars.yaml", "", []),
    ]:
        with tempfile.TemporaryDirectory() as directory:
            for each in [*HERE.glob("*.yaml"), *HERE.glob("*.js")]:
                shutil.copy(each, directory)
            environment = {
                **os.environ, "ANSWERS": answers, "PROMPTFOO_CONFIG_DIR": f"{directory}/home",
                "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1",
            }
            command = [packages / "node_modules/.bin/promptfoo", "eval", "-c", config, "-o", "out.json", "-j", "1", "--no-cache"]
            # 100: a test failed.
            done = subprocess.run([*command, "--no-table", *options], cwd=directory, env=environment, check=False)
            assert done.returncode in (0, 100), done.returncode
            neutralize(Path(directory) / "out.json", RUNS / f"promptfoo-{name}.json")


def neutralize(source, target):
    """Leaves out counts of tokens, which nothing here has. Nothing else is changed."""

    def without(value):
        if isinstance(value, dict):
            bulky = ("tokenUsage", "tokensUsed", "_promptfooFileMetadata")
            return {key: without(each) for key, each in value.items() if key not in bulky}
        return [without(each) for each in value] if isinstance(value, list) else value

    target.write_text(json.dumps(without(json.loads(source.read_text())), indent=1) + "\n")


def inspect():
    packages = CACHE / "runs-inspect"
    python = packages / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", packages], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", INSPECT], check=True)
    subprocess.run([python, HERE / "inspect_runs.py", RUNS], check=True)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["promptfoo", "inspect"]:
        {"promptfoo": promptfoo, "inspect": inspect}[name]()
