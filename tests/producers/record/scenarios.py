"""The five scenarios: what the user says, and what the scripted model answers.

A model's answer is a `Step`: a text, or calls of tools. The tools are the same for every producer; they write down with
which arguments they were run and what came of it, so that the expected conversation does not depend on the trace.
"""

import inspect
from dataclasses import dataclass, field
from typing import Any, TypedDict

SYSTEM = "You are a weather assistant."
TEMPERATURES = {"Oslo": "4C", "Lima": "19C"}
FORECASTS = {"Zürich": "21.5 °C, sunny"}


class NoSuchCity(Exception):
    """A tool's error."""


class Place(TypedDict):
    """Where a forecast is for."""

    city: str
    country: str


@dataclass
class Step:
    """One answer of the model."""

    text: str | None = None
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@dataclass
class Turn:
    """One message of the user, and the model's answers up to the final one."""

    user: str
    steps: list[Step]

    @property
    def final(self) -> str:
        return self.steps[-1].text


OSLO = ("get_weather", {"city": "Oslo"})
LIMA = ("get_weather", {"city": "Lima"})
ZURICH = (
    "get_forecast",
    {"place": {"city": "Zürich", "country": "CH"}, "days": 3, "min_confidence": 0.75},
)

SCENARIOS = {
    # One call: a nested object, numbers, characters outside of ASCII and of the basic plane.
    "S1": [
        Turn(
            "How will the weather be in Zürich over the next three days? 🌦",
            [Step(calls=[ZURICH]), Step("Zürich: 21.5 °C and sunny ☀ for three days.")],
        )
    ],
    # Two turns.
    "S2": [
        Turn("What is the weather in Oslo?", [Step(calls=[OSLO]), Step("It is 4 degrees in Oslo.")]),
        Turn("And what about Lima then?", [Step(calls=[LIMA]), Step("In Lima it is 19 degrees.")]),
    ],
    # Two calls in one answer.
    "S3": [
        Turn(
            "Which is warmer, Oslo or Lima?",
            [Step(calls=[OSLO, LIMA]), Step("Lima is the warmer of the two.")],
        )
    ],
    # A tool that raises an error.
    "S4": [
        Turn(
            "What is the weather in Atlantis?",
            [
                Step(calls=[("get_weather", {"city": "Atlantis"})]),
                Step("Sorry, there is no city named Atlantis."),
            ],
        )
    ],
    # No call.
    "S5": [Turn("Say hello in French.", [Step("Bonjour !")])],
}


class Tools:
    """The tools, and what happened to them since the turn began."""

    def __init__(self, error: str | None = None, prefix: str = "") -> None:
        """`error` is what the framework makes of an error, where that does not name it; `prefix` is what it puts before
        names of tools."""
        self.error, self.prefix = error, prefix
        self.calls: list[dict] = []
        self.responses: list[dict] = []

    def begin_turn(self) -> None:
        self.calls, self.responses = [], []

    def note(self, name: str, args: dict, text: str) -> None:
        """Notes a call and a part of its result or error that tells it from others."""
        name = f"{self.prefix}{name}"
        self.calls.append({"name": name, "args": args})
        self.responses.append({"name": name, "text_contains": text})

    def functions(self, is_async: bool = False) -> list:
        """The tools as plain functions with docstrings in Google's style, which all frameworks can read."""

        def get_weather(city: str) -> str:
            """Current weather of a city.

            Args:
                city: the city
            """
            args = {"city": city}
            if city not in TEMPERATURES:
                error = f"no such city: {city}"
                self.note("get_weather", args, self.error or error)
                raise NoSuchCity(error)
            result = f"{city}: {TEMPERATURES[city]}"
            self.note("get_weather", args, result)
            return result

        def get_forecast(place: Place, days: int, min_confidence: float) -> dict:
            """Forecast for a place.

            Args:
                place: the place, with its city and country
                days: number of days
                min_confidence: least confidence
            """
            place = place if isinstance(place, dict) else place.model_dump()
            summary = FORECASTS[place["city"]]
            args = {"place": dict(place), "days": days, "min_confidence": min_confidence}
            self.note("get_forecast", args, summary)
            return {"city": place["city"], "summary": summary}

        functions = [get_weather, get_forecast]
        return [as_coroutine(function) for function in functions] if is_async else functions

    def run(self, name: str, args: dict) -> Any:
        """Runs a tool by name."""
        return {function.__name__: function for function in self.functions()}[name](**args)


def as_coroutine(function):
    async def call(*args, **kwargs):
        return function(*args, **kwargs)

    call.__name__, call.__qualname__, call.__doc__ = function.__name__, function.__name__, function.__doc__
    call.__annotations__, call.__signature__ = function.__annotations__, inspect.signature(function)
    return call


WEATHER_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FORECAST_SCHEMA = {
    "type": "object",
    "properties": {
        "place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
        },
        "days": {"type": "integer"},
        "min_confidence": {"type": "number"},
    },
    "required": ["place", "days", "min_confidence"],
}
# For client libraries, which take schemas instead of functions.
SCHEMAS = [
    ("get_weather", "Current weather of a city.", WEATHER_SCHEMA),
    ("get_forecast", "Forecast for a place.", FORECAST_SCHEMA),
]
