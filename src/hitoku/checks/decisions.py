"""Decisions of checkers about outputs.

Verdicts advise, decisions release. A decision never turns a verdict into a pass: the report shows "exception
granted" with the person who decided.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from hitoku.checks.outputs import Output
from hitoku.checks.policies import Policy
from hitoku.checks.principles import Clearance, Principle, PrincipleVerdict, worst
from hitoku.errors import ParameterError
from hitoku.evidence import audit
from hitoku.files import read_file
from hitoku.model import Mask, Need
from hitoku.toml import load_toml, validate_keys

NonEmpty = Annotated[str, Field(min_length=1, max_length=10_000)]
# A cell by its codes; an omitted variable is summed over. An output without groups has the single cell {}.
Cell = dict[NonEmpty, NonEmpty]
Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Year = Annotated[int, Field(ge=1800, le=2200, strict=True)]
Seen = Literal["visible", "known to some", "hidden"]
# Documentation of the file format.
SEE = "see docs/how-to/check-outputs.md, Decisions"


def person(name: str) -> tuple[str, ...]:
    """Normalise a person's name, so that spellings of one name are equal.

    Examples
    --------
    >>> person("M. Sato") == person("SATO, m") == person("M.Sato")
    True
    """
    return tuple(sorted(re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold())))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Facts(_Frozen):
    """Facts about the data that support a decision: the second phase of Kikuchi and Minami (2017)."""

    # Share of the population in the data. A unit that is unique in a sample may not be unique in the
    # population.
    sampling_fraction: Fraction | None = None
    observability: dict[NonEmpty, Seen] = {}  # How visible each variable is to outsiders.
    # Year of the data, if they are so old that they reveal little about the present.
    year: Year | None = None
    # Descriptions of combinations that cannot occur, and that are therefore known to be empty.
    structural_zeros: tuple[NonEmpty, ...] = ()

    def __str__(self) -> str:
        said = [f"{name} is {seen}" for name, seen in self.observability.items()]
        if self.sampling_fraction is not None:
            said.append(f"a sample of {self.sampling_fraction:.3g} of the population")
        if self.year is not None:
            said.append(f"the data are of {self.year}")
        if self.structural_zeros:
            said.append(f"empty by definition: {'; '.join(self.structural_zeros)}")
        return ", ".join(said)


class ExceptionRequest(_Frozen):
    """Request of a researcher to release an output, or some of its cells, although a principle fails."""

    output: NonEmpty
    principle: Principle
    cells: tuple[Cell, ...] | Literal["all"] = ()
    reason: NonEmpty
    facts: Facts = Facts()

    def __str__(self) -> str:
        return (
            f"asked for: {self.principle}{_cell_names(self.cells)}: {_join_reason(self.reason, self.facts)}"
        )


class Decision(_Frozen):
    """Decision of a checker about an output.

    Examples
    --------
    >>> print(Decision(output="table 1", decision="release", principle="units", who="M. Sato",
    ...                when="2026-11-16", reason="the census of 1920", facts={"year": 1920}))
    exception granted: units: the census of 1920 (the data are of 1920), decided by M. Sato on 2026-11-16
    """

    output: NonEmpty  # Name of the output.
    decision: Literal["release", "refuse"]  # "release" or "refuse".
    principle: Principle | None = None  # Principle whose verdict is answered; default: all of them.
    # Cells to release although they were suppressed, by their codes, or "all". Without any, the output is
    # released as it is.
    cells: tuple[Cell, ...] | Literal["all"] = ()
    # who, when: name of the person, and day of the decision.
    who: NonEmpty
    when: date
    reason: NonEmpty  # Reason, in words that the researcher may read.
    facts: Facts = Facts()  # Facts that support the reason.
    expires: date | None = None  # Last day on which the decision allows a release; default: no limit.

    def answers(self, verdict: PrincipleVerdict) -> bool:
        """Return whether the decision covers a verdict.

        A verdict relaxed because the data are a sample is covered only if the decision states the same
        fraction.
        """
        relaxed = verdict.numbers.get("fraction")
        named = self.facts.sampling_fraction
        fits = relaxed is None or (named is not None and bool(np.isclose(relaxed, named)))
        return self.principle in {None, verdict.principle} and fits

    def holds(self, today: date) -> bool:
        """Return whether the decision has not expired."""
        return self.expires is None or today <= self.expires

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-compatible values, without defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def __str__(self) -> str:
        word = "exception granted" if self.decision == "release" else "refused"
        about = "everything" if self.principle is None else str(self.principle)
        until = f", until {self.expires}" if self.expires else ""
        why = _join_reason(self.reason, self.facts)
        return f"{word}: {about}{_cell_names(self.cells)}: {why}, decided by {self.who} on {self.when}{until}"


def cell_name(cell: Mapping[str, str]) -> str:
    """Return the codes of a cell as text.

    Examples
    --------
    >>> cell_name({"region": "N", "job": "c"}), cell_name({})
    ('region=N, job=c', 'all')
    """
    return ", ".join(f"{name}={code}" for name, code in cell.items()) or "all"


def _cell_names(cells: tuple[Cell, ...] | str) -> str:
    if isinstance(cells, str):
        return " in every cell"
    return f" in {'; '.join(map(cell_name, cells))}" if cells else ""


def _join_reason(reason: str, facts: Facts) -> str:
    said = str(facts)
    return f"{reason} ({said})" if said and said != reason else reason


class _File(_Frozen):
    decision: tuple[Decision, ...] = ()


def read_decisions(path: str | Path) -> tuple[Decision, ...]:
    """Read a TOML file of decisions.

    Raises ParameterError that names the first invalid entry and its key.
    """
    place = Path(path)
    try:
        return parse_decisions(read_file(place, 10_000_000).decode("utf-8"), place.name)
    except UnicodeDecodeError as error:
        raise ParameterError(
            "decisions_unreadable",
            "cannot read the decisions {place!r}",
            where=str(place),
            fix="give a TOML file",
            place=place.name,
        ) from error


def parse_decisions(text: str, where: str) -> tuple[Decision, ...]:
    """Parse the text of a file of decisions.

    Examples
    --------
    >>> [one] = parse_decisions('''
    ... [[decision]]
    ... output = "table 1"
    ... decision = "release"
    ... principle = "units"
    ... cells = [{region = "N", job = "c"}]
    ... reason = "known to everybody"
    ... facts.observability = {job = "visible"}
    ... who = "M. Sato"
    ... when = 2026-11-16
    ... expires = 2027-03-31
    ... ''', "decisions.toml")
    >>> one.cells, str(one.facts)
    (({'region': 'N', 'job': 'c'},), 'job is visible')
    """
    try:
        given, origin = load_toml(text, where, "file of decisions")
        return validate_keys(_File, given, origin, otherwise=SEE).decision
    except RecursionError:
        raise ParameterError(
            "nested_too_deeply", "it is nested too deeply", where=where, fix="give a list of decisions"
        ) from None


def decisions_by(decisions: Iterable[Decision], output: str, today: date) -> tuple[Decision, ...]:
    """Return the decisions about an output that have not expired."""
    return tuple(each for each in decisions if each.output == output and each.holds(today))


ORDER = (Clearance.PASS, Clearance.REVIEW, Clearance.FAIL)


def open_cells(output: Output, decisions: Sequence[Decision]) -> Output:
    """Return an output with the cells that decisions release, taken from its evidence."""
    named = _places(output, decisions)
    if not (named & output.evidence.withheld).any():
        return output
    return _withholding(output, output.evidence.withheld & ~named)


def excused_principles(
    output: Output,
    verdicts: Sequence[PrincipleVerdict],
    decisions: Sequence[Decision],
    policy: Policy,
) -> dict[Principle, tuple[Decision, ...]]:
    """Find the principles that decisions excuse, each with its decisions.

    A decision that names cells excuses only these: if the other cells alone lead to the same verdict, the
    principle is not excused.

    Parameters
    ----------
    output
        The output, with the released cells opened.
    verdicts
        Verdicts of the principles on that output.
    decisions
        Valid decisions to release this output.
    policy
        Policy of the checker.
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
            # A published number needs no interval; the intervals of all other cells must hold.
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
    """Return whether a verdict concerns the cells that decisions name, or the whole output."""
    if principle is Principle.DIFFERENCING or any(
        not each.cells or each.cells == "all" for each in decisions
    ):
        return True
    hidden = output.evidence.withheld | _places(output, decisions)
    if ORDER.index(_said(_withholding(output, hidden), policy, principle)) < ORDER.index(status):
        return True
    # A maximum fails for every pattern of suppression; such a verdict does not concern cells.
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
    """Return the output with another set of suppressed cells."""
    evidence = replace(output.evidence, withheld=withheld)
    return replace(output, evidence=evidence, published=output.asked.publish(evidence))


def _places(output: Output, decisions: Sequence[Decision]) -> Mask:
    """Return the mask of the cells that decisions name."""
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
