"""Draws the pictures of docs/guides/how-sure.md from the formulas of gates and comparisons.

Usage: python3 docs/picture/how_sure.py [--check]

With --check, the formulas are compared with the vectors of the statistics, and the pictures with those that would be drawn;
nothing is written. Needs nothing but Python.
"""

import json
import math
import re
import sys
from pathlib import Path
from statistics import NormalDist, mean

HERE = Path(__file__).parent
VECTORS = HERE.parents[1] / "tests" / "vectors" / "statistics"
CONFIDENCE = 0.95
LIMIT = 0.8

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f; }
  .panel { fill: #ffffff; stroke: #d0d7de; }
  .title { font-weight: 600; }
  .small { font-size: 11px; }
  .faint { fill: #59636e; }
  .axis { stroke: #59636e; fill: none; }
  .limit { stroke: #24292f; stroke-dasharray: 4 3; fill: none; }
  .pass { fill: #2da44e; } .fail { fill: #cf4444; } .open { fill: #b6bdc6; }
  .pass-line { stroke: #2da44e; } .fail-line { stroke: #cf4444; } .open-line { stroke: #8b949e; }
  .mark { stroke-width: 3; fill: none; }
  .on { fill: #ffffff; font-weight: 600; } .on-open { fill: #24292f; font-weight: 600; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .panel { fill: #16181d; stroke: #3d444d; }
    .faint { fill: #9198a1; }
    .axis { stroke: #9198a1; }
    .limit { stroke: #e6edf3; }
    .pass { fill: #2b8a45; } .fail { fill: #b83b3b; } .open { fill: #4b535d; }
    .on-open { fill: #ffffff; }
  }
"""


# Formulas


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, 500):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * fraction


def bisect(function, target: float, low: float, high: float) -> float:
    """The argument at which an increasing function has this value."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < target else (low, middle)
    return (low + high) / 2


def student_quantile(p: float, df: float) -> float:
    return bisect(lambda t: 1 - beta_cdf(df / (df + t * t), df / 2, 0.5) / 2, p, 0, 1e4)


def clopper_pearson(k: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    a = (1 - confidence) / 2
    lower = bisect(lambda x: beta_cdf(x, k, n - k + 1), a, 0, 1) if k else 0.0
    upper = bisect(lambda x: beta_cdf(x, k + 1, n - k), 1 - a, 0, 1) if k < n else 1.0
    return lower, upper


def bounded_mean(values: list[float], low: float, high: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of a mean: as if about two more cases had been seen at the worst end."""
    n, p = len(values), 1 - (1 - confidence) / 2
    if n < 2:
        return low, high
    w, t = NormalDist().inv_cdf(p) ** 2 / 2, student_quantile(p, n - 1)
    total = n + w

    def side(end: float) -> tuple[float, float]:
        middle = (math.fsum(values) + w * end) / total
        squares = math.fsum((value - middle) ** 2 for value in values) + w * (end - middle) ** 2
        return middle, t * math.sqrt(squares * total / (total - 1)) / total

    (below, left), (above, right) = side(low), side(high)
    return max(low, below - left), min(high, above + right)


def verdict(interval: tuple[float, float]) -> str:
    lower, upper = interval
    return "pass" if lower >= LIMIT else "fail" if upper < LIMIT else "open"


def at_most(k: int, n: int, p: float) -> float:
    """The chance of at most k passes of n."""
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))


def check_formulas() -> None:
    def vectors(name: str):
        for line in (VECTORS / f"{name}.jsonl").read_text().splitlines():
            vector = json.loads(line)
            if "lower" in vector.get("out", {}):
                yield vector["in"], (vector["out"]["lower"], vector["out"]["upper"])

    def agree(found: tuple, expected: tuple, given: dict) -> None:
        if any(abs(one - other) > 1e-6 for one, other in zip(found, expected)):
            raise SystemExit(f"the interval of {given} is {found} instead of {expected}")

    for given, expected in vectors("clopper_pearson"):
        agree(clopper_pearson(given["k"], given["n"], given["confidence"]), expected, given)
    for given, expected in vectors("bounded_mean"):
        if not given.get("clusters"):
            found = bounded_mean(given["values"], given["low"], given["high"], given["confidence"])
            agree(found, expected, given)


# Pictures


class Plot:
    """A rectangle with axes. Values are those of the axes."""

    def __init__(self, left: float, top: float, width: float, height: float, x: tuple, y: tuple):
        self.box, self.x, self.y, self.parts = (left, top, width, height), x, y, []

    def at(self, x: float, y: float) -> tuple[float, float]:
        left, top, width, height = self.box
        (x0, x1), (y0, y1) = self.x, self.y
        return round(left + (x - x0) / (x1 - x0) * width, 1), round(top + (y1 - y) / (y1 - y0) * float(height), 1)

    def text(self, x: float, y: float, text: str, style: str = "", anchor: str = "middle", dx: float = 0, dy: float = 0):
        left, top = self.at(x, y)
        self.parts.append(
            f'<text x="{round(left + dx, 1)}" y="{round(top + dy, 1)}" text-anchor="{anchor}" class="{style}">{text}</text>'
        )

    def path(self, points, style: str, close: bool = False):
        text = " ".join(f"{x},{y}" for x, y in (self.at(*point) for point in points))
        self.parts.append(f'<{"polygon" if close else "polyline"} points="{text}" class="{style}"/>')

    def axes(self, title: str, xs: dict, ys: dict, below: str):
        left, top, width, height = self.box
        (x0, x1), (y0, y1) = self.x, self.y
        self.parts.append(f'<text x="{left}" y="{top - 14}" class="title">{title}</text>')
        self.path([(x0, y1), (x0, y0), (x1, y0)], "axis")
        for x, label in xs.items():
            self.text(x, y0, label, "faint", dy=18)
        for y, label in ys.items():
            self.text(x0, y, label, "faint", "end", dx=-6, dy=4)
        self.parts.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle" class="faint">{below}</text>')


def svg(width: int, height: int, label: str, plots: list[Plot]) -> str:
    parts = "\n".join(part for plot in plots for part in plot.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{label}">\n<style>{STYLE}</style>\n'
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="panel"/>\n{parts}\n</svg>\n'
    )


def percent(values) -> dict:
    return {value / 100: f"{value} %" for value in values}


def bare_threshold() -> str:
    """How often 40 cases pass, fail or stay undecided, by the true rate of the agent."""
    rates = [number / 200 for number in range(120, 201)]
    verdicts = [verdict(clopper_pearson(k, 40)) for k in range(41)]
    last_fail, last_open = max(k for k in range(41) if verdicts[k] == "fail"), max(k for k in range(41) if verdicts[k] == "open")
    plots = []
    for left, title, edges, styles, labels in [
        (62, "A bare threshold: 32 of 40 pass", [31], ["fail", "pass"], [("fails", 0.68, 0.7, "on"), ("passes", 0.92, 0.35, "on")]),
        (
            432, "The gate pass_rate &gt;= 0.8 over 40 cases", [last_fail, last_open], ["fail", "open", "pass"],
            [("FAIL", 0.63, 0.84, "on"), ("INCONCLUSIVE", 0.79, 0.5, "on-open"), ("PASS", 0.963, 0.2, "on")],
        ),
    ]:
        plot = Plot(left, 46, 310, 190, (0.6, 1.0), (0.0, 1.0))
        # From the top: what has at most so many passes, then the rest.
        bounds = [[1.0] * len(rates), *([1 - at_most(k, 40, p) for p in rates] for k in edges), [0.0] * len(rates)]
        for upper, lower, style in zip(bounds, bounds[1:], styles):
            plot.path([*zip(rates, upper), *reversed(list(zip(rates, lower)))], style, close=True)
        plot.path([(LIMIT, 0), (LIMIT, 1)], "limit")
        plot.axes(title, percent(range(60, 101, 10)), percent(range(0, 101, 25)), "true pass rate of the agent")
        for text, x, y, style in labels:
            plot.text(x, y, text, style)
        plots.append(plot)
    return svg(770, 300, "Share of runs that pass, fail or stay undecided, by the true pass rate", plots)


def how_many() -> str:
    """Intervals of 90 % passes of more and more cases, next to a limit of 80 %."""
    plot = Plot(62, 46, 680, 190, (-0.5, 6.5), (0.5, 1.0))
    sizes = [10, 20, 40, 80, 160, 320, 640]
    for x, n in enumerate(sizes):
        interval = clopper_pearson(n * 9 // 10, n)
        style = verdict(interval)
        plot.path([(x, interval[0]), (x, interval[1])], f"mark {style}-line")
        for end in interval:
            plot.path([(x - 0.08, end), (x + 0.08, end)], f"mark {style}-line")
        left, top = plot.at(x, 0.9)
        plot.parts.append(f'<circle cx="{left}" cy="{top}" r="5" class="{style}"/>')
        word = {"pass": "PASS", "open": "INCONCLUSIVE", "fail": "FAIL"}[style]
        plot.text(x, 0.5, word, "faint small", dy=-6)
    plot.path([(-0.5, LIMIT), (6.5, LIMIT)], "limit")
    plot.text(6.5, LIMIT, "limit", "faint", "end", dy=-5)
    plot.axes(
        "90 % of the cases pass: pass_rate &gt;= 0.8", {x: str(n) for x, n in enumerate(sizes)}, percent(range(50, 101, 10)),
        "number of cases",
    )
    return svg(770, 300, "Intervals of a pass rate of 90 percent get narrower with more cases", [plot])


def paired() -> str:
    """Two runs over the same 100 cases: an interval for each, and one for the difference."""
    # Cases are of very different difficulty; nearly all of them improve by a bit.
    old = [0.25 + 0.65 * (i % 20) / 19 for i in range(100)]
    new = [value + 0.07 + 0.03 * math.sin(i) for i, value in enumerate(old)]
    pairs = [b - a for a, b in zip(old, new)]
    left = Plot(62, 46, 310, 190, (0, 3), (0.45, 0.8))
    for x, label, values in [(1, "old", old), (2, "new", new)]:
        interval = bounded_mean(values, 0, 1)
        draw_interval(left, x, interval, mean(values), "open")
        left.text(x, mean(values), f"{mean(values):.2f}", "faint", "start", dx=14, dy=4)
    left.axes("Each run by itself", {1: "old", 2: "new"}, {y: f"{y:.1f}" for y in (0.5, 0.6, 0.7, 0.8)}, "mean score of 100 cases")
    right = Plot(432, 46, 310, 190, (0, 2), (-0.05, 0.15))
    interval = bounded_mean(pairs, -1, 1)
    assert interval[0] > 0 and bounded_mean(old, 0, 1)[1] > bounded_mean(new, 0, 1)[0]
    draw_interval(right, 1, interval, mean(pairs), "pass")
    right.text(1, mean(pairs), f"+{mean(pairs):.2f} ({interval[0]:+.2f} to {interval[1]:+.2f})", "faint", "start", dx=14, dy=4)
    right.path([(0, 0), (2, 0)], "limit")
    right.text(2, 0, "no difference", "faint", "end", dy=16)
    right.axes("Each case with itself", {1: "new - old"}, {y: f"{y:+.2f}" for y in (-0.05, 0, 0.05, 0.1, 0.15)}, "mean difference")
    return svg(770, 300, "The intervals of two runs overlap, and that of the differences excludes zero", [left, right])


def draw_interval(plot: Plot, x: float, interval: tuple[float, float], middle: float, style: str):
    plot.path([(x, interval[0]), (x, interval[1])], f"mark {style}-line")
    for end in interval:
        plot.path([(x - 0.08, end), (x + 0.08, end)], f"mark {style}-line")
    left, top = plot.at(x, middle)
    plot.parts.append(f'<circle cx="{left}" cy="{top}" r="5" class="{style}"/>')


def repeats() -> str:
    """How wide an interval is with more repeats of 40 cases, and with more cases."""
    cases, agent, judge, spread, first = 0.71, 0.22, 0.07, 0.3, 40

    def half(n: int, repeats: int) -> float:
        return 1.96 * spread * math.sqrt((cases + agent + judge / repeats) / n)

    plot = Plot(72, 46, 560, 190, (1, 8), (0.0, 0.1))
    times = range(1, 9)
    more_repeats = [(r, half(first, r)) for r in times]
    more_cases = [(r, half(first * r, 1)) for r in times]
    for points, style, text in [(more_repeats, "open", "40 cases, more repeats"), (more_cases, "pass", "more cases, once each")]:
        plot.path(points, f"mark {style}-line")
        for x, y in points:
            left, top = plot.at(x, y)
            plot.parts.append(f'<circle cx="{left}" cy="{top}" r="4" class="{style}"/>')
        plot.text(8, points[-1][1], text.split(",")[0], "", "start", dx=10, dy=-3)
        plot.text(8, points[-1][1], text.split(", ")[1], "faint", "start", dx=10, dy=13)
    plot.axes(
        "Half width of the interval of a mean", {r: str(first * r) for r in times}, {y / 100: f"±{y / 100:.2f}" for y in (0, 2, 4, 6, 8, 10)},
        "evaluations; of the variance, 71 % is between cases, 22 % the agent, 7 % the judge",
    )
    return svg(770, 300, "More cases narrow an interval, more repeats of the same cases hardly do", [plot])


PICTURES = {"bare-threshold": bare_threshold, "how-many-cases": how_many, "paired": paired, "repeats": repeats}


def is_same(one: str, other: str) -> bool:
    """Whether two pictures are the same. Coordinates may be rounded otherwise by another machine."""
    number = re.compile(r"-?\d+\.\d+")
    if number.sub("", one) != number.sub("", other):
        return False
    pairs = zip(number.findall(one), number.findall(other))
    return all(abs(float(a) - float(b)) < 0.15 for a, b in pairs)


def main() -> None:
    check_formulas()
    for name, draw in PICTURES.items():
        file, picture = HERE / f"{name}.svg", draw()
        if "--check" not in sys.argv:
            file.write_text(picture, encoding="utf-8")
        elif not is_same(file.read_text(encoding="utf-8"), picture):
            raise SystemExit(f"{file} is outdated: draw it with python3 docs/picture/how_sure.py")


if __name__ == "__main__":
    main()
