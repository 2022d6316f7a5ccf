"""Evidence from which principles are computed, collected once from the records of an output.

There is one class for each kind of output: tables, groups of records, models, summaries and files. Evidence
is validated when it is created, holds arrays in memory and plain lists in files, and suffices to judge the
output again without the records. The package also has the cells that an attacker knows, code trees, complete
cases, and checks whether counts and contributions are consistent.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
