"""Nothing in public/ tells unsafe cells from those withheld to protect them, nor how many there are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hitoku.evidence import audit
from hitoku.io import PublicationPlan
from hitoku.io.formats import FORMATS
from hitoku.io.release import write_release
from hitoku.methods import METHODS
from hitoku.model import Need, Table
from hitoku.pipeline import protect_table
from hitoku.rules import MinFrequency

COUNTS = [[20, 3, 30, 40], [31, 25, 60, 70], [50, 40, 80, 90], [70, 60, 90, 99]]


@cache
def protected(name):
    return protect_table(Table.from_array(COUNTS), [MinFrequency(5)], method=METHODS[name](), width=9)


def files(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / "public").iterdir())}


@pytest.mark.parametrize("name", METHODS)
def test_public_files_do_not_depend_on_unsafe_cells(tmp_path, name):
    outcome = protected(name)
    table, withheld, unsafe = outcome.table, outcome.protection.withheld, outcome.need.unsafe
    # The same release, as if no cell were unsafe; and as if just those were that are withheld with them.
    needs = [Need(unsafe=np.zeros(table.n_cells, dtype=bool))]
    needs += [Need(unsafe=withheld & ~unsafe, width=0.5)] if np.any(withheld & ~unsafe) else []
    others = [
        replace(
            outcome,
            protection=replace(outcome.protection, secondary=withheld & ~need.unsafe),
            audit=audit(table, need, outcome.release),
        )
        for need in needs
    ]
    plan = PublicationPlan(formats=tuple(FORMATS))
    written = [
        files(write_release(tmp_path / str(number), one, plan))
        for number, one in enumerate((outcome, *others))
    ]
    assert unsafe.any()
    assert len(written[0]) >= len(FORMATS)
    assert all(one == written[0] for one in written[1:])


@pytest.mark.parametrize("name", METHODS)
def test_public_files_do_not_name_reasons(tmp_path, name):
    outcome = protected(name)
    folder = write_release(
        tmp_path / "release", outcome, PublicationPlan(formats=("csv", "html", "json-stat"))
    )
    words = b" ".join(files(folder).values()).lower()
    for word in (
        b"unsafe",
        b"primary",
        b"secondary",
        b"min_frequency",
        b"minfrequency",
        name.encode() + b"(",
    ):
        assert word not in words
