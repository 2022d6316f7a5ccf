"""Functions compiled by Numba: they take and return arrays, and import nothing else of hitoku.

Each module has one subject: flows and cuts, elimination and tableaus, hypercubes, exact sums and largest
contributions, small two-way tables, partitions. :mod:`hitoku.kernels.compiled` compiles them and caches the
result on disk where possible; ``hitoku warm-up`` compiles all of them. Kernels check neither bounds nor
formats and raise no errors: callers validate. There is no facade; modules are imported one by one.
"""

# Multipliers of tables are mostly fractions with small denominators; 720720 is divisible by 1 to 16.
GRID = 720_720
# Bits of a mask of the cells of a line: longer lines have none.
MASK_BITS = 62
