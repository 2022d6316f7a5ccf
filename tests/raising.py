"""Expected errors: tests assert an error's code and fields, not its wording."""

from __future__ import annotations

from typing import Any

import pytest

from hitoku.errors import HitokuError


def raises(code: str, **fields: Any) -> pytest.RaisesExc[HitokuError]:
    """Expect an error of ours with a code and, among others, these fields.

    Examples
    --------
    >>> with raises("n_groups_range", n_groups=1):
    ...     raise HitokuError("n_groups_range", "n_groups must be at least 2, got {n_groups}", n_groups=1)
    """

    def matches(error: HitokuError) -> bool:
        return error.code == code and fields.items() <= error.fields.items()

    return pytest.raises(HitokuError, check=matches)
