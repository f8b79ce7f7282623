"""Records and replays programs that ask with OpenAI's SDKs for Python and Node.js, and looks at the errors that the SDKs raise.

Arguments: the `evaluator` command, and a directory in which `npm` installs the SDK for Node.js. The recording and the replay are those of
`replay.py`. Exits with 1 if the replay differs, if the SDKs say different things, or if an error is another one than users know.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import fake
from compare import HERE
from replay import alone, record_and_replay, run

NODE_SDK = "openai@7.59.0"

#: What an SDK raises: status, code and parameter. The first evaluation knows no token that has ended.
ERRORS = {
    "token": [401, "invalid_api_key", None],
    "ended": [410, "evaluation_ended", None],
    "model": [404, "model_not_found", "model"],
    "large": [413, "request_too_large", None],
    "refused": [400, "unsupported_value", "temperature"],
    "last": "answered",
    "beyond": [429, "insufficient_quota", None],
}


def entries(part, **limits):
    """Returns the programs that do a part, in both languages."""
    models = {"judge": "openai/gpt-4o-mini", **limits}
    programs = [{"name": language, "type": "code", "path": path} for language, path in (("python", "ask.py"), ("node", "ask.mjs"))]
    return [{**it, "config": {"part": part, "kept": it["name"] + ".token"}, "models": models} for it in programs]


def found(report):
    """Returns what both programs found, by conversation."""
    return [[metric["details"] for metric in trace["metrics"]] for trace in report["traces"]]


def main():
    evaluator, packages = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    if subprocess.run(["npm", "install", "--silent", "--no-save", "--prefix", packages, NODE_SDK]).returncode:
        print("SKIPPED: the SDK of OpenAI for Node.js (it cannot be installed)")
        return
    # Each program is a process of its own, and a few conversations show everything.
    os.environ.setdefault("EVERY", "80")
    problems = []
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        for path in (HERE / "sdks").iterdir():
            shutil.copy(path, directory)
        (directory / "node_modules").symlink_to(packages / "node_modules")
        replayed, content, differs = record_and_replay(evaluator, directory, entries("used"))
        problems += ["the replay is another one than the recording"] * differs
        for python, node in found(replayed):
            problems += ["%s with Python and %s with Node.js" % (python, node)] * (python != node or len(python) != 6)
        print("%d replies in one cassette, to %s" % (content.count(b"\n"), ", ".join(found(replayed)[0][0])))
        server, url = fake.start()
        key = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none"}
        # Calls and refused requests of an evaluation: an SDK that repeats one has more. The budget is that of all conversations.
        for limits, counts, number in (({"max_calls": 2}, (2, 3), None), ({"budget": {"calls": 2}}, (3, 2), 1)):
            for path in directory.glob("*.token"):
                path.unlink()
            report = run(evaluator, directory, "off", entries("faults", **limits), {**alone(), **key}, "--jobs", "1")
            for index, trace in enumerate(report["traces"][:number]):
                expected = {name: error for name, error in ERRORS.items() if index or name != "ended"}
                for metric in trace["metrics"]:
                    asked = metric["target_proxy"]
                    said = metric["details"], (asked["call_count"], asked["refused_requests"])
                    problems += ["%s: %s instead of %s" % (metric["metric_name"], said, (expected, counts))] * (said != (expected, counts))
            print("%s: the errors of %s" % (limits, ", ".join(ERRORS)))
        server.shutdown()
    print("\n".join(problems))
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
