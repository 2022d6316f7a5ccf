"""Linear, quadratic and integer programs; the only package that imports HiGHS.

Programs are passed as arrays. Solutions have a :class:`~hitoku.solver.solution.SolverStatus`, a value
recomputed in original units and, where possible, a bound recomputed from multipliers. Programs that are
solved repeatedly keep their basis (master problems, growing programs). Limits are counted work, which is the
same on every computer. There is no facade; modules are imported directly.
"""
