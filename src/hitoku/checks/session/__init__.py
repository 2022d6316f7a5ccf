"""Sessions, in which a researcher makes outputs of one data set.

:class:`Session` opens the data once, computes and protects each output, judges it by a policy and writes a
submission. Its methods follow pandas where pandas has the statistic. ``AcroApi`` offers the same under the
method names of ACRO.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
