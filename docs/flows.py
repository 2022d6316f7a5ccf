"""Draw the flows of explanation/architecture.md and the users of explanation/feasibility.md: python docs/flows.py.

Both are read from the tables on these pages, which tests compare with the sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

PAGE = Path(__file__).parent / "explanation" / "architecture.md"
TOOLBOX = PAGE.with_name("feasibility.md")
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


def users(page: Path = TOOLBOX) -> dict[str, list[str]]:
    """Return the users of every module of the toolbox, from the table of users."""
    section = page.read_text("utf-8").split("## Who uses what")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    (_, *names), *body = [[cell.strip().strip("`") for cell in row] for row in rows]
    return {
        module: [name for name, mark in zip(names, marks, strict=True) if mark] for module, *marks in body
    }


def draw_users(toolbox: dict[str, list[str]]) -> Figure:
    """Draw the modules of the toolbox on the left, the packages that use them on the right."""
    packages = list(dict.fromkeys(name for names in toolbox.values() for name in names))
    rows, width = max(len(toolbox), len(packages)), 6.4
    figure = Figure(figsize=(width, 0.46 * rows), facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(rows, 0))
    axes.axis("off")
    sides = ((0.9, list(toolbox), "monospace"), (width - 0.9, packages, "sans-serif"))
    spots = {
        name: (x, (place + 0.5) * rows / len(names))
        for x, names, _ in sides
        for place, name in enumerate(names)
    }
    for module, names in toolbox.items():
        for name in names:
            (x, y), (to_x, to_y) = spots[module], spots[name]
            (line,) = axes.plot([x + 0.78, to_x - 0.78], [y, to_y], color=LINE, lw=0.9, alpha=0.7, zorder=1)
            line.set_gid(f"{module} > {name}")
    for x, names, family in sides:
        for name in names:
            y = spots[name][1]
            box = FancyBboxPatch((x - 0.76, y - 0.3), 1.52, 0.6, boxstyle="round,pad=0.02", zorder=3)
            box.set(facecolor=BOX, edgecolor=LINE)
            axes.add_patch(box)
            axes.text(x, y, name, ha="center", va="center", fontsize=8, color=INK, family=family, zorder=4)
    return figure


if __name__ == "__main__":
    # Text is kept as text, for searching and for the test; no date and fixed ids, for identical bytes in every run.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hitoku", "font.family": "DejaVu Sans"})
    for file, heading in FLOWS.items():
        draw(steps(heading)).savefig(IMAGES / file, metadata={"Date": None, "Creator": None})
    draw_users(users()).savefig(IMAGES / "toolbox.svg", metadata={"Date": None, "Creator": None})
