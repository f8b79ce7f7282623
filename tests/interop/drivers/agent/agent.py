"""An agent that needs no model: it says what the file `answer.txt` beside the eval set says."""

import os
import pathlib

from google.adk.agents import BaseAgent
from google.adk.events import Event
from google.genai import types


class Canned(BaseAgent):
    async def _run_async_impl(self, ctx):
        answer = pathlib.Path(os.environ["ANSWER"]).read_text()
        content = types.Content(role="model", parts=[types.Part(text=answer)])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


root_agent = Canned(name="agent")
