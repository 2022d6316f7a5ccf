"""Sequences of steps: assess, protect, attack, audit and write, in this order.

:func:`protect` runs all steps from records or a table to an outcome that can be written;
:func:`run_recipe` does so for all tables of a recipe, :func:`run_batch` for a batch of τ-ARGUS,
:func:`suppress_magnitude` for a magnitude table with its counts. :func:`attack_folder` and
:func:`judge_folder` examine an existing release folder, :func:`audit_together` several releases of the same
records, :func:`compare` several methods on one table. Computations are in the packages that this one
imports; this package defines their order, and the scope of a verdict.
"""

from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)
