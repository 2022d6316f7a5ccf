"""The whole way in one call: records, or a frame of cells, to an audited release."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from hitoku.errors import ParameterError, did_you_mean, must_be
from hitoku.methods import METHODS, Auto, Method, Progress, method_from_word
from hitoku.model import Table, frame_parts
from hitoku.pipeline.outcome import WritableOutcome
from hitoku.pipeline.protect import Report, protect_table
from hitoku.rules import RULES, Rule, rule_from_word
from hitoku.tabulation import tabulate


def protect(
    data: Any,
    by: Sequence[str] = (),
    *,
    value: str | None = None,
    rules: Rule | str | Sequence[Rule | str],
    method: Method | str | None = None,
    width: Any = None,
    insiders: Any = None,
    against: Iterable[str] | None = None,
    groups: bool = True,
    cells: bool = False,
    report: Report | None = None,
    progress: Progress | None = None,
    **making: Any,
) -> WritableOutcome:
    """Make a table, find its unsafe cells, withhold others with them, attack the release and audit it.

    Parameters
    ----------
    data
        Records, one per respondent: what :func:`hitoku.tabulate` takes. With ``cells=True`` a frame with one
        row per cell: what :meth:`hitoku.Table.from_frame` takes. Or a :class:`hitoku.Table`.
    by
        Columns with codes, one variable each.
    value
        Column to add up; left out, records are counted.
    rules
        What makes a cell unsafe: a rule or several, or their words, such as ``"p_percent:p=10"``.
    method
        What chooses the cells withheld with the unsafe ones, or its word; left out,
        :class:`hitoku.Auto` looks at the table.
    width
        Required length of the interval of every unsafe cell.
    insiders
        Whom to protect from beside outsiders: "none", "singletons", "contributors", or an
        :class:`hitoku.Insider`.
    against
        Attackers that the verdict depends on: "outsider", "groups", "singletons", "contributors",
        "attributes", "method", "tables", "released"; left out, the default scope. See ``verdict``.
    groups
        Keep groups that can be derived from published cells as large as ``min_frequency`` and
        ``few_contributors`` require of cells. False: only cells are considered.
    cells
        ``data`` has one row per cell.
    report, progress
        Called with the name of each stage as it begins, and within the method.
    making
        Whatever else makes the table: ``unit``, ``holding``, ``weight``, ``hierarchies``, ``total``; with
        cells ``frequency``, ``largest``.

    Returns
    -------
    WritableOutcome
        An :class:`hitoku.Outcome`: ``frame`` is what is published, ``verdict`` has one row per attacker,
        ``audit`` the evidence; ``write(folder)`` writes the release and its evidence.

    Examples
    --------
    >>> import pandas as pd
    >>> records = pd.DataFrame({"town": list("AAAAABBBBBCCCC"), "ill": list("yyynnynnnnyynn")})
    >>> outcome = protect(records, by=["town", "ill"], rules=["min_frequency:n=2"], width=2)
    >>> outcome.audit.safe
    True
    >>> outcome.frame.head(4)
      town    ill  value     status
    0    A      n      2  published
    1    A      y      3  published
    2    A  Total      5  published
    3    B      n   <NA>   withheld
    """
    table = _table(data, by, value, cells, making)
    listed: Sequence[Any] = rules if isinstance(rules, list | tuple) else [rules]
    known = [rule_from_word(one, RULES) if isinstance(one, str) else one for one in listed]
    chosen = method_from_word(method, METHODS) if isinstance(method, str) else method or Auto()
    must_be(Method, chosen, "method")
    return protect_table(
        table,
        known,
        method=chosen,
        width=width,
        insiders=insiders,
        against=against,
        groups=groups,
        report=report,
        progress=progress,
    )


def _table(data: Any, by: Sequence[str], value: str | None, cells: bool, making: dict[str, Any]) -> Table:
    if isinstance(data, Table):
        given = [*(["by"] if by else []), *(["value"] if value else []), *making]
        if given:
            raise ParameterError(
                "table_already_made",
                "a table is made already",
                where=given[0],
                fix="leave it out, or give records instead",
            )
        return data
    allowed = list(inspect.signature(frame_parts if cells else tabulate).parameters)
    for name in making:
        if name not in allowed:
            raise ParameterError(
                "unknown_argument",
                "no argument {argument!r}",
                where="protect",
                fix=did_you_mean(name, allowed),
                argument=name,
            )
    if not cells:
        return tabulate(data, by, value=value, **making)
    if value is None:
        raise ParameterError(
            "cells_without_value_option",
            "cells have a value",
            where="value",
            fix="name the column: value='turnover'",
        )
    return Table.from_frame(data, by, value, **making)
