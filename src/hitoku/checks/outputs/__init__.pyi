from typing import Any

from hitoku.checks.outputs import complete_cases as complete_cases
from hitoku.checks.outputs import segmentation as segmentation
from hitoku.checks.outputs.average import Average as Average
from hitoku.checks.outputs.concentration import Concentration as Concentration
from hitoku.checks.outputs.cross_table import CrossTable as CrossTable
from hitoku.checks.outputs.definition import read_definition as read_definition
from hitoku.checks.outputs.definition import write_definition as write_definition
from hitoku.checks.outputs.facts import Fact as Fact
from hitoku.checks.outputs.facts import Kind as Kind
from hitoku.checks.outputs.formula import refuse_formula as refuse_formula
from hitoku.checks.outputs.free_file import FileEvidence as FileEvidence
from hitoku.checks.outputs.free_file import FreeFile as FreeFile
from hitoku.checks.outputs.frequency_table import FrequencyTable as FrequencyTable
from hitoku.checks.outputs.group_statistic import GroupStatistic as GroupStatistic
from hitoku.checks.outputs.group_statistic import own_name as own_name
from hitoku.checks.outputs.group_statistic import publish_groups as publish_groups
from hitoku.checks.outputs.handed_over import HandedOver as HandedOver
from hitoku.checks.outputs.histogram import Histogram as Histogram
from hitoku.checks.outputs.histogram import edges_of as edges_of
from hitoku.checks.outputs.histogram import round_edges as round_edges
from hitoku.checks.outputs.hypothesis_tests import TESTS as TESTS
from hitoku.checks.outputs.hypothesis_tests import compare_categories as compare_categories
from hitoku.checks.outputs.life_table import LifeTable as LifeTable
from hitoku.checks.outputs.magnitude_table import MagnitudeTable as MagnitudeTable
from hitoku.checks.outputs.mode import Mode as Mode
from hitoku.checks.outputs.output import WITHHELD as WITHHELD
from hitoku.checks.outputs.output import Output as Output
from hitoku.checks.outputs.output_type import OutputType as OutputType
from hitoku.checks.outputs.output_type import TableClaim as TableClaim
from hitoku.checks.outputs.pattern import about_the_same_cells as about_the_same_cells
from hitoku.checks.outputs.pattern import take_over as take_over
from hitoku.checks.outputs.pattern import withhold_cells as withhold_cells
from hitoku.checks.outputs.percentile import Percentile as Percentile
from hitoku.checks.outputs.quantile_groups import QuantileGroups as QuantileGroups
from hitoku.checks.outputs.regression import Regression as Regression
from hitoku.checks.outputs.regression import fit_arrays as fit_arrays
from hitoku.checks.outputs.statistics import DESCRIBED as DESCRIBED
from hitoku.checks.outputs.statistics import Statistics as Statistics
from hitoku.checks.outputs.steps import choose_ends as choose_ends
from hitoku.checks.outputs.steps import close_ends as close_ends
from hitoku.checks.outputs.steps import published_steps as published_steps
from hitoku.checks.outputs.summary import Summary as Summary
from hitoku.checks.outputs.survival import Survival as Survival

OUTPUT_TYPES: dict[str, type[OutputType[Any]]]
