"""Minami and Abe (2019), Algorithmic matching attacks on optimally suppressed tables, computed again."""

from hitoku_papers.minami_abe_2019.comparison import comparisons
from hitoku_papers.minami_abe_2019.reading import Reading
from hitoku_papers.minami_abe_2019.report import page, summary
from hitoku_papers.minami_abe_2019.study import StudyPlan, run

__all__ = ["Reading", "StudyPlan", "comparisons", "page", "run", "summary"]
