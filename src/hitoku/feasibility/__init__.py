"""Toolbox for "how far can a withheld cell move": structure, bounds and engines, shared by all callers.

:class:`Problem` holds relations among withheld cells with bounds of their values, :class:`Incidence` their
structure, :class:`Levels` what is required. Presolve and bound propagation decide what one relation at a time
decides; flows, linear programs, integer programs and hypercubes find the ends of intervals or changes that
reach a level. Engines propose and callers check: nothing here is a proof. What a failure yields differs
between an attack (a bound), a method (a yes or no, a cut) and an audit (an exact certificate), so their loops
stay with them.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
