"""One file per part of the application: each page parses, calls one function and fills a template."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
