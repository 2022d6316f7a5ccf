"""Differencing: what several outputs about the same units reveal together.

An output is one or more partitions of units into published cells (:class:`Partition`). A search compares a
new output with everything released before, finds groups below a threshold that only the outputs together
single out, and uses exact implications in further comparisons. Every finding has a certificate,
published cells with coefficients, whose sum is checked over all units. Outputs known only by
definitions and counts, and releases known only by their codes (:func:`differencing`), are compared
without records.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
