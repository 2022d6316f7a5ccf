from collections.abc import Mapping

from hitoku.attacks.adjustment import Adjustment as Adjustment
from hitoku.attacks.adjustment import AttackerKnowledge as AttackerKnowledge
from hitoku.attacks.adjustment import Scenario as Scenario
from hitoku.attacks.attack import Attack as Attack
from hitoku.attacks.attack import Inference as Inference
from hitoku.attacks.contribution import Coalition as Coalition
from hitoku.attacks.contribution import Contribution as Contribution
from hitoku.attacks.contribution import Share as Share
from hitoku.attacks.contribution import pool_contributions as pool_contributions
from hitoku.attacks.contribution import shares_of as shares_of
from hitoku.attacks.group import Group as Group
from hitoku.attacks.group import Pinned as Pinned
from hitoku.attacks.insider import MAX_COALITIONS as MAX_COALITIONS
from hitoku.attacks.insider import Insider as Insider
from hitoku.attacks.interval import Interval as Interval
from hitoku.attacks.interval import derivable_cells as derivable_cells
from hitoku.attacks.interval import null_dimension as null_dimension
from hitoku.attacks.matching import Bayes as Bayes
from hitoku.attacks.matching import Likelihood as Likelihood
from hitoku.attacks.matching import Matched as Matched
from hitoku.attacks.matching import Matching as Matching
from hitoku.attacks.matching import Support as Support

ATTACKS: Mapping[str, type[Attack]]
