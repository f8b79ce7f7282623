"""Evaluates conversations in Apache Spark with `evaluator pipe`, the filter form of the command.

    from evaluator_spark import evaluate

    command = ["/opt/checks/evaluator", "pipe", "-c", "/opt/checks/eval_config.yaml", "--group-by", "trace"]
    evaluate(spark.sparkContext.textFile("s3://traces/2026-11"), command).saveAsTextFile("s3://parts/2026-11")

This starts one process per partition. Each row of the result is a record of the run file: a partition is one part of a run, from
its header to its end, in order. `evaluator report 2026-11/part-* --expect LINES` makes one report of the parts. A task fails
unless its part is whole, so that Spark repeats it, and nothing incomplete is committed. Keep the rows of a partition
together: write them before anything shuffles them.

Copy this file next to a job, or name it with `--py-files`. It needs nothing but PySpark 3.5 or later; `evaluate_df` also
needs pandas and PyArrow, as `DataFrame.mapInArrow` does.
"""

import json
import subprocess
import threading


class IncompletePart(Exception):
    """A task did not write a whole part. Spark repeats it."""


def evaluate(lines, command):
    """Returns the records of the conversations on the lines of an RDD, one part per partition.

    `command` is a list of words: `evaluator pipe` by its absolute path, or by one in the directory of `--archives`. Executors
    give it their environment.
    """
    command = list(command)
    return lines.mapPartitions(lambda part: piped(part, command), preservesPartitioning=False)


def evaluate_df(df, column, command):
    """Returns the records of the conversations in a column of text, as a DataFrame with the column `value`, one part per
    partition. Written by `df.write.text(..)`, the files are parts for `evaluator report`."""
    import pyarrow

    command = list(command)

    def batches(arriving):
        texts = (text for batch in arriving for text in batch.column(0).to_pylist())
        waiting = []
        for record in piped(texts, command):
            waiting.append(record)
            if len(waiting) == 256:
                yield pyarrow.RecordBatch.from_pydict({"value": waiting})
                waiting = []
        if waiting:
            yield pyarrow.RecordBatch.from_pydict({"value": waiting})

    return df.select(column).mapInArrow(batches, "value string")


def lines_of_spans(df, span="value"):
    """Returns a DataFrame with the column `value`: a line for each trace, from a DataFrame with a span per row in a column of
    text, in any order.

    Spans stay text. A schema that Spark infers would lose types: `intValue` is text in OTLP JSON, and empty arrays vanish.
    A row without a trace id is a line of its own, which is reported as an error: nothing is dropped.
    """
    from pyspark.sql import functions as f

    ids = [f.get_json_object(f.col(span), path) for path in ("$.traceId", "$.trace_id")]
    # Recorders write ids in both cases, and lines must not have a line feed in them.
    text = f.regexp_replace(f.col(span), "[\r\n]+", " ")
    spans = df.select(f.lower(f.coalesce(*ids)).alias("trace"), text.alias("span"))
    of_traces = spans.where(f.col("trace").isNotNull()).groupBy("trace").agg(f.collect_list("span").alias("spans"))
    lines = of_traces.select(f.concat(f.lit("["), f.concat_ws(",", f.col("spans")), f.lit("]")).alias("value"))
    return lines.unionAll(spans.where(f.col("trace").isNull()).select(f.coalesce("span", f.lit("")).alias("value")))


def piped(lines, command):
    """Sends lines to a process, and yields its records. Reads and writes at the same time: either may wait for the other.

    Raises `IncompletePart` unless the last record is the end of a part with as many lines as were sent.
    """
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sent, failed = [0], []

    def send():
        try:
            for line in lines:
                # A record of several lines would be several conversations.
                text = "" if line is None else line
                if "\n" in text:
                    raise ValueError("a conversation has a line feed in it: write JSON without line feeds")
                process.stdin.write(text.encode("utf-8", "surrogatepass") + b"\n")
                sent[0] += 1
            process.stdin.close()
        except BrokenPipeError:
            # The process has ended. Its exit code and its last record tell whether that was right.
            pass
        except BaseException as error:
            failed.append(error)
            # Not closed: a process that sees the end of its input would write the end of a part.
            process.kill()

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    last = b""
    try:
        # Lines end with a line feed and nothing else: text may have other separators in it.
        for last in process.stdout:
            yield last.decode("utf-8").rstrip("\n")
        code = process.wait()
        # A process that has ended early needs no further lines, and a part that it ended is not whole.
        sender.join(timeout=10)
        if failed:
            raise failed[0]
        if code != 0:
            raise IncompletePart(f"`{command[0]}` ended with exit code {code}; its messages are in the log of the executor")
        read = read_lines(last)
        if sender.is_alive() or read != sent[0]:
            raise IncompletePart(f"`{command[0]}` read {read} lines, and {sent[0]} were sent")
    finally:
        # Also if nobody wants the rest, e.g. after a limit.
        process.kill()
        process.stdout.close()
        process.wait()


def read_lines(record):
    """Returns the number of lines of the part that this record ends; `None` if it ends none."""
    try:
        record = json.loads(record)
        return record.get("read") if record.get("kind") == "end" else None
    except (ValueError, AttributeError):
        return None
