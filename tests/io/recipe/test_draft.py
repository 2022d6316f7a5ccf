"""A first recipe for a data file: it guesses sensibly, says so, and runs as it is."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

from hitoku.errors import DataError, OutputError
from hitoku.io.recipe import draft_recipe, guess_columns, write_draft
from hitoku.pipeline import run_recipe
from hitoku.samples import register
from hitoku.tabulation import Column, columns_of, connect, determined_pairs, find_totals


def column(name, kind, n_distinct, **more):
    return Column(name, kind, n_distinct, **{"n_missing": 0, "negative": False, **more})


@pytest.mark.parametrize(
    ("columns", "codes", "value", "unit", "holding"),
    [
        pytest.param(
            [column("person", "text", 1000), column("sex", "text", 2), column("age", "whole", 9)],
            ["sex", "age"],
            None,
            "person",
            None,
            id="persons, counted",
        ),
        pytest.param(
            [column("firm_id", "whole", 1000), column("nace", "text", 40), column("turnover", "whole", 950)],
            ["nace"],
            "turnover",
            "firm_id",
            None,
            id="a number that names",
        ),
        pytest.param(
            [column("owner", "text", 800), column("nace", "text", 40), column("x", "number", 950)],
            ["nace"],
            "x",
            None,
            "owner",
            id="an owner",
        ),
        pytest.param(
            [column("region", "text", 8), column("staff", "whole", 90), column("sales", "number", 990)],
            ["region"],
            "sales",
            None,
            None,
            id="the finer of two quantities",
        ),
        pytest.param(
            [
                column("region", "text", 8),
                column("sales", "number", 990, n_missing=3),
                column("tax", "number", 9),
            ],
            ["region"],
            "tax",
            None,
            None,
            id="a quantity with gaps cannot be added up",
        ),
        pytest.param(
            [column("region", "text", 8), column("weight", "number", 990), column("one", "text", 1)],
            ["region"],
            None,
            None,
            None,
            id="neither a weight nor a single code",
        ),
        pytest.param(
            [column("region_code", "whole", 60), column("index", "whole", 800), column("tax", "whole", 700)],
            ["region_code"],
            "tax",
            None,
            None,
            id="codes that are numbers, and numbers that count rows",
        ),
        pytest.param(
            [column("region", "text", 8), column("status", "text", 2), column("charity", "text", 150)],
            ["region"],
            None,
            None,
            None,
            id="neither marks nor names that repeat a little",
        ),
        pytest.param(
            [column("name", "text", 990), column("date", "other", 300), column("region", "text", 8)],
            ["region"],
            None,
            None,
            None,
            id="neither names nor dates are codes",
        ),
    ],
)
def test_columns_are_classified(columns, codes, value, unit, holding):
    guess = guess_columns(1000, columns)
    assert [c.name for c in guess.codes] == codes
    assert (guess.value.name if guess.value else None) == value
    assert (guess.unit, guess.holding) == (unit, holding)


def test_columns_are_counted(tmp_path):
    frame = pd.DataFrame(
        {
            "a": ["x", "y", None, "x"],
            "b": [1, 2, 2, -3],
            "c": [0.5, np.nan, 1.0, 2.0],
            "d": ["2026-11-15"] * 4,
        }
    )
    frame.to_csv(tmp_path / "f.csv", index=False)
    assert columns_of(tmp_path / "f.csv") == (
        4,
        (
            Column("a", "text", 2, 1, negative=False),
            Column("b", "whole", 3, 0, negative=True),
            Column("c", "number", 3, 1, negative=False),
            Column("d", "other", 1, 0, negative=False),
        ),
    )


def towns():
    rng = np.random.default_rng(4)
    town = rng.integers(0, 8, 900)
    return pd.DataFrame(
        {
            "county": [f"C{t // 3}" for t in town],
            "town": [f"T{t}" for t in town],
            "code": [f"{t:02}x" for t in town],
            "sector": rng.choice(["a", "b", "c"], 900, p=[0.6, 0.395, 0.005]),
        }
    )


def test_determining_columns_are_found(tmp_path):
    towns().to_csv(tmp_path / "f.csv", index=False)
    _, columns = columns_of(tmp_path / "f.csv")
    found = determined_pairs(tmp_path / "f.csv", columns)
    assert found == {("town", "county"), ("code", "county"), ("town", "code"), ("code", "town")}
    assert determined_pairs(tmp_path / "f.csv", columns[:1]) == set()


def test_missing_code_reveals_no_structure(tmp_path):
    frame = pd.DataFrame({"a": ["x", "x", None, None], "b": ["1", "1", "2", "3"], "c": ["p", "p", "q", "q"]})
    frame.to_csv(tmp_path / "f.csv", index=False)
    found = determined_pairs(tmp_path / "f.csv", columns_of(tmp_path / "f.csv")[1])
    assert found == {("b", "a"), ("b", "c"), ("a", "c"), ("c", "a")}


def test_variable_is_not_crossed_with_its_groups(tmp_path):
    towns().to_csv(tmp_path / "f.csv", index=False)
    text = draft_recipe(tmp_path / "f.csv", tmp_path)
    assert tomllib.loads(text)["by"] == ["county", "sector"]
    assert "# Nested: code within county, town within county." in text


def firms():
    return register(250).records


def spoiled():
    frame = firms()
    frame["turnover"] = frame["turnover"] - 500.0
    frame.loc[frame.index[:9], "region"] = None
    return frame


def persons():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": np.arange(900),
            "region name": rng.choice(["A, B", 'say "C"', "D#"], 900),
            "job": rng.choice(["p", "q", "r"], 900, p=[0.7, 0.294, 0.006]),
        }
    )


@pytest.mark.parametrize("make", [firms, spoiled, persons, towns], ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", ["csv", "semicolons", "parquet"])
def test_draft_runs_unchanged(tmp_path, make, kind):
    (tmp_path / "in").mkdir()
    data = tmp_path / "in" / ("my data.parquet" if kind == "parquet" else "my data.csv")
    if kind == "parquet":
        make().to_parquet(data)
    else:
        make().to_csv(data, index=False, sep=";" if kind == "semicolons" else ",")
    recipe = write_draft(data, tmp_path / "recipes" / "first.toml")
    text = recipe.read_text("utf-8")
    assert tomllib.loads(text)["data"] == f"../in/{data.name}"
    run = run_recipe(recipe)
    assert run.safe
    assert run.folder == tmp_path / "recipes" / "my data-release"
    assert run.outcome.need.unsafe.any()


def test_draft_reads_the_file_once(tmp_path, monkeypatch):
    opened = []

    def counted(*given):
        opened.append(given)
        return connect(*given)

    monkeypatch.setattr("hitoku.tabulation.record_columns.connect", counted)
    towns().to_csv(tmp_path / "towns.csv", index=False)
    draft_recipe(tmp_path / "towns.csv", tmp_path)
    assert len(opened) == 1
    columns_of(tmp_path / "towns.csv")  # asked for afterwards, it is read again
    assert len(opened) == 2


def by_cell(*, totals):
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 30, (5, 4))
    rows = [(f"R{i}", f"S{j}", counts[i, j]) for i in range(5) for j in range(4)]
    if totals:
        rows += [(f"R{i}", "Total", counts[i].sum()) for i in range(5)]
        rows += [("Total", f"S{j}", counts[:, j].sum()) for j in range(4)]
        rows += [("Total", "Total", counts.sum())]
    frame = pd.DataFrame(rows, columns=["region", "sector", "n_obs"])
    return frame.assign(turnover=frame["n_obs"] * 12.5, land=frame["region"].map(lambda r: f"L{r}"), flag="")


@pytest.mark.parametrize("totals", [False, True])
@pytest.mark.parametrize("values", [["n_obs"], ["n_obs", "turnover", "flag"], ["n_obs", "land"]])
def test_file_with_one_row_per_cell_is_recognised(tmp_path, totals, values):
    by_cell(totals=totals)[["region", "sector", *values]].to_csv(tmp_path / "cells.csv", index=False)
    recipe = write_draft(tmp_path / "cells.csv", tmp_path / "recipe.toml")
    keys = tomllib.loads(recipe.read_text("utf-8"))
    assert (keys["cells"], keys["by"], keys["frequency"]) == ("cells.csv", ["region", "sector"], "n_obs")
    assert keys["value"] == ("turnover" if "turnover" in values else "n_obs")
    run = run_recipe(recipe)
    assert run.safe
    assert run.outcome.table.n_cells == 30


def test_records_are_not_recognised_as_cells(tmp_path):
    frame = by_cell(totals=False)[["region", "sector", "n_obs"]]
    pd.concat([frame, frame[:3]]).to_csv(tmp_path / "records.csv", index=False)
    assert "data" in tomllib.loads(draft_recipe(tmp_path / "records.csv", tmp_path))


def test_file_without_header_raises(tmp_path):
    (tmp_path / "f.csv").write_text("2;3;0\n1;3;7\n", encoding="utf-8")
    with pytest.raises(DataError, match="no names of columns"):
        draft_recipe(tmp_path / "f.csv", tmp_path)


def test_draft_explains_its_guesses(tmp_path):
    firms().to_csv(tmp_path / "firms.csv", index=False)
    text = draft_recipe(tmp_path / "firms.csv", tmp_path)
    for word in ("size", "employees", "[hierarchies]", "[[keep]]", "optimal:", "Every line is a guess"):
        assert word in text.replace("by = ", "")
    assert max(map(len, text.splitlines())) <= 110


@pytest.mark.parametrize(
    ("frame", "what"),
    [
        pytest.param(pd.DataFrame({"a": [], "b": []}), "empty", id="no records"),
        pytest.param(
            pd.DataFrame({"x": np.arange(50) / 7, "n": [f"p{i}" for i in range(50)]}), "codes", id="codes"
        ),
    ],
)
def test_data_without_table_columns_raise(tmp_path, frame, what):
    frame.to_csv(tmp_path / "f.csv", index=False)
    with pytest.raises(DataError, match=what):
        write_draft(tmp_path / "f.csv", tmp_path / "recipe.toml")
    assert not (tmp_path / "recipe.toml").exists()


def test_existing_recipe_is_not_overwritten(tmp_path):
    firms().to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "recipe.toml").write_text("mine", encoding="utf-8")
    with pytest.raises(OutputError, match="exists already"):
        write_draft(tmp_path / "firms.csv", tmp_path / "recipe.toml")
    assert (tmp_path / "recipe.toml").read_text("utf-8") == "mine"


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "kind", "by"),
    [
        ("ssbtools/z1", "cells", ["region", "hovedint"]),
        ("ssbtools/z2", "cells", ["region", "hovedint"]),
        ("ssbtools/z1micro", "data", ["region", "hovedint"]),
        ("ssbtools/magnitude1", "data", ["sector4", "geo"]),
        ("sdctable/attack_4x4", "cells", ["v1", "v2"]),
        ("sdctable/microdata1", "data", ["region", "gender"]),
        ("rtauargus/datatest1", "cells", ["treff", "cj", "type_distrib", "A10"]),
    ],
)
def test_files_of_other_programs_are_read(shared, tmp_path, name, kind, by):
    recipe = write_draft(shared / "data" / "tables" / f"{name}.csv", tmp_path / "recipe.toml")
    keys = tomllib.loads(recipe.read_text("utf-8"))
    assert kind in keys
    assert keys["by"] == by
    assert run_recipe(recipe).safe


@pytest.mark.parametrize("word", ["Total", "Tot", "Ensemble", "Insgesamt", "\u5408\u8a08"])
def test_table_with_totals_is_not_drafted_as_records(tmp_path, word):
    frame = by_cell(totals=True).replace("Total", word)
    path = tmp_path / "cells.csv"
    frame.to_csv(path, index=False)
    keys = tomllib.loads(draft_recipe(path, tmp_path))
    assert "data" not in keys
    assert keys["total"] == word
    # Without a number of respondents nothing can be assessed, and twice the rows are no records either.
    quantities = [name for name in frame.columns if name not in {"region", "sector"}]
    frame.drop(columns=quantities).assign(amount=np.arange(len(frame)) + 0.5).to_csv(path, index=False)
    with pytest.raises(DataError, match="a table with totals, not records") as caught:
        draft_recipe(path, tmp_path)
    assert repr(word) in caught.value.what
    pd.concat([frame, frame]).to_csv(path, index=False)
    with pytest.raises(DataError, match="a table with totals, not records"):
        draft_recipe(path, tmp_path)


def test_columns_that_group_others_become_hierarchies(tmp_path):
    n = 400
    town = np.arange(n) % 12
    frame = pd.DataFrame({"town": [f"t{t:02}" for t in town], "county": [f"C{t // 3}" for t in town]})
    frame["state"] = [f"S{t // 6}" for t in town]
    frame["sales"] = np.random.default_rng(1).integers(1, 10_000, n) / 4
    frame.to_csv(tmp_path / "towns.csv", index=False)
    path = write_draft(tmp_path / "towns.csv", tmp_path / "recipe.toml")
    assert tomllib.loads(path.read_text("utf-8"))["hierarchies"] == {"town": ["county", "state"]}
    codes = run_recipe(path).outcome.table.dimensions[0].codes
    assert {"t00", "C0", "S0", "Total"} <= set(codes)


def test_ambiguous_columns_are_left_to_the_user(tmp_path):
    n = 400
    town = np.arange(n) % 6
    frame = pd.DataFrame({"town": town.astype(str), "county": ((town // 2 + 1) % 3).astype(str)})
    frame = frame.replace({column: {str(k): f"k{k}" for k in range(6)} for column in frame})
    frame.assign(x=np.arange(n) + 0.5).to_csv(tmp_path / "towns.csv", index=False)
    assert "hierarchies" not in tomllib.loads(draft_recipe(tmp_path / "towns.csv", tmp_path))


def cells_with(total: str, parts: str = "ABC") -> pd.DataFrame:
    """Make a table of counts and turnover with a total of any name in both columns."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame([(r, c) for r in "NSW" for c in parts], columns=["region", "trade"])
    rows = rows.assign(n=rng.integers(1, 40, len(rows)), turnover=rng.integers(50, 900, len(rows)))
    for name in ("region", "trade"):
        other = "trade" if name == "region" else "region"
        rows = pd.concat([rows, rows.groupby(other, as_index=False).sum().assign(**{name: total})])
    return rows.sample(frac=1, random_state=1)


@pytest.mark.parametrize("total", ["0", "xx", "すべて", "Samtals"])
def test_totals_are_found_by_their_sums(tmp_path, total):
    path = tmp_path / "cells.csv"
    cells_with(total).to_csv(path, index=False)
    text = draft_recipe(path, tmp_path)
    assert tomllib.loads(text)["total"] == total
    assert "cells" in tomllib.loads(text)
    assert f'# trade = "{total}"' in text or f'# region = "{total}"' in text


@pytest.mark.parametrize("name", ["Betriebe", "Anzahl", "Effectif", "事業所数"])
def test_numbers_of_respondents_are_known_in_other_languages(tmp_path, name):
    path = tmp_path / "cells.csv"
    cells_with("Insgesamt").rename(columns={"n": name}).to_csv(path, index=False)
    assert tomllib.loads(draft_recipe(path, tmp_path))["frequency"] == name


def test_large_code_without_sum_is_not_total(tmp_path):
    frame = cells_with("xx")
    frame.loc[frame["trade"] == "xx", ["n", "turnover"]] += 1
    path = tmp_path / "cells.csv"
    frame.to_csv(path, index=False)
    assert not any(
        column.total for column in find_totals(path, columns_of(path)[1]) if column.name == "trade"
    )
