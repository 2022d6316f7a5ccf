"""Every text of a deliberate error, read out of the source, with braces where something is put in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SRC = Path(__file__).resolve().parents[2] / "src" / "hitoku"
PARTS = ("what", "where", "fix")
# Programs of the standard library alone, with errors of their own.
VERIFIERS = "evidence/*verify*.py"
# Not an error itself, but what one is made of.
KINDS = {"Refused"}
# What parameters are called that hold a text.
WORDS = {"what", "fix", "why", "reason", "wanted", "advice"}
# Texts with fewer letters of their own say nothing that could be translated: names, options, numbers.
LETTERS = 3
# Nodes with nothing inside that is called or assigned.
LEAVES = (
    ast.Constant,
    ast.Name,
    ast.expr_context,
    ast.operator,
    ast.cmpop,
    ast.boolop,
    ast.unaryop,
    ast.alias,
)


def error_texts() -> dict[str, set[str]]:
    """Return the texts of all errors, and the files that say them.

    Followed are also helpers that are handed a text and make an error of it, names that stand for a text in
    the same function, and functions beside it that return one.
    """
    kinds = {
        node.name
        for node in ast.parse((SRC / "errors.py").read_text("utf-8")).body
        if isinstance(node, ast.ClassDef)
    } | KINDS
    modules = [_Module(path) for path in sorted(SRC.rglob("*.py")) if not path.match(VERIFIERS)]
    makers: dict[tuple[str, str], dict[str, _Handed]] = {}
    while True:  # helpers of helpers
        before = len(makers)
        for module in modules:
            module.find_makers(kinds, makers)
        if len(makers) == before:
            break
    found: dict[str, set[str]] = {}
    for module in modules:
        for part, text in module.said(kinds, makers):
            # Where something is wrong is mostly a name: only sentences are asked for.
            if _says_something(text) and (part != "where" or " " in text):
                found.setdefault(text, set()).add(module.name)
    return found


class _Handed(NamedTuple):
    """A parameter of a helper: at which place it stands, and which part of an error it becomes."""

    place: int
    part: str


class _Module:
    """The functions of a file, and what they say."""

    def __init__(self, path: Path) -> None:
        self.name = path.relative_to(SRC).as_posix()
        self.tree = ast.parse(path.read_text("utf-8"))
        self.functions: list[ast.FunctionDef] = []
        self.outermost: list[ast.FunctionDef] = []
        # By function, and for the whole file: what is called and assigned there, functions inside included.
        self.calls: dict[ast.AST, list[ast.Call]] = {self.tree: []}
        self.assigned: dict[ast.AST, list[ast.Assign]] = {self.tree: []}
        self._look()

    def _look(self) -> None:
        """Go through the file once, level by level: every node of it would be met again in every scope."""
        level: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(self.tree, (self.tree,))]
        while level:
            below = []
            for node, within in level:
                scopes = within
                if isinstance(node, ast.FunctionDef):
                    self.functions.append(node)
                    self.outermost += [node] * (len(within) == 1)
                    self.calls[node], self.assigned[node] = [], []
                    scopes = (*within, node)
                elif isinstance(node, ast.Call):
                    for scope in within:
                        self.calls[scope].append(node)
                elif isinstance(node, ast.Assign):
                    for scope in within:
                        self.assigned[scope].append(node)
                below += [(c, scopes) for c in ast.iter_child_nodes(node) if not isinstance(c, LEAVES)]
            level = below

    def key(self, name: str) -> tuple[str, str]:
        """Name a helper: private ones are those of their file."""
        return (self.name if name.startswith("_") else "", name)

    def find_makers(self, kinds: set[str], makers: dict[tuple[str, str], dict[str, _Handed]]) -> None:
        """Find functions of which a parameter becomes a part of an error."""
        for function in self.functions:
            words = [each.arg for each in function.args.args if each.arg not in {"self", "cls"}]
            words += [each.arg for each in function.args.kwonlyargs]
            for part, value in self.parts(function, kinds, makers):
                for node in ast.walk(value):
                    if isinstance(node, ast.Name) and node.id in words and node.id in WORDS:
                        handed = makers.setdefault(self.key(function.name), {})
                        handed[node.id] = _Handed(words.index(node.id), part)

    def parts(
        self, inside: ast.AST, kinds: set[str], makers: dict[tuple[str, str], dict[str, _Handed]]
    ) -> Iterator[tuple[str, ast.expr]]:
        """Give the expressions that become parts of errors."""
        for node in self.calls[inside]:
            name = _name(node.func)
            if name in kinds:
                yield from (("what", each) for each in node.args[:1])
                yield from (("fix", each) for each in node.args[1:2] if name in KINDS)
                yield from ((word.arg, word.value) for word in node.keywords if word.arg in PARTS)
            for word, (place, part) in makers.get(self.key(name), {}).items():
                yield from ((part, each.value) for each in node.keywords if each.arg == word)
                yield from ((part, each) for each in node.args[place : place + 1])

    def said(
        self, kinds: set[str], makers: dict[tuple[str, str], dict[str, _Handed]]
    ) -> Iterator[tuple[str, str]]:
        """Give every text, with the part of the error that it is."""
        for scope in [*self.outermost, self.tree]:
            local = _local(self.assigned[scope])
            for part, value in self.parts(scope, kinds, makers):
                yield from ((part, text) for text in self.texts(value, local))

    def texts(self, node: ast.expr, local: dict[str, list[ast.expr]]) -> list[str]:
        """Return what an expression can say, as far as it is written down in this file."""
        own = _texts(node)
        for part in _alternatives(node):
            if isinstance(part, ast.Name):
                own += [text for each in local.get(part.id, []) for text in _texts(each)]
            elif isinstance(part, ast.Call):
                for function in self.functions:
                    if function.name == _name(part.func):
                        returned = [each.value for each in ast.walk(function) if isinstance(each, ast.Return)]
                        own += [text for each in returned if each is not None for text in _texts(each)]
        return own


def _alternatives(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [*_alternatives(node.body), *_alternatives(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [each for value in node.values for each in _alternatives(value)]
    return [node]


def _local(assigned: list[ast.Assign]) -> dict[str, list[ast.expr]]:
    """Return what names of texts stand for in a function."""
    found: dict[str, list[ast.expr]] = {}
    for node in assigned:
        for target in node.targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = (
                node.value.elts
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [node.value]
            )
            for name, value in zip(names, values, strict=False):
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(value)
    return found


def shape(text: str) -> str:
    """Take the names out of the braces of a catalogue's text."""
    return re.sub(r"\{\w+\}", "{}", text)


def _says_something(text: str) -> bool:
    return len(re.findall("[A-Za-z]", text)) >= LETTERS


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _texts(node: ast.expr) -> list[str]:
    """Return what an expression can say, as far as it is written down right there."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(str(v.value) if isinstance(v, ast.Constant) else "{}" for v in node.values)]
    if isinstance(node, ast.IfExp):
        return [*_texts(node.body), *_texts(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in _texts(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [one + other for one in _texts(node.left) for other in _texts(node.right)]
    return []
