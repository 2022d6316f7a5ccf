"""Deviations of a cross table along hypercubes, found without linear programs.

Differences cancel in whole steps, so a hypercube that fits is exact. Callers hold the true table.
"""
