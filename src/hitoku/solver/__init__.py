"""The only door to the optimisation solvers."""
