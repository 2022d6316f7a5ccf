"""Output types: the kinds of output that may be released, by name; a new one is a class and a line here.

An :class:`OutputType` is a few validated parameters. From the records it computes an :class:`Output` with its
evidence; from evidence and a policy it says what is withheld and what the principles say. It also says which
units are in which published cell and what the output reveals about groups, so that outputs can be compared.
Tables, statistics by group and curves share their computation; a type adds its own rules.
"""

from __future__ import annotations

from typing import Any

from hitoku.checks.outputs.concentration import Concentration
from hitoku.checks.outputs.curves import LifeTable, Survival
from hitoku.checks.outputs.external import FreeFile, HandedOver
from hitoku.checks.outputs.frequency_table import CrossTable, FrequencyTable
from hitoku.checks.outputs.histogram import Histogram
from hitoku.checks.outputs.magnitude_table import MagnitudeTable
from hitoku.checks.outputs.output_type import OutputType
from hitoku.checks.outputs.quantile_groups import QuantileGroups
from hitoku.checks.outputs.regression import Regression
from hitoku.checks.outputs.statistic import Average, Mode, Percentile
from hitoku.checks.outputs.statistics import Statistics
from hitoku.checks.outputs.summary import Summary
from hitoku.lazy import facade

__getattr__, __dir__, __all__ = facade(__name__)

OUTPUT_TYPES: dict[str, type[OutputType[Any]]] = {
    "frequency_table": FrequencyTable,
    "magnitude_table": MagnitudeTable,
    "regression": Regression,
    "percentile": Percentile,
    "mode": Mode,
    "concentration": Concentration,
    "average": Average,
    "summary": Summary,
    "cross_table": CrossTable,
    "statistics": Statistics,
    "histogram": Histogram,
    "survival": Survival,
    "life_table": LifeTable,
    "quantile_groups": QuantileGroups,
    "handed_over": HandedOver,
    "free_file": FreeFile,
}
