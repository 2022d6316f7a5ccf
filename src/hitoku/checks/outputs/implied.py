"""A regression on dummies is a table: in which of the cells that it implies each unit is."""

from __future__ import annotations

from typing import Any

import numpy as np

from hitoku.checks.evidence import design
from hitoku.checks.ledger import implied_tables
from hitoku.checks.outputs.output import Membership
from hitoku.checks.records import Records


def model_membership(records: Records, name: str, fitted: Any, *, formula: bool) -> Membership | None:
    """Divide the units by the dummies of a model; None when its records cannot be told.

    Parameters
    ----------
    records
        The records that the model was offered.
    name
        Of the output.
    fitted
        The model.
    formula
        It was fitted here, from a formula.
    """
    rows = design.used(records, fitted.model, formula=formula)
    if rows is None or records.repeated:
        return None
    who = records.unit[rows]
    exog = np.asarray(fitted.model.exog, dtype=np.float64)
    sample = np.zeros(records.n_units, dtype=np.bool_)
    sample[who] = True
    dummies = []
    for factor in design.factors(exog):
        codes = np.zeros(records.n_units, dtype=np.int64)
        codes[who] = design.categories(exog, factor)
        dummies.append(codes)
    tables = implied_tables(name, dummies, sample)
    cells = tuple(tuple((str(cell),) for cell in range(1, len(table) + 1)) for table in tables)
    return Membership(codes=tuple(table.codes for table in tables), cells=cells)
