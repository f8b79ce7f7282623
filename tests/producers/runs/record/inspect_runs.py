"""Runs evaluations of Inspect with its model `mockllm`, and writes their logs as JSON.

    python3 inspect_runs.py DIRECTORY

needs the packages of `record.py`. One log has what a tool that reads logs meets: scores as letters, as numbers and as
objects, several scorers, epochs, a sample that broke, and a sample without an id.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

from inspect_ai import Task, eval as evaluate, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL, Score, accuracy, includes, mean, scorer
from inspect_ai.solver import generate, solver

CAPITALS = {"France": "Paris", "Japan": "Tokyo", "Peru": "Lima", "Kenya": "Nairobi", "Chad": "N'Djamena", "Fiji": "Suva"}
WRONG = {
    "France": "Sorry, I do not know.",
    "Japan": "",
    "Kenya": "It may be Nairobi, if I remember well, or another town.",
}


@scorer(metrics=[accuracy()])
def grade():
    """A letter: correct, partial, no answer, or incorrect."""

    async def score(state, target):
        answer = state.output.completion
        if target.text in answer:
            value = CORRECT if len(answer) < 40 else PARTIAL
        else:
            value = INCORRECT if answer else NOANSWER
        return Score(value=value, answer=answer, explanation=f"{target.text!r} in {answer!r}")

    return score


@scorer(metrics=[mean()])
def brevity():
    """A number from 0 to 1."""

    async def score(state, target):
        return Score(value=round(1 / (1 + len(state.output.completion) / 20), 3))

    return score


@scorer(metrics={"polite": [mean()], "known": [accuracy()]})
def style():
    """An object of several values."""

    async def score(state, target):
        answer = state.output.completion
        return Score(value={"polite": 1 if "Sorry" in answer else 0.5, "known": "I" if "Sorry" in answer else "C"})

    return score


@scorer(metrics=[mean()])
def stars():
    """A number that is not from 0 to 1."""

    async def score(state, target):
        return Score(value=4 if target.text in state.output.completion else 1)

    return score


@scorer(metrics=[mean()])
def sometimes():
    """Scores nothing where it does not apply: without a score, or with one that is no number."""

    async def score(state, target):
        if not state.output.completion:
            return None
        return Score(value=1.0) if target.text in state.output.completion else Score.unscored()

    return score


@solver
def breaks(country):
    """Raises an error for one sample."""

    async def solve(state, generate):
        if country and country in state.input_text:
            raise RuntimeError(f"no capital of {country}")
        return state

    return solve


def capitals(scorers, broken=None, name="capitals"):
    samples = [
        Sample(id=country.lower() if country != "Fiji" else None, input=f"What is the capital of {country}?", target=capital)
        for country, capital in CAPITALS.items()
    ]

    @task(name=name)
    def made():
        return Task(dataset=MemoryDataset(samples, name="capitals"), solver=[breaks(broken), generate()], scorer=scorers)

    return made()


def agent(wrong):
    """A model that answers by the question. It is wrong about one country; an unsteady one only in its first answer."""
    asked = []

    def answer(messages, tools, tool_choice, config):
        country = messages[-1].text.removeprefix("What is the capital of ").removesuffix("?")
        asked.append(country)
        text = f"It is {CAPITALS[country]}."
        if wrong in (country, f"{country} once") and (wrong == country or asked.count(country) == 1):
            text = WRONG[country]
        output = ModelOutput.from_content("mockllm/model", text)
        # Else tokens are counted with a file from the network.
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return answer


def run(directory, name, made, wrong=None, **options):
    model = get_model("mockllm/model", custom_outputs=agent(wrong), memoize=False)
    with tempfile.TemporaryDirectory() as logs:
        [log] = evaluate(
            made, model=model, log_dir=logs, log_format="json", display="none", max_samples=1, max_connections=1,
            fail_on_error=False, **options,
        )
        [written] = Path(logs).glob("*.json")
        target = Path(directory) / f"{name}.json"
        shutil.copy(written, target)
    neutralize(target)
    print(name, log.status, len(log.samples or []))


def neutralize(file):
    """Leaves out what is of no use to a reader of results, and paths of this machine. Nothing else is changed."""
    log = json.loads(file.read_text())
    for sample in log.get("samples", []):
        for bulky in ("messages", "events", "timelines", "attachments", "store"):
            sample.pop(bulky, None)
        for error in [sample.get("error"), *sample.get("error_retries", [])]:
            if error:
                error["traceback"] = error["traceback_ansi"] = ""
    log["eval"].pop("revision", None)
    log["eval"]["task_file"] = None
    # As Inspect writes it: indented by two, `NaN` where a sample has no score.
    file.write_text(json.dumps(log, indent=2) + "\n")


def main(directory):
    scorers = lambda: [includes(), grade(), brevity(), style(), sometimes()]
    run(directory, "inspect-base", capitals(scorers()), wrong="France")
    run(directory, "inspect-new", capitals(scorers()), wrong="Japan")
    run(directory, "inspect-long", capitals(scorers()), wrong="Kenya", temperature=0.5)
    run(directory, "inspect-epochs", capitals([includes(), brevity()], name="epochs"), wrong="Japan once", epochs=3)
    run(directory, "inspect-broken", capitals(scorers(), broken="Peru"), wrong="France")
    run(directory, "inspect-stars", capitals([stars()], name="stars"), wrong="France")
    run(directory, "inspect-fewer", capitals([includes(), grade()]), wrong="France")


if __name__ == "__main__":
    main(sys.argv[1])
