"""Reading and writing files; no computation happens here.

``recipe`` reads recipes, ``release`` writes and reads release folders, ``formats`` has the formats of public
tables, ``report`` the report on a release, ``check_page`` the report for output checkers, ``argus`` the files
of τ-ARGUS, ``jj`` the JJ format for cell suppression problems, ``marked_cells`` hand-suppressed tables. They
share a description of the cells of a release (``release_cells``) and of an output (``output_cells``), the
layout of tables (``layout``), number formatting (``number_texts``), template rendering (``pages``) and the
description of a publication (``publication``).
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
