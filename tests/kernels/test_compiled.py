from __future__ import annotations

import numba

from hitoku.kernels import compiled as module


def double(x):
    return x + x


def test_kernel_compiles_and_is_cached_on_disk():
    kernel = module.compiled(double)
    assert kernel(21) == 42
    assert kernel.stats.cache_path


def test_kernel_compiles_without_writable_cache(monkeypatch):
    def nowhere(*, cache=False, **options):
        if cache:
            message = "cannot cache function: no locator available for file"
            raise RuntimeError(message)
        return numba.njit(**options)

    monkeypatch.setattr(module, "njit", nowhere)
    kernel = module.compiled(double)
    assert kernel(21) == 42
    assert kernel.stats.cache_path is None


def test_digest_changes_with_any_kernel(tmp_path):
    (tmp_path / "calls.py").write_text("from called import helper\n", encoding="utf-8")
    (tmp_path / "called.py").write_text("helper = 1\n", encoding="utf-8")
    before = module._digest(tmp_path)
    assert before == module._digest(tmp_path)
    (tmp_path / "called.py").write_text("helper = 2\n", encoding="utf-8")
    assert before != module._digest(tmp_path)


def test_cached_file_is_named_after_all_kernels(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    kernel = module.compiled(double)
    assert kernel(21) == 42
    assert kernel.__qualname__ == double.__qualname__ == "double"
    (index,) = tmp_path.rglob("*.nbi")
    assert module.SOURCES in index.name
