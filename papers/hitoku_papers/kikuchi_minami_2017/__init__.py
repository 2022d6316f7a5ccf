"""Kikuchi and Minami (2017), On-site service and safe output checking in Japan, computed again."""

from hitoku_papers.kikuchi_minami_2017.report import page, results

__all__ = ["page", "results"]
