"""Numba functions: arrays in, arrays out; they import nothing of ours."""
