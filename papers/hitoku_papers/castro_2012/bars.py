"""What the pictures show: percentages of estimates by relative error, averaged over instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hitoku_papers.castro_2012.published import SCENARIOS
from hitoku_papers.castro_2012.report import NORMS, SENSES, published_lines
from hitoku_papers.castro_2012.run import ATTACKERS, ExperimentResult

Bars = dict[str, dict[str, tuple[float, ...]]]


def beside_published(outcome: ExperimentResult) -> Bars:
    """By scenario: published and ours, L1 and L2, over instances that both have; ours alone without any."""
    found: Bars = {}
    for scenario in SCENARIOS:
        bars = found.setdefault(scenario, {})
        for norm in outcome.plan.norms:
            own, printed = outcome.shares(scenario, norm), published_lines(outcome, scenario, norm)
            if printed:
                bars[f"{NORMS[norm]} published"] = _mean(list(printed.values()))
                own = {name: line for name, line in own.items() if name in printed}
            if own:
                bars[f"{NORMS[norm]} here"] = _mean(list(own.values()))
    return {scenario: bars for scenario, bars in found.items() if bars}


def by_protector(outcome: ExperimentResult, norm: str) -> Bars:
    """By attacker: how the protector chose the senses, over the instances that all of them could protect."""
    common = outcome.common(norm)
    found: Bars = {}
    for scenario in ATTACKERS:
        for senses in outcome.plan.senses:
            lines = [line for name, line in outcome.shares(scenario, norm, senses).items() if name in common]
            if lines:
                found.setdefault(scenario, {})[SENSES[senses]] = _mean(lines)
    return found


def _mean(lines: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(np.mean(lines, axis=0).tolist())
