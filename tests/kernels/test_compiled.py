from __future__ import annotations

import numba

from hitoku.kernels import compiled as module


def double(x):
    return x + x


def test_a_kernel_compiles_and_is_kept_on_disk():
    kernel = module.compiled(double)
    assert kernel(21) == 42
    assert kernel.stats.cache_path


def test_where_nothing_can_be_kept_it_compiles_all_the_same(monkeypatch):
    def nowhere(*, cache=False, **options):
        if cache:
            message = "cannot cache function: no locator available for file"
            raise RuntimeError(message)
        return numba.njit(**options)

    monkeypatch.setattr(module, "njit", nowhere)
    kernel = module.compiled(double)
    assert kernel(21) == 42
    assert kernel.stats.cache_path is None
