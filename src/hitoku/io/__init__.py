"""Files in and out; nothing runs here.

``recipe`` reads recipes, ``release`` writes and reads release folders, ``formats`` has the formats of
public tables, ``report`` the page for the person who signs, ``check_page`` the one for output checkers,
``argus`` the files of τ-ARGUS, ``jj`` those of the field's own format, ``marked_cells`` tables that were
suppressed by hand. They share one description of the cells of a release (``release_cells``) and of an output
(``output_cells``), one layout of tables (``layout``), one way to print numbers (``number_texts``), one way to
fill templates (``pages``) and one value for what is published (``publication``).
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
