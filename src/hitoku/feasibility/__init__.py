"""Toolbox for "how far can a withheld cell move": structure, bounds and engines, shared by all callers.

Engines propose and callers check: nothing here is a proof. What a failure yields differs between an attack (a
bound), a method (a yes or no, a cut) and an audit (an exact certificate), so their loops stay with them.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
