"""List all packages installed with hitoku, with version, licence, and whether they are direct dependencies.

python packaging/licences.py               what pip install hitoku brings
python packaging/licences.py review spark  and what these extras bring

Reads the metadata of the environment that it runs in. Exits with 1 if a package declares no licence.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def wanted(package: Distribution, extras: set[str]) -> Iterator[tuple[str, set[str]]]:
    """Give the names that a package requires under these extras, each with its own extras."""
    for line in package.requires or ():
        requirement, _, marker = line.partition(";")
        only = EXTRA.search(marker)
        if only and only[1] not in extras:
            continue
        name = NAME.match(requirement)
        asked = re.search(r"\[([^\]]+)\]", requirement)
        if name:
            yield name[0], set(map(str.strip, asked[1].split(","))) if asked else set()


def closure(extras: set[str]) -> dict[str, tuple[Distribution, bool]]:
    """Return all packages installed with hitoku; true for direct dependencies."""
    found: dict[str, tuple[Distribution, bool]] = {}
    waiting = [(name, more, True) for name, more in wanted(distribution("hitoku"), extras)]
    while waiting:
        name, more, direct = waiting.pop(0)
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue  # for another platform or another Python
        found[key] = package, direct
        waiting += [(below, deeper, False) for below, deeper in wanted(package, more)]
    return found


def licence(package: Distribution) -> str:
    """Tell a licence in few words, from wherever the metadata has it; empty where they are silent."""
    declared = package.metadata.get("License-Expression") or ""
    if not declared:
        trove = package.metadata.get_all("Classifier") or []
        names = [line.rpartition("::")[2].strip() for line in trove if line.startswith("License ::")]
        declared = " AND ".join(name for name in names if name != "OSI Approved")
    # Some put the whole text into the field that was meant for a name.
    return declared or (package.metadata.get("License") or "").strip().partition("\n")[0][:60]


def main(extras: list[str]) -> int:
    rows = [
        (name, package.version, licence(package), "direct" if direct else "indirect")
        for name, (package, direct) in sorted(closure(set(extras)).items())
    ]
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        sys.stdout.write("  ".join(word.ljust(width) for word, width in zip(row, wide, strict=True)).rstrip())
        sys.stdout.write("\n")
    silent = [name for name, _, declared, _ in rows if not declared]
    if silent:
        sys.stderr.write(f"no licence declared by: {', '.join(silent)}\n")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
