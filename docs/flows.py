"""Draw the two flows of explanation/architecture.md from the tables on that page: python docs/flows.py."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

PAGE = Path(__file__).parent / "explanation" / "architecture.md"
IMAGES = Path(__file__).parent / "images"
ROW = re.compile(
    r"^\| (?P<step>[^|]+) \| `(?P<file>[^`]+)` \| `(?P<name>\w+)` \| (?P<gives>[^|]+) \|$", re.MULTILINE
)
FLOWS = {
    "flow-recipe.svg": "## From a recipe to a report",
    "flow-session.svg": "## From a session to a check",
}
INK, PAPER, BOX, LINE = "#1b2a3a", "#ffffff", "#e8f0f7", "#5b7a99"
HEAD, STEP = 0.5, 0.56  # inches


def steps(heading: str) -> list[dict[str, str]]:
    """Return the rows of the table under a heading."""
    section = PAGE.read_text("utf-8").split(heading)[1].split("\n## ")[0]
    return [match.groupdict() for match in ROW.finditer(section)]


def lane(file: str) -> str:
    """Return the package of a file; for ``checks``, the subpackage."""
    parts = file.split("/")
    return "/".join(parts[: 2 if parts[0] == "checks" else 1])


def draw(flow: list[dict[str, str]]) -> Figure:
    """Draw one column per package and one row per step; arrows are labelled with the values passed on."""
    lanes = list(dict.fromkeys(lane(step["file"]) for step in flow))
    # Monospaced letters of 8 points are 0.067 inches wide.
    box = max(0.88, 0.1 + 0.067 * max(len(step["name"]) for step in flow))
    column = box + 0.12
    width, height = column * len(lanes), HEAD + STEP * len(flow)
    figure = Figure(figsize=(width, height), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for place, name in enumerate(lanes):
        if place % 2 == 0:
            axes.axvspan(column * place, column * (place + 1), color="#f3f6f9", zorder=0)
        label = name.replace("/", "/\n")
        axes.text(
            column * (place + 0.5),
            HEAD / 2,
            label,
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
            weight="bold",
        )
    spots = [
        (column * (lanes.index(lane(step["file"])) + 0.5), HEAD + STEP * (row + 0.4))
        for row, step in enumerate(flow)
    ]
    for step, (x, y) in zip(flow, spots, strict=True):
        corner, style = (x - box / 2 + 0.03, y - 0.12), "round,pad=0.02"
        axes.add_patch(
            FancyBboxPatch(corner, box - 0.06, 0.24, boxstyle=style, facecolor=BOX, edgecolor=LINE, zorder=3)
        )
        axes.text(
            x, y, step["name"], ha="center", va="center", fontsize=8, color=INK, family="monospace", zorder=4
        )
        axes.text(
            x + 0.06, y + 0.23, step["gives"], va="center", fontsize=7.2, color=LINE, style="italic", zorder=4
        )
    for (x, y), (to_x, to_y) in zip(spots, spots[1:], strict=False):
        # Down from the box, then to the side or the top of the next one.
        side = to_x + (0 if x == to_x else -box / 2 if x < to_x else box / 2)
        end = to_y - 0.15 if x == to_x else to_y
        axes.plot([x, x], [y + 0.14, end], color=LINE, lw=1.1, zorder=1)
        axes.annotate(
            "",
            (side, end),
            (x, end - (0.05 if x == to_x else 0)),
            zorder=1,
            arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 1.1, "shrinkA": 0, "shrinkB": 0},
        )
    return figure


if __name__ == "__main__":
    # Text is kept as text, for searching and for the test; no date and fixed ids, for identical bytes in every run.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hitoku", "font.family": "DejaVu Sans"})
    for file, heading in FLOWS.items():
        draw(steps(heading)).savefig(IMAGES / file, metadata={"Date": None, "Creator": None})
