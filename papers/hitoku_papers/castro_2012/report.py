"""The page about a run: conclusions first, then Tables 1 to 9, then what the paper did not ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hitoku.metrics import BINS, EXACT
from hitoku.solver.closest import PENALTY
from hitoku_papers.castro_2012.conclusions import Conclusion, conclusions, exact, within_5
from hitoku_papers.castro_2012.published import SCENARIOS, dimensions, number, printed_name, shares
from hitoku_papers.castro_2012.run import ATTACKERS, AttackResult, ExperimentResult
from hitoku_papers.page import Cell, Page, PageTable, Picture, Words, side_by_side

TITLE = "Undoing controlled tabular adjustment: Castro (2012), computed again"
# Percentage points beyond which a difference is marked on the page.
FAR = 15.0
SENSES = {
    "up": "all unsafe cells raised",
    "optimal": "senses chosen by the optimiser",
    "secret": "senses drawn, secret",
}
NORMS = {"l1": "L1", "l2": "L2"}

Blocks = list[Words | PageTable | Picture]


def report(
    outcome: ExperimentResult, pictures: Sequence[Picture] = (), searched: Sequence[Words | PageTable] = ()
) -> Page:
    """Return the report: own and published results. ``searched`` is the result of a search over readings."""
    blocks: Blocks = [_opening(outcome), _verdicts(outcome), *pictures, _table_1(outcome)]
    blocks += [
        _tables_2_to_9(outcome, scenario, norm) for scenario in SCENARIOS for norm in outcome.plan.norms
    ]
    blocks += [*_beyond(outcome), *_other_readings(outcome), *searched, _reading(outcome)]
    if outcome.failures:
        failures = tuple(f"- {failure}" for failure in outcome.failures)
        blocks.append(Words(failures, "What could not be computed"))
    return Page(TITLE, tuple(blocks))


def published_lines(outcome: ExperimentResult, scenario: str, norm: str) -> dict[str, tuple[float, ...]]:
    """Return the published percentages of the instances at hand, under the names they have here."""
    printed = shares()[scenario, norm]
    names = outcome.shares(scenario, norm)
    return {name: printed[printed_name(name)] for name in names if printed_name(name) in printed}


def explained(outcome: ExperimentResult) -> tuple[Conclusion, ...]:
    """Put the conclusions to a run; say why, where tables not of the paper do not bear the first one out."""
    norms = outcome.plan.norms
    first, *others = conclusions(outcome.shares, norms)
    if first.holds or published_lines(outcome, "B1", norms[0]):
        return (first, *others)
    sizes = [int(instance.unsafe.sum()) for instance in outcome.instances]
    close = []
    for instance in outcome.instances:
        for norm in norms:
            facts = outcome.protections.get((instance.name, norm, "up"))
            if facts is not None:
                true = instance.value[instance.unsafe]
                moved = np.abs(np.array(facts["published"])[instance.unsafe] - true)
                close.append(float(np.mean(moved <= 0.1 * np.abs(true))))
    if not close:
        return (first, *others)
    why = (
        f"these are no instances of the paper; they have {min(sizes)} to {max(sizes)} unsafe cells, so one "
        f"cell is up to {100 / max(min(sizes), 1):.0f} percent of a table; and the adjusted value itself, "
        f"which all can read, is within 10 % of the true one in {100 * np.mean(close):.0f} % of them"
    )
    return (replace(first, why=why), *others)


def _opening(outcome: ExperimentResult) -> Words:
    plan = outcome.plan
    solved = sum(len(attack.counts) for attack in outcome.attacks)
    named = sum(printed_name(i.name) in dimensions() for i in outcome.instances)
    return Words.of(
        f"""
        A protector publishes, instead of a table with unsafe cells, the closest table in which these have
        moved far enough. An attacker who knows how it was done solves the same problem backwards. The
        question is how close the attacker comes to the unsafe values, and what must be known for that.

        {len(outcome.instances)} instances, {named} of them in the paper; {solved:,} attacker's problems,
        {plan.replications} replications each, seed {plan.seed}. An estimate counts as exact when it is off
        by no more than {100 * EXACT:g} % of the true value; the paper does not say what it counts as exact.
        """
    )


def _verdicts(outcome: ExperimentResult) -> Words:
    norms = outcome.plan.norms
    text = ["In the numbers computed here:", *(f"- {c}" for c in explained(outcome))]
    if published_lines(outcome, "B1", norms[0]):
        printed = conclusions(lambda scenario, norm: published_lines(outcome, scenario, norm), norms)
        text += ["In the published percentages of the same instances:", *(f"- {c}" for c in printed)]
    return Words(tuple(text), "The conclusions, tested")


def _table_1(outcome: ExperimentResult) -> PageTable:
    norms = outcome.plan.norms
    columns = ["n", "s", "m", "nz"]
    for norm in norms:
        columns += [f"{NORMS[norm]} CPU s", f"{NORMS[norm]} ‖μ‖₁"]
    printed: dict[str, list[float]] = {}
    own: dict[str, list[float]] = {}
    for instance in outcome.instances:
        rows, terms = instance.relations.shape[0], instance.relations.nnz
        line: list[float] = [len(instance.value), int(instance.unsafe.sum()), int(rows), int(terms)]
        for norm in norms:
            facts = outcome.protections.get((instance.name, norm, "up"))
            spent = sum(a.seconds for a in _papers(outcome, norm) if a.instance == instance.name)
            nothing = [float("nan")] * 2
            line += nothing if facts is None else [facts["seconds"] + spent, facts["multipliers"]]
        own[instance.name] = line
        there = dimensions().get(printed_name(instance.name))
        if there is not None:
            sizes: list[float] = [there.cells, there.unsafe, there.relations, there.terms]
            for norm in norms:
                sizes += [there.seconds[norm], there.multipliers[norm]]
            printed[instance.name] = sizes
    return side_by_side(
        "Table 1: dimensions, time, multipliers",
        columns,
        printed,
        own,
        digits=2,
        note="CPU seconds of one protection and of all attacks in the four scenarios. The paper's are those "
        "of CPLEX 12.4 on a machine of 2010 with ten replications: an order of magnitude, no more. ‖μ‖₁ adds "
        "up the multipliers of all bounds of cells that can move; in L1 they are not unique. The "
        "printed numbers of L2 are those of cells with equal bounds alone where these are unique: --search "
        "shows it.",
    )


def _papers(outcome: ExperimentResult, norm: str) -> list[AttackResult]:
    """Attacks that the paper made as well."""
    wanted = (norm, "up", outcome.plan.reading)
    return [a for a in outcome.attacks if a.scenario in SCENARIOS and (a.norm, a.senses, a.reading) == wanted]


def _tables_2_to_9(outcome: ExperimentResult, scenario: str, norm: str) -> PageTable:
    own = outcome.shares(scenario, norm)
    soft = sum(a.soft for a in _papers(outcome, norm) if a.scenario == scenario)
    problems = len(own) * outcome.plan.replications
    return side_by_side(
        f"Table {number(scenario, norm)}: scenario {scenario}, {NORMS[norm]}",
        BINS,
        published_lines(outcome, scenario, norm),
        own,
        far=FAR,
        note="Percentage of unsafe cells, over all replications, by relative error of the estimate in "
        f"percent. Guesses contradicted each other in {soft} of {problems} problems.",
    )


def _beyond(outcome: ExperimentResult) -> Blocks:
    """Compare protectors, over the instances that all of them could protect."""
    rows: list[tuple[Cell, ...]] = []
    for norm in outcome.plan.norms:
        common = outcome.common(norm)
        for senses in outcome.plan.senses:
            for scenario in ATTACKERS:
                wanted = (norm, senses, scenario, outcome.plan.reading)
                attacks = [
                    a
                    for a in outcome.attacks
                    if (a.norm, a.senses, a.scenario, a.reading) == wanted and a.instance in common
                ]
                if attacks:
                    hit = float(np.mean([exact(a.shares) for a in attacks]))
                    near = float(np.mean([within_5(a.shares) for a in attacks]))
                    off = float(np.median([np.median(a.median) for a in attacks]))
                    rows.append((NORMS[norm], SENSES[senses], scenario, len(attacks), hit, near, off))
    words = Words.of(
        """
        The paper argues that senses chosen by an optimiser are safer still, and does not try it. Here the
        same attackers meet the binary version, and a protector who draws the senses and keeps them secret.
        B2, B3 and C are told the senses; the last attacker knows everything that B3 knows but the senses,
        and tosses a coin for each cell.
        """,
        "What the paper did not ask: other senses",
    )
    head = ("norm", "protector", "attacker", "tables", "exact %", "within 5 %", "median error %")
    note = "Mean over the instances that every protector of the block could protect, each counted alike."
    return [words, Words(tuple(_about_senses(outcome))), PageTable("", head, tuple(rows), note, words=3)]


def _about_senses(outcome: ExperimentResult) -> list[str]:
    plan = outcome.plan
    facts = [(key, f) for key, f in outcome.protections.items() if key[2] == "optimal"]
    left = [
        f"{name} ({NORMS[norm]}, gap {100 * f['gap']:.1f} %)"
        for (name, norm, _), f in facts
        if f["gap"] > plan.gap
    ]
    turned = sum(f["turned"] for (_, _, senses), f in outcome.protections.items() if senses == "secret")
    text = [
        f"The optimiser chose in {len(facts)} problems of up to {plan.most_choices} unsafe cells, to within "
        f"{100 * plan.gap:g} %"
        + (f"; it ran out of time in: {', '.join(left)}." if left else ", everywhere in time.")
    ]
    if turned:
        text.append(f"Drawn senses that no table could keep were turned around: {turned} in all instances.")
    return text


def _other_readings(outcome: ExperimentResult) -> Blocks:
    """Tell how far the published tables are from ours when levels are guessed in other ways."""
    plan = outcome.plan
    tried = (plan.reading, *plan.other_readings)
    rows: list[tuple[Cell, ...]] = []
    for scenario in ("B1", "B2"):
        for norm in plan.norms:
            far: list[list[float]] = []
            for name, line in published_lines(outcome, scenario, norm).items():
                lines = [outcome.shares(scenario, norm, "up", reading).get(name) for reading in tried]
                far.append([float("nan") if own is None else apart(own, line) for own in lines])
                rows.append((scenario, NORMS[norm], name, *far[-1]))
            if far:
                rows.append((scenario, NORMS[norm], "mean", *np.nanmean(far, axis=0).tolist()))
    if not rows or not plan.other_readings:
        return []
    words = Words.of(
        """
        The paper states that the attacker's error about the protection levels is Δ = 0.2, and prints levels
        as shares of published values in section 5, of guessed ones in section 3. Below: the share of
        estimates, in percent, that would have to change their interval to turn our line into the published
        one. The first column belongs to the tables above; where another is smaller, the paper seems to have
        been computed in that way.
        """,
        "How were levels guessed?",
    )
    head = ("scenario", "norm", "instance", *map(str, tried))
    return [words, PageTable("", head, tuple(rows), words=3)]


def apart(one: Sequence[float], other: Sequence[float]) -> float:
    """Half the sum of the absolute differences of two distributions."""
    return float(np.abs(np.subtract(one, other)).sum() / 2)


def _reading(outcome: ExperimentResult) -> Words:
    return Words.of(
        f"""
        - β, half the width of the interval in which the attacker draws values around the published ones, is
          the largest |x - a| / a of an unsafe cell, or |x - a| / x where that is more, which meets the
          condition that a lies in the interval.
        - Levels are guessed as shares of published values, as the formula in section 5 is printed.
        - In C the attacker has the bounds of the protector's own problem, (5) and (7); only the weights are
          guessed.
        - A cell whose known bounds are equal is fixed and no variable, as section 4 has it, also where the
          drawn value differs.
        - Where no table keeps all guesses, every bound may be broken at a price of {PENALTY:g} times what the
          distance charges for the same relative move; the paper states no price.
        - Released values are those of the method adjust, which prints no more than six decimals.
        - Everything is drawn from seed {outcome.plan.seed}; a replication draws the same values in every
          scenario.
        """,
        "How the paper was read",
    )
