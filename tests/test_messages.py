"""Errors and texts as data: a code, a template, fields."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest

from hitoku import errors
from hitoku.errors import DataError, HitokuError, RuleError, TableError, did_you_mean
from hitoku.messages import FIELD, Text, render, translate

GERMAN = {
    "p must lie in (0, 100], got {p}": "p ist {p}, nicht in (0, 100]",
    "did you mean {name!r}?": "meinten Sie {name!r}?",
    "{n:,} cells: {reason}": "{reason} ({n:,} Zellen)",
    "not known": "nicht bekannt",
}


def through_pickle(value):
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - made here


def look_up(text):
    return GERMAN.get(text, text)


def error(p=120):
    return RuleError(
        "p_range", "p must lie in (0, 100], got {p}", where="rule p_percent, p={p}", fix="give percent", p=p
    )


def test_error_renders_its_template_in_english():
    assert (
        str(error()) == "p must lie in (0, 100], got 120\n  where: rule p_percent, p=120\n  fix: give percent"
    )
    assert error().code == "p_range"
    assert error().fields == {"p": 120}
    assert error().where.template == "rule p_percent, p={p}"


def test_error_pickled_and_copied_is_equal():
    for other in (through_pickle(error()), copy.deepcopy(error())):
        assert type(other) is RuleError
        assert str(other) == str(error())
        assert (other.code, other.fields, other.what.template) == (
            "p_range",
            {"p": 120},
            error().what.template,
        )


def test_error_copied_as_another_class_keeps_fields():
    other = error().copy_as(TableError, where="table 3")
    assert type(other) is TableError
    assert (other.code, other.fields, str(other.where), other.fix) == (
        "p_range",
        {"p": 120},
        "table 3",
        "give percent",
    )
    assert translate(other.what, look_up) == "p ist 120, nicht in (0, 100]"


def test_field_named_like_parameter_is_a_field():
    said = DataError("two_parents", "code {code!r} has the template {template}", code="C10", template=3)
    assert str(said) == "code 'C10' has the template 3"
    assert said.code == "two_parents"


@pytest.mark.parametrize("name", ["{p}", "{0}", "{", "}", "{{p}}", "{p.real}", "{p[0]}", "%s"])
def test_field_with_braces_is_printed_unchanged(name):
    assert (
        str(DataError("c", "no file {name}", where="{name}", name=name, p=1))
        == f"no file {name}\n  where: {name}"
    )


@pytest.mark.parametrize(
    ("template", "fields", "text"),
    [
        ("{n:,} cells", {"n": 1200}, "1,200 cells"),
        ("{share:.1%}", {"share": 0.125}, "12.5%"),
        ("{name!r}", {"name": "a"}, "'a'"),
        ("{name!s:>3}", {"name": 1}, "  1"),
        ("{unknown} {p.real}", {"p": 1}, "{unknown} {p.real}"),
        ("{name: {code: [codes]}} of {code}", {"name": 1, "code": "B"}, "{name: {code: [codes]}} of B"),
    ],
)
def test_render_formats_as_an_f_string(template, fields, text):
    assert render(template, fields) == text


def test_text_is_an_english_string_with_its_template():
    text = Text("{n:,} cells: {reason}", n=1200, reason=Text("not known"))
    assert text == "1,200 cells: not known"
    for other in (through_pickle(text), copy.deepcopy(text)):
        assert translate(other, look_up) == "nicht bekannt (1,200 Zellen)"


def test_missing_translation_falls_back_to_english():
    assert translate(Text("{n} lines", n=3), look_up) == "3 lines"
    assert translate("not known", look_up) == "nicht bekannt"


def test_text_in_a_field_is_not_a_template():
    text = Text("{n:,} cells: {reason}", n=3, reason="not known")
    assert translate(text, look_up) == "not known (3 Zellen)"


def test_text_as_fix_keeps_its_fields():
    said = HitokuError("c", "no {name}", fix=did_you_mean("turnver", ["turnover"]), name="x")
    assert said.fix == "did you mean 'turnover'?"
    assert translate(said.fix, look_up) == "meinten Sie 'turnover'?"


SRC = Path(errors.__file__).parent
KINDS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, HitokuError)
}
KINDS |= {"StateError"}  # of the review application
# Helpers that make an error of a code and a template, after at most one other argument.
MAKERS = {"refuse", "Refused", "_RefusedError", "_unreadable"}


def raised():
    """Yield the file, line, code and template of every error that is made in the package."""
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "refuse" and isinstance(node.func, ast.Name):
                continue  # a function of the checks, which takes a text
            texts = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
            if name in MAKERS and len(texts) > 2 and not isinstance(texts[0], str):
                texts = texts[1:]
            if name in KINDS or (name in MAKERS and len(texts) > 1):
                yield f"{path.relative_to(SRC)}:{node.lineno}", (*texts, None, None)[:2], node


def test_every_error_has_a_code():
    """The first argument is a code; helpers hand on the code and the template that they are given."""
    without = [
        place
        for place, (code, _), node in raised()
        if not (isinstance(code, str) and re.fullmatch(r"[a-z][a-z0-9_]*", code))
        and not isinstance(node.args[0], (ast.Name, ast.Attribute, ast.Starred))
    ]
    assert without == []
    assert [
        place
        for place, _, node in raised()
        if len(node.args) < 2 and not isinstance(node.args[0], ast.Starred)
    ] == []


def test_error_codes_and_templates_correspond():
    by_code, by_template = {}, {}
    for place, (code, template), _ in raised():
        if isinstance(code, str) and isinstance(template, str):
            by_code.setdefault(code, {})[template] = place
            by_template.setdefault(template, {})[code] = place
    assert len(by_code) > 800
    assert {code: found for code, found in by_code.items() if len(found) > 1} == {}
    assert {template: found for template, found in by_template.items() if len(found) > 1} == {}


def test_template_fields_are_given_with_the_error():
    """A template that names a field which the call does not give would print braces."""
    wrong = []
    for place, (_, template), node in raised():
        given = {word.arg for word in node.keywords}
        if getattr(node.func, "id", "") == "Refused":
            given.add("name")  # of the parameter or key, which the translation adds
        if isinstance(template, str) and None not in given:
            names = {found["name"] for found in FIELD.finditer(template)}
            wrong += [(place, name) for name in sorted(names - given)]
    assert wrong == []


SENTENCE = re.compile("[a-z]{3,} [a-z]{2,}")


def written(node):
    """Return the strings that an expression chooses among, of f-strings the parts between fields."""
    if isinstance(node, ast.IfExp):
        return [*written(node.body), *written(node.orelse)]
    if isinstance(node, ast.BoolOp):
        return [text for value in node.values for text in written(value)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def plain_sentences(source):
    """Yield sentences in fields of errors and texts that are plain strings, and so never translated."""
    for scope in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)):
        nodes = list(ast.walk(scope))
        named = {
            target.id: written(node.value)
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            name = (
                getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            )
            if name in {*KINDS, *MAKERS, "Text"}:
                for word in node.keywords:
                    if word.arg not in {"where", "fix"}:
                        texts = named.get(getattr(word.value, "id", ""), []) or written(word.value)
                        yield from ((node.lineno, text) for text in texts if SENTENCE.search(text))


def test_sentence_in_a_field_is_a_text():
    assert {
        f"{path.relative_to(SRC)}:{line}": text
        for path in sorted(SRC.rglob("*.py"))
        if "review" not in path.parts  # which is in English
        for line, text in plain_sentences(path.read_text("utf-8"))
    } == {}


@pytest.mark.parametrize(
    "source",
    [
        'def f(n):\n    raise DataError("c", "the file {why}", why="fits no encoding" if n else "")',
        'def f(n):\n    why = f"{n} cells cannot reach their"\n    return Text("{why} level", why=why)',
    ],
    ids=["chosen", "named"],
)
def test_plain_sentence_in_a_field_is_found(source):
    assert len(list(plain_sentences(source))) == 1
    assert list(plain_sentences(source.replace("why=", "fix="))) == []
