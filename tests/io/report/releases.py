"""Small releases of every kind, to write reports about."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from hitoku.attacks import Interval
from hitoku.evidence import audit
from hitoku.io import Cells
from hitoku.methods.adjust import Adjust
from hitoku.methods.greedy import Greedy
from hitoku.model import Hierarchy, Need, Protection, Release, Table
from hitoku.pipeline import protect_table
from hitoku.rules import FewContributors, MinFrequency, PPercent, assess
from hitoku.tabulation import tabulate

# What a hostile person might call a code.
NASTY = (
    "<script>window.pwned = 1</script>",
    "</script><img src=x onerror='window.pwned = 1'>",
    '" autofocus onfocus="window.pwned = 1',
    "{{ 7 * 7 }}",
    "<!-- & -->",
)


def evidence(table: Table, need: Need, protection: Protection, *, attacked: bool = True) -> Cells:
    release = Release.of(table, protection)
    bounds = Interval().bounds(release) if attacked else None
    return Cells(table, need, protection, audit(table, need, release), bounds)


def counts() -> Cells:
    """36 inner cells of which one is below five, withheld with three others."""
    inner = np.array(
        [
            [20, 50, 10, 22, 31, 9],
            [8, 19, 22, 50, 12, 40],
            [17, 32, 3, 12, 28, 11],
            [25, 14, 30, 18, 16, 27],
            [41, 13, 15, 29, 33, 21],
            [11, 26, 24, 35, 10, 38],
        ]
    )
    table = Table.from_array(inner, names=["region", "trade"], measure="firms")
    need = assess(table, [MinFrequency(5)], width=9)
    return evidence(table, need, Greedy(keep="margins", tidy=True).protect(table, need))


def unsafe() -> Cells:
    """The same, with one unsafe cell left blank and one published."""
    whole = counts().table
    need = Need(
        unsafe=np.isin(whole.value, [3, 8]),
        lower=1.0,
        upper=2.0,
        rules={"first": whole.value == 3, "second": whole.value == 8},
    )
    return evidence(whole, need, Protection.withhold(whole, whole.value == 3, need))


def cube() -> Cells:
    """Three flat variables; the only unsafe cell is published, in the third part of the page."""
    table = Table.from_array(np.arange(27).reshape(3, 3, 3) + 10)
    need = Need(unsafe=table.value == 12, width=3.0)
    return evidence(table, need, Protection.withhold(table, table.value == 20, need))


def magnitudes() -> Cells:
    """Three variables, one of them a tree; insiders were tried."""
    rng = np.random.default_rng(7)
    n = 500
    records = pd.DataFrame(
        {
            "region": rng.choice(["N1", "N2", "S1", "S2"], n),
            "trade": rng.choice(list("pqrs"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "size": rng.choice(["small", "large"], n, p=[0.9, 0.1]),
            "owner": rng.integers(0, 300, n),
            "turnover": np.round(rng.lognormal(5, 1.5, n)),
        }
    )
    tree = Hierarchy.from_tree({"North": ["N1", "N2"], "South": ["S1", "S2"]})
    by = ["region", "trade", "size"]
    table = tabulate(records, by, value="turnover", holding="owner", hierarchies={"region": tree})
    rules = [PPercent(10), FewContributors(3)]
    done = protect_table(table, rules, method=Greedy(), insiders=True)
    return Cells(table, done.need, done.protection, done.audit, done.bounds)


def adjusted() -> Cells:
    """Values that were changed instead of withheld."""
    rng = np.random.default_rng(11)
    table = Table.from_array(np.round(rng.lognormal(5, 1.4, (6, 5))), measure="turnover")
    chosen = table.inner & (rng.random(table.n_cells) < 0.2)
    level = np.where(chosen, np.round(0.15 * table.value) + 1, 0)
    need = Need(unsafe=chosen, lower=level, upper=level, rules={"given": chosen})
    protection = Adjust(norm="l2", senses="hash", key="k").protect(table, need)
    return evidence(table, need, protection, attacked=False)


def linked() -> Cells:
    """Two tables with a common margin: no cross of codes any more."""
    first = Table.from_array([[20, 15], [72, 1]], names=["region", "sex"], measure="persons")
    second = Table.from_array([[30, 5], [60, 13]], names=["region", "age"], measure="persons")
    table = Table.link([first, second])
    need = assess(table, [MinFrequency(3)], width=3)
    return evidence(table, need, Greedy().protect(table, need))


def nasty() -> Cells:
    """Counts whose codes, variables and rules are markup."""
    table = Table.from_array(
        np.arange(25).reshape(5, 5) + 1,
        names=["<b>row</b>", "<i>column</i>"],
        codes=[list(NASTY), [code + "2" for code in NASTY]],
        total="<u>all</u>",
        measure="<em>firms</em>",
    )
    hit = table.value < 4
    need = Need(unsafe=hit, width=2.0, rules={"<script>window.pwned = 1</script>": hit})
    protection = Greedy().protect(table, need)
    return evidence(table, need, replace(protection, method="<s>greedy</s>"))
