"""Insiders: audit of one release against thousands of contributors, with shared deviations and one by one.

The made-up register by activity and size, and by region and activity; the sole and the largest contributors
of every cell. Times are CPU seconds of one thread: "search" tries all of them with witnesses that are
shared, "single" asks the same for a sample of them, each with a search of its own, and is scaled up to all;
"protect" is the method without insiders, "more" what insiders add to it. Tables of :mod:`bench.large` are
protected by circulations from their sole contributors, so that no contributor is tested separately. Results
go to .bench/insiders.json.

    python -m bench.insiders --only activity_size h3_95k
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from itertools import pairwise

import hitoku as ht
from bench import keep
from bench.large import needs, tables
from hitoku.cli import circulate_a_little, look_inside_a_little
from hitoku.coalitions import CoalitionSearch, choose_insiders, contributions_in
from hitoku.methods import against_insiders

TABLES = {
    "activity_size": (["activity", "size"], 3_000),
    "region_activity": (["region", "activity"], 3_000),
    "region_activity_size": (["region", "activity", "size"], 50_000),
}
LARGE = ("demo_1", "h3_95k")
SAMPLE = 10


def measured(by, n):
    """Measure one table."""
    firms = ht.samples.register(n, seed=1)
    table = ht.tabulate(
        firms.records,
        by=by,
        value="turnover",
        unit="enterprise",
        holding="holding",
        hierarchies={name: tree for name, tree in firms.hierarchies.items() if name in by},
    )
    need = ht.assess(table, [ht.PPercent(10), ht.FewContributors(3)])
    method, attack = ht.Greedy(prefer="closing"), ht.Insider(contributions_in(table))
    clock = [time.process_time()]
    protection = method.protect(table, need)
    clock.append(time.process_time())
    release = ht.Release.of(table, protection)
    search = CoalitionSearch(table, need, release, attack)
    found = len(list(search.too_close()))
    clock.append(time.process_time())
    people = list(dict.fromkeys(one.contributor for one in attack.contributions))
    sample = people[:: max(1, len(people) // SAMPLE)][:SAMPLE]
    for who in sample:
        own = [one for one in attack.contributions if one.contributor == who]
        CoalitionSearch(table, need, release, ht.Insider(own)).verdict()
    clock.append(time.process_time())
    more = against_insiders(table, need, protection, method=method, attack=attack)
    clock.append(time.process_time())
    protect, together, single, extended = (b - a for a, b in pairwise(clock))
    tried = len(search.coalitions())
    return {
        "cells": table.n_cells,
        "withheld": int(protection.withheld.sum()),
        "withheld_with_insiders": int(more.withheld.sum()),
        "tried": tried,
        "too_close": found,
        "protect_s": protect,
        "search_s": together,
        "single_s": single / len(sample) * tried,
        "more_s": extended,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measured_large(name):
    """Measure one of the large tables."""
    table = tables(name)
    need, method = needs(name, table), ht.Circulation()
    attack = choose_insiders(table, "singletons").attack
    circulate_a_little()
    look_inside_a_little()
    clock = [time.process_time()]
    protection = method.protect(table, need)
    clock.append(time.process_time())
    search = CoalitionSearch(table, need, ht.Release.of(table, protection), attack)
    found = list(search.too_close())
    clock.append(time.process_time())
    more = against_insiders(table, need, protection, method=method, attack=attack)
    clock.append(time.process_time())
    audit = ht.audit(table, need, ht.Release.of(table, more), insiders=attack, deviations=more.deviations)
    clock.append(time.process_time())
    protect, searched, extended, audited = (b - a for a, b in pairwise(clock))
    grand = abs(table.value).max()
    return {
        "cells": table.n_cells,
        "withheld": int(protection.withheld.sum()),
        "withheld_with_insiders": int(more.withheld.sum()),
        "value": float(table.value[protection.secondary].sum() / grand),
        "value_with_insiders": float(table.value[more.secondary].sum() / grand),
        "tried": len(search.coalitions()),
        "too_close": len(found),
        "pairs": sum(len(one.cells) for one in found),
        "protect_s": protect,
        "search_s": searched,
        "more_s": extended,
        "audit_s": audited,
        "safe": audit.safe,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[*TABLES, *LARGE], default=[*TABLES, *LARGE])
    rows = {}
    for name in parser.parse_args().only:
        rows[name] = measured_large(name) if name in LARGE else measured(*TABLES[name])
        print(name, json.dumps({key: round(number, 2) for key, number in rows[name].items()}), flush=True)
    keep("insiders", rows)


if __name__ == "__main__":
    main()
