"""Whatever is written into a recipe: it is read, or refused with its place; it never falls over."""

from __future__ import annotations

import contextlib
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitoku.attacks import ATTACKS
from hitoku.errors import HitokuError
from hitoku.io.recipe import CostKeys, CountsKeys, LinkedKeys, Recipe, RecipeKeys
from hitoku.methods import CHOICES, METHODS
from hitoku.rules import RULES, from_spec
from hitoku.toml import toml_text

NAMES = st.sampled_from(
    sorted({name for kind in (RecipeKeys, LinkedKeys, CountsKeys, CostKeys) for name in kind.model_fields})
)
WORDS = st.sampled_from(
    ["region", "size", "a.csv", "", "signed", "error", "p_percent:p=10", "p_percent", "min_frequency:n=x"]
) | st.sampled_from(
    ["zero:upper=-1", "greedy", "optimal:cost=value", "optimal:gap=nan", "gauss:moves=2", "greedy:tidy"]
)
LEAVES = WORDS | st.booleans() | st.integers(-2, 5) | st.floats() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.just("region"), inner, max_size=3),
    max_leaves=5,
)
GOOD = {"data": "firms.csv", "by": ["region", "size"], "rules": ["p_percent:p=10"]}


@settings(max_examples=179)
@given(st.dictionaries(NAMES, VALUES, max_size=3), st.sets(st.sampled_from(sorted(GOOD)), max_size=1))
def test_any_keys_are_read_or_raise_with_location(tmp_path_factory, more, left_out):
    keys = {name: value for name, value in GOOD.items() if name not in left_out} | more
    path = tmp_path_factory.getbasetemp() / "recipe.toml"
    path.write_text(toml_text(keys), encoding="utf-8")
    recipe, refusal = read(path)
    if refusal is not None:
        assert refusal.where.startswith("recipe.toml")
        assert refusal.fix
    if recipe is not None:
        assert tomllib.loads(recipe.text).keys() == keys.keys()
        assert recipe.rules or recipe.keys.unsafe
        assert repr(recipe)


def read(path):
    try:
        return Recipe.read(path), None
    except HitokuError as refusal:
        return None, refusal


@settings(max_examples=130)
@given(st.text(st.sampled_from("ab=\"[]{}#\n.'1,\\ \t"), max_size=40))
def test_any_text_is_read_or_raises(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "recipe.toml"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(HitokuError):
        Recipe.read(path)


@pytest.mark.parametrize(("kind", "registry"), [("rule", RULES), ("method", METHODS), ("attack", ATTACKS)])
@given(data=st.data())
def test_any_spec_is_built_or_raises(kind, registry, data):
    name = data.draw(st.sampled_from(sorted(registry)))
    parameters = st.sampled_from(sorted(registry[name].__dataclass_fields__))
    values = st.sampled_from(
        ["0", "-1", "2", "0.5", "nan", "inf", "1e999", "true", "none", "x", "a+b", "a/b", "a/b+c/d", "/", "+"]
    )
    given_ = data.draw(st.lists(st.tuples(parameters, values), max_size=3, unique_by=lambda pair: pair[0]))
    word = f"{name}:{','.join(f'{parameter}={value}' for parameter, value in given_)}"
    with contextlib.suppress(HitokuError):
        from_spec(word, registry, kind, CHOICES)
