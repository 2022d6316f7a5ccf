"""The facts of phase 2 as a form has them; what they mean, and whether they are enough, the library says."""

from __future__ import annotations

from collections.abc import Mapping
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
    zeros = [_cell(line) for line in form.get("zeros", "").splitlines() if line.strip()]
    if zeros:
        found["structural_zeros"] = zeros
    return found


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
