"""The paper's open question at real sizes: what a method costs that the reader may know."""

from __future__ import annotations

from functools import cache

import numpy as np

from hitoku.errors import HitokuError
from hitoku.evidence.verify import prove
from hitoku.methods import Method
from hitoku.methods.blocks import Blocks
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.model import Integers, Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency
from hitoku_papers.minami_abe_2019.published import THRESHOLD
from hitoku_papers.page import Cell, PageTable

SIDES = (8, 20, 50, 100)
WIDTH = 9
# Beyond this the cheapest pattern may take minutes.
SMALL = 8
KINDS = ("as in the paper", "margins that predict")


def drawn(kind: str, side: int, seed: int) -> Integers:
    """Draw a table as the paper does, or one whose margins say where small cells are."""
    random = np.random.default_rng([seed, side, KINDS.index(kind)])
    if kind == KINDS[0]:
        return np.abs(np.rint(random.normal(15, 10, (side, side)))).astype(np.int64)
    rate = np.outer(random.lognormal(0, 1.2, side), random.lognormal(0, 1.2, side))
    # Every margin is wide enough for the required width.
    return np.asarray(random.poisson(rate * 100 / rate.mean()) + np.eye(side, dtype=np.int64) * WIDTH)


def withheld(method: Method, counts: Integers) -> tuple[int, str] | None:
    """Count the cells that a method withholds, and tell what its certificate says of the reader."""
    rules = [MinFrequency(THRESHOLD)]
    try:
        outcome = protect_table(Table.from_array(counts), rules, method=method, width=WIDTH)
    except HitokuError:
        return None
    claim = ""
    if outcome.protection.known_method is not None and outcome.audit.certificate is not None:
        prove(dict(outcome.audit.certificate.content))
        claim = "proved"
    return int(outcome.protection.withheld.sum()), claim


@cache
def price(seed: int, sides: tuple[int, ...] = SIDES) -> PageTable:
    """Protect a table of each kind and size with every method that ends in seconds."""
    rows: list[tuple[Cell, ...]] = []
    for kind in KINDS:
        for side in sides:
            counts = drawn(kind, side, seed)
            unsafe = int(((counts > 0) & (counts < THRESHOLD)).sum())
            cheapest = withheld(Optimal(cost="unit", keep="margins"), counts) if side <= SMALL else None
            greedy, blocks = withheld(Greedy(keep="margins"), counts), withheld(Blocks(), counts)
            ratio = blocks[0] / greedy[0] if blocks and greedy and greedy[0] else None
            size = f"{side} \N{MULTIPLICATION SIGN} {side}"
            cells = (greedy and greedy[0], cheapest and cheapest[0], blocks and blocks[0])
            rows.append((kind, size, unsafe, *cells, ratio, blocks[1] if blocks else "refused"))
    return PageTable(
        "A method that may be known, at any size",
        ("tables", "size", "unsafe", "Greedy", "Optimal", "Blocks", "ratio", "a reader who knows Blocks"),
        tuple(rows),
        "The paper leaves open how to suppress when the reader knows the method. Blocks withholds whole "
        "rectangles, for reasons that may be known, and a theorem leaves this reader the width; 'proved' "
        "means that the certificate was verified. Cells withheld, one table of each kind and size, all "
        "totals published; ratio of Blocks to Greedy. Greedy and Optimal do not withstand this reader. "
        "Optimal is left out where it takes minutes; the price of Randomised is in the table of other "
        "methods above. On the paper's tables margins say nothing about where small cells are: there Blocks "
        "is dear. Elsewhere they do.",
        digits=2,
        words=2,
    )
