"""Figures of releases, attacks and research outputs, one per file.

Every function returns a matplotlib figure and shows or saves nothing itself. Pictures of attacks and
intervals are confidential, those of releases and outputs show what their tables show. ``style`` has the
colours.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
