"""Translation of advice about Python arguments into recipe keys or command options."""

from __future__ import annotations

import re

# Python arguments that are also keys and options; tabulate(..., unit=...) becomes unit=... alone.
CALL = re.compile(r"(?:(?:tabulate|from_frame)\(\.\.\., |FileFormat\()(\w+=[^)]*)\)")
MISSING = re.compile(r"(zero|drop)_missing='[^']*'")
ARGUMENT = re.compile(
    r"\b(magnitude|missing_value|missing|unseen|na|encoding|decimal|unit|holding|weight|total|value|frequency|totals|largest)="
    r"(?:\"([^\"]*)\"|'([^']*)'|\.\.\.|\[\.\.\.\])?"
)
# Keys without a command option.
RECIPES_ALONE = {"totals", "largest"}


def spoken(advice: str, *, recipe: bool) -> str:
    """Return advice with Python arguments replaced by recipe keys, or by command options.

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
