# What hitoku shows, for type checkers and editors; __init__.py loads the same names when asked.

from hitoku import samples
from hitoku.attacks import ATTACKS
from hitoku.attacks.adjustment import Adjustment, Known, Scenario
from hitoku.attacks.attack import Attack, Inference
from hitoku.attacks.contribution import Contribution
from hitoku.attacks.differencing.joined import Differences, differencing
from hitoku.attacks.group import Group
from hitoku.attacks.insider import Insider
from hitoku.attacks.interval import Interval, exposed, null_dimension
from hitoku.attacks.matching import Bayes, Likelihood, Matched, Matching, Support
from hitoku.checks.session import Session
from hitoku.errors import HitokuError
from hitoku.evidence.audit import audit
from hitoku.evidence.audit_result import Audit
from hitoku.evidence.certificate import Certificate
from hitoku.evidence.derivable_groups import DerivableGroups, derivable_groups
from hitoku.evidence.outcome import Outcome
from hitoku.evidence.verify import Verification, verify
from hitoku.io.jj import read_jj, read_jj_pattern, write_jj
from hitoku.io.recipe.recipe import Recipe
from hitoku.methods import METHODS
from hitoku.methods.adjust import Adjust
from hitoku.methods.auto import Auto
from hitoku.methods.blocks import Blocks
from hitoku.methods.circulation import Circulation
from hitoku.methods.flagged_groups import FlaggedGroups
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.methods.randomised import Randomised
from hitoku.metrics.comparison import Comparison
from hitoku.metrics.loss import Loss, loss
from hitoku.metrics.record_risk import RecordRisk
from hitoku.metrics.recovery import Recovery, recovery
from hitoku.model.bounds import Bounds
from hitoku.model.contributors import Contributors
from hitoku.model.dimension import Dimension
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.model.verdict import Finding, Severity, Verdict
from hitoku.pipeline.compare import compare
from hitoku.pipeline.magnitude import MagnitudeOutcome, suppress_magnitude
from hitoku.pipeline.outcome import WritableOutcome
from hitoku.pipeline.recipe import run_recipe
from hitoku.pipeline.record_risk import record_risk
from hitoku.pipeline.whole_way import protect
from hitoku.rules import RULES
from hitoku.rules.assess import assess
from hitoku.rules.direct_disclosure import DirectDisclosure
from hitoku.rules.dominance import Dominance
from hitoku.rules.few_contributors import FewContributors
from hitoku.rules.given import Given
from hitoku.rules.group_disclosure import GroupDisclosure
from hitoku.rules.k_disclosure import KDisclosure
from hitoku.rules.min_frequency import MinFrequency
from hitoku.rules.p_percent import PPercent
from hitoku.rules.prior_posterior import PriorPosterior
from hitoku.rules.request import Request
from hitoku.rules.zero import Zero
from hitoku.tabulation.from_records import tabulate
from hitoku.tabulation.linked import LinkedTables, link
from hitoku.tabulation.text_files import FileFormat

__all__ = [
    "ATTACKS",
    "METHODS",
    "RULES",
    "Adjust",
    "Adjustment",
    "Attack",
    "Audit",
    "Auto",
    "Bayes",
    "Blocks",
    "Bounds",
    "Certificate",
    "Circulation",
    "Comparison",
    "Contribution",
    "Contributors",
    "DerivableGroups",
    "Differences",
    "Dimension",
    "DirectDisclosure",
    "Dominance",
    "FewContributors",
    "FileFormat",
    "Finding",
    "FlaggedGroups",
    "Gauss",
    "Given",
    "Greedy",
    "Group",
    "GroupDisclosure",
    "Hierarchy",
    "HitokuError",
    "Inference",
    "Insider",
    "Interval",
    "KDisclosure",
    "Known",
    "Likelihood",
    "LinkedTables",
    "Loss",
    "MagnitudeOutcome",
    "Matched",
    "Matching",
    "MinFrequency",
    "Need",
    "Optimal",
    "Outcome",
    "PPercent",
    "PriorPosterior",
    "Protection",
    "Randomised",
    "Recipe",
    "RecordRisk",
    "Recovery",
    "Release",
    "Request",
    "Scenario",
    "Session",
    "Severity",
    "Support",
    "Table",
    "Verdict",
    "Verification",
    "WritableOutcome",
    "Zero",
    "assess",
    "audit",
    "compare",
    "derivable_groups",
    "differencing",
    "exposed",
    "link",
    "loss",
    "null_dimension",
    "protect",
    "read_jj",
    "read_jj_pattern",
    "record_risk",
    "recovery",
    "run_recipe",
    "samples",
    "suppress_magnitude",
    "tabulate",
    "verify",
    "write_jj",
]
