"""Runs evaluators through Agenta's SDK: jobs in, what it makes of each out (both JSON files).

A job has the arguments of `agenta.evaluator` (`evaluator`), the `data` of the request, and what custom code does not receive
otherwise, the fault (`fault`).
"""

import asyncio
import json
import os
import sys
import traceback

import agenta
from agenta.sdk.models.workflows import WorkflowInvokeRequest

# Nothing is sent there: without a key, it only makes the SDK ready.
agenta.init(host="http://127.0.0.1:9")


async def run(job):
    os.environ["FAULT"] = job["fault"]
    evaluator = agenta.evaluator(**job["evaluator"])
    try:
        response = await evaluator.invoke(request=WorkflowInvokeRequest(data=job["data"]))
    except Exception as error:
        return {"status": {"code": 500, "message": repr(error)}}
    return response.model_dump(mode="json", exclude_none=True)


async def main():
    with open(sys.argv[1]) as file:
        jobs = json.load(file)
    results = [await run(job) for job in jobs]
    with open(sys.argv[2], "w") as file:
        json.dump(results, file)


try:
    asyncio.run(main())
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
# What is left waits for a server that is not there.
os._exit(0)
