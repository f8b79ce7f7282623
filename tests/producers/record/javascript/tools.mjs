// The tools of every producer in JavaScript. They write down with which arguments they were run and what came of it, as
// those of `scenarios.py` do.

const TEMPERATURES = { Oslo: "4C", Lima: "19C" };
const FORECASTS = { Zürich: "21.5 °C, sunny" };

export class Tools {
  // Starts new lists of tool calls and responses, and returns them.
  beginTurn() {
    this.calls = [];
    this.responses = [];
    return this;
  }

  note(name, args, text) {
    this.calls.push({ name, args });
    this.responses.push({ name, text_contains: text });
  }

  get_weather = async ({ city }) => {
    if (!(city in TEMPERATURES)) {
      const message = `no such city: ${city}`;
      this.note("get_weather", { city }, message);
      throw new Error(message);
    }
    const result = `${city}: ${TEMPERATURES[city]}`;
    this.note("get_weather", { city }, result);
    return result;
  };

  get_forecast = async ({ place, days, min_confidence }) => {
    const summary = FORECASTS[place.city];
    this.note("get_forecast", { place, days, min_confidence }, summary);
    return { city: place.city, summary };
  };
}

// Descriptions, and the parameters in the schema library `z`.
export const DESCRIPTIONS = { get_weather: "Current weather of a city.", get_forecast: "Forecast for a place." };
export const parameters = (z) => ({
  get_weather: z.object({ city: z.string() }),
  get_forecast: z.object({
    place: z.object({ city: z.string(), country: z.string() }),
    days: z.number(),
    min_confidence: z.number(),
  }),
});
