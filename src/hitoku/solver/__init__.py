"""Optimisation solvers: linear, quadratic and integer programs; the only package that imports HiGHS.

Programs go in as arrays, answers come out with a status of ours, a value recomputed in original units, and a
bound that is recomputed from multipliers where there is one. Programs that are solved again and again keep
their basis (master problems, growing programs). Limits are counted work, the same on every computer. Others
import its modules directly, without a facade.
"""
