"""Derive the premises of a certificate from the other files in checker/, as far as possible.

A certificate proves that the unsafe cells which it lists are safe if cells add up as it says. verify.py loads
this file, if it is next to it, and compares these premises with the other files of the folder:

* hierarchies.json: every total that the code trees define must be among the relations;
* cells.csv: every cell that a rule marks must be listed as unsafe, with levels that are no lower;
* summary.json: rules that only count (min_frequency, few_contributors) are applied again to the numbers of
  respondents and contributors in cells.csv, and rules on the two largest contributions (p_percent,
  prior_posterior, dominance) to these;
* groups.json: every group about which the true table reveals too much must be listed.

Other premises, and these files themselves, are taken on trust; the answer lists them. This file
needs only Python's standard library.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

Demand = Callable[..., None]
# Rules that count, and the column of cells.csv with the numbers.
COUNTING = {"min_frequency": "respondents", "few_contributors": "contributors"}
COUNTS = "the numbers of respondents and contributors in checker/cells.csv, which give the unsafe cells"
LARGEST = "the largest contributions in checker/cells.csv, which give the cells that are unsafe by"
NO_RELATIONS = "that no cell is a sum of others: not one relation is listed"
# The certificate is about the published values; the units behind them are audited separately.
UNITS_APART = {"groups": "by hitoku, not checked here"}
# Numbers in cells.csv and groups.json are rounded to doubles; the certificate has the exact ones.
ROUNDING = Fraction(1, 10**9)


def check_premises(
    content: dict[str, Any], checker: Path, demand: Demand, plain: Callable[[str], str]
) -> tuple[str, list[str], dict[str, str]]:
    """Return a note for the answer, the trusted premises, and what was proved beside the certificate."""
    trusted = ["the true values, and the bounds that an outsider knows"]
    trusted.append(relations(content, read(checker / "hierarchies.json"), demand))
    columns = evidence(content, checker / "cells.csv", demand, plain)
    summary = read(checker / "summary.json")
    rules = [] if summary is None else summary.get("rules", [])
    marked = unsafe_cells(content, columns, rules, demand)
    trusted += [*marked, "the required protection of each unsafe cell"]
    note = ""
    if not content["unsafe"]:
        follows = bool(marked) and all(one.startswith((COUNTS, LARGEST)) for one in marked)
        note = "by the counts in checker/ none is" if follows else "that none is unsafe is taken on trust"
    seen = ["table.csv", *(f"{name}/{name}.csv" for name in content.get("tables", {}))]
    others = sorted(set(content["files"]) - set(seen))
    trusted += [f"that {', '.join(others)} show what {seen[0]} shows"] if others else []
    groups(content, read(checker / "groups.json"), demand)
    return note, trusted, derivable_groups(content, columns, rules)


def read(path: Path) -> Any:
    """Read a JSON file; None if it is missing."""
    return json.loads(path.read_text("utf-8")) if path.is_file() else None


def relations(content: dict[str, Any], trees: Any, demand: Demand) -> str:
    """Check that every total which the code trees define is among the relations."""
    codes, first = content["codes"], dict[int, list[int]]()
    hidden = set(content.get("hidden", []))
    shown = [cell for cell in range(len(codes)) if cell not in hidden]
    whole = {"variables": content["variables"], "codes": [codes[cell] for cell in shown], "cells": shown}
    tables = {"table": whole, **content.get("tables", {})}
    named = {
        name: variables for name, variables in ({} if trees is None else trees).items() if name in tables
    }
    if not named:
        n = len(content["relations"])
        listed = f"that cells add up in the {n} listed relations and in no others" if n else NO_RELATIONS
        return f"{listed} (no code trees in checker/)"
    for row, (members, _) in enumerate(content["relations"]):
        first.setdefault(min(members, default=-1), []).append(row)
    for name, variables in named.items():
        table = tables[name]
        demand([*variables] == table["variables"], "checker/hierarchies.json: other variables than certified")
        for cell, terms in sums(table, [*variables.values()], demand):
            rows = first.get(min(terms, default=-1), [])
            if terms and not any(proportional(terms, *content["relations"][row]) for row in rows):
                what = " / ".join(codes[cell])
                demand(False, f"cell {what}: the relations lack a sum that checker/hierarchies.json names")
    return "that cells add up as the code trees in checker/hierarchies.json say, and in no other way"


def sums(table: dict[str, Any], variables: list[Any], demand: Demand) -> Iterator[tuple[int, dict[int, int]]]:
    """List each cell that is a sum of others, with the terms that cancel."""
    cells = dict(zip(map(tuple, table["codes"]), table["cells"], strict=True))
    for axis, trees in enumerate(variables):
        below: dict[str, list[list[str]]] = {}
        known = {tree["total"] for tree in trees}
        for tree in trees:
            parts: dict[str, list[str]] = {}
            for code, parent in tree["parents"].items():
                parts.setdefault(parent, []).append(code)
                known |= {code, parent}
            for parent, own in parts.items():
                below.setdefault(parent, []).append(own)
        for codes, cell in cells.items():
            demand(codes[axis] in known, f"code {codes[axis]}: it is in no tree of checker/hierarchies.json")
            for own in below.get(codes[axis], []):
                terms: dict[int, int] = {cell: -1}
                for code in own:
                    part = (*codes[:axis], code, *codes[axis + 1 :])
                    demand(part in cells, f"code {code}: a part in checker/hierarchies.json, and in no cell")
                    terms[cells[part]] = terms.get(cells[part], 0) + 1
                yield cell, {place: term for place, term in terms.items() if term}


def proportional(terms: dict[int, int], members: list[int], coefficients: list[Any]) -> bool:
    """Return whether a relation of the certificate is equivalent to some terms."""
    if len(members) != len(terms) or not all(member in terms for member in members):
        return False
    exact = [c if type(c) is int else Fraction(c) for c in coefficients]
    scale = Fraction(exact[0], terms[members[0]])
    return scale != 0 and all(c == scale * terms[m] for c, m in zip(exact, members, strict=True))


def unsafe_cells(
    content: dict[str, Any], columns: dict[str, list[str]], rules: list[Any], demand: Demand
) -> list[str]:
    """Check that every cell which a rule marks is listed; return the trusted premises."""
    needs = {need["cell"]: need for need in content["unsafe"]}
    listed = f"that exactly the {len(needs)} listed cells are unsafe"
    if not columns:
        return [f"{listed} (no cells.csv in checker/)"]
    for cell, (marked, decision) in enumerate(zip(columns["rules"], columns["decision"], strict=True)):
        if marked or decision == "primary":
            what = f"cell {' / '.join(content['codes'][cell])}"
            demand(cell in needs, f"{what}: unsafe by checker/cells.csv, and not by the certificate")
            for level in needs[cell].keys() & {"lower", "upper", "width"}:
                asked, given = parse_double(columns[f"required_{level}"][cell]), exact(needs[cell][level])
                enough = given >= asked - slack(asked)
                demand(enough, f"{what}: checker/cells.csv requires more than the certificate")
    return rules_again(content, columns, rules, needs, listed, demand)


def rules_again(
    content: dict[str, Any],
    columns: dict[str, list[str]],
    rules: list[Any],
    needs: dict[int, Any],
    listed: str,
    demand: Demand,
) -> list[str]:
    """Apply the rules that can be applied here; return the trusted premises about unsafe cells."""
    # A cell that no table shows is unsafe only if a rule marks it.
    judged = set(range(len(content["codes"]))) - set(content.get("hidden", []))
    on_trust = [one["rule"] for one in rules if counted_numbers(one, columns) is None]
    compared: dict[str, None] = {}
    for rule in rules:
        own = lacks(content, columns, rule)
        if own is not None:
            compared[rule["rule"]] = None
            on_trust.remove(rule["rule"])
        counts = counted_numbers(rule, columns)
        few = (
            [0 < count < rule["n"] for count in counts] if counts is not None else [x > 0 for x in own or ()]
        )
        for cell in (cell for cell, marked in enumerate(few) if marked and cell in judged):
            what = f"cell {' / '.join(content['codes'][cell])}"
            demand(cell in needs, f"{what}: unsafe by {rule['rule']}, and not by the certificate")
            level = exact(needs[cell]["upper"]) + slack(exact(content["values"][cell]))
            enough = own is None or "width" not in needs[cell] or level >= own[cell]
            demand(enough, f"{what}: {rule['rule']} requires more than the certificate")
    if not rules:
        return [f"{listed}, as checker/cells.csv says (no rules in checker/summary.json)"]
    names = ", ".join(dict.fromkeys(on_trust))
    found = [COUNTS] if len(on_trust) + len(compared) < len(rules) else []
    found += [f"{LARGEST} {', '.join(compared)}"] if compared else []
    return found + ([f"which cells are unsafe by {names}, as checker/cells.csv says"] if names else [])


def counted_numbers(rule: dict[str, Any], columns: dict[str, list[str]]) -> list[Fraction] | None:
    """Return the numbers that a rule compares with its minimum; None if it does not only count."""
    column = columns.get(COUNTING.get(rule["rule"], ""))
    other = rule.get("weighted") or rule.get("level", "holding") != "holding"
    return None if column is None or other else [parse_double(text) for text in column]


def weights(rule: dict[str, Any]) -> list[Fraction] | None:
    """Return the weights of the largest contributions in the least total that a rule allows, at most two."""
    kind, n = rule["rule"], rule.get("n")
    if kind == "dominance" and n in {1, 2}:
        return [100 / Fraction(str(rule["k"]))] * int(n)
    if kind == "p_percent" and n == 1:
        return [1 + Fraction(str(rule["p"])) / 100, Fraction(1)]
    if kind == "prior_posterior" and n == 1:
        return [1 + Fraction(str(rule["p"])) / Fraction(str(rule["q"])), Fraction(1)]
    return None


def lacks(
    content: dict[str, Any], columns: dict[str, list[str]], rule: dict[str, Any]
) -> list[Fraction] | None:
    """Return what every cell lacks to be safe by a rule on its largest contributions.

    None if the rule cannot be applied here: for others, for several tables, or without these columns, which
    cells.csv has where contributions are not negative and add up to the value.
    """
    own, ranks = weights(rule), [columns.get(name) for name in ("largest", "second")]
    other = rule.get("level", "holding") != "holding" or len(content.get("tables", {})) > 1
    if own is None or other or None in ranks[: len(own)]:
        return None
    found = [-exact(x) for x in content["values"]]
    for weight, column in zip(own, ranks, strict=False):
        found = [lack + weight * parse_double(text) for lack, text in zip(found, column or [], strict=True)]
    # What readers know anyway cannot be protected, and a lack within rounding is none.
    for cell, lack in enumerate(found):
        value, (low, high) = (
            exact(content["values"][cell]),
            (content[side][cell] for side in ("lower", "upper")),
        )
        room = lack if high is None else min(lack, exact(high) - value)
        found[cell] = Fraction(0) if lack <= slack(value) or (low is not None and low == high) else room
    return found


def derivable_groups(
    content: dict[str, Any], columns: dict[str, list[str]], rules: list[Any]
) -> dict[str, str]:
    """Return a note if every cell with too few units can hold as many as its rule requires; else empty.

    Then no group whose total follows from published cells has fewer: it contains a cell with units, its total
    is the same in all feasible tables, and that cell alone is large enough in one of them.
    """
    counting = [(rule, counted_numbers(rule, columns)) for rule in rules if rule["rule"] in COUNTING]
    values = [exact(x) for x in content["values"]]
    tables = [
        (dict(zip(one["cells"], one["differences"], strict=True)), one["denominator"])
        for one in content.get("witnesses", [])
    ]
    high: dict[int, Fraction] = {}
    for need in content["unsafe"] if tables else []:
        deviations, below = ({}, 1) if need["high"] is None else tables[need["high"]]
        high[need["cell"]] = values[need["cell"]] + exact(deviations.get(need["cell"], 0)) / Fraction(below)
    found = {"groups": "proved again here by the same witnesses"} if counting else {}
    if len(content.get("tables", {})) > 1:
        # Hidden cells are judged like others: those of several tables are sets of records.
        found["tables"] = "proved by the same witnesses for the listed sets of records"
    for rule, counts in counting:
        if counts is None:
            found = UNITS_APART
            continue
        small = [cell for cell, x in enumerate(counts) if 0 < x < rule["n"]]
        if small and counts != values:
            found = UNITS_APART
        elif any(high.get(cell, 0) < rule["n"] for cell in small):
            return {}
    return found


def exact(thing: int | str) -> Fraction:
    """Read a number of the certificate; integers stay integers, which are faster and smaller."""
    return thing if type(thing) is int else Fraction(thing)  # type: ignore[return-value]


def slack(number: Fraction) -> Fraction:
    """Return the tolerance of a number that was rounded to a double."""
    return max(ROUNDING, ROUNDING * abs(number))


def parse_double(text: str) -> Fraction:
    """Read a number that was printed as a double, without evaluating huge exponents."""
    return int(text) if text.isdecimal() else Fraction(float(text))  # type: ignore[return-value]


def evidence(
    content: dict[str, Any], path: Path, demand: Demand, plain: Callable[[str], str]
) -> dict[str, list[str]]:
    """Read cells.csv: columns by their names, in the order of the certificate; empty without the file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = [[*map(plain, row)] for row in csv.reader(file)]
    n_codes = len(content["variables"])
    same = head[:n_codes] == content["variables"] and [row[:n_codes] for row in rows] == content["codes"]
    demand(same, "checker/cells.csv: other cells than certified")
    columns = zip(*rows, strict=True) if rows else [[] for _ in head]
    return {name: [*column] for name, column in [*zip(head, columns, strict=True)][n_codes:]}


def groups(content: dict[str, Any], asked: Any, demand: Demand) -> None:
    """Check that every group about which the true table reveals too much is listed."""
    value, withheld = [exact(x) for x in content["values"]], set(content["withheld"])
    listed: dict[int, list[tuple[dict[int, Fraction], Fraction]]] = {}
    for one in content.get("groups", []):
        weights = dict(zip(one["cells"], map(Fraction, one["weights"]), strict=True))
        listed.setdefault(one["group"], []).append((weights, Fraction(one["goal"])))
    parts = [asked[name] for name in ("cells", "weights", "goal", "group")] if asked is not None else []
    counts = all(float(w).is_integer() for own in parts[1:2] for row in own for w in row) and all(
        x.denominator == 1 for x in value
    )
    for cells, weights, goal, group in zip(*parts, strict=True):
        due = dict(zip(cells, map(Fraction, weights), strict=True))
        # If the size of the group is suppressed, an empty group proves nothing: it must be nonempty.
        unseen = max(Fraction(goal), Fraction(1 if counts else 0))
        least = unseen if group in withheld else min(Fraction(goal), value[group])
        total = sum(weight * value[cell] for cell, weight in due.items())
        harmless = total >= least - slack(least)
        found = harmless or any(no_less(own, reached, due, least) for own, reached in listed.get(group, []))
        what = f"group {' / '.join(content['codes'][group])}"
        demand(found, f"{what}: required by checker/groups.json, and not by the certificate")


def no_less(own: dict[int, Fraction], goal: Fraction, due: dict[int, Fraction], least: Fraction) -> bool:
    """Return whether a listed sum, up to its scale, is the required one, with at least its required size."""
    if own.keys() != due.keys():
        return False
    scale = max(map(abs, own.values())) / max(map(abs, due.values()))
    same = all(abs(own[cell] - scale * due[cell]) <= ROUNDING * scale * abs(due[cell]) for cell in due)
    return same and goal >= scale * (least - slack(least))
