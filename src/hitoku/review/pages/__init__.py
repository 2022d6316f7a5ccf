"""Pages of the application: each handler parses the request, calls one function and renders a template."""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
