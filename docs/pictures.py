"""Draw the pictures of the README and the documentation.

Run ``python docs/pictures.py`` for all of them, or with the names of some functions of this module.
"""

import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import hitoku as ht
from hitoku import plots
from hitoku.evidence import Outcome
from hitoku.plots import deviations as draw_deviations
from hitoku.plots import draw_table
from hitoku.plots import INK, PAPER

IMAGES = Path(__file__).parent / "images"
# The browser of the tests takes the screenshots of the report.
sys.path.insert(0, str(IMAGES.parents[1]))
from tests.io.report.chromium import Chromium, installed


def protected_table() -> None:
    """Draw a table with one unsafe cell, suppressed alone and with secondary suppressions."""
    table = ht.Table.from_array(
        [[20, 50, 10, 22], [8, 19, 22, 50], [17, 32, 3, 12]],
        names=("region", "trade"),
        codes=[
            ["Gullhaven", "Mossford", "Eelmouth"],
            ["Music boxes", "Sea yarns", "Fog bottling", "Map drawing"],
        ],
    )
    need = ht.assess(table, [ht.MinFrequency(5)], width=9)
    blank = ht.Protection.withhold(table, need.unsafe, need)
    safe = ht.Greedy(keep="margins", tidy=True).protect(table, need)
    figure = Figure(figsize=(13.2, 2.9), facecolor=PAPER, layout="constrained")
    titles = (
        "Primary suppression only: recomputable",
        "With secondary suppressions: an interval",
    )
    for axes, title, protection in zip(figure.subplots(1, 2), titles, (blank, safe), strict=True):
        release = ht.Release.of(table, protection)
        draw_table(axes, release, ht.Interval().bounds(release))
        axes.set_title(title, fontsize=11.5, color=INK, loc="left", pad=12)
    assert ht.audit(table, need, ht.Release.of(table, safe)).safe
    assert np.count_nonzero(need.unsafe) == 1
    figure.savefig(IMAGES / "protected-table.png", dpi=110, metadata={"Software": None})


def bound_and_cost() -> None:
    """Draw the search for the cheapest pattern of a small three-way table."""
    rng = np.random.default_rng(10)
    table = ht.Table.from_array(np.round(rng.lognormal(4, 1.5, (4, 4, 3))) + 1)
    unsafe = np.zeros(table.n_cells, dtype=bool)
    unsafe[rng.choice(np.flatnonzero(table.inner), 5, replace=False)] = True
    level = np.where(unsafe, np.ceil(0.15 * table.value), 0.0)
    need = ht.Need(unsafe=unsafe, lower=level, upper=level)
    found = ht.Optimal(cost="value").protect(table, need)
    figure = plots.bound_and_cost(
        found, title="Five unsafe cells of 100: the cost is proven where the lines meet"
    )
    figure.savefig(IMAGES / "bound-and-cost.png", dpi=110, metadata={"Software": None})


def open_search() -> None:
    """Draw the search on a dense three-way table: the instance c3d_10 of bench/optimal.py."""
    from bench.optimal import CUBES, SEED, invented

    index = list(CUBES).index("c3d_10")
    table, need = invented(*CUBES["c3d_10"], SEED + index)
    found = ht.Optimal(cost="own", work_limit=16_000).protect(table, need)
    figure = plots.bound_and_cost(
        found, title="50 unsafe cells of 1,331 in 10 x 10 x 10: stopped by a work limit, with a gap"
    )
    figure.savefig(IMAGES / "open-search.png", dpi=110, metadata={"Software": None})


def deviations() -> None:
    """Draw one table adjusted in L1 and in L2: the example of docs/reference/methods/adjust.md."""
    rng = np.random.default_rng(11)
    table = ht.Table.from_array(np.round(rng.lognormal(5, 1.4, (12, 9))))
    unsafe = table.inner & (rng.random(table.n_cells) < 0.12)
    level = np.where(unsafe, np.round(0.15 * table.value) + 1, 0)
    need = ht.Need(unsafe=unsafe, lower=level, upper=level)
    audits = {}
    for norm, title in (("l1", "L1: few cells move"), ("l2", "L2: many cells move a little")):
        adjusted = ht.Adjust(norm=norm, senses="hash", key="keep me secret").protect(table, need)
        audits[title] = ht.audit(table, need, ht.Release.of(table, adjusted))
        assert audits[title].safe
    figure = draw_deviations(audits)
    figure.savefig(IMAGES / "deviations.png", dpi=110, metadata={"Software": None})


def compared_methods() -> None:
    """Draw the example of docs/how-to/compare-methods.md."""
    firms = ht.samples.register(n=3_000)
    table = ht.tabulate(
        firms.records, by=["size", "region"], value="turnover", unit="enterprise", holding="holding"
    )
    need = ht.assess(table, [ht.PPercent(10), ht.FewContributors(3)])
    adjust = ht.Adjust(norm="l1", senses="hash", key="keep me secret")
    compared = ht.compare(table, need, [ht.Greedy(), ht.Gauss(), ht.Optimal(cost="value"), adjust])
    blank = ht.Release.of(table, ht.Protection.withhold(table, need.unsafe, need))
    release = ht.Release.of(table, ht.Greedy().protect(table, need))
    found = {
        "Only primary suppression": ht.Interval().bounds(blank),
        "With secondary suppression by Greedy": ht.Interval().bounds(release),
    }
    figures = {
        "loss-against-protection": plots.loss_against_protection(
            compared, title="Turnover by size and region (synthetic)"
        ),
        "before-and-after": plots.before_and_after(table, need, found),
        "intervals": plots.intervals(table, need, found["With secondary suppression by Greedy"]),
        "heat-map": plots.heat_map(release),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})


def report() -> None:
    """Take screenshots of the report of docs/how-to/read-the-report.md, and of a disclosure in an unsafe one."""
    # The code of the page, which the tests run as well.
    text = (IMAGES.parent / "how-to" / "read-the-report.md").read_text("utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    with TemporaryDirectory() as temporary:
        here, names = Path(temporary), {}
        exec(code.replace('"report.html"', repr(str(here / "report.html"))), names)
        table, need = names["table"], names["done"].need
        alone = ht.Protection.withhold(table, need.unsafe, need)
        failing = Outcome(alone, ht.audit(table, need, ht.Release.of(table, alone)))
        names["write_report"](here / "failing.html", failing, names["plan"])
        browser = Chromium(installed() or "chromium", here)
        try:
            browser.look(width=1280, height=1340)
            browser.open(here / "report.html")
            picture = Image.open(BytesIO(browser.picture()))
            browser.open(here / "failing.html")
            browser.value("document.querySelector('figure').scrollIntoView()")
            sides = "const r = document.querySelector('figure').getBoundingClientRect(); "
            corners = browser.value(f"(() => {{ {sides} return [r.left, r.top, r.right, r.bottom]; }})()")
            drawn = Image.open(BytesIO(browser.picture())).crop(tuple(map(round, corners)))
        finally:
            browser.close()
    picture.convert("RGB").crop((0, 0, 1265, 1340)).quantize(200).save(IMAGES / "report.png", optimize=True)
    drawn.convert("RGB").quantize(64).save(IMAGES / "report-disclosed.png", optimize=True)


PICTURES = (report, compared_methods, deviations, bound_and_cost, open_search, protected_table)

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for draw in PICTURES:
        if not sys.argv[1:] or draw.__name__ in sys.argv[1:]:
            draw()
