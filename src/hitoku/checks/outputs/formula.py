"""Validation of model formulas.

Statsmodels evaluates formulas as Python, and a checker fits the formulas of submissions, which are untrusted.
Only column names, operators and a few functions are therefore allowed.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence

from hitoku.errors import ParameterError, some

# Functions for categories, quoted names, arithmetic and contrasts, with their arguments.
FUNCTIONS = {"C", "Q", "I", "np", "Treatment", "Sum", "Diff", "Helmert", "Poly", "reference", "center"}
# Names allowed after "np.".
NUMPY = {"log", "log2", "log10", "log1p", "exp", "sqrt", "square", "abs", "power", "sign", "floor", "ceil"}
SIGNS = {*"~+-*/:(),.=<>", "**", "==", "!=", "<=", ">="}
QUOTES = ("'", '"')
SKIPPED = {tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.ENCODING}


def refuse_formula(formula: str, columns: Sequence[str]) -> None:
    """Raise ParameterError unless a formula consists of columns, operators, constants and allowed functions.

    Examples
    --------
    >>> refuse_formula("np.log(income) ~ C(region) * age", ["income", "region", "age"])
    >>> refuse_formula("income ~ open('x')", ["income"])
    Traceback (most recent call last):
    hitoku.errors.ParameterError: 'open' is not allowed in a formula
      where: formula
      fix: use columns (income), and of functions C, Diff, Helmert and 7 more
    """
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(formula.strip()).readline))
    except (tokenize.TokenError, IndentationError) as error:
        raise ParameterError(
            "formula_incomplete",
            "incomplete formula",
            where="formula",
            fix='such as "income ~ age + C(region)"',
        ) from error
    for place, token in enumerate(tokens):
        if token.type not in SKIPPED and not _is_allowed(tokens, place, columns):
            functions = sorted(FUNCTIONS - {"np"})
            raise ParameterError(
                "formula_word_not_allowed",
                "{word!r} is not allowed in a formula",
                where="formula",
                fix="use columns ({columns}), and of functions {functions}",
                word=token.string,
                columns=some(columns, 3),
                functions=some(functions, 3),
            )


def columns_of(formula: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that occur in a formula.

    Examples
    --------
    >>> columns_of("np.log(income) ~ C(region) + Q('my age')", ["age", "income", "my age", "region"])
    ['income', 'my age', 'region']
    """
    tokens = tokenize.generate_tokens(io.StringIO(formula.strip()).readline)
    named = {token.string.strip("'\"") for token in tokens if token.type in {tokenize.NAME, tokenize.STRING}}
    return [name for name in columns if name in named]


def named_column(side: str) -> str:
    """Return the column on one side of a formula, or its text if it is an expression.

    Examples
    --------
    >>> named_column(" income "), named_column("Q('my age')"), named_column("np.log(income)")
    ('income', 'my age', 'np.log(income)')
    """
    found = re.fullmatch(r"Q\(\s*(['\"])(.*)\1\s*\)", side.strip())
    return found[2] if found else side.strip()


def _is_allowed(tokens: Sequence[tokenize.TokenInfo], place: int, columns: Sequence[str]) -> bool:
    kind, text = tokens[place].type, tokens[place].string
    before = tokens[place - 1].string if place else ""
    if kind == tokenize.NAME and before == ".":
        return text in NUMPY
    if kind == tokenize.NAME and text == "Q" and text not in columns:
        # Q() looks up any variable of the calling code, not only columns.
        bracket, name = (each.string for each in tokens[place + 1 : place + 3])
        return bracket == "(" and name.startswith(QUOTES) and name[1:-1] in columns
    if kind == tokenize.NAME:
        return text in columns or text in FUNCTIONS
    if kind == tokenize.OP:
        # Attributes of other objects than numpy give access to everything.
        return text in SIGNS and (text != "." or before == "np")
    # An f-string contains code.
    return kind == tokenize.NUMBER or (kind == tokenize.STRING and text.startswith(QUOTES))


def has_terms(formula: str, names: Sequence[str]) -> bool:
    """Return whether the terms of a model occur in a formula, judged by their names.

    Examples
    --------
    >>> has_terms("y ~ age + C(job)", ["Intercept", "C(job)[T.b]", "age", "C(job)[T.b]:age"])
    True
    >>> has_terms("y ~ age", ["Intercept", "C(job)[T.b]"])
    False
    """
    right = formula.partition("~")[2].replace(" ", "")
    # Codes after a bracket may hold any character.
    return all(re.split(r"[\[:]", name)[0].replace(" ", "") in right for name in names if name != "Intercept")
