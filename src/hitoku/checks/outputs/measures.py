"""The amounts whose sums or means an output publishes, by unit: what follows from them is for the ledger."""

from __future__ import annotations

from typing import Literal

from hitoku.checks.ledger import Measure
from hitoku.checks.records import Records


def sum_measures(
    records: Records,
    value: str,
    weight: str | None,
    decimals: int | None = None,
    kind: Literal["mean", "sum"] = "sum",
) -> dict[str, Measure]:
    """Return the amounts behind published sums or means.

    Of all units, for what follows from the output may be about those that its filter leaves out. Weighted
    sums are sums of another variable, the amount times its weight. Weighted means are none: nobody is told
    the weights that they would have to be multiplied with.

    Parameters
    ----------
    records
        All of them.
    value, weight
        Columns.
    decimals
        To which the numbers are rounded.
    kind
        Whether sums or means are published.
    """
    if weight is not None and kind == "mean":
        return {}
    name = value if weight is None else f"{value} times {weight}"
    rounded = 0.0 if decimals is None else 10.0**-decimals
    return {name: Measure.of(records.per_unit(value, weight), kind, rounded)}
