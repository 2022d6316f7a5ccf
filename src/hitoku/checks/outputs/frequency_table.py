"""Frequency tables: units per cell, no cell that holds nearly all of its row or column, wide intervals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from hitoku.checks.evidence import Evidence
from hitoku.checks.evidence.trees import plain_trees, trees_of
from hitoku.checks.policies.policy import Policy
from hitoku.checks.principles import tables
from hitoku.checks.principles.groups import sampled
from hitoku.checks.principles.verdict import Principle, Verdict
from hitoku.checks.records import Records
from hitoku.tabulation.tabulate import tabulate

UNIT = "hitoku unit"


@dataclass(frozen=True)
class FrequencyTable:
    """Counts of records in every combination of codes, with totals.

    Parameters
    ----------
    by
        The variables.
    missing
        "error", or "code": records without a code go under "missing".
    hierarchies
        Code trees by variable, as in :func:`hitoku.tabulate`: their groups are cells of the table as well.
    """

    kind: ClassVar[str] = "frequency_table"

    by: tuple[str, ...]
    missing: str = "error"
    hierarchies: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "hierarchies", plain_trees(self.hierarchies, self.by))

    def collect(self, records: Records) -> Evidence:
        """Tabulate once."""
        trees = trees_of(self.hierarchies)
        return tables.evidence_of(tabulated(records, self.by, missing=self.missing, hierarchies=trees))

    def protect(self, evidence: Evidence, policy: Policy) -> Evidence:
        """Withhold what the rules hit, and what that needs; totals are as they are."""
        withheld = tables.protected(tables.table_of(evidence), tables.count_need(evidence, policy))
        return {**evidence, "withheld": withheld.tolist()}

    def judge(self, evidence: Mapping[str, Any], policy: Policy) -> tuple[Verdict, ...]:
        """Apply the principles to what leaves."""
        need = tables.count_need(evidence, policy)
        withheld = np.asarray(evidence["withheld"], dtype=np.bool_)
        asked = f"intervals of withheld counts at least {policy.interval.count:g} wide"
        return (
            *count_verdicts(evidence, need.rules, policy),
            tables.interval_verdict(tables.table_of(evidence), need, withheld, asked),
        )

    def publish(self, evidence: Mapping[str, Any]) -> dict[str, list[Any]]:
        """Return what leaves."""
        return tables.published_columns(evidence)


def tabulated(records: Records, by: tuple[str, ...], **options: Any) -> Any:
    """Tabulate records with their units."""
    wanted = [*by, *(options[key] for key in ("value", "weight", "holding") if options.get(key))]
    for name in wanted:
        records.column(name)
    chosen = records.table.select(list(dict.fromkeys(wanted)))
    for name in set(by) - set(wanted[len(by) :]):
        # As everything else in a session writes them: a table's cells are found again by their codes.
        chosen = chosen.set_column(
            chosen.column_names.index(name), name, records.texts(name, options["missing"])
        )
    if records.repeated:
        chosen = chosen.append_column(UNIT, [records.unit])
        options["unit"] = UNIT
    return tabulate(chosen, by=list(by), **options)


def count_verdicts(
    evidence: Mapping[str, Any], rules: Mapping[str, Any], policy: Policy
) -> tuple[Verdict, Verdict]:
    """Say what the rules on counts find."""
    counts = np.asarray(evidence["n_units"])
    smallest = int(counts[counts > 0].min(initial=counts.max()))
    remedy = tables.merge_remedy(evidence, policy)
    units = tables.rule_verdict(
        Principle.UNITS,
        "too_few_units",
        evidence,
        rules["min_frequency"],
        f"at least {policy.least_units} units",
        {"minimum": policy.least_units, "smallest": smallest},
        remedy,
    )
    return (
        sampled(units, evidence, policy),
        tables.rule_verdict(
            Principle.GROUP,
            "group_disclosure",
            evidence,
            rules["group_disclosure"],
            f"no cell above {policy.group.share:.0%} of its row or column",
            {"share": policy.group.share},
            "merge the category with others, or leave this breakdown out",
        ),
    )
