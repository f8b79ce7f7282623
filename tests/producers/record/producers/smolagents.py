"""Hugging Face's smolagents. The final answer is a call of the tool `final_answer`."""

FRAMEWORK = "smolagents"
OPENINFERENCE = "openinference-instrumentation-smolagents"
PACKAGES = ["smolagents[openai]", OPENINFERENCE]
PRODUCERS = {"smolagents-openinference": {"package": OPENINFERENCE}}


def around_turn(context):
    return context.session()


def agent(context):
    provider = context.provider()
    from openinference.instrumentation.smolagents import SmolagentsInstrumentor

    SmolagentsInstrumentor().instrument(tracer_provider=provider)
    from smolagents import OpenAIModel, Tool, ToolCallingAgent

    get_weather, get_forecast = context.tools.functions()

    class Weather(Tool):
        name, description = "get_weather", "Current weather of a city."
        inputs = {"city": {"type": "string", "description": "the city"}}
        output_type = "string"

        def forward(self, city):
            return get_weather(city)

    class Forecast(Tool):
        name, description = "get_forecast", "Forecast for a place."
        inputs = {
            "place": {"type": "object", "description": "city and country"},
            "days": {"type": "integer", "description": "number of days"},
            "min_confidence": {"type": "number", "description": "least confidence"},
        }
        output_type = "object"

        def forward(self, place, days, min_confidence):
            return get_forecast(place, days, min_confidence)

    model = OpenAIModel("gpt-4o-mini", api_base=context.openai_url, api_key="sk-1")
    weather = ToolCallingAgent([Weather(), Forecast()], model, verbosity_level=0)
    turns = []

    def say(user: str) -> str:
        answer = weather.run(user, reset=not turns)
        turns.append(user)
        context.tools.note("final_answer", {"answer": answer}, answer)
        return answer

    return say


def script(turn):
    from scenarios import Step

    return [*turn.steps[:-1], Step(calls=[("final_answer", {"answer": turn.final})])]
