"""A researcher's session: a data set, outputs requested by name, and their verdicts.

:class:`Session` opens the data once, computes and protects outputs as usual in pandas, judges them by a
policy and writes a submission. ``AcroApi`` offers the same under ACRO's names for its methods.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
