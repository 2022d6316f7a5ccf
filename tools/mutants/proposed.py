"""Which mutants of a file there are, and a seeded sample of them, by operators of cosmic-ray."""

from __future__ import annotations

import ast
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType

# Of cosmic-ray's operators those that a wrong thought would make: a boundary, a sign, a condition turned
# round, a number off by one, a loop that is not entered. Leaving out a + b -> a | b and the like keeps the
# score honest: any test at all kills them.
COMPARED = "Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is"
COMPUTED = (
    "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitAnd_BitOr BitOr_BitAnd LShift_RShift "
    "RShift_LShift"
)
UNARY = "Delete_Not Delete_Invert USub_UAdd"
OTHERS = (
    "AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd "
    "ReplaceBreakWithContinue ReplaceContinueWithBreak ExceptionReplacer NumberReplacer ZeroIterationForLoop"
)
IN_A_FUNCTION = 0x1 | 0x2  # CO_OPTIMIZED, CO_NEWLOCALS


@dataclass(frozen=True)
class Mutant:
    """A file with one thing changed: where, by which operator, the line before and after, the whole text."""

    path: str
    line: int
    last_line: int
    operator: str
    occurrence: int
    was: str
    now: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.operator}:{self.occurrence}"


def operators() -> dict[str, object]:
    """Give cosmic-ray's operators by name."""
    from cosmic_ray.operators.provider import OperatorProvider  # noqa: PLC0415 - outside the environment

    known = OperatorProvider()
    names = [
        *(f"ReplaceComparisonOperator_{pair}" for pair in COMPARED.split()),
        *(f"ReplaceBinaryOperator_{pair}" for pair in COMPUTED.split()),
        *(f"ReplaceUnaryOperator_{pair}" for pair in UNARY.split()),
        *OTHERS.split(),
    ]
    return {name: known[name]() for name in names}


def sample(path: Path, root: Path, most: int | None, seed: str) -> Iterator[Mutant]:
    """Return ``most`` mutants of a file, or all, in a seeded order: every line once before any line twice."""
    from cosmic_ray.ast import ast_nodes, get_ast  # noqa: PLC0415 - outside the environment

    text, known = path.read_text("utf-8"), operators()
    nodes = list(ast_nodes(get_ast(text)))
    places = [
        (name, occurrence, line)
        for name, operator in known.items()
        for occurrence, ((line, _), _) in enumerate(
            place
            for node in nodes
            for place in operator.mutation_positions(node)  # type: ignore[attr-defined]
        )
    ]
    random.Random(seed).shuffle(places)  # noqa: S311 - no secrets
    asked: dict[int, int] = {}
    ranked = []
    for place, (name, occurrence, line) in enumerate(places):
        asked[line] = asked.get(line, 0) + 1
        ranked.append((asked[line], place, name, occurrence, line))
    found = (_made(path, root, text, known, *each[2:]) for each in sorted(ranked))
    return islice((mutant for mutant in found if mutant is not None), most)


def _made(
    path: Path, root: Path, text: str, known: dict[str, object], name: str, occurrence: int, line: int
) -> Mutant | None:
    """Build a mutant, or return None if it cannot change the behaviour of a running process."""
    from cosmic_ray.mutating import mutate_code  # noqa: PLC0415 - outside the environment

    changed = mutate_code(text, known[name], occurrence) or ""
    pairs = list(zip(text.splitlines(), changed.splitlines(), strict=False))
    differing = [(was.strip(), now.strip()) for was, now in pairs if was != now]
    if not differing or changed.count("\n") != text.count("\n"):
        return None
    codes = functions_of(text, str(path))
    try:
        others = functions_of(changed, str(path))
    except SyntaxError:
        return None
    if [_parameters(code) for code in others.values()] != [_parameters(code) for code in codes.values()]:
        return None  # the star of a signature is not a product
    if others == codes and line not in constants_of(text).values():
        return None  # an annotation, a field's default, a registry
    first, last = _statements(text).get(line, (line, line))
    return Mutant(str(path.relative_to(root)), first, last, name, occurrence, *differing[0], changed)


def functions_of(text: str, path: str) -> dict[tuple[str, int], CodeType]:
    """Return the code of every function and method by name and line, inner functions included."""
    found = {}

    def walk(code: CodeType) -> None:
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                if inner.co_flags & IN_A_FUNCTION == IN_A_FUNCTION:
                    found[inner.co_qualname, inner.co_firstlineno] = inner
                else:
                    walk(inner)

    with warnings.catch_warnings(action="ignore"):  # "is" with a literal
        walk(compile(text, path, "exec", dont_inherit=True))
    return found


def _parameters(code: CodeType) -> tuple[object, ...]:
    return code.co_name, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount


def constants_of(text: str) -> dict[str, int]:
    """Return the line of each module-level assignment by name."""
    return {
        node.targets[0].id: node.lineno
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _statements(text: str) -> dict[int, tuple[int, int]]:
    """Return first and last line of the innermost statement (or head of a compound one) by line."""
    spans: dict[int, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            end = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
            last = max(end or 0, node.lineno)
            spans |= dict.fromkeys(range(node.lineno, last + 1), (node.lineno, last))
    return spans
