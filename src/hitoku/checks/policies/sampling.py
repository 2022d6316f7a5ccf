"""How likely it is that few units in a sample are few in the population.

A group with n units in the sample has F in the population, F unknown. Each unit came into the sample with the
same probability, independently of the others. If the population had fewer than m, the sample would show n or
more with a probability of at most

    P(F < m) = P(B >= n), with B binomial, m - 1 trials, the sampling fraction as the chance of each.

No assumption about the population is needed: this is the largest error probability of a test of "fewer than
m" against "at least m" that decides by n. It is also, exactly, the posterior probability of fewer than m when
F given n is negative binomial, as Benedetti and Franconi (1998) have it, which follows from a prior
proportional to 1/F; see Skinner and Elliot (2002) for measures of risk of this kind.
"""

from __future__ import annotations

from math import comb


def population_risk(n_units: int, fraction: float, minimum: int) -> float:
    """Bound the chance that a group of so many units in a sample has too few in the population.

    Parameters
    ----------
    n_units
        Units in the sample; at least one.
    fraction
        Share of the population in the sample.
    minimum
        Units that the population should have.

    Examples
    --------
    Four people of a sample of one in ten: if there were only nine in all, four or more of them would come
    into it once in 120 times.

    >>> round(population_risk(4, 0.1, 10), 4)
    0.0083
    """
    trials = minimum - 1
    return sum(
        comb(trials, hits) * fraction**hits * (1 - fraction) ** (trials - hits)
        for hits in range(n_units, trials + 1)
    )
