"""Numba functions: arrays in, arrays out; they import nothing else of hitoku.

Each module has one subject: flows and cuts, elimination and tableaus, hypercubes and boxes, exact sums and
largest contributions, small two-way tables, partitions. They are compiled in one way (``compiled``), so that
results are kept on disk where that is possible; ``hitoku warm-up`` compiles all of them. Callers check and
translate: kernels raise no errors. Others import kernels module by module, without a facade.
"""
