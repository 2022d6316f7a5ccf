"""Functions compiled by Numba: they take and return arrays, and import nothing else of hitoku.

Each module has one subject: flows and cuts, elimination and tableaus, hypercubes, exact sums and largest
contributions, small two-way tables, partitions. :mod:`hitoku.kernels.compiled` compiles them and caches the
result on disk where possible; ``hitoku warm-up`` compiles all of them. Kernels check neither bounds nor
formats and raise no errors: callers validate. There is no facade; modules are imported one by one.
"""
