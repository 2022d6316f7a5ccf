from hitoku.checks.policies.policy import FOLDER as FOLDER
from hitoku.checks.policies.policy import Policy as Policy
from hitoku.checks.policies.policy import Sampling as Sampling
from hitoku.checks.policies.policy import parse_policy_text as parse_policy_text
from hitoku.checks.policies.policy import policy as policy
from hitoku.checks.policies.policy import policy_names as policy_names
from hitoku.checks.policies.policy import population_risk as population_risk
