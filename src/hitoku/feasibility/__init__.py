"""Toolbox for the question "how far can a suppressed cell move?": structure, bounds and engines.

:class:`Problem` holds the relations among suppressed cells and bounds of their values, :class:`Incidence`
their structure, :class:`Levels` the protection levels. Presolve uses one relation at a time; flows, linear
programs, integer programs and hypercubes find the ends of intervals, or deviations that reach a level.
Engines propose and callers check: nothing in this package is a proof. The main loops remain with the callers,
because they need different results: an attack needs a bound, a method a decision or a cut, an audit an exact
certificate.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
