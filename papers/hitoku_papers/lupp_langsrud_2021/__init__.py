"""Lupp and Langsrud (2021), Suppression of directly disclosive cells in frequency tables, computed again."""

from hitoku_papers.lupp_langsrud_2021.report import page
from hitoku_papers.lupp_langsrud_2021.results import results

__all__ = ["page", "results"]
