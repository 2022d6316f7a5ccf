"""The proof that a two-way table is safe: seconds to find and verify it, and with linear programs alone.

    python -m bench.proof              half a minute
    python -m bench.proof --large      also 47 by 400 cells without the baseline

Every inner cell is withheld; those below 10 are unsafe and must leave an interval 10 wide.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from hitoku.evidence import Audit, audit, witness_search
from hitoku.evidence.verify import verify
from hitoku.kernels import flow
from hitoku.model import Need, Protection, Release, Table

# Cells up to which linear programs alone are measured, too.
LARGEST_ALONE = 5_000


def table_of(random: np.random.Generator, rows: int, columns: int) -> Table:
    """Draw counts of people by two variables, each with rare codes."""
    rare = [(np.arange(side) + side / 3) / (np.arange(side) + side / 3).sum() for side in (rows, columns)]
    return Table.from_array(random.poisson(5.5 * rows * columns * np.outer(*rare)))


def examined(table: Table) -> tuple[Audit, float]:
    """Audit a table; return seconds as well."""
    unsafe = table.inner & (table.value > 0) & (table.value < 10)
    need = Need(unsafe=unsafe, width=10.0)
    release = Release.of(table, Protection.withhold(table, table.inner, need))
    began = time.process_time()
    found = audit(table, need, release)
    return found, time.process_time() - began


def verified(found: Audit) -> float:
    """Write the certificate and verify it; return seconds."""
    with tempfile.TemporaryDirectory() as folder:
        proof = found.certificate
        if proof is None:
            raise SystemExit("no certificate: the release is not safe")
        path = proof.write(Path(folder) / "certificate.json.gz")
        began = time.process_time()
        if not verify(path):
            raise SystemExit("the certificate is refuted")
        return time.process_time() - began


def compared(rows: int, columns: int) -> str:
    """Prove and verify one table, and again by linear programs alone; return a line of figures."""
    table = table_of(np.random.default_rng(1), rows, columns)
    found, own = examined(table)
    counted = found.summary
    line = (
        f"{rows} x {columns}, {counted['unsafe']:,} unsafe: {own:.2f} s, "
        f"{counted['witnesses']} witnesses, verified in {verified(found):.2f} s"
    )
    if rows * columns > LARGEST_ALONE:
        return line
    flows = witness_search.NetworkCirculation
    witness_search.NetworkCirculation = type("NoFlows", (), {"of": staticmethod(lambda *_: None)})
    try:
        alone, plain = examined(table)
    finally:
        witness_search.NetworkCirculation = flows
    return line + (
        f"; linear programs alone {plain:.2f} s ({plain / own:.0f} times), "
        f"{alone.summary['witnesses']} witnesses, verified in {verified(alone):.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also 47 by 400 cells")
    parser.add_argument("--short", action="store_true", help="10 by 12 cells alone")
    options = parser.parse_args()
    flow.warm_up()
    sides = [(10, 12)] if options.short else [(30, 40), (60, 80), *([(47, 400)] if options.large else [])]
    for rows, columns in sides:
        line = compared(rows, columns)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{line}; peak {peak:.1f} GB", flush=True)


if __name__ == "__main__":
    main()
