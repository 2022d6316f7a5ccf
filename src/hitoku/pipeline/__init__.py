"""What runs: assess, protect, attack, audit and write, in this order.

:func:`protect` runs everything from records or a table to an outcome that can be written;
:func:`run_recipe` does so for all tables of a recipe, :func:`run_batch` for a batch of τ-ARGUS,
:func:`suppress_magnitude` for a magnitude table with its counts. :func:`attack_folder` and
:func:`judge_folder` look at a release folder as it is, :func:`audit_together` at several releases of the same
records, :func:`compare` at several methods on one table. Everything that computes lies to the left of this
package; here is the order, and what a verdict covers.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
