"""Statistical disclosure control of tables: protect, attack, and prove.

Names are loaded when they are first asked for (SPEC 1 of Scientific Python): ``import hitoku`` costs nothing
that is not used. ``__init__.pyi`` shows the same names to type checkers and editors; a test compares the two.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

# By module, the names that it lends to the front door.
_HOMES = {
    "attacks": "ATTACKS",
    "attacks.adjustment": "Adjustment Known Scenario",
    "attacks.attack": "Attack Inference",
    "attacks.contribution": "Contribution",
    "attacks.differencing.joined": "Differences differencing",
    "attacks.group": "Group",
    "attacks.insider": "Insider",
    "attacks.interval": "Interval exposed null_dimension",
    "attacks.matching": "Bayes Likelihood Matched Matching Support",
    "checks.session": "Session",
    "errors": "HitokuError",
    "evidence.audit": "audit",
    "evidence.audit_result": "Audit",
    "evidence.certificate": "Certificate",
    "evidence.derivable_groups": "DerivableGroups derivable_groups",
    "evidence.outcome": "Outcome",
    "evidence.verify": "Verification verify",
    "io.jj": "read_jj read_jj_pattern write_jj",
    "io.recipe.recipe": "Recipe",
    "methods": "METHODS",
    "methods.adjust": "Adjust",
    "methods.auto": "Auto",
    "methods.blocks": "Blocks",
    "methods.circulation": "Circulation",
    "methods.flagged_groups": "FlaggedGroups",
    "methods.gauss": "Gauss",
    "methods.greedy": "Greedy",
    "methods.optimal": "Optimal",
    "methods.randomised": "Randomised",
    "metrics.comparison": "Comparison",
    "metrics.loss": "Loss loss",
    "metrics.record_risk": "RecordRisk",
    "metrics.recovery": "Recovery recovery",
    "model.bounds": "Bounds",
    "model.contributors": "Contributors",
    "model.dimension": "Dimension",
    "model.hierarchy": "Hierarchy",
    "model.need": "Need",
    "model.protection": "Protection",
    "model.release": "Release",
    "model.table": "Table",
    "model.verdict": "Finding Severity Verdict",
    "pipeline.compare": "compare",
    "pipeline.magnitude": "MagnitudeOutcome suppress_magnitude",
    "pipeline.outcome": "WritableOutcome",
    "pipeline.recipe": "run_recipe",
    "pipeline.record_risk": "record_risk",
    "pipeline.whole_way": "protect",
    "rules": "RULES",
    "rules.assess": "assess",
    "rules.direct_disclosure": "DirectDisclosure",
    "rules.dominance": "Dominance",
    "rules.few_contributors": "FewContributors",
    "rules.given": "Given",
    "rules.group_disclosure": "GroupDisclosure",
    "rules.k_disclosure": "KDisclosure",
    "rules.min_frequency": "MinFrequency",
    "rules.p_percent": "PPercent",
    "rules.prior_posterior": "PriorPosterior",
    "rules.request": "Request",
    "rules.zero": "Zero",
    "tabulation.linked": "LinkedTables link",
    "tabulation.from_records": "tabulate",
    "tabulation.text_files": "FileFormat",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted([*_HOME, "samples"])  # noqa: PLE0605 - the stub lists them in so many words


def __getattr__(name: str) -> Any:
    """Load a public name, or a package, and keep it."""
    found = getattr(import_module(f"hitoku.{_HOME[name]}"), name) if name in _HOME else _module(name)
    globals()[name] = found
    return found


def _module(name: str) -> ModuleType:
    module = f"hitoku.{name}"
    try:
        if not name.startswith("_"):
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
    raise AttributeError(f"module 'hitoku' has no attribute {name!r}", name=name, obj=sys.modules["hitoku"])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
