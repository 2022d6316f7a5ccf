"""Files of τ-ARGUS: 100,000 records of 14 variables and a table of 100,000 cells, compared with pandas.

python -m bench.tau_argus --json
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench import keep
from hitoku.io.argus import (
    Metadata,
    Variable,
    read_metadata,
    read_microdata,
    read_table,
    write_table,
)
from hitoku.model import Table

WIDTHS = [("Year", 2), ("Industry", 5), ("Size", 2), ("Region", 2), ("Request", 1)]
N_QUANTITIES = 9


def described(layout: str) -> Metadata:
    """Five codes and nine quantities."""
    variables, start = [], 1
    for name, width in [*WIDTHS, *((f"Var{n}", 10) for n in range(N_QUANTITIES))]:
        place = start if layout == "fixed" else None
        numeric = name.startswith("Var")
        variables.append(Variable(name, place, width, recodable=not numeric, numeric=numeric))
        start += width
    return Metadata(layout, tuple(variables), None if layout == "fixed" else ";")


def records(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    codes = {
        name: pd.array([f"{code:0{width}}" for code in rng.integers(0, 10 ** min(width, 3), n)], dtype="str")
        for name, width in WIDTHS
    }
    quantities = {f"Var{k}": rng.lognormal(8, 2, n).round(1) for k in range(N_QUANTITIES)}
    return pd.DataFrame({**codes, **quantities})


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def write_records(path: Path, frame: pd.DataFrame, metadata: Metadata) -> None:
    """Write records flush right in fixed columns, or with a separator and codes in quotes."""
    parts, end = [], 0
    for v in metadata.variables:
        text = frame[v.name].map(lambda entry: f"{entry:.1f}" if isinstance(entry, float) else str(entry))
        if metadata.layout == "free":
            parts.append(text if v.is_number else '"' + text + '"')
        else:
            start, end_before = int(v.start or 1) - 1, end
            end = start + int(v.length or 0)
            parts.append(text.str.rjust(end - end_before))
    sign = str(metadata.separator) if metadata.layout == "free" else ""
    lines = parts[0].str.cat(parts[1:], sep=sign)
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def measure(folder: Path, n: int) -> dict[str, float]:
    """CPU time of one thread; the ratio to pandas is what compares across machines."""
    frame, fixed, free = records(n), described("fixed"), described("free")
    asc, csv, tab = folder / "records.asc", folder / "records.csv", folder / "cells.tab"
    write_records(asc, frame, fixed)
    write_records(csv, frame, free)
    places = [(v.start - 1, v.start - 1 + v.length) for v in fixed.variables if v.start and v.length]
    cells = Table.from_array(np.random.default_rng(1).integers(0, 99, (99, 49, 19)))
    found = {
        "write_table": seconds(lambda: write_table(tab, cells)),
        "read_fixed": seconds(lambda: read_microdata(asc, fixed)),
        "read_three_columns": seconds(
            lambda: read_microdata(asc, fixed, variables=["Size", "Region", "Var1"])
        ),
        "read_separated": seconds(lambda: read_microdata(csv, free)),
        "read_table": seconds(lambda: read_table(tab, read_metadata(tab.with_suffix(".rda")))),
        "pandas_read_fwf": seconds(lambda: pd.read_fwf(asc, colspecs=places, header=None)),
        "pandas_read_csv": seconds(lambda: pd.read_csv(csv, sep=";", header=None)),
    }
    found["fixed_by_pandas"] = found["read_fixed"] / found["pandas_read_fwf"]
    found["peak_process_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="write .bench/tau_argus.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.records)
    for name, number in found.items():
        print(f"{name:24}{number:>12,.2f}")
    if options.json:
        keep("tau_argus", found)


if __name__ == "__main__":
    main()
