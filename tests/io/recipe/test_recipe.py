"""Reading a recipe: every kind of mistake is told with its line and key, before any data are touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from hitoku.errors import HitokuError
from hitoku.io.recipe import CostKeys, CountsKeys, LinkedKeys, Recipe, RecipeKeys, TableKeys
from hitoku.methods import Auto, Optimal
from hitoku.rules import DirectDisclosure, FewContributors, MinFrequency, PPercent

# Four lines that are fine; what a case adds begins on line 5.
GOOD = 'data = "firms.csv"\nby = ["region", "size"]\nvalue = "turnover"\nrules = ["p_percent:p=10"]\n'


@pytest.fixture
def read(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "recipe.toml"
        path.write_bytes(text.encode(encoding))
        return Recipe.read(path)

    return write


@pytest.mark.parametrize(
    ("more", "where", "what", "fix"),
    [
        pytest.param("width 9", "line 5", "is not TOML", "key = value", id="no TOML"),
        pytest.param("width = nine", "line 5", "is not TOML", "key = value", id="a text without quotes"),
        pytest.param("\nvalue = 'x'", "line 6", "is not TOML", "key = value", id="a key twice"),
        pytest.param("\n\nvaleu = 'x'", "line 7, key valeu", "no key 'valeu'", "'value'", id="misspelt key"),
        pytest.param("quick = 1", "line 5, key quick", "no key 'quick'", "use one of", id="strange key"),
        pytest.param("width = '9'", "line 5, key width", "must be a number", "quotes", id="a text"),
        pytest.param("width = -1", "line 5, key width", "at least 0", "", id="negative"),
        pytest.param(
            "width = nan", "line 5, key width", "at least 0, got nan", "not negative", id="not a number"
        ),
        pytest.param("unit = 7", "line 5, key unit", "must be a text", "quotes", id="a number"),
        pytest.param(
            "decimals = 12", "line 5, key decimals", "from 0 to 9", "as they are", id="too many decimals"
        ),
        pytest.param(
            "decimals = -1", "line 5, key decimals", "from 0 to 9", "as they are", id="negative decimals"
        ),
        pytest.param(
            'decimals = "as is"', "key decimals", "whole number", "without quotes", id="decimals as words"
        ),
        pytest.param("top = 2.5", "line 5, key top", "whole number", "1, 2", id="decimals"),
        pytest.param(
            "magnitude = 'sined'", "line 5, key magnitude", "cannot be 'sined'", "'signed'", id="choice"
        ),
        pytest.param("missing = 'drop'", "line 5, key missing", "'drop'", "error or code", id="no choice"),
        pytest.param("hierarchies = 'r.csv'", "line 5, key hierarchies", "a table", "braces", id="no table"),
        pytest.param("[hierarchies]\nregion = 7", "line 6, key hierarchies, region", "a text", "", id="tree"),
        pytest.param(
            "[hierarchies]\nsizes = 'x'", "line 6, key hierarchies", "unknown variable", "'size'", id="whose"
        ),
        pytest.param(
            "[hierarchies]\nout = 'x'", "line 6", "unknown variable", "above [hierarchies]", id="too low"
        ),
        pytest.param(
            "[counts]\nrules = ['group_disclosure']\nout = 'x'", "line 7", "no key 'out'", "above", id="lower"
        ),
        pytest.param("method = 'gredy'", "line 5, key method", "no method", "'greedy'", id="no method"),
        pytest.param(
            "formats = [\n'html',\n'xslx']",
            "line 7, key formats, entry 2",
            "no format 'xslx'",
            "did you mean 'xlsx'? use csv, html, xlsx, sdmx-csv, parquet, json-stat",
            id="no format",
        ),
        pytest.param("formats = ['pdf']", "line 5", "no format 'pdf'", "use csv, html", id="strange format"),
        pytest.param("formats = 'csv'", "line 5, key formats", "a list", "brackets", id="one format"),
        pytest.param(
            "formats = ['csv', 'csv']", "line 5", "'csv' is named twice", "once", id="a format twice"
        ),
        pytest.param("footnotes = 'a'", "line 5, key footnotes", "a list", "brackets", id="one footnote"),
        pytest.param("method = 7", "line 5, key method", "a text, or a table", "greedy:", id="no word"),
        pytest.param(
            "method = 'optimal:cost=valu'",
            "line 5, key method",
            "'valu'",
            "'value'? allowed: unit",
            id="cost",
        ),
        pytest.param(
            "method = {name = 'optimal', keep = 'margin'}", "line 5", "'margin'", "'margins'", id="keep"
        ),
        pytest.param("method = {name = 'optimal', gap = 2}", "line 5", "gap must", "share", id="own check"),
        pytest.param("method = {tidy = true}", "line 5", "a table with a name", "name =", id="no name"),
        pytest.param("keep = [{}]", "line 5, key keep, entry 1", "by the codes", "region", id="no codes"),
        pytest.param("[[keep]]\nregion = 7", "line 5, key keep, entry 1", "a text", '["A"', id="code"),
        pytest.param("keep = {region = 'N'}", "line 5, key keep", "must be a list", "", id="not a list"),
        pytest.param("frequency = 'n'", "line 5, key frequency", "goes with cells", "leave", id="of cells"),
        pytest.param("mark = 'status'", "line 5, key mark", "of no file", "start", id="no file"),
        pytest.param(
            "width_share = 0.3", "line 5, key width_share", "goes with counts", "[counts]", id="share"
        ),
        pytest.param(
            "width = 9\n[counts]\nrules = ['group_disclosure']",
            "line 5, key width",
            "share",
            "width_share",
            id="width",
        ),
        pytest.param("[[costs]]\ntimes = 3", "line 5, key costs, entry 1", "'cells'", "cells =", id="which"),
        pytest.param(
            "[[costs]]\ncells = {size = '1'}\ntime = 3", "line 7", "no key 'time'", "'times'", id="how much"
        ),
        pytest.param(
            "[counts]\nwidth = 3", "line 5, key counts", "'rules' is missing", "rules =", id="counts"
        ),
        pytest.param(
            "[counts]\nrules = [\n'group_disclosure',\n'group_disclosur']",
            "line 8, key counts, rules, entry 2",
            "'group_disclosur'",
            "'group_disclosure'",
            id="rule",
        ),
        pytest.param(
            "[[tables]]\nby = ['size']", "line 5, key tables, entry 1", "'name'", "name =", id="name"
        ),
        pytest.param(
            "[[tables]]\nname = 'a'\n[[tables]]\nname = 'a'",
            "line 8, key tables, entry 2",
            "another one is",
            "unique",
            id="twice",
        ),
        pytest.param(
            "[[tables]]\nname = 'a'\n[[tables]]\nname = 'A'", "line 8", "another one is", "case", id="case"
        ),
        pytest.param(
            "[[tables]]\nname = 'Table'", "line 6", "called 'Table'", "unique", id="taken in capitals"
        ),
        pytest.param("[[tables]]\nname = 'table'", "line 6", "called 'table'", "unique", id="taken"),
        pytest.param(
            "[[tables]]\nname = '../x'", "line 6", "a name for files", "letters", id="a path as name"
        ),
        pytest.param("[[tables]]\nname = 'a'\nvalu = 'x'", "line 7", "no key 'valu'", "'value'", id="within"),
        pytest.param("[[tables]]\nname = 'a'\nby = []", "line 7", "no variables", "name", id="nothing"),
        pytest.param(
            "[[tables]]\nname = 'a'\nrules = ['group_disclosure']",
            "line 7",
            "no key 'rules'",
            "above",
            id="rules of one",
        ),
    ],
)
def test_invalid_recipe_raises_with_line_and_key(read, more, where, what, fix):
    with pytest.raises(HitokuError) as caught:
        read(GOOD + more)
    assert caught.value.where.startswith("recipe.toml, line ")
    assert where in caught.value.where
    assert what in caught.value.what
    assert caught.value.fix
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("old", "new", "where", "what"),
    [
        pytest.param('data = "firms.csv"', "", "key data", "where the data are", id="no data"),
        pytest.param(
            'data = "firms.csv"', 'cells = "c.csv"\ndata = "d"', "line 1, key cells", "both", id="both"
        ),
        pytest.param('by = ["region", "size"]', "", "key by", "no variables", id="no variables"),
        pytest.param('by = ["region", "size"]', 'by = "region"', "line 2, key by", "a list", id="no list"),
        pytest.param(
            '"region", "size"', '"size", "size"', "line 2, key by", "'size' is named twice", id="twice"
        ),
        pytest.param('rules = ["p_percent:p=10"]', "", "key rules", "no rules", id="no rules"),
        pytest.param("p_percent:p=10", "p_percnt:p=10", "line 4, key rules, entry 1", "no rule", id="rule"),
        pytest.param("p_percent:p=10", "p_percent:p=0.1x", "line 4", "p must lie", id="out of range"),
        pytest.param("p_percent:p=10", "p_percent", "line 4", "needs p", id="parameter missing"),
        pytest.param('["p_percent:p=10"]', '[["p_percent"]]', "line 4", "a text, or a table", id="a list"),
        pytest.param(
            'data = "firms.csv"', 'cells = "c.csv"\nunit = "u"', "line 2, key unit", "with data", id="unit"
        ),
        pytest.param(
            'value = "turnover"', "", "key value", "holds the cell values", id="cells without value"
        ),
    ],
)
def test_error_in_first_lines_names_its_line(read, old, new, where, what):
    good = GOOD.replace('data = "firms.csv"', 'cells = "c.csv"') if what.startswith("holds") else GOOD
    assert old in good
    with pytest.raises(HitokuError) as caught:
        read(good.replace(old, new))
    assert caught.value.where.startswith("recipe.toml")
    assert where in caught.value.where
    assert what in caught.value.what
    assert caught.value.fix


def test_missing_recipe_raises(tmp_path):
    with pytest.raises(HitokuError, match="cannot read the recipe"):
        Recipe.read(tmp_path / "none.toml")


def test_recipe_in_other_encoding_raises(read):
    with pytest.raises(HitokuError, match="not UTF-8"):
        read(GOOD + 'title = "Zürich"', encoding="latin-1")


def test_recipe_accepts_byte_order_mark_and_crlf(read):
    assert read(("\ufeff" + GOOD).replace("\n", "\r\n")).keys.by == ["region", "size"]


def test_rules_and_methods_may_be_specs_or_tables(read):
    text = GOOD.replace('"p_percent:p=10"', '"p_percent:p=10", {name = "few_contributors", n = 3}')
    recipe = read(text + 'method = {name = "optimal", cost = "value", keep = "margins"}')
    assert recipe.rules == (PPercent(10), FewContributors(3))
    assert isinstance(recipe.method, Optimal)
    assert (recipe.method.cost, recipe.method.keep) == ("value", "margins")


def test_table_of_parameters_may_contain_special_characters(read):
    rule = '{name = "direct_disclosure", sensitive = "injury", unknown = {injury = "n/a, +"}}'
    recipe = read(GOOD.replace('"p_percent:p=10"', rule))
    assert recipe.rules == (DirectDisclosure(sensitive="injury", unknown={"injury": "n/a, +"}),)


def test_keys_for_all_tables_are_filled_in(read):
    more = """
        [hierarchies]
        region = "r.csv"
        [[tables]]
        name = "one"
        [[tables]]
        name = "two"
        by = ["size", "trade"]
        cells = "two.csv"
        [tables.hierarchies]
        trade = ["t.csv", "t2.csv"]
    """
    tables = read('unit = "firm"\n' + GOOD + more).tables
    assert list(tables) == ["one", "two"]
    assert (tables["one"].by, tables["one"].data) == (["region", "size"], "firms.csv")
    assert tables["one"].hierarchies == {"region": ["r.csv"]}
    assert (tables["two"].data, tables["two"].cells, tables["two"].value) == (None, "two.csv", "turnover")
    assert (tables["one"].unit, tables["two"].unit) == ("firm", None)
    assert tables["two"].hierarchies == {"trade": ["t.csv", "t2.csv"]}


def test_options_and_file_give_same_recipe(read):
    options = {
        "data": "firms.csv",
        "by": ["region", "size"],
        "value": "turnover",
        "rules": ["p_percent:p=10"],
    }
    by_options, from_file = Recipe.of({**options, "width": None}), read(GOOD)
    assert by_options.keys == from_file.keys
    assert read(by_options.text).keys == from_file.keys
    assert isinstance(by_options.method, Auto)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"rules": ["p_percnt"]}, "--rule"),
        ({"by": None}, "--by"),
        ({"width": -1.0}, "--width"),
        ({"method": "gredy"}, "--method"),
        ({"formats": ["xslx"]}, "--format"),
        ({"frequency": "n"}, "--frequency"),
        ({"hierarchies": {"trade": "t.csv"}}, "--hierarchy"),
        ({"data": None}, "DATA"),
    ],
)
def test_invalid_option_is_named_as_option(change, where):
    options = {"data": "firms.csv", "by": ["region"], "rules": ["min_frequency:n=3"]}
    with pytest.raises(HitokuError) as caught:
        Recipe.of({**options, **change})
    assert caught.value.where.startswith(where)


def test_recipe_repr_shows_its_settings(read):
    assert repr(read(GOOD)) == "Recipe(firms.csv by region, size: p_percent, auto)"
    counted = read(GOOD + '[counts]\nrules = ["min_frequency:n=3"]').counts
    assert counted is not None
    assert (counted.rules, counted.width) == ((MinFrequency(3),), 10.0)


@pytest.mark.parametrize("keys", [TableKeys, LinkedKeys, CostKeys, CountsKeys, RecipeKeys])
def test_every_recipe_key_has_a_description(keys):
    assert [name for name, field in keys.model_fields.items() if not field.description] == []


def test_recipe_page_documents_every_key():
    page = (Path(__file__).resolve().parents[3] / "docs" / "how-to" / "recipes.md").read_text("utf-8")
    tables = page.partition("## Every key")[2]
    keys = {
        name
        for kind in (TableKeys, LinkedKeys, CostKeys, CountsKeys, RecipeKeys)
        for name in kind.model_fields
    }
    assert {name for name in keys if f"`{name}`" not in tables} == set()


def test_variables_nested_in_each_other_raise():
    told = {"data": "a.csv", "by": ["town"], "rules": ["min_frequency:n=3"]}
    nested = {"town": ["county", "land"], "county": ["land"]}
    assert Recipe.of({**told, "classifications": nested}).keys.classifications == nested
    with pytest.raises(HitokuError, match="levels of each other: town, county, land, town") as refused:
        Recipe.of({**told, "classifications": {"town": ["county"], "county": ["land"], "land": ["town"]}})
    assert refused.value.fix
