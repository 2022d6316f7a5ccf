# What hitoku shows, for type checkers and editors; __init__.py loads the same names when asked.

from hitoku import samples
from hitoku.attacks import (
    ATTACKS,
    Attack,
    Contribution,
    Group,
    Inference,
    Insider,
    Interval,
    derivable_cells,
    null_dimension,
)
from hitoku.attacks.adjustment import Adjustment, AttackerKnowledge, Scenario
from hitoku.attacks.differencing import Differences, differencing
from hitoku.attacks.matching import Bayes, Likelihood, Matched, Matching, Support
from hitoku.checks.session import Session
from hitoku.errors import HitokuError
from hitoku.evidence import Audit, Certificate, DerivableGroups, Outcome, audit, derivable_groups
from hitoku.evidence.verify import Verification, verify
from hitoku.io import read_code_list, read_jj, read_jj_pattern, write_jj
from hitoku.io.recipe import Recipe
from hitoku.linking import LinkedTables, link
from hitoku.methods import METHODS, Auto
from hitoku.methods.adjust import Adjust
from hitoku.methods.blocks import Blocks
from hitoku.methods.circulation import Circulation
from hitoku.methods.flagged_groups import FlaggedGroups
from hitoku.methods.gauss import Gauss
from hitoku.methods.greedy import Greedy
from hitoku.methods.optimal import Optimal
from hitoku.methods.randomised import Randomised
from hitoku.metrics import Comparison, Loss, RecordRisk, Recovery, loss, recovery
from hitoku.model import (
    Bounds,
    Contributors,
    Dimension,
    Finding,
    Hierarchy,
    Need,
    Protection,
    Release,
    Severity,
    Table,
    Verdict,
)
from hitoku.pipeline import (
    MagnitudeOutcome,
    WritableOutcome,
    compare,
    protect,
    record_risk,
    run_recipe,
    suppress_magnitude,
)
from hitoku.rules import (
    RULES,
    DirectDisclosure,
    Dominance,
    FewContributors,
    Given,
    GroupDisclosure,
    KDisclosure,
    MinFrequency,
    PPercent,
    PriorPosterior,
    Request,
    Zero,
    assess,
)
from hitoku.tabulation import FileFormat, tabulate

__all__ = [
    "ATTACKS",
    "METHODS",
    "RULES",
    "Adjust",
    "Adjustment",
    "Attack",
    "AttackerKnowledge",
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
    "derivable_cells",
    "derivable_groups",
    "differencing",
    "link",
    "loss",
    "null_dimension",
    "protect",
    "read_code_list",
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
