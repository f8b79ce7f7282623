"""Draws the picture of the README, run.svg, from a run on a terminal.

Usage: python3 docs/picture/render.py [--check] [EVALUATOR]

EVALUATOR is the program, by default `evaluator` on PATH. With --check, the picture is compared with the run and not
written; durations may differ.
"""

import html
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path(__file__).with_name("run.svg")
ARGUMENTS = ["run", "examples/traces/booking.json", "--config", "docs/picture/eval_config.yaml"]
COLUMNS = 124
# Pixels of a character, a line and the margin; colours of the terminal.
WIDTH, LINE, MARGIN = 7.83, 19, 16
BACKGROUND, TEXT, FAINT = "#16181d", "#d6d9e0", "#8b91a0"
COLOURS = {"31": "#ff6b6b", "32": "#57d38c"}


def recorded(program: str) -> str:
    """Runs the command with a terminal as its standard output. Returns what it prints, with escape sequences."""
    terminal, stdout = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR")}
    environment |= {"COLUMNS": str(COLUMNS), "CLICOLOR_FORCE": "1", "TERM": "xterm-256color"}
    with subprocess.Popen(
        [program, *ARGUMENTS, "--quiet"], cwd=ROOT, env=environment, stdout=stdout, stderr=subprocess.PIPE
    ) as process:
        os.close(stdout)
        output = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # Linux reports the end of a terminal as an error.
                part = b""
            if not part:
                break
            output += part
        output += process.stderr.read()
    os.close(terminal)
    if process.returncode != 3:
        raise SystemExit(f"{program} exited with {process.returncode} instead of 3:\n{output.decode()}")
    return output.decode().replace("\r\n", "\n")


def screen(program: str) -> list[str]:
    """The lines of the picture. Sums of durations and tokens are left out."""
    table, _, rest = recorded(program).partition("\n  Performance Metrics:")
    last = rest.rstrip("\n").rpartition("\n")[2]
    return [f"$ evaluator {' '.join(ARGUMENTS)}", *table.rstrip("\n").split("\n"), "", last]


def spans(line: str) -> str:
    """A line as SVG, each part in its colour."""
    text, style = "", ""
    for part in re.split(r"(\x1b\[\d*m)", line):
        code = re.fullmatch(r"\x1b\[(\d*)m", part)
        if not code:
            text += f"<tspan{style}>{html.escape(part, quote=False)}</tspan>" if part else ""
        elif code[1] in COLOURS:
            style = f' fill="{COLOURS[code[1]]}" font-weight="bold"'
        elif code[1] in ("", "0"):
            style = ""
    return text


def picture(lines: list[str]) -> str:
    width = round(2 * MARGIN + WIDTH * max(len(re.sub(r"\x1b\[\d*m", "", line)) for line in lines))
    height = 2 * MARGIN + LINE * len(lines)
    rows = "".join(
        f'<text x="{MARGIN}" y="{MARGIN + LINE * number + 14}" fill="{FAINT if number == 0 else TEXT}">{spans(line)}</text>\n'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="A run with two passes, a failure and an error">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" xml:space="preserve" '
        f'style="white-space: pre">\n{rows}</g>\n</svg>\n'
    )


def words(svg: str) -> list[str]:
    """The words of a picture without durations, and without lines, which are as wide as durations are long."""
    text = html.unescape(re.sub(r"<[^>]*>", "", svg))
    return [word for word in text.split() if not re.fullmatch(r"\d+(\.\d+)?m?s|-+", word)]


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    svg = picture(screen(arguments[0] if arguments else "evaluator"))
    if "--check" not in sys.argv:
        PICTURE.write_text(svg, encoding="utf-8")
    elif words(PICTURE.read_text(encoding="utf-8")) != words(svg):
        raise SystemExit(f"{PICTURE} is outdated; this is the run now:\n" + " ".join(words(svg)))


if __name__ == "__main__":
    main()
