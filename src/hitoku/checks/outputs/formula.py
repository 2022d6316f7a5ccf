"""Formulas are run as Python by who fits them: only names of columns and a few functions may stand in one.

A checker fits the formulas of a submission again, and a submission may have been written by anybody.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence

from hitoku.errors import ParameterError, some

# Categories, quoted names, arithmetic, contrasts and their arguments.
FUNCTIONS = {"C", "Q", "I", "np", "Treatment", "Sum", "Diff", "Helmert", "Poly", "reference", "center"}
# After "np.".
NUMPY = {"log", "log2", "log10", "log1p", "exp", "sqrt", "square", "abs", "power", "sign", "floor", "ceil"}
SIGNS = {*"~+-*/:(),.=<>", "**", "==", "!=", "<=", ">="}
QUOTES = ("'", '"')
SKIPPED = {tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING}


def refuse_formula(formula: str, columns: Sequence[str]) -> None:
    """Raise unless a formula consists of columns, signs, numbers, texts and the functions listed.

    Examples
    --------
    >>> refuse_formula("np.log(income) ~ C(region) * age", ["income", "region", "age"])
    >>> refuse_formula("income ~ open('x')", ["income"])
    Traceback (most recent call last):
    hitoku.errors.ParameterError: 'open' cannot stand in a formula
      where: formula
      fix: use columns (income), and of functions C, Diff, Helmert and 7 more
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(formula.strip()).readline))
    except (tokenize.TokenError, IndentationError) as error:
        raise ParameterError(
            "formula_incomplete",
            "the formula is not complete",
            where="formula",
            fix='such as "income ~ age + C(region)"',
        ) from error
    for place, token in enumerate(tokens):
        if token.type not in SKIPPED and not _allowed(tokens, place, columns):
            functions = sorted(FUNCTIONS - {"np"})
            raise ParameterError(
                "formula_word_not_allowed",
                "{word!r} cannot stand in a formula",
                where="formula",
                fix="use columns ({columns}), and of functions {functions}",
                word=token.string,
                columns=some(columns, 3),
                functions=some(functions, 3),
            )


def columns_of(formula: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that a formula names.

    Examples
    --------
    >>> columns_of("np.log(income) ~ C(region) + Q('my age')", ["age", "income", "my age", "region"])
    ['income', 'my age', 'region']
    """
    tokens = tokenize.generate_tokens(io.StringIO(formula.strip()).readline)
    named = {token.string.strip("'\"") for token in tokens if token.type in {tokenize.NAME, tokenize.STRING}}
    return [name for name in columns if name in named]


def named_column(side: str) -> str:
    """Return the column that one side of a formula is, or its text where it is more than a column.

    Examples
    --------
    >>> named_column(" income "), named_column("Q('my age')"), named_column("np.log(income)")
    ('income', 'my age', 'np.log(income)')
    """
    found = re.fullmatch(r"Q\(\s*(['\"])(.*)\1\s*\)", side.strip())
    return found[2] if found else side.strip()


def _allowed(tokens: Sequence[tokenize.TokenInfo], place: int, columns: Sequence[str]) -> bool:
    kind, text = tokens[place].type, tokens[place].string
    before = tokens[place - 1].string if place else ""
    if kind == tokenize.NAME and before == ".":
        return text in NUMPY
    if kind == tokenize.NAME and text == "Q" and text not in columns:
        # Whatever it names is found, and not only among columns.
        bracket, name = (each.string for each in tokens[place + 1 : place + 3])
        return bracket == "(" and name.startswith(QUOTES) and name[1:-1] in columns
    if kind == tokenize.NAME:
        return text in columns or text in FUNCTIONS
    if kind == tokenize.OP:
        # Attributes of anything but numpy lead everywhere.
        return text in SIGNS and (text != "." or before == "np")
    # A text with an "f" before it is a program.
    return kind == tokenize.NUMBER or (kind == tokenize.STRING and text.startswith(QUOTES))


def has_terms(formula: str, names: Sequence[str]) -> bool:
    """Tell whether a formula has the terms of a model, as far as their names say.

    Examples
    --------
    >>> has_terms("y ~ age + C(job)", ["Intercept", "C(job)[T.b]", "age", "C(job)[T.b]:age"])
    True
    >>> has_terms("y ~ age", ["Intercept", "C(job)[T.b]"])
    False
    """
    right = formula.partition("~")[2].replace(" ", "")
    # Codes behind a bracket may hold any sign.
    return all(re.split(r"[\[:]", name)[0].replace(" ", "") in right for name in names if name != "Intercept")
