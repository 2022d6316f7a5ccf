from hitoku.attacks.adjustment.adjustment import DELTA as DELTA
from hitoku.attacks.adjustment.adjustment import Adjustment as Adjustment
from hitoku.attacks.adjustment.adjustment import relative as relative
from hitoku.attacks.adjustment.adjustment import soften as soften
from hitoku.attacks.adjustment.scenario import FACTS as FACTS
from hitoku.attacks.adjustment.scenario import SCENARIOS as SCENARIOS
from hitoku.attacks.adjustment.scenario import AttackerKnowledge as AttackerKnowledge
from hitoku.attacks.adjustment.scenario import Scenario as Scenario
