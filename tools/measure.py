"""Measure how large the code is, so that two commits can be compared.

python -m tools.measure             this checkout
python -m tools.measure ../base     another one

Printed are lines and statements under src, modules, modules with more than ten internal imports, stems
that several modules have, the mean cyclomatic complexity of functions, numeric constants, lines of tests,
and pages and words of the documentation.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

MAX_IMPORTS = 10
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Each adds a way through a function; `and` and `or` add one for every further operand.
BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.Assert,
    ast.match_case,
)


def main() -> None:
    """Print the measures of a checkout, one per line."""
    words = argparse.ArgumentParser(prog="python -m tools.measure", description=__doc__)
    words.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    for name, value in measures(words.parse_args().root).items():
        sys.stdout.write(f"{name:<45} {value:>9,}\n")


def measures(root: Path) -> dict[str, float]:
    """Return the measures by name."""
    src = root / "src" / "hitoku"
    files = {path: path.read_text("utf-8") for path in sorted(src.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in files.items()}
    modules = {module_of(path, src) for path in files}
    fan_out = [len(own_imports(tree, modules) - {module_of(path, src)}) for path, tree in trees.items()]
    stems = Counter(path.stem for path in files if not path.stem.startswith("__"))
    complexities = [complexity(node) for tree in trees.values() for node in functions(tree)]
    pages = sorted((root / "docs").rglob("*.md"))
    return {
        "lines under src": sum(len(text.splitlines()) for text in files.values()),
        "statements under src": sum(statements(tree) for tree in trees.values()),
        "modules": len(files),
        f"modules with more than {MAX_IMPORTS} own imports": sum(n > MAX_IMPORTS for n in fan_out),
        "stems of several modules": sum(n > 1 for n in stems.values()),
        "mean cyclomatic complexity": round(sum(complexities) / max(len(complexities), 1), 2),
        "numeric constants of modules": sum(constants(tree) for tree in trees.values()),
        "numeric fields of Tuning classes": sum(tuning_fields(tree) for tree in trees.values()),
        "lines of tests": lines_in(root / "tests"),
        "lines of tools": lines_in(root / "tools"),
        "lines of papers": lines_in(root / "papers"),
        "pages of docs": len(pages),
        "words of docs": sum(len(page.read_text("utf-8").split()) for page in pages),
    }


def module_of(path: Path, src: Path) -> str:
    """Return the dotted name of a file."""
    parts = [src.name, *path.relative_to(src).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def own_imports(tree: ast.Module, modules: set[str]) -> set[str]:
    """Return our modules that a module imports, anywhere in it; packages count, too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            # `from package import module` names the module; `from module import name` names the module, too.
            found |= inner or {node.module}
    return found & modules


def statements(tree: ast.Module) -> int:
    """Count statements, docstrings not among them."""
    every = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    docstrings = [
        node for node in every if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    return len(every) - len(docstrings)


def functions(tree: ast.AST) -> Iterable[ast.AST]:
    """Return all functions and methods, those inside others as well."""
    return (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))


def complexity(function: ast.AST) -> int:
    """Count the ways through a function, without those of functions inside it.

    >>> complexity(ast.parse("def f(x):\\n    if x and x > 1:\\n        return 1\\n    return 2").body[0])
    3
    """
    count, todo = 1, list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(node, ast.BoolOp):
            count += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            count += 1 + len(node.ifs)
        elif isinstance(node, BRANCHES):
            count += 1
        todo.extend(ast.iter_child_nodes(node))
    return count


def constants(tree: ast.Module) -> int:
    """Count names in capitals that a module assigns a number, several in one line each for itself.

    Not counted are the states and positions of an enumeration, which are unpacked from ``range``, and what is
    computed from another constant: neither is a separate choice.

    >>> constants(ast.parse("A, B = 1, 2.5\\nC: int = 10**3\\nd = 4\\nE = 'x'\\nF = -1"))
    4
    >>> constants(ast.parse("OPEN, CLOSED = range(2)\\nTWICE = 2 * A"))
    0
    """
    return sum(
        name.id.isupper() and is_number(value)
        for node in tree.body
        for name, value in assigned(node)
        if isinstance(name, ast.Name)
    )


def assigned(node: ast.stmt) -> Iterable[tuple[ast.expr, ast.expr]]:
    """Return the targets of an assignment, each with its value."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    target, value = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def is_number(node: ast.expr) -> bool:
    """Return whether an expression is a number, or made of numbers."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def tuning_fields(tree: ast.Module) -> int:
    """Count fields with a number for default, of classes with names that end in Tuning."""
    return sum(
        isinstance(field, ast.AnnAssign) and field.value is not None and is_number(field.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name.endswith("Tuning")
        for field in node.body
    )


def lines_in(folder: Path) -> int:
    """Count the lines of Python in a folder."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob("*.py"))


if __name__ == "__main__":
    main()
