"""Phase 2 as a form has it: facts, cells, a last day. Whether they are enough, the library says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from hitoku.errors import ParameterError

SEEN = ("visible", "known to some", "hidden")


def facts_of_form(form: Mapping[str, str]) -> dict[str, Any]:
    """Read the facts of a form; fields that are empty say nothing.

    Examples
    --------
    >>> facts_of_form({"sampling_fraction": "0.05", "year": "1998", "seen-region": "hidden", "zeros": ""})
    {'sampling_fraction': 0.05, 'year': 1998, 'observability': {'region': 'hidden'}}
    """
    found: dict[str, Any] = {}
    if form.get("sampling_fraction", "").strip():
        found["sampling_fraction"] = _number(form["sampling_fraction"], "sampling fraction", 0, 1)
    if form.get("year", "").strip():
        found["year"] = int(_number(form["year"], "year of the data", 1799, 2201))
    seen = {
        name.removeprefix("seen-"): word for name, word in form.items() if name.startswith("seen-") and word
    }
    for name, word in seen.items():
        if word not in SEEN:
            raise ParameterError(
                f"{name}: no such word", where="observability", fix=f"one of {', '.join(SEEN)}"
            )
    if seen:
        found["observability"] = seen
    lines = [line for line in form.get("zeros", "").splitlines() if line.strip()]
    zeros = [", ".join(f"{name}={code}" for name, code in _cell(line).items()) for line in lines]
    if zeros:
        found["structural_zeros"] = zeros
    return found


def cells_of_form(form: Mapping[str, str], withheld: Mapping[str, dict[str, str]]) -> list[dict[str, str]]:
    """Read which numbers leave although they are withheld.

    Parameters
    ----------
    form
        What was sent: a field "open-3" for cell 3.
    withheld
        The codes of every cell that is withheld: no others can be opened.

    Examples
    --------
    >>> cells_of_form({"open-3": "yes"}, {"3": {"region": "N", "job": "c"}})
    [{'region': 'N', 'job': 'c'}]
    """
    asked = [name.removeprefix("open-") for name in form if name.startswith("open-")]
    if not set(asked) <= withheld.keys():
        raise ParameterError("a cell that is not withheld", where="cells", fix="open the page again")
    return [withheld[each] for each in asked]


def expiry_of_form(form: Mapping[str, str], today: date) -> str | None:
    """Read the last day on which an output may leave; None when nothing is said.

    Examples
    --------
    >>> expiry_of_form({"expires": "2027-03-31"}, date(2026, 11, 17))
    '2027-03-31'
    """
    text = form.get("expires", "").strip()
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ParameterError(
            "the last day is written as 2027-03-31", where="expires", fix="correct it, or leave it empty"
        ) from None
    if day < today:
        raise ParameterError("the last day has passed", where="expires", fix="choose a later one")
    return day.isoformat()


def rests_on(decision: Any) -> list[str]:
    """Say in words what a decision rests on, which numbers it lets go, and until when.

    Parameters
    ----------
    decision
        A row with ``facts`` and ``cells`` as JSON, and ``expires``.
    """
    facts = json.loads(decision.facts)
    said = [f"{name} is {word}" for name, word in facts.get("observability", {}).items()]
    if "sampling_fraction" in facts:
        said.append(f"a sample of {facts['sampling_fraction']:.3g} of the population")
    if "year" in facts:
        said.append(f"the data are of {facts['year']}")
    said += [f"empty by definition: {each}" for each in facts.get("structural_zeros", [])]
    opened = [", ".join(f"{n}={code}" for n, code in each.items()) for each in json.loads(decision.cells)]
    said += [f"leaves although withheld: {each or 'all'}" for each in opened]
    return [*said, *([f"until {decision.expires}"] if decision.expires else [])]


def _number(text: str, name: str, above: float, below: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = above
    if not above < value < below:
        raise ParameterError(f"{name} must lie between {above} and {below}", where=name, fix="correct it")
    return value


def _cell(line: str) -> dict[str, str]:
    """Read "region=N, job=B"."""
    pairs = [part.partition("=") for part in line.split(",")]
    if not all(equals and name.strip() and code.strip() for name, equals, code in pairs):
        raise ParameterError(
            "a structural zero is written variable=code, variable=code",
            where="zeros",
            fix="one cell per line",
        )
    return {name.strip(): code.strip() for name, _, code in pairs}
