"""More records than the memory allowed holds: some are written to a temporary folder, and gone afterwards."""

from __future__ import annotations

import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tabulation.engine_records import assert_same_bytes

from hitoku.errors import HitokuError
from hitoku.tabulation import Source, connect, limited_memory, memory_of, tabulate
from hitoku.tabulation.engines import duckdb

OWNER = b"owner-of-a-long-name-that-nobody-may-see-"


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    random, n = np.random.default_rng(3), 250_000
    names = [f"{OWNER.decode()}{number:08d}" for number in random.permutation(n) // 2]
    columns = {"g": random.integers(0, 9, n), "x": random.integers(1, 10**6, n) / 100, "h": names}
    path = tmp_path_factory.mktemp("records") / "records.parquet"
    pq.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_spilled_data_use_a_temporary_folder(records, own, monkeypatch):
    options = {"by": ["g"], "value": "x", "holding": "h"}
    here = tabulate(records, **options)
    legible = []

    def looking(method):
        def look(self, query):
            answer = method(self, query)
            files = [path for path in own.rglob("*") if path.is_file()]
            legible.extend(path for path in files if OWNER in path.read_bytes())
            return answer

        return look

    for name in ("rows", "run"):
        monkeypatch.setattr(Source, name, looking(getattr(Source, name)))
    monkeypatch.setattr(duckdb, "FEWEST_ROWS", 50_000)  # contributors come in several parts, too
    monkeypatch.setattr(duckdb, "BYTES_PER_ROW", 240)
    there = tabulate(records, memory_limit="24MB", threads=1, **options)
    assert legible  # it was there,
    assert not list(own.iterdir())  # and is not any more
    assert_same_bytes(here, there)


def test_temporary_folder_is_removed_after_error(records, own):
    with pytest.raises(HitokuError, match="memory"):
        tabulate(records, by=["g"], value="x", holding="h", memory_limit="2MB", threads=1)
    assert not list(own.iterdir())


def test_run_limit_applies_by_default(tmp_path):
    found = []
    with limited_memory("64MB"):
        for given in (None, "32MB"):
            connection = connect(str(tmp_path), given)
            found.append(memory_of(connection))
            connection.close()
    assert found == pytest.approx([64e6, 32e6], rel=0.01)
