"""Products of sparse rows against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hitoku.kernels.sparse_rows import across, down


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 12), (30, 5)])
def test_products_match_matrix_products(shape):
    rng = np.random.default_rng(shape[1])
    # Every third row is empty.
    dense = (
        np.where(rng.random(shape) < 0.4, rng.normal(size=shape), 0.0)
        * (np.arange(shape[0]) % 3 > 0)[:, None]
    )
    rows = sparse.csr_array(dense)
    parts = rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
    x, y = rng.normal(size=shape[1]), np.where(rng.random(shape[0]) < 0.5, 0.0, rng.normal(size=shape[0]))
    np.testing.assert_allclose(across(*parts, x), rows @ x, atol=1e-12)
    np.testing.assert_allclose(down(*parts, y, shape[1]), rows.T @ y, atol=1e-12)
