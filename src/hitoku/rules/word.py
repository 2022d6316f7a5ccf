"""A rule written as one word, for command lines and recipes: ``p_percent:p=10,n=2``.

After the name of the rule come its parameters. Several names are joined by ``+``, a code is given with its
variable as ``variable/code``. Names that contain these signs can only be given in Python.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from hitoku.errors import RuleError, did_you_mean
from hitoku.rules.rule import Rule

CONSTANTS = {"true": True, "false": False, "none": None}


def rule_from_word(word: str, registry: Mapping[str, type[Rule]]) -> Rule:
    """Make the rule that a word describes.

    Parameters
    ----------
    word
        Name of the rule, a colon, and parameters as ``name=value`` with commas between them.
    registry
        Rules by name, such as ``RULES``.

    Examples
    --------
    >>> from hitoku.rules import RULES
    >>> rule_from_word("p_percent:p=10", RULES)
    PPercent(p=10, n=1, level='holding')
    >>> rule_from_word("direct_disclosure:k=2,sensitive=injury,unknown=injury/Unknown", RULES)
    DirectDisclosure(k=2, sensitive=('injury',), unknown=(('injury', 'Unknown'),), harmless=(), forbidden=())
    """
    name, _, listed = word.strip().partition(":")
    if name not in registry:
        raise RuleError(f"no rule {name!r}", where=f"word {word!r}", fix=did_you_mean(name, registry))
    rule = registry[name]
    known = inspect.signature(rule).parameters
    given: dict[str, Any] = {}
    for entry in filter(None, (part.strip() for part in listed.split(","))):
        parameter, equals, text = (part.strip() for part in entry.partition("="))
        if not equals or not text or parameter in given:
            raise RuleError(
                f"{entry!r} is no parameter with its value, or is given twice",
                where=f"word {word!r}",
                fix=f"write {name}:{next(iter(known))}=..., with commas between parameters",
            )
        if parameter not in known:
            raise RuleError(
                f"rule {name} has no parameter {parameter!r}",
                where=f"word {word!r}",
                fix=did_you_mean(parameter, known),
            )
        given[parameter] = _value(text)
    missing = [p.name for p in known.values() if p.default is p.empty and p.name not in given]
    if missing:
        raise RuleError(
            f"rule {name} needs {' and '.join(missing)}",
            where=f"word {word!r}",
            fix=f"write {name}:{','.join(f'{parameter}=...' for parameter in missing)}",
        )
    return rule(**given)


def _value(text: str) -> Any:
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    if "/" in text:
        return tuple(tuple(pair.split("/", maxsplit=1)) for pair in text.split("+"))
    return tuple(text.split("+")) if "+" in text else text
