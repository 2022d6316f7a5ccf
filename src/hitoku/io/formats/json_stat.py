"""JSON-stat 2.0 format: variables with hierarchies, values with null where suppressed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from hitoku.io.publication import ADJUSTED, LEGEND, WITHHELD, Format, Publication
from hitoku.model import Dimension

# The same for every value: which ones were adjusted is confidential.
ESTIMATED = "e"
MEANING = {WITHHELD: LEGEND.partition(": ")[2], ESTIMATED: ADJUSTED}


def json_stat(publication: Publication) -> dict[str, Any]:
    """Return the data set as a mapping.

    If combinations of codes are missing, as in linked tables, values are listed by position.

    Examples
    --------
    >>> from hitoku.model import Protection
    >>> from hitoku.model import Release
    >>> from hitoku.model import Table
    >>> table = Table.from_array([[20, 15], [72, 1]])
    >>> release = Release.of(table, Protection.withhold(table, table.inner))
    >>> dataset = json_stat(Publication(release=release))
    >>> dataset["size"], dataset["value"][:3], dataset["status"]["0"]
    ([3, 3], [None, None, 35], 'c')
    """
    release, labels = publication.release, publication.release.labels
    values = [_number(v) for v in publication.value.tolist()]
    places = np.arange(release.n_cells)
    if labels.positions is not None:
        places = np.ravel_multi_index([labels.column(v) for v in range(len(labels.names))], labels.shape)
    statuses = _statuses(publication)
    dataset: dict[str, Any] = {
        "version": "2.0",
        "class": "dataset",
        "label": publication.heading,
        "note": [*publication.remarks, *publication.footnotes],
        "id": list(labels.names),
        "size": list(labels.shape),
        "dimension": {
            name: {"label": name, "category": _category(codes, dimension)}
            for name, codes, dimension in zip(
                labels.names, labels.codes, release.dimensions or [None] * len(labels.names), strict=True
            )
        },
        "value": values
        if labels.positions is None
        else {str(place): value for place, value in sorted(zip(places.tolist(), values, strict=True))},
        "status": {
            str(place): status
            for place, status in sorted(zip(places.tolist(), statuses, strict=True))
            if status is not None
        },
        "extension": {
            "measure": release.measure,
            "status": {"label": {key: text for key, text in MEANING.items() if key in statuses}},
        },
    }
    if publication.source:
        dataset["source"] = publication.source
    return dataset


def write_json_stat(path: Path, publication: Publication) -> None:
    """Write the data set with codes in the order of the table."""
    text = json.dumps(json_stat(publication), ensure_ascii=False, allow_nan=False, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _statuses(publication: Publication) -> list[str | None]:
    shown = ESTIMATED if publication.adjusted else None
    return [WITHHELD if hidden else shown for hidden in publication.release.withheld.tolist()]


def _number(value: float) -> float | int | None:
    if np.isnan(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2.0**53 else value


def _category(codes: tuple[str, ...], dimension: Dimension | None) -> dict[str, Any]:
    """Return codes, labels and children; a code with several hierarchies lists all its parts."""
    category: dict[str, Any] = {"index": list(codes), "label": {code: code for code in codes}}
    if dimension is not None:
        below: dict[str, dict[str, None]] = {}
        for code, parts in dimension.groups:
            below.setdefault(code, {}).update(dict.fromkeys(parts))
        category["child"] = {code: list(below[code]) for code in codes if code in below}
    return category


FORMAT = Format("json-stat", ".json", "a JSON-stat 2.0 data set", write_json_stat)
