"""Random publications of a small register: bands that shift, two geographies, levels, filters, crosses.

Tables may have options of their own, and some are made from a copy of the file.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pandas as pd

# Two geographies of the same towns that cut across each other, and two bandings of the same ages.
TOWNS = ["t1", "t2", "t3", "t4", "t5"]
COLUMNS = ("county", "zone", "band", "group", "sex", "works", "town")
MAX_KEPT = {"sex": 1, "works": 1, "county": 2, "group": 1, "zone": 1}


def register(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return records, and every combination of codes that its definitions allow."""
    county = dict(zip(TOWNS, rng.choice(list("ABC"), len(TOWNS)), strict=True))
    zone = dict(zip(TOWNS, rng.choice(list("XYZ"), len(TOWNS)), strict=True))
    cuts = {"band": np.sort(rng.choice(np.arange(10, 40, 5), 2, replace=False)), "group": np.array([20])}
    ages = sorted({5, *(int(cut) for own in cuts.values() for cut in own)})
    base = pd.DataFrame(product(TOWNS, ages, "FM", ["yes", "no"]), columns=["town", "age", "sex", "works"])
    base["county"], base["zone"] = base["town"].map(county), base["town"].map(zone)
    for name, own in cuts.items():
        ends = [0, *own.tolist(), 100]
        named = [f"{low}-{high - 1}" for low, high in pairwise(ends)]
        base[name] = np.array(named)[np.searchsorted(own, base["age"], side="right")]
    weight = rng.gamma(0.7, size=len(base))
    drawn = rng.choice(len(base), int(rng.integers(15, 120)), p=weight / weight.sum())
    return base.iloc[drawn].reset_index(drop=True), base


def tables_of(rng: np.random.Generator, records: pd.DataFrame) -> dict[str, dict]:
    """Return two to four tables; ``levels`` are columns above one of theirs, ``options`` further keys."""
    tables: dict[str, dict] = {}
    used = list(rng.choice(COLUMNS, int(rng.integers(2, 4)), replace=False))
    for number in range(int(rng.integers(2, 5))):
        by = [str(name) for name in rng.choice(used, int(rng.integers(1, 3)), replace=False)]
        where = {}
        for name in used:
            if name in MAX_KEPT and rng.random() < 0.35:
                where[str(name)] = sorted(records[name].unique())[: MAX_KEPT[name]]
        if where:
            left = records
            for name, codes in where.items():
                left = left[left[name].isin(codes)]
            where = where if len(left) else {}
        above = ["county", "zone"][int(rng.integers(2))]
        levels = {"town": above} if "town" in by and above not in by and rng.random() < 0.7 else {}
        options = [*[{}] * 5, {"top": 4}, {"top": 5}, {"data": "copy.csv"}][int(rng.integers(8))]
        tables[f"t{number}"] = {"by": by, "where": where, "levels": levels, "options": options}
    return tables


def combinations_of(records: pd.DataFrame, base: pd.DataFrame, tables: dict[str, dict]) -> pd.DataFrame:
    """Return the possible combinations of codes of the tables' columns, with their numbers of records."""
    names = list(
        dict.fromkeys(
            name
            for spec in tables.values()
            for name in (*spec["by"], *spec["where"], *spec["levels"].values())
        )
    )
    every = base[names].drop_duplicates().reset_index(drop=True)
    counts = records.groupby(names).size().rename("records").reset_index()
    found = every.merge(counts, on=names, how="left")
    return found.assign(records=found["records"].fillna(0).astype(int))
