"""Advice that names arguments of Python, as the caller would write it: keys of a recipe, or options."""

from __future__ import annotations

import re

# Arguments of Python in advice that are keys and options, too; tabulate(..., unit=...) is unit=... alone.
CALL = re.compile(r"(?:(?:tabulate|from_frame)\(\.\.\., |FileFormat\()(\w+=[^)]*)\)")
MISSING = re.compile(r"(zero|drop)_missing='[^']*'")
ARGUMENT = re.compile(
    r"\b(magnitude|missing_value|missing|unseen|na|encoding|decimal|unit|holding|weight|total|value|frequency|totals|largest)="
    r"(?:\"([^\"]*)\"|'([^']*)'|\.\.\.|\[\.\.\.\])?"
)
# Keys that are no options of a command.
RECIPES_ALONE = {"totals", "largest"}


def spoken(advice: str, *, recipe: bool) -> str:
    """Say advice in the words of a recipe, or of a command.

    Examples
    --------
    >>> spoken('tabulate(..., magnitude="abs") ranks them by size', recipe=False)
    '--magnitude abs ranks them by size'
    >>> spoken("FileFormat(zero_missing='sales') counts them as zero", recipe=False)
    '--missing-value zero counts them as zero'
    >>> spoken('give them a code, or missing="code"', recipe=True)
    'give them a code, or missing = "code"'
    """

    def say(found: re.Match[str]) -> str:
        name, value = found[1], found[2] or found[3] or "..."
        if recipe or name in RECIPES_ALONE:
            return f'{name} = ["{value}"]' if name == "largest" else f'{name} = "{value}"'
        return f"--{name.replace('_', '-')} {value}"

    return ARGUMENT.sub(say, MISSING.sub(r'missing_value="\1"', CALL.sub(r"\1", advice)))
