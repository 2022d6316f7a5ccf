"""Controlled tabular adjustment: publish the closest safe table instead of the true one.

:class:`Adjust` moves every unsafe cell up or down by its protection level, and the others as little as the
relations allow. The directions are chosen by a disjunctive program or a search. Controlled rounding then
brings the result to the decimals of the table.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
