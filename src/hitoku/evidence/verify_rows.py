"""Compare the verdict in a certificate with what was proved again; verify.py loads this file.

A row of the verdict that says "proved" must be one of the proofs of verify.py. A row that says
"passed" was audited by hitoku, and is not checked here. This file needs only Python's standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Demand = Callable[..., None]
# Attacker, label, result by hitoku, basis by hitoku, what was proved again.
Row = tuple[str, str, str, str, str]

# Rows of a verdict that a certificate can prove.
LABELS = {
    "outsider": "outsider, single cells",
    "groups": "derivable groups of units",
    "attributes": "attribute disclosure (group, direct)",
    "method": "an attacker who knows the method",
    "tables": "the tables of this recipe together",
}
STATUSES = ("proved", "passed", "failed", "not decided", "not considered")
NONE_UNSAFE = "no cell is listed as unsafe"
BY_HITOKU = "by hitoku, not checked here"
# How many units a group must have follows from the rules in checker/, which a certificate alone lacks.
WITHOUT_RULES = "on trust: the rules are not in the certificate"
# Which records are in which cells is not in a certificate.
TRUSTED_SETS = "that the hidden cells are the sets of records that no published cell divides"
TRUSTED_RULES = "that every cell with too few units can hold as many as its rule requires"


def check_rows(
    content: dict[str, Any],
    beside: dict[str, str],
    alone: bool,
    demand: Demand,
    printable: Callable[[Any], str],
) -> tuple[list[Row], list[str]]:
    """Check 6: rows called proved were proved; return the rows, and their trusted premises."""
    again = proved_rows(content) | beside
    if "verdict" not in content:
        on_trust = {NONE_UNSAFE: "on trust"}
        return [(who, LABELS[who], on_trust.get(how, "proved"), "", how) for who, how in again.items()], []
    rows, trusted = list[Row](), list[str]()
    for row in content["verdict"]["rows"]:
        who, status = row["attacker"], row["status"]
        label, reason = printable(row["label"]), printable(row["reason"])
        demand(status in STATUSES, f"{label}: an unknown result", 2)
        demand(status != "failed" or not row["in_scope"], f"hitoku itself refuses it: {label}: {reason}")
        how = ""
        if status in {"proved", "passed"} and row["applies"]:
            how = again.get(who, BY_HITOKU)
            if who not in again and status == "proved":
                several = who == "tables" and len(content.get("tables", {})) > 1
                known = alone and (who == "groups" or several)
                demand(known, f"{label}: called proved, but without a proof")
                how, trusted = WITHOUT_RULES, [TRUSTED_RULES]
            if who == "tables" and "beside" not in content:
                trusted = [*trusted, TRUSTED_SETS]
        rows.append((who, label, status if row["applies"] else "does not apply", reason, how))
    demand({row[0] for row in rows} >= again.keys(), "the verdict lacks a row for what is proved", 2)
    return rows, trusted


def proved_rows(content: dict[str, Any]) -> dict[str, str]:
    """Return for each attacker in the certificate what checks 1 to 4 proved."""
    n_unsafe, n_groups = len(content["unsafe"]), len(content.get("groups", []))
    found = {"outsider": f"proved again here for {n_unsafe} unsafe cells" if n_unsafe else NONE_UNSAFE}
    found |= {"attributes": f"proved again here for {n_groups} groups"} if n_groups else {}
    found |= {"tables": "proved again here for counts and amounts"} if "beside" in content else {}
    return found | (
        {"method": "proved again here: the method was run again"} if "known_method" in content else {}
    )
