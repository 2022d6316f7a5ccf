"""The files of τ-ARGUS, read and written: metadata, microdata, tables, trees, recodings, batches, safe files.

``read_*`` and ``write_*`` take one kind of file each. A batch is read as a request (``batch``), compared
with the files that it names (``batch_check``), run by :mod:`hitoku.pipeline.batch`, and its results are
written by ``batch_write``. :func:`export_release` writes a release as files that τ-ARGUS reads.
"""

from hitoku.io.argus.apriori import apply_apriori, read_apriori, write_apriori
from hitoku.io.argus.batch import read_batch
from hitoku.io.argus.export import export_release, read_export
from hitoku.io.argus.metadata import Metadata, Variable, read_metadata, write_metadata
from hitoku.io.argus.microdata import read_microdata
from hitoku.io.argus.recode import GroupRecode, Range, TreeRecode, read_recode
from hitoku.io.argus.safe_reader import read_code_value
from hitoku.io.argus.table_file import GivenTable, read_table
from hitoku.io.argus.table_writer import write_table
from hitoku.io.argus.tree import read_tree, tree_by_digits, tree_of, write_tree

__all__ = [
    "GivenTable",
    "GroupRecode",
    "Metadata",
    "Range",
    "TreeRecode",
    "Variable",
    "apply_apriori",
    "export_release",
    "read_apriori",
    "read_batch",
    "read_code_value",
    "read_export",
    "read_metadata",
    "read_microdata",
    "read_recode",
    "read_table",
    "read_tree",
    "tree_by_digits",
    "tree_of",
    "write_apriori",
    "write_metadata",
    "write_table",
    "write_tree",
]
