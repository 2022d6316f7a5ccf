"""Requests of a τ-ARGUS batch: tables, rules such as ``P(15,1)|FREQ(3,20)|ZERO(5)``, methods, files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import NamedTuple

from hitoku.errors import DataError, did_you_mean
from hitoku.messages import Text
from hitoku.rules import DEFAULT_PERCENT

RULE = re.compile(r"(?P<name>[A-Za-z]+)\s*\((?P<numbers>[^()]*)\)")
# Maximum number of occurrences, and number of values, of each keyword.
KINDS = {
    "P": (4, (1, 2, 3)),
    "NK": (4, (2,)),
    "FREQ": (2, (2,)),
    "REQ": (2, (4,)),
    "ZERO": (1, (1,)),
    "MAN": (1, (1,)),
    "WGT": (1, (1,)),
    "MIS": (1, (1,)),
}
# Maximum number of contributors that a rule may consider, because so many are stored per cell.
MAX_CONTRIBUTORS = 1_000_000


class Remainder(NamedTuple):
    """p% rule, or prior-posterior rule if q is below 100; n intruders."""

    p: float
    q: float
    n: int
    holding: bool


class Share(NamedTuple):
    """Dominance rule: n contributors with more than k percent."""

    n: int
    k: float
    holding: bool


class Few(NamedTuple):
    """Minimum number of contributors, and safety range in percent of the value."""

    least: int
    percent: float
    holding: bool


class RequestRule(NamedTuple):
    """Request rule: shares in percent for both codes, minimum number of contributors, range in percent."""

    first: float
    second: float
    least: int
    percent: float
    holding: bool


@dataclass(frozen=True, slots=True)
class Safety:
    """Content of ``<SAFETYRULE>``."""

    # p, nk, freq, req: rules in use.
    p: tuple[Remainder, ...] = ()
    nk: tuple[Share, ...] = ()
    freq: tuple[Few, ...] = ()
    req: tuple[RequestRule, ...] = ()
    zero: float | None = None  # Safety range above zero for zero cells; None: zero cells are safe.
    manual: float = DEFAULT_PERCENT  # Safety range of manually marked cells, in percent of their value.
    weighted: bool = False  # Whether weights are applied in the table and the rules.
    missing_safe: bool = False  # Whether cells with a missing code are safe.

    @property
    def by_rule(self) -> bool:
        """Whether some rule determines unsafe cells; otherwise only marks do."""
        return bool(self.p or self.nk or self.freq or self.req or self.zero is not None)

    @property
    def holdings(self) -> bool:
        """Whether some rule considers holdings."""
        return any(rule.holding for rules in (self.p, self.nk, self.freq, self.req) for rule in rules)

    @property
    def top(self) -> int:
        """Number of largest contributions that the rules consider."""
        return max([rule.n + 1 for rule in self.p] + [rule.n for rule in self.nk], default=1)


Refuse = Callable[[str, str], None]


def parse_safety(text: str, refuse: Refuse) -> Safety:
    """Parse the text after ``<SAFETYRULE>``; problems are passed to ``refuse`` with a fix.

    Examples
    --------
    >>> safety = parse_safety("P(15,1)|FREQ(3,20)", print)
    >>> safety.p[0].p, safety.freq[0].least, safety.top
    (15.0, 3, 2)
    """
    found: dict[str, list[list[float]]] = {kind: [] for kind in KINDS}
    for part in filter(None, (part.strip() for part in text.split("|"))):
        match = RULE.fullmatch(part)
        name = match["name"].upper() if match else part
        if match is None or name not in KINDS:
            refuse(Text("{part!r} is not a rule", part=part), did_you_mean(name, KINDS))
            continue
        most, lengths = KINDS[name]
        try:
            numbers = [float(word) for word in match["numbers"].split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in lengths or not all(0 <= number < inf for number in numbers):
            allowed = " or ".join(str(length) for length in lengths)
            refuse(
                Text("{name} takes {allowed} numbers, none below zero", name=name, allowed=allowed),
                _example(name),
            )
        elif len(found[name]) == most:
            refuse(
                Text("{name} stands more than {most} time(s)", name=name, most=most),
                "give each rule once at each level",
            )
        else:
            found[name].append(numbers)
    return _make_safety(found, refuse)


EXAMPLES = {
    "P": "P(p,n) or P(p,q,n), such as P(15,1)",
    "NK": "NK(n,k), such as NK(1,75)",
    "FREQ": "FREQ(least,percent), such as FREQ(3,20)",
    "REQ": "REQ(percent1,percent2,least,percent), such as REQ(50,70,3,20)",
    "ZERO": "ZERO(range), such as ZERO(10)",
    "MAN": "MAN(percent), such as MAN(20)",
    "WGT": "WGT(0) or WGT(1)",
    "MIS": "MIS(0) or MIS(1)",
}


def _example(name: str) -> str:
    return Text("write {example}", example=EXAMPLES[name])


def _make_safety(found: dict[str, list[list[float]]], refuse: Refuse) -> Safety:
    """Build the rules from the values of each keyword; problems are reported, and parsing continues."""
    p, nk = _remainders(found["P"], refuse), _shares(found["NK"], refuse)
    freq = tuple(
        Few(_whole("FREQ", least, refuse), percent, place >= 1)
        for place, (least, percent) in enumerate(found["FREQ"])
        if least
    )
    req = _requests(found["REQ"], refuse)
    if [0.0] in found["ZERO"]:
        refuse(
            "ZERO requires a range above zero",
            Text("write {example}, or leave it out", example=EXAMPLES["ZERO"]),
        )
    return Safety(
        p=p,
        nk=nk,
        freq=freq,
        req=req,
        zero=found["ZERO"][0][0] if found["ZERO"] else None,
        manual=found["MAN"][0][0] if found["MAN"] else DEFAULT_PERCENT,
        weighted=_switch(found["WGT"], "WGT", refuse),
        missing_safe=_switch(found["MIS"], "MIS", refuse),
    )


def _remainders(found: Sequence[Sequence[float]], refuse: Refuse) -> tuple[Remainder, ...]:
    """Parse P(p,n) and P(p,q,n): the first two are for enterprises, the others for holdings."""
    rules = []
    for place, (share, *rest) in enumerate(found):
        q = rest[0] if len(rest) == 2 else 100.0
        n = _whole("P", rest[-1], refuse) if rest else 1
        if share and (not 0 < share < q <= 100) and not share == q == 100:
            refuse("P requires p below q, both in percent up to 100", _example("P"))
        elif share:
            rules.append(Remainder(share, q, max(n, 1), place >= 2))
    return tuple(rules)


def _shares(found: Sequence[Sequence[float]], refuse: Refuse) -> tuple[Share, ...]:
    """Parse NK(n,k): the first two are for enterprises, the others for holdings."""
    rules = []
    for place, (top, k) in enumerate(found):
        if top and not 0 < k <= 100:
            refuse("NK requires a share above 0 and up to 100 percent", _example("NK"))
        elif top:
            rules.append(Share(_whole("NK", top, refuse), k, place >= 2))
    return tuple(rules)


def _requests(found: Sequence[Sequence[float]], refuse: Refuse) -> tuple[RequestRule, ...]:
    """Parse REQ(percent, percent, least, range): the first is for enterprises, the second for holdings."""
    rules = tuple(
        RequestRule(first, second, _whole("REQ", least, refuse), percent, place >= 1)
        for place, (first, second, least, percent) in enumerate(found)
        if first or second
    )
    if any(max(rule.first, rule.second) > 100 for rule in rules):
        refuse("REQ requires more than 100 percent", _example("REQ"))
    return rules


def _whole(name: str, number: float, refuse: Refuse) -> int:
    if number != int(number):
        refuse(Text("{name} counts contributors with a number that is not whole", name=name), _example(name))
    elif number > MAX_CONTRIBUTORS:
        refuse(
            Text("{name} counts more than {most:,} contributors", name=name, most=MAX_CONTRIBUTORS),
            _example(name),
        )
    return int(number)


def _switch(found: Sequence[Sequence[float]], name: str, refuse: Refuse) -> bool:
    if found and found[0][0] not in (0, 1):
        refuse(Text("{name} is a switch", name=name), _example(name))
    return bool(found and found[0][0])


COUNT = "<freq>"  # response of a frequency table
FREQUENCY_COST, UNIT_COST, DISTANCE_COST = "-1", "-2", "-3"

# Types of safe files, as numbered in the command.
CSV, PIVOT, CODE_VALUE, SBS, INTERMEDIATE, JJ, CKM = range(1, 8)


class Recoding(NamedTuple):
    """Variable to be recoded, by a file or to a level of its hierarchy."""

    line: int
    variable: str
    file: str
    level: int | None


class Apriori(NamedTuple):
    """A priori file: marks, costs, levels and bounds for single cells."""

    line: int
    file: str
    separator: str
    ignore: bool
    expand: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Table requested by a batch."""

    # number, line: number of the table, and line of its specification.
    number: int
    line: int
    # data, metadata: names of its files.
    data: str
    metadata: str
    records: bool  # Whether the data are microdata instead of cells.
    # by, response: variables, and response: a name, or ``<freq>`` for counts.
    by: tuple[str, ...]
    response: str
    shadow: str = ""  # Variable whose contributions the rules consider. Default: the response.
    # cost, power: cost of suppression: a name, -1 frequency, -2 one, empty the response; and its exponent.
    cost: str = ""
    power: float = 1.0
    safety: Safety = field(default_factory=Safety)  # Rules.
    # Treatment of totals when a table is read: "0" check, "1" recompute, "1T" recompute and keep statuses,
    # "2" keep.
    additivity: str = "0"
    # recodings, apriori: recodings and a priori files to apply before suppression.
    recodings: tuple[Recoding, ...] = ()
    apriori: tuple[Apriori, ...] = ()


class Suppress(NamedTuple):
    """Suppression command; table 0 stands for all tables, linked."""

    line: int
    method: str
    table: int
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Output file; ``protected`` states whether it is written after suppression."""

    line: int
    table: int
    kind: int
    file: str
    options: frozenset[str] = frozenset()
    protected: bool = False


@dataclass(frozen=True, slots=True)
class BatchSession:
    """Commands between two ``<CLEAR>`` commands."""

    tables: tuple[Asked, ...] = ()
    suppress: tuple[Suppress, ...] = ()
    writes: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch that hitoku can run."""

    path: Path  # The file.
    sessions: tuple[BatchSession, ...]  # Sessions of the batch.
    # logbook, version_file: names of further output files.
    logbook: str = ""
    version_file: str = ""
    notes: tuple[str, ...] = ()  # Commands without effect here, with their lines.


class BatchProblem(NamedTuple):
    """Problem of a line."""

    line: int
    error: DataError


def refuse_problems(path: Path, problems: list[BatchProblem]) -> None:
    """Raise DataError if there are problems: the first with its fix, the others by line."""
    if not problems:
        return
    first, *others = sorted(problems, key=lambda problem: problem.line)
    where = Text("{file}, line {line}", file=path.name, line=first.line) if first.line else path.name
    for other in others[:6]:
        where = Text("{first}; line {line}: {what}", first=where, line=other.line, what=other.error.what)
    if len(others) > 6:
        where = Text("{first}; and {n} more", first=where, n=len(others) - 6)
    raise first.error.copy_as(where=where)
