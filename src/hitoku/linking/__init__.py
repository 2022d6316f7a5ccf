"""Several tables of the same records: what follows from all of them together.

:func:`link` makes several tables and finds the cells that they share (``linked``). A reader adds and
subtracts sets of records, not only cells that some table names; ``atoms`` divides the records into the
classes that no published cell tells apart, so that the rules can be examined for everything that follows.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
