"""Exceptions: somebody decided that an output may leave although a principle says no, and why.

An exception never turns a verdict into a pass: the matrix shows it as excepted, with who decided.
"""

from __future__ import annotations

import tomllib
from abc import abstractmethod
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hitoku.checks.principles.verdict import Principle, PrincipleVerdict
from hitoku.errors import ParameterError, did_you_mean

Text = Annotated[str, Field(min_length=1)]


class Granted(BaseModel):
    """What every exception says; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    output: Text
    principle: Principle
    decider: Text
    decided: date
    note: str = ""

    @property
    @abstractmethod
    def words(self) -> str:
        """The reason in a sentence."""

    def answers(self, verdict: PrincipleVerdict) -> bool:
        """Tell whether the reason is about what a verdict says."""
        return verdict.principle is self.principle

    def __str__(self) -> str:
        note = f"; {self.note}" if self.note else ""
        return f"excepted: {self.principle}: {self.words}, decided by {self.decider} on {self.decided}{note}"


class SamplingFraction(Granted):
    """The data are a sample: who is alone in it may not be alone in the population."""

    reason: Literal["sampling_fraction"]
    fraction: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]

    @property
    def words(self) -> str:
        return f"a sample of {self.fraction:.3g} of the population"

    def answers(self, verdict: PrincipleVerdict) -> bool:
        """Refuse another fraction than the one that the units were relaxed by."""
        relaxed = verdict.numbers.get("fraction", self.fraction)
        return super().answers(verdict) and bool(np.isclose(relaxed, self.fraction))


class Observability(Granted):
    """What outsiders can see of each variable."""

    reason: Literal["observability"]
    variables: Annotated[dict[Text, Literal["visible", "known to some", "hidden"]], Field(min_length=1)]

    @property
    def words(self) -> str:
        return ", ".join(f"{name} is {seen}" for name, seen in self.variables.items())


class AgeOfData(Granted):
    """The data are so old that they say little about anybody now."""

    reason: Literal["age_of_data"]
    year: Annotated[int, Field(ge=1800, le=2200, strict=True)]

    @property
    def words(self) -> str:
        return f"the data are of {self.year}"


class StructuralZero(Granted):
    """Combinations of codes that cannot occur: everybody knows that they are empty."""

    reason: Literal["structural_zero"]
    cells: Annotated[tuple[Text, ...], Field(min_length=1)]

    @property
    def words(self) -> str:
        return f"empty by definition: {'; '.join(self.cells)}"


Exemption = Annotated[
    SamplingFraction | Observability | AgeOfData | StructuralZero, Field(discriminator="reason")
]
REASONS = ("sampling_fraction", "observability", "age_of_data", "structural_zero")


class Exemptions(BaseModel):
    """A file of exceptions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    exception: tuple[Exemption, ...]


def read_exceptions(path: str | Path) -> tuple[Granted, ...]:
    """Read a TOML file of exceptions; the first thing that is wrong is named by number and key."""
    place = Path(path)
    try:
        return parsed(place.read_text("utf-8"), place.name)
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(
            f"cannot read the exceptions {place.name!r}", where=str(place), fix="give a TOML file"
        ) from error


def parsed(text: str, where: str) -> tuple[Granted, ...]:
    """Read the text of a file of exceptions.

    Examples
    --------
    >>> [one] = parsed('''
    ... [[exception]]
    ... output = "table 1"
    ... principle = "units"
    ... reason = "age_of_data"
    ... year = 1920
    ... decider = "M. Sato"
    ... decided = 2026-11-16
    ... ''', "exceptions.toml")
    >>> print(one)
    excepted: units: the data are of 1920, decided by M. Sato on 2026-11-16
    """
    try:
        return Exemptions.model_validate(tomllib.loads(text)).exception
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"not a TOML file: {error}", where=where, fix="correct the line named"
        ) from error
    except ValidationError as error:
        first: Any = error.errors()[0]
        raise ParameterError(_wrong(first), where=_where(where, first["loc"]), fix=_fix(first)) from error


def _wrong(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown key {error['loc'][-1]!r}"
    return f"{error['loc'][-1]}: {error['msg'].lower()}"


def _where(file: str, place: tuple[Any, ...]) -> str:
    number = next((part for part in place if isinstance(part, int)), None)
    return file if number is None else f"{file}, exception {number + 1}"


def _fix(error: Any) -> str:
    if error["type"] == "extra_forbidden":
        known = {name for kind in Granted.__subclasses__() for name in kind.model_fields}
        top = len(error["loc"]) == 1
        return did_you_mean(
            str(error["loc"][-1]), ["exception"] if top else sorted(known), otherwise="leave it out"
        )
    if error["type"].startswith("union_tag"):
        return f"give a reason: {', '.join(REASONS)}"
    return "see docs/how-to/check-outputs.md, For the checker"
