"""Secondary suppression at proven minimum cost: a branch and cut over attackers' problems.

:class:`Optimal` reduces a table to the cells that can help and to connected parts, finds good patterns by
heuristics and large neighbourhood search, and proves the best by a master problem with Benders cuts after
Fischetti and Salazar, branching on cells. The pattern among those of equal cost is canonical. Small two-way
tables and small parts are decided by enumeration.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
