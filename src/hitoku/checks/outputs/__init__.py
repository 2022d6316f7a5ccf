"""Output types, the kinds of output that may be released.

An :class:`OutputType` is a frozen dataclass of validated parameters. It collects the evidence of an
:class:`Output` from the records. From the evidence and a policy it derives the suppressed cells and the
verdicts of the principles. It also reports which units are in which published cell, and what the output
states about each group, so that outputs can be compared. Tables, statistics by group and curves share base
classes. To add a type, write its class and register it in ``OUTPUT_TYPES``.
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
