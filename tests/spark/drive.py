"""Evaluates conversations in a real Spark cluster, breaks parts of it, and compares with one machine.

    python drive.py EVALUATOR DIRECTORY [plain]

EVALUATOR is the command. DIRECTORY has an `eval_config.yaml` and gets everything that this writes. PySpark and Java have to be there. The
cluster is one master and two workers on loopback, each in a process of its own. `plain` breaks nothing and runs within one process of
Spark: enough to see whether another version of PySpark works.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyspark

EVALUATOR, DIRECTORY = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve()
HERE = Path(__file__).resolve().parent
MODULE = HERE.parent.parent / "integrations" / "spark" / "evaluator_spark.py"
HOME = os.path.dirname(pyspark.__file__)
MASTER = "spark://127.0.0.1:17077"
LINES, PARTITIONS = 24, 4
# Seconds until something has to have happened.
PATIENCE = 120
BEGAN = time.monotonic()

sys.path.insert(0, str(MODULE.parent))
os.environ.update(SPARK_HOME=HOME, SPARK_LOCAL_IP="127.0.0.1", SPARK_DAEMON_MEMORY="256m", PYSPARK_PYTHON=sys.executable)
# Each Java lives for seconds: optimizing its code takes longer than running it.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
COMMAND = [EVALUATOR, "pipe", "-c", str(DIRECTORY / "eval_config.yaml"), "--group-by", "trace"]


def span(number):
    def messages(role, text):
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    def attribute(key, text):
        return {"key": key, "value": {"stringValue": text}}

    def one(part, operation, more):
        return {
            "traceId": f"{number:032x}",
            "spanId": f"{number * 10 + part:016x}",
            "parentSpanId": "" if part == 0 else f"{number * 10:016x}",
            "name": operation,
            "startTimeUnixNano": str(number * 1000 + part),
            "endTimeUnixNano": str(number * 1000 + 900 - part),
            "attributes": [attribute("gen_ai.operation.name", operation), *more],
        }

    # A paragraph separator is no end of a line, and half of the answers have a number that nobody said.
    answer = f"It costs {number % 2 and 5 or 7} euros.\u2029Bye."
    said = [
        attribute("gen_ai.input.messages", messages("user", f"I have 5 euros, number {number}.")),
        attribute("gen_ai.output.messages", messages("assistant", answer)),
    ]
    return [one(0, "invoke_agent", said), one(1, "chat", said)]


SPANS = [span(number) for number in range(1, LINES + 1)]
TEXTS = [json.dumps(spans, ensure_ascii=False) for spans in SPANS]


def say(text):
    print(f"{time.monotonic() - BEGAN:5.1f} s  {text}", flush=True)


def wait(what, is_true):
    until = time.monotonic() + PATIENCE
    while not is_true():
        if time.monotonic() > until:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.05)


def processes(*words):
    """Ids of the processes whose command line has all of these words."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if all(word in line for word in words) and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found


class Cluster:
    def __init__(self):
        self.started, self.number = [], 0
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def start(self):
        _, log = self.spawn("Master", "--host", "127.0.0.1", "--port", "17077", "--webui-port", "18080")
        wait("the master", lambda: "elected leader" in log.read_text(errors="replace"))
        # Two names of one machine: Spark puts no second copy of a task on the same host.
        self.workers = [self.worker("127.0.0.1"), self.worker("localhost")]

    def spawn(self, role, *args):
        log = DIRECTORY / f"{role}-{len(self.started)}.log"
        with open(log, "wb") as out:
            command = [f"{HOME}/bin/spark-class", f"org.apache.spark.deploy.{role.lower()}.{role}", *args]
            process = subprocess.Popen(command, stdout=out, stderr=out, cwd=DIRECTORY)
        self.started.append(process)
        return process, log

    def worker(self, host):
        self.number += 1
        work = DIRECTORY / f"work-{self.number}"
        args = ["--host", host, "--cores", "1", "--memory", "1g", "--work-dir", str(work)]
        # Jobs wait for it.
        return self.spawn("Worker", *args, "--webui-port", str(18080 + self.number), MASTER)[0]

    def stop(self):
        for process in reversed(self.started):
            process.terminate()
        for process in self.started:
            process.wait()


def records(rows):
    return [json.loads(row) for row in rows]


def scores(rows):
    """Scores of each conversation, of which each has to be there once."""
    found = {}
    for record in records(rows):
        if record["kind"] == "conversation":
            conversation = record["conversation"]
            evaluations = {it["name"]: it.get("score") for it in conversation["evaluations"] if it["name"] != "hangs"}
            assert conversation["trace_id"] not in found, f"{conversation['trace_id']} is there twice"
            found[conversation["trace_id"]] = evaluations
        else:
            assert record["kind"] in ("header", "end"), record
    return found


def main():
    from pyspark.sql import SparkSession

    (DIRECTORY / "asked").mkdir()
    expected = scores(subprocess.run(COMMAND, input="\n".join(TEXTS).encode(), stdout=subprocess.PIPE, check=True).stdout.decode().rstrip("\n").split("\n"))
    assert len(expected) == LINES and len({str(it) for it in expected.values()}) == 2, "the evaluators tell answers apart"
    is_plain = sys.argv[3:] == ["plain"]
    cluster = None if is_plain else Cluster()
    try:
        spark = session(SparkSession.builder.master("local[2]" if is_plain else MASTER).appName("evaluator"))
        try:
            spark.sparkContext.setLogLevel("ERROR")
            spark.sparkContext.addPyFile(str(MODULE))
            scenarios(spark, cluster, expected)
        finally:
            spark.stop()
    finally:
        if cluster:
            cluster.stop()
    wait("the end of all filters", lambda: not processes(EVALUATOR, "pipe"))
    print(f"PySpark {pyspark.__version__}: nothing was lost or counted twice, and no process is left")


def session(builder):
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.minTaskRuntime": "2s",
        # Data as small as this needs neither plans that adapt nor compiled ones.
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def scenarios(spark, cluster, expected):
    context = spark.sparkContext

    def check(what, rows, wanted=expected):
        assert scores(rows) == wanted, f"{what}: {len(scores(rows))} of {len(wanted)} conversations, or other scores"
        say(f"{what}: as on one machine")

    from evaluator_spark import evaluate, evaluate_df, lines_of_spans

    lines = context.parallelize(TEXTS, PARTITIONS)
    parts = DIRECTORY / "parts"
    evaluate(lines, COMMAND).saveAsTextFile(str(parts))
    rows = [row for part in sorted(parts.glob("part-*")) for row in part.read_text().rstrip("\n").split("\n")]
    check("no fault", rows)
    report(parts)
    shuffled = [(json.dumps(part),) for spans in SPANS for part in spans]
    random.Random(1).shuffle(shuffled)
    spans = lines_of_spans(spark.createDataFrame(shuffled, "span string"), "span")
    check("spans in random order", [row.value for row in evaluate_df(spans, "value", COMMAND).collect()])
    if not cluster:
        return
    # Two of the partitions are empty.
    skewed = lines.map(lambda text: (0 if len(text) % 5 else 1, text)).partitionBy(4).values()
    check("skew and empty partitions", evaluate(skewed, COMMAND).collect())
    early(lines.coalesce(1), evaluate)
    bundled(context, check)
    check("stuck task", evaluate(lines, stuck()).collect())
    check("killed worker, and the executor of another", killed(cluster, lines, evaluate))


def report(parts):
    """The parts together are the run, and a part that is missing is seen."""
    command = [EVALUATOR, "report", *map(str, sorted(parts.glob("part-*"))), "--expect", str(LINES), "-o", "json"]
    ended = subprocess.run(command, stdout=subprocess.PIPE)
    traces = json.loads(ended.stdout)["traces"]
    assert ended.returncode == 1 and len(traces) == LINES, f"exit code {ended.returncode}, {len(traces)} conversations"
    command.pop(3)
    assert subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 3, "a missing part"
    say("report of the parts: complete")


def bundled(context, check):
    """Spark unpacks a bundle on its workers, as with `--archives`. The filter has no variables, and so no `PATH`."""
    archive = DIRECTORY / "checks.tar.gz"
    subprocess.run([EVALUATOR, "bundle", "-c", str(DIRECTORY / "eval_config.yaml"), "-o", str(archive)], check=True)
    context.addArchive(f"{archive}#checks")
    command = "./checks/evaluator pipe -c checks/eval_config.yaml --group-by trace"
    check("bundle", context.parallelize(TEXTS, 2).pipe(command, checkCode=True).collect())


def stuck():
    """The filter, with an evaluator that hangs the first time that it is asked."""
    script = DIRECTORY / "hangs"
    script.write_text(f"#!/bin/sh\nmkdir '{DIRECTORY}/first' 2>/dev/null && sleep 1000\ncat >/dev/null\necho '{{\"score\": 1}}'\n")
    script.chmod(0o755)
    config = DIRECTORY / "stuck.yaml"
    entry = "  - {name: hangs, type: code, path: ./hangs, timeout: 1000}\n"
    config.write_text((DIRECTORY / "eval_config.yaml").read_text() + entry)
    return [*COMMAND[:3], str(config), *COMMAND[4:]]


def waiting():
    """The filter, which does not begin before it may."""
    asked = DIRECTORY / "asked"
    before = f'touch "{asked}/$$"; while [ ! -e "{asked}/go" ]; do sleep 0.05; done'
    return ["/bin/sh", "-c", f"{before}; exec " + " ".join(f"'{word}'" for word in COMMAND)]


def early(lines, evaluate):
    """A filter that ends early and successfully makes the job fail."""
    command = ["/bin/sh", "-c", f"head -n 3 | '{EVALUATOR}' pipe -c '{DIRECTORY}/eval_config.yaml' --group-by trace"]
    try:
        evaluate(lines, command).collect()
    except Exception as error:
        assert "lines, and" in str(error), error
        say("filter that ends early: the job fails")
        return
    raise AssertionError("a filter that ends early was not noticed")


def killed(cluster, lines, evaluate):
    """Kills a worker with its executor, and the executor of the other worker, while filters are running. Returns the rows."""
    asked = DIRECTORY / "asked"

    def kill():
        try:
            wait("the first filters", lambda: list(asked.iterdir()))
            victim, cluster.workers[1] = cluster.workers[1], cluster.worker("localhost")
            # The script of the worker has replaced itself by Java.
            for pid in [*processes("CoarseGrainedExecutorBackend"), victim.pid]:
                os.kill(pid, signal.SIGKILL)
        finally:
            (asked / "go").touch()

    with ThreadPoolExecutor() as pool:
        killing = pool.submit(kill)
        rows = evaluate(lines, waiting()).collect()
        killing.result()
    return rows


if __name__ == "__main__":
    # So that the cluster is stopped, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    main()
