"""Figures of releases, attacks and research outputs.

Every function returns a matplotlib figure and neither shows nor saves it. Figures of attacks and intervals
are confidential. Figures of releases and outputs show only what their tables show.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
