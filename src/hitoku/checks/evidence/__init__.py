"""Evidence: what principles are computed from, collected once from the records of an output.

There is one kind for each kind of output: tables, groups of records, models, summaries, files. Evidence is
validated when it is made, holds arrays in memory and plain lists at a file's edge, and is enough to judge the
output again without the records. Beside it: the cells that a reader knows, code trees, complete cases, and
whether counts and contributions can be true together.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
