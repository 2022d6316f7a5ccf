"""SDMX columns, read back; codes mean what the code lists CL_OBS_STATUS and CL_CONF_STATUS say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hitoku.errors import OutputError
from hitoku.io import Publication
from hitoku.io.formats import write_parquet, write_sdmx_csv, write_transmission
from hitoku.model import Need, Protection, Release, Table

# From the code lists: A normal value, E estimated value, Q missing value, suppressed;
# F free, C confidential statistical information, D secondary confidentiality set by the sender.
WRITERS = {"csv": write_sdmx_csv, "parquet": write_parquet}
READERS = {
    "csv": lambda file: pd.read_csv(
        file, dtype={"region": str, "sex": str}, keep_default_na=False, na_values={"OBS_VALUE": [""]}
    ),
    "parquet": pd.read_parquet,
}


@pytest.fixture
def table():
    return Table.from_array(
        [[20, 15], [72, 1]], names=["region", "sex"], codes=[["01", "NA"], ["f", "m"]], measure="persons"
    )


def shown(table, hidden, **words):
    return Publication(release=Release.of(table, Protection.withhold(table, hidden)), **words)


@pytest.mark.parametrize("kind", WRITERS)
def test_sdmx_has_one_row_per_cell(table, tmp_path, kind):
    file = tmp_path / f"table.{kind}"
    WRITERS[kind](file, shown(table, table.inner))
    frame = READERS[kind](file)
    assert list(frame.columns) == ["region", "sex", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"]
    assert frame["region"].astype(str).tolist() == ["01"] * 3 + ["NA"] * 3 + ["Total"] * 3
    assert frame["sex"].astype(str).tolist() == ["f", "m", "Total"] * 3
    inner = table.inner
    assert frame["OBS_VALUE"][~inner].tolist() == [35, 73, 92, 16, 108]
    assert frame["OBS_VALUE"][inner].isna().all()
    assert "".join(frame["OBS_STATUS"]) == "QQAQQAAAA"
    assert "".join(frame["CONF_STATUS"]) == "CCFCCFFFF"


def test_parquet_keeps_integers_and_metadata_texts(table, tmp_path):
    words = {"title": "Persons", "source": "Census", "footnotes": ("At night.",)}
    write_parquet(tmp_path / "table.parquet", shown(table, table.inner, **words))
    back = pq.read_table(tmp_path / "table.parquet")
    assert back.schema.field("OBS_VALUE").type == pa.int64()
    assert back["OBS_VALUE"].null_count == 4
    told = {key.decode(): text.decode() for key, text in back.schema.metadata.items()}
    assert (told["title"], told["measure"], told["source"]) == ("Persons", "persons", "Census")
    assert "4 of 9 cells are withheld." in told["notes"]
    assert told["notes"].endswith("At night.")
    real = Table.from_array(np.array([[0.5, 1.25]] * 2))
    write_parquet(tmp_path / "real.parquet", shown(real, real.value == 0))
    assert pq.read_table(tmp_path / "real.parquet").schema.field("OBS_VALUE").type == pa.float64()


@pytest.mark.parametrize("kind", WRITERS)
def test_adjusted_values_are_marked_in_every_row(table, tmp_path, kind):
    file = tmp_path / f"table.{kind}"
    WRITERS[kind](file, shown(table, np.zeros(9, dtype=bool), adjusted=True))
    frame = READERS[kind](file)
    assert set(frame["OBS_STATUS"]) == {"E"}
    assert frame["COMMENT_DSET"].astype(str).str.contains("adjusted for confidentiality").all()


def test_unsafe_sdmx_release_is_marked_in_every_row(table, tmp_path):
    write_sdmx_csv(tmp_path / "t.csv", shown(table, table.inner, warning="NOT SAFE, not for publication"))
    assert set(pd.read_csv(tmp_path / "t.csv")["COMMENT_DSET"]) == {"NOT SAFE, not for publication"}


@pytest.mark.parametrize("kind", WRITERS)
def test_sdmx_transmission_separates_primary_and_secondary(table, tmp_path, kind):
    need = Need(unsafe=table.value == 1, width=3.0)
    protection = Protection.withhold(table, table.inner, need)
    file = tmp_path / f"table.{kind}"
    write_transmission(
        file, table.labels, table.value, protection.withheld, protection.secondary, parquet=kind == "parquet"
    )
    frame = READERS[kind](file)
    assert frame["OBS_VALUE"].tolist() == table.value.tolist()
    assert "".join(frame["CONF_STATUS"]) == "DDFDCFFFF"
    assert set(frame["OBS_STATUS"]) == {"A"}
    assert frame["COMMENT_DSET"].astype(str).str.startswith("CONFIDENTIAL").all()


@pytest.mark.parametrize("kind", WRITERS)
def test_variable_named_like_a_column_raises(tmp_path, kind):
    table = Table.from_array([3, 4], names=["OBS_STATUS"])
    with pytest.raises(OutputError, match="a variable is called 'OBS_STATUS'"):
        WRITERS[kind](tmp_path / "t", shown(table, table.value < 0))


@pytest.mark.parametrize("kind", WRITERS)
def test_same_publication_gives_same_bytes(table, tmp_path, kind):
    for name in ("one", "two"):
        WRITERS[kind](tmp_path / name, shown(table, table.inner, title="Persons"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
