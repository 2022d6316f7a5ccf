"""The page about Kikuchi and Minami (2017)."""

from __future__ import annotations

from collections.abc import Sequence

from hitoku.checks.policies import population_risk
from hitoku_papers.kikuchi_minami_2017.principles import results as principles
from hitoku_papers.kikuchi_minami_2017.procedures import results as procedures
from hitoku_papers.kikuchi_minami_2017.procedures import stages
from hitoku_papers.kikuchi_minami_2017.published import UNITS
from hitoku_papers.page import Cell, Page, PageTable, Words
from hitoku_papers.reproduction import Reproduction, failing, overview

TITLE = "Kikuchi and Minami (2017), computed again"
SAMPLED, FRACTIONS = (1, 2, 4, 6, 9), (0.01, 0.1, 0.5, 1.0)


def results() -> tuple[Reproduction, ...]:
    """Compare everything in the paper that can be computed."""
    return (*principles(), *procedures())


def page(found: Sequence[Reproduction]) -> Page:
    """Tell everything about the paper.

    Parameters
    ----------
    found
        What :func:`results` returns.
    """
    apart = len(failing(found))
    opening = Words.of(
        f"""
        On-site service and safe output checking in Japan. The paper prints few numbers and many rules: each
        threshold is tried on both sides, each procedure on a table or on records made up for it.
        {len(found)} results; {apart} differ from the paper, and say why.
        """
    )
    return Page(TITLE, (opening, overview("What the paper says", found), stages(), _sampling(), _decisions()))


def _sampling() -> PageTable:
    rows: list[tuple[Cell, ...]] = [
        (str(n), *(population_risk(n, fraction, UNITS) for fraction in FRACTIONS)) for n in SAMPLED
    ]
    return PageTable(
        "Appendix F: how likely fewer than 10 in the population are, for few units in a sample",
        ("units in the sample", *(f"1 in {1 / fraction:g}" for fraction in FRACTIONS)),
        tuple(rows),
        "The paper leaves relaxation by sampling rate to future work and prints no number. This is the bound "
        "that the section [sampling] of a policy uses: the probability, at most, to see so many units in the "
        "sample if the population had fewer than 10. A unique of a sample says little; nine of a census all.",
        digits=4,
    )


def _decisions() -> Words:
    return Words.of(
        """
        - Appendix A, the adversary: not the researcher, but a reader of what is published. Every attack here
          is given the release and nothing else; one that knows more says what.
        - Appendix B, uniformity: intermediate and final outputs are judged alike. A session has no option to
          tell them apart.
        - Section 2.1, two phases: the first decides by rules, the second by meaning. Verdicts are pass, fail,
          or review; what only a person can decide is review.
        - Section 4.2, limits of τ-ARGUS: no own format is needed (a frame is enough), and group disclosure is
          a rule like any other, in counts and in magnitudes.
        - Appendix F, skipping dominance: a policy whose [dominance] has k = 100 flags nothing; the choice
          stands in the file that the checker has, not in the program.
        """,
        "What cannot be computed, and how it is decided here",
    )
