"""Differencing: what several outputs about the same units reveal together.

An output is one or more partitions of units into published cells (:class:`Partition`). A search compares a
new output with everything released before, finds groups below a threshold that only the outputs together
single out, and adds what follows exactly to what is compared next. Every finding carries a certificate,
published cells and how often each is added, which is added up again over all units. Outputs known by
definitions and counts only, and releases known by their codes only (:func:`differencing`), are compared
without records.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
