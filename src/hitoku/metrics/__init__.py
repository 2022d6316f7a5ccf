"""Metrics of a release: information lost, protection reached, closeness to records and to true values.

They measure what was decided and proved elsewhere, and decide nothing themselves.
"""
