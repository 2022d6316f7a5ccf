"""Settings that a centre fixes for its ledger, and rules for periods and for the largest contributors.

A submission that names other settings is compared with them; its own are never used.

A concentration ratio publishes the sum of the four largest contributors of a group. The partition into groups
is followed by one of the largest contributors of each group, which is subtracted like any other. Small groups
are allowed there, because the ratio itself is about one, but not so small that one member knows the others.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hitoku.attacks.differencing import COUNT, SingledOut
from hitoku.checks.ledger.store import KEY_BYTES, LedgerStore, create, fresh_store, locked_store, read_store
from hitoku.checks.policies import Policy
from hitoku.checks.policies import policy as policy_named
from hitoku.errors import DataError, ParameterError
from hitoku.files import read_file
from hitoku.messages import Text

WITHIN = " within "


def within_period(what: str, period: str) -> str:
    """Return the name of a quantity published for the units of a period.

    Examples
    --------
    >>> within_period("count", "year=2020")
    'count within year=2020'
    """
    return f"{what}{WITHIN}{period}"


def publishes_counts(publishes: Iterable[str]) -> bool:
    """Return whether counts are published, in total or for a period.

    Examples
    --------
    >>> publishes_counts({"income", "count within year=2020"}), publishes_counts({"income", "counts"})
    (True, False)
    """
    return any(each == COUNT or each.startswith(f"{COUNT}{WITHIN}") for each in publishes)


# In a sum of two contributors, each knows the other.
FEWEST = 3


def largest_of(n: int, value: str) -> str:
    """Return the name of the sum or share of the n largest contributors to a variable."""
    return f"largest {n} of {value}"


def published_ranks(publishes: Iterable[str]) -> dict[str, set[int]]:
    """Return the published numbers of largest contributors for each variable.

    Examples
    --------
    >>> published_ranks({"income", largest_of(4, "income"), largest_of(8, "income")}) == {"income": {4, 8}}
    True
    """
    found: dict[str, set[int]] = {}
    for each in publishes:
        if match := re.fullmatch(r"largest (\d{1,9}) of (.*)", each, re.DOTALL):
            found.setdefault(match[2], set()).add(int(match[1]))
    return found


def next_to(one: Iterable[str], other: Iterable[str]) -> list[tuple[str, int, int]]:
    """Return pairs of top-n sums that differ by fewer than ``FEWEST`` contributors.

    Examples
    --------
    >>> next_to({largest_of(4, "x")}, {largest_of(5, "x"), largest_of(8, "x")})
    [('x', 4, 5)]
    """
    mine, its = published_ranks(one), published_ranks(other)
    return [
        (value, n, m)
        for value in sorted(mine.keys() & its.keys())
        for n in sorted(mine[value])
        for m in sorted(its[value])
        if 0 < abs(n - m) < FEWEST
    ]


def is_allowed_group(group: SingledOut, publishes: Mapping[str, frozenset[str]]) -> bool:
    """Return whether a small derived group is allowed, because it consists of top contributors.

    Parameters
    ----------
    group
        Derived group.
    publishes
        Published quantities of each output; outputs of top contributors have them after their first
        partition.
    """
    of_largest = any(part > 0 and published_ranks(publishes[name]) for name, part, _ in group.certificate)
    return of_largest and len(group) >= FEWEST


# Default number of outputs tested together in sessions, checks and new ledgers, so that researchers see the
# result that checkers will see. Four cost hardly more than three.
DEPTH = 4
TESTED = {
    1: Text("tested up to one output alone"),
    2: Text("tested up to two outputs together"),
    3: Text("tested up to three outputs together"),
    4: Text("tested up to four outputs together"),
}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings fixed when the ledger was created."""

    policy: Policy  # Policy applied to all outputs.
    unit: str | None  # Column that names the unit; None if every record is a unit.
    unit_word: str  # Displayed name of a unit.
    checkers: int  # Number of checkers required for a release.
    depth: int  # Number of outputs tested together.
    created: str  # Time of creation.


def init(
    path: str | Path,
    *,
    policy: str | Path | Policy,
    unit: str | None = None,
    unit_word: str = "unit",
    checkers: int = 2,
    depth: int = DEPTH,
    key: str | Path | None = None,
) -> Settings:
    """Create a ledger, or fix the settings of one without settings.

    Parameters
    ----------
    path
        Path of the file; only its owner may read it.
    policy
        Name or path of a policy; the ledger stores a copy.
    unit
        Column that names the unit in all data of the ledger. Default: every record is a unit.
    unit_word
        Displayed name of a unit: "person", "enterprise".
    checkers
        Number of checkers required for a release. Default: 2.
    depth
        Number of outputs tested together. Default: 4.
    key
        File with the centre's key, at least 32 bytes. Default: a random key.

    Examples
    --------
    >>> import tempfile
    >>> settings = init(Path(tempfile.mkdtemp()) / "wages.ledger", policy="japan-2017", unit="person")
    >>> settings.policy.name, settings.unit, settings.checkers
    ('japan-2017', 'person', 2)
    """
    place, rules = Path(path), policy_named(policy)
    if checkers < 1 or depth < 1:
        raise ParameterError(
            "checkers_and_depth_range",
            "checkers and depth start at 1",
            where="ledger",
            fix="2 and 4 are usual",
        )
    body = {
        "policy": rules.model_dump(mode="json"),
        "policy_hash": rules.hash,
        "unit": unit,
        "unit_word": unit_word,
        "checkers": checkers,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if place.exists():
        if key is not None or depth != read_store(place).depth:
            raise ParameterError(
                "ledger_has_key_and_depth",
                "a ledger that exists has its key and depth",
                where=str(place),
                fix="leave --key and --depth out",
            )
        with locked_store(place) as store:
            if store.of("settings"):
                raise DataError(
                    "ledger_has_settings",
                    "the ledger has its settings",
                    where=str(place),
                    fix="they are fixed: hitoku ledger show",
                )
            if store.by_name is not (unit is not None):
                raise ParameterError(
                    "ledger_unit_differs",
                    "the ledger was begun with another kind of unit",
                    where=str(place),
                    fix="name the unit's column"
                    if store.by_name
                    else "leave --unit out: every record is a unit",
                )
            store.append("settings", body)
    else:
        begin = {"data_hash": "", "n_units": 0, "depth": depth, "by_name": True}
        begun = fresh_store(place, begin, None if key is None else _key(Path(key)))
        begun.add("settings", body)
        create(place, begun.lines, begun.key)
    return required_settings(place)


def settings_of(store: LedgerStore) -> Settings | None:
    """Return the settings of an open ledger; None if it has none."""
    found = store.of("settings")
    if not found:
        return None
    body = found[-1]
    return Settings(
        policy=Policy.model_validate(body["policy"]),
        unit=body["unit"],
        unit_word=body["unit_word"],
        checkers=body["checkers"],
        depth=store.depth,
        created=body["created"],
    )


def settings(path: str | Path) -> Settings | None:
    """Return the settings of a ledger file; None if it has none."""
    return settings_of(read_store(Path(path)))


def required_settings(path: str | Path) -> Settings:
    """Return the settings of a ledger file; raise DataError if it has none."""
    found = settings(path)
    if found is None:
        raise DataError(
            "ledger_not_set_up",
            "the ledger has no fixed policy and unit",
            where=str(path),
            fix="hitoku ledger init LEDGER --policy NAME --unit COLUMN",
        )
    return found


ALL_TOGETHER = Text("all outputs tested together")


def describe_tests(depth: int) -> str:
    """Describe how many outputs were tested together."""
    return TESTED.get(depth) or Text("tested up to {n} outputs together", n=depth)


def _key(path: Path) -> bytes:
    key = read_file(path, 1000)
    if len(key) < KEY_BYTES:
        raise ParameterError(
            "key_too_short",
            "the key has {n_bytes} bytes, {least} at least are needed",
            where=str(path),
            fix="generate one: head -c 32 /dev/urandom > centre.key, readable by you alone",
            n_bytes=len(key),
            least=KEY_BYTES,
        )
    return hashlib.sha256(key).digest()
