"""Decisions: what a person said about an output, and why; verdicts advise, decisions release.

A decision never turns a verdict into a pass: the matrix shows it as excepted, with who decided.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hitoku.checks.principles import Principle, PrincipleVerdict
from hitoku.errors import ParameterError, did_you_mean
from hitoku.files import read_file
from hitoku.messages import Text

NonEmpty = Annotated[str, Field(min_length=1, max_length=10_000)]
# A cell by its codes; a variable that is left out is summed over. An output without groups has the cell {}.
Cell = dict[NonEmpty, NonEmpty]
Fraction = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Year = Annotated[int, Field(ge=1800, le=2200, strict=True)]
Seen = Literal["visible", "known to some", "hidden"]
# A file of decisions is written by hand.
MOST_BYTES = 10_000_000


def person(name: str) -> tuple[str, ...]:
    """Tell people apart by the words of their names, however these are written.

    Examples
    --------
    >>> person("M. Sato") == person("SATO, m") == person("M.Sato")
    True
    """
    return tuple(sorted(re.findall(r"\w+", unicodedata.normalize("NFKC", name).casefold())))


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Facts(_Frozen):
    """What somebody who knows the data can say: the second phase of Kikuchi and Minami (2017).

    Parameters
    ----------
    sampling_fraction
        Share of the population in the data: who is alone in a sample may not be alone in the population.
    observability
        What outsiders can see of each variable.
    year
        The data are so old that they say little about anybody now.
    structural_zeros
        Combinations that cannot occur, in words: everybody knows that they are empty.
    """

    sampling_fraction: Fraction | None = None
    observability: dict[NonEmpty, Seen] = {}
    year: Year | None = None
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
    """What a researcher asks for: that an output, or some cells of it, leave although a principle says no."""

    output: NonEmpty
    principle: Principle
    cells: tuple[Cell, ...] | Literal["all"] = ()
    reason: NonEmpty
    facts: Facts = Facts()

    def __str__(self) -> str:
        return f"asked for: {self.principle}{_named(self.cells)}: {_joined(self.reason, self.facts)}"


class Decision(_Frozen):
    """What a checker decided about an output.

    Parameters
    ----------
    output
        Its name.
    decision
        It leaves, or it stays.
    principle
        Which verdict this answers; left out, all of them.
    cells
        Numbers that leave although they were withheld, by their codes, or "all". Without any the output
        leaves as it is.
    who, when
        The person, and the day.
    reason
        In words that the researcher may read.
    facts
        What it rests on.
    expires
        The last day on which the output may leave because of this.

    Examples
    --------
    >>> print(Decision(output="table 1", decision="release", principle="units", who="M. Sato",
    ...                when="2026-11-16", reason="the census of 1920", facts={"year": 1920}))
    excepted: units: the census of 1920 (the data are of 1920), decided by M. Sato on 2026-11-16
    """

    output: NonEmpty
    decision: Literal["release", "refuse"]
    principle: Principle | None = None
    cells: tuple[Cell, ...] | Literal["all"] = ()
    who: NonEmpty
    when: date
    reason: NonEmpty
    facts: Facts = Facts()
    expires: date | None = None

    def answers(self, verdict: PrincipleVerdict) -> bool:
        """Tell whether it is about what a verdict says.

        Units that a sample makes up for are excused by naming the very fraction that they were relaxed by.
        """
        relaxed = verdict.numbers.get("fraction")
        named = self.facts.sampling_fraction
        fits = relaxed is None or (named is not None and bool(np.isclose(relaxed, named)))
        return self.principle in {None, verdict.principle} and fits

    def holds(self, today: date) -> bool:
        """Tell whether it has not expired."""
        return self.expires is None or today <= self.expires

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON can hold, without what was not said."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def __str__(self) -> str:
        word = "excepted" if self.decision == "release" else "refused"
        about = "everything" if self.principle is None else str(self.principle)
        until = f", until {self.expires}" if self.expires else ""
        why = _joined(self.reason, self.facts)
        return f"{word}: {about}{_named(self.cells)}: {why}, decided by {self.who} on {self.when}{until}"


def cell_name(cell: Mapping[str, str]) -> str:
    """Name a cell by its codes.

    Examples
    --------
    >>> cell_name({"region": "N", "job": "c"}), cell_name({})
    ('region=N, job=c', 'all')
    """
    return ", ".join(f"{name}={code}" for name, code in cell.items()) or "all"


def _named(cells: tuple[Cell, ...] | str) -> str:
    if isinstance(cells, str):
        return " in every cell"
    return f" in {'; '.join(map(cell_name, cells))}" if cells else ""


def _joined(reason: str, facts: Facts) -> str:
    said = str(facts)
    return f"{reason} ({said})" if said and said != reason else reason


class _File(_Frozen):
    decision: tuple[Decision, ...] = ()


def read_decisions(path: str | Path) -> tuple[Decision, ...]:
    """Read a TOML file of decisions; the first thing that is wrong is named by number and key."""
    place = Path(path)
    try:
        return parse_decisions(read_file(place, MOST_BYTES).decode("utf-8"), place.name)
    except UnicodeDecodeError as error:
        raise ParameterError(
            "decisions_unreadable",
            "cannot read the decisions {place!r}",
            where=str(place),
            fix="give a TOML file",
            place=place.name,
        ) from error


def parse_decisions(text: str, where: str) -> tuple[Decision, ...]:
    """Read the text of a file of decisions.

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
        found = _File.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            "decisions_not_toml",
            "not a TOML file: {error}",
            where=where,
            fix="correct the line named",
            error=error,
        ) from error
    except (ValidationError, RecursionError) as error:
        if not isinstance(error, ValidationError):
            raise ParameterError(
                "nested_too_deeply", "it is nested too deeply", where=where, fix="give a list of decisions"
            ) from None
        first: Any = error.errors()[0]
        raise ParameterError(*_wrong(first), where=_where(where, first["loc"]), fix=_fix(first)) from error
    return found.decision


def decisions_by(decisions: Iterable[Decision], output: str, today: date) -> tuple[Decision, ...]:
    """Return what was decided about an output and still holds."""
    return tuple(each for each in decisions if each.output == output and each.holds(today))


def _wrong(error: Any) -> tuple[str, Text]:
    if error["type"] == "extra_forbidden":
        return "unknown_key_in_file", Text("unknown key {key!r}", key=error["loc"][-1])
    return "key_invalid", Text("{key}: {problem}", key=error["loc"][-1], problem=error["msg"].lower())


def _where(file: str, place: tuple[Any, ...]) -> str:
    number = next((part for part in place if isinstance(part, int)), None)
    return file if number is None else f"{file}, {place[0]} {number + 1}"


def _fix(error: Any) -> str:
    place = error["loc"]
    if error["type"] == "extra_forbidden":
        kinds: list[type[BaseModel]] = [Decision, Facts]
        known = ["decision"] if len(place) == 1 else sorted({n for kind in kinds for n in kind.model_fields})
        return did_you_mean(str(place[-1]), known, otherwise="leave it out")
    return "see docs/how-to/check-outputs.md, Decisions"
