"""Benchmarks, run by ``python -m bench.NAME``; ``tests/test_bench.py`` runs each in a short mode."""

import json
import os
from pathlib import Path
from typing import Any

# Results of the last runs. Dated figures are in bench/RESULTS.md.
OUT = Path(os.environ.get("BENCH_OUT", Path(__file__).resolve().parents[1] / ".bench"))


def keep(name: str, results: Any) -> None:
    """Write results to ``OUT / NAME.json``."""
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
