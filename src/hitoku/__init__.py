"""Statistical disclosure control of tables: protect, attack, and prove."""

from hitoku import samples
from hitoku.attacks.interval import Interval
from hitoku.evidence.audit import Audit, audit
from hitoku.evidence.certificate import Certificate
from hitoku.evidence.loss import loss
from hitoku.evidence.verify import Verdict, verify
from hitoku.io.jj import read_jj, write_jj
from hitoku.methods import METHODS
from hitoku.methods.greedy import Greedy
from hitoku.model.bounds import Bounds
from hitoku.model.contributors import Contributors
from hitoku.model.dimension import Dimension
from hitoku.model.finding import Finding, Severity
from hitoku.model.hierarchy import Hierarchy
from hitoku.model.need import Need
from hitoku.model.protection import Protection
from hitoku.model.release import Release
from hitoku.model.table import Table
from hitoku.rules import RULES
from hitoku.rules.assess import assess
from hitoku.rules.direct_disclosure import DirectDisclosure
from hitoku.rules.dominance import Dominance
from hitoku.rules.few_contributors import FewContributors
from hitoku.rules.given import Given
from hitoku.rules.group_disclosure import GroupDisclosure
from hitoku.rules.min_frequency import MinFrequency
from hitoku.rules.p_percent import PPercent
from hitoku.rules.prior_posterior import PriorPosterior
from hitoku.rules.request import Request
from hitoku.rules.zero import Zero
from hitoku.tabulate.tabulate import tabulate

__all__ = [
    "METHODS",
    "RULES",
    "Audit",
    "Bounds",
    "Certificate",
    "Contributors",
    "Dimension",
    "DirectDisclosure",
    "Dominance",
    "FewContributors",
    "Finding",
    "Given",
    "Greedy",
    "GroupDisclosure",
    "Hierarchy",
    "Interval",
    "MinFrequency",
    "Need",
    "PPercent",
    "PriorPosterior",
    "Protection",
    "Release",
    "Request",
    "Severity",
    "Table",
    "Verdict",
    "Zero",
    "assess",
    "audit",
    "loss",
    "read_jj",
    "samples",
    "tabulate",
    "verify",
    "write_jj",
]
