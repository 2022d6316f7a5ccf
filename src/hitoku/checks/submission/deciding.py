"""What decisions do: the numbers they name leave, and the verdicts they answer are excused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hitoku.checks.decisions import Cell, Decision, cell_name
from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst
from hitoku.errors import ParameterError
from hitoku.evidence import audit
from hitoku.model import Mask, Need

ORDER = (Clearance.PASS, Clearance.LOOK, Clearance.FAIL)


def open_cells(output: Output, decisions: Sequence[Decision]) -> Output:
    """Return an output as it leaves: with the numbers that decisions name, from its evidence."""
    named = _places(output, decisions)
    if not (named & output.evidence.withheld).any():
        return output
    return _withholding(output, output.evidence.withheld & ~named)


def excused(
    output: Output,
    verdicts: Sequence[PrincipleVerdict],
    decisions: Sequence[Decision],
    policy: Policy,
) -> dict[Principle, tuple[Decision, ...]]:
    """Find the verdicts that decisions answer; for each principle that is excused the decisions.

    A decision that names cells excuses these only: if the others alone would bring the same verdict about, it
    is not answered.

    Parameters
    ----------
    output
        As it leaves, its cells opened.
    verdicts
        What the principles say about it so.
    decisions
        That it leaves; those about other outputs or past their day are not among them.
    policy
        The checker's.
    """
    found: dict[Principle, tuple[Decision, ...]] = {}
    for principle in Principle:
        stopped = [v for v in verdicts if v.principle is principle and v.status is not Clearance.PASS]
        if not stopped:
            continue
        answering = [each for each in decisions if all(map(each.answers, stopped))]
        if answering and not _reach(output, worst(stopped), answering, policy, principle):
            answering = []
        if not answering and principle is Principle.INTERVAL:
            # A number that leaves has no interval to be protected; those of all others must hold.
            answering = [each for each in decisions if each.cells and _others_hold(output, decisions, policy)]
        if answering:
            found[principle] = tuple(answering)
    return found


def _reach(
    output: Output,
    status: Clearance,
    decisions: Sequence[Decision],
    policy: Policy,
    principle: Principle,
) -> bool:
    """Tell whether a verdict is about the cells that decisions name, or about the output as a whole."""
    if principle is Principle.DIFFERENCING or any(
        not each.cells or each.cells == "all" for each in decisions
    ):
        return True
    hidden = output.evidence.withheld | _places(output, decisions)
    if ORDER.index(_said(_withholding(output, hidden), policy, principle)) < ORDER.index(status):
        return True
    # A maximum fails whatever is withheld of it: then the verdict is not about cells.
    protected = output.asked.protect(output.evidence, policy).withheld
    return _said(_withholding(output, protected), policy, principle) is status


def _others_hold(output: Output, decisions: Sequence[Decision], policy: Policy) -> bool:
    claimed = output.asked.claim(output.evidence, policy)
    if claimed is None:
        return False
    table, need, release = claimed
    left = need.unsafe & ~_places(output, decisions)
    lower, upper, width = (np.where(left, level, 0.0) for level in (need.lower, need.upper, need.width))
    others = Need(unsafe=left, lower=lower, upper=upper, width=width, attributions=need.attributions)
    return audit(table, others, release).safe


def _said(output: Output, policy: Policy, principle: Principle) -> Clearance:
    verdicts = output.asked.judge(output.evidence, policy)
    return worst(verdict for verdict in verdicts if verdict.principle is principle)


def _withholding(output: Output, withheld: Mask) -> Output:
    """Return the same output with other cells withheld."""
    evidence = replace(output.evidence, withheld=withheld)
    return replace(output, evidence=evidence, published=output.asked.publish(evidence))


def _places(output: Output, decisions: Sequence[Decision]) -> Mask:
    """Find the cells that decisions name."""
    named = np.zeros(output.evidence.n_parts, dtype=np.bool_)
    for decision in decisions:
        if decision.cells == "all":
            named[:] = True
            continue
        for cell in decision.cells:
            named[_place(output, cell)] = True
    return named


def _place(output: Output, cell: Cell) -> int:
    cells = output.asked.cells(output.evidence)
    if cells is None:
        if not cell and output.evidence.n_parts == 1:
            return 0
        raise _no_cell(output, cell, 'name all of it: cells = "all"')
    for name in cell:
        if name not in cells.codes:
            raise _no_cell(
                output, cell, f"it has no variable {name!r}; it has {', '.join(cells.codes) or 'none'}"
            )
    wanted = tuple(cell.get(name) for name in cells.codes)
    totals = {name: output.published[name][-1] for name in cells.codes if output.asked.tabular}
    summed = tuple(
        None if code == totals.get(name) and code not in cells.codes[name] else code
        for name, code in zip(cells.codes, wanted, strict=True)
    )
    try:
        return cells.labels.index(summed)
    except ValueError:
        raise _no_cell(
            output, cell, "give the codes as they are printed; leave out what it sums over"
        ) from None


def _no_cell(output: Output, cell: Cell, fix: str) -> ParameterError:
    return ParameterError(
        "decision_on_unknown_cell",
        "a decision names the cell {cell}, which the output does not have",
        where="output {output}",
        fix=fix,
        cell=cell_name(cell),
        output=output.name,
    )
